"""Options of a run on many machines (docs/many-machines.md)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module, util
from pathlib import Path
from typing import Any

from powercut.base.errors import UsageError
from powercut.base.option import FAR, row, rows
from powercut.cli import talk
from powercut.machines.shards import Shard, parse_shard
from powercut.runs import subjects
from powercut.runs.machines import Here, Machines
from powercut.runs.run_request import Request

_GUIDE = "docs/many-machines.md has what goes together."


@dataclass(frozen=True, kw_only=True)
class Spread:
    """The place where chunks are explored: here, on a cluster, or in another job."""

    cluster: str | None = row(
        "--cluster ADDRESS",
        "Have the workers of this Dask scheduler explore (tcp://HOST:8786). Needs the extra powercut[dask].",
        group=FAR,
    )
    scheduler_file: Path | None = row(
        "--scheduler-file FILE", "The cluster of the Dask scheduler whose address is in this file.", group=FAR
    )
    shard: str | None = row(
        "--shard I/N",
        "Explore the I-th of N parts into the output folder, and report nothing: 'powercut merge' does.",
        group=FAR,
    )
    shared: Path | None = row(
        "--shared DIR",
        "With a cluster: a folder that all machines have at this path. Traces go there, and not over the network.",
        group=FAR,
    )

    def chosen(self) -> Shard | None:
        """Returns the shard, validated; None if there is none."""
        return parse_shard(self.shard) if self.shard is not None else None

    def refuse_with(self, requests: Sequence[Request], **given: Any) -> None:
        """Raises UsageError for requests that cannot be spread. `given`: options of the command that a shard does not
        have."""
        chosen = {option.flag: getattr(self, field.name) for field, option in rows(self)}
        names = [name for name, value in chosen.items() if value is not None]
        if not names:
            return
        ways = [name for name in names if name != "--shared"]
        if len(ways) > 1:
            raise UsageError(f"these do not go together: {', '.join(ways)}", next_step="Give one of them.")
        if not ways or (ways == ["--shard"] and self.shared is not None):
            raise UsageError(
                "a shared folder is for a cluster",
                where="--shared",
                next_step="Give --cluster or --scheduler-file too.",
            )
        if not all(subjects.of(request).in_chunks for request in requests):
            raise UsageError(
                "a program's images are explored on one machine", where=names[0], next_step=f"Leave it out. {_GUIDE}"
            )
        if any(request.options.budget.seconds is not None for request in requests):
            raise UsageError(
                "a budget in seconds gives another result on each machine",
                where=names[0],
                next_step="Give a budget in executions (--budget 20000x), or none.",
            )
        if self.shard is not None and (words := [f"--{name}" for name, value in given.items() if value]):
            raise UsageError(
                f"a shard makes no report, so {', '.join(words)} cannot be here",
                where="--shard",
                next_step="Give it to 'powercut merge'.",
            )

    @contextmanager
    def machines(self, engine_path: Path) -> Iterator[Machines]:
        """Returns the machines that explore."""
        if self.cluster is None and self.scheduler_file is None:
            yield Here()
            return
        if util.find_spec("distributed") is None:
            raise UsageError(
                "Dask is not installed here",
                where="--cluster" if self.cluster else "--scheduler-file",
                next_step="Install the extra: pip install 'powercut[dask]'.",
            )
        dask = import_module("powercut.machines.dask")  # this import takes half a second, which other runs need not pay
        with dask.connected(
            address=self.cluster,
            scheduler_file=self.scheduler_file,
            shared=self.shared.absolute() if self.shared else None,
            engine_path=engine_path,
            say=talk.say,
        ) as cluster:
            yield cluster
