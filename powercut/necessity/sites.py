"""Flush sites and fence sites: a line of the user's code that flushes or fences, and where it does so in a trace.

The line is the one that findings are placed at (`symbolize.site_frame`): the innermost one outside powercut's helpers,
system headers, and small helpers in a header of the same folder. A small helper that many lines call is therefore one
site for each of these lines. A function of a source file is a site of its own. The exception is a flush helper, by its
name or because it was named as one (`symbols/flush_helpers.py`). The frames of such a helper are passed by, and each
line that calls it is a site.
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from powercut.engine.events import Module
from powercut.symbols import source
from powercut.symbols.flush_helpers import outside
from powercut.symbols.symbolize import Frame, Symbolizer, site_frame

#: Fences that are there for persistence. The fences of locked instructions and locks are needed whatever persists.
FENCES = frozenset({"sfence", "mfence"})
#: A call stack as far as the frame that names the site: (path of the module, return address), innermost first.
Prefix = tuple[tuple[str, int], ...]


@dataclass(frozen=True, order=True)
class Site:
    """One flush or fence of the source; `place` is "file:line"."""

    file: str
    line: int
    kind: str  # flush or fence
    name: str  # clwb, sfence, …
    function: str

    @property
    def place(self) -> str:
        """`file:line`, or `module+0x12` where the module has no line numbers."""
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def slug(self) -> str:
        """For names of files."""
        name = f"{self.kind}-{os.path.basename(self.file)}" + (f"-{self.line}" if self.line else "")
        return re.sub(r"[^\w.-]+", "_", name)

    @property
    def text(self) -> str:
        """The line of the source; empty where it cannot be read."""
        return source.line(self.file, self.line).strip() if self.line else ""


@dataclass(kw_only=True)
class Occurrences:
    """Where one site occurs in one run."""

    events: list[int] = field(default_factory=list)  # of the trace
    idle: int = 0  # of these, occurrences that had nothing to do
    in_recovery: int = 0  # executions that the exploration saw
    prefixes: set[Prefix] = field(default_factory=set)


class Finder:
    """Turns call stacks into sites; remembers, since few stacks make up a trace."""

    def __init__(self, modules: Sequence[Module], symbolizer: Symbolizer, *, helpers: Sequence[str] = ()) -> None:
        self._modules = modules
        self._helpers = helpers
        self._symbolizer = symbolizer
        self._known: dict[tuple[str, str, tuple[tuple[int, int], ...]], tuple[Site, Prefix]] = {}

    def site(self, kind: str, name: str, stack: Iterable[Sequence[int]]) -> tuple[Site, Prefix]:
        """The site of a flush or a fence with this raw stack."""
        raw = tuple((int(module), int(offset)) for module, offset in stack)
        key = (kind, name, raw)
        if key not in self._known:
            self._known[key] = self._find(kind, name, raw)
        return self._known[key]

    def _find(self, kind: str, name: str, raw: tuple[tuple[int, int], ...]) -> tuple[Site, Prefix]:
        # One raw frame may be several functions, inlined into one another.
        groups = [self._symbolizer.stack(self._modules, [frame]) for frame in raw]
        frames = [frame for group in groups for frame in group]
        chosen = site_frame(outside(frames, self._helpers))
        depth = next((at for at, group in enumerate(groups) if any(frame is chosen for frame in group)), 0)
        prefix = tuple((self._modules[module].path, offset) for module, offset in raw[: depth + 1])
        return _site(kind, name, chosen), prefix


def _site(kind: str, name: str, frame: Frame | None) -> Site:
    if frame is None:
        return Site("no call stack", 0, kind, name, "??")
    file, line = (frame.file, frame.line) if frame.file and frame.line else (frame.place, 0)
    return Site(file, line, kind, name, frame.function)


def is_site(record: dict[str, Any]) -> bool:
    """True for a record of a trace that can be dropped."""
    return record["kind"] == "flush" or (record["kind"] == "fence" and record["code"] in FENCES)


def in_trace(records: Iterable[dict[str, Any]], finder: Finder, *, idle: frozenset[int]) -> dict[Site, Occurrences]:
    """Every site of a trace. `idle`: indexes of the events that had nothing to do."""
    found: dict[Site, Occurrences] = {}
    for record in filter(is_site, records):
        site, prefix = finder.site(record["kind"], record["code"], record["stack"])
        occurrences = found.setdefault(site, Occurrences())
        occurrences.events.append(record["index"])
        occurrences.idle += record["index"] in idle
        occurrences.prefixes.add(prefix)
    return found
