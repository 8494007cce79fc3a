"""Pairs of small programs that keep their data in a folder: `powercut run --files` finds the bug of each under the file
systems that pairs.toml lists and under no other, and its twin is clean under all four.

A machine without a language skips its programs: `make setup-languages` installs all.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from powercut.cli import main as cli
from tests.real_engine import require_engine

PAIRS = Path(__file__).parent / "pairs"
FILE_SYSTEMS = ("ext4", "xfs", "btrfs", "posix")
#: Pairs that the fast suite has, beside all of C: an interpreter starts for each run of a recovery.
FAST = ("python.bookmarks", "python.recent", "python.cache")


@dataclass(frozen=True, kw_only=True)
class Pair:
    """One table of pairs.toml, which says what the fields mean."""

    language: str
    name: str
    kind: str
    fs: tuple[str, ...]
    why: str
    blame: tuple[str, ...]
    acknowledges: bool = True
    nested: bool = False
    lives: int = 1

    @property
    def key(self) -> str:
        return f"{self.language}.{self.name}"

    @property
    def is_fast(self) -> bool:
        return self.language == "c" or self.key in FAST


def pairs() -> Iterator[Pair]:
    for language, programs in tomllib.loads((PAIRS / "pairs.toml").read_text(encoding="utf-8")).items():
        for name, table in programs.items():
            lists = {key: tuple(table[key]) for key in ("fs", "blame")}
            yield Pair(language=language, name=name, **table | lists)


def commands(pair: Pair, scratch: Path) -> str:
    """The words that run a program of the pair, which is compiled for it; skips on a machine without its language."""
    tool = {"c": "clang-19", "python": sys.executable, "go": "go", "rust": "rustc", "node": "node"}[pair.language]
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed: 'make setup-languages' installs it")
    folder, program = PAIRS / pair.language, scratch / "program"
    compile_words: list[object]
    match pair.language:
        case "python":
            return f"{sys.executable} -S -E {folder / pair.name}.py"
        case "node":
            return f"node {folder / pair.name}.js"
        case "c":
            compile_words = ["clang-19", "-O1", "-g", "-o", program, folder / f"{pair.name}.c"]
        case "go":
            compile_words = ["go", "build", "-o", program, folder / f"{pair.name}.go", folder / "common.go"]
        case _:
            compile_words = ["rustc", "--edition=2021", "-g", "-o", program, folder / f"{pair.name}.rs"]
    # Go keeps what it compiled, and fetches nothing.
    environment = {"GOCACHE": str(scratch / "go"), "GOFLAGS": "", "GO111MODULE": "off", "CGO_ENABLED": "0"}
    subprocess.run(list(map(str, compile_words)), check=True, env=os.environ | environment)
    return str(program)


def judged(
    pair: Pair, words: str, scratch: Path, capsys: pytest.CaptureFixture[str], *, lives: int = 2
) -> dict[str, Any]:
    """The one run of `powercut run --files`, as JSON. `lives`: the most that it has."""
    data = scratch / "data"
    data.mkdir()
    asked = ["run", "--files", str(data), "--fs", ",".join(FILE_SYSTEMS), "--out", str(scratch / "out"), "--json"]
    for option, verb in (("--setup", "setup"), ("--record", "run"), ("--recover", "check")):
        asked += [option, f"{words} {verb} {data}"]
    if pair.acknowledges:
        asked += ["--ack", "^done ", "--dump", f"{words} dump {data}"]
    asked += ["--nested", "1"] if pair.nested else []
    asked += ["--continue", f"{words} continue {data}"] if pair.lives > 1 and lives > 1 else []
    capsys.readouterr()
    code = cli.main(asked)
    said = capsys.readouterr()
    assert code in (0, 1), said.err
    (run,) = json.loads(said.out)["runs"]
    assert isinstance(run, dict)
    return run


#: The words of `blame`, and the names of calls in five languages.
DOES = {
    "write": r"p?write(v|v2|64)?|copy_file_range|sendfile|splice",
    "create": r"openat?|openat2|creat",
    "truncate": r"f?truncate",
    "rename": r"rename(at|at2)?",
    "link": r"link(at)?",
    "unlink": r"unlink(at)?",
}


def plain(text: str) -> str:
    """A call in the words of `blame`: `rename("a.tmp" -> "a")` is `rename a`."""
    name, paths = text.partition("(")[0], re.findall(r'"([^"]*)"', text.partition("#")[0])
    does = next((word for word, names in DOES.items() if re.fullmatch(names, name)), name)
    if does == "create" and "O_TRUNC" in text:
        does = "truncate"
    return f"{does} {paths[-1] if paths else ''}"


def blamed(run: dict[str, Any]) -> list[set[str]]:
    """The decisive calls of each finding."""
    return [{plain(call["text"]) for call in each["files"]["calls"] if call["decisive"]} for each in run["findings"]]


def cases(*, mended: bool) -> list[object]:
    return [
        pytest.param(
            pair, id=pair.key, marks=[] if pair.is_fast and not (mended and pair.language != "c") else pytest.mark.long
        )
        for pair in pairs()
    ]


@pytest.mark.parametrize("pair", cases(mended=False))
def test_the_bug_shows_under_the_file_systems_that_are_listed(
    pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    require_engine()
    run = judged(pair, commands(pair, tmp_path), tmp_path, capsys)
    verdicts = {row["profile"]: row["verdict"] for row in run["profiles"]}
    assert verdicts == {name: "inconsistent" if name in pair.fs else "consistent" for name in FILE_SYSTEMS}, pair.why
    assert all(row["complete"] for row in run["profiles"] if row["profile"] not in pair.fs)
    assert any(set(pair.blame) <= found for found in blamed(run)), (pair.blame, blamed(run))


@pytest.mark.parametrize("pair", cases(mended=True))
def test_the_twin_is_clean_and_complete(
    pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    require_engine()
    monkeypatch.setenv("MENDED", "1")
    run = judged(pair, commands(pair, tmp_path), tmp_path, capsys)
    assert {row["profile"]: (row["verdict"], row["complete"]) for row in run["profiles"]} == dict.fromkeys(
        FILE_SYSTEMS, ("consistent", True)
    )
    assert run["verdict"] == "consistent" and not run["findings"]


@pytest.mark.parametrize("pair", [pytest.param(pair, id=pair.key) for pair in pairs() if pair.lives > 1])
def test_one_life_does_not_show_a_bug_of_two(pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require_engine()
    run = judged(pair, commands(pair, tmp_path), tmp_path, capsys, lives=1)
    assert {row["profile"]: (row["verdict"], row["complete"]) for row in run["profiles"]} == dict.fromkeys(
        FILE_SYSTEMS, ("consistent", True)
    )


def test_the_table_has_every_program_and_every_kind() -> None:
    every = list(pairs())
    sources = {
        f"{path.parent.name}.{path.stem}" for path in PAIRS.glob("*/*") if path.is_file() and path.stem != "common"
    }
    assert {pair.key for pair in every} == sources
    assert len(every) >= 40 and len({pair.kind for pair in every}) >= 17
    assert all(
        sum(pair.language == language for pair in every) >= 6 for language in ("c", "python", "go", "rust", "node")
    )
    assert all(pair.fs and set(pair.fs) <= set(FILE_SYSTEMS) for pair in every)
    assert set(FAST) <= {pair.key for pair in every}
