"""The result of a command's runs."""

from dataclasses import dataclass, field

from powercut.base.exit_codes import ExitCode, worst
from powercut.findings.collector import INTERRUPTED, blank_run
from powercut.runs.applicability import WithoutRuns
from powercut.runs.run_request import Request
from powercut.runs.runner import exit_code
from powercut_records.run import RunRecord


@dataclass(kw_only=True)
class Outcome(WithoutRuns):
    """The result of a command's runs."""

    runs: list[RunRecord] = field(default_factory=list)
    interrupted: bool = False

    def exit_code(self, *, fail_on: frozenset[str] = frozenset()) -> ExitCode:
        """The worst of all runs and errors; an interruption is never clean."""
        codes = [exit_code(run, fail_on=fail_on) for run in self.runs]
        codes += [error.exit_code for error in self.errors]
        return worst([*codes, ExitCode.INCOMPLETE] if self.interrupted else codes)


def unstarted(request: Request) -> RunRecord:
    """The record of a run that an interruption kept from starting."""
    run = blank_run({**request.options.described(), **request.header})
    run.interrupted = True
    run.coverage.reason = INTERRUPTED
    return run
