"""Suppressions: the findings that match, the expiry, and the faults of a file."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from powercut.base.errors import UsageError
from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.gate import suppressions
from reports.tests.typed import run_of

DEFAULT = "powercut-suppressions.toml"
FINDING = {
    "fingerprint": "0123456789ab",
    "invariant": "lost-item",
    "stores": [{"decisive": True, "site": "level/insert.cc:8"}, {"decisive": False, "site": "level/log.cc:1"}],
    "fault": {"site": "level/open.cc:3"},
}
RUN: dict[str, Any] = {"target": "level", "variant": "published", "findings": [FINDING]}


@pytest.fixture(autouse=True)
def _on_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suppressions, "today", lambda: date(2027, 1, 31))


def table(*rows: str, expires: str = "2027-01-31") -> str:
    return "\n".join(["[[suppress]]", *rows, 'reason = "not ours"', f"expires = {expires}", ""])


@pytest.mark.parametrize(
    ("rows", "matches"),
    [
        (['fingerprint = "0123456789ab"'], True),
        (['fingerprint = "ba9876543210"'], False),
        (['invariant = "lost-*"'], True),
        (['invariant = "lost"'], False),
        (['target = "level"'], True),
        (['target = "level:pub*"'], True),
        (['target = "level:hardened"'], False),
        (['site = "level/insert.cc:*"'], True),
        (['site = "level/open.cc:3"'], True),
        (['site = "level/log.cc:1"'], False),
        (['invariant = "lost-*"', 'site = "*/insert.cc:*"'], True),
        (['invariant = "leak"', 'site = "*/insert.cc:*"'], False),
        (['fingerprint = "0123456789ab"', 'target = "cceh"'], False),
    ],
)
def test_everything_that_a_rule_names_must_hold(rows: list[str], *, matches: bool, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(table(*rows))
    rules = suppressions.load(path)
    assert bool(rules.unused([run_of(RUN)])) is not matches


def test_suppressed_findings_do_not_fail(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("lost_one")
    (house.root / DEFAULT).write_text(table('invariant = "lost-item"') + table('target = "cceh"'))
    assert main(["run", "level:published"]) == ExitCode.CLEAN
    shown = capsys.readouterr().out
    assert "ERROR:" not in shown
    assert "suppressed until 2027-01-31: not ours" in shown
    assert f"Suppressions {DEFAULT}: 1 suppressed, 0 expired" in shown
    assert f"  Matches nothing here: {DEFAULT}:5 (not ours)" in shown
    record = json.loads((house.root / ".powercut" / "runs" / "level-published-lost_one-adr.json").read_text())
    assert record["findings"][0]["suppressed"] == {
        "reason": "not ours",
        "expires": "2027-01-31",
        "expired": False,
        "rule": f"{DEFAULT}:1",
    }
    assert "suppressed until 2027-01-31: not ours" in (house.root / ".powercut" / "report.html").read_text()


def test_expired_ones_count_again(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("lost_one")
    (house.root / "mine.toml").write_text(table('invariant = "lost-item"', expires="2027-01-30"))
    arguments = ["run", "level:published", "--suppressions", "mine.toml"]
    assert main(arguments) == ExitCode.FINDINGS
    shown = capsys.readouterr().out
    assert "ERROR: powercut: lost-item" in shown
    assert "suppression expired on 2027-01-30: not ours" in shown
    assert "Suppressions mine.toml: 0 suppressed, 1 expired" in shown
    assert main([*arguments, "--json"]) == ExitCode.FINDINGS
    answer = json.loads(capsys.readouterr().out)
    assert answer["suppressions"] == {"file": "mine.toml", "suppressed": 0, "expired": 1, "unused": []}
    assert answer["runs"][0]["findings"][0]["suppressed"]["expired"] is True


def test_a_rule_that_holds_counts_before_an_expired_one(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(table('target = "level"', expires="2020-01-01") + table('target = "lev*"'))
    run = run_of({**RUN, "findings": [FINDING]})
    suppressions.load(path).mark(run)
    assert run["findings"][0]["suppressed"]["expired"] is False


def test_report_takes_suppressions_as_they_are_now(house: Any) -> None:
    house.scenario("lost_one")
    assert main(["run", "level:published"]) == ExitCode.FINDINGS
    (house.root / DEFAULT).write_text(table('target = "level"'))
    assert main(["report", ".powercut"]) == ExitCode.CLEAN


def test_baseline_update_leaves_suppressed_findings_out(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Known ones would outlive their suppression."""
    house.scenario("lost_one")
    assert main(["run", "level:published"]) == ExitCode.FINDINGS
    (house.root / DEFAULT).write_text(table('target = "level"'))
    capsys.readouterr()
    assert main(["baseline", "update", "base.json"]) == ExitCode.CLEAN
    assert capsys.readouterr().out == "base.json: 0 added, 0 removed, 0 in all\n  1 suppressed left out\n"


def test_suppressed_but_incomplete_is_incomplete(house: Any) -> None:
    house.scenario("dies_one")
    (house.root / DEFAULT).write_text(table('target = "level"'))
    assert main(["run", "level:published"]) == ExitCode.INCOMPLETE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (table('target = "level"').replace("reason", "reasn"), "s.toml:3: unknown key 'reasn'. Did you mean 'reason'?"),
        (table('target = "x"') + table('target = "y"', 'taget = "y"'), "s.toml:7: unknown key 'taget'"),
        ('[[supress]]\ntarget = "x"\n', "s.toml:1: unknown key 'supress'. Did you mean 'suppress'?"),
        (
            table('target = "x"') + '[[suppress]]\ntarget = "y"\nreason = "r"\n',
            "s.toml:5: the key 'expires' is missing",
        ),
        (table('target = "x"').replace('reason = "not ours"\n', ""), "s.toml:1: the key 'reason' is missing"),
        (table('target = "x"').replace("not ours", " "), "s.toml:3: reason: write a text that is not empty"),
        (table('target = "x"', expires='"2027-01-31"'), "s.toml:4: expires: write a date such as 2027-01-31"),
        (table('target = "x"', expires="2027-01-31T00:00:00"), "s.toml:4: expires: write a date such as 2027-01-31"),
        (table('target = "x"', expires="2027-02-30"), "s.toml:4: malformed TOML"),
        (table(), "s.toml:1: it names no finding"),
        (table('fingerprint = "123"'), "s.toml:2: fingerprint: write the 12 hex digits"),
        (table('target = ["x"]'), "s.toml:2: target: write a text"),
        ("suppress = 7\n", "s.toml:1: suppress: "),
        ("[[suppress]\n", "s.toml:1: malformed TOML"),
    ],
)
def test_mistakes_are_named_with_their_line(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        suppressions.load(Path("s.toml"))
    assert str(caught.value).startswith(message), caught.value


def test_missing_file_is_named(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("clean_one")
    assert main(["run", "level", "--suppressions", "none.toml"]) == ExitCode.USAGE
    assert "none.toml: cannot read these suppressions (No such file or directory)" in capsys.readouterr().err
