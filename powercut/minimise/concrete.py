"""Spells a plan out: which operations its phases came to, read from the trace that it records.

The operations of `fill`, `until` and `mix` depend on the table's answers, so they are not computed but read from the
trace. The operations of threads, and those behind them, stand in the plan. Two things of a trace are not of the
workload: `format`, `open` and `close`, and the lookup by which the engine asks, after a deliberate cut, whether the
interrupted operation happened.

Inaccuracy: operations that answered FULL stay (a `fill` ends with one); the engine then refuses the case, and
`configuration.py` and the deletion of operations take them away.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from powercut.base.errors import HarnessError
from powercut.engine import engine
from powercut.engine.engine import Interrupt
from powercut.minimise.case import Case, Key, Operation, Phase
from powercut.scenarios.clients import may_meet_present
from powercut.scenarios.sizes import is_range, of_plan
from powercut_records.finding import Begun

_MASK = (1 << 64) - 1
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_WORKLOAD = frozenset({"insert", "update", "erase", "lookup", "increment", "maintain"})
_TRACE_EVENT = "trace_event"


def key_of(text: str) -> Key:
    """The key whose bytes these are, in hex (scenarios/SCHEMA.md, "How a key id becomes bytes")."""
    raw = bytes.fromhex(text)
    if set(raw) == {0}:
        return "zeros"
    if set(raw) == {0xFF}:
        return "ones"
    return _unmixed(int.from_bytes(raw[:8], "little"))


def _unmixed(value: int) -> int:
    """The inverse of the finaliser of splitmix64."""
    value = _unshifted(value, 31) * pow(_SECOND, -1, 1 << 64) & _MASK
    value = _unshifted(value, 27) * pow(_FIRST, -1, 1 << 64) & _MASK
    return _unshifted(value, 30)


def _unshifted(value: int, shift: int) -> int:
    """The inverse of x ^ (x >> shift)."""
    result = value
    for _ in range(64 // shift):
        result = value ^ (result >> shift)
    return result


def of_client(plan: dict[str, Any], client: Sequence[Begun]) -> dict[str, Any]:
    """`plan` without a choice: threads do what those of `client` had begun. One that had begun nothing is left out."""
    scenario = plan["scenario"]
    if not any("any" in step for phase in scenario["phases"] for steps in phase.get("threads", []) for step in steps):
        return plan
    phases = []
    sized = is_range(of_plan(scenario["value_size"]))
    for phase in scenario["phases"]:
        if "threads" in phase:
            numbers = range(1, len(phase["threads"]) + 1)
            programs = [[_step(item, sized=sized) for item in client if item.thread == number] for number in numbers]
            # Where the power failed before any had begun, one does what it might have begun with.
            programs = [program for program in programs if program] or [[_first(phase["threads"][0][0])]]
            common = {key: value for key, value in phase.items() if key not in ("threads", "alike")}
            does = {"threads": programs} if len(programs) > 1 else {"steps": programs[0]}
            phases.append({**common, **does})
        else:
            phases.append(phase)
    threads = any("threads" in phase for phase in phases)
    kept = {key: value for key, value in plan.items() if threads or key != "search"}
    return {**kept, "scenario": {**scenario, "phases": phases}}


def _first(step: dict[str, Any]) -> dict[str, Any]:
    return step["any"][0] if "any" in step else _operations(step)[0].step()


def _step(item: Begun, *, sized: bool) -> dict[str, Any]:
    return _operation(item.kind, item.as_json(), sized=sized).step()


def spelled_out(
    plan: dict[str, Any], trace: Path, *, engine_path: Path, bug_option: str, interrupt: Interrupt | None = None
) -> tuple[Case, list[int]]:
    """The case of `plan`, and for each of its operations the index in the history of `trace`, which `plan` recorded."""
    scenario = plan["scenario"]
    planned = {phase["name"]: phase for phase in scenario["phases"]}
    phases: list[tuple[str, list[Operation]]] = []
    indices: list[int] = []
    count = 0
    asks_itself = False  # the next lookup is the engine's own
    last = ""
    race = next((number for number, phase in enumerate(scenario["phases"]) if "threads" in phase), None)
    after = [] if race is None else [_planned(phase) for phase in scenario["phases"][race:]]
    sized = is_range(of_plan(scenario["value_size"]))
    arguments = ["dump", "--trace", str(trace), "--format", "json"]
    for _, raw in engine.stream(engine_path, arguments, interrupt=interrupt):
        if raw["event"] != _TRACE_EVENT:
            continue
        kind = raw["kind"]
        if kind == "phase" and after and raw["text"] == after[0].name:
            break  # a tree of schedules begins, in which every operation is told many times
        if kind == "phase":
            phases.append((raw["text"], []))
        elif kind == "cut":
            asks_itself = last not in ("maintain", "lookup")
        elif kind == "op-begin":
            name = raw["code"]
            if name == "lookup" and asks_itself:
                asks_itself = False
            elif name in _WORKLOAD:
                last = name
                phases[-1][1].append(_operation(name, raw, sized=sized))
                indices.append(count)
            count += 1
    if not phases and not after:
        raise HarnessError(
            "this trace names no phases", where=str(trace), next_step="Record it again with 'powercut record'."
        )
    options = plan["target"]["options"]
    indices += range(count, count + sum(len(phase.operations) for phase in after))
    before = [
        Phase(
            name=name,
            explore=planned[name]["explore"],
            cut_at=planned[name].get("cut_at"),
            operations=tuple(operations),
        )
        for name, operations in phases
        if operations
    ]
    return (
        Case(
            phases=(*before, *after),
            meets=_meets([*before, *after[:1]]),
            options=tuple(sorted((key, value) for key, value in options.items() if key != bug_option)),
            pool_size=scenario["pool_size"],
            key_size=of_plan(scenario["key_size"]),
            value_size=of_plan(scenario["value_size"]),
        ),
        indices,
    )


def _planned(phase: dict[str, Any]) -> Phase:
    """A phase whose steps name their operations: a phase of threads, or a phase after them."""
    programs = [
        [operation for step in steps for operation in _operations(step)]
        for steps in phase.get("threads", [phase.get("steps", [])])
    ]
    return Phase(
        name=phase["name"],
        explore=phase["explore"],
        cut_at=None,
        operations=tuple(operation for program in programs for operation in program),
        threads=tuple(len(program) for program in programs) if "threads" in phase else (),
    )


def _operations(step: dict[str, Any]) -> list[Operation]:
    if step["op"] == "maintain":
        return [Operation(kind="maintain", text=step["command"])]
    keys = step.get("keys") or range(step["from"], step["to"] + 1)
    return [
        Operation(kind=step["op"], key=key, by=step.get("by", 1), value_size=step.get("value_size")) for key in keys
    ]


def _meets(phases: Sequence[Phase]) -> bool:
    """Whether an insert of the threads, which are the last of the phases, may find its key in the table."""
    live: set[Key] = set()
    for operation in (operation for phase in phases if not phase.threads for operation in phase.operations):
        if operation.key is not None and operation.kind in ("insert", "erase"):
            (live.add if operation.kind == "insert" else live.discard)(operation.key)
    return any(
        may_meet_present(
            [[(item.kind, item.key) for item in program if item.key is not None] for program in programs], live
        )
        for programs in (phase.programs for phase in phases if phase.threads)
    )


def _operation(kind: str, raw: dict[str, Any], *, sized: bool) -> Operation:
    """An operation of a trace. `sized`: values differ in size, so that an operation keeps the size of its own."""
    if kind == "maintain":
        return Operation(kind=kind, text=raw["text"])
    if kind == "increment":
        by = int.from_bytes(bytes.fromhex(raw["value"]), "little", signed=True)
        return Operation(kind=kind, key=key_of(raw["key"]), by=by)
    size = len(raw["value"]) // 2 if sized and kind in ("insert", "update") else None
    return Operation(kind=kind, key=key_of(raw["key"]), value_size=size)
