"""The file systems that the rig knows: how each is made, mounted and nudged, and what this machine lacks for it."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from powercut.base import paths

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class System:
    name: str
    profile: str
    kind: str  # as mount names it
    size: int  # bytes of the disk
    sector: int  # what the disk writes whole, in bytes
    maker: tuple[str, ...]  # behind it comes the file
    package: str
    options: str = ""
    superblock: range | None = None  # bytes that are written whole, as the file system takes it

    def missing(self) -> str | None:
        """Why no rig of this file system can run here, or None. conftest.py knows the beginnings of these sentences."""
        if os.geteuid() != 0:
            return "No privilege: real file systems are mounted by root alone."
        for device in (Path("/dev/fuse"), Path("/dev/loop-control")):
            if not os.access(device, os.R_OK | os.W_OK):
                return f"This machine lacks {device}: real file systems need FUSE and loop devices."
        if not _may_mount():
            return "No privilege: this process may not mount file systems, though it is root's."
        if not _kernel_has(self.kind):
            return f"This kernel lacks the file system {self.kind}."
        if shutil.which(self.maker[0]) is None:
            return f"{self.maker[0]} was not found: install the package {self.package}."
        if not daemon().exists():
            build = "this package was built without libfuse3" if paths.installed() else "install libfuse3-dev"
            return f"{daemon().name} was not found: {build}. {paths.BUILD}"
        return None


def _ext4(name: str, options: str = "", features: tuple[str, ...] = ()) -> System:
    maker = ("mkfs.ext4", "-q", "-F", "-b", "4096", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", *features)
    return System(name, name, "ext4", 16 * MEBIBYTE, 512, maker, "e2fsprogs", options, superblock=range(1024, 2048))


XFS = ("mkfs.xfs", "-q", "-f", "-K")
BTRFS = ("mkfs.btrfs", "-q", "-f", "-K", "-m", "single")

SYSTEMS = {
    system.name: system
    for system in (
        _ext4("ext4"),
        System("xfs", "xfs", "xfs", 300 * MEBIBYTE, 512, XFS, "xfsprogs"),
        System("btrfs", "btrfs", "btrfs", 128 * MEBIBYTE, 4096, BTRFS, "btrfs-progs", "nodiscard"),
        _ext4("ext4-noauto", "noauto_da_alloc"),
        _ext4("ext4-journal", "data=journal"),
        _ext4("ext4-writeback", "data=writeback"),
        _ext4("ext4-fast-commit", features=("-O", "fast_commit")),
    )
}


def daemon() -> Path:
    return paths.build_dir() / "bin" / "powercut-recording-disk"


def _may_mount() -> bool:
    """Whether this process has CAP_SYS_ADMIN, which root of a container lacks."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> 21 & 1)
    return False


def _kernel_has(kind: str) -> bool:
    """A module that is not loaded yet is loaded by the first mount."""
    if any(line.split()[-1] == kind for line in Path("/proc/filesystems").read_text(encoding="ascii").splitlines()):
        return True
    modules = Path("/lib/modules") / os.uname().release / "kernel" / "fs" / kind
    return modules.is_dir() and any(modules.glob(f"{kind}.ko*"))
