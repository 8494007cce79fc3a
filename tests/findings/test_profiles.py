"""The verdict under each file system, and which of them decide the exit status."""

from typing import Any

import pytest

from powercut.base.exit_codes import ExitCode
from powercut.findings import profiles
from powercut.runs import runner
from powercut_records.files import ProfileVerdict
from powercut_records.finding import FindingRecord
from powercut_records.run import RunError, RunRecord
from powercut_reports.gate_formats import ci

ASKED = ("ext4", "xfs", "btrfs")


def run_of(found: list[tuple[str, ...]], *, complete: tuple[str, ...] = ASKED, **more: Any) -> RunRecord:
    """A settled run; each finding is legal under the file systems that are named."""
    run = RunRecord.model_validate(
        {
            "verdict": "inconsistent" if found else "consistent",
            "coverage": {"kind": "complete"},
            "program": {"folder": "/data", "profiles": {name: {} for name in ASKED}},
            "findings": [{"fingerprint": str(n), "files": {"profiles": names}} for n, names in enumerate(found)],
            **more,
        }
    )
    judged = [
        ProfileVerdict(profile=name, verdict="consistent", complete=name in complete, crash_states="9")
        for name in ASKED
    ]
    profiles.settle(run, judged=judged)
    return run


def test_a_file_system_is_inconsistent_by_the_findings_that_it_allows() -> None:
    run = run_of([("ext4", "xfs"), ("ext4",)])
    assert [(row.profile, row.verdict, row.findings) for row in run.profiles] == [
        ("ext4", "inconsistent", 2),
        ("xfs", "inconsistent", 1),
        ("btrfs", "consistent", 0),
    ]


def test_unknown_is_never_clean() -> None:
    for more in ({"verdict": "unknown"}, {"error": RunError(what="it broke")}):
        run = run_of([], **more)
        assert {row.verdict for row in run.profiles} == {"unknown"}
        assert runner.exit_code(run) == runner.exit_code(run, fail_on=frozenset({"ext4"})) == ExitCode.INCOMPLETE
    run = run_of([("ext4",)], error=RunError(what="it broke"))
    assert [row.verdict for row in run.profiles] == ["inconsistent", "unknown", "unknown"]
    assert not any(row.complete for row in run.profiles)


def test_a_run_that_never_ended_has_a_row_for_each_file_system() -> None:
    run = RunRecord.model_validate({"program": {"profiles": {name: {} for name in ASKED}}})
    profiles.settle(run, judged=[])
    assert [(row.profile, row.verdict, row.complete) for row in run.profiles] == [
        (name, "unknown", False) for name in ASKED
    ]


@pytest.mark.parametrize(
    ("found", "complete", "fail_on", "expected"),
    [
        ([("ext4",)], ASKED, (), ExitCode.FINDINGS),
        ([("ext4",)], ASKED, ("any",), ExitCode.FINDINGS),
        ([("ext4",)], ASKED, ("ext4",), ExitCode.FINDINGS),
        ([("ext4",)], ASKED, ("xfs",), ExitCode.CLEAN),
        ([("ext4",)], ASKED, ("xfs", "btrfs"), ExitCode.CLEAN),
        ([("ext4",)], ("ext4", "xfs"), ("xfs",), ExitCode.CLEAN),
        ([("ext4",)], ("ext4", "xfs"), ("btrfs",), ExitCode.INCOMPLETE),
        ([], ASKED, ("ext4",), ExitCode.CLEAN),
        ([], ("xfs",), ("ext4",), ExitCode.INCOMPLETE),
        ([("ext4",), ("xfs",)], ASKED, ("xfs",), ExitCode.FINDINGS),
    ],
)
def test_the_file_systems_of_fail_on_decide(
    found: list[tuple[str, ...]], complete: tuple[str, ...], fail_on: tuple[str, ...], expected: ExitCode
) -> None:
    run = run_of(found, complete=complete)
    words = frozenset(fail_on)
    profiles.mark(run, words)
    assert runner.exit_code(run, fail_on=words) == expected
    results = ci.results([run], fail_on=words)
    outcome = ci.outcome(results.runs[0], results)
    assert outcome == {0: ci.CLEAN, 1: ci.FINDINGS, 3: ci.INCOMPLETE}[expected]
    (beside,) = results.accepted
    assert all("which --fail-on does not name" in item.reason for item in beside)
    assert len(beside) + len(results.runs[0].findings) == len(found)


def test_findings_without_a_folder_are_left_alone() -> None:
    run = RunRecord(findings=[FindingRecord()])
    profiles.mark(run, frozenset({"redundant-flush"}))
    assert run.findings[0].counts


def test_two_trees_of_one_finding_are_told_under_the_file_systems_of_both() -> None:
    first, second, third = (
        FindingRecord.model_validate({"files": {"profiles": names}}) for names in (["ext4"], ["xfs", "ext4"], ["btrfs"])
    )
    profiles.join(first, second)
    profiles.join(first, third)
    assert first.files and second.files and third.files
    assert (first.files.also, second.files.also, third.files.also) == (["xfs", "btrfs"], [], ["ext4", "xfs"])


def test_keys_tell_which_file_systems_have_a_finding_by_another_tree() -> None:
    records = {
        key: FindingRecord.model_validate({"fingerprint": name, "files": {"profiles": ["ext4"]}})
        for key, name in (("a", "one"), ("b", "one"), ("c", "two"))
    }
    profiles.note({"ext4": ["a", "b", "c"], "xfs": ["a", "gone"], "btrfs": []}, records)
    assert [record.files.under for record in records.values() if record.files] == [
        ["ext4", "xfs"],
        ["ext4", "xfs"],
        ["ext4"],
    ]
