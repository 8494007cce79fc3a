"""The pytest plugin, through pytester: markers, fixtures, options, reports, and workers of pytest-xdist."""

from __future__ import annotations

import contextlib
import importlib
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.testing.records import merge, summary
from tests.conftest import House

with contextlib.suppress(ImportError):
    # Draws the report's charts. It cannot be loaded twice, which pytester in one process would have it do.
    importlib.import_module("vl_convert")


@pytest.fixture
def project(house: Any, pytester: pytest.Pytester) -> pytest.Pytester:
    for name in ("clean", "lost", "sampled", "dies", "silent"):
        house.scenario(name, core=name == "clean")
    return pytester


def test_marker_passes_and_fails(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.powercut(target="level:hardened", scenario="clean")
        def test_clean():
            pass

        @pytest.mark.powercut(target="level:published", scenario="lost", model="eadr")
        def test_lost():
            raise RuntimeError("the body never runs")

        @pytest.mark.powercut(target="level")
        @pytest.mark.powercut(target="level", scenario="lost")
        def test_both_markers_count():
            pass
        """
    )
    result = project.runpytest("-p", "no:randomly")
    # Each target × scenario is a test of its own; of a marker without scenarios, each core scenario.
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*ERROR: powercut: lost-item*target level:published, scenario lost*",
            "*An acknowledged insert of key 17 is gone.*",
            "*Reproduce: powercut reproduce *findings*.json*",
            "*SUMMARY: powercut: lost-item*",
        ]
    )
    result.stdout.no_fnmatch_line("*RuntimeError*")
    result.stdout.no_fnmatch_line("*Traceback*")
    assert list((project.path / ".powercut" / "findings").glob("*.json"))


def test_fixture(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        from powercut import InconsistentError, UnknownError

        def test_run(powercut):
            result = powercut.run("level:published", scenario="lost")
            assert not result.consistent and result.verdict == "inconsistent"
            assert result.findings[0]["invariant"] == "lost-item"
            with pytest.raises(InconsistentError, match="lost-item"):
                result.check()

        def test_core_scenarios_and_completeness(powercut):
            result = powercut.assert_consistent("level:hardened")
            assert result.complete and [run["scenario"] for run in result.runs] == ["clean"]

        def test_sampled(powercut):
            assert not powercut.assert_consistent("level", scenario="sampled").complete
            with pytest.raises(UnknownError):
                powercut.assert_consistent("level", scenario="sampled", complete=True)

        def test_no_verdict_is_a_failure(powercut):
            powercut.assert_consistent("level", scenario="silent")
        """
    )
    result = project.runpytest()
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*powercut failed: powercut-engine: the engine died*"])


def test_sampled_marker_warns(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.powercut(target="level", scenario="sampled")
        def test_sampled():
            pass
        """
    )
    # -W: the outer run turns warnings into errors.
    result = project.runpytest("-W", "default")
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*SampledWarning: consistent, but only sampled: budget*"])


def test_options(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.powercut(target="level", scenario="lost")
        def test_lost():
            pass

        def test_defaults(powercut):
            assert (powercut.budget, powercut.nested) == ("20000x", 0)
        """
    )
    result = project.runpytest("--powercut-budget=20000x", "--powercut-nested=0", "--powercut-out=elsewhere")
    result.assert_outcomes(passed=1, failed=1)
    assert list((project.path / "elsewhere" / "findings").glob("*.json"))
    assert not (project.path / ".powercut").exists()


def test_bad_markers_fail_with_one_paragraph(project: pytest.Pytester) -> None:
    cases = {
        'target="levle"': "*unknown target 'levle'. Did you mean 'level'?*",
        'target="level", scenrio="x"': "*unknown name 'scenrio'. Did you mean 'scenario'?*",
        'scenario="x"': "*no target. Name one*",
        '"level", "clean"': "*the marker takes the target and otherwise names*",
        'target="level", model="tso"': "*unknown model 'tso'*",
    }
    tests = [f"@pytest.mark.powercut({marker})\ndef test_{n}(): pass\n" for n, marker in enumerate(cases)]
    project.makepyfile("import pytest\n" + "\n".join(tests))
    result = project.runpytest()
    result.assert_outcomes(failed=len(cases))
    result.stdout.fnmatch_lines(list(cases.values()))
    result.stdout.no_fnmatch_line("*Traceback*")


