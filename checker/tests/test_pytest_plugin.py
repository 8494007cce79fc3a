"""The pytest plugin, through pytester: markers, fixture, options, and what a failing crash test prints."""

from typing import Any

import pytest


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
    result.assert_outcomes(passed=1, failed=2)
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
        from powercut.api import InconsistentError, UnknownError

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
