"""The findings that a project knows of and lives with: `--baseline FILE` and `powercut baseline update`.

A finding is *known* when the baseline holds its fingerprint for the same target, variant and model, in whatever
scenario: a bug that a second scenario shows as well is no new bug, but one that reaches a hardened variant is.
(A finding that no site of the source names is known in its own scenario only.) It is also known when only names of its
functions and files are other ones than the entry's (`renames`). Every other finding is *new*.

An entry is *fixed* when a run that could have shown it again was made, and no run of its target, variant and model did.
Such a run has the entry's target, variant, scenario and model. It is complete, with the entry's seed and atom policy,
to the entry's depth of nested cuts. Nothing is said of the entries of other runs: an entry that nobody looked for, or
only by samples, is neither there nor gone.

The file is JSON, sorted, a finding a line, so that differences and merges of two branches read well:

    {"powercut_baseline": 2, "findings": [
    {"fingerprint": "7f3a…", "target": "level", "variant": "published", "scenario": "update", "model": "adr", …},
    {…}
    ], "functions": {
    "level/update.cc": ["Update", …]
    }}

`functions` are those of the files that the findings name: a function that was there before is no renamed one.

In version 1 the fingerprints held line numbers, so none of them is found again. Such a file is only read to be written
anew, from runs that answer for all of its entries: nothing that was known is forgotten in silence.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from powercut.base.errors import UsageError
from powercut.base.output_files import write_text
from powercut.base.user_files import parse_json, read_text
from powercut.findings.fingerprint import Name, store_sites
from powercut.gate import renames
from powercut.runs.runner import is_complete
from powercut.symbols.place_identity import CODE, LINE, SOURCE
from powercut_records.base import DEFERRED
from powercut_records.finding import Fault, FindingRecord
from powercut_records.places import Placed
from powercut_records.run import RunRecord

BASELINE_VERSION = 2
_WITH_LINES = 1
NEW, KNOWN = "new", "known"
_HOW_TO_WRITE = "'powercut baseline update FILE' writes one from the runs of an output folder."

#: Target, variant, scenario and model.
RunKey = tuple[str, str, str, str]
Bug = tuple[str, str, str, str, str]


class Entry(BaseModel):
    """An accepted finding. `depth`: how many power cuts inside recovery it takes."""

    model_config = ConfigDict(frozen=True, strict=True, defer_build=DEFERRED)

    fingerprint: str
    target: str
    variant: str
    scenario: str
    model: str
    invariant: str
    sites: tuple[str, ...] = ()
    message: str = ""
    depth: int = 0
    atoms: str = ""
    seed: int = 0
    #: How its places in an edited source are named: "source", "line" or "code" (place_identity.py).
    named_by: str = SOURCE
    #: `file function` of each place that the fingerprint names.
    names: tuple[str, ...] = ()

    @property
    def run(self) -> RunKey:
        """The run that shows it."""
        return self.target, self.variant, self.scenario, self.model

    @property
    def bug(self) -> Bug:
        """Returns the key by which another finding is this one. Without sites a fingerprint says too little to leave
        its scenario."""
        return self.fingerprint, self.target, self.variant, self.model, "" if self.places else self.scenario

    def could_be(self, other: "Entry") -> bool:
        """Whether all but the names of places and functions may be that of another entry."""
        return self.invariant == other.invariant and self.bug[1:] == other.bug[1:] and self.named_by == SOURCE

    @property
    def places(self) -> list[str]:
        """Its sites as `file:line`, each once; of a store of unknown place, nothing."""
        return [place for place in dict.fromkeys(site.rpartition(" ")[2] for site in self.sites) if place != "?"]

    @property
    def old_names(self) -> dict[Name, str]:
        """The names of its places, and the file of each with its folder."""
        named = [tuple(name.partition(" ")[::2]) for name in self.names]
        if not named:  # of a powercut that wrote sites alone
            rows = [site.partition(" ")[2].rpartition(" ")[::2] for site in self.sites if not site.startswith("fault ")]
            named = [(place.rpartition(":")[0], function) for function, place in rows]
        return {(file.rpartition("/")[2], function): file for file, function in named if file}

    def __str__(self) -> str:
        target = f"{self.target}:{self.variant}" if self.variant else self.target
        return (
            f"{self.invariant} {', '.join(self.places)}".rstrip()
            + f"  ({target}, scenario {self.scenario}, {self.model})"
        )


def run_key(run: RunRecord) -> RunKey:
    """Returns the name of a run record's run."""
    return run.target, run.variant, run.scenario, run.model


