"""One site dropped from one run: the trace is edited (checker/EDITS.md) and explored again."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from powercut.base.errors import HarnessError
from powercut.engine import engine, events
from powercut.engine.events import Module
from powercut.findings.finding_records import canonical_order
from powercut.necessity.effects import unchanged
from powercut.necessity.sites import Occurrences, Prefix, Site
from powercut.necessity.unedited_run import Explored, UneditedRun, explore
from powercut.runs.run_request import Context
from powercut_records.finding import FindingRecord

_NOWHERE = Occurrences()


@dataclass(frozen=True, kw_only=True)
class Drop:
    """The result of one run without one site."""

    unedited: UneditedRun
    occurrences: Occurrences
    explored: Explored
    #: A finding that no run with the site has, and the trace that shows it.
    finding: FindingRecord | None
    trace: Path

    #: The run provably has the same crash states without the site (`effects.unchanged`).
    unchanged: bool


def edits(occurrences: Occurrences, prefixes: Iterable[Prefix], modules: list[Module]) -> dict[str, Any]:
    """Edits that leave the site out of a run: its events, and a rule for each call stack by which recovery may reach
    it."""
    index = {module.path: number for number, module in enumerate(modules)}
    rules = [
        {"frames": [[index[path], offset] for path, offset in prefix], "do": "drop"}
        for prefix in sorted(prefixes)
        if all(path in index for path, _ in prefix)
    ]
    return {"edits": 1, "drop": occurrences.events, "recovery": rules}


def carry_out(
    site: Site,
    unedited: UneditedRun,
    *,
    prefixes: Iterable[Prefix],
    known: frozenset[str],
    folder: Path,
    context: Context,
) -> Drop:
    """Drops `site` from one run. `known`: fingerprints of the findings that the runs have with the site."""
    occurrences = unedited.sites.get(site, _NOWHERE)
    name = f"{unedited.request.slug}-without-{site.slug}"
    file, trace = folder / f"{name}.json", folder / f"{name}.pct"
    file.write_text(json.dumps(edits(occurrences, prefixes, unedited.modules)), encoding="utf-8")
    arguments = ["edit", "--trace", str(unedited.trace), "--edits", str(file), "--out", str(trace)]
    engine.single(context.engine_path, arguments, events.Edited, interrupt=context.interrupt)
    file.unlink()
    explored, _ = explore(unedited.request, trace, context=context, known=known)
    new = [record for record in explored.findings if record.fingerprint not in known]
    return Drop(
        unedited=unedited,
        occurrences=occurrences,
        explored=explored,
        finding=min(new, key=canonical_order) if new else None,
        trace=trace,
        unchanged=not new and explored.complete and _is_unchanged(site, unedited, occurrences, explored),
    )


def _is_unchanged(site: Site, unedited: UneditedRun, occurrences: Occurrences, after: Explored) -> bool:
    before, events_of_site = unedited.explored, frozenset(occurrences.events)
    same = (before.crash_points, before.crash_states) == (after.crash_points, after.crash_states)
    if occurrences.idle == len(occurrences.events) and not same:
        raise HarnessError(
            f"it had nothing to do, yet without it {before.crash_states} crash states become {after.crash_states}",
            where=f"{site.kind} at {site.place}",
            next_step="This is a defect of powercut; please report it.",
        )
    model = unedited.request.options.model
    return unchanged(unedited.records, events_of_site, model=model, explored=unedited.starts)
