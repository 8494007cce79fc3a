"""The litmus suite itself, its runner, and its file format."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from powercut.base.errors import HarnessError, UsageError
from powercut.litmus.litmus import REFERENCE, ask, check, run, suite_dir
from powercut.litmus.program import load, parse

GOOD = """
[[test]]
name = "t"
source = "Argument."
model = "adr"
program = '''
T0: store x 1
T0: clwb x
T0: sfence
'''
allowed = ["x=1"]
[test.locations]
x = { line = 0 }
"""


GOOD_THREADS = """
[[test]]
name = "t"
source = "Argument."
model = "eadr"
schedules = "all"
program = '''
T0: lock l
T0: store x 1
T0: unlock l
T1: wait x 1
T1: copy y x
'''
allowed = ["x=0 y=0", "x=1 y=0", "x=1 y=1"]
[test.locations]
x = { line = 0 }
y = { line = 1 }
v = { line = 2, size = 4 }
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "t.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_suite_has_what_it_promises() -> None:
    tests = load(suite_dir())
    scope = [test for test in tests if test.needs is None]
    assert len(scope) >= 30
    of = {model: sum(test.model == model for test in scope) for model in ("adr", "eadr", "block", "flash", "nor")}
    assert sum(of.values()) == len(scope) and of["block"] >= 30 and of["flash"] >= 15 and of["nor"] >= 25
    assert {test.atoms for test in scope} == {"any", "ascending", "byte"}
    assert sum(test.needs == "tso" and test.is_in_scope for test in tests) >= 6
    assert all(test.source for test in tests)
    threaded = [test for test in scope if test.threads is not None]
    assert len(threaded) >= 40
    assert {test.model for test in threaded} == {"adr", "eadr"}
    assert {"wait", "load", "cas", "add", "lock"} <= {event["op"] for test in threaded for event in test.events}
    assert any(len(test.threads or ()) > 2 for test in threaded)


def test_reference_passes() -> None:
    scope = [test for test in load(suite_dir()) if test.is_in_scope]
    assert check(scope, "reference", REFERENCE) == []


def test_what_needs_a_buffer_really_does() -> None:
    """Each allows what one order of visibility cannot give; one that did not would belong to the others."""
    tests = [test for test in load(suite_dir()) if test.needs is not None]
    at_once = [test.plain() if test.threads is None else test.every_schedule() | {"visibility": "sc"} for test in tests]
    answers = ask("reference", REFERENCE, at_once)
    for test, answer in zip(tests, answers, strict=True):
        left = test.project(answer["crash_points"][-1]) if test.threads is None else test.left(answer)
        assert left < test.allowed, test.name


@pytest.mark.usefixtures("engine_model")  # skips where no engine is built
def test_engine_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(json=True) == 0
    result = json.loads(capsys.readouterr().out)
    tests = load(suite_dir())
    assert result["failed"] == 0
    assert result["passed"] + len(result["out_of_scope"]) == len(tests)
    assert result["with_threads"] == sum(test.is_in_scope and test.in_every_schedule for test in tests)
    assert result["with_store_buffers"] == sum(test.is_in_scope and test.needs is not None for test in tests)


@pytest.mark.parametrize(
    ("allowed", "complaint"),
    [('["x=0", "x=1"]', "legal but missed: x=0x0"), ('["x=0"]', "reported but illegal: x=0x1")],
)
def test_a_wrong_set_fails_even_where_no_line_is_pending(tmp_path: Path, allowed: str, complaint: str) -> None:
    (test,) = parse(write(tmp_path, GOOD.replace('["x=1"]', allowed)))
    (failure,) = check([test], "reference", REFERENCE)
    assert complaint in failure.message


def test_a_wrong_number_of_states_fails(tmp_path: Path) -> None:
    (test,) = parse(write(tmp_path, GOOD.replace('["x=1"]', '["x=1"]\nstates = 2')))
    (failure,) = check([test], "reference", REFERENCE)
    assert failure.message == "1 states, expected 2"


