"""The claims that are made of one run, from before it is recorded until its record is complete."""

from pathlib import Path
from typing import Any

from powercut.claims.judge import check
from powercut.claims.sheet import Claim, Sheet, applicable, needs_lines_read, of_run, scenario_of
from powercut.engine import engine
from powercut.scenarios.scenario import Scenario
from powercut.symbols.symbolize import Symbolizer
from powercut_records import run as records
from powercut_records.run import RunRecord


def loads_file(trace: Path) -> Path:
    """Where the lines that each operation read are kept, which a trace does not hold."""
    return trace.with_suffix(".loads")


class RunClaims:
    """The claims of a run. A plan's claims are known at once, those of a recorded trace only when its plan has been
    read."""

    def __init__(self, plan: dict[str, Any] | None, scenario: Scenario | None, *, model: str) -> None:
        """UsageError when a file of claims is at fault."""
        self._model = model
        self._sheet = of_run(plan, scenario) if plan is not None else Sheet(definitions={})
        self._claims: list[Claim] = applicable(self._sheet, plan, model=model) if plan is not None else []
        self._known = plan is not None

    @property
    def needs_lines_read(self) -> bool:
        """Whether the recording has to count loads."""
        return needs_lines_read(self._claims)

    def check(
        self,
        run: RunRecord,
        plan: dict[str, Any] | None,
        *,
        engine_path: Path,
        symbolizer: Symbolizer,
        interrupt: engine.Interrupt,
    ) -> list[records.Claim]:
        """The field `claims` of the run record. `plan`: what the trace says that it was recorded from."""
        if run.error is not None or run.interrupted:
            return []
        if not self._known and plan is not None:
            self._sheet = of_run(plan, scenario_of(plan))
            self._claims = applicable(self._sheet, plan, model=self._model)
        if not self._claims:
            return []
        loads = loads_file(Path(run.trace))
        return check(
            self._sheet, self._claims, run,
            engine_path=engine_path, symbolizer=symbolizer, loads=loads if loads.is_file() else None,
            interrupt=interrupt,
        )  # fmt: skip
