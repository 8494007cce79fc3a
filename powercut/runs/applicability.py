"""Scenarios that come for every map, and a target that is no such map: it has no update, or takes other sizes.

Such a scenario is nobody's mistake. The engine says what the scenario needs and the target lacks (`NotApplicable`). A
scenario that nobody named is set aside then, and said in one line. Two things stay errors: a scenario that the user
named, and a target for which no scenario is left, since nothing of it was judged.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from powercut.base.errors import NotApplicable, PowercutError, UsageError
from powercut.runs.run_request import Request
from powercut.scenarios import catalog

#: Scenarios, or targets, that a sentence names.
_SHOWN = 12


@dataclass(frozen=True, kw_only=True)
class SetAside:
    """A run that its target cannot do, and the abilities that the target lacks."""

    target: str
    variant: str
    scenario: str
    needs: str

    def described(self) -> dict[str, str]:
        """As `--json` prints it."""
        return {"target": self.target, "variant": self.variant, "scenario": self.scenario, "needs": self.needs}


@dataclass(kw_only=True)
class WithoutRuns:
    """The requests of a command that came to no run."""

    errors: list[PowercutError] = field(default_factory=list)
    #: Scenarios that their targets cannot run; neither clean nor wrong.
    aside: list[SetAside] = field(default_factory=list)

    def failed(self, request: Request, error: PowercutError) -> None:
        """There is no run of this request: it does not apply, or is an error."""
        if isinstance(error, NotApplicable) and (item := set_aside(request, error)):
            self.aside.append(item)
        else:
            self.errors.append(error)


def set_aside(request: Request, error: NotApplicable) -> SetAside | None:
    """The run as one that does not apply; None where the user asked for this scenario."""
    return _aside(request, needs=error.needs) if request.optional else None


def without_threads(
    requests: Sequence[Request], patterns: Sequence[str], *, command: str
) -> tuple[list[Request], list[SetAside]]:
    """The requests for a command that follows one run, and scenarios with threads that nobody named."""
    kept: list[Request] = []
    aside: list[SetAside] = []
    for request in requests:
        item = request.scenario
        if item is None or item.content.race is None or catalog.is_named(item, patterns):
            kept.append(request)
        else:
            aside.append(_aside(request, needs=f"threads, which {command} does not follow"))
    return kept, aside


def sentences(aside: Sequence[SetAside]) -> list[str]:
    """Lines such as "2 built-in scenarios do not apply to ledger:default: map_update, map_churn need update.".

    Targets that lack the same abilities for the same scenarios share a line.
    """
    targets: dict[tuple[int, str], list[str]] = {}
    for name, items in _grouped(aside).items():
        targets.setdefault((len(items), _reasons(items)), []).append(name)
    return [
        f"{count} built-in scenario{'s do' if count > 1 else ' does'} not apply to {_names(names)}: {reasons}."
        for (count, reasons), names in targets.items()
    ]


def unjudged(requests: Sequence[Request], aside: Sequence[SetAside]) -> list[UsageError]:
    """An error for each target of which every run was set aside: it must not end as clean."""
    # The header of a trace or a program names no target: such a run is never set aside.
    names = [f"{item.header.get('target')}:{item.header.get('variant')}" for item in requests]
    return [
        UsageError(
            f"no built-in scenario applies to this target, so nothing was judged: {_reasons(items)}",
            where=name,
            next_step="Write one that fits (scenarios/SCHEMA.md) into a folder 'scenarios' beside the library; "
            "a target of fixed sizes declares them (targets/ABI.md).",
        )
        for name, items in _grouped(aside).items()
        if names.count(name) == len(items)
    ]


def summary(aside: Sequence[SetAside]) -> dict[str, Any]:
    """Returns the part of a command's JSON about scenarios that were set aside; nothing where there are none."""
    return {"not_applicable": [item.described() for item in aside]} if aside else {}


def _aside(request: Request, *, needs: str) -> SetAside:
    where = {name: str(request.header[name]) for name in ("target", "variant", "scenario")}
    return SetAside(**where, needs=needs)


def _grouped(aside: Sequence[SetAside]) -> dict[str, list[SetAside]]:
    groups: dict[str, list[SetAside]] = {}
    for item in aside:
        groups.setdefault(f"{item.target}:{item.variant}", []).append(item)
    return groups


def _reasons(items: Sequence[SetAside]) -> str:
    lacking: dict[str, list[str]] = {}
    for item in items:
        lacking.setdefault(item.needs, []).append(item.scenario)
    return "; ".join(f"{_names(names)} need{'s' * (len(names) == 1)} {needs}" for needs, names in lacking.items())


def _names(names: Sequence[str]) -> str:
    """All names; of many the first, since generated scenarios come by the thousand."""
    if len(names) <= _SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[:_SHOWN])} and {len(names) - _SHOWN} more"
