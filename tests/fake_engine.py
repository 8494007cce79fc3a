"""Stands in for powercut-engine in tests of the command line: replays canned event streams.

A target is an empty file named libpowercut-<name>.so; `record` copies the plan into the trace, and
`explore` does what the scenario's name asks for, word by word:

    clean           consistent and complete            lost        one lost-item finding
    twice           one finding, replaced by a better  sampled     consistent, budget reached
    dies            a finding, then SIGKILL            garbage     a line that is not JSON
    stubborn        says so in a file, and goes on when it is asked to stop
    slow            a finding, then sleeps             redundant   consistent, a redundant flush
    refused         a usage error                      broken      a harness error
    marks           record misses a mark               silent      stops without `end`
    unfit           record: the target has no update
    buggy, untidy   a finding, or a redundant flush, only when the plan switches a bug on
    canary_…        the planted bug of a gate

With FAKE_BLIND in the environment it judges everything clean.
    haunted         consistent; what is replayed holds all the same

`audit` finds a difference in `lost` and `twice`; `refused`, `broken`, `silent` and `slow` are as above, and `hooked`
has no library without hooks.
"""

import json
import os
import signal
import sys
import time

# Neither pathlib nor typing: this file is started some thousand times in a session, and they double what that takes.


def emit(**event: object) -> None:
    print(json.dumps(event), flush=True)


def argument(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1]


def content(file: str) -> str:
    with open(file, encoding="utf-8") as text:
        return text.read()


def describe() -> None:
    library = argument("--library")
    name = os.path.basename(library)
    if "abi" in name:
        emit(
            event="error",
            kind="usage",
            what="the library has target ABI 7, this build has 1",
            where=library,
            next="Build it again with this version's target.h.",
        )
        sys.exit(2)
    # A library named "threads…" is for threads, as its option says; "threads-exists" checks what it inserts.
    threads = "threads" in name
    traits = {
        "thread_safe": threads and "concurrency=concurrent" in sys.argv,
        "checks_exists": "exists" in name,
    }
    emit(
        event="described",
        target={
            "name": name.removeprefix("libpowercut-").removesuffix(".so"),
            "summary": "a table",
            "paper": None,
            "variants": ["published", "hardened"],
            "options": ["top=4|2|8: buckets", "auto_expand=on|off: expand", "bug=none|swap: a bug"]
            + ["concurrency=single|concurrent: threads"] * threads,
            "traits": traits,
            "commands": ["expand"],
        },
    )


def record() -> None:
    plan = json.loads(content(argument("--plan")))
    with open(argument("--trace"), "w", encoding="utf-8") as trace:
        json.dump(plan, trace)
    if "unfit" in plan["scenario"]["name"]:
        error = {"what": "the target does not support update of key 1", "where": "scenario x", "next": "Correct it."}
        emit(event="error", kind="usage", needs="update", **error)
        sys.exit(2)
    missing = ["move.top"] if "marks" in plan["scenario"]["name"] else []
    emit(event="recorded", trace=argument("--trace"), events=120, operations=12, bytes=900, marks_missing=missing)


def finding(key: str, *, index: int = 3, lost: int = 0x20, fate: str = "lost") -> dict[str, object]:
    def store(offset: int, outcome: str) -> dict[str, object]:
        return {
            "event": offset,
            "offset": 4096,
            "size": 8,
            "bytes": "2a" * 8,
            "fate": outcome,
            "decisive": True,
            "kind": "store",
            "stack": [[0, offset]],
        }

    return {
        "event": "finding",
        "key": key,
        "invariant": "lost-item",
        "underlying": None,
        "message": "An acknowledged insert of key 17 is gone.",
        "operation": {"index": index, "kind": "insert", "key": "17", "text": ""},
        "query": {"kind": "lookup", "key": "17", "region": None, "text": "lookup(17)"},
        "expected": ["value 0x2a"],
        "found": "absent",
        "crash_point": {"index": 4, "event": 40, "when": "before sfence", "depth": 0, "nested_event": None},
        "fault": None,
        "image": [{"offset": 4096, "bytes": "00" * 64, "floor": "00" * 64, "visible": "2a" * 64, "candidates": 2}],
        "nested_image": [],
        "stores": [store(0x10, "persisted"), store(lost, fate)],
        "timeline": {"crash_event": 40, "lines": [{"offset": 4096, "events": [store(0x10, "persisted")]}]},
        "contents": {"expected": [["17", "value 0x2a"]], "actual": [["17", "absent"]]},
    }


