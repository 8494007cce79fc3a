"""Time of counted events on slow memory: a linear model, with the latencies that papers state.

    latency = lines read * read + (flushes + non-temporal stores) * write + fences * fence

The emulators of the papers do the same: a delay after each flush, whether the line was dirty or not (OSDI 2018, section
4.1, on Quartz), and slower reads. The model therefore knows nothing of caches (a line that two operations read counts
twice), of bandwidth, of several threads, or of processors. It compares protocols; it predicts no machine.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from powercut.base.errors import UsageError, nearest


class Counted(Protocol):
    """The counts of an operation that the model needs."""

    @property
    def lines_read(self) -> float: ...
    @property
    def flushes(self) -> float: ...
    @property
    def nt_stores(self) -> float: ...
    @property
    def fences(self) -> float: ...


@dataclass(frozen=True, kw_only=True)
class Latency:
    """Nanoseconds of a read of a line from memory, of a write-back, and of a fence."""

    name: str
    read_ns: float
    write_ns: float
    fence_ns: float

    def parts(self, cost: Counted) -> tuple[float, float, float]:
        """Nanoseconds that go to reads, writes and fences."""
        writes = cost.flushes + cost.nt_stores
        return (cost.lines_read * self.read_ns, writes * self.write_ns, cost.fences * self.fence_ns)

    def of(self, cost: Counted) -> float:
        """Nanoseconds in all."""
        return sum(self.parts(cost))

    def record(self) -> dict[str, Any]:
        """As it stands in a cost record."""
        return asdict(self)


#: Latencies emulated in sections 4.1 and 4.2 of the paper on Level hashing, which measures BCH, PFHT and path hashing
#: with them. The paper delays flushes and states nothing for fences.
_LEVEL = tuple(
    Latency(name=f"OSDI'18 200/{write}", read_ns=200, write_ns=write, fence_ns=0) for write in (200, 600, 1000)
)
#: Latencies that Yang et al. measured on Optane (FAST 2020, fig. 2): a random read; a store, clwb and fence. The papers
#: on these schemes emulate nothing: they ran on such memory.
_OPTANE = Latency(name="Optane 305/62", read_ns=305, write_ns=62, fence_ns=0)

#: Names of latencies for `--latency`.
PRESETS: dict[str, tuple[Latency, ...]] = {
    "osdi18": _LEVEL,
    "osdi18-200": _LEVEL[:1],
    "osdi18-600": _LEVEL[1:2],
    "osdi18-1000": _LEVEL[2:],
    "optane": (_OPTANE,),
}
_RAN_ON_OPTANE = frozenset({"cceh", "clevel", "cmap", "dash", "pclht", "turbohash"})
_FIELDS = ("read", "write", "fence")


def defaults(targets: Sequence[str]) -> tuple[Latency, ...]:
    """The latencies of the papers that measure these targets, in one fixed order, so that their columns agree.

    Targets whose paper is about volatile memory, and a user's own, get those of the paper on Level hashing.
    """
    on_optane = [name in _RAN_ON_OPTANE for name in targets]
    return (*(() if targets and all(on_optane) else _LEVEL), *((_OPTANE,) if any(on_optane) else ()))


def parse(values: Sequence[str]) -> tuple[Latency, ...]:
    """The models that `--latency` names or spells out, each once."""
    found: dict[Latency, None] = {}
    for value in values:
        for latency in PRESETS.get(value.strip()) or (_spelled(value),):
            found.setdefault(latency)
    return tuple(found)


def _spelled(text: str) -> Latency:
    numbers: dict[str, float] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\w+)\s*=\s*(\d+(?:\.\d+)?)\s*", part)
        if match is None or match[1] not in _FIELDS or match[1] in numbers:
            raise _no_latency(text)
        numbers[match[1]] = float(match[2])
    if not {"read", "write"} <= numbers.keys():
        raise _no_latency(text)
    read, write, fence = (numbers.get(name, 0.0) for name in _FIELDS)
    return Latency(name=f"{read:g}/{write:g}/{fence:g} ns", read_ns=read, write_ns=write, fence_ns=fence)


def _no_latency(text: str) -> UsageError:
    close = nearest(text, PRESETS)
    hint = f"Did you mean {' or '.join(repr(word) for word in close)}? " if close else ""
    return UsageError(
        f"'{text}' is no latency model",
        where="--latency",
        next_step=f"{hint}Name one of {', '.join(PRESETS)}, or spell it out: read=200,write=600,fence=0 (ns).",
    )
