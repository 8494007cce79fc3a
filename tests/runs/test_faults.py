"""Each kind of fault: a pattern that stands it is left alone, one that is made to fail at it is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.runs.faults import KINDS

#: bug of pattern `checked` -> the fault that shows it, and an invariant that is then violated
BUGS = {
    "swallowed": ("media", "lost-item"),
    "unchecked": ("bitflip", "torn-value"),
    "throwing_new": ("alloc", "unhandled-failure"),
    "trusts_zeroes": ("stale", "stale-contents"),
}
SCENARIO = """\
schema = 1
name = "{name}"
summary = "For a test."
targets = ["patterns"]

[config]
pattern = "{pattern}"
bug = "{bug}"
capacity = 3

[pool]
size = "16KiB"

[[phase]]
name = "run"
steps = [
  {{ op = "insert", from = 1, to = 2 }},
  {{ op = "update", keys = [1] }},
  {{ op = "erase", keys = [2] }},
  {{ op = "lookup", keys = [1, 2] }},
]
"""


pytestmark = pytest.mark.usefixtures("real_engine")


def inject(
    folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str, bug: str = "none", pattern: str = "checked"
) -> tuple[int, list[dict[str, Any]]]:
    path = folder / f"{pattern}_{bug}.toml"
    path.write_text(SCENARIO.format(name=path.stem, pattern=pattern, bug=bug))
    code = main(["faults", "patterns", "--scenario", str(path), "--out", str(folder / "out"), "--json", *arguments])
    return code, json.loads(capsys.readouterr().out)["runs"]


def test_a_pattern_that_stands_every_fault_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, runs = inject(tmp_path, capsys)
    assert [run["fault"] for run in runs] == list(KINDS)
    assert [(run["findings"], run["complete"], run["error"]) for run in runs] == [([], True, None)] * len(KINDS)
    assert code == ExitCode.CLEAN
    effects = {run["fault"]: run["effects"] for run in runs}
    assert all(sum(effects[run["fault"]].values()) == run["cases"] == run["cases_of"] for run in runs)
    assert all(effects[kind]["detected"] > 0 for kind in ("media", "bitflip", "alloc"))
    assert effects["stale"]["harmless"] == 16384 // 64
    (allocations,) = (run for run in runs if run["fault"] == "alloc")
    assert [run["verdict"] for run in allocations["explored"]] == ["consistent"] * allocations["cases"]


@pytest.mark.parametrize("bug", BUGS)
def test_each_kind_finds_its_bug_and_no_other_kind_does(
    bug: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, runs = inject(tmp_path, capsys, bug=bug)
    kind, invariant = BUGS[bug]
    assert {run["fault"] for run in runs if run["findings"]} == {kind}
    (run,) = (run for run in runs if run["fault"] == kind)
    assert invariant in {finding["invariant"] for finding in run["findings"]}
    assert code == ExitCode.FINDINGS
    if kind != "bitflip":
        assert any("targets/patterns/" in (finding["site"] or "") for finding in run["findings"])


def test_damage_that_nobody_claims_to_detect_is_counted_and_is_no_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, runs = inject(tmp_path, capsys, "--fault", "bitflip,stale", pattern="plain")
    assert [run["findings"] for run in runs] == [[], []]
    assert [run["claimed"] for run in runs] == [False, False]
    assert all(run["effects"]["silent"] > 0 for run in runs)
    assert code == ExitCode.CLEAN


def test_every_persistent_allocation_fails_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, (run,) = inject(tmp_path, capsys, "--fault", "alloc", pattern="blocks")
    # The handle of open, and one block for each of two inserts; each is answered by FULL.
    assert (run["cases"], run["effects"]["detected"], run["findings"]) == (3, 3, [])
    assert all(item["verdict"] == "consistent" for item in run["explored"])
    assert code == ExitCode.CLEAN


def test_level_open_let_bad_alloc_escape(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(
        ["faults", "level:hardened", "--scenario", "expand", "--fault", "alloc", "--out", str(tmp_path), "--json"]
    )
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["how"]["open answers FULL"] == 1
    assert run["effects"]["detected"] == run["cases"] and run["findings"] == []
    assert [item["verdict"] for item in run["explored"]] == ["consistent"] * run["cases"]
    assert code == ExitCode.CLEAN


def test_what_is_wrong_without_a_fault_is_not_held_against_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The published erase clears one of two copies that an earlier cut left, with or without memory.
    selection = ["level:published", "--scenario", "duplicates_left_by_crash_erase"]
    code = main(["faults", *selection, "--fault", "alloc", "--out", str(tmp_path), "--json"])
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["effects"]["silent"] == 0 and run["findings"] == []
    assert any("wrong without any fault" in note for note in run["notes"])
    assert "inconsistent" in {item["verdict"] for item in run["explored"]}
    assert code == ExitCode.FINDINGS


def test_a_budget_is_a_sample_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, (run,) = inject(tmp_path, capsys, "--fault", "bitflip", "--budget", "100x")
    assert not run["complete"] and "of" in run["reason"]
    assert run["executions"] <= 110
    assert (run["points"], run["points_of"]) == (1, 9)  # six operations, format, open, close
    assert code == ExitCode.INCOMPLETE


def test_same_seed_same_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def without_clock(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{name: value for name, value in run.items() if name not in ("seconds", "explored")} for run in runs]

    first = inject(tmp_path, capsys, bug="unchecked")
    second = inject(tmp_path, capsys, bug="unchecked")
    assert without_clock(first[1]) == without_clock(second[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--fault", "lightning"], "unknown fault 'lightning'"), (["--budget", "5m"], "'5m' is a time")],
)
def test_bad_requests(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["faults", "patterns", *arguments]) == ExitCode.USAGE
    assert message in capsys.readouterr().err
