"""The minimal case of a finding, and its field `minimal` in the finding's record (checker/RUN.md)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from powercut.minimise.case import Case
from powercut.minimise.choose import lost
from powercut_records import finding as records
from powercut_records.base import without
from powercut_records.finding import FindingRecord

#: Not repeated in the finding of a minimal case.
_LEFT_OUT = ("plan", "minimal", "cause")


@dataclass(frozen=True, kw_only=True)
class Minimal:
    """The smallest case that was found to show a bug."""

    case: Case
    #: Records `case`.
    plan: dict[str, Any]
    #: Recorded from `plan`, in the folder that was given.
    trace: Path
    #: The clearest finding of `trace`, as `findings.make_record` makes it, with `plan` and `trace`.
    finding: FindingRecord
    #: The finding that was minimised.
    original: FindingRecord
    #: As the original's plan came out: operations of all its phases, and the options of the target.
    operations_before: int
    config_before: dict[str, str]
    #: A scenario file that shows the finding again.
    scenario: str
    considered: int
    seconds: float
    #: False when a limit ended the search; `note` says which.
    complete: bool
    note: str

    def record(self) -> records.Minimal:
        """The field `minimal` of the finding's record."""
        numbered = [
            (phase, thread, item)
            for phase in self.case.phases
            for thread, program in enumerate(phase.programs or (phase.operations,), 1)
            for item in program
        ]
        return records.Minimal(
            operations=[
                records.MinimalOperation(
                    index=index,
                    phase=phase.name,
                    explored=phase.explore,
                    kind=item.kind,
                    key="" if item.key is None else str(item.key),
                    text=item.spelling,
                    **({"thread": thread} if phase.threads else {}),
                )
                for index, (phase, thread, item) in enumerate(numbered)
            ],
            operations_before=self.operations_before,
            config=dict(self.case.options),
            config_before=self.config_before,
            crash_point=self.finding.crash_point,
            lost=lost(self.finding),
            lost_before=lost(self.original),
            considered=self.considered,
            seconds=round(self.seconds, 3),
            complete=self.complete,
            note=self.note,
            scenario=self.scenario,
            finding=without(self.finding, *_LEFT_OUT),
        )
