"""Every finding replays: from its record alone, on its trace, to the same story.

The replay shares nothing with the exploration but the models and the executor. It decides every line beforehand
and remembers nothing, so that it agrees says that the explorer's image really leads to what it reported.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import powercut
from powercut.base import paths
from powercut.base.errors import HarnessError, UsageError
from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.engine import engine
from tests.real_engine import Exploration, Json, Subject, explore, planted_bugs, record, recorded_once

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("real_engine")]

#: Many findings, in a trace of many schedules.
COSTLY = frozenset({"threads_directory_unlocked", "threads_directory_unlocked_early"})


def named(name: str) -> Subject:
    return next(subject for subject in planted_bugs() if subject.scenario.name == name)


def replay(trace: Path, finding: Json) -> Json:
    """The engine's answer. It takes an event of the stream as it takes a record."""
    path = trace.with_name("finding.json")
    path.write_text(json.dumps(finding), encoding="utf-8")
    arguments = ["reproduce", "--trace", str(trace), "--finding", str(path)]
    events = [raw for _, raw in engine.stream(paths.engine(), arguments)]
    answer = next(event for event in events if event["event"] == "reproduced")
    assert events[-1] == {"event": "end", "exit": 1 if answer["held"] else 0}
    return answer


def refusal(trace: Path, finding: Json) -> str:
    with pytest.raises(UsageError) as refused:
        replay(trace, finding)
    return str(refused.value)


def with_options(finding: Json, *, model: str = "adr", atoms: str = "any") -> Json:
    return {**finding, "engine": {"model": model, "atoms": atoms, "strategy": "read-driven", "nested": 1, "seed": 1}}


def story(finding: Json) -> Json:
    """A finding without the parts that a replay does not share. One is the engine's own frames below the target's in a
    stack. The other is the number of candidates of a line after a second cut when its content at the first was open."""
    kept = {key: value for key, value in finding.items() if key != "engine"}
    if finding["fault"]:
        kept["fault"] = _own_frame_alone(finding["fault"])
    kept["nested_image"] = [
        {
            **nested,
            "recovery_stores": [_own_frame_alone(store) for store in nested["recovery_stores"]],
            "lines": [{key: value for key, value in line.items() if key != "candidates"} for line in nested["lines"]],
        }
        for nested in finding["nested_image"]
    ]
    return kept


def _own_frame_alone(raw: Json) -> Json:
    return {**raw, "stack": raw["stack"][:1]}


def assert_all_replay(trace: Path, exploration: Exploration, **options: str) -> None:
    assert exploration.findings
    for finding in exploration.findings:
        answer = replay(trace, with_options(finding, **options))
        assert answer["held"], finding["message"]
        assert story(answer["finding"]) == story(finding)


def _each_planted_bug() -> Iterator[Any]:
    for subject in planted_bugs():
        marks = (pytest.mark.long,) if subject.scenario.name in COSTLY else ()
        yield pytest.param(subject, id=subject.scenario.name, marks=marks)


@pytest.mark.parametrize("subject", list(_each_planted_bug()))
def test_every_finding_of_the_corpus_replays(subject: Subject, session_folder: Path) -> None:
    trace, exploration = recorded_once(subject, session_folder)
    if exploration.findings:  # the bug corpus's own tests say which bugs must have some
        assert_all_replay(trace, exploration)


@pytest.mark.parametrize("name", ["insert-top-token-first", "torn_value", "not_idempotent"])
@pytest.mark.parametrize(("model", "atoms"), [("eadr", "any"), ("adr", "ascending")])
def test_findings_of_other_models_replay(name: str, model: str, atoms: str, tmp_path: Path) -> None:
    trace = record(named(name), tmp_path)
    exploration = explore(trace, "--model", model, "--atoms", atoms)
    if exploration.findings:
        assert_all_replay(trace, exploration, model=model, atoms=atoms)
    else:
        assert model == "eadr" or name == "torn_value", "this bug does not depend on how stores are torn"


def test_findings_of_the_eager_reference_replay(tmp_path: Path) -> None:
    trace = record(named("torn_value"), tmp_path)
    for finding in explore(trace, strategy="exhaustive").findings:
        answer = replay(trace, with_options(finding))
        assert (answer["held"], answer["finding"]["found"]) == (True, finding["found"])


