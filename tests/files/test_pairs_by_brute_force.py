"""The table of pairs holds without the explorer: every legal tree of the reference is laid out and judged."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from powercut.cli.main import main
from powercut.models import profiles
from tests.files.brute_force import Judge, SecondCuts, calls_of, wrong_lives, wrong_trees
from tests.files.test_pairs import FILE_SYSTEMS, Pair, commands, pairs
from tests.real_engine import require_engine

pytestmark = pytest.mark.long
CASES = [pytest.param(pair, mended, id=f"{pair.key}-{mended}") for pair in pairs() for mended in (False, True)]


@pytest.mark.parametrize(("pair", "mended"), CASES)
def test_the_table_holds_without_the_explorer(
    pair: Pair, mended: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    require_engine()
    if mended:
        monkeypatch.setenv("MENDED", "1")
    words, data, trace = commands(pair, tmp_path), tmp_path / "data", tmp_path / "trace"
    data.mkdir()
    subprocess.run([*shlex.split(words), "setup", str(data)], check=True)
    ack = ["--ack", "^done "] if pair.acknowledges else []
    recording = ["record", "--files", str(data), "-o", str(trace), *ack]
    assert main([*recording, "--", *shlex.split(words), "run", str(data)]) == 0, capfd.readouterr().err
    calls, judge = calls_of(trace), Judge(tmp_path / "image", words)
    found = {
        name: any(wrong_trees(calls, profiles.named(name).switches, judge, dumps=pair.acknowledges))
        for name in FILE_SYSTEMS
    }
    shows = not mended and not pair.nested and pair.lives == 1
    assert found == {name: shows and name in pair.fs for name in FILE_SYSTEMS}
    if not pair.nested and pair.lives == 1:
        return
    for name in FILE_SYSTEMS:
        switches = profiles.named(name).switches
        if pair.nested:
            second = SecondCuts(judge, switches, tmp_path / "recovery")
            wrong = any(wrong_trees(calls, switches, judge, dumps=pair.acknowledges, then=second))
        else:
            wrong = bool(wrong_lives(calls, switches, judge, tmp_path / "recovery", dumps=pair.acknowledges))
        assert wrong == (not mended and name in pair.fs), name
