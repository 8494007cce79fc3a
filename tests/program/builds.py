"""Programs of the tests, each compiled once in a session.

The first test that asks for a program compiles it, in whichever worker the test runs. Every other test gets a copy.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from powercut.compile import cc
from tests.once import made_once

#: The folder that all workers of the session share; `tests/conftest.py` sets it.
_shared: list[Path] = []


def keep_in(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    _shared[:] = [folder]


def compiled(program: Path, words: Sequence[str | Path], *, traced: bool = True, cxx: bool = False) -> None:
    """Writes `program`, built by `powercut cc` or `powercut c++`, or without `traced` by Clang alone.

    `words` name sources of this repository, which stay the same during a session. They do not name the output.
    """
    (shared,) = _shared
    given = [str(word) for word in words]
    key = hashlib.sha256("\0".join([str(traced), str(cxx), *given]).encode()).hexdigest()[:20]

    def compile_into(folder: Path) -> None:
        named = [*given, "-o", str(folder / "program")]
        plain = ["clang++-19" if cxx else "clang-19", *named]
        subprocess.run(cc.build_command(named, cxx=cxx) if traced else plain, check=True)

    shutil.copy2(made_once(shared / key, compile_into) / "program", program)
