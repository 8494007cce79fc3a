"""The folder of a recorded program: it is put aside for the run, and is back afterwards as it was.

With a set-up the program begins with an empty folder and what the set-up makes there; without one, with a copy of what
is in the folder. A set-up that makes the folder itself fails on the empty one, and runs again where there is none. The
next run thus begins as this one did, and no file of the user's is changed or lost.
"""

import contextlib
import os
import shlex
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from powercut.base.errors import UsageError
from powercut.engine.engine import Interrupt
from powercut.program import endings
from powercut.program import pools as program_pools
from powercut.program.recording import Recording

_CHOOSE = "Name the folder that holds the program's data with --files."
#: Seconds that a recording has at least, however little a budget leaves of its time.
_LEAST = 0.1


@dataclass(frozen=True, kw_only=True)
class Begun:
    """A recording whose folder is as the program shall find it."""

    recording: Recording
    #: To be inherited by whoever ends the program: the user's folder stays aside until it has gone.
    held: int


def examine(name: str, *, cwd: Path) -> Path:
    """The folder, absolute and without links; it need not exist yet. UsageError when it cannot be put aside."""
    where = f"--files {name}"
    if not name or "\0" in name:
        raise UsageError("an empty name", where="--files", next_step=_CHOOSE)
    path = Path(os.path.realpath(cwd / name))
    if not path.parent.is_dir():
        raise UsageError(
            f"its folder does not exist: {path.parent}",
            where=where,
            next_step="Make the folder, or correct the path (it is relative to --cwd).",
        )
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = None
    except OSError as error:
        raise UsageError(
            f"it cannot be looked at ({error.strerror})", where=where, next_step="Correct its permissions."
        ) from error
    if mode is not None and not stat.S_ISDIR(mode):
        raise UsageError(
            "this is a file, and no folder",
            where=where,
            next_step="Name the folder that holds it; one file that is written in place: --device FILE.",
        )
    if os.path.ismount(path):
        raise UsageError(
            "the root of a file system is no folder to judge: it cannot be put aside for the run",
            where=where,
            next_step="Make a folder below it, and let the program keep its data there.",
        )
    if path == Path.home().resolve():
        raise UsageError("this is your home folder", where=where, next_step=_CHOOSE)
    if not os.access(path.parent, os.W_OK) or os.statvfs(path.parent).f_flag & os.ST_RDONLY:
        raise UsageError(
            f"{path.parent} cannot be written, and the folder is put aside there for the run",
            where=where,
            next_step="Let the program keep its data in a folder below one of your own.",
        )
    return path


def refuse_inside(folder: Path, **places: Path) -> None:
    """UsageError for something of the run that would be put aside with the folder. The keys say what it is."""
    for what, place in places.items():
        if place.resolve().is_relative_to(folder):
            raise UsageError(
                f"{what.replace('_', ' ')} lies in the folder that is judged: {place}",
                where=f"--files {folder}",
                next_step="Keep the program's data in a folder of its own, which has nothing else in it.",
            )


@contextlib.contextmanager
def begun(recording: Recording, *, scratch: Path, interrupt: Interrupt | None) -> Iterator[Begun]:
    """The folder as the program begins with it, in the body. Afterwards the user's folder is back, also after kill -9.

    UsageError for a set-up that fails, and for a folder that cannot be put aside or copied.
    """
    (folder,) = recording.pools
    with program_pools.aside([folder]) as aside:
        (before,) = aside.before
        started = time.monotonic()
        _make(folder, before)
        if recording.setup:
            _set_up(recording, scratch=scratch, held=aside.held, interrupt=interrupt)
            began, advice = f"made by --setup: {shlex.join(recording.setup)}", ""
        elif before is not None and any(before.iterdir()):
            _copy(before, folder)
            began, advice = "a copy of the folder as it is", ""
        else:
            began = "an empty folder"
            advice = (
                "It began with an empty folder: make files that it needs there with --setup CMD. For a program that "
                "makes the folder itself, name the folder above with --files. Otherwise: "
            )
        within = recording.within
        if within is not None:
            within = max(_LEAST, within - (time.monotonic() - started))
        yield Begun(recording=replace(recording, began=began, advice=advice, within=within), held=aside.held)


def _make(folder: Path, before: Path | None) -> None:
    folder.mkdir()
    if before is not None:
        shutil.copystat(before, folder)
        owner = before.stat()
        with contextlib.suppress(PermissionError):
            os.chown(folder, owner.st_uid, owner.st_gid)


def _set_up(recording: Recording, *, scratch: Path, held: int, interrupt: Interrupt | None) -> None:
    (folder,) = recording.pools
    try:
        endings.set_up(recording, scratch=scratch, held=held, interrupt=interrupt)
    except endings.SetUpFailed as failed:
        if not _is_folder(folder) or any(folder.iterdir()):
            raise
        folder.rmdir()
        try:
            endings.set_up(recording, scratch=scratch, held=held, interrupt=interrupt)
        except UsageError:
            raise failed from None
    if not _is_folder(folder):
        raise UsageError(
            f"the set-up made something else than a folder: {folder}",
            where=f"--setup {shlex.join(recording.setup)}",
            next_step="Let it make a folder under this name: no link, and no file.",
        )


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _copy(before: Path, folder: Path) -> None:
    """With hard links, holes, owners and times."""
    command = ["cp", "-a", "--", f"{before}/.", os.fspath(folder)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode:
        raise UsageError(
            f"it cannot be copied for the run: {done.stderr.strip().splitlines()[-1] if done.stderr else 'cp failed'}",
            where=f"--files {folder}",
            next_step="Correct what it says, or make the program's files with --setup CMD.",
        )
