"""`--threads scheduled`: threaded programs that were built with `powercut cc` run in every schedule within a bound.

Each program of `programs/threads` has a bug, most of them one that needs a certain schedule, and a twin without it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from powercut_records.run import RunRecord
from powercut_reports.story import schedules_words
from tests.program.builds import compiled
from tests.program.program_mode import Answer, Kv, processes

SOURCES = Path(__file__).parent / "programs" / "threads"
#: Program, and what its bug is found as.
BUGS = {
    "publish.c": ("recovery-failed", "exit status 1"),
    "mutexes.cc": ("deadlock", "thread 2 waits for a lock or a condition; thread 3 waits for a lock or a condition"),
    "condition.cc": ("deadlock", "thread 1 waits for the end of thread 2; thread 2 waits for a lock or a condition"),
    "shared_mutex.cc": ("recovery-failed", "exit status 1"),
    "waiting_loop.cc": ("recovery-failed", "exit status 1"),
    "dies.c": ("unusable", "The program died of SIGSEGV"),
    "queue.c": ("structure", "the dump is that of no prefix of the operations"),
    "resize.c": ("lost-item", "the dump is that of the operations without insert(0x0"),
    "lookup.c": ("unpersisted-read", "the dump is that of no order in which lookup(0x07"),
}
#: Programs that print what they hold.
DUMPING = {"queue.c", "resize.c", "lookup.c", "within.c"}


@pytest.fixture
def kv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Kv:
    monkeypatch.chdir(tmp_path)
    return Kv(tmp_path, monkeypatch, capsys)


def build(folder: Path, source: str, *flags: str, name: str = "prog") -> None:
    """A program as `powercut cc` or `powercut c++` builds it."""
    words = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{SOURCES}", *flags, SOURCES / source]
    compiled(folder / name, words, cxx=source.endswith(".cc"))


def judge(kv: Kv, *more: str) -> Answer:
    words = ["--record", "./prog run pool", "--recover", "./prog check pool", "--pool", "pool"]
    return kv.cli("run", *words, "--threads", "scheduled", "--explain", "0", "--format", "text", "--json", *more)


def dumps(source: str) -> list[str]:
    return ["--dump", "./prog dump pool"] if source in DUMPING else []


@pytest.mark.parametrize("source", BUGS)
def test_the_bug_is_found(kv: Kv, source: str) -> None:
    build(kv.folder, source, "-DBUG")
    answer = judge(kv, *dumps(source))
    assert answer.code == 1, answer
    invariant, message = BUGS[source]
    found = [(item["invariant"], item["message"]) for item in answer.run["findings"]]
    assert any(name == invariant and message in text for name, text in found), found
    assert answer.run["coverage"]["schedules"]["complete"]


@pytest.mark.parametrize("source", BUGS)
def test_the_twin_is_clean(kv: Kv, source: str) -> None:
    build(kv.folder, source)
    answer = judge(kv, *dumps(source))
    assert (answer.code, answer.run["verdict"], answer.run["findings"]) == (0, "consistent", []), answer
    run = RunRecord.model_validate(answer.run)
    assert run.coverage.kind == "complete"
    assert run.coverage.schedules is not None
    assert "with at most 2 preemptions" in schedules_words(run.coverage.schedules)


@pytest.mark.parametrize("threads", ["scheduled", "recorded"])
def test_dumps_that_are_not_judged_where_operations_overlap_are_not_complete(kv: Kv, threads: str) -> None:
    build(kv.folder, "within.c")
    words = ["--record", "./prog run pool", "--recover", "./prog check pool", "--pool", "pool", "--threads", threads]
    answer = kv.cli("run", *words, *dumps("within.c"), "--explain", "0", "--format", "text", "--json")
    coverage = answer.run["coverage"]
    assert (answer.code, answer.run["verdict"], coverage["kind"]) == (3, "consistent", "sampled"), answer
    told = r"at (\d+) of (\d+) crash points the output of --dump was not judged: (.*)"
    reason = re.fullmatch(told, coverage["reason"])
    assert reason, coverage
    assert 0 < int(reason[1]) < int(reason[2]) == answer.run["crash_points"]
    assert reason[3].startswith("operations of several threads overlap")
    assert coverage["reason"] in answer.run["not_checked"]["notes"]


@pytest.mark.parametrize("source", [pytest.param("resize.c", marks=pytest.mark.long), "lookup.c"])
def test_a_dump_that_no_order_explains_is_explained_in_its_schedule(kv: Kv, source: str) -> None:
    """The trace of the schedule lacks other orders of the operations, and the trace that it was taken from has them."""
    build(kv.folder, source, "-DBUG")
    words = ["--record", "./prog run pool", "--recover", "./prog check pool", "--pool", "pool", *dumps(source)]
    answer = kv.cli("run", *words, "--threads", "scheduled", "--format", "text")
    assert answer.code == 1, answer
    assert "Missing order: B before " in answer.out
    assert "Re-checked with the fix: consistent (complete" in answer.out


def odd(kv: Kv, what: str, *more: str) -> Answer:
    """A run of the program that does what is hard to follow."""
    build(kv.folder, "odd.cc", name="odd")
    program = kv.folder / "odd"
    words = ["--record", f"{program} {what} pool", "--recover", f"{program} check pool", "--pool", "pool"]
    words += ["--threads", "scheduled", "--format", "text"]
    answer = kv.cli("run", *words, *more)
    assert not processes(str(program))
    assert not kv.pool.exists()  # as before
    return answer


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("process", "the program is not a function of its schedule"),
        ("timers", "a thread that code without hooks has started works beside those that are scheduled"),
        ("signals", "target code sends a signal to a thread"),
        ("stores", "a schedule has no end within 10000 decisions: a loop may go on for ever"),
        ("at-times", "a thread that had to go on waits in a system call"),
    ],
)
def test_what_cannot_be_followed_is_not_complete(kv: Kv, what: str, told: str) -> None:
    answer = odd(kv, what)
    assert answer.code == 3, answer
    assert "Verdict: consistent, sampled" in answer.out
    assert f"(not all schedules: {told}" in answer.out
    assert "not all" in answer.out


def test_a_search_that_can_follow_no_schedule_is_unknown(kv: Kv) -> None:
    """Its tree of schedules is empty."""
    answer = odd(kv, "forks")
    assert answer.code == 3, answer
    assert "Verdict: unknown, sampled: 0 of 0 crash states" in answer.out
    assert "(not all schedules: the program forks while its threads are scheduled)" in answer.out


def test_a_loop_that_stores_for_ever_leaves_the_other_schedules_judged(kv: Kv) -> None:
    answer = odd(kv, "stores", "--json")
    schedules = json.loads(answer.out)["runs"][0]["coverage"]["schedules"]
    assert schedules["schedules"] > 32, schedules


def test_times_are_a_function_of_the_schedule(kv: Kv) -> None:
    answer = odd(kv, "times")
    assert answer.code == 0, answer
    assert "Verdict: consistent, complete" in answer.out


@pytest.mark.parametrize("bug", [(), ("-DBUG",)], ids=["twin", "bug"])
@pytest.mark.parametrize(
    "how",
    ["clock", *(pytest.param(how, marks=pytest.mark.long) for how in ("chrono", "cycles", "sleep")), "count", "poll"],
)
def test_retries_are_waiting(kv: Kv, how: str, bug: tuple[str, ...]) -> None:
    """Whoever tries a lock again and again waits for it, whatever timer, sleep, or count of its own is in the loop."""
    build(kv.folder, "retries.cc", *bug)
    words = ["--record", f"./prog {how} pool", "--recover", "./prog check pool", "--pool", "pool"]
    answer = kv.cli("run", *words, "--threads", "scheduled", "--explain", "0", "--format", "text", "--json")
    assert answer.code == (1 if bug else 0), answer
    assert answer.run["coverage"]["schedules"]["complete"], answer.run["coverage"]


def test_a_loop_waits_on_whichever_processor_its_turns_run(kv: Kv) -> None:
    """The kernel keeps the number of the processor at the end of a thread's stack, which is no part of its state."""
    build(kv.folder, "retries.cc")
    searches = []
    for how in ("moving", "staying"):
        words = ["--record", f"./prog {how} pool", "--recover", "./prog check pool", "--pool", "pool"]
        answer = kv.cli("run", *words, "--threads", "scheduled", "--format", "text", "--json")
        assert answer.code == 0, answer
        searches.append(answer.run["coverage"]["schedules"]["schedules"])
    assert searches[0] == searches[1] > 1


