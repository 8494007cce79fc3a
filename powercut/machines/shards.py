"""A command split by hand: `powercut run … --shard i/n` explores a part, `powercut merge` puts the parts together.

For a CI matrix or a batch system, whose jobs share nothing but the folders that they hand in. Which part is whose
follows from the command alone:

- with at least as many runs as shards, run k (in the command's order) is done by shard k mod n, as a whole;
- with fewer, each shard does its n-th of the chunks of every run.

A shard's folder is an output folder without records: traces, checkpoints, and `shard.json`. To merge is to resume the
unsplit command with all of these checkpoints. The merged command ends with the records of an unsplit run.
"""

import re
import shutil
from collections.abc import Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from powercut import __version__
from powercut.base.errors import HarnessError, NotApplicable, PowercutError, UsageError
from powercut.base.output_files import unwritable, write_json
from powercut.base.user_files import read_json
from powercut.claims.run import RunClaims, loads_file
from powercut.engine import engine, events
from powercut.findings import checkpoints
from powercut.machines.ranges import Range, missing, share
from powercut.runs import runner, subjects
from powercut.runs.machines import Exploring
from powercut.runs.run_request import Context, Request
from powercut.runs.stopping import stoppable
from powercut_records.base import DEFERRED, first_error

MANIFEST = "shard.json"
_AGAIN = "Run this shard again, or leave the folder out."


@dataclass(frozen=True, kw_only=True)
class Shard:
    """Number `index` of `of`, from 1."""

    index: int
    of: int

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"

    def part(self, order: int, count: int, *, runs: int) -> Range:
        """Which of the `count` chunks of run number `order` (of `runs`) this shard explores; perhaps none."""
        if runs < self.of:
            return share(count, index=self.index, of=self.of)
        return Range(0, count) if order % self.of == self.index - 1 else Range(0, 0)

    def concerns(self, order: int, *, runs: int) -> bool:
        """Whether there is something to explore for this shard, as far as that is known without a trace."""
        return runs < self.of or order % self.of == self.index - 1


def parse_shard(text: str) -> Shard:
    """`2/5`."""
    match = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    shard = Shard(index=int(match[1]), of=int(match[2])) if match else Shard(index=0, of=0)
    if not 1 <= shard.index <= shard.of:
        raise UsageError(
            f"'{text}' is no shard",
            where="--shard",
            next_step="Write its number, from 1, and how many there are, such as 2/5.",
        )
    return shard


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=DEFERRED)


class Part(_Strict):
    """A shard's part of one run."""

    slug: str
    #: Name of the files in `checkpoints/`.
    name: str
    first: int
    end: int
    #: Number of chunks of the whole run.
    chunks: int
    #: Everything that decides the result of a chunk; equal in all shards, or they are not of one run.
    identity: dict[str, Any]


class Manifest(_Strict):
    """`shard.json`. `command` is what `powercut merge` makes the same runs of."""

    shard: Literal[1]
    powercut: str
    index: int
    of: int
    command: dict[str, Any]
    parts: list[Part]
    #: Runs that came to nothing, with the reason: merging tries them again.
    failed: dict[str, str]


