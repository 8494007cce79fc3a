"""The engine edits traces (checker/EDITS.md) and judges images (reports/EVENTS.md, "Judging"), here of Level hashing.

A flush that is left out makes a clean run unsafe, and one that is put in makes a planted bug safe: an edit is judged
by the same explorer as any run, so both say that it does what a change of the code would do.
"""

from __future__ import annotations

import json
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.engine import engine, events
from tests.real_engine import Exploration, Json, Subject, explore, planted_bugs, record, trace_events

LINE = 64
TOGGLE = "insert_top_unordered"


pytestmark = pytest.mark.usefixtures("real_engine")


@pytest.fixture(scope="module")
def bug() -> Subject:
    return next(subject for subject in planted_bugs() if subject.target == "level" and subject.toggle == TOGGLE)


@pytest.fixture(scope="module")
def clean(bug: Subject, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the same scenario without the bug."""
    return record(bug.without_toggle(), tmp_path_factory.mktemp("clean"))


@pytest.fixture(scope="module")
def broken(bug: Subject, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(bug, tmp_path_factory.mktemp("broken"))


@pytest.fixture(scope="module")
def found(broken: Path) -> Exploration:
    exploration = explore(broken)
    assert exploration.findings
    return exploration


def edit(trace: Path, out: Path, **edits: object) -> tuple[Path, Json]:
    """The edited trace, and the engine's answer."""
    file = out.with_suffix(".edits.json")
    file.write_text(json.dumps({"edits": 1, **edits}), encoding="utf-8")
    arguments = ["edit", "--trace", str(trace), "--edits", str(file), "--out", str(out)]
    parsed = list(engine.stream(paths.engine(), arguments))
    (answer,) = (raw for event, raw in parsed if isinstance(event, events.Edited))
    return out, answer


def refusal(trace: Path, folder: Path, **edits: object) -> str:
    out = folder / "refused.pct"
    with pytest.raises(UsageError) as refused:
        edit(trace, out, **edits)
    assert not out.exists()
    return str(refused.value)


def judge(trace: Path, requests: list[Json], *arguments: str) -> list[Json]:
    file = trace.with_suffix(".requests")
    file.write_text("".join(json.dumps(request) + "\n" for request in requests), encoding="utf-8")
    given = ["judge", "--trace", str(trace), "--requests", str(file), *arguments]
    parsed = list(engine.stream(paths.engine(), given))
    return [raw for event, raw in parsed if isinstance(event, events.Judged)]


def normal_form(trace: Path) -> str:
    command = [str(paths.engine()), "dump", "--normal", "--trace", str(trace)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def explored(trace: Path) -> list[Json]:
    """The events of phases that are explored."""
    kept, on = [], False
    for event in trace_events(trace):
        on = event["explore"] if event["kind"] == "phase" else on
        if on:
            kept.append(event)
    return kept


def request_of(finding: Json, **changes: object) -> Json:
    """A finding's own image as a request."""
    return {
        "id": finding["key"],
        "crash_point": finding["crash_point"]["index"],
        "rest": "floor",
        "lines": [{"offset": line["offset"], "bytes": line["bytes"]} for line in finding["image"]],
        "nested": [
            {
                "after_return": cut["after_return"],
                "stores": [[store["offset"], store["size"]] for store in cut["recovery_stores"]],
                "rest": "floor",
                "lines": [{"offset": line["offset"], "bytes": line["bytes"]} for line in cut["lines"]],
            }
            for cut in finding["nested_image"]
        ],
        **changes,
    }


def test_no_edits_leave_the_trace_as_it_is(clean: Path, tmp_path: Path) -> None:
    out, answer = edit(clean, tmp_path / "same.pct")
    before, after = trace_events(clean), trace_events(out)
    assert after == before
    assert normal_form(out) == normal_form(clean)
    assert answer == {
        "event": "edited",
        "trace": str(out),
        "events": len(before),
        "dropped": 0,
        "inserted": 0,
        "moved": 0,
    }
    assert explore(out).stable() == explore(clean).stable()


def test_a_dropped_flush_is_found(clean: Path, tmp_path: Path) -> None:
    assert not explore(clean).findings
    flushes = [event["index"] for event in explored(clean) if event["kind"] == "flush"]
    out, answer = edit(clean, tmp_path / "dropped.pct", drop=flushes)
    assert answer["dropped"] == len(flushes) > 0
    assert len(trace_events(out)) == len(trace_events(clean)) - len(flushes)
    assert "lost-item" in explore(out).invariants


def test_an_inserted_flush_and_fence_mend_the_bug(broken: Path, found: Exploration, tmp_path: Path) -> None:
    """Each store is made durable before the next one of another line: no order of lines is left open."""
    stores = [event for event in explored(broken) if event["kind"] == "store"]
    last_of_line = [a for a, b in pairwise(stores) if a["offset"] // LINE != b["offset"] // LINE]
    inserts = [
        {
            "after": store["index"],
            "flush": {"offset": store["offset"], "size": len(store["bytes"]) // 2, "kind": "clwb"},
            "fence": "sfence",
        }
        for store in last_of_line
    ]
    out, answer = edit(broken, tmp_path / "mended.pct", insert=inserts)
    assert answer["inserted"] >= 2 * len(inserts) > 0
    assert {"lost-item", "torn-value"} & found.invariants
    mended = explore(out)
    assert not mended.findings
    assert mended.result["coverage"]["kind"] == "complete"


def test_an_insert_has_the_thread_and_stack_of_another_event(broken: Path, tmp_path: Path) -> None:
    before = trace_events(broken)
    store = next(event for event in before if event["kind"] == "store" and event["stack"])
    flush = {"offset": 100, "size": 100, "kind": "clflushopt"}
    insert = {"after": 0, "flush": flush, "fence": "mfence", "stack_of": store["index"]}
    out, answer = edit(broken, tmp_path / "inserted.pct", insert=[insert])
    added = trace_events(out)[1:5]
    assert answer["inserted"] == 4
    assert [(event["kind"], event["code"]) for event in added] == [("flush", "clflushopt")] * 3 + [("fence", "mfence")]
    assert [event["offset"] for event in added[:3]] == [64, 128, 192]
    assert all((event["thread"], event["stack"]) == (store["thread"], store["stack"]) for event in added)


def test_moved_events_keep_their_order_and_take_their_inserts_along(clean: Path, tmp_path: Path) -> None:
    before = trace_events(clean)
    first = next(
        n for n, event in enumerate(before) if event["kind"] == "store" and before[n + 1]["kind"] == "store"
        and before[n + 2]["kind"] in ("flush", "fence", "store") and before[n - 1]["kind"] != "op-begin"
    )  # fmt: skip
    a, b, c = before[first - 1 : first + 2]
    moves = [{"events": [c["index"]], "after": a["index"]}]
    out, answer = edit(
        clean, tmp_path / "moved.pct", move=moves, insert=[{"after": c["index"], "flush": None, "fence": "sfence"}]
    )
    after = trace_events(out)[first - 1 : first + 3]
    assert answer["moved"] == 1
    assert [{**event, "index": 0} for event in (after[0], after[1], after[3])] == [
        {**event, "index": 0} for event in (a, c, b)
    ]
    assert after[2]["kind"] == "fence"


def test_nonsense_is_refused(clean: Path, tmp_path: Path) -> None:
    all_events = trace_events(clean)
    store = next(event["index"] for event in all_events if event["kind"] == "store")
    begin = next(event["index"] for event in all_events if event["kind"] == "op-begin" and event["code"] == "insert")
    end = next(event["index"] for event in all_events[begin:] if event["kind"] == "op-end")
    inside = next(event["index"] for event in all_events[begin:] if event["kind"] == "store")
    flush = next(event["index"] for event in all_events[begin:] if event["kind"] == "flush")
    far = {"offset": 1 << 40, "size": 1, "kind": "clwb"}
    assert "a flush or a fence can be dropped" in refusal(clean, tmp_path, drop=[store])
    assert "there is no event" in refusal(clean, tmp_path, drop=[len(all_events)])
    assert "is named twice" in refusal(clean, tmp_path, drop=[flush, flush])
    assert "the pool has" in refusal(clean, tmp_path, insert=[{"after": 0, "flush": far}])
    assert "it inserts nothing" in refusal(clean, tmp_path, insert=[{"after": 0}])
    assert "it would pass" in refusal(clean, tmp_path, move=[{"events": [inside], "after": end}])
    assert "it would pass" in refusal(clean, tmp_path, move=[{"events": [inside], "after": begin - 1}])
    assert "can be moved" in refusal(clean, tmp_path, move=[{"events": [end], "after": inside}])
    assert "is dropped as well" in refusal(clean, tmp_path, drop=[flush], move=[{"events": [flush], "after": inside}])
    assert "is moved itself" in refusal(clean, tmp_path, move=[{"events": [inside], "after": inside}])
    assert "a later event" in refusal(clean, tmp_path, move=[{"events": [inside, inside], "after": begin}])
    assert "there is no such field" in refusal(clean, tmp_path, drops=[])
    assert "there is no module 77" in refusal(clean, tmp_path, recovery=[{"frames": [[77, 1]], "do": "drop"}])


def test_no_store_passes_another_one_to_the_same_bytes(logged: Path, tmp_path: Path) -> None:
    """Two stores of one operation to one place are moved in neither direction."""
    before: dict[int, Json] = {}
    for event in trace_events(logged):
        if event["kind"] == "op-begin":
            before = {}
        elif event["kind"] == "store":
            if (earlier := before.get(event["offset"])) is not None:
                break
            before[event["offset"]] = event
    else:
        pytest.fail("no operation stores to one place twice")
    first, second = earlier["index"], event["index"]
    assert "stores to the same bytes" in refusal(logged, tmp_path, move=[{"events": [first], "after": second}])
    assert "stores to the same bytes" in refusal(logged, tmp_path, move=[{"events": [second], "after": first - 1}])


def test_a_findings_own_image_shows_its_invariant(broken: Path, found: Exploration) -> None:
    findings = sorted(found.findings, key=lambda finding: finding["crash_point"]["index"])
    answers = judge(broken, [request_of(finding) for finding in findings])
    assert [answer["id"] for answer in answers] == [finding["key"] for finding in findings]
    for finding, answer in zip(findings, answers, strict=True):
        assert answer["legal"], answer["why"]
        assert answer["when"] == finding["crash_point"]["when"]
        assert answer["crash_event"] == finding["crash_point"]["event"]
        shown = {(violation["invariant"], violation["underlying"], violation["query"], violation["found"])
                 for violation in answer["violations"]}  # fmt: skip
        assert (finding["invariant"], finding["underlying"], finding["query"]["text"], finding["found"]) in shown


def test_with_everything_visible_nothing_is_wrong_there(broken: Path, found: Exploration) -> None:
    points = sorted(finding["crash_point"]["index"] for finding in found.findings)
    answers = judge(broken, [{"id": n, "crash_point": n, "rest": "visible", "lines": []} for n in points])
    assert [answer["crash_point"] for answer in answers] == points
    assert all(answer["legal"] and not answer["violations"] for answer in answers)


def test_a_line_may_be_named_by_what_it_holds_or_by_how_much(broken: Path, found: Exploration) -> None:
    """The decided lines of a finding, one word or all its bytes: the same answer."""
    finding = min(
        found.findings, key=lambda finding: (finding["crash_point"]["depth"], finding["crash_point"]["index"])
    )

    def word(line: Json) -> str:
        return next((name for name in ("floor", "visible") if line[name] == line["bytes"]), line["bytes"])

    lines = [{"offset": line["offset"], "bytes": word(line)} for line in finding["image"]]
    by_word = request_of(finding, id="words", rest="visible", lines=lines)
    by_bytes = request_of(finding, id="bytes")
    first, second = judge(broken, [by_word, by_bytes])
    assert {"floor", "visible"} & {line["bytes"] for line in lines}
    assert first["violations"] == second["violations"] != []


def test_every_crash_point_at_once(broken: Path, found: Exploration) -> None:
    points = found.result["crash_points"]
    answers = judge(broken, [{"id": ["v"], "crash_point": "all", "rest": "visible", "lines": []}])
    assert [answer["crash_point"] for answer in answers] == list(range(points))
    assert all(answer["id"] == ["v"] and answer["legal"] and not answer["violations"] for answer in answers)


def test_a_range_of_crash_points_goes_as_far_as_the_trace(broken: Path, found: Exploration) -> None:
    points = found.result["crash_points"]
    ranges = {"some": [1, 3], "last": [points - 1, points + 7], "past": [points, points]}
    answers = judge(
        broken, [{"id": name, "crash_point": r, "rest": "floor", "lines": []} for name, r in ranges.items()]
    )
    everywhere = judge(broken, [{"id": "all", "crash_point": "all", "rest": "floor", "lines": []}])
    at = {name: [answer for answer in answers if answer["id"] == name] for name in ranges}
    assert [answer["crash_point"] for answer in at["some"]] == [1, 2, 3]
    assert [answer["crash_point"] for answer in at["last"]] == [points - 1]
    assert at["past"] == []
    for answer in answers:
        assert {**answer, "id": "all"} == everywhere[answer["crash_point"]]


def test_what_no_power_cut_leaves_is_said_to_be_so(broken: Path, found: Exploration) -> None:
    finding = min(found.findings, key=lambda finding: finding["crash_point"]["index"])
    wrong = request_of(finding)
    wrong["lines"][0]["bytes"] = "5a" * LINE
    uncut = request_of(finding, nested=[{"after_return": True, "stores": [[0, 8]] * 99, "rest": "floor"}])
    answers = judge(broken, [wrong, uncut])
    assert [answer["legal"] for answer in answers] == [False, False]
    assert "cannot hold these bytes" in answers[0]["why"]
    assert "is not cut after it returned" in answers[1]["why"]
    assert answers[0]["violations"] == answers[1]["violations"] == []


@pytest.mark.parametrize(
    ("requests", "what"),
    [
        ([{"id": n, "crash_point": 3 - n, "rest": "floor"} for n in (1, 2)], "sort the requests"),
        ([{"id": 1, "crash_point": 1 << 40, "rest": "floor"}], "the trace has"),
        ([{"id": 1, "crash_point": [2, 1], "rest": "floor"}], "[first, last]"),
        ([{"id": 1, "crash_point": "some", "rest": "floor"}], '[first, last], or "all"'),
        ([{"id": 1, "crash_point": 1}], "rest: this field is missing"),
        ([{"id": 1, "crash_point": 1, "rest": "all"}], '"visible" or "floor"'),
        ([{"id": 1, "crash_point": 1, "rest": "floor", "lines": [{"offset": 3, "bytes": "floor"}]}], "multiple of 64"),
    ],
)  # fmt: skip
def test_bad_requests_are_refused(broken: Path, requests: list[Json], what: str) -> None:
    with pytest.raises(UsageError) as refused:
        judge(broken, requests)
    assert what in str(refused.value)


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose recovery stores: it puts the values of an undo log back."""
    subject = next(subject for subject in planted_bugs() if subject.toggle == "log_not_replayed")
    return record(subject.without_toggle(), tmp_path_factory.mktemp("logged"))


def recovery_sites(trace: Path, *arguments: str, **options: str) -> list[Json]:
    exploration = explore(trace, "--list-recovery-sites", *arguments, **options)
    return [event for event in exploration.events if event["event"] == "recovery_site"]


def places(sites: list[Json]) -> set[tuple[str, str, str]]:
    return {(site["kind"], site["name"], json.dumps(site["stack"])) for site in sites}


def test_sites_of_recovery_are_the_same_for_every_strategy_and_number_of_jobs(logged: Path) -> None:
    sites = recovery_sites(logged)
    assert {site["kind"] for site in sites} == {"flush", "fence"}
    assert all(site["stack"] and site["count"] > 0 for site in sites)
    assert len(places(sites)) == len(sites)
    assert places(recovery_sites(logged, strategy="exhaustive")) == places(sites)
    chunked = ("--chunk-events", "64")
    assert recovery_sites(logged, *chunked, "--jobs", "2") == recovery_sites(logged, *chunked)
    assert not [event for event in explore(logged).events if event["event"] == "recovery_site"]


def recovery_drops(trace: Path) -> list[Json]:
    return [{"frames": site["stack"], "do": "drop"} for site in recovery_sites(trace)]


def test_recovery_without_its_flushes_and_fences_is_found(logged: Path, tmp_path: Path) -> None:
    """The log is cleared before what it put back is durable."""
    assert not explore(logged).findings
    out, _ = edit(logged, tmp_path / "dropped.pct", recovery=recovery_drops(logged))
    edited = explore(out)
    assert not recovery_sites(out)
    assert "not-idempotent" in edited.invariants
    assert all(finding["crash_point"]["depth"] == 1 for finding in edited.findings)
    for finding in edited.findings:
        (answer,) = judge(out, [request_of(finding)])
        assert answer["legal"], answer["why"]
        shown = {(v["invariant"], v["underlying"], v["query"]) for v in answer["violations"]}
        assert (finding["invariant"], finding["underlying"], finding["query"]["text"]) in shown
        assert replayed(out, finding)


def replayed(trace: Path, finding: Json) -> bool:
    file = trace.with_suffix(".finding.json")
    file.write_text(json.dumps(finding), encoding="utf-8")
    answers = engine.stream(paths.engine(), ["reproduce", "--trace", str(trace), "--finding", str(file)])
    return next(raw["held"] for _, raw in answers if raw["event"] == "reproduced")


def test_a_fence_after_each_store_of_recovery_takes_the_place_of_its_own(logged: Path, tmp_path: Path) -> None:
    dropped = recovery_drops(logged)
    without, _ = edit(logged, tmp_path / "without.pct", recovery=dropped)
    stores = {
        json.dumps(store["stack"])
        for finding in explore(without).findings
        for cut in finding["nested_image"]
        for store in cut["recovery_stores"]
    }
    assert stores
    inserted = [
        {"frames": json.loads(stack), "do": "insert-after", "flush": True, "fence": True} for stack in sorted(stores)
    ]
    out, _ = edit(logged, tmp_path / "inserted.pct", recovery=[*dropped, *inserted])
    assert not explore(out).findings
    again, _ = edit(without, tmp_path / "again.pct", recovery=inserted)
    assert explore(again).stable() == explore(out).stable(), "an edit of an edited trace adds to its rules"


@pytest.mark.parametrize("insert", [False, True])
def test_the_strategies_agree_on_an_edited_recovery(logged: Path, tmp_path: Path, insert: bool) -> None:
    """Run and followed, recovery is the same code: the same results of every query at every depth."""
    sites = recovery_sites(logged)
    fences = [{"frames": site["stack"], "do": "drop"} for site in sites if site["kind"] == "fence"]
    first, _ = edit(logged, tmp_path / "first.pct", recovery=fences)
    rules: list[Json] = []
    if insert:
        stacks = {
            json.dumps(store["stack"])
            for finding in explore(first).findings
            for cut in finding["nested_image"]
            for store in cut["recovery_stores"]
        }
        rules = [
            {"frames": json.loads(stack), "do": "insert-after", "flush": n % 2 == 0, "fence": True}
            for n, stack in enumerate(sorted(stacks))
        ]
        assert rules
    out, _ = edit(first, tmp_path / "second.pct", recovery=rules)
    fast = explore(out, "--nested", "1", dump=True)
    slow = explore(out, "--nested", "1", strategy="exhaustive", dump=True)
    assert fast.dump
    assert sorted(fast.dump.splitlines()) == sorted((slow.dump or "").splitlines())
    assert fast.dump != explore(logged, "--nested", "1", dump=True).dump
