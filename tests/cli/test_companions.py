"""The report shows what other commands left in the output folder, and stands without what it cannot read."""

import json
from pathlib import Path
from typing import Any

import pytest

from powercut.base.exit_codes import ExitCode
from powercut.cli import companions, output
from powercut.cli.main import main
from powercut.necessity.record import NECESSITY_VERSION


def put(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")


def test_everything_that_is_there_is_loaded(tmp_path: Path) -> None:
    put(tmp_path / "fidelity.json", '{"figures": []}')
    put(tmp_path / "audit" / "audit.json", '{"audits": [1]}')
    for name in ("b", "a"):
        put(tmp_path / "necessity" / f"{name}.json", json.dumps({"necessity": NECESSITY_VERSION, "target": name}))
    put(tmp_path / "costs" / "x.json", "[]")  # no record
    said: list[str] = []
    found = companions.load(tmp_path, say=said.append)
    assert found.fidelity == {"figures": []} and found.audit == {"audits": [1]} and found.costs == []
    assert [record["target"] for record in found.necessity] == ["a", "b"] and said == []


def test_what_cannot_be_read_is_left_out_and_said(tmp_path: Path) -> None:
    put(tmp_path / "costs" / "x.json", "{")
    said: list[str] = []
    assert companions.load(tmp_path, say=said.append).costs == []
    assert len(said) == 1 and "x.json: left out of the report" in said[0] and "Run 'powercut cost --out" in said[0]


@pytest.mark.parametrize(("folder", "key"), [("necessity", "necessity"), ("costs", "cost")])
def test_a_record_of_another_version_is_left_out_and_said(folder: str, key: str, tmp_path: Path) -> None:
    put(tmp_path / folder / "x.json", json.dumps({key: 99, "target": "level"}))
    said: list[str] = []
    found = companions.load(tmp_path, say=said.append)
    assert found.necessity == found.costs == []
    (line,) = said
    assert f"{folder}/x.json: left out of the report (its version is 99, this build reads" in line
    assert f"Run 'powercut {key} --out" in line


def test_an_audit_is_kept_and_shown_beside_the_verdict(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("kept")
    assert main(["audit", "level:hardened", "--images", "4", "--out", "out/audit"]) == ExitCode.CLEAN
    kept = json.loads((house.out / "audit" / companions.AUDIT_REPORT).read_text())
    assert kept["images"] == 4 and kept["audits"][0]["scenario"] == "kept"
    assert main(["run", "level:hardened", "--out", "out", "--format", "html,pages"]) == ExitCode.CLEAN
    said = capsys.readouterr().err
    assert "Report: out/report.html" in said and "Report: out/report/index.html" in said
    page = (house.out / "report.html").read_text()
    assert '<span class="audit agreed"><b>Audit</b> 4 images, no difference' in page
    before = sorted(path.name for path in (house.out / "report").iterdir())
    assert "level-hardened-kept-adr.html" in before and "index.html" in before
    assert main(["report", "out", "--format", "pages"]) == ExitCode.CLEAN
    assert sorted(path.name for path in (house.out / "report").iterdir()) == before


def test_the_title_names_few_targets_and_the_first_of_many() -> None:
    assert output.report_title(["level", "bch"]) == "powercut: level, bch"
    assert output.report_title(list("abcde")) == "powercut: a, b, c, d and 1 more"
