"""The files beside its pools that a recorded program changes: which they are, and how they come back.

The command runs under `powercut-engine watch`, which hears of every call that may change a file, by whatever process
makes it. No image holds these files: a recovery that looks at one of them is not judged.
"""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.engine.supervise import StartError
from powercut.program import keeper

_REPORT = "other-files.json"
#: Files that Valgrind makes of its own command line, and unlinks at once.
_OF_VALGRIND = re.compile(r"/valgrind_proc_\d+_[^/]*$")


@dataclass(frozen=True, kw_only=True)
class OtherFiles:
    """Returns the files that the program has changed."""

    #: Each with its path and whether its name came or went, as they stand in the trace's metadata.
    changed: tuple[dict[str, Any], ...] = ()
    #: Why that may not be all, one sentence each.
    unseen: tuple[str, ...] = ()

    def described(self) -> dict[str, Any]:
        """As it stands in the trace's metadata."""
        return {"other_files": list(self.changed), "refused": list(self.unseen)}


def report(scratch: Path) -> Path:
    """The file in which the command leaves its findings."""
    return scratch / _REPORT


def watched(
    command: Sequence[str], *, pools: Sequence[Path], scratch: Path, saved: Path | None, asks: bool = False
) -> list[str]:
    """The command, such that `found` tells afterwards which files it has changed.

    Files in the folders of the pools, and below, are saved in the folder `saved` first, from which
    `powercut.program.pools.aside` puts them back (`tracer/other_files/data_folders.h`). `asks`: the command itself asks
    for the report while it runs.
    """
    words = [os.fspath(paths.engine()), "watch", f"--report={report(scratch)}", f"--spare={os.path.realpath(scratch)}"]
    words += ["--asks"] if asks else []
    for pool in pools:
        words += [f"--pool={pool}", f"--spare={pool}", f"--spare={keeper.aside_of(os.fspath(pool))}"]
    if saved:
        words += [f"--saved={saved}", f"--spare={saved}"]
    return [*words, "--", *command]


def found(command: Sequence[str], *, scratch: Path) -> OtherFiles:
    """Returns the files that the command has changed. StartError where the command could not be started."""
    try:
        told = json.loads(report(scratch).read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):  # it was killed with all its processes
        return OtherFiles(unseen=(_unseen("any call"),))
    if told["failed"] is not None:
        raise StartError(os.strerror(told["failed"]), command[0])
    changed = tuple(file for file in told["changed"] if not _OF_VALGRIND.search(file["path"]))
    return OtherFiles(changed=changed, unseen=tuple(map(_unseen, told["unseen"])))


def _unseen(what: str) -> str:
    return f"the program may have changed files beside its pools by {what}, which was not seen"
