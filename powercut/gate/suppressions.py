"""Findings that are set aside for a reason and for a time: `powercut-suppressions.toml`.

    [[suppress]]
    fingerprint = "7f3a90c1d2e4"      # or any of: invariant, target, site, each a glob
    reason = "the vendor ships a fix in March (issue 12)"
    expires = 2027-01-31

All names of a rule must hold together. `target` is matched with `level` and with `level:published`, `site` with the
`file:line` of each decisive store and of the fault. A rule holds to the end of its last day (UTC). Afterwards its
findings count again, and the report says why.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator

from powercut.base.toml_lines import locate, mistake, tables
from powercut.base.user_files import read_text
from powercut.findings.fingerprint import DIGITS
from powercut.gate import renames
from powercut_records.base import DEFERRED
from powercut_records.finding import FindingRecord, Suppression
from powercut_records.run import RunRecord

DEFAULT_FILE = Path("powercut-suppressions.toml")
_FORMAT = "checker/RUN.md shows the format."


def _date(value: object) -> object:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise ValueError("write a date such as 2027-01-31, without quotes or a time")
    return value


def _fingerprint(value: object) -> object:
    if not isinstance(value, str) or not re.fullmatch(rf"[0-9a-f]{{{DIGITS}}}", value):
        raise ValueError(f"write the {DIGITS} hex digits that the finding's file is named by")
    return value


def _text(value: object) -> object:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("write a text that is not empty")
    return value


_Text = Annotated[str, BeforeValidator(_text)]


class _Table(BaseModel):
    """One `[[suppress]]`."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=DEFERRED)

    fingerprint: Annotated[str | None, BeforeValidator(_fingerprint)] = None
    invariant: _Text | None = None
    target: _Text | None = None
    site: _Text | None = None
    reason: _Text
    expires: Annotated[date, BeforeValidator(_date)]

    @model_validator(mode="after")
    def _names_something(self) -> "_Table":
        if not any((self.fingerprint, self.invariant, self.target, self.site)):
            raise ValueError("it names no finding; give 'fingerprint', 'invariant', 'target' or 'site'")
        return self


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=DEFERRED)

    suppress: list[_Table] = []


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A table and its place, `file:line`."""

    place: str
    table: _Table

    def expired(self, day: date) -> bool:
        return day > self.table.expires

    def matches(self, run: RunRecord, finding: FindingRecord) -> bool:
        """True when everything that the rule names fits the finding of the run, under either of its names."""
        table, target = self.table, run.target
        named = (
            (table.invariant, [finding.invariant]),
            (table.target, [target, f"{target}:{run.variant}"]),
            (table.site, _sites(finding)),
        )
        return (table.fingerprint in (None, finding.fingerprint, finding.known_as or None)) and all(
            pattern is None or any(fnmatchcase(value, pattern) for value in values) for pattern, values in named
        )

    def __str__(self) -> str:
        return f"{self.place} ({self.table.reason})"


def _sites(finding: FindingRecord) -> list[str]:
    died = [finding.fault.site] if finding.fault else []
    return [site for site in (*(store.site for store in finding.decisive), *died) if site]


@dataclass(frozen=True, kw_only=True)
class Suppressions:
    """The rules of a file, on a day."""

    path: Path
    rules: tuple[Rule, ...]
    day: date

    def mark(self, run: RunRecord, before: renames.Before | None = None) -> None:
        """Writes `suppressed`, {reason, expires, expired, rule}, into the findings of a run record that rules match.

        `known_as` is written for a finding that had a rule's fingerprint at the commit of `before`, ahead of a rename.
        """
        named = {rule.table.fingerprint for rule in self.rules} - {None}
        for finding in run.findings:
            if before and named and finding.fingerprint not in named and not finding.known_as:
                former = next((name for name in renames.former(finding, before) if name in named), "")
                if former:
                    finding.known_as = former
            finding.suppressed = None
            finding.model_fields_set.discard("suppressed")
            matching = [rule for rule in self.rules if rule.matches(run, finding)]
            # A rule that holds counts before one that has expired.
            for rule in sorted(matching, key=lambda rule: rule.expired(self.day))[:1]:
                finding.suppressed = Suppression(
                    reason=rule.table.reason,
                    expires=rule.table.expires.isoformat(),
                    expired=rule.expired(self.day),
                    rule=rule.place,
                )

    def unused(self, runs: Iterable[RunRecord]) -> list[Rule]:
        """The rules that match no finding of `runs`."""
        found = [(run, finding) for run in runs for finding in run.findings]
        return [rule for rule in self.rules if not any(rule.matches(run, finding) for run, finding in found)]


def today() -> date:
    """The day in UTC, so that a gate and a desk agree."""
    return datetime.now(UTC).date()


def load(path: Path) -> Suppressions:
    """Reads a file of suppressions; UsageError with `file:line` for a fault."""
    text = read_text(path, "these suppressions", next_step=f"Correct the path. {_FORMAT}")
    try:
        content = _File.model_validate(tables(text, place=str(path), form=_FORMAT))
    except ValidationError as error:
        raise mistake(error, text, place=str(path), form=_FORMAT, of="suppression", keys=_keys) from error
    rules = tuple(
        Rule(place=f"{path}:{locate(text, ['suppress', index])}", table=table)
        for index, table in enumerate(content.suppress)
    )
    return Suppressions(path=path, rules=rules, day=today())


def _keys(location: Sequence[int | str]) -> Collection[str]:
    return (_Table if len(location) > 1 else _File).model_fields
