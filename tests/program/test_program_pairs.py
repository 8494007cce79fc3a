"""Pairs of programs: one with a planted bug, which never ends as clean, and its correct twin, which always does.

The programs are `programs/pairs/*.c`, compiled with `BUG` 1 and 0. `powercut run` judges both by their own check and
dump, with the compiler's tracer and, where the tracers differ in what they see, with Valgrind too.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from powercut_records.finding import Coverage, Schedules
from powercut_reports.story import coverage_words, schedules_words
from tests.program.builds import compiled
from tests.program.program_mode import _INCLUDE, Answer, Kv

SOURCES = Path(__file__).parent / "programs" / "pairs"


@dataclass(frozen=True, kw_only=True)
class Pair:
    """The bug's fate under each tracer: 1, it is found; 3, powercut has not seen all and says so."""

    llvm: int = 1
    valgrind: int | None = None
    #: A sentence of the report on the bug.
    says: str = ""
    #: The commands besides --recover; a dump shows what exit status does not.
    dump: bool = True
    #: The program runs once by itself before.
    earlier: bool = False
    #: Options for the compiler.
    flags: tuple[str, ...] = ()
    more: tuple[str, ...] = ()


PAIRS = {
    "far_apart_lines": Pair(),
    "uninstrumented_library": Pair(llvm=3, valgrind=1, says="not built with 'powercut cc': libarena.so"),
    "kernel_read": Pair(valgrind=1),
    "kernel_pwrite": Pair(valgrind=1),
    "kernel_proc_mem": Pair(llvm=3, valgrind=3, says="without a recorded store"),
    "child_process": Pair(llvm=3, valgrind=3, says="without a recorded store"),
    "recreated_file": Pair(valgrind=1),
    "earlier_run": Pair(valgrind=1, earlier=True),
    "random_recovery": Pair(llvm=3, says="it depends on something other than the bytes of its pools", dump=False),
    "address_in_recovery": Pair(llvm=3, says="it depends on something other than the bytes of its pools", dump=False),
    "slot_order_dump": Pair(),
    "lost_free_list": Pair(
        valgrind=1,
        says="/pool') is that of no prefix of the operations: '3=300' is missing",
        more=("--probe", "./prog use pool", "--probe", "./prog dump pool"),
    ),
    "cut_recovery": Pair(valgrind=1, more=("--nested", "1")),
    "two_threads": Pair(valgrind=1),
    "no_power_cut": Pair(says="No power cut needed"),
    # One item: each image that blocks takes more than a second. The long test below has more of them.
    "blocked_recovery": Pair(flags=("-DITEMS=1",), more=("--timeout", "250ms"), says="Recovery does not end"),
}


@functools.cache
def _library(instrumented: bool, folder: Path) -> Path:
    folder = folder / ("traced" if instrumented else "plain")
    folder.mkdir()
    words = ["-O1", "-g", "-shared", "-fPIC", SOURCES / "arena_library.c"]
    compiled(folder / "libarena.so", words, traced=instrumented)
    return folder


def _build(kv: Kv, name: str, *, bug: bool, tracer: str, instrumented: bool, flags: tuple[str, ...] = ()) -> None:
    words = [
        "-O1",
        "-gdwarf-4",
        "-Wall",
        "-Wextra",
        "-Werror",
        _INCLUDE,
        f"-DBUG={int(bug)}",
        *flags,
        str(SOURCES / f"{name}.c"),
    ]
    if name == "uninstrumented_library":
        library = _library(instrumented, kv.folder)
        words += [f"-L{library}", "-larena", f"-Wl,-rpath,{library}"]
    compiled(kv.folder / "prog", words, traced=tracer == "llvm")


def _judge(kv: Kv, pair: Pair, tracer: str) -> Answer:
    words = ["--record", "./prog run pool", "--recover", "./prog check pool", "--pool", "pool", "--format", "text"]
    words += ["--dump", "./prog dump pool"] if pair.dump else []
    words += ["--setup", "./prog run pool"] if pair.earlier else []
    return kv.cli("run", *words, "--tracer", tracer, "--explain", "0", *pair.more, "--json")


