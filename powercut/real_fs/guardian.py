"""The process that leaves nothing behind: no mount, no loop device, no process that waits for a disk that is gone.

`python -m powercut.real_fs.guardian FOLDER ALIVE MODULE WORD…`: FOLDER is empty and becomes a file system in memory,
seen by nobody else. ALIVE is a descriptor whose other end the caller holds. The guardian starts the worker, `python -m
MODULE FOLDER TAG WORD…`, on its own stdin and stdout. It waits until the worker ends, or the caller is gone, also by
`kill -9`. The order of clearing up matters: a process that waits for a disk of FUSE cannot be killed before the
connection is aborted.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from powercut.real_fs import kernel

CONNECTIONS = Path("/sys/fs/fuse/connections")
SECONDS_TO_DIE = 10
#: A worker's file with the path of a folder that it made elsewhere.
MADE = "made"


def guard(folder: Path, alive: int, module: str, words: Sequence[str]) -> int:
    os.setsid()  # a signal to the group of the caller is none to the guardian
    kernel.adopt_orphans()
    kernel.own_mounts()
    kernel.mount("tmpfs", folder, "tmpfs")
    with suppress(OSError):  # it is mounted already
        kernel.mount("fusectl", CONNECTIONS, "fusectl")
    worker = os.fork()
    if worker == 0:
        os.setpgid(0, 0)
        os.close(alive)
        os.execv(sys.executable, [sys.executable, "-m", module, str(folder), tag_of(folder), *words])
    os.close(0)
    os.close(1)  # the caller sees the end of the worker's answers
    ended = os.pidfd_open(worker)
    poll = select.poll()
    poll.register(alive, select.POLLIN)
    poll.register(ended, select.POLLIN)
    poll.poll()
    clear_up(folder, worker)
    return 0


def tag_of(folder: Path) -> str:
    """The name of the loop devices of one rig."""
    return folder.name[:60]


def clear_up(folder: Path, worker: int) -> None:
    """Nothing that the worker made is left, whatever state the worker is in."""
    for number in connections(folder):
        with suppress(OSError):
            (CONNECTIONS / str(number) / "abort").write_text("1", encoding="ascii")
    with suppress(ProcessLookupError):
        os.killpg(worker, signal.SIGKILL)
    end = time.monotonic() + SECONDS_TO_DIE
    with suppress(ChildProcessError):  # none is left
        while time.monotonic() < end:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.01)
    made = made_by_worker(folder)
    for target in [*map(str, made), *reversed(mounted(folder))]:
        with suppress(OSError):
            kernel.unmount(target, later=True)
    for device in kernel.attached(tag_of(folder)):
        with suppress(OSError):
            kernel.detach(device)
    for place in [folder, *made]:
        with suppress(OSError):
            place.rmdir()


def made_by_worker(folder: Path) -> list[Path]:
    """The folder that the worker made outside of its own, to mount something there; the guardian removes it."""
    with suppress(OSError):
        return [Path((folder / MADE).read_text(encoding="utf-8"))]
    return []


def mounts(folder: Path) -> list[tuple[str, str, int]]:
    """Target, kind and the minor number of the device of each mount in or below the folder, in their order."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        fields, _, rest = line.partition(" - ")
        _, _, device, _, target, *_ = fields.split()
        if Path(target).is_relative_to(folder):
            found.append((target, rest.split()[0], int(device.partition(":")[2])))
    return found


def mounted(folder: Path) -> list[str]:
    return [target for target, _, _ in mounts(folder)]


def connections(folder: Path) -> list[int]:
    """The numbers of the connections of FUSE: the minor numbers of their mounts."""
    return [minor for _, kind, minor in mounts(folder) if kind.startswith("fuse.")]


if __name__ == "__main__":
    sys.exit(guard(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]))
