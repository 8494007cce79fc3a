"""Whether a run of the finding's commands went wrong as the finding says."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass

from powercut_records.finding import FindingRecord

#: Characters of an output that a finding tells (checker/subjects/program/workers/program_steps.h).
SHOWN = 400
NO_END = "no end within the time limit"


@dataclass(frozen=True, kw_only=True)
class Step:
    """One command, as it ended on an image."""

    #: recover, check, dump, or probe with its number, as in findings.
    name: str
    #: None: it did not end in time. Negative: a signal.
    status: int | None
    output: str = ""

    @property
    def end(self) -> str:
        """The end in the words of a finding."""
        if self.status is None:
            return NO_END
        if self.status < 0:
            return f"died of {signal_name(-self.status)}"
        return f"exit status {self.status}"


def signal_name(number: int) -> str:
    """ "SIGSEGV" """
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def step_of(finding: FindingRecord) -> str:
    """The step that showed the finding: "recover: ./app check" is `recover`."""
    return finding.query.text.partition(":")[0]


def is_of_output(finding: FindingRecord) -> bool:
    """Whether a step ended well and printed what no operation explains; else a step did not end well."""
    return finding.difference is not None


def same(finding: FindingRecord, steps: Sequence[Step]) -> bool:
    """Whether the steps, in their order, went wrong as the finding: its step, and no earlier one, failed in the same
    way, or printed what none of its legal outputs is."""
    wanted = step_of(finding)
    for step in steps:
        if step.name != wanted:
            if step.status != 0:
                return False
            continue
        if not is_of_output(finding):
            return step.end == finding.found
        printed = _shown(step.output, ordered=finding.commands.ordered)
        legal = [_shown(text, ordered=finding.commands.ordered) for text in finding.expected]
        return step.status == 0 and printed not in legal
    return False


def _shown(text: str, *, ordered: bool) -> str:
    """An output as findings tell it. Without an order, lines of a whole output are sorted; a shortened one stays."""
    cut = shortened(text)
    if ordered or " … " in cut:
        return cut
    return "\n".join(sorted(cut.splitlines()))


def shortened(text: str) -> str:
    """The beginning and the end of a long text, by the engine's rule: 400 bytes in all, whole characters."""
    raw = text.encode("utf-8", "surrogateescape").rstrip(b"\n ")
    if len(raw) <= SHOWN:
        return raw.decode("utf-8", "replace")
    head, tail = SHOWN // 2, len(raw) - SHOWN // 2
    while head > 0 and raw[head] & 0xC0 == 0x80:
        head -= 1
    while tail < len(raw) and raw[tail] & 0xC0 == 0x80:
        tail += 1
    return f"{raw[:head].decode('utf-8', 'replace')} … {raw[tail:].decode('utf-8', 'replace')}"