def carry_out(
    requests: Sequence[Request], shard: Shard, context: Context, *, command: dict[str, Any], jobs: int
) -> list[PowercutError]:
    """Explores the shard's part of the requests into the output folder; returns what went wrong."""
    manifest = context.out / MANIFEST
    try:
        manifest.unlink(missing_ok=True)  # a shard that is not finished has none
    except OSError as error:
        raise unwritable(manifest, error) from error
    parts: list[Part] = []
    errors: list[PowercutError] = []
    failed: dict[str, str] = {}
    chosen = [(order, item) for order, item in enumerate(requests) if shard.concerns(order, runs=len(requests))]
    each = max(1, jobs // max(1, len(chosen)))
    tasks = [partial(_part, item, order, shard, context, runs=len(requests), jobs=each) for order, item in chosen]
    with stoppable(tasks, jobs=jobs, stop=context.interrupt.request) as futures:
        for (_, request), future in zip(chosen, futures, strict=True):
            try:
                parts.append(future.result())
            except CancelledError:
                raise engine.Interrupted from None
            except PowercutError as error:
                failed[str(request.slug)] = error.paragraph()
                if not isinstance(error, NotApplicable) or not request.optional:
                    errors.append(error)
    write_json(
        manifest,
        Manifest(
            shard=1,
            powercut=__version__,
            index=shard.index,
            of=shard.of,
            command=command,
            parts=parts,
            failed=failed,
        ).model_dump(),
    )
    return errors


def _part(request: Request, order: int, shard: Shard, context: Context, *, runs: int, jobs: int) -> Part:
    context.listener.started(order, request.name)
    try:
        trace = runner.trace_of(request, context)
        checkpoint = runner.checkpoint_of(request, context)
        assert checkpoint is not None, "a shard keeps what it finishes"
        made = RunClaims(request.plan, request.scenario, model=request.options.model)
        subjects.of(request).record(request, trace, made, context=context, checkpoint=checkpoint)
        exploring = Exploring(
            name=request.name,
            trace=trace,
            options=request.options,
            engine_path=context.engine_path,
            interrupt=context.interrupt,
        )
        listed = exploring.listed()
        chunks = shard.part(order, len(listed.firsts), runs=runs)
        if len(chunks) > 0:
            _explore(exploring, chunks, checkpoint.chunks, resume=context.resume, jobs=jobs)
    finally:
        context.listener.ended(order)
    return Part(
        slug=str(request.slug),
        name=checkpoint.chunks.stem,
        first=chunks.first,
        end=chunks.end,
        chunks=len(listed.firsts),
        identity=listed.identity,
    )


def _explore(exploring: Exploring, chunks: Range, checkpoint: Path, *, resume: bool, jobs: int) -> None:
    """Chunks that cannot be finished (a recovery blocks) are left to the merge, which says why."""
    arguments = ["explore", "--trace", str(exploring.trace), *exploring.options.with_jobs(jobs).arguments()]
    arguments += ["--chunks", str(chunks), "--checkpoint", str(checkpoint)]
    arguments += ["--resume"] if resume else []
    for event, _ in engine.stream(exploring.engine_path, arguments, interrupt=exploring.interrupt):
        if isinstance(event, events.Explored) and exploring.interrupt.requested:
            raise engine.Interrupted


# ---- merging -----------------------------------------------------------------------------------------


def load(folder: Path) -> Manifest:
    """The manifest of a shard's folder; UsageError for anything else."""
    path = folder / MANIFEST
    if not path.is_file():
        raise UsageError(
            "there is no finished shard here",
            where=str(path),
            next_step="Name folders that 'powercut run … --shard i/n --out DIR' has ended in.",
        )
    content = read_json(path, "this shard", next_step=_AGAIN)
    try:
        return Manifest.model_validate(content)
    except ValidationError as error:
        raise UsageError(f"not a shard ({first_error(error)})", where=str(path), next_step=_AGAIN) from error


@dataclass(frozen=True, kw_only=True)
class Merged:
    """The shards of one command. As `runs.machines.Machines` it has all chunks explored before."""

    folders: tuple[tuple[Path, Manifest], ...]
    out: Path

    @property
    def command(self) -> dict[str, Any]:
        """Returns the inputs of the runs."""
        return self.folders[0][1].command

    def explored(self, exploring: Exploring) -> Sequence[Path]:
        """The checkpoints of the run, in the folders of the shards."""
        if exploring.folder is None:
            return ()
        name = exploring.folder.stem
        return [_checkpoint(folder, part) for folder, part in self._parts(name) if part.end > part.first]

    def _parts(self, name: str) -> list[tuple[Path, Part]]:
        return [(folder, part) for folder, manifest in self.folders for part in manifest.parts if part.name == name]

    def bring(self, requests: Sequence[Request], context: Context) -> None:
        """Puts the recordings into the output folder, so that the runs can be resumed.

        UsageError where shards do not fit together, or chunks are missing.
        """
        for request in requests:
            checkpoint = runner.checkpoint_of(request, context)
            assert checkpoint is not None
            parts = self._parts(checkpoint.chunks.stem)
            if not parts:
                _refuse_forgotten(request, self.folders)
                continue
            _refuse_others(request, parts)
            if not any(request.slug in manifest.failed for _, manifest in self.folders):  # else it is explored here
                _refuse_missing(request, parts)
            folder, part = parts[0]
            trace = runner.trace_of(request, context)
            there = folder / "traces" / trace.name
            recording = read_json(folder / checkpoints.FOLDER / f"{part.name}.json", "this recording", next_step=_AGAIN)
            try:
                trace.parent.mkdir(parents=True, exist_ok=True)
                checkpoint.chunks.parent.mkdir(parents=True, exist_ok=True)
                checkpoint.chunks.unlink(missing_ok=True)  # of an earlier command
                shutil.copyfile(there, trace)
                if loads_file(there).is_file():
                    shutil.copyfile(loads_file(there), loads_file(trace))
            except OSError as error:
                raise UsageError(
                    f"a shard's trace cannot be taken over ({error})", where=str(there), next_step=_AGAIN
                ) from error
            checkpoint.keep_recording(recording["plan"], {**recording["recorded"], "trace": str(trace)})


def merged(folders: Sequence[Path], *, out: Path) -> Merged:
    """The shards in `folders`; UsageError where they are not all shards of one command."""
    loaded = [(folder, load(folder)) for folder in folders]
    first = loaded[0][1]
    for folder, each in loaded:
        if out.resolve() == folder.resolve():
            raise UsageError(
                "a shard cannot be merged into its own folder", where=str(folder), next_step="Name another --out."
            )
        if each.powercut != __version__:
            raise UsageError(
                f"this shard is of powercut {each.powercut}, and this is {__version__}",
                where=str(folder),
                next_step="Merge with the version that the shards were run with.",
            )
        if (each.of, each.command) != (first.of, first.command):
            raise UsageError(
                "this is a shard of another command",
                where=str(folder),
                next_step=f"Merge folders of one command with the same number of shards as {folders[0]}.",
            )
    there = {each.index for _, each in loaded}
    if lacking := [str(index) for index in range(1, first.of + 1) if index not in there]:
        raise UsageError(
            f"of {first.of} shards {', '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} missing",
            where=" ".join(str(folder) for folder in folders),
            next_step="Name the folders of all shards; run what is missing.",
        )
    once = {each.index: (folder, each) for folder, each in reversed(loaded)}
    return Merged(folders=tuple(once[index] for index in sorted(once)), out=out)


def _checkpoint(folder: Path, part: Part) -> Path:
    return folder / checkpoints.FOLDER / f"{part.name}.checkpoint"


def _refuse_others(request: Request, parts: Sequence[tuple[Path, Part]]) -> None:
    """All parts have to be of one trace, one build, one set of options."""
    folder, first = parts[0]
    for other, part in parts:
        names = [name for name in first.identity if part.identity.get(name) != first.identity[name]]
        if names:
            raise UsageError(
                f"the shards of {request.name} do not fit together: {other} and {folder} differ in {', '.join(names)}",
                where=str(other),
                next_step="Run all shards with one build of powercut and of the target, at the same path, on machines "
                "of one kind.",
            )


def _refuse_missing(request: Request, parts: Sequence[tuple[Path, Part]]) -> None:
    count = parts[0][1].chunks
    if gaps := missing(count, [Range(part.first, part.end) for _, part in parts]):
        raise UsageError(
            f"of the {count} chunks of {request.name} no shard has {', '.join(map(str, gaps))}",
            where=" ".join(str(folder) for folder, _ in parts),
            next_step="Run the shards again; this is a defect of powercut if none of them failed.",
        )


def _refuse_forgotten(request: Request, folders: Sequence[tuple[Path, Manifest]]) -> None:
    if not any(request.slug in manifest.failed for _, manifest in folders):
        raise HarnessError(
            f"no shard knows of {request.name}",
            where=" ".join(str(folder) for folder, _ in folders),
            next_step="The scenarios or targets here are others than those of the shards. Merge in the same checkout.",
        )
