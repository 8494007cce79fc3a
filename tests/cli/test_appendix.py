"""`powercut appendix`: what a paper takes in, and what it says of parts that do not apply."""

import csv
from pathlib import Path

import pytest

from powercut.base.exit_codes import ExitCode
from powercut.cli.appendix_parts import Measured
from powercut.cli.main import main
from powercut_reports.tables import appendix


def test_an_appendix_end_to_end(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["appendix", "patterns:hardened", "--scenario", "known_good/plain", "--seed", "3", "--out", "out"]
    assert main(arguments) == ExitCode.CLEAN
    assert capsys.readouterr().out == "", "what it says goes to stderr"
    written = (folder / "out" / "appendix" / appendix.BODY).read_text()
    sections = ["Claims", "Necessity", "Cost", "Fidelity", "Verdicts"]
    assert [line[12:-1] for line in written.splitlines() if line.startswith("\\subsection{")] == sections
    for fact in ("{Versions}] powercut ", "{Persistency model}] adr", "{Seed}] 3", "{Coverage}] 1 of 1 run complete."):
        assert f"\\item[{fact}" in written
    assert "No claim is written down for this target." in written
    assert "It does not apply to patterns:hardened: scenario map\\_costs" in written, "its table is too small"
    assert "No figure of the paper of patterns is measured." in written
    assert f"\\input{{{appendix.BODY}}}" in (folder / "out" / "appendix" / appendix.DOCUMENT).read_text()
    with (folder / "out" / "appendix" / "necessity.csv").open(newline="") as file:
        sites = list(csv.DictReader(file))
    assert {"necessary"} <= {
        site["result"] for site in sites
    } and f"{len(sites)} of {len(sites)} sites judged" in written
    assert not (folder / "out" / "appendix" / "cost.csv").exists()
    assert (folder / "out" / "necessity" / "patterns-hardened.json").is_file(), "kept for the report"


def test_a_part_that_failed_says_so() -> None:
    measured = Measured()
    measured.lacks("Cost", "It failed for x:y: 100% of it")
    parts = {part.title: part for part in measured.parts()}
    assert parts["Cost"].tables == () and parts["Cost"].notes == ("It failed for x:y: 100% of it",)
    assert [table.name for table in parts["Verdicts"].tables] == ["verdicts", "bugs", "findings", "performance-bugs"]
    assert "It failed for x:y: 100\\% of it" in appendix.body("x & y", [("Seed", "1")], list(parts.values()))