def _told(answer: Answer) -> str:
    """All sentences of a run that may say what was wrong."""
    run = answer.run
    return "\n".join(
        [*run["not_checked"]["notes"], str(run["coverage"]["reason"]), *(item["message"] for item in run["findings"])]
    )


CASES = [
    pytest.param(name, tracer, id=f"{name}-{tracer}")
    for name, pair in PAIRS.items()
    for tracer in ("llvm", "valgrind")
    if getattr(pair, tracer) is not None
]


@pytest.mark.parametrize(("name", "tracer"), CASES)
def test_the_bug_is_not_clean(kv: Kv, name: str, tracer: str) -> None:
    pair = PAIRS[name]
    _build(kv, name, bug=True, tracer=tracer, instrumented=False, flags=pair.flags)
    answer = _judge(kv, pair, tracer)
    told = _told(answer)
    assert answer.code == getattr(pair, tracer), told
    assert answer.run["verdict"] == ("inconsistent" if answer.code == 1 else "unknown"), told
    # `uninstrumented_library` says it under one tracer, and is found under the other.
    assert answer.code != pair.llvm or pair.says in told, told


@pytest.mark.parametrize(("name", "tracer"), CASES)
def test_the_twin_is_clean(kv: Kv, name: str, tracer: str) -> None:
    _build(kv, name, bug=False, tracer=tracer, instrumented=tracer == "llvm", flags=PAIRS[name].flags)
    answer = _judge(kv, PAIRS[name], tracer)
    assert answer.code == 0, _told(answer)
    run = answer.run
    assert (run["verdict"], run["coverage"]["kind"], run["findings"]) == ("consistent", "complete", [])


#: Programs whose second run finds the most: files that are made again, a pool that is there, a log of recovery.
AGAIN = ("recreated_file", "earlier_run", "cut_recovery")


@pytest.mark.parametrize(
    ("name", "tracer", "bug"),
    [
        pytest.param(name, tracer, bug, marks=[] if name in AGAIN and bug and tracer == "llvm" else [pytest.mark.long])
        for name, tracer in (case.values for case in CASES)
        for bug in (True, False)
    ],
)
def test_the_second_run_says_the_same(kv: Kv, name: str, tracer: str, bug: bool) -> None:
    """A second run does not depend on the files that the first run leaves."""
    _build(kv, name, bug=bug, tracer=tracer, instrumented=tracer == "llvm" and not bug, flags=PAIRS[name].flags)
    first, second = (_judge(kv, PAIRS[name], tracer) for _ in "12")
    assert (first.code, first.run["verdict"]) == (second.code, second.run["verdict"]), (first, second)


@pytest.mark.parametrize("tracer", ["llvm", "valgrind"])
def test_the_verdict_on_threads_is_of_one_schedule(kv: Kv, tracer: str) -> None:
    _build(kv, "two_threads", bug=False, tracer=tracer, instrumented=tracer == "llvm")
    told = _judge(kv, PAIRS["two_threads"], tracer).run["coverage"]["schedules"]
    assert (told["search"], told["threads"], told["schedules"], told["complete"]) == ("recorded", 2, 1, False)
    schedules = Schedules.model_validate(told)
    assert schedules_words(schedules) == "the recorded schedule of 2 threads"
    assert coverage_words(Coverage(kind="complete", schedules=schedules)) == "complete for one schedule"


def test_cut_recovery_takes_a_second_power_cut(kv: Kv) -> None:
    _build(kv, "cut_recovery", bug=True, tracer="llvm", instrumented=False)
    once = _judge(kv, Pair(), "llvm")
    assert (once.code, once.run["coverage"]["nested_complete"]) == (0, 0)
    twice = _judge(kv, PAIRS["cut_recovery"], "llvm")
    assert (twice.code, twice.run["coverage"]["nested_complete"]) == (1, True)
    for item in twice.run["findings"]:
        record = json.loads((kv.folder / item["file"]).read_text())
        # Recovery has put two words back and taken the log away.
        assert (record["crash_point"]["depth"], record["crash_point"]["nested_event"]) == (1, 3)
        stacks = [store["stack"] for store in record["nested_image"][0]["recovery_stores"]]
        assert [stack[0]["function"] for stack in stacks] == ["check"] * 3
        assert len({stack[0]["line"] for stack in stacks}) == 3
        assert {frame["function"] for stack in stacks for frame in stack} <= {"check", "main"}
        assert kv.cli("reproduce", item["file"]).code == 1


