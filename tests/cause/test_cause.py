"""Root causes on real findings: the two stores, the fix, and what exploring the trace with it shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import powercut
from powercut.base import paths
from powercut.base.errors import HarnessError
from powercut.cause import explain, find_cause, fixes, root_cause, trace_view
from powercut.cause.culprits import Culprits
from powercut.cause.trace_view import TraceEvent
from powercut.cause.words import explanation, fix_sentence, sentence
from powercut.corpus import known_bugs
from powercut.engine.options import ExploreOptions
from powercut.runs import runner
from powercut.runs.run_request import Context, Request
from powercut.runs.subjects import LIBRARY
from powercut.symbols.symbolize import Symbolizer
from powercut_records.base import changed
from powercut_records.finding import Cause, FindingRecord, Place, Recheck
from powercut_records.media import BLOCK, FLASH
from powercut_records.run import RunRecord
from reports.tests.typed import finding_of
from tests.real_engine import require_engine

pytestmark = pytest.mark.slow


@pytest.fixture(name="context")
def _context(tmp_path: Path) -> Iterator[Context]:
    require_engine()
    with runner.open_context(paths.engine(), tmp_path) as context:
        yield context


def telling(bug: str, context: Context) -> FindingRecord:
    """The telling finding of a bug of the bug corpus, with its plan."""
    scheme = bug.partition("/")[0]
    case = next(
        case
        for case in known_bugs.cases(scheme, options=ExploreOptions())
        if case.role == "bug" and case.scenario.bug_id == bug
    )
    record = known_bugs.telling(case.scenario.bug, runner.run_one(case.request, context).findings)
    assert record is not None
    return changed(record, plan=case.request.plan)


def cause_of(record: FindingRecord, context: Context) -> Cause:
    return find_cause(record, Path(record.trace), context=context, folder=context.out / "fixed")


@pytest.mark.parametrize(
    ("bug", "fix", "first", "second"),
    [
        ("level/insert-top-token-first", "flush-and-fence", "level/slots.cc", "level/slots.cc"),
        ("level/undo-log-cleared-early", "flush-and-fence", "level/undo_log.cc", "level/undo_log.cc"),
        ("level/header-never-flushed", "flush-and-fence", "level/recover.cc", "format returns"),
        ("level/wrong-token-flushed", "flush-and-fence", "level/slots.cc", "insert(1) returns"),
        ("level/move-clear-first", "reorder", "level/slots.cc", "level/slots.cc"),
        # Many A's wait for one B; some of them store to the same byte.
        ("pfht/rehash-clear-first", "reorder", "common/token_table.h", "common/token_bucket.h"),
        ("cceh/key-before-value", "reorder", "cceh/segment.cc", "cceh/segment.cc"),
        # A device has one flush for all that was written.
        ("mdb_l/stage_unflushed", "flush-and-fence", "counting/change.cc", "maintain(sync) returns"),
        # A clears its place for an item that is stored before B: a path of buckets is walked from its other end.
        ("smartcuckoo/move-forward", "reorder", "smartcuckoo/insert.cc", "smartcuckoo/insert.cc"),
    ],
)
def test_a_missing_order_is_named_and_mended(bug: str, fix: str, first: str, second: str, context: Context) -> None:
    cause = cause_of(telling(bug, context), context)
    assert cause["kind"] == "order"
    assert cause["fix"]["kind"] == fix
    assert first in cause["first"]["site"]
    assert second in (
        cause["second"]["text"] if cause["second"]["role"] == "acknowledgement" else cause["second"]["site"]
    )
    assert cause["recheck"]["held"]
    assert cause["recheck"]["verdict"] == "consistent"
    assert cause["recheck"]["coverage"]["kind"] == "complete"


@pytest.mark.parametrize(
    "bug", ["level/log-free-update-two-writes", "level/shrink-two-pointers", "level/undo-log-not-replayed"]
)
def test_what_no_flush_can_mend_gets_no_fix(bug: str, context: Context) -> None:
    cause = cause_of(telling(bug, context), context)
    assert cause["kind"] == "atomicity"
    assert cause["fix"] is None
    assert cause["first"] is not None


@pytest.mark.parametrize(
    # The second is cut between its two steps: a store of the next operation is not the missing one.
    "bug",
    ["level/update-leaves-duplicate", "pfht/erase-first-copy"],
)
def test_a_state_that_is_wrong_with_everything_persisted_is_no_matter_of_order(bug: str, context: Context) -> None:
    cause = cause_of(telling(bug, context), context)
    assert (cause["kind"], cause["first"], cause["fix"]) == ("recovery", None, None)


@pytest.mark.parametrize(
    ("bug", "second"),
    [
        # Unlock is not made yet when it is first wrong, and lies in the line of the lock.
        ("pclht/bucket-lock-held", "__atomic_compare_exchange_n(lock"),
        # Record and lock share a line: the first store to it is the one that locks.
        ("dash/locks-kept", "| Bucket::kLocked"),
        # To allocate after the block is named would not leak; no check of this target sees what else it does.
        ("dash/leaked-segment", "allocator_.Allocate("),
    ],
)
def test_the_first_of_two_steps_is_named_to_its_store(bug: str, second: str, context: Context) -> None:
    cause = cause_of(telling(bug, context), context)
    assert cause["kind"] == "atomicity"
    lines = [line["text"] for frame in cause["second"]["stack"] for line in frame.source if line["focus"]]
    assert any(second in line for line in lines)


def test_a_fix_is_judged_by_its_finding_and_not_by_its_invariant(context: Context) -> None:
    """Two bugs share `recovery-failed`; one `persist` mends the first, and it was called atomicity."""
    library = paths.library_dir() / "regression" / "two_recovery_failures-bug.so"
    session = powercut.Session(out=context.out, nested=0)
    with pytest.raises(powercut.InconsistentError):
        session.check(str(library), [("insert", 1), ("insert", 2)])
    (run,) = [json.loads(file.read_text()) for file in (context.out / "runs").iterdir()]
    causes = {}
    for finding in run["findings"]:
        record = finding_of(json.loads(Path(finding["file"]).read_text()))
        cause = cause_of(record, context)
        caller = record["fault"]["stack"][1]  # of the inlined load
        causes[next(line["text"] for line in caller["source"] if line["focus"])] = cause
    node, counts = (causes[line] for line in sorted(causes, key=lambda line: "count" in line))
    assert node["kind"] == "order" and node["fix"]["kind"] == "flush-and-fence" and node["recheck"]["held"]
    assert "kCheck + next" in node["first"]["source"]
    assert counts["kind"] == "atomicity" and counts["fix"] is None


def test_no_cause_is_stated_from_a_sampled_recheck(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(root_cause, "BUDGET", 1)
    cause = cause_of(telling("level/insert-top-token-first", context), context)
    assert (cause["kind"], cause["first"], cause["fix"], cause["recheck"]) == ("unexplained", None, None, None)
    assert "not complete" in cause["explanation"]


def test_wrong_from_the_first_crash_point_on_the_operation_that_stored_it_has_returned(context: Context) -> None:
    """The insert lies in a phase that is not explored."""
    cause = cause_of(telling("cmap/head-not-flushed", context), context)
    assert (cause["kind"], cause["second"]["role"]) == ("order", "acknowledgement")
    assert cause["second"]["text"] == "an earlier insert returns"


def test_a_fix_that_does_not_mend_is_not_believed(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fix is judged by exploring the trace with it, whatever the search for the culprits says."""
    record = telling("level/insert-top-token-first", context)

    def elsewhere(self: fixes.Fix, view: object) -> fixes.Edits:
        del self, view
        return fixes.Edits(insert=({"after": 0, "flush": None, "fence": "sfence", "stack_of": 0},))

    monkeypatch.setattr(fixes.Fix, "edits", elsewhere)
    cause = cause_of(record, context)
    assert cause["kind"] != "order"
    assert cause["fix"] is None