def entries_of(run: RunRecord) -> list[Entry]:
    """An entry for every finding of a run record."""
    target, variant, scenario, model = run_key(run)
    return [
        Entry(
            fingerprint=finding.fingerprint,
            target=target,
            variant=variant,
            scenario=scenario,
            model=model,
            invariant=finding.invariant,
            sites=(*store_sites(finding.stores), *_fault_site(finding.fault)),
            message=finding.message,
            depth=finding.crash_point.depth,
            atoms=run.atoms,
            seed=run.seed or 0,
            named_by=_named_by(finding),
            names=tuple(sorted({f"{spot.file} {spot.name[1]}" for spot in renames.spots(finding) or ()})),
        )
        for finding in run.findings
    ]


def _named_by(finding: FindingRecord) -> str:
    """The weakest of what names the places of a finding."""
    placed: list[Placed] = [*finding.decisive, *([finding.fault] if finding.fault else [])]
    said = {(item.identity or {}).get("by") for item in placed}
    return next((by for by in (CODE, LINE) if by in said), SOURCE)


def _fault_site(fault: Fault | None) -> list[str]:
    return [f"fault {fault.site}"] if fault and fault.site else []


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """The entries of a file."""

    path: Path
    entries: tuple[Entry, ...] = ()
    version: int = BASELINE_VERSION
    #: The last names of the functions that files of the entries had, by file.
    functions: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def mark(self, run: RunRecord, before: renames.Before | None = None) -> None:
        """Writes `baseline`, new or known, into every finding of a run record, and `known_as` after a rename.

        `before`: what functions there were; by default, what the baseline lists.
        """
        known = {entry.bug for entry in self.entries}
        before = before or renames.Before(listed=self.functions)
        for finding, entry in zip(run.findings, entries_of(run), strict=True):
            finding.known_as = "" if entry.bug in known else self._former(finding, entry, before)
            if not finding.known_as:
                finding.model_fields_set.discard("known_as")
            finding.baseline = KNOWN if entry.bug in known or finding.known_as else NEW

    def _former(self, finding: FindingRecord, entry: Entry, before: renames.Before) -> str:
        """The fingerprint of the entry that the finding had before a rename; empty where there is none."""
        for old in {other.fingerprint: other for other in self.entries if other.could_be(entry)}.values():
            if renames.is_accepted(finding, old.fingerprint, old.old_names, before):
                return old.fingerprint
        return ""

    def fixed(self, runs: Sequence[RunRecord]) -> list[Entry]:
        """The entries that marked `runs` show to be gone."""
        shown = {bug for run in runs for bug in _shown(run)}
        return [entry for entry in self.entries if entry.bug not in shown and _answered(entry, runs)]

    def updated(self, runs: Sequence[RunRecord]) -> "Baseline":
        """With the findings of `runs` in place of the entries that these runs could have shown again.

        Suppressed findings are left out: as known ones they would outlive their suppression.
        """
        renamed = {
            _under(entry, finding.known_as).bug
            for run in runs
            for finding, entry in zip(run.findings, entries_of(run), strict=True)
            if finding.known_as
        }
        kept = [entry for entry in self.entries if entry.bug not in renamed and not _answered(entry, runs)]
        if kept and self.version == _WITH_LINES:
            raise UsageError(
                f"no run of the folder answers for {kept[0]}"
                + (f" and {len(kept) - 1} more" if len(kept) > 1 else "")
                + "; written anew, the baseline of version 1 would lose it",
                where=str(self.path),
                next_step="Run these to their end as well, without --baseline, and update again; or delete the file.",
            )
        found = [
            entry
            for run in runs
            for finding, entry in zip(run.findings, entries_of(run), strict=True)
            if not finding.is_suppressed
        ]
        # A new finding describes an entry better than the fields that were kept.
        merged = {(entry.bug, entry.scenario): entry for entry in [*kept, *found]}
        entries = tuple(sorted(merged.values(), key=_order))
        listed = {
            file: self.functions[file] for entry in kept for file in entry.old_names.values() if file in self.functions
        }
        read = {file for entry in found for file in entry.old_names.values()}
        listed |= {file: frozenset(one.name for one in renames.functions_of(file)) for file in read}
        return Baseline(path=self.path, entries=entries, functions=listed)

    def write(self) -> None:
        """Writes the file as a whole: a reader sees the old one or the new one."""
        write_text(self.path, render(self.entries, self.functions))