def test_findings_under_two_cuts_replay(tmp_path: Path) -> None:
    trace = record(named("not_idempotent"), tmp_path)
    exploration = explore(trace, "--nested", "2")
    assert_all_replay(trace, exploration)
    finding = next(f for f in exploration.findings if f["crash_point"]["depth"] > 0)
    assert finding["invariant"] == "not-idempotent"
    assert replay(trace, finding)["finding"]["underlying"] == finding["underlying"]


def test_finding_of_a_recovery_does_not_hold_once_it_is_fixed(tmp_path: Path) -> None:
    """This toggle changes recovery alone, so the twin's trace has the same crash states."""
    subject = named("undo-log-not-replayed")
    findings = explore(record(subject, tmp_path)).findings
    twin = record(subject.without_toggle(), tmp_path)
    assert findings
    for finding in findings:
        assert replay(twin, finding) == {"event": "reproduced", "held": False, "finding": None}


@pytest.mark.parametrize("name", ["insert-top-token-first", "rehash-clear-first", "torn_value"])
def test_finding_does_not_hold_on_the_trace_of_the_fixed_twin(name: str, tmp_path: Path) -> None:
    subject = named(name)
    findings = explore(record(subject, tmp_path)).findings
    twin = record(subject.without_toggle(), tmp_path)
    assert findings
    for finding in findings:
        try:
            assert not replay(twin, finding)["held"]
        except UsageError as refused:
            text = str(refused)
            places = ("another build or plan", "not a legal image of this trace", "recovery on this image is not cut")
            assert any(place in text for place in places), text
            assert "powercut run" in text


def flip(line: Json) -> None:
    line["bytes"] = f"{int(line['bytes'][:2], 16) ^ 0xA5:02x}" + line["bytes"][2:]


def _flip_pending(finding: Json) -> None:
    flip(finding["image"][0])


def _forget_a_line(finding: Json) -> None:
    del finding["image"][0]


def _add_a_line(finding: Json) -> None:
    used = {line["offset"] for line in finding["image"]}
    offset = next(offset for offset in range(0, 1 << 16, 64) if offset not in used)
    finding["image"].append({**finding["image"][0], "offset": offset, "bytes": "5a" * 64})


def _line_past_the_pool(finding: Json) -> None:
    finding["image"][0]["offset"] = 1 << 40


def _flip_nested(finding: Json) -> None:
    flip(finding["nested_image"][0]["lines"][-1])


def _another_cut(finding: Json) -> None:
    finding["nested_image"][0]["recovery_stores"] *= 50


def _later(finding: Json) -> None:
    finding["crash_point"]["index"] += 1_000_000


def _another_event(finding: Json) -> None:
    finding["crash_point"]["event"] += 1


def _another_instant(finding: Json) -> None:
    finding["crash_point"]["when"] = "after the fact"


def _another_key(finding: Json) -> None:
    finding["query"]["text"] = "lookup(987654321)"


def _another_target(finding: Json) -> None:
    finding["target"] = "level"


def _without_image(finding: Json) -> None:
    del finding["image"]


def _short_line(finding: Json) -> None:
    finding["image"][0]["bytes"] = "00"


def _twice(finding: Json) -> None:
    finding["image"].append(finding["image"][0])


def _wrong_depth(finding: Json) -> None:
    finding["crash_point"]["depth"] = 7


@pytest.mark.parametrize(
    ("tamper", "says"),
    [
        (_flip_pending, "not a legal image of this trace: the line at offset"),
        (_forget_a_line, "candidates, and the finding says nothing of it"),
        (_add_a_line, "is definite there and holds something else"),
        (_line_past_the_pool, "is past the pool"),
        (_flip_nested, "not a legal image of this trace after cut 1 of recovery: the line at offset"),
        (_another_cut, "recovery on this image is not cut"),
        (_later, "it is of another build or plan"),
        (_another_event, "the trace is of another build or plan"),
        (_another_instant, "the trace is of another build or plan"),
        (_another_key, "the recovered table cannot be asked lookup(987654321)"),
        (_another_target, "the finding of level:"),
        (_without_image, "not a finding: image: this field is missing"),
        (_short_line, "not a finding: image[0].bytes: this must be 64 bytes as hex digits"),
        (_twice, "this must be of another line than those before it"),
        (_wrong_depth, "not a finding: crash_point.depth"),
    ],
    ids=lambda value: value.__name__.removeprefix("_") if callable(value) else "refused",
)
def test_a_record_that_was_tampered_with_is_refused(tamper: Callable[[Json], None], says: str, nested: Any) -> None:
    trace, finding = nested
    changed = copy.deepcopy(finding)
    tamper(changed)
    assert says in refusal(trace, changed)