def explore() -> None:
    try:
        plan = json.loads(content(argument("--trace")))
    except ValueError:
        emit(event="error", kind="usage", what="not a trace", where=argument("--trace"), next="Record it again.")
        sys.exit(2)
    name = plan["scenario"]["name"]
    emit(
        event="run",
        target=plan["target"]["name"],
        variant=plan["target"]["variant"],
        scenario=name,
        model=argument("--model"),
        strategy=argument("--strategy"),
        seed=int(argument("--seed")),
        nested=int(argument("--nested")),
        jobs=int(argument("--jobs")),
        atoms=argument("--atoms"),
        events=120,
        plan=plan,
    )
    emit(event="modules", modules=[{"path": plan["target"]["library"], "build_id": "ab"}])
    emit(event="from-the-future", anything=1)
    if "refused" in name:
        emit(event="error", kind="usage", what="the trace is of another build", where="x.pct", next="Record it again.")
        sys.exit(2)
    bug = plan["target"]["options"].get("bug", "none")
    found = 0
    planted = name.startswith("canary") or ("buggy" in name and bug != "none")
    if os.environ.get("FAKE_BLIND"):
        name = "clean"
    elif planted or any(word in name for word in ("lost", "twice", "dies", "slow")):
        invariant = "duplicate-bound" if name == "canary_copies" else "lost-item"
        emit(**{**finding("k1"), "invariant": invariant})
        found = 1
    emit(event="progress", crash_points=4, of=9, crash_states=str(10**30), executions=50, findings=found, seconds=0.5)
    if "twice" in name:
        emit(**finding("k1", index=1, lost=0x30))
    if "garbage" in name:
        print("this is no event", flush=True)
    if "broken" in name:
        emit(event="error", kind="harness", what="a worker cannot be trusted", where="worker 3", next="Report this.")
        sys.exit(3)
    if "dies" in name:
        print("assertion failed: floor <= visible", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if "stubborn" in name:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        open("stubborn-runs", "w").close()
        time.sleep(60)
    if "slow" in name:
        time.sleep(60)
    if "redundant" in name or ("untidy" in name and bug != "none"):
        emit(
            event="performance_bug",
            kind="redundant-flush",
            count=3,
            stack=[[0, 16]],
            offset=64,
            first_event=7,
            message="m",
        )
    if "silent" in name:
        return
    sampled = "sampled" in name or plan.get("search", {"kind": "bounded"})["kind"] != "bounded"
    emit(
        event="result",
        verdict="inconsistent" if found else "consistent",
        events=120,
        crash_points=9,
        crash_states=str(2**70),
        executions=77,
        queries=300,
        loads=9000,
        leaves=12,
        seconds=0.5,
        exploring_seconds=0.25,
        coverage={
            "kind": "sampled" if sampled else "complete",
            "covered": "10" if sampled else str(2**70),
            "total": str(2**70),
            "nested_complete": int(argument("--nested")),
            "reason": "budget" if sampled else None,
            "schedules": schedules(plan),
        },
        assumptions=["sequentially consistent visibility"],
        not_checked={
            "lines_never_read": 1,
            "stores_never_reached": [],
            "uninstrumented_calls": [],
            "atoms": "any",
            "notes": [],
        },
    )
    emit(event="end", exit=1 if found else 0)


def schedules(plan: dict[str, object]) -> dict[str, object] | None:
    """For a plan with threads: as many as were asked for."""
    threads = next((phase["threads"] for phase in plan["scenario"]["phases"] if "threads" in phase), None)
    if threads is None:
        return None
    search = plan["search"]
    numbers = dict.fromkeys(("states", "steps", "frontiers", "judged"), 9)
    return {
        "search": search["kind"],
        "preemptions": search["preemptions"],
        "model": search["model"],
        "threads": len(threads),
        "operations": max(len(steps) for steps in threads),
        "schedules": search["schedules"] or 70,
        **numbers,
        "complete": search["kind"] == "bounded",
        "reason": "" if search["kind"] == "bounded" else "a sample",
    }


def audit() -> None:
    name = json.loads(content(argument("--trace")))["scenario"]["name"]
    images = int(argument("--images"))
    emit(event="progress", crash_points=1, of=images, crash_states="1", executions=1, findings=0, seconds=0.1)
    if "slow" in name:
        time.sleep(60)
    if "refused" in name:
        emit(event="error", kind="usage", what="the trace is of another build", where="x.pct", next="Record it again.")
        sys.exit(2)
    if "broken" in name:
        emit(event="error", kind="harness", what="the template died", where="audit", next="Report this.")
        sys.exit(3)
    differences = 1 if "lost" in name else 7 if "twice" in name else 0
    for crash_point in range(differences):
        emit(
            event="difference",
            crash_point=crash_point,
            when="before sfence",
            lines=[{"line": 64, "content": "2a" * 64}],
            query="lookup(17)",
            predicted=["OK 2a"],
            actual="NOT_FOUND",
        )
    if "silent" not in name:
        emit(
            event="audited",
            images=images,
            distinct=min(images, 9),
            answers=40,
            not_compared=2 if "hooked" in name else 0,
            differences=differences,
            crash_points=9,
            crash_states=str(2**70),
            instrumented="hooked" in name,
            left_out=False,
            seconds=0.5,
        )
    emit(event="end", exit=1 if differences else 0)


def reproduce() -> None:
    record = json.loads(content(argument("--finding")))
    assert record["image"]
    plan = json.loads(content(argument("--trace")))
    if plan.get("stale"):
        emit(event="error", kind="usage", what="the trace is of another build", where="x.pct", next="Record it again.")
        sys.exit(2)
    held = "gone" not in plan["scenario"]["name"]
    emit(event="modules", modules=[])
    emit(event="reproduced", held=held, finding=finding("k1") if held else None)


def main() -> None:
    """Carries out the command of `sys.argv`."""
    if sys.argv[1] == "--version":
        print("powercut-engine 0.1.0 (fake)")
        return
    emit(event="hello", version=3, engine="fake", command=sys.argv[1])
    command = sys.argv[1]
    known = {"describe": describe, "record": record, "explore": explore, "audit": audit, "reproduce": reproduce}
    known[command]()
    if command not in ("explore", "audit"):
        emit(event="end", exit=0)
