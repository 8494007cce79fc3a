"""The small programs share this. Each takes the words `setup`, `run`, `check` or `dump`, and a folder."""

import os
import sys
import zlib
from pathlib import Path

#: The twin runs with this variable.
MENDED = "MENDED" in os.environ


def enter() -> str:
    """Enters the folder, which setup makes; returns the first word."""
    _, verb, folder = sys.argv
    if verb == "setup":
        os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    return verb


def sync_folder(path: str = ".") -> None:
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def acknowledge(what: object) -> None:
    """The operation is promised to the user."""
    print("done", what, flush=True)


def save(path: str, text: str) -> None:
    """Writes a file as it should be: beside the old one, synced, renamed over it, and the folder synced."""
    with open(path + ".tmp", "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".tmp", path)
    sync_folder()


def append(path: str, text: str) -> None:
    """Appends a line with its checksum, and syncs it."""
    with open(path, "a") as file:
        file.write(f"{zlib.crc32(text.encode()):08x} {text}\n")
        file.flush()
        os.fsync(file.fileno())


def lines(path: str) -> list[str]:
    """The lines of a file up to the first torn one. A file that is missing has none."""
    if not os.path.exists(path):
        return []
    found = []
    for line in Path(path).read_bytes().splitlines(keepends=True):
        text = line[9:-1]
        if not line.endswith(b"\n") or line[:8] != b"%08x" % zlib.crc32(text):
            break
        found.append(text.decode())
    return found
