"""Verdicts on a folder, one for each file system that was asked for; and which of them fail a gate."""

from collections.abc import Collection, Iterable, Mapping

from powercut_records.files import ProfileVerdict
from powercut_records.finding import FindingRecord
from powercut_records.run import RunRecord

#: In --fail-on: a finding counts under whichever file system it is.
ANY = "any"


def words(names: Iterable[str]) -> list[str]:
    """The words of --fail-on that stand for file systems, where runs have asked for these."""
    found = list(dict.fromkeys(names))
    return [ANY, *found] if found else []


def settle(run: RunRecord, *, judged: Collection[ProfileVerdict]) -> None:
    """Writes a row for each file system into a run record whose findings and verdict are settled. `judged`: the rows of
    an exploration that came to its end."""
    known = {row.profile: row for row in judged}
    why = run.coverage.reason
    run.profiles = [known.get(name) or ProfileVerdict(profile=name, reason=why) for name in run.commands.profiles]
    legal = [finding.files.under for finding in run.findings if finding.files]
    for row in run.profiles:
        row.findings = sum(row.profile in names for names in legal)
        if row.findings:
            row.verdict = "inconsistent"
        elif run.verdict == "unknown" or run.error is not None or row.verdict == "inconsistent":
            row.verdict = "unknown"
        if run.error is not None or run.interrupted:
            row.complete = False


def join(first: FindingRecord, second: FindingRecord) -> None:
    """Notes in two records of one finding under which file systems either tree is legal."""
    if first.files is None or second.files is None:
        return
    every = dict.fromkeys([*first.files.under, *second.files.under])
    for files in (first.files, second.files):
        files.also = [name for name in every if name not in files.profiles]


def note(keys: Mapping[str, Collection[str]], by_key: Mapping[str, FindingRecord]) -> None:
    """Notes in the records of findings which file systems have them, by the keys that each of these has."""
    for profile, own in keys.items():
        names = {by_key[key].fingerprint for key in own if key in by_key}
        for record in by_key.values():
            if record.files and record.fingerprint in names and profile not in record.files.under:
                record.files.also = [*record.files.also, profile]


def mark(run: RunRecord, fail_on: Collection[str]) -> None:
    """Writes into a run record which findings count, where --fail-on names file systems."""
    names = {row.profile for row in run.deciding(fail_on)}
    for finding in run.findings:
        if finding.files is not None:
            finding.files.fails = not names.isdisjoint(finding.files.under)
