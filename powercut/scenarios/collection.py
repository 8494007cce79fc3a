"""Files of several scenarios: each is an entry, and beginnings that entries share have a name (scenarios/SCHEMA.md)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from powercut.base.errors import UsageError, nearest
from powercut.base.toml_lines import locate
from powercut.scenarios.mistakes import checked, explain
from powercut.scenarios.schema import BUG_KEYS, ENTRIES_SINCE, SCHEMA_VERSION, Collection, ScenarioFile
from powercut.scenarios.sections import ENTRIES, FIRST, entry_lines, line_in, text_from
from powercut.scenarios.variants import Tables, overlaid, with_phases_in_order

_BEGINNING, _BUG = "begin", "bug"
#: The scenario of a bug of threads is `threads_BUG`.
_OF_THREADS = "threads_"


def entries(table: Tables, text: str, place: str) -> Iterator[tuple[ScenarioFile, int]]:
    """The scenarios of a file and the line of each; UsageError with `file:line` and the entry for a mistake."""
    try:
        Collection.model_validate(table)
    except ValidationError as error:
        raise _explain(error, table, text, place) from error
    shared = {key: value for key, value in table.items() if key not in ENTRIES}
    known = _Known(table, text, place)
    for kind in ENTRIES:
        for name in table.get(kind, {}):
            if kind != _BEGINNING:
                yield _Entry(known, kind, name).scenario(shared)


class _Known:
    """The entries of a file, and where each begins."""

    def __init__(self, table: Tables, text: str, place: str) -> None:
        self.table, self.text, self.place = table, text, place
        self._lines = entry_lines(text)

    def start(self, kind: str, name: str) -> int:
        return self._lines.get((kind, name), FIRST)


class _Entry:
    """An entry or a beginning, and where it stands."""

    def __init__(self, file: _Known, kind: str, name: str) -> None:
        self._file, self._kind, self._name = file, kind, name
        self._said: Tables = file.table[kind][name]
        self._start = file.start(kind, name)
        self._owner = f"{kind} '{name}'"

    def scenario(self, shared: Tables) -> tuple[ScenarioFile, int]:
        """The scenario of an entry, on top of what its file shares; and its line."""
        line = self._chain()
        tables = dict(shared)
        for entry in reversed(line):
            tables = overlaid(tables, entry._of_the_scenario())
        whole = {"name": self._name, **with_phases_in_order(tables)}
        if self._kind == _BUG:
            whole["known_bug"] = self._of_the_bug()
        phases = list(tables.get("phase", {}))

        def line_of(location: Sequence[int | str]) -> int:
            if location[:1] == ["known_bug"]:
                keys = [key for key in location[1:] if isinstance(key, str)]
                return line_in(self._file.text, self._start, keys)
            if location[:1] == ["phase"] and len(location) > 1:
                location = ["phase", phases[int(location[1])], *location[2:]]
            for tables, start in [*((entry._said, entry._start) for entry in line), (shared, FIRST)]:
                if _says(tables, location):
                    return line_in(self._file.text, start, location)
            return self._start

        return checked(whole, self._file.place, line_of, owner=self._owner), self._start

    def _of_the_scenario(self) -> dict[str, Any]:
        left_out = {"like", *(BUG_KEYS if self._kind == _BUG else ())}
        return {key: value for key, value in self._said.items() if key not in left_out}

    def _of_the_bug(self) -> dict[str, Any]:
        """A bug's own words: no entry takes them from another one. The name of the entry is that of its toggle."""
        toggle = self._name.removeprefix(_OF_THREADS).replace("-", "_")
        return {"toggle": toggle, **{key: self._said[key] for key in BUG_KEYS if key in self._said}}

    def _chain(self) -> list["_Entry"]:
        """The entry, the one that it is like, and so on."""
        chain, seen = [self], {self._name}
        while (like := chain[-1]._said.get("like")) is not None:
            chain.append(chain[-1]._named(like))
            if like in seen:
                raise UsageError(
                    f"{self._owner}: 'like' leads back to '{like}'",
                    where=self._line(["like"]),
                    next_step="Let one of these entries say everything itself.",
                )
            seen.add(like)
        return chain

    def _named(self, name: str) -> "_Entry":
        for kind in ENTRIES:
            if name in self._file.table.get(kind, {}):
                return _Entry(self._file, kind, name)
        known = [name for kind in ENTRIES for name in self._file.table.get(kind, {})]
        close = nearest(name, known, limit=1)
        raise UsageError(
            f"{self._owner}: the file has no entry and no beginning '{name}'",
            where=self._line(["like"]),
            next_step=f"Did you mean '{close[0]}'?" if close else f"Write [begin.{name}], or leave 'like' out.",
        )

    def _line(self, location: Sequence[int | str]) -> str:
        return f"{self._file.place}:{line_in(self._file.text, self._start, location)}"


def _says(tables: Tables, location: Sequence[int | str]) -> bool:
    """Whether these tables hold the key at `location`: of a table its own key, of a phase that of its name."""
    held: Any = tables
    for key in location[: 3 if location[:1] == ["phase"] else 2]:
        if not isinstance(held, Mapping):
            return True
        if key not in held:
            return False
        held = held[key]
    return bool(location)


def _explain(error: ValidationError, table: Mapping[str, Any], text: str, place: str) -> UsageError:
    """The first mistake that shows before beginnings and entries are put together."""
    if table.get("schema", ENTRIES_SINCE) not in range(ENTRIES_SINCE, SCHEMA_VERSION + 1):
        return UsageError(
            f"the file has entries, which version {table['schema']!r} does not know",
            where=f"{place}:{locate(text, ['schema'])}",
            next_step=f"Write schema = {ENTRIES_SINCE}; scenarios/SCHEMA.md shows the format.",
        )
    first = min(error.errors(), key=lambda item: item["type"] != "extra_forbidden")["loc"]
    starts = entry_lines(text)
    owner = f"{first[0]} '{first[1]}'" if first[0] in ENTRIES and len(first) > 1 else ""

    def line_of(location: Sequence[int | str]) -> int:
        if owner and len(location) > 1:
            return line_in(text, starts.get((str(location[0]), str(location[1])), FIRST), location[2:])
        return locate(text_from(text, FIRST), location)

    return explain(error, place, line_of, owner=owner)
