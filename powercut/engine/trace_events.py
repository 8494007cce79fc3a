"""The records of a trace, as `powercut-engine dump` tells them, and who did what: operations by their number.

Also how the bytes of a key become its id again (scenarios/SCHEMA.md, "How a key id becomes bytes").
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from powercut.engine import engine, events
from powercut.engine.engine import Interrupt

LINE_SHIFT, BLOCK_SHIFT = 6, 8
_MASK = (1 << 64) - 1
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_STEP = 0x9E3779B97F4A7C15
_RESERVED = {"00": "zeros", "ff": "ones"}


@dataclass(frozen=True, kw_only=True)
class Dumped:
    """A whole trace in memory. `records` are the `trace_event` objects of reports/EVENTS.md."""

    records: list[dict[str, Any]]
    modules: list[events.Module]


def records(
    engine_path: Path,
    trace: Path,
    *,
    contents: bool = True,
    modules: list[events.Module] | None = None,
    interrupt: Interrupt | None = None,
) -> Iterator[dict[str, Any]]:
    """The `trace_event` objects of a trace, one after the other: a long one need not fit into memory.

    At the end `modules` has those that stacks name. Without `contents`, calls on files have sizes in the place of the
    bytes that they wrote.
    """
    arguments = ["dump", "--format", "json", "--trace", str(trace), *([] if contents else ["--no-contents"])]
    for event, raw in engine.stream(engine_path, arguments, interrupt=interrupt):
        if raw["event"] == "trace_event":
            yield raw
        elif isinstance(event, events.Modules) and modules is not None:
            modules.extend(event.modules)


def read(engine_path: Path, trace: Path, *, interrupt: Interrupt | None = None) -> Dumped:
    """Everything that a trace holds."""
    found: list[dict[str, Any]] = []
    modules: list[events.Module] = []
    arguments = ["dump", "--format", "json", "--trace", str(trace)]
    for event, raw in engine.stream(engine_path, arguments, interrupt=interrupt):
        if raw["event"] == "trace_event":
            found.append(raw)
        elif isinstance(event, events.Modules):
            modules = event.modules
    return Dumped(records=found, modules=modules)


def units(offset: int, size: int, shift: int) -> range:
    """The lines (`LINE_SHIFT`) or blocks (`BLOCK_SHIFT`) that bytes lie in."""
    return range(offset >> shift, ((offset + size - 1) >> shift) + 1)


def starts_explored(plan: dict[str, Any] | None) -> bool:
    """Whether what comes before the first phase of a plan counts as explored: as the first phase does."""
    phases = ((plan or {}).get("scenario") or {}).get("phases") or [{}]
    return bool(phases[0].get("explore"))


def key_name(key: str) -> str | None:
    """The id of a key's bytes (hex), as scenarios write it; None for bytes that are no scenario's key."""
    if not key:
        return None
    if len(key) >= 16 and key[:2] in _RESERVED and set(key) == set(key[:2]):
        return _RESERVED[key[:2]]
    if len(key) < 16:
        return f"0x{key}"
    number = _unmix(int.from_bytes(bytes.fromhex(key[:16]), "little"))
    return str(number) if _key(number, len(key) // 2) == key else f"0x{key[:32]}"


def _mix(value: int) -> int:
    value = ((value ^ (value >> 30)) * _FIRST) & _MASK
    value = ((value ^ (value >> 27)) * _SECOND) & _MASK
    return value ^ (value >> 31)


def _unmix(value: int) -> int:
    value = (_unshift(value, 31) * pow(_SECOND, -1, 1 << 64)) & _MASK
    value = (_unshift(value, 27) * pow(_FIRST, -1, 1 << 64)) & _MASK
    return _unshift(value, 30)


def _unshift(value: int, shift: int) -> int:
    found = value
    for _ in range(shift, 64, shift):
        found = value ^ (found >> shift)
    return found


def _key(number: int, size: int) -> str:
    chunks = ((number + _STEP * chunk) & _MASK for chunk in range((size + 7) // 8))
    return b"".join(_mix(chunk).to_bytes(8, "little") for chunk in chunks)[:size].hex()