def test_stores_of_a_library_that_was_not_instrumented_are_named_with_their_operation(kv: Kv) -> None:
    _build(kv, "uninstrumented_library", bug=False, tracer="llvm", instrumented=False)
    told = _told(_judge(kv, PAIRS["uninstrumented_library"], "llvm"))
    assert f"byte 8 of {kv.pool} changed between the start of operation 1 and the end of operation 1" in told
    assert "(not built with 'powercut cc': libarena.so; called by code that was built with it: arena_slot)" in told
    assert "Build what stored there with 'powercut cc', or record with --tracer valgrind" in told


def test_findings_that_may_be_made_of_unseen_stores_are_withdrawn(kv: Kv) -> None:
    """The item that the trace lacks is missing from every image; a finding would blame the program's count for it."""
    _build(kv, "kernel_proc_mem", bug=True, tracer="llvm", instrumented=False)
    answer = _judge(kv, PAIRS["kernel_proc_mem"], "llvm")
    assert (answer.code, answer.run["findings"]) == (3, [])
    assert "finding(s) were withdrawn" in _told(answer)
    files = list((kv.folder / ".powercut" / "findings").glob("*.json"))
    assert files
    assert all(json.loads(file.read_text())["withdrawn"] for file in files)


def test_duplicate_bound_the_order_of_a_dump_counts_where_the_user_says_so(kv: Kv) -> None:
    _build(kv, "slot_order_dump", bug=False, tracer="llvm", instrumented=True)
    assert "--dump printed the right lines in another order" in _told(_judge(kv, Pair(), "llvm"))
    answer = _judge(kv, Pair(more=("--ordered",)), "llvm")
    assert answer.code == 1
    assert {item["invariant"] for item in answer.run["findings"]} == {"structure"}
    # It is shown again in the same sense.
    assert kv.cli("reproduce", answer.run["findings"][0]["file"]).code == 1


def test_random_recovery_the_assumptions_say_how_often_it_was_repeated(kv: Kv) -> None:
    _build(kv, "random_recovery", bug=False, tracer="llvm", instrumented=True)
    (sentence,) = (text for text in _judge(kv, Pair(), "llvm").run["assumptions"] if "function of its pool" in text)
    assert "300 runs or more were repeated, half of them at other addresses and on files with other times" in sentence
    assert "differs in 1 % of its runs" in sentence


def test_no_power_cut_the_finding_blames_no_store(kv: Kv) -> None:
    _build(kv, "no_power_cut", bug=True, tracer="llvm", instrumented=True)
    findings = _judge(kv, PAIRS["no_power_cut"], "llvm").run["findings"]
    assert [item["message"] for item in findings if "No power cut needed" in item["message"]]
    assert all("the same after insert" in item["message"] for item in findings)


@pytest.mark.long
def test_blocked_recovery_is_not_waited_for_again_and_again(kv: Kv) -> None:
    _build(kv, "blocked_recovery", bug=True, tracer="llvm", instrumented=True)
    words = ["--record", "./prog run pool", "--recover", "./prog check pool", "--pool", "pool", "--timeout", "3s"]
    run = kv.cli("run", *words, "--tracer", "llvm", "--explain", "0", "--json").run
    assert {item["invariant"] for item in run["findings"]} == {"recovery-hang"}
    assert run["coverage"]["kind"] == "sampled"
    # Two or three of the dozens of blocking images are waited for.
    assert re.match(r"[23] runs did not end within --timeout", run["coverage"]["reason"]), run["coverage"]