@pytest.mark.parametrize(
    ("what", "told"),
    [("call", "a thread that had to go on waits in a system call"), ("many", "it starts more than 15 threads")],
)
def test_what_cannot_be_scheduled_at_all_is_said(kv: Kv, what: str, told: str) -> None:
    answer = odd(kv, what)
    assert (answer.code, answer.out) == (2, ""), answer
    assert answer.err.count("\n") == 1
    assert f"the program did not come to its end with its threads scheduled: {told}" in answer.err


def test_a_loop_that_waits_for_ever_is_a_deadlock(kv: Kv) -> None:
    answer = odd(kv, "for-ever", "--preemptions", "0")
    assert answer.code == 1
    assert "thread 1 waits for the end of thread 2; thread 2 waits in a loop, and nobody is left" in answer.out


def test_one_thread_has_one_schedule(kv: Kv) -> None:
    answer = odd(kv, "nothing")
    assert answer.code == 0, answer
    assert "of all schedules of 1 thread with at most 2 preemptions" in answer.out


@pytest.mark.parametrize("search", ["random", "pct"])
def test_drawn_schedules_are_a_sample(kv: Kv, search: str) -> None:
    build(kv.folder, "publish.c", "-DBUG")
    answer = judge(kv, "--search", search, "--schedules", "30")
    assert answer.code == 1, answer
    schedules = answer.run["coverage"]["schedules"]
    assert (schedules["search"], schedules["schedules"], schedules["complete"]) == (search, 30, False)


