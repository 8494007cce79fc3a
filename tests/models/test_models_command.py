"""`powercut models`: a profile as a person sees it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from powercut.cli.main import main
from powercut.models import profiles, table
from powercut.models.switches import CHOICES

OWN = 'about = "Mine."\nlike = "ext4"\n[replace]\nvalue = "nothing"\nsource = ["I have seen it."]\n'


def test_a_table_has_each_switch_with_its_value_and_sources() -> None:
    profile = profiles.named("ext4-noauto")
    lines = table.lines(profile)
    assert all(len(line) <= table.WIDTH for line in lines[2:])
    text = " ".join(" ".join(lines).split())
    for switch, choice in CHOICES.items():
        assert choice.asks in text and f"{getattr(profile.switches, switch)}: " in text
        assert all(source in text for source in profile.sources[switch])
    assert [line.split()[0] for line in lines if "*" in line.split(" ")[0]] == ["replace*"]


def test_the_command_prints_profiles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "files"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == profiles.names()
    assert main(["models", "files", "xfs"]) == 0
    assert capsys.readouterr().out.splitlines() == table.lines(profiles.named("xfs"))
    mine = tmp_path / "mine.toml"
    mine.write_text(OWN, encoding="utf-8")
    assert main(["models", "files", str(mine), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["switches"]["replace"] | {"meaning": ""} == {
        "value": "nothing",
        "meaning": "",
        "own": True,
        "sources": ["I have seen it."],
    }
    assert main(["models", "files", "--json"]) == 0
    assert [each["name"] for each in json.loads(capsys.readouterr().out)["profiles"]] == profiles.names()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["files", "ext5"], "unknown profile 'ext5'. Did you mean 'ext4'"),
        (["file"], "unknown medium 'file'. Did you mean 'files'?"),
        (["files", "missing.toml"], "missing.toml: cannot read the profile"),
    ],
)
def test_the_command_names_what_it_does_not_know(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", *arguments]) == 2
    assert complaint in capsys.readouterr().err
