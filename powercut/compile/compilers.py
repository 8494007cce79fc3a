"""The user's compiler, for `powercut cc`: which one is taken, and how it instruments.

A plugin works only in the clang of its own LLVM version, so the compiler is settled first: what `POWERCUT_CLANG` or
`POWERCUT_CLANGXX` names; else the newest of `clang-19`, `clang-16`, `clang-15` and `clang-14` that is installed, and
`clang` when it is one of these versions. A named compiler for which there is no plugin, gcc or another clang,
instruments by callbacks: with `-fsanitize=thread`, and our runtime behind it. Callbacks see less than a plugin, so they
are never taken unasked.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from powercut.base.errors import UsageError

#: File name of the plugin by major version of clang, the preferred version first.
PLUGINS = {
    19: "libpowercut_pass.so",
    16: "libpowercut_pass_16.so",
    15: "libpowercut_pass_15.so",
    14: "libpowercut_pass_14.so",
}
#: Further options of a major version. The pass knows no typed pointers, which are the default of 14.
_OPTIONS = {14: ("-mllvm", "-opaque-pointers")}
_SUPPORTED = f"clang {', '.join(str(major) for major in list(PLUGINS)[:-1])} and {list(PLUGINS)[-1]}"
#: Code that -fsanitize=thread does not see; said wherever that option is used.
LOST_BY_CALLBACKS = "inline assembly, and libraries that are not rebuilt, are not seen"
_VARIABLES = {False: "POWERCUT_CLANG", True: "POWERCUT_CLANGXX"}
_ANSWER_SECONDS = 10


@dataclass(frozen=True, kw_only=True)
class Compiler:
    """An executable, and the major version that it is."""

    path: str
    major: int
    kind: Literal["clang", "gcc"] = "clang"

    @property
    def plugin(self) -> str | None:
        """File name of the pass for this compiler. None: it instruments by callbacks."""
        return PLUGINS.get(self.major) if self.kind == "clang" else None

    @property
    def options(self) -> tuple[str, ...]:
        """Further options of this compiler, for the pass."""
        return _OPTIONS.get(self.major, ()) if self.plugin else ()


def find(*, cxx: bool) -> Compiler:
    """The compiler to take; a UsageError names the compilers that exist and the one to install."""
    variable, name = _override(cxx=cxx)
    if name:
        return _named(name, variable)
    stem = "clang++" if cxx else "clang"
    for major in PLUGINS:
        # Distributions' names are kept: asking each time would cost every compiler call a process.
        if path := shutil.which(f"{stem}-{major}"):
            return Compiler(path=path, major=major)
    plain = shutil.which(stem)
    if plain and (major := clang_major(plain)) in PLUGINS:
        return Compiler(path=plain, major=major)
    there = "; ".join(_present(stem)) or "no compiler at all"
    raise UsageError(
        f"none of {_SUPPORTED} is installed (found: {there})",
        where=stem,
        next_step=_install(_VARIABLES[cxx]),
    )


@cache
def clang_major(path: str) -> int:
    """Major version of a clang executable; 0 for everything else."""
    found = re.search(r"\bclang version (\d+)\.", _banner(path))
    return int(found[1]) if found else 0


@cache
def gcc_major(path: str) -> int:
    """Major version of a gcc executable; 0 for everything else."""
    found = re.match(r"\S*(?:gcc|g\+\+|cc|c\+\+)\S* \([^)]*\) (\d+)\.", _banner(path))
    return int(found[1]) if found else 0


def _override(*, cxx: bool) -> tuple[str, str]:
    """The variable that names the compiler, and the name in it; "" when none does."""
    own, of_c = _VARIABLES[cxx], _VARIABLES[False]
    if name := os.environ.get(own, ""):
        return own, name
    if not cxx or not (name := os.environ.get(of_c, "")):
        return own, ""
    # One variable is enough where both compilers lie side by side: clang-16 and clang++-16, gcc-12 and g++-12.
    path = Path(name)
    sibling = re.sub(r"clang(?!\+\+)", "clang++", path.name, count=1)
    sibling = re.sub(r"gcc", "g++", sibling, count=1)
    return own, str(path.with_name(sibling)) if "/" in name else sibling


def _named(name: str, variable: str) -> Compiler:
    path = shutil.which(name)
    if path is None:
        raise UsageError("the compiler was not found", where=name, next_step=_install(variable))
    if major := clang_major(path):
        return Compiler(path=path, major=major)
    if major := gcc_major(path):
        return Compiler(path=path, major=major, kind="gcc")
    raise UsageError(
        f"this is neither a clang nor a gcc (it is {_what(path)})",
        where=path,
        next_step=_install(variable),
    )


def _install(variable: str) -> str:
    others = ", ".join(f"clang-{major}" for major in list(PLUGINS)[1:])
    return (
        f"Install clang-19 ('make setup' or 'apt-get install clang-19') or one of {others}, or set {variable} to one. "
        f"{variable} may name gcc as well; {LOST_BY_CALLBACKS} then."
    )


def _present(stem: str) -> Iterator[str]:
    """The compilers on the search path that were passed over, each with its version."""
    seen: set[str] = set()
    names = [stem, "g++" if stem == "clang++" else "gcc"]
    for folder in os.get_exec_path():
        versions = (path.name for path in Path(folder).glob(f"{stem}-*") if path.name[len(stem) + 1 :].isdigit())
        for name in (*names, *sorted(versions)):
            path = shutil.which(name, path=folder)
            if path and name not in seen:
                seen.add(name)
                yield f"{name}: {_what(path)}"


def _what(path: str) -> str:
    """Returns an executable's version line, for people."""
    if major := clang_major(path):
        return f"clang {major}"
    banner = _banner(path).strip()
    return f"'{banner.splitlines()[0][:80]}'" if banner else "no compiler that answers --version"


@cache
def _banner(path: str) -> str:
    try:
        done = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
            timeout=_ANSWER_SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout
