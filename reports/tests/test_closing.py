"""The closing summary: a table for each target, every assumption once."""

from typing import Any

from powercut_reports import closing, json_report
from reports.tests.typed import runs_of

ASSUMED = ["sequentially consistent visibility", "a line persists as a whole"]


def run(scenario: str, *, variant: str = "published", verdict: str = "consistent", **more: Any) -> dict[str, Any]:
    return {
        "target": "level",
        "variant": variant,
        "scenario": scenario,
        "verdict": verdict,
        "crash_states": "1234",
        "seconds": 0.4,
        "nested": 1,
        "coverage": {"kind": "complete", "covered": "1234", "total": "1234", "nested_complete": 1},
        "assumptions": ASSUMED,
        "findings": [],
        **more,
    }


def test_a_table_for_each_target() -> None:
    blamed = {"target": "level", "bug": {"cause": None, "store": "published store"}}
    found = [
        {"fingerprint": "7f3a", "invariant": "lost-item", **blamed},
        {"fingerprint": "11aa", "invariant": "torn-value", **blamed},
    ]
    hardened = [{**found[0], "bug": {"cause": None, "store": "hardened store"}}]
    sampled = {"kind": "sampled", "covered": "10", "total": "1000", "nested_complete": 1}
    runs = [
        run("insert"),
        run("update", verdict="inconsistent", findings=found, crash_states=str(2**70), seconds=130),
        run("insert", variant="hardened", coverage=sampled),
        run("update", variant="hardened", verdict="inconsistent", findings=hardened),
        run("erase", variant="hardened", verdict="unknown", interrupted=True),
    ]
    assert closing.render(runs_of(runs), color=False) == (
        "level:published\n"
        "  scenario  verdict                  bugs  findings  crash states        time\n"
        "  insert    consistent, complete        0         0         1,234      400 ms\n"
        "  update    inconsistent, complete      1         2   1.2 × 10^21  2 min 10 s\n"
        "level:hardened\n"
        "  scenario  verdict                  bugs  findings  crash states        time\n"
        "  insert    consistent, sampled 1 %     0         0         1,234      400 ms\n"
        "  update    inconsistent, complete      1         1         1,234      400 ms\n"
        "  erase     unknown                     0         0         1,234      400 ms\n"
        "2 targets, 5 runs: 2 consistent, 2 inconsistent, 1 unknown; 2 bugs, 3 findings; 2 min 11 s of runs; "
        "1 interrupted\n"
        "Assumes: sequentially consistent visibility; a line persists as a whole"
    )


def test_a_command_says_how_long_it_took_itself() -> None:
    """Runs go on at the same time: their seconds are not those of the command."""
    lines = closing.render(runs_of([run("insert", seconds=130), run("update", seconds=30)]), color=False, took=150.0)
    assert lines.splitlines()[-2] == "1 target, 2 runs: 2 consistent; 0 bugs, 0 findings; 2 min 30 s"


def test_the_json_report_has_the_totals_of_the_closing_line() -> None:
    """A finding of two runs stands in both, and counts once."""
    found = [{"fingerprint": name, "invariant": "lost-item"} for name in ("7f3a", "11aa")]
    runs = runs_of(
        [
            run("insert", verdict="inconsistent", findings=found),
            run("update", verdict="inconsistent", findings=found[:1]),
            run("update", variant="hardened", verdict="unknown"),
        ]
    )
    report = json_report.runs_object(runs)
    assert sum(len(item["findings"]) for item in report["runs"]) == 3
    assert report["total"] == {
        "targets": 2,
        "runs": 3,
        "verdicts": {"inconsistent": 2, "unknown": 1},
        "bugs": 2,
        "findings": 2,
    }
    said = "2 targets, 3 runs: 2 inconsistent, 1 unknown; 2 bugs, 2 findings; "
    assert closing.total(runs).startswith(said)
    assert said in closing.render(runs, color=False)


def test_one_run_has_no_table() -> None:
    assert closing.render(runs_of([run("insert")]), color=False) == f"Assumes: {'; '.join(ASSUMED)}"
    assert closing.render(runs_of([]), color=False) == ""


def test_what_only_some_runs_assume() -> None:
    runs = [run("a"), run("b", assumptions=ASSUMED[:1]), run("c", assumptions=[])]
    last = closing.render(runs_of(runs), color=False).splitlines()[-1]
    assert last == "Assumes: sequentially consistent visibility; a line persists as a whole (1 of 2 runs)"


def test_complete_says_where_recovery_was_not_cut() -> None:
    shallow = {"kind": "complete", "covered": "1", "total": "1"}
    for depth, told in ((0, True), (False, True), (1, False), (True, False), (None, False)):
        coverage = {**shallow, "nested_complete": depth}
        shown = closing.render(runs_of([run("a", coverage=coverage), run("b")]), color=False)
        assert ("consistent, complete without cuts inside recovery" in shown) is told


def test_a_narrow_terminal() -> None:
    runs = [run("a_scenario_with_a_very_long_name_indeed"), run("b")]
    for width in (80, 84, 110):
        lines = closing.render(runs_of(runs), color=False, width=width).splitlines()[:4]
        assert max(map(len, lines)) <= width
    assert "a_scenario_with_a_very_long_name_indeed" in "\n".join(lines)


def test_colour_and_foreign_names() -> None:
    runs = [run("a\x1b[31m"), run("b", verdict="inconsistent")]
    plain, painted = closing.render(runs_of(runs), color=False), closing.render(runs_of(runs), color=True)
    assert "\x1b" not in plain
    assert "\x1b[1;31minconsistent, complete\x1b[0m" in painted
