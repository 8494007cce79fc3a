"""Helpers of the tests of program mode: the test program in its builds, and running the command line on it."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from powercut.base import paths
from powercut.cli import main as cli
from tests.program.builds import compiled

SOURCE = Path(__file__).parent / "programs" / "kv.c"
CLI = [sys.executable, "-m", "powercut"]
_INCLUDE = f"-I{paths.home() / 'targets/include'}"
#: Without optimisation the compiler neither merges nor moves stores: all builds store the same.
_AS_WRITTEN = ("-O0", "-g", "-Wall", "-Wextra", "-Werror", _INCLUDE)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Files and output of a command line."""

    code: int
    out: str
    err: str

    @property
    def run(self) -> dict[str, Any]:
        """The one run of --json."""
        (run,) = json.loads(self.out)["runs"]
        assert isinstance(run, dict)
        return run


@dataclass(frozen=True)
class Kv:
    """A folder of a test with the key-value log in it."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    @property
    def pool(self) -> Path:
        return self.folder / "pool"

    def bug(self, name: str) -> None:
        self.monkeypatch.setenv("KV_BUG", name)

    def odd(self, what: str) -> None:
        """The first action of the test program; see `odd` there."""
        self.monkeypatch.setenv("KV_EXTRA", what)

    def cli(self, *arguments: str) -> Answer:
        """A command line in this process."""
        self.capsys.readouterr()
        code = cli.main(arguments)
        said = self.capsys.readouterr()
        assert "Traceback" not in said.err
        return Answer(code=code, out=said.out, err=said.err)

    def arguments(self, program: str = "./kv", *more: str) -> list[str]:
        commands = ["--record", f"{program} run pool", "--recover", f"{program} check pool", "--pool", "pool"]
        return [*commands, "--format", "text", *more]

    def judge(self, program: str = "./kv", *more: str) -> Answer:
        """`powercut run` on the program, as JSON."""
        return self.cli("run", *self.arguments(program, *more), "--json")

    def refused(self, *arguments: str) -> str:
        """The one paragraph of a command line that cannot be carried out."""
        answer = self.cli(*arguments)
        assert (answer.code, answer.out) == (2, ""), answer
        assert answer.err.count("\n") == 1, answer.err
        return answer.err


def environment() -> dict[str, str]:
    """The test's environment, in which this very powercut is found."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def compile_traced(program: Path, *flags: str, source: Path = SOURCE) -> None:
    """The test program, as `powercut cc` builds it."""
    compiled(program, [*_AS_WRITTEN, str(source), *flags])


def build(folder: Path) -> None:
    """`kv`: by `powercut cc`; `kv-plain`, `kv-static`: as anybody would build them."""
    compile_traced(folder / "kv")
    plain = ["-gdwarf-4", *_AS_WRITTEN, str(SOURCE)]
    compiled(folder / "kv-plain", plain, traced=False)
    compiled(folder / "kv-static", [*plain, "-static"], traced=False)


def processes(word: str) -> list[str]:
    """Command lines of all processes that have `word` among their arguments."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if word in line:
            found.append(line)
    return found