def test_the_bound_says_how_many_preemptions(kv: Kv) -> None:
    """The bug needs none here: the reader runs while the main thread waits for the writer, which waits for nothing."""
    build(kv.folder, "publish.c", "-DBUG")
    codes = [judge(kv, "--preemptions", str(number)).code for number in (0, 1)]
    assert codes == [0, 1]
    limited = judge(kv, "--schedules", "2")
    assert limited.code == 3
    assert limited.run["coverage"]["reason"] == "not all schedules: after 2 schedules (--schedules)"


def test_a_finding_names_its_schedule_and_is_explained_in_it(kv: Kv) -> None:
    build(kv.folder, "publish.c", "-DBUG")
    words = ["--record", "./prog run pool", "--recover", "./prog check pool", "--pool", "pool"]
    answer = kv.cli("run", *words, "--threads", "scheduled", "--format", "text")
    assert "Missing order: B before A." in answer.out
    assert "Re-checked with the fix: consistent (complete for one schedule" in answer.out
    assert "  Schedule: thread 1 up to " in answer.out
    (finding,) = (kv.folder / ".powercut" / "findings").glob("*.json")
    assert kv.cli("reproduce", str(finding)).code == 1


def test_a_schedule_that_went_wrong_by_itself_is_reproduced(kv: Kv) -> None:
    build(kv.folder, "mutexes.cc", "-DBUG")
    assert judge(kv).code == 1
    (finding,) = (kv.folder / ".powercut" / "findings").glob("*.json")
    assert kv.cli("reproduce", str(finding)).code == 1


def test_a_trace_is_explored_with_the_model_that_it_was_recorded_for(kv: Kv) -> None:
    build(kv.folder, "publish.c")
    words = ["--record", "./prog run pool", "--pool", "pool", "--threads", "scheduled"]
    assert kv.cli("record", *words, "--model", "eadr", "-o", "trace.pct").code == 0
    explore = ["explore", "trace.pct", "--recover", "./prog check pool", "--format", "text"]
    assert kv.cli(*explore, "--model", "eadr").code == 0
    other = kv.cli(*explore)
    assert other.code == 3
    assert "not all schedules: they were recorded with --model eadr" in other.out


def test_options_that_do_not_fit_are_refused(kv: Kv) -> None:
    build(kv.folder, "publish.c")
    words = ["run", "--record", "./prog run pool", "--recover", "./prog check pool", "--pool", "pool"]
    scheduled = [*words, "--threads", "scheduled"]
    assert "too many without a bound" in kv.refused(*scheduled, "--preemptions", "none")
    assert "store buffers are not followed in programs" in kv.refused(*scheduled, "--visibility", "tso")
    assert "is no search of schedules" in kv.refused(*scheduled, "--search", "recorded")
    assert "a driver cannot feed a program" in kv.refused(*scheduled, "--ops", "./prog")
    assert "the valgrind tracer schedules no threads" in kv.refused(*scheduled, "--tracer", "valgrind")
    assert "is no way to run threads" in kv.refused(*words, "--threads", "sideways")
    assert "--preemptions cannot be combined" in kv.refused(*words, "--preemptions", "1")
    other = kv.folder / "other"
    other.touch()
    unused = kv.refused(*scheduled[:-3], str(other), "--threads", "scheduled")
    assert f"the program never mapped {other}" in unused
    compiled(kv.folder / "prog", ["-pthread", SOURCES / "publish.c"], traced=False)
    assert "it was not built with 'powercut cc'" in kv.refused(*scheduled)
