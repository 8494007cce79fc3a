"""Judging from Python: what tests use, and any other program may.

    powercut.check("level:hardened", [("insert", 1), ("maintain", "expand")])

    session = Session(out=Path(".powercut"))
    session.assert_consistent("level:hardened", scenario="insert")

`check` uses the session of the test that runs (the pytest plugin makes one), else one in `.powercut/`.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from powercut.base import paths
from powercut.base.errors import PowercutError, UsageError
from powercut.engine.options import (
    DEFAULT_MODEL,
    DEFAULT_NESTED,
    DEFAULT_SEED,
    DEFAULT_STRATEGY,
    ExploreOptions,
    parse_budget,
)
from powercut.findings import failures
from powercut.runs import applicability, batch, requests, runner
from powercut.runs.run_request import Request
from powercut.scenarios import targets
from powercut.testing import drafts, inline, session
from powercut.testing.check_options import Check, CheckOptions
from powercut_records.finding import FindingRecord
from powercut_records.run import RunRecord
from powercut_reports import text


class InconsistentError(AssertionError):
    """A power cut loses or corrupts data; the message is the report."""


class UnknownError(AssertionError):
    """Nothing was judged, or less than was asked for; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """The runs of one check, in order."""

    runs: tuple[RunRecord, ...]
    #: Where the records of the runs lie; none of an example that is not the last one.
    files: tuple[Path, ...] = ()
    #: Built-in scenarios that the target lacks something for.
    aside: tuple[applicability.SetAside, ...] = ()

    @property
    def findings(self) -> list[FindingRecord]:
        """Every finding record of every run."""
        return [finding for run in self.runs for finding in run.findings]

    @property
    def verdict(self) -> str:
        """The worst verdict: inconsistent, then unknown, then consistent."""
        verdicts = {run.verdict for run in self.runs}
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
        parts = text.render_bugs(self.findings, color=False)
        parts += [text.render_run(run, color=False) for run in self.runs]
        parts += [
            f"powercut failed: {error.where}: {error.what}. {error.next}" for run in self.runs if (error := run.error)
        ]
        parts += applicability.sentences(self.aside)
        return "\n\n".join(parts)

    def check(self, *, complete: bool = False, preface: str = "") -> None:
        """Raises InconsistentError for findings, UnknownError when there is no verdict.

        `complete` also refuses a verdict that covers only a part (a budget that ran out). `preface` goes before
        the report in the message.
        """
        before = f"{preface}\n\n" if preface else ""
        if self.findings:
            raise InconsistentError(f"{before}{self.report()}")
        if not self.consistent or (complete and not self.complete):
            raise UnknownError(f"{before}{self.report()}")