def test_ordinary_failures_keep_their_traceback(project: pytest.Pytester) -> None:
    project.makepyfile("def test_it(): assert 1 == 2")
    result = project.runpytest("--strict-markers")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 1 == 2*"])


# Cases.


def collected(project: pytest.Pytester, test: str) -> list[str]:
    """The ids of the tests of a file."""
    project.makepyfile(f"import pytest\n{test}")
    result = project.runpytest("--collect-only", "-q")
    return [line.partition("::")[2] for line in result.outlines if "::" in line]


def test_each_target_scenario_and_model_is_a_test(project: pytest.Pytester) -> None:
    ids = collected(
        project,
        """
@pytest.mark.powercut(target=["level:hardened", "level"], scenario=["cl*", "lost"], model=["adr", "eadr"])
def test_it(): pass
""",
    )
    assert ids == [
        f"test_it[{target}-{scenario}{model}]"
        for target in ("level:hardened", "level")
        for scenario in ("clean", "lost")
        for model in ("", "-eadr")
    ]


def test_markers_of_classes_and_other_parameters(project: pytest.Pytester) -> None:
    ids = collected(
        project,
        """
@pytest.mark.powercut(target="level", scenario="clean")
class TestAll:
    @pytest.mark.parametrize("number", [1, 2])
    def test_one(self, number): pass

    @pytest.mark.powercut(target="level", scenario="clean")
    def test_same(self): pass
""",
    )
    assert ids == [
        "TestAll::test_one[level-clean-1]",
        "TestAll::test_one[level-clean-2]",
        "TestAll::test_same[level-clean]",
    ]


def test_a_scenario_is_what_its_id_says(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.powercut(target=["level:hardened", "level:published"], scenario=["clean", "lost"])
        def test_it(powercut_case):
            assert powercut_case.scenario == "clean" and powercut_case.result.complete
            (run,) = powercut_case.result.runs
            assert (run["scenario"], f"level:{run['variant']}") == ("clean", powercut_case.target)
        """
    )
    result = project.runpytest("-v")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["*test_it?level:hardened-clean? PASSED*", "*test_it?level:hardened-lost? FAILED*"])


def test_collection_starts_no_engine(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERCUT_ENGINE", "/nonexistent")
    assert collected(project, "@pytest.mark.powercut(target='level', scenario='lost')\ndef test_it(): pass") == [
        "test_it[level-lost]"
    ]
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["powercut: /nonexistent: POWERCUT_ENGINE is not an executable file*"])


def test_a_library_may_be_built_by_a_fixture(project: pytest.Pytester, house: House) -> None:
    (project.path / "mine" / "scenarios").mkdir(parents=True)
    scenario = house.root / "scenarios" / "core" / "clean.toml"
    (project.path / "mine" / "scenarios" / "clean.toml").write_text(scenario.read_text())
    project.makepyfile(
        """
        from pathlib import Path
        import pytest

        LIBRARY = Path(__file__).parent / "mine" / "level.so"

        @pytest.fixture(autouse=True, scope="module")
        def library():
            LIBRARY.touch()

        @pytest.mark.powercut(target=str(LIBRARY), complete=True)
        def test_it(powercut_case):
            assert powercut_case.result.runs[0]["target"] == "level"
        """
    )
    result = project.runpytest("-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*::test_it?level.so-clean? PASSED*"])


def test_unittest_has_no_parameters(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import unittest
        import pytest

        class TestIt(unittest.TestCase):
            @pytest.mark.powercut(target="level", scenario=["clean", "lost"])
            def test_it(self): pass
        """
    )
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["ERROR: powercut: lost-item*"])


def test_the_fixture_of_the_case_needs_a_marker(project: pytest.Pytester) -> None:
    project.makepyfile("def test_it(powercut_case): pass")
    result = project.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*powercut_case is for tests that are marked with @pytest.mark.powercut*"])


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ("target=[]", "'target' is []"),
        ("target=7", "'target' is 7"),
        ("target=['level', None]", "'target' is ['level', None]"),
        ("target='level', scenario=7", "'scenario' is 7"),
        ("target='level', model=[]", "'model' is []"),
        ("target='level', scenario='lots'", "unknown scenario 'lots'. Did you mean 'lost'?"),
        ("target='patterns', scenario='lost'", "none of these scenarios fits 'patterns'"),
        ("target='patterns'", "'patterns' has no core scenario"),
        ("target='level:hardend', scenario='clean'", "Did you mean 'hardened'?"),
        ("target='no/lib.so'", "no such target library"),
        ("target='level', scenario='clean', seed=-1", "'seed' is -1"),
    ],
)
def test_bad_values(project: pytest.Pytester, marker: str, said: str) -> None:
    project.makepyfile(f"import pytest\n@pytest.mark.powercut({marker})\ndef test_it(): pass\ndef test_other(): pass")
    result = project.runpytest()
    result.assert_outcomes(failed=1, passed=1)
    assert said in result.stdout.str() and "Traceback" not in result.stdout.str()


