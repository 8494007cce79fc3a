"""Things that all worker processes of a session share: the first test that asks for a thing makes it."""

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path


def made_once(folder: Path, make: Callable[[Path], object]) -> Path:
    """Fills `folder` with `make`, unless a test of this session has done so, and returns it.

    `folder` lies in `conftest.session_folder`. Other processes wait for the one that makes it. `make` gets the folder
    itself, so that paths inside of what it makes stay true. A `make` that fails leaves nothing: the next test tries.
    """
    done = folder.with_name(f"{folder.name}.done")
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            make(folder)
            done.touch()
    return folder
