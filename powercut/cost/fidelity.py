"""The papers' figures that do not depend on a machine, measured on our implementations."""

import json
import subprocess
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from powercut.base import paths
from powercut.base.cores import joined
from powercut.base.errors import HarnessError, UsageError, unknown_name
from powercut.scenarios import targets
from powercut_records.base import DEFERRED

_PREFIX = "powercut-fidelity-"
_PAPER_SIZE = "--paper-size"


class Figure(BaseModel):
    """One figure of a paper beside ours. `reproduced` is None where the row is ours alone."""

    model_config = ConfigDict(extra="ignore", defer_build=DEFERRED)

    scheme: str
    figure: str
    paper: str | float | None
    measured: str | float | None
    unit: str
    reproduced: bool | None
    note: str = ""
    #: Whether the paper's figure is judged at the paper's size alone (`powercut.cost.paper_size`).
    depends_on_size: bool = False

    @model_validator(mode="after")
    def _no_verdict_without_a_paper(self) -> Self:
        if (self.paper is None) != (self.reproduced is None):
            raise ValueError("a figure of a paper has a verdict, and a number of ours has none")
        return self


class _Answer(BaseModel):
    figures: list[Figure]


def schemes() -> list[str]:
    """The schemes that have a fidelity program in the build."""
    folder = paths.build_dir() / "bin"
    return sorted(path.name.removeprefix(_PREFIX) for path in folder.glob(f"{_PREFIX}*"))


def measure(scheme: str | None, *, paper_size: bool = False) -> list[dict[str, Any]]:
    """The figures of one scheme, or of all; `paper_size`: of tables as large as the papers', where ours are smaller."""
    known = schemes()
    if not known:
        raise UsageError("no fidelity program was built", where=str(paths.build_dir()), next_step=paths.BUILD_STEP)
    if scheme is not None and scheme not in known:
        if scheme in targets.libraries():
            return []  # it has costs and no figures of a paper
        raise unknown_name("scheme", scheme, known, list_command="powercut list targets")
    # All counts: programs side by side measure the work that each does alone.
    options = [_PAPER_SIZE] if paper_size else []
    return joined(lambda name: _measure(name, options), [name for name in known if scheme in (None, name)])


def _measure(scheme: str, options: list[str]) -> list[dict[str, Any]]:
    program = paths.tool(_PREFIX + scheme)
    done = subprocess.run(
        [str(program), *options], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    again = "Run it by hand to see more."
    if done.returncode != 0:
        said = " | ".join(done.stderr.strip().splitlines()[-3:]) or "it said nothing"
        raise HarnessError(f"exit status {done.returncode} ({said})", where=str(program), next_step=again)
    try:
        answer = _Answer.model_validate(json.loads(done.stdout))
    except (ValueError, ValidationError) as error:
        first = str(error).splitlines()[0]
        raise HarnessError(
            f"its output is not a table of figures ({first})", where=str(program), next_step=again
        ) from error
    return [figure.model_dump() for figure in answer.figures]
