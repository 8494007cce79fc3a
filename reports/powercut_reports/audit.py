"""The audit's judgement of each run, as the sentence that stands beside the run's verdict.

An audit compares the engine's predictions with plain runs on images drawn at random. It holds for a run of the same
target, variant, scenario, model, atom policy and seed, if both saw the same number of crash states. An audit of another
trace is named as such and vouches for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from powercut_records.run import RunRecord
from powercut_reports import format as fmt

NONE = "No audit was run: nothing compared the engine's predictions with plain runs. 'powercut audit' does."


@dataclass(frozen=True)
class Audit:
    """`state`: agreed, differed, stale (of another trace) or none."""

    state: str
    short: str  # beside a verdict
    sentence: str


@dataclass(frozen=True)
class Audits:
    """All that an output folder knows."""

    by_run: dict[tuple[str, ...], dict[str, Any]]

    def of(self, run: RunRecord) -> Audit:
        found = self.by_run.get(_key_of_run(run))
        if found is None:
            return Audit("none", "none", "This run was not audited." if self.by_run else NONE)
        if str(found.get("crash_states")) != run.crash_states:
            return Audit(
                "stale",
                "of another trace",
                "The audit beside this run is of another trace: it had a different number of crash states.",
            )
        images, differences = fmt.plural(found.get("images"), "image"), found.get("differences")
        answers = fmt.plural(found.get("answers"), "answer")
        drawn = f"{images} drawn at random and run plain, {answers} compared"
        remark = " The instrumented library ran, with its hooks off." if found.get("instrumented") else ""
        if differences:
            said = fmt.plural(differences, "difference")
            return Audit("differed", said, f"{drawn}: {said}. Do not rely on this verdict.{remark}")
        return Audit("agreed", f"{images}, no difference", f"{drawn}: no difference.{remark}")

    def summary(self) -> str:
        """One sentence over all of them."""
        if not self.by_run:
            return NONE
        found = self.by_run.values()
        images = sum(number for item in found if isinstance(number := item.get("images"), int))
        differences = sum(number for item in found if isinstance(number := item.get("differences"), int))
        said = fmt.plural(differences, "difference") if differences else "no difference"
        drawn = f"{fmt.plural(images, 'image')} of {fmt.plural(len(self.by_run), 'run')}"
        return f"{drawn} drawn at random and run plain: {said}."


def parse_audits(raw: Mapping[str, Any] | None) -> Audits:
    """From the object that `powercut audit` leaves in `audit.json`."""
    items = raw.get("audits") if raw else None
    found = [item for item in items or [] if isinstance(item, dict)] if isinstance(items, list) else []
    return Audits({_key(item): item for item in found})


_PARTS = ("target", "variant", "scenario", "model", "atoms", "seed")


def _key(item: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(item.get(name, "")) for name in _PARTS)


def _key_of_run(run: RunRecord) -> tuple[str, ...]:
    return (run.target, run.variant, run.scenario, run.model, run.not_checked.atoms, str(run.seed))