def _under(entry: Entry, name: str) -> Entry:
    """The entry of a finding, with the fingerprint that it is known by."""
    return entry.model_copy(update={"fingerprint": name})


def _shown(run: RunRecord) -> Iterator[Bug]:
    """The bugs that a run shows, under their present names and the names in the baseline."""
    for finding, entry in zip(run.findings, entries_of(run), strict=True):
        yield entry.bug
        if finding.known_as:
            yield _under(entry, finding.known_as).bug


def could_show(run: RunRecord, entry: Entry) -> bool:
    """True when this run would have found the entry's bug, were it still there."""
    same = run_key(run) == entry.run and (run.atoms, run.seed or 0) == (entry.atoms, entry.seed)
    return same and (run.nested or 0) >= entry.depth and is_complete(run)


def _answered(entry: Entry, runs: Sequence[RunRecord]) -> bool:
    """True when `runs` say whether the entry's bug is there. Scenarios of two folders may share a name: all must."""
    answers = [could_show(run, entry) for run in runs if run_key(run) == entry.run]
    return bool(answers) and all(answers)


def _order(entry: Entry) -> tuple[str, ...]:
    return (*entry.run, entry.invariant, entry.fingerprint)


def render(entries: Iterable[Entry], functions: Mapping[str, frozenset[str]] = {}) -> str:
    """The text of a baseline file."""
    lines = [json.dumps(entry.model_dump(), ensure_ascii=False) for entry in sorted(entries, key=_order)]
    head = f'{{"powercut_baseline": {BASELINE_VERSION}, "findings": ['
    if not lines:
        return f"{head}]}}\n"
    files = [
        f"{json.dumps(file, ensure_ascii=False)}: {json.dumps(sorted(names), ensure_ascii=False)}"
        for file, names in sorted(functions.items())
        if names
    ]
    end = ['], "functions": {', ",\n".join(files), "}}"] if files else ["]}"]
    return "\n".join([head, ",\n".join(lines), *end, ""])


def load(path: Path, *, to_update: bool = False) -> Baseline:
    """Reads a baseline; UsageError for a file that is missing, malformed or of another version.

    `to_update`: one of version 1 is read too, since it is about to be written anew.
    """
    if not path.exists():
        raise UsageError("there is no such baseline", where=str(path), next_step=_HOW_TO_WRITE)
    text = read_text(path, "this baseline", next_step=_HOW_TO_WRITE)
    try:
        content = parse_json(text)
    except ValueError as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        raise UsageError(
            f"malformed baseline ({error})",
            where=f"{path}:{line}",
            next_step="Correct this line (of a merge, perhaps), or take an earlier version of the file.",
        ) from error
    version = content.get("powercut_baseline") if isinstance(content, dict) else None
    if version is None or not isinstance(content.get("findings"), list):
        raise UsageError("this is no baseline", where=str(path), next_step=_HOW_TO_WRITE)
    if version == _WITH_LINES and not to_update:
        raise UsageError(
            "this baseline is of version 1, whose fingerprints changed with every line above a finding",
            where=str(path),
            next_step="Write it anew: run what it is for without --baseline, see that nothing is new to you, and type "
            f"'powercut baseline update {path}'.",
        )
    if version not in (BASELINE_VERSION, _WITH_LINES):
        raise UsageError(
            f"baseline version {version!r}, this build reads {BASELINE_VERSION}",
            where=str(path),
            next_step="Write it anew with 'powercut baseline update', or use the powercut that wrote it.",
        )
    return Baseline(
        path=path,
        entries=tuple(_entry(raw, path, number) for number, raw in enumerate(content["findings"])),
        version=version,
        functions=_functions(content.get("functions", {}), path),
    )


def _functions(raw: Any, path: Path) -> dict[str, frozenset[str]]:
    if isinstance(raw, dict) and all(
        isinstance(names, list) and all(isinstance(name, str) for name in names) for names in raw.values()
    ):
        return {file: frozenset(names) for file, names in raw.items()}
    raise UsageError(
        "malformed baseline: 'functions' has no list of names for each file",
        where=str(path),
        next_step="Correct it, or take an earlier version of the file.",
    )


def _entry(raw: Any, path: Path, number: int) -> Entry:
    try:
        # From JSON text: in strict mode a list is no tuple in Python, but it is in JSON.
        return Entry.model_validate_json(json.dumps(raw))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise UsageError(
            f"malformed baseline: finding {number + 1}: {field or 'it'}: {first['msg']}",
            where=str(path),
            next_step="Correct the entry, or take an earlier version of the file.",
        ) from error
