"""A run of program mode in every report: what was recorded, how it was judged, and what was not seen."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from powercut_reports import closing, html, json_report, text
from powercut_reports.gate_formats import junit, markdown
from reports.tests.typed import run_of, runs_of


def program_run(**program: Any) -> dict[str, Any]:
    """A run record of program mode."""
    return {
        "target": "my log",
        "variant": "",
        "scenario": "./kv run pool",
        "model": "adr",
        "strategy": "program",
        "seed": 1,
        "events": 30,
        "crash_points": 8,
        "crash_states": "21",
        "executions": 14,
        "leaves": 1,
        "verdict": "consistent",
        "coverage": {"kind": "complete", "covered": "21", "total": "21", "nested_complete": 0, "reason": None},
        "not_checked": {"atoms": "any", "notes": ["the program forked once while it was recorded"]},
        "seconds": 0.05,
        "program": {
            "name": "my log",
            "command": ["./kv", "run", "pool", "two words"],
            "ops": [],
            "recover": ["./kv", "check", "pool"],
            "check": [],
            "dump": ["./kv", "dump", "<pool>"],
            "cwd": "/srv",
            "tracer": "valgrind",
            "exit": {"status": 0},
            "pools": [{"path": "/srv/pool", "offset": 0, "size": 8192, "address": 4096, "mapped": True}],
            "output": {"stdout": ["hello\x1b[2J"], "stderr": []},
            **program,
        },
    }


def test_text_names_commands_tracer_and_pools() -> None:
    rows = text.render_run(run_of(program_run()), color=False).splitlines()
    assert "  Recorded: ./kv run pool 'two words' (with valgrind, exit status 0)" in rows
    assert "  Recovery: ./kv check pool" in rows
    assert "  Dump: ./kv dump '<pool>'" in rows
    assert "  Pools: /srv/pool (8,192 bytes)" in rows
    assert not any(row.startswith(("  Checker", "  Driver", "  Acknowledged by", "  Began as")) for row in rows)
    told = text.render_run(run_of(program_run(ack="^OK", began="no file")), color=False).splitlines()
    assert "  Acknowledged by: ^OK" in told
    assert "  Began as: no file" in told
    assert any("forked once" in row for row in rows)


@pytest.mark.parametrize(
    ("dump", "takes"),
    [([], "that takes --dump, and --ack or marks"), (["./kv", "dump", "pool"], "that takes --ack or marks")],
)
def test_each_report_says_beside_the_verdict_that_acknowledged_data_was_not_judged(dump: list[str], takes: str) -> None:
    run = program_run(dump=dump)
    for judged in (True, False):
        run["coverage"]["acknowledged"] = judged
        run["program"]["dump"] = dump
        record = run_of(run)
        (verdict,) = [row for row in text.render_run(record, color=False).splitlines() if "Verdict:" in row]
        assert (f"acknowledged data was not judged ({takes})" in verdict) is not judged
        assert json_report.runs_object([record])["runs"][0]["coverage"]["acknowledged"] is judged
        clean = {name: words for name, words in run.items() if name != "program"}
        assert ("without acknowledged data" in closing.render([run_of(clean)] * 2, color=False)) is not judged
        assert takes in junit.render([record]) or judged
        page = html.render([record], title="t")
        assert ("loses or corrupts data." in page) is judged
        assert ("makes recovery fail. Acknowledged data was not judged." in page) is not judged
        assert (takes in markdown.render([record])) is not judged


def test_a_trace_that_was_recorded_before_has_its_recovery_only() -> None:
    run = program_run()
    run["program"] = {name: run["program"][name] for name in ("name", "recover", "check", "dump", "cwd")}
    rows = text.render_run(run_of(run), color=False).splitlines()
    assert "  Recovery: ./kv check pool" in rows
    assert not any(row.startswith(("  Recorded", "  Pools")) for row in rows)


def test_html_shows_the_program_and_nothing_of_it_as_markup(tmp_path: Path) -> None:
    page = html.write_report(runs_of([program_run()]), tmp_path, title="a test").read_text()
    assert "./kv run pool &#39;two words&#39; (with valgrind, exit status 0)" in page
    assert "./kv dump &#39;&lt;pool&gt;&#39;" in page
    assert "/srv/pool (8,192 bytes)" in page
    assert "<pool>" not in page
    assert "\x1b" not in page


def test_json_has_the_commands_as_words() -> None:
    (run,) = json_report.runs_object(runs_of([program_run()]))["runs"]
    assert run["program"]["command"] == ["./kv", "run", "pool", "two words"]
    assert run["program"]["tracer"] == "valgrind"
    assert "program" not in json_report.runs_object(runs_of([{**program_run(), "program": None}]))["runs"][0]


@pytest.mark.parametrize("broken", [{"command": None}, {"pools": "none"}, {"exit": 7}, {"output": []}])
def test_what_is_broken_is_refused_by_its_name(broken: dict[str, Any]) -> None:
    (name,) = broken
    with pytest.raises(ValidationError, match=f"program.{name}"):
        run_of(program_run(**broken))
