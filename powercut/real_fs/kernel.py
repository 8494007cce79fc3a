"""System calls that Python has no function for: mount namespaces, mounts, loop devices, write-back."""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
from contextlib import suppress
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS = 0x00020000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 1 << 18
MNT_DETACH = 2
PR_SET_CHILD_SUBREAPER = 36

LOOP_CLR_FD, LOOP_GET_STATUS64, LOOP_CONFIGURE, LOOP_CTL_GET_FREE = 0x4C01, 0x4C05, 0x4C0A, 0x4C82
LO_FLAGS_AUTOCLEAR, LO_FLAGS_DIRECT_IO = 4, 16
BLKFLSBUF = 0x1261
#: struct loop_info64: five numbers, four flags, the name and what cryptoloop once had.
LOOP_INFO = struct.Struct("5Q4I64s64s32s2Q")
LOOP_CONFIG = struct.Struct("2I")
LOOP_RESERVED = bytes(64)
MOST_TRIES = 16  # for a free loop device that somebody else may take first

SYNC_FILE_RANGE_WRITE, SYNC_FILE_RANGE_WAIT_AFTER = 2, 4
FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE, FALLOC_FL_ZERO_RANGE = 1, 2, 16
RENAME_EXCHANGE = 2
SYSLOG_ACTION_READ_ALL, MOST_LOG = 3, 1 << 18
AT_FDCWD, AT_SYMLINK_FOLLOW = -100, 0x400


def _call(name: str, *arguments: object) -> int:
    result: int = getattr(_LIBC, name)(*arguments)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")
    return result


def own_mounts() -> None:
    """Gives this process mounts of its own: what it mounts, nobody else sees."""
    _call("unshare", CLONE_NEWNS)
    _call("mount", b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None)


def adopt_orphans() -> None:
    """Processes whose parents end become children of this process."""
    _call("prctl", PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))


def mount(source: str, target: Path, kind: str, options: str = "") -> None:
    _call("mount", source.encode(), bytes(target), kind.encode(), ctypes.c_ulong(0), options.encode() or None)


def bind(folder: Path, target: Path) -> None:
    """The folder is seen under a second name, in the place of what is there."""
    _call("mount", bytes(folder), bytes(target), None, ctypes.c_ulong(MS_BIND), None)


def unmount(target: Path | str, *, later: bool = False) -> None:
    """`later` takes the mount away at once, and ends it when nobody uses it any more."""
    _call("umount2", os.fsencode(target), MNT_DETACH if later else 0)


def sync_file_system(file: int) -> None:
    _call("syncfs", file)


def sync_file_range(file: int, offset: int, length: int, flags: int) -> None:
    _call("sync_file_range", file, ctypes.c_int64(offset), ctypes.c_int64(length), ctypes.c_uint(flags))


def allocate(file: int, mode: int, offset: int, length: int) -> None:
    _call("fallocate", file, mode, ctypes.c_int64(offset), ctypes.c_int64(length))


def exchange(old: Path, new: Path) -> None:
    _call("renameat2", AT_FDCWD, bytes(old), AT_FDCWD, bytes(new), ctypes.c_uint(RENAME_EXCHANGE))


def name_file(file: int, path: Path) -> None:
    """Gives a file of O_TMPFILE its name."""
    _call("linkat", AT_FDCWD, f"/proc/self/fd/{file}".encode(), AT_FDCWD, bytes(path), AT_SYMLINK_FOLLOW)


def last_messages(word: str, most: int) -> list[str]:
    """The last lines of the kernel's log that have a word."""
    buffer = ctypes.create_string_buffer(MOST_LOG)
    length = _call("klogctl", SYSLOG_ACTION_READ_ALL, buffer, MOST_LOG)
    lines = buffer.raw[:length].decode(errors="replace").splitlines()
    return [line for line in lines if word in line][-most:]


# -- loop devices ------------------------------------------------------------------------------------------------


def attach(file: int, tag: str, sector: int, *, direct: bool) -> tuple[Path, int]:
    """A loop device over an open file, and the descriptor that keeps the device: the kernel detaches it when nobody
    has it open. The guardian finds the device by its tag."""
    control = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
    try:
        for _ in range(MOST_TRIES):
            path = Path(f"/dev/loop{fcntl.ioctl(control, LOOP_CTL_GET_FREE)}")
            device = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            flags = LO_FLAGS_AUTOCLEAR | (LO_FLAGS_DIRECT_IO if direct else 0)
            info = LOOP_INFO.pack(0, 0, 0, 0, 0, 0, 0, 0, flags, tag.encode(), b"", b"", 0, 0)
            try:
                fcntl.ioctl(device, LOOP_CONFIGURE, LOOP_CONFIG.pack(file, sector) + info + LOOP_RESERVED)
                return path, device
            except OSError:
                os.close(device)
    finally:
        os.close(control)
    raise OSError(f"no loop device was free in {MOST_TRIES} tries.")


def attached(tag: str) -> list[Path]:
    """The loop devices of a tag."""
    found = []
    for path in sorted(Path("/dev").glob("loop[0-9]*")):
        with suppress(OSError):
            device = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                status = fcntl.ioctl(device, LOOP_GET_STATUS64, bytes(LOOP_INFO.size))
            finally:
                os.close(device)
            if LOOP_INFO.unpack(status)[9].rstrip(b"\0").decode() == tag:
                found.append(path)
    return found


def detach(path: Path) -> None:
    device = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.ioctl(device, LOOP_CLR_FD, 0)
    finally:
        os.close(device)


def forget_cache(device: int) -> None:
    """The kernel's own copy of a device's blocks is dropped: the file below has changed."""
    fcntl.ioctl(device, BLKFLSBUF, 0)