def test_the_record_keeps_cause_and_minimal_case(context: Context) -> None:
    fields = explain.explained(telling("level/header-never-flushed", context), context=context)
    assert fields.cause["kind"] == "order"
    assert fields.cause["recheck"]["whole"]["held"]
    assert len(fields.minimal["operations"]) <= 5


@pytest.mark.parametrize(
    ("bug", "steps"),
    [
        # One insert into an empty table needs one fix; the whole run passes the line in other ways as well.
        ("smartcuckoo/token-first", 2),
        # The minimal case grows the table by an insert, the whole run by a command.
        ("bcht/freed-early", 1),
    ],
)
def test_what_mends_the_minimal_case_is_followed_up_on_the_whole_run(bug: str, steps: int, context: Context) -> None:
    cause = explain.explained(telling(bug, context), context=context).cause
    assert cause["kind"] == "order"
    assert cause["fix"]["steps"] == steps
    assert cause["recheck"]["held"]
    assert cause["recheck"]["whole"]["held"]


def test_a_cause_that_cannot_be_looked_for_says_why(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> Cause:
        raise HarnessError("the engine died", where="powercut-engine", next_step="Report this.")

    record = telling("level/header-never-flushed", context)
    monkeypatch.setattr(explain, "find_cause", broken)
    cause = explain.explained(record, context=context).cause
    assert cause["kind"] == "unexplained"
    assert "the engine died" in cause["explanation"]


def events(text: str) -> list[trace_view.TraceEvent]:
    """Events from "thread:kind"; their indices are their positions."""
    split = [item.split(":") for item in text.split()]
    return [
        trace_view.TraceEvent(index=index, kind=kind, thread=int(thread)) for index, (thread, kind) in enumerate(split)
    ]


@pytest.mark.parametrize(
    ("text", "index", "until"),
    [
        ("0:op-begin 0:store 0:fence 0:op-end 0:op-begin 0:op-end", 2, 3),
        ("0:op-begin 0:store 0:fence 0:op-end 0:op-begin 0:op-end", 4, 4),
        ("0:op-begin 1:op-begin 0:store 0:op-end 1:op-end 1:op-begin", 3, 4),
        ("0:op-begin 0:store 0:cut 0:op-begin 0:store 0:op-end", 1, 2),
        ("0:store 0:fence 0:store", 1, 3),
        ("0:store 0:fence 0:op-begin 0:store 0:op-end 0:store 0:fence", 0, 2),
        ("0:store 0:fence 0:op-begin 0:store 0:op-end 0:store 0:fence", 5, 7),
    ],
)
def test_an_operation_is_under_way_until_it_ends_or_is_cut(text: str, index: int, until: int) -> None:
    view = trace_view.TraceView(file=Path("x.pct"), events=events(text), modules=(), symbolizer=Symbolizer())
    assert view.underway_until(index) == until


def test_two_stores_of_one_helper_are_told_by_their_callers_in_the_program() -> None:
    def place(*lines: str) -> Place:
        stack = []
        for line in lines:
            module, file, number = line.split(":")
            stack.append({"function": "f", "file": file, "line": int(number), "module": module, "offset": 0})
            stack[-1] |= {"column": 1, "inlined": False}
        return Place.model_validate({"role": "store", "site": f"{stack[0]['file']}:{stack[0]['line']}", "stack": stack})

    first = place("libx.so:slots.cc:10", "libx.so:erase.cc:5", "engine:recording.cc:1")
    second = place("libx.so:slots.cc:10", "libx.so:insert.cc:7", "engine:recording.cc:2")
    root_cause._tell_apart(first, second)
    assert (first["site"], second["site"]) == ("erase.cc:5", "insert.cc:7")


PLACE = Place(role="store", site="a.cc:1", text="x = 1;")
RETURNS = Place(role="acknowledgement", text="insert(1) returns")


def test_sentences_name_the_end_of_an_operation() -> None:
    assert sentence("order", PLACE, RETURNS) == "Missing order: B before insert(1) returns."
    assert "insert(1) returns" in fix_sentence("flush-and-fence", PLACE, RETURNS)
    assert "told that it is safe" in explanation("order", PLACE, RETURNS, None)


def on_flash(function: str, *, event: int, offset: int) -> Place:
    frames = [{"function": function}, {"function": "Ftl::Write", "file": "ftl.cc", "line": 7}]
    return Place.model_validate(
        {"role": "store", "site": "ftl.cc:7", "event": event, "offset": offset, "size": 8, "stack": frames}
    )


def test_an_interrupted_program_is_no_missing_order_of_two_stores() -> None:
    """Its two stores are one operation, which no write of one atomic write unit could replace: it is one."""
    begun, done = (on_flash("powercut_flash_program(x)", event=event, offset=192) for event in (23, 26))
    assert root_cause._of_one_operation(done, begun)
    assert not root_cause._of_one_operation(done, on_flash("powercut_flash_program(x)", event=23, offset=256))
    assert not root_cause._of_one_operation(done, on_flash("powercut_flash_program(x)", event=3, offset=192))
    assert "interrupts B" in sentence("atomicity", done, None, medium=FLASH)
    told = explanation("atomicity", done, None, None, medium=FLASH)
    assert "program B (ftl.cc:7)" in told and "let recovery pass over such a page" in told and "erase its block" in told
    erased = explanation("atomicity", on_flash("powercut_flash_erase(x)", event=5, offset=0), None, None, medium=FLASH)
    assert "erase B (ftl.cc:7)" in erased and "let recovery erase such a block again" in erased
    for text in (told, erased):
        assert "write" not in text and "store" not in text and "flush" not in text and "atomic" not in text


def test_two_operations_on_flash_are_durable_when_they_return() -> None:
    program = on_flash("powercut_flash_program(x)", event=9, offset=192)
    erase = on_flash("powercut_flash_erase(x)", event=5, offset=0)
    told = explanation("atomicity", program, erase, None, medium=FLASH)
    assert "between erase A (ftl.cc:7) and program B (ftl.cc:7)" in told and "one program of one page" in told
    assert fix_sentence("reorder", program, erase, medium=FLASH).startswith("Do B before A")
    assert "one write of one atomic write unit" in explanation("atomicity", program, erase, None, medium=BLOCK)


@pytest.mark.parametrize(("of_reader", "waits"), [(1, False), (2, True)])
def test_a_thread_that_relied_on_another_one_is_told_to_wait(of_reader: int, waits: bool) -> None:
    """Its own fence would not do: a fence makes no other thread's flush take effect."""
    store = TraceEvent(index=1, kind="store", thread=1)
    returns = TraceEvent(index=2, kind="op-end", thread=of_reader)
    culprits = Culprits(first=(store,), second=(returns,), second_role="acknowledgement")
    assert root_cause._relied_on(culprits) == waits
    told = fix_sentence(root_cause.IN_READER if waits else "fence", PLACE, RETURNS)
    assert ("wait until it has, or flush the line of B here" in told) == waits
    assert ("no fence waits for it" in told) != waits


def test_a_fix_that_is_not_enough_is_said_to_be(context: Context) -> None:
    del context
    assert "does not mend it" in explanation("order", PLACE, PLACE, Recheck(held=False))


def test_classes_tell_findings_apart_by_what_a_reader_would_call_them() -> None:
    record = {
        "invariant": "not-idempotent",
        "underlying": "lost-item",
        "query": {"kind": "lookup"},
        "operation": {"kind": "insert"},
    }
    assert root_cause.class_of(finding_of(record)) == ("lost-item", "lookup", "insert", "")


def test_no_exploration_takes_all_the_time(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """A minimal case with thousands of behaviours of one query held up a run for six minutes."""
    asked: list[float | None] = []
    run_one = runner.run_one

    def heard(request: Request, given: Context) -> RunRecord:
        asked.append(request.options.budget.seconds)
        return run_one(request, given)

    record = telling("level/insert-top-token-first", context)
    monkeypatch.setattr(root_cause.runner, "run_one", heard)
    find_cause(record, Path(record.trace), context=context, folder=context.out / "fixed", seconds=60)
    assert LIBRARY.part_of_search is not None
    assert set(asked) == {60 * LIBRARY.part_of_search}
