"""Temporary folders and files that are gone afterwards, also when this process is killed.

A shell removes a folder: it reads from a pipe until the kernel closes the other end, which it does for whoever is
killed. A file has no name in any folder.
"""

import os
import secrets
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from powercut.base.errors import HarnessError

#: Children that die with this process may still write there for a moment.
_KEEPER = """
trap '' INT TERM HUP QUIT
mkdir -m 700 "$1" || exit
echo made
read -r _
i=0
while rm -rf "$1"; [ -e "$1" ] && [ "$i" -lt 50 ]; do i=$((i + 1)); sleep 0.1; done
"""


@contextmanager
def folder(prefix: str, *, within: Path | None = None) -> Iterator[Path]:
    """The folder, in `within` or where temporary files go. OSError where `within` takes none, else HarnessError."""
    path = (within or Path(tempfile.gettempdir())).absolute() / f"{prefix}{secrets.token_hex(4)}"
    with subprocess.Popen(
        ["/bin/sh", "-c", _KEEPER, "sh", str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=os.sep,
        start_new_session=True,
    ) as keeper:
        assert keeper.stdout is not None
        if not keeper.stdout.readline():
            if within is not None:
                path.mkdir()  # this fails in the same way, and says why
                path.rmdir()
            raise HarnessError(
                "no temporary folder can be made here",
                where=str(path.parent),
                next_step="Name another place for temporary files with TMPDIR, or make room there.",
            )
        yield path


@contextmanager
def file(parts: Iterable[str]) -> Iterator[str]:
    """A path under which another process finds these texts, one behind the other."""
    with tempfile.TemporaryFile("w", encoding="utf-8") as written:
        written.writelines(parts)
        written.flush()
        yield f"/proc/{os.getpid()}/fd/{written.fileno()}"
