"""A command in shards ends as the whole one does, byte for byte."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from tests.machines.merging import COMMAND, MINIMAL, SCENARIO, left, powercut
from tests.real_engine import require_engine

Refusal = Callable[..., str]


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two shards of the command, one a job of its own folder."""
    require_engine()
    folder = tmp_path_factory.mktemp("shards")
    for index in (1, 2):
        done = powercut(folder / f"job{index}", *COMMAND, "--shard", f"{index}/2")
        assert done.returncode == ExitCode.CLEAN, done.stderr
        assert f"Shard {index}/2 is in .powercut" in done.stderr
        assert not (folder / f"job{index}" / ".powercut" / "runs").exists()
    return folder


def out(shards: Path, index: int) -> str:
    return str(shards / f"job{index}" / ".powercut")


def test_two_shards_and_a_merge_leave_what_one_command_leaves(shards: Path, tmp_path: Path) -> None:
    whole = powercut(tmp_path / "whole", *COMMAND, *MINIMAL)
    assert whole.returncode == ExitCode.FINDINGS, whole.stderr
    merged = powercut(tmp_path / "merged", "merge", out(shards, 2), out(shards, 1), *MINIMAL)
    assert merged.returncode == ExitCode.FINDINGS, merged.stderr
    assert left(tmp_path / "merged", merged) == left(tmp_path / "whole", whole)
    (record,) = (tmp_path / "merged" / ".powercut" / "runs").glob("*.json")
    run = json.loads(record.read_text(encoding="utf-8"))
    assert run["stats"]["run"].get("fork", 0.0) == 0, "a chunk was explored again"
    assert run["coverage"]["kind"] == "complete"


@pytest.fixture
def refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refusal:
    """Runs a command, which must refuse its arguments, in this process, and returns what it says."""
    require_engine()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spread.toml").write_text(SCENARIO, encoding="utf-8")

    def refused(*words: str) -> str:
        assert main([*words]) == ExitCode.USAGE, words
        return capsys.readouterr().err

    return refused


def test_what_does_not_fit_together_is_refused(shards: Path, tmp_path: Path, refusal: Refusal) -> None:
    first, second = out(shards, 1), out(shards, 2)
    assert "of 2 shards 2 is missing" in refusal("merge", first)
    assert "there is no finished shard here" in refusal("merge", first, str(tmp_path))
    other = tmp_path / "other"
    shutil.copytree(second, other)
    manifest = json.loads((other / "shard.json").read_text(encoding="utf-8"))
    for change, said in (
        ({"command": {**manifest["command"], "scenarios": ["else"]}}, "a shard of another command"),
        ({"powercut": "0.0.1"}, "this shard is of powercut 0.0.1"),
        ({"of": "two"}, "not a shard"),
        ({"parts": [{**manifest["parts"][0], "first": manifest["parts"][0]["first"] + 1}]}, "no shard has"),
        (
            {"parts": [{**manifest["parts"][0], "identity": {**manifest["parts"][0]["identity"], "target": "x"}}]},
            "differ in target",
        ),
    ):
        (other / "shard.json").write_text(json.dumps({**manifest, **change}), encoding="utf-8")
        assert said in refusal("merge", first, str(other))


def test_options_that_do_not_go_together_are_refused(refusal: Refusal) -> None:
    for options, said in (
        (("--shard", "1/2", "--cluster", "tcp://localhost:1"), "these do not go together"),
        (("--shard", "1/2", "--json"), "a shard makes no report"),
        (("--shard", "1/2", "--budget", "5s"), "a budget in seconds gives another result on each machine"),
        (("--shared", "there"), "a shared folder is for a cluster"),
        (("--shard", "3/2"), "is no shard"),
    ):
        assert said in refusal(*COMMAND, *options), options
