"""A file of settings, with and without the syncs that it needs. Each recovery loads this module alone."""

import json
import os
from pathlib import Path


def save(folder: Path, settings: object) -> None:
    """The bug: nothing makes the bytes durable before the name."""
    new = folder / "settings.tmp"
    new.write_text(json.dumps(settings))
    new.rename(folder / "settings")


def save_for_good(folder: Path, settings: object) -> None:
    """The twin, which syncs the file and then its folder."""
    _save(folder, settings, os.O_TRUNC)


def save_over(folder: Path, settings: object) -> None:
    """A bug of two lives: a file that an earlier life left is not emptied."""
    _save(folder, settings, 0)


def save_default(folder: Path) -> None:
    """The shortest settings."""
    save_over(folder, "")


def _save(folder: Path, settings: object, flags: int) -> None:
    with open(os.open(folder / "settings.tmp", os.O_WRONLY | os.O_CREAT | flags), "w") as file:
        json.dump(settings, file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(folder / "settings.tmp", folder / "settings")
    handle = os.open(folder, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def load(folder: Path) -> object:
    """The settings; none before the first save."""
    path = folder / "settings"
    return json.loads(path.read_text()) if path.exists() else {}


def nothing(folder: Path) -> None:
    """Writes nothing."""
    del folder