def test_a_wrong_floor_under_a_line_with_one_candidate_fails(tmp_path: Path) -> None:
    """An engine that claims one state but keeps the wrong bytes is caught by the probes."""
    (test,) = parse(write(tmp_path, GOOD))
    lies = [
        {"crash_points": [{"after": 3, "states": "1", "lines": {}}]},
        {"crash_points": [{"after": 4, "states": "2", "lines": {"0": ["00" * 64, "00" * 63 + "ff"]}}]},
    ]
    liar = [sys.executable, "-c", "import sys; print(*sys.argv[1:], sep='\\n')", *map(json.dumps, lies)]
    (failure,) = check([test], "liar", liar)
    assert failure.message.startswith("with a probe in every line")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("[[test]]", "[[tests]]", "holds [[test]] tables and nothing else"),
        ("[[test]]", 'model = "adr"\n[[test]]', "holds [[test]] tables and nothing else"),
        ('model = "adr"', 'modle = "adr"', "unknown key"),
        ('model = "adr"', "", "'model' is missing"),
        ("T0: clwb x", "T0: clwb w", "'w' is missing or not declared"),
        ("T0: clwb x", "T0: wbinvd", "is no instruction"),
        ("T0: clwb x", "clwb x", "cannot read 'clwb x'"),
        ("T0: store x 1", "T0: store x 0x10000000000000000", "too big"),
        ("T0: clwb x", "crash\ncrash", "two crashes"),
        ('["x=1"]', '["x=1", "x=1"]', "must be distinct"),
        ('["x=1"]', '["w=1"]', "which is no location"),
        ('["x=1"]', "[]", "at least one"),
        ("{ line = 0 }", "{ line = 0, at = 60 }", "within one line"),
        ('name = "t"', 'needs = "luck"\nname = "t"', "only 'tso' is"),
        ("allowed", "allowed allowed", "Expected '='"),
    ],
)
def test_malformed_files_are_refused(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    path = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(UsageError) as caught:
        parse(path)
    assert complaint in caught.value.paragraph()
    assert str(path) in caught.value.paragraph()


def test_a_malformed_test_is_named_beside_its_file(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD + GOOD.replace('"t"', '"u"').replace("T0: clwb x", "T0: wbinvd"))
    with pytest.raises(UsageError) as caught:
        parse(path)
    assert f"{path}, u" in caught.value.paragraph()


def test_no_two_tests_have_one_name(tmp_path: Path) -> None:
    for medium in ("memory", "block"):
        folder = tmp_path / medium / "litmus"
        folder.mkdir(parents=True)
        write(folder, GOOD)
    with pytest.raises(UsageError) as caught:
        load(tmp_path)
    assert "two tests have the name 't'" in caught.value.paragraph()


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"x=1 y=0", ', "", "reported but illegal: x=0x1 y=0x0"),
        ('"x=1 y=1"', '"x=1 y=1", "x=0 y=1"', "legal but missed: x=0x0 y=0x1"),
    ],
)
def test_a_wrong_set_of_a_test_with_threads_fails(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    (test,) = parse(write(tmp_path, GOOD_THREADS))
    assert check([test], "reference", REFERENCE) == []
    (wrong,) = parse(write(tmp_path, GOOD_THREADS.replace(old, new)))
    (failure,) = check([wrong], "reference", REFERENCE)
    assert failure.message == complaint


def test_an_answer_without_frontiers_fails(tmp_path: Path) -> None:
    (test,) = parse(write(tmp_path, GOOD_THREADS))
    liar = [sys.executable, "-c", 'print(\'{"error": "unknown op"}\')']
    (failure,) = check([test], "liar", liar)
    assert "cannot read the answer (KeyError: 'frontiers')" in failure.message


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('schedules = "all"', 'schedules = "some"', "only 'all' is"),
        ('schedules = "all"', "", "'T0: lock l' needs schedules = 'all'"),
        ("T0: lock l", "begin", "'begin' has no place"),
        ("T1: copy y x", "crash", "'crash' has no place"),
        ("T0: lock l", "T0: and store x 1", "has one piece"),
        ("T0: lock l", "T0: lock", "'T0: lock' is no instruction"),
        ("T0: lock l", "T0: lock y", "a lock is no location"),
        ("T0: lock l", "T0: sfence", "'T0: unlock l': the thread does not hold it"),
        ("T0: store x 1", "T0: lock l", "'T0: lock l': the thread already holds it"),
        ("T1: wait x 1", "T1: wait w 1", "'w' is missing or not declared"),
        ("T1: wait x 1", "T1: wait x", "'T1: wait x' is no instruction"),
        ("T1: wait x 1", "T1: cas x 1", "'T1: cas x 1' is no instruction"),
        ("T1: wait x 1", "T1: add v 0x100000000", "too big"),
        ("T1: wait x 1", "wait x 1", "cannot read 'wait x 1'"),
        ("T1: copy y x", "T1: copy y v", "y and v differ in size"),
        ("T1:", "T0:", "at least two"),
        ("T1:", "T2:", "each with an instruction"),
        ("allowed", "states = 3\nallowed", "no number of images"),
    ],
)
def test_malformed_tests_with_threads_are_refused(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(write(tmp_path, GOOD_THREADS.replace(old, new)))
    assert complaint in caught.value.paragraph()


def test_a_judge_that_breaks_down_is_neither_pass_nor_fail() -> None:
    with pytest.raises(HarnessError, match="exit status 7"):
        ask("engine", [sys.executable, "-c", "raise SystemExit(7)"], [{"model": "adr", "events": []}])


def test_empty_suite_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(json=True, suite=tmp_path) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert "no litmus test" in output.err