@dataclass(frozen=True, kw_only=True)
class Session:
    """Defaults of several checks."""

    out: Path
    budget: str | None = None
    #: Seconds that one recovery or query may take; None: the engine's own limit.
    watchdog: float | None = None
    nested: int = DEFAULT_NESTED
    #: Loop turns and calls after which one execution of target code is given up; None: by the pool's size.
    step_budget: int | None = None
    jobs: int | None = None
    #: Folder of what may be deleted (the failure database, examples of Hypothesis); None: `out`.
    cache: Path | None = None
    #: Whether runs begin with the findings of earlier ones.
    replay: bool = True
    #: Names the next scenario that is made in Python.
    naming: Callable[[], str] = lambda: "inline"
    #: Whether a run goes on behind a bug that needs no power cut.
    keep_going: bool = False
    #: Hears of every result, before it is judged.
    heard: Callable[[Result], None] = lambda result: None

    def run(
        self,
        target: str,
        *,
        scenario: str | None = None,
        model: str = DEFAULT_MODEL,
        strategy: str = DEFAULT_STRATEGY,
        seed: int = DEFAULT_SEED,
    ) -> Result:
        """Records and explores `target` ("name" or "name:variant"); its core scenarios, or those that a glob names."""
        chosen = self._options(Check(model=model, strategy=strategy, seed=seed))
        patterns = [scenario] if scenario is not None else []
        return self.judge(requests.for_run(targets.select([target]), patterns, options=chosen, explicit=True))

    def assert_consistent(
        self,
        target: str,
        *,
        scenario: str | None = None,
        model: str = DEFAULT_MODEL,
        strategy: str = DEFAULT_STRATEGY,
        seed: int = DEFAULT_SEED,
        complete: bool = False,
    ) -> Result:
        """Like `run`; fails with the report unless every run is consistent (and, if asked, complete)."""
        result = self.run(target, scenario=scenario, model=model, strategy=strategy, seed=seed)
        result.check(complete=complete)
        return result

    def check(
        self,
        target: str,
        operations: Iterable[object] = (),
        options: Check | None = None,
        **chosen: Unpack[CheckOptions],
    ) -> Result:
        """Cuts the power at every moment of `operations` on an empty table; fails like `assert_consistent`.

        `operations` is a list of operations (`powercut.testing.operations`); it may be left out where there are
        `threads`, and follows when all threads have ended. `Check` describes the options. A keyword says one of them,
        and goes before the same field of `options`.
        """
        asked = replace(options or Check(), **chosen)
        asked = replace(asked, budget=asked.budget or self.budget)
        selection = one_target(target)
        workload = asked.workload(operations)
        explored = self._options(asked)
        folder = self.out / inline.FOLDER
        draft = drafts.in_progress()
        called = "example" if draft else asked.name or self.naming()
        scenario = inline.build(selection, workload, name=called, folder=folder)
        requests.refuse_without_threads([scenario], explored.schedules, where="powercut.check")
        request = requests.one(selection, scenario, options=explored)
        if draft:
            result = Result(runs=(drafts.judge(request),))
        else:
            runner.prepare_out(self.out)
            inline.write(scenario)
            result = self.judge([request])
        shown = ""
        if drafts.in_example() and not draft:
            smallest = replace(
                asked,
                warmup=workload.warmup,
                threads=workload.threads,
                nested=explored.nested,
                step_budget=None,
                name=None,
            )
            again = call(target, workload.operations, smallest)
            shown = f"The smallest example that fails:\n{again}\nAs a scenario file: {scenario.path}"
        result.check(complete=asked.complete, preface=shown)  # from here alone, for Hypothesis to see one failure
        return result

    @property
    def cache_folder(self) -> Path:
        """Where the failure database is."""
        return self.cache or self.out

    def _options(self, asked: Check) -> ExploreOptions:
        depth = self.nested if asked.nested is None else asked.nested
        numbers: tuple[tuple[str, Any], ...] = (("nested", depth), ("seed", asked.seed))
        for name, value in numbers:
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise UsageError(f"'{name}' is {value!r}", where="powercut", next_step="Give it a number from 0 on.")
        return ExploreOptions(
            model=asked.model,
            strategy=asked.strategy,
            atoms=asked.atoms,
            nested=depth,
            seed=asked.seed,
            budget=parse_budget(asked.budget or self.budget),
            watchdog=self.watchdog,
            schedules=asked.searched(),
            step_budget=self.step_budget if asked.step_budget is None else asked.step_budget,
            keep_going=self.keep_going,
        )

    def judge(self, wanted: Sequence[Request]) -> Result:
        """Carries out runs, and hears their result. PowercutError where one of them cannot begin."""
        distinct = [replace(request, slug=f"{request.slug}{suffix(request.options)}") for request in wanted]
        database = failures.of_folder(self.cache_folder, replay=self.replay)
        with runner.open_context(paths.engine(), self.out, database=database) as context:
            outcome = batch.run_all(distinct, context, jobs=self.jobs or len(os.sched_getaffinity(0)))
        if outcome.interrupted:
            raise KeyboardInterrupt
        if outcome.errors:
            raise outcome.errors[0]
        files = tuple(Path(run.file) for run in outcome.runs)
        result = Result(runs=tuple(outcome.runs), files=files, aside=tuple(outcome.aside))
        self.heard(result)
        return result


def one_target(target: str) -> targets.Selection:
    """The one target that a text such as "level:hardened" names."""
    given: Any = target
    if not isinstance(given, str) or not given:
        raise UsageError(f"{target!r} is no target", where="powercut", next_step="Write 'level:hardened'.")
    (selection,) = targets.select([target])
    return selection


def call(
    target: str, operations: Iterable[object] = (), options: Check | None = None, **chosen: Unpack[CheckOptions]
) -> str:
    """The call of `powercut.check` that runs a workload, as Python: with every option that is not the usual one."""
    made = list(operations)
    asked = replace(options or Check(), **chosen)
    words = [repr(target), *([repr(made)] if made or not asked.threads else []), *asked.words()]
    return f"powercut.check({', '.join(words)})"


def suffix(used: ExploreOptions) -> str:
    """Returns a suffix that tells a run's files from the files of the same run with the usual options."""
    usual = ExploreOptions()
    words = [getattr(used, name) for name in ("strategy", "atoms") if getattr(used, name) != getattr(usual, name)]
    words += [
        f"{name}{getattr(used, name)}" for name in ("nested", "seed") if getattr(used, name) != getattr(usual, name)
    ]
    words += [f"{used.budget.seconds:g}s"] if used.budget.seconds is not None else []
    words += [f"steps{used.step_budget}"] if used.step_budget is not None else []
    words += [f"{used.budget.executions}x"] if used.budget.executions is not None else []
    words += [word.removeprefix("--") for word in used.schedules.words()]
    return "".join(f"-{word}" for word in words)


def current() -> Session:
    """The session of the test that runs; elsewhere, one in `.powercut/`."""
    given: Session | None = session.given()
    return given or Session(out=Path(".powercut"))


def check(
    target: str,
    operations: Iterable[object] = (),
    options: Check | None = None,
    **chosen: Unpack[CheckOptions],
) -> Result:
    """`Session.check` of the current session."""
    return current().check(target, operations, options, **chosen)


__all__ = [
    "Check",
    "CheckOptions",
    "InconsistentError",
    "PowercutError",
    "Result",
    "Session",
    "UnknownError",
    "check",
    "current",
    "one_target",
    "suffix",
]
