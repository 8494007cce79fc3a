"""Judges a site by the runs without it, and says why in a sentence."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from powercut.necessity.drop import Drop
from powercut.necessity.sites import Site

NECESSARY = "necessary"
REDUNDANT = "redundant"
NOT_SHOWN = "not shown by this workload"
RESULTS = (NECESSARY, REDUNDANT, NOT_SHOWN)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The verdict on one site. `complete`: every run that reaches it was explored to its end, or a finding settled
    it."""

    result: str
    why: str
    complete: bool
    proof: Drop | None = None


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Facts about a site. `skipped`: scenarios that reach it and say nothing, with the reason."""

    site: Site
    drops: Sequence[Drop]
    skipped: dict[str, str] = field(default_factory=dict)


def judge(shown: Shown) -> Verdict:
    """`redundant` needs every run; `necessary` needs one."""
    for drop in shown.drops:
        if drop.finding is not None:
            return Verdict(result=NECESSARY, why=_sentence(drop), complete=True, proof=drop)
    unfinished = {
        drop.unedited.scenario: drop.explored.reason or "" for drop in shown.drops if not drop.explored.complete
    }
    unfinished |= shown.skipped
    if unfinished:
        name, reason = next(iter(unfinished.items()))
        of = len(shown.drops) + len(shown.skipped)
        why = f"Nothing shows it, but {len(unfinished)} of {of} runs were not explored completely ({name}: {reason})."
        return Verdict(result=NOT_SHOWN, why=why, complete=False)
    if all(drop.unchanged and not drop.occurrences.in_recovery for drop in shown.drops):
        return Verdict(result=REDUNDANT, why=_nothing_to_do(shown), complete=True)
    return Verdict(result=NOT_SHOWN, why=_unnoticed(shown), complete=True)


def _sentence(drop: Drop) -> str:
    assert drop.finding is not None
    return f"Without it: {drop.finding.message} ({drop.finding.invariant}, {drop.unedited.scenario})"


def _nothing_to_do(shown: Shown) -> str:
    count = sum(len(drop.occurrences.events) for drop in shown.drops)
    idle = sum(drop.occurrences.idle for drop in shown.drops)
    scenarios = _number(len(shown.drops), "scenario")
    if idle == count:
        waited = "make durable" if shown.site.kind == "flush" else "wait for"
        times = "It was executed once and" if count == 1 else f"Each of the {count} times it"
        return f"{times} had nothing to {waited}, in {scenarios}."
    return (
        f"Without it the crash states are the same, in {scenarios}: its bytes are durable already, or "
        "another flush or fence does its work before anything else happens."
    )


def _unnoticed(shown: Shown) -> str:
    changed = [drop for drop in shown.drops if not drop.unchanged]
    if not changed:
        inside, of = sum(drop.occurrences.in_recovery > 0 for drop in shown.drops), len(shown.drops)
        return (
            f"Recovery executes it, in {_number(inside, 'scenario')}, and no query of {_number(of, 'scenario')} "
            "depends on it; whether it makes anything durable there is not counted."
        )
    # Dropping a fence takes its crash point away, so the number may be smaller though each set has grown.
    drop = max(changed, key=lambda one: one.explored.crash_states - one.unedited.explored.crash_states)
    before, after = drop.unedited.explored.crash_states, drop.explored.crash_states
    grew = f" ({after} crash states for {before} in {drop.unedited.scenario})" if after > before else ""
    return f"It makes something durable{grew}, and no query of {_number(len(shown.drops), 'scenario')} depends on it."


def _number(count: int, thing: str) -> str:
    return f"{count} {thing}{'s' * (count != 1)}"
