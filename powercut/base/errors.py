"""Errors a person can act on: what happened, where, and what to do next.

Two kinds are kept apart everywhere: a mistake in the request (`UsageError`, exit code 2) and a failure
of powercut itself (`HarnessError`, exit code 3). A failure of the code under test is neither; it is a
finding.
"""

import difflib
from collections.abc import Iterable

from powercut.base.exit_codes import ExitCode


class PowercutError(Exception):
    """One paragraph for the user. `where` may be empty; `next_step` is a sentence."""

    exit_code = ExitCode.USAGE
    kind = "usage"

    def __init__(self, what: str, *, where: str = "", next_step: str) -> None:
        self.what = what.rstrip(".")
        self.where = where
        self.next_step = next_step
        super().__init__(self.paragraph())

    def paragraph(self) -> str:
        """`where: what. next step`, in one paragraph."""
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.what}. {self.next_step}".strip()

    def described(self) -> dict[str, str]:
        """As the `error` of a JSON object."""
        return {"kind": self.kind, "what": self.what, "where": self.where, "next": self.next_step}


class UsageError(PowercutError):
    """The command line, a file the user gave, or the installation is at fault."""

    exit_code = ExitCode.USAGE


class NotApplicable(UsageError):
    """A scenario that is right, for a target that lacks what it needs: an operation, room, sizes."""

    def __init__(self, what: str, *, where: str = "", next_step: str, needs: str) -> None:
        super().__init__(what, where=where, next_step=next_step)
        self.needs = needs


class HarnessError(PowercutError):
    """powercut itself failed: the verdict is `unknown`, never clean and never a finding."""

    exit_code = ExitCode.INCOMPLETE
    kind = "harness"


class EngineDied(HarnessError):
    """The engine's process ended without an answer; `how` says in which way."""

    def __init__(self, what: str, *, where: str = "", next_step: str, how: str) -> None:
        super().__init__(what, where=where, next_step=next_step)
        self.how = how


def nearest(word: str, choices: Iterable[str], *, limit: int = 3) -> list[str]:
    """The `choices` most like `word`, best first; empty when nothing resembles it."""
    return difflib.get_close_matches(word, sorted(set(choices)), n=limit, cutoff=0.5)


def unknown_name(kind: str, name: str, choices: Iterable[str], *, list_command: str) -> UsageError:
    """The error for a name that does not exist: names the nearest right ones, else how to list them."""
    known = sorted(set(choices))
    close = nearest(name, known)
    if close:
        hint = f"Did you mean {' or '.join(repr(word) for word in close)}?"
    elif known and len(known) <= 6:
        hint = f"There {'is' if len(known) == 1 else 'are'} {', '.join(known)}."
    else:
        hint = ""
    return UsageError(f"unknown {kind} '{name}'", next_step=f"{hint} '{list_command}' shows all.".strip())
