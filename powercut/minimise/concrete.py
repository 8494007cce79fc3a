"""Spells a plan out: which operations its phases came to, read from the trace that it records.

What `fill`, `until` and `mix` did depends on the table's answers, so it is not computed but looked up. Two things of a
trace are not of the workload: `format`, `open` and `close`, and the lookup by which the engine asks, after a
deliberate cut, whether the interrupted operation happened.

Inaccuracy: operations that answered FULL stay (a `fill` ends with one); the engine then refuses the case, and
`configuration.py` and the deletion of operations take them away.
"""

from pathlib import Path
from typing import Any

from powercut.base.errors import HarnessError
from powercut.engine import engine
from powercut.engine.engine import Interrupt
from powercut.minimise.case import Case, Key, Operation, Phase

_MASK = (1 << 64) - 1
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_WORKLOAD = frozenset({"insert", "update", "erase", "lookup", "maintain"})
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
    arguments = ["dump", "--trace", str(trace), "--format", "json"]
    for _, raw in engine.stream(engine_path, arguments, interrupt=interrupt):
        if raw["event"] != _TRACE_EVENT:
            continue
        kind = raw["kind"]
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
                phases[-1][1].append(_operation(name, raw))
                indices.append(count)
            count += 1
    if not phases:
        raise HarnessError(
            "this trace names no phases", where=str(trace), next_step="Record it again with 'powercut record'."
        )
    options = plan["target"]["options"]
    return (
        Case(
            phases=tuple(
                Phase(
                    name=name,
                    explore=planned[name]["explore"],
                    cut_at=planned[name].get("cut_at"),
                    operations=tuple(operations),
                )
                for name, operations in phases
                if operations
            ),
            options=tuple(sorted((key, value) for key, value in options.items() if key != bug_option)),
            pool_size=scenario["pool_size"],
            key_size=scenario["key_size"],
            value_size=scenario["value_size"],
        ),
        indices,
    )


def _operation(kind: str, raw: dict[str, Any]) -> Operation:
    if kind == "maintain":
        return Operation(kind=kind, text=raw["text"])
    return Operation(kind=kind, key=key_of(raw["key"]))