# Inline checks.


def test_checks_belong_to_their_test(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_them="""
        import powercut

        def test_two():
            for _ in range(2):
                assert powercut.check("level", [powercut.insert(1)]).complete

        def test_lost(powercut):
            powercut.check("level", [("insert", 1)], name="lost")
        """
    )
    result = project.runpytest("--powercut-out=elsewhere", "--powercut-nested=0")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.no_fnmatch_line("*Traceback*")
    names = sorted(path.name for path in (project.path / "elsewhere" / "scenarios").iterdir())
    assert names == ["lost.toml", "test_them.py_test_two.2.toml", "test_them.py_test_two.toml"]
    record = json.loads((project.path / "elsewhere/runs/level-published-lost-nested0-adr.json").read_text())
    assert record["nested"] == 0


def test_a_bad_check_is_one_paragraph(project: pytest.Pytester) -> None:
    project.makepyfile('import powercut\ndef test_it(): powercut.check("level", [("isnert", 1)])')
    result = project.runpytest()
    result.stdout.fnmatch_lines(["powercut: powercut.check: operations?0?: unknown operation 'isnert'.*"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_the_plugin_imports_nothing_where_there_are_no_crash_tests(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import sys

        def test_it():
            assert not {"powercut.testing.api", "powercut.base.errors", "pydantic", "hypothesis"} & set(sys.modules)

        def test_fails(): assert False
        """
    )
    result = project.runpytest_subprocess("-p", "no:hypothesispytest")
    result.assert_outcomes(passed=1, failed=1)


# Files that a session leaves.


def junit(project: pytest.Pytester) -> dict[str, dict[str, str]]:
    """The properties of every test case."""
    return {
        str(case.get("name")): {str(row.get("name")): str(row.get("value")) for row in case.iter("property")}
        for case in ElementTree.parse(project.path / "junit.xml").iter("testcase")
    }


LOST_AND_CLEAN = """
import pytest

@pytest.mark.powercut(target=["level:hardened", "level:published"], scenario=["clean", "lost"])
def test_it(): pass

def test_ordinary(): pass
"""


def test_junit_and_summary(project: pytest.Pytester) -> None:
    project.makepyfile(LOST_AND_CLEAN)
    result = project.runpytest("--junitxml=junit.xml", "-rA")
    result.assert_outcomes(passed=3, failed=2)
    cases = junit(project)
    assert cases["test_ordinary"] == {}
    out = project.path / ".powercut"
    clean = cases["test_it[level:hardened-clean]"]
    assert clean == {
        "powercut.target": "level:hardened",
        "powercut.scenario": "clean",
        "powercut.model": "adr",
        "powercut.verdict": "consistent",
        "powercut.coverage": clean["powercut.coverage"],
        "powercut.run": str(out / "runs" / "level-hardened-clean-adr.json"),
    }
    assert clean["powercut.coverage"].startswith("complete: all")
    lost = cases["test_it[level:hardened-lost]"]
    assert lost["powercut.finding.1.invariant"] == "lost-item"
    assert lost["powercut.finding.1.site"] == "libpowercut-level.so+0x20"
    file = Path(lost["powercut.finding.1.json"])
    assert json.loads(file.read_text())["fingerprint"] == lost["powercut.finding.1.fingerprint"] == file.stem
    assert lost["powercut.finding.1.reproduce"] == f"powercut reproduce {file}"
    assert Path(lost["powercut.finding.1.html"]).is_file()
    result.stdout.fnmatch_lines(
        [
            "*Captured powercut call*",
            "*= powercut =*",
            f"lost-item  libpowercut-level.so+0x20  level:*  lost  {file}",
            f"powercut: 4 crash tests, 1 finding, report: {out / 'report.html'}",
        ]
    )


def test_a_report_that_cannot_be_made_hides_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object, **__: object) -> Path:
        raise ImportError("no charts")

    monkeypatch.setattr("powercut_reports.html.write_report", breaks)
    assert summary(1, [], tmp_path) == [
        f"powercut: 1 crash test, 0 findings, no report (ImportError: no charts); 'powercut report {tmp_path}' "
        "makes it again"
    ]


def test_no_summary_without_crash_tests(project: pytest.Pytester) -> None:
    project.makepyfile("def test_it(powercut): pass")
    result = project.runpytest()
    result.stdout.no_fnmatch_line("*powercut:*")
    assert not (project.path / ".powercut").exists()


@pytest.mark.slow
def test_earlier_findings_come_first(project: pytest.Pytester) -> None:
    project.makepyfile(LOST_AND_CLEAN)
    run_file = project.path / ".powercut/runs/level-published-lost-adr.json"
    states = []
    for options in ([], [], ["--powercut-no-replay"]):
        project.runpytest(*options).assert_outcomes(passed=3, failed=2)
        states.append([row["state"] for row in json.loads(run_file.read_text())["replayed"] or []])
    assert states == [[], ["still there"], []]


# Workers of pytest-xdist.


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_workers_leave_what_one_process_leaves(project: pytest.Pytester, capsys: pytest.CaptureFixture[str]) -> None:
    """Both workers judge the same scenarios at once."""
    project.makepyfile(
        """
        import pytest
        import powercut

        @pytest.mark.parametrize("number", range(2))
        @pytest.mark.powercut(target=["level:hardened", "level:published"], scenario=["clean", "lost"])
        def test_it(number): pass

        @pytest.mark.parametrize("number", range(2))
        def test_inline(number):
            powercut.check("level", [powercut.insert(1)])
        """
    )
    project.runpytest("--powercut-out=one", "--junitxml=one.xml").assert_outcomes(passed=6, failed=4)
    result = project.runpytest_subprocess("-n", "2", "--dist=load", "--powercut-out=two", "--junitxml=junit.xml")
    result.assert_outcomes(passed=6, failed=4)
    assert "/workers/" not in result.stdout.str()
    result.stdout.fnmatch_lines(
        [f"powercut: 10 crash tests, 1 finding, report: {project.path / 'two' / 'report.html'}"]
    )
    assert files(project.path / "two") == files(project.path / "one")
    for text in (project.path / "two").rglob("*.json"):
        assert "/workers/" not in text.read_text()
    lost = next(rows for name, rows in junit(project).items() if "published-lost" in name)
    assert Path(lost["powercut.finding.1.json"]).is_file() and Path(lost["powercut.run"]).is_file()
    capsys.readouterr()
    # One report shows all, and what it names can be replayed.
    assert main(["report", "two", "--format", "text"]) == ExitCode.FINDINGS
    shown = capsys.readouterr().out
    assert shown.count("  Verdict: ") == 6 and "level:hardened  clean" in shown
    assert main(["reproduce", lost["powercut.finding.1.json"]]) == ExitCode.FINDINGS


def test_worse_records_win_a_merge(tmp_path: Path) -> None:
    session = tmp_path / "workers" / "abc"
    for worker, verdict, place in (("gw0", "inconsistent", 7), ("gw1", "consistent", 3)):
        for folder in ("runs", "findings"):
            (session / worker / folder).mkdir(parents=True)
        name = str(session / worker / "findings" / "f.json")
        run = {"verdict": verdict, "trace": name}
        (session / worker / "runs" / "r.json").write_text(json.dumps(run))
        (session / worker / "runs" / ".half-written").write_text("{")
        finding = {"finding": 1, "crash_point": {"index": place}, "file": name}
        (session / worker / "findings" / "f.json").write_text(json.dumps(finding))
    merge(session, tmp_path)
    run = json.loads((tmp_path / "runs" / "r.json").read_text())
    assert run == {"verdict": "inconsistent", "trace": str(tmp_path / "findings" / "f.json")}
    assert json.loads((tmp_path / "findings" / "f.json").read_text())["crash_point"] == {"index": 3}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["findings", "runs"]


@pytest.mark.slow
def test_a_worker_that_dies_loses_only_its_own_test(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import os
        import pytest

        @pytest.mark.powercut(target="level", scenario="lost")
        def test_lost(): pass

        @pytest.mark.powercut(target="level", scenario="clean")
        def test_dies(): os._exit(9)
        """
    )
    result = project.runpytest_subprocess("-n", "1")
    result.assert_outcomes(failed=2)
    assert (project.path / ".powercut/runs/level-published-lost-adr.json").is_file()
    assert not (project.path / ".powercut/workers").exists()
