"""Findings whose functions or files were renamed since somebody accepted them.

A fingerprint names the places of a finding by file, function, text of the statement and its order. After a rename the
finding has another fingerprint. It is still the accepted one where all of this holds:

- Under the old names it would have the accepted fingerprint: invariant, operation, query, fates, texts and order are
  the accepted ones.
- The old place is gone: no function with the old name has these statements any more.
- The new name is fresh: no function had it before, as far as the baseline or git knows.

A bug in another function with the same statements is therefore a new bug. Another bug in a function with an old name is
new as well.

Old names come from the entry of a baseline. A suppression has the fingerprint alone; its old names come from the
functions that were there at a commit and are not any more.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, permutations, product
from pathlib import Path

from powercut.base import revisions
from powercut.findings.fingerprint import Name, fingerprint, name_of
from powercut.symbols import source
from powercut.symbols.functions import Function, functions, last_name
from powercut.symbols.place_identity import SOURCE
from powercut_records.finding import FindingRecord

#: More renames than a finding has places are no rename.
_MOST_PLACES = 5
_MOST_GUESSES = 256


@dataclass(frozen=True)
class Spot:
    """A decisive store or a fault of a finding: its present place, and the parts that a rename leaves."""

    name: Name
    file: str
    line: int
    text: str
    ordinal: int


def spots(finding: FindingRecord) -> tuple[Spot, ...] | None:
    """The places that the fingerprint names; None where one of them is not named by its source text."""
    placed = [*finding.decisive, *([finding.fault] if finding.fault and finding.fault.identity else [])]
    found = []
    for item in placed:
        identity = item.identity or {}
        file, _, line = item.site.rpartition(":")
        if identity.get("by") != SOURCE or not line.isdecimal():
            return None
        text, ordinal = str(identity.get("text")), int(identity.get("ordinal") or 0)
        found.append(Spot(name_of(identity), file, int(line), text, ordinal))
    return tuple(found)


def functions_of(file: str) -> tuple[Function, ...]:
    """Returns the functions that a source file defines now; none for a file that is not there."""
    return functions(source.text(file) or "")


@dataclass(frozen=True)
class Before:
    """The functions of source files as they were: by the list of a baseline, else at a commit."""

    listed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: Asks git for the commit, when it is needed first.
    find: Callable[[], str | None] = lambda: None

    @cached_property
    def commit(self) -> str | None:
        """None where git knows of none."""
        return self.find()

    def names(self, file: str) -> frozenset[str] | None:
        """The last names of the functions of a file; None where nobody knows."""
        if file in self.listed:
            return self.listed[file]
        text = revisions.text_at(self.commit, _path(file)) if self.commit else None
        return frozenset(one.name for one in functions(text)) if text is not None else None

    def file(self, file: str) -> str:
        """The name that a file had at the commit."""
        if self.commit and (old := self._renamed.get(_path(file))):
            return str(old)
        return file

    @cached_property
    def _renamed(self) -> Mapping[Path, Path]:
        return revisions.renamed_files(self.commit) if self.commit else {}

    def had(self, name: str, *files: str) -> bool:
        """Whether one of the files is known to have had a function of this name."""
        return any(name in (self.names(file) or ()) for file in files)


def _path(file: str) -> Path:
    return source.find(file) or Path.cwd() / file


def is_accepted(finding: FindingRecord, name: str, old_names: Mapping[Name, str], before: Before) -> bool:
    """Whether a finding is the one that was accepted with the fingerprint `name`, whose places had `old_names`.

    `old_names` has the path of each file as well.
    """
    places = spots(finding)
    if not places:
        return False
    fresh = list(dict.fromkeys(spot.name for spot in places if spot.name not in old_names))
    gone = [old for old in old_names if old not in {spot.name for spot in places}]
    if not fresh or len(fresh) != len(gone) or len(fresh) > _MOST_PLACES:
        return False
    return any(
        fingerprint(finding, names) == name and _renamed(places, names, old_names, before)
        for names in (dict(zip(fresh, order, strict=True)) for order in permutations(gone))
    )


def _renamed(places: Iterable[Spot], names: Mapping[Name, Name], old_names: Mapping[Name, str], before: Before) -> bool:
    return all(
        _is_rename([spot for spot in places if spot.name == name], old, old_names[old], before)
        for name, old in names.items()
    )


def _is_rename(places: Sequence[Spot], old: Name, old_file: str, before: Before) -> bool:
    """Whether the function of these places had the name `old` in `old_file`."""
    here = places[0]
    was, now = last_name(old[1]), last_name(here.name[1])
    stands = any(
        one.name == was
        and all(one.has(spot.text, spot.ordinal) for spot in places)
        and not (old_file == here.file and one.lines[0] <= here.line <= one.lines[1])
        for one in functions_of(old_file)
    )
    if stands:
        return False
    if was != now:
        return not before.had(now, old_file, here.file)
    return old_file == here.file or not before.had(now, here.file)


def former(finding: FindingRecord, before: Before) -> Iterator[str]:
    """The fingerprints that a finding may have had at the commit of `before`."""
    places = spots(finding)
    if not places or before.commit is None:
        return
    guesses: dict[Name, list[Name]] = {}
    for spot in places:
        if spot.name not in guesses:
            guesses[spot.name] = list(_former_names(spot, before))
    for chosen in islice(product(*guesses.values()), 1, _MOST_GUESSES):  # the first one: no rename
        yield fingerprint(finding, dict(zip(guesses, chosen, strict=True)))


def _former_names(spot: Spot, before: Before) -> Iterator[Name]:
    """Its name, and those that it may have had, of which nothing is left."""
    yield spot.name
    old_file = before.file(spot.file)
    then = before.names(old_file)
    if then is None:
        return
    now, file = last_name(spot.name[1]), old_file.rpartition("/")[2]
    if now in then:
        if file != spot.name[0]:
            yield file, spot.name[1]
        return
    head = spot.name[1][: len(spot.name[1]) - len(now)]
    for name in sorted(then - {one.name for one in functions_of(spot.file)}):
        yield file, f"{head}{name}"