@pytest.fixture(scope="module")
def nested(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Json]:
    """A trace and a finding with a cut inside recovery."""
    trace = record(named("not_idempotent"), tmp_path_factory.mktemp("nested"))
    return trace, next(f for f in explore(trace).findings if f["nested_image"] and f["image"])


def test_a_loop_that_repeats_itself_is_found_whatever_the_budget(tmp_path: Path) -> None:
    trace = record(named("recovery_hang"), tmp_path)
    path = tmp_path / "finding.json"
    path.write_text(json.dumps(explore(trace).findings[0]), encoding="utf-8")
    arguments = ["reproduce", "--trace", str(trace), "--finding", str(path), "--step-budget", str(10**15)]
    heard = [raw for _, raw in engine.stream(paths.engine(), arguments) if raw["event"] == "reproduced"]
    assert [raw["finding"]["invariant"] for raw in heard] == ["recovery-hang"]


def test_a_replay_that_does_not_end_is_an_error_of_the_harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recovery that waits for something beside the image: the wall clock knows nothing of the target's fault."""
    library = paths.library_dir() / "test" / "libtest-array-map-good.so"
    with pytest.raises(powercut.InconsistentError):
        powercut.Session(out=tmp_path).check(str(library), [("insert", 1), ("update", 1)])
    path = next((tmp_path / "findings").glob("*.json"))
    trace = json.loads(path.read_text(encoding="utf-8"))["trace"]
    monkeypatch.setenv("ARRAY_MAP_PAUSES", "1")
    arguments = ["reproduce", "--trace", trace, "--finding", str(path), "--watchdog-seconds", "1"]
    with pytest.raises(HarnessError, match="nothing is known of the finding: recovery did not end within 1 seconds"):
        list(engine.stream(paths.engine(), arguments))


def run_cli(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Json]:
    capsys.readouterr()
    code = main([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", ["torn_value", "not_idempotent", "recovery_failed_segv"])
def test_powercut_reproduce_from_end_to_end(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    code, printed = run_cli(capsys, "run", "patterns:hardened", "--scenario", name, "--explain", "0", "--out", str(out))
    assert code == ExitCode.FINDINGS
    files = [finding["file"] for run in printed["runs"] for finding in run["findings"]]
    assert files
    for file in files:
        code, answer = run_cli(capsys, "reproduce", file)
        assert (code, answer["held"], answer["fresh_trace"]) == (ExitCode.FINDINGS, True, False)
    for trace in (out / "traces").iterdir():
        trace.unlink()
    for file in files:
        code, answer = run_cli(capsys, "reproduce", file)
        assert (code, answer["held"], answer["fresh_trace"]) == (ExitCode.FINDINGS, True, True)


def test_powercut_reproduce_after_a_fix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    scenario = "known_bugs/level/undo-log-not-replayed"
    words = ["--scenario", scenario, "--explain", "0", "--out", str(out)]
    _, printed = run_cli(capsys, "run", "level:hardened", *words)
    path = Path(printed["runs"][0]["findings"][0]["file"])
    finding = json.loads(path.read_text(encoding="utf-8"))
    del finding["plan"]["target"]["options"]["bug"]
    path.write_text(json.dumps({**finding, "trace": "gone.pct"}), encoding="utf-8")
    for trace in (out / "traces").iterdir():
        trace.unlink()
    code, answer = run_cli(capsys, "reproduce", str(path))
    assert (code, answer["held"], answer["fresh_trace"]) == (ExitCode.CLEAN, False, True)
