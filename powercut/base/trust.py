"""Whether code that a file names may run: only what its user has given to powercut before, by hand.

A trace names the library that `explore` loads, a finding the library or the commands that `reproduce` runs. Such files
come by mail and from CI. A user names other libraries and commands on a command line or in a test. powercut remembers
these: a library by its path, a command by its words and its folder. A file that names just these grants nothing new,
wherever it lies and whoever wrote the file. Anything else is asked about, or needs `--trust`.

It is the code that is remembered, and not the file or its folder: an archive may well be unpacked over a folder that
a run of this user made. The list lies outside of every output folder, in `$XDG_STATE_HOME/powercut/trusted`, a line (a
digest) for each; it counts only where it and its folder are the user's own and nobody else may write to them. Deleting
it loses nothing but answers. Targets of this installation need no entry.
"""

import contextlib
import hashlib
import json
import os
import shlex
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.base.user_files import parse_json

#: Entries that are kept; the oldest go.
MOST = 20_000
_HEADER_BYTES, _MOST_METADATA = 40, 16 << 20
_MAGIC = b"\x89PCT\r\n\x1a\n"


@dataclass(frozen=True, kw_only=True)
class Code:
    """Something that would be loaded or run."""

    kind: str
    words: tuple[str, ...]

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps([self.kind, *self.words]).encode()).hexdigest()

    def __str__(self) -> str:
        if self.kind == "library":
            return f"the library {self.words[0]}"
        return f"the command {shlex.join(self.words[1:])}, in {self.words[0]}"


def library(path: str | os.PathLike[str]) -> Code:
    """A target library that would be loaded."""
    return Code(kind="library", words=(os.path.realpath(path),))


def command(words: Sequence[str], cwd: str | os.PathLike[str]) -> Code:
    """A command that would be run."""
    return Code(kind="command", words=(os.path.realpath(cwd), *words))


def remember(codes: Iterable[Code]) -> None:
    """The user has named these. A list that cannot be written is no reason to fail: then it is asked later."""
    fresh = [code.digest for code in codes if not _is_ours(code)]
    known = _known()
    fresh = [digest for digest in dict.fromkeys(fresh) if digest not in known]
    file = _file()
    if not fresh or file is None:
        return
    with contextlib.suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if len(known) + len(fresh) > MOST:
            file.unlink(missing_ok=True)
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, "".join(f"{digest}\n" for digest in fresh).encode())
        finally:
            os.close(handle)


def require(codes: Iterable[Code], *, file: Path, granted: bool) -> None:
    """Asks on a terminal, and raises UsageError elsewhere, unless the user has named all of `codes` before."""
    if granted:
        return
    known = _known()
    strange = [code for code in dict.fromkeys(codes) if not _is_ours(code) and code.digest not in known]
    if not strange:
        return
    if sys.stdin.isatty() and sys.stderr.isatty():
        named = "".join(f"  {code}\n" for code in strange)
        print(
            f"powercut: {file} would run code that you have not given to powercut yourself:\n{named}Run it? [y/N] ",
            end="",
            file=sys.stderr,
            flush=True,
        )
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return
    raise UsageError(
        f"it would run code that you have not given to powercut yourself: {'; '.join(map(str, strange))}",
        where=str(file),
        next_step="Look at it first; --trust runs it.",
    )


def of_trace(trace: Path) -> list[Code]:
    """The library that the engine loads for a trace; none for one that it will refuse."""
    return _of_plan(metadata_of(trace).get("plan"))


def metadata_of(trace: Path) -> dict[str, Any]:
    """Reads the header of a trace; returns nothing for a file that the engine will refuse."""
    try:
        with trace.open("rb") as file:
            header = file.read(_HEADER_BYTES)
            size = int.from_bytes(header[16:24], "little")
            if not header.startswith(_MAGIC) or size > _MOST_METADATA:
                return {}
            metadata = parse_json(file.read(size).decode("utf-8"))
    except (OSError, ValueError):
        return {}
    return metadata if isinstance(metadata, dict) else {}


def of_finding(content: Mapping[str, Any]) -> list[Code]:
    """The library, or the commands, that replaying a finding runs."""
    described = content.get("program")
    if not isinstance(described, dict):
        return _of_plan(content.get("plan"))
    folder = str(described.get("cwd"))
    probes = described.get("probes")
    found = [described.get(name) for name in ("recover", "check", "dump", "continuation")]
    found += probes if isinstance(probes, list) else []
    return [command([str(word) for word in words], folder) for words in found if isinstance(words, list) and words]


def _of_plan(plan: Any) -> list[Code]:
    target = plan.get("target") if isinstance(plan, dict) else None
    path = target.get("library") if isinstance(target, dict) else None
    return [library(path)] if isinstance(path, str) and "\0" not in path else []


def _is_ours(code: Code) -> bool:
    return code.kind == "library" and Path(code.words[0]).is_relative_to(paths.build_dir().resolve())


def _file() -> Path | None:
    state = os.environ.get("XDG_STATE_HOME")
    if state and os.path.isabs(state):
        return Path(state) / "powercut" / "trusted"
    try:
        return Path.home() / ".local" / "state" / "powercut" / "trusted"
    except RuntimeError:  # no home
        return None


def _known() -> frozenset[str]:
    file = _file()
    if file is None:
        return frozenset()
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return frozenset()
    with os.fdopen(handle, "rb") as opened:
        if not (_is_private(os.fstat(handle)) and stat.S_ISREG(os.fstat(handle).st_mode)):
            return frozenset()
        if not _is_private(os.stat(file.parent)):
            return frozenset()
        return frozenset(opened.read(MOST * 80).decode("ascii", "replace").split())


def _is_private(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
