"""Judging from Python: what the pytest plugin offers to tests, usable without pytest as well.

session = Session(out=Path(".powercut"))
session.assert_consistent("level:hardened", scenario="insert")
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from powercut import batch, options, paths, requests, runner, targets
from powercut.errors import PowercutError
from powercut_reports import text


class InconsistentError(AssertionError):
    """A power cut loses or corrupts data; the message is the report."""


class UnknownError(AssertionError):
    """Nothing was judged, or less than was asked for; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """The runs of one check, in order."""

    runs: tuple[dict[str, Any], ...]

    @property
    def findings(self) -> list[dict[str, Any]]:
        """Every finding record of every run."""
        return [finding for run in self.runs for finding in run["findings"]]

    @property
    def verdict(self) -> str:
        """The worst verdict: inconsistent, then unknown, then consistent."""
        verdicts = {run["verdict"] for run in self.runs}
        return next(name for name in ("inconsistent", "unknown", "consistent") if name in verdicts)

    @property
    def consistent(self) -> bool:
        """True when every run was judged and no finding was made."""
        return self.verdict == "consistent"

    @property
    def complete(self) -> bool:
        """True when every run covers every legal crash state to the depth asked for."""
        return all(runner.is_complete(run) for run in self.runs)

    def report(self) -> str:
        """The findings and the summaries, as `powercut run` prints them."""
        parts = [text.render_finding(finding, color=False) for finding in self.findings]
        parts += [text.render_run(run, color=False) for run in self.runs]
        parts += [
            f"powercut failed: {error['where']}: {error['what']}. {error['next']}"
            for run in self.runs
            if (error := run["error"])
        ]
        return "\n\n".join(parts)

    def check(self, *, complete: bool = False) -> None:
        """Raises InconsistentError for findings, UnknownError when there is no verdict.

        `complete` also refuses a verdict that covers only a part (a budget that ran out).
        """
        if self.findings:
            raise InconsistentError(self.report())
        if not self.consistent or (complete and not self.complete):
            raise UnknownError(self.report())


@dataclass(frozen=True, kw_only=True)
class Session:
    """Defaults of several checks."""

    out: Path
    budget: str | None = None
    nested: int = options.DEFAULT_NESTED
    jobs: int | None = None

    def run(
        self,
        target: str,
        *,
        scenario: str | None = None,
        model: str = options.DEFAULT_MODEL,
        strategy: str = options.DEFAULT_STRATEGY,
        seed: int = options.DEFAULT_SEED,
    ) -> Result:
        """Records and explores `target` ("name" or "name:variant"); its core scenarios, or those that a glob names."""
        chosen = options.ExploreOptions(
            model=model,
            strategy=strategy,
            nested=self.nested,
            seed=seed,
            budget=options.parse_budget(self.budget),
        )
        patterns = [scenario] if scenario is not None else []
        wanted = requests.for_run(targets.select([target]), patterns, options=chosen, explicit=True)
        with runner.open_context(paths.engine(), self.out) as context:
            outcome = batch.run_all(wanted, context, jobs=self.jobs or len(os.sched_getaffinity(0)))
        if outcome.interrupted:
            raise KeyboardInterrupt
        if outcome.errors:
            raise outcome.errors[0]
        return Result(runs=tuple(outcome.runs))

    def assert_consistent(
        self,
        target: str,
        *,
        scenario: str | None = None,
        model: str = options.DEFAULT_MODEL,
        strategy: str = options.DEFAULT_STRATEGY,
        seed: int = options.DEFAULT_SEED,
        complete: bool = False,
    ) -> Result:
        """Like `run`; fails with the report unless every run is consistent (and, if asked, complete)."""
        result = self.run(target, scenario=scenario, model=model, strategy=strategy, seed=seed)
        result.check(complete=complete)
        return result


__all__ = ["InconsistentError", "PowercutError", "Result", "Session", "UnknownError"]
