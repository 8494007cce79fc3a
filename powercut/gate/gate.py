"""Opinions of a project about findings beforehand: its baseline and its suppressions, for one command.

Run records are marked before they are written, each by itself; what concerns all of them together (fixed entries,
rules that match nothing) is in the summary.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from powercut.base import revisions
from powercut.gate import renames
from powercut.gate.baseline import KNOWN, NEW, Baseline
from powercut.gate.baseline import load as load_baseline
from powercut.gate.suppressions import DEFAULT_FILE, Suppressions
from powercut.gate.suppressions import load as load_suppressions
from powercut_records.run import RunRecord


@dataclass(frozen=True, kw_only=True)
class Gate:
    """Either may be absent."""

    baseline: Baseline | None = None
    suppressions: Suppressions | None = None
    #: The commit of --since. None: renames are looked for from the commits that changed the files last.
    since: str | None = None

    def mark(self, run: RunRecord) -> None:
        """Writes what is known of each finding into a run record; marks of an absent file stay as they are."""
        if self.baseline:
            self.baseline.mark(run, self._before_baseline)
        if self.suppressions:
            self.suppressions.mark(run, self._before_suppressions)

    @cached_property
    def _before_baseline(self) -> renames.Before:
        assert self.baseline is not None
        return renames.Before(listed=self.baseline.functions, find=partial(self._commit, self.baseline.path))

    @cached_property
    def _before_suppressions(self) -> renames.Before:
        assert self.suppressions is not None
        return renames.Before(find=partial(self._commit, self.suppressions.path))

    def _commit(self, file: Path) -> str | None:
        """The commit at which functions and files had the names that the file knows."""
        return self.since or revisions.last_change(file)

    def summary(self, runs: Sequence[RunRecord]) -> dict[str, Any]:
        """`baseline` and `suppressions` of the JSON report, of marked run records; empty without either file."""
        found = [finding for run in runs for finding in run.findings]
        summary: dict[str, Any] = {}
        if self.baseline:
            states = Counter(finding.baseline for finding in found if not finding.is_suppressed)
            summary["baseline"] = {
                "file": str(self.baseline.path),
                "new": states[NEW],
                "known": states[KNOWN],
                "fixed": [entry.model_dump(mode="json") for entry in self.baseline.fixed(runs)],
            }
        if self.suppressions:
            held = [finding.suppressed.expired for finding in found if finding.suppressed]
            summary["suppressions"] = {
                "file": str(self.suppressions.path),
                "suppressed": held.count(False),
                "expired": held.count(True),
                "unused": [rule.place for rule in self.suppressions.unused(runs)],
            }
        return summary

    def lines(self, runs: Sequence[RunRecord]) -> list[str]:
        """The summary for people; empty without either file."""
        summary, lines = self.summary(runs), []
        if self.baseline:
            counts, fixed = summary["baseline"], self.baseline.fixed(runs)
            lines.append(f"Baseline {counts['file']}: {counts['new']} new, {counts['known']} known, {len(fixed)} fixed")
            lines += [f"  Fixed: {entry}" for entry in fixed]
            if fixed:
                lines.append(f"  'powercut baseline update {counts['file']}' takes what is fixed out of it.")
        if self.suppressions:
            counts = summary["suppressions"]
            lines.append(
                f"Suppressions {counts['file']}: {counts['suppressed']} suppressed, {counts['expired']} expired"
            )
            lines += [f"  Matches nothing here: {rule}" for rule in self.suppressions.unused(runs)]
        return lines


def open_gate(baseline_file: Path | None, suppressions_file: Path | None, *, since: str | None = None) -> Gate:
    """Reads the files; suppressions that lie in the working folder are read without being named.

    `since`: a revision whose functions and files had the names that the files know.
    """
    if suppressions_file is None and DEFAULT_FILE.is_file():
        suppressions_file = DEFAULT_FILE
    return Gate(
        baseline=load_baseline(baseline_file) if baseline_file else None,
        suppressions=load_suppressions(suppressions_file) if suppressions_file else None,
        since=revisions.resolve(since) if since else None,
    )
