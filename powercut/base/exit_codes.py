"""Exit codes of every command, and how several combine into one."""

from collections.abc import Iterable
from enum import IntEnum


class ExitCode(IntEnum):
    """The exit status of a command."""

    #: Nothing was found, and the whole state space was covered.
    CLEAN = 0
    #: At least one finding (or a kind of performance bug named by --fail-on).
    FINDINGS = 1
    #: The command line, a scenario, a target or the installation is at fault. Nothing was judged.
    USAGE = 2
    #: Nothing was found, but not everything was covered, or the harness failed.
    INCOMPLETE = 3


#: Worst first. Usage outranks findings, because the request was not carried out as it was made; a
#: finding outranks incompleteness, because a finding holds whatever was not covered.
_SEVERITY = (ExitCode.USAGE, ExitCode.FINDINGS, ExitCode.INCOMPLETE, ExitCode.CLEAN)


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """The one exit code of several runs: USAGE > FINDINGS > INCOMPLETE > CLEAN; CLEAN for none."""
    return min(codes, key=_SEVERITY.index, default=ExitCode.CLEAN)
