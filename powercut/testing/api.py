"""Judging from Python: what tests use, and any other program may.

    powercut.check("level:hardened", [("insert", 1), ("maintain", "expand")])

    session = Session(out=Path(".powercut"))
    session.assert_consistent("level:hardened", scenario="insert")

`check` uses the session of the test that runs (the pytest plugin makes one), else one in `.powercut/`.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from powercut.base import paths
from powercut.base.errors import PowercutError, UsageError
from powercut.engine import options
from powercut.findings import failures
from powercut.runs import applicability, batch, requests, runner
from powercut.runs.run_request import Request
from powercut.scenarios import targets
from powercut.scenarios.config import Config
from powercut.testing import drafts, inline, session
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
    nested: int = options.DEFAULT_NESTED
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
        model: str = options.DEFAULT_MODEL,
        strategy: str = options.DEFAULT_STRATEGY,
        seed: int = options.DEFAULT_SEED,
    ) -> Result:
        """Records and explores `target` ("name" or "name:variant"); its core scenarios, or those that a glob names."""
        chosen = self._options(model=model, strategy=strategy, seed=seed)
        patterns = [scenario] if scenario is not None else []
        return self._judge(requests.for_run(targets.select([target]), patterns, options=chosen, explicit=True))

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

    def check(
        self,
        target: str,
        operations: Iterable[object] = (),
        *,
        warmup: Iterable[object] = (),
        threads: Iterable[Iterable[object]] = (),
        config: Config | None = None,
        model: str = options.DEFAULT_MODEL,
        strategy: str = options.DEFAULT_STRATEGY,
        atoms: str = options.DEFAULT_ATOMS,
        nested: int | None = None,
        seed: int = options.DEFAULT_SEED,
        budget: str | None = None,
        step_budget: int | None = None,
        search: str | None = None,
        preemptions: int | Literal["none"] | None = None,
        schedules: int | None = None,
        visibility: str | None = None,
        cut_at: str | None = None,
        expect_marks: Sequence[str] = (),
        pool: int | str | None = None,
        key_size: int | None = None,
        value_size: int | None = None,
        complete: bool = False,
        name: str | None = None,
    ) -> Result:
        """Cuts the power at every moment of `operations` on an empty table; fails like `assert_consistent`.

        `operations` and `warmup` (which comes first and is not explored) are lists of operations
        (`powercut.testing.operations`). `threads` are two to four such lists, which run at the same time after the
        warm-up. They run in every schedule or in the schedules that `search`, `preemptions` and `schedules` choose,
        with store buffers where `visibility` is "tso". `operations` follow when all threads have ended, and may be left
        out then. The target's option `concurrency` is set for threads. `config` are options of the target; "bug"
        switches a planted bug on. `name` is the name of the scenario file, which is left in `OUT/scenarios/`.
        """
        selection = one_target(target)
        workload = inline.Workload(
            operations=_listed(operations),
            warmup=_listed(warmup),
            threads=[_listed(thread) for thread in threads] if _is_list(threads) else threads,
            config=config,
            cut_at=cut_at,
            expect_marks=tuple(expect_marks),
            pool=pool,
            key_size=key_size,
            value_size=value_size,
        )
        chosen = self._options(
            model=model,
            strategy=strategy,
            seed=seed,
            atoms=atoms,
            nested=nested,
            budget=budget or self.budget,
            step_budget=step_budget,
            schedules=options.Schedules(
                search=search, preemptions=preemptions, schedules=schedules, visibility=visibility
            ),
        )
        folder = self.out / inline.FOLDER
        draft = drafts.in_progress()
        called = "example" if draft else name or self.naming()
        scenario = inline.build(selection, workload, name=called, folder=folder)
        requests.refuse_without_threads([scenario], chosen.schedules, where="powercut.check")
        request = requests.one(selection, scenario, options=chosen)
        if draft:
            result = Result(runs=(drafts.judge(request),))
        else:
            runner.prepare_out(self.out)
            inline.write(scenario)
            result = self._judge([request])
        shown = ""
        if drafts.in_example() and not draft:
            again = call(
                target,
                workload.operations,
                warmup=list(workload.warmup),
                threads=[list(thread) for thread in workload.threads],
                search=search,
                preemptions=preemptions,
                schedules=schedules,
                visibility=visibility,
                config=dict(config or {}),
                model=model,
                strategy=strategy,
                atoms=atoms,
                nested=chosen.nested,
                seed=seed,
                budget=budget or self.budget,
                cut_at=cut_at,
                expect_marks=list(expect_marks),
                pool=pool,
                key_size=key_size,
                value_size=value_size,
                complete=complete,
            )
            shown = f"The smallest example that fails:\n{again}\nAs a scenario file: {scenario.path}"
        result.check(complete=complete, preface=shown)  # from here alone, for Hypothesis to see one failure
        return result

    @property
    def cache_folder(self) -> Path:
        """Where the failure database is."""
        return self.cache or self.out

    def _options(
        self,
        *,
        model: str,
        strategy: str,
        seed: int,
        atoms: str = options.DEFAULT_ATOMS,
        nested: int | None = None,
        budget: str | None = None,
        step_budget: int | None = None,
        schedules: options.Schedules = options.UNCHOSEN,
    ) -> options.ExploreOptions:
        depth = self.nested if nested is None else nested
        numbers: tuple[tuple[str, Any], ...] = (("nested", depth), ("seed", seed))
        for name, value in numbers:
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise UsageError(f"'{name}' is {value!r}", where="powercut", next_step="Give it a number from 0 on.")
        return options.ExploreOptions(
            model=model,
            strategy=strategy,
            atoms=atoms,
            nested=depth,
            seed=seed,
            budget=options.parse_budget(budget or self.budget),
            watchdog=self.watchdog,
            schedules=schedules,
            step_budget=self.step_budget if step_budget is None else step_budget,
            keep_going=self.keep_going,
        )

    def _judge(self, wanted: Sequence[Request]) -> Result:
        distinct = [replace(request, slug=f"{request.slug}{suffix(request.options)}") for request in wanted]
        database = failures.of_folder(self.cache_folder, replay=self.replay)
        with runner.open_context(paths.engine(), self.out, database=database) as context:
            outcome = batch.run_all(distinct, context, jobs=self.jobs or len(os.sched_getaffinity(0)))
        if outcome.interrupted:
            raise KeyboardInterrupt
        if outcome.errors:
            raise outcome.errors[0]
        without = {(item.target, item.variant, item.scenario) for item in outcome.aside}
        names = [
            f"{request.slug}-{runner.slug(request.options.model)}.json"
            for request in distinct
            if tuple(request.header.get(name) for name in ("target", "variant", "scenario")) not in without
        ]
        files = tuple(self.out / "runs" / name for name in names)
        result = Result(runs=tuple(outcome.runs), files=files, aside=tuple(outcome.aside))
        self.heard(result)
        return result


def _is_list(threads: object) -> bool:
    return isinstance(threads, Iterable) and not isinstance(threads, str | Mapping)


def _listed(operations: Iterable[object]) -> Iterable[object]:
    """A list of what may be read once; what is no list of operations stays, to be refused."""
    return list(operations) if isinstance(operations, Iterator) else operations


def one_target(target: str) -> targets.Selection:
    """The one target that a text such as "level:hardened" names."""
    given: Any = target
    if not isinstance(given, str) or not given:
        raise UsageError(f"{target!r} is no target", where="powercut", next_step="Write 'level:hardened'.")
    (selection,) = targets.select([target])
    return selection


class CheckOptions(TypedDict, total=False):
    """The options of `Session.check`."""

    warmup: Iterable[object]
    threads: Iterable[Iterable[object]]
    search: str | None
    preemptions: int | Literal["none"] | None
    schedules: int | None
    visibility: str | None
    config: Config | None
    model: str
    strategy: str
    atoms: str
    nested: int | None
    seed: int
    budget: str | None
    step_budget: int | None
    cut_at: str | None
    expect_marks: Sequence[str]
    pool: int | str | None
    key_size: int | None
    value_size: int | None
    complete: bool
    name: str | None


#: Values of the options of `check` that a call does not name.
_UNNAMED: CheckOptions = {
    "warmup": [],
    "threads": [],
    "search": None,
    "preemptions": None,
    "schedules": None,
    "visibility": None,
    "config": {},
    "model": options.DEFAULT_MODEL,
    "strategy": options.DEFAULT_STRATEGY,
    "atoms": options.DEFAULT_ATOMS,
    "nested": options.DEFAULT_NESTED,
    "seed": options.DEFAULT_SEED,
    "budget": None,
    "cut_at": None,
    "expect_marks": [],
    "pool": None,
    "key_size": None,
    "value_size": None,
    "complete": False,
}


def call(target: str, operations: Iterable[object] = (), **chosen: Unpack[CheckOptions]) -> str:
    """The call of `powercut.check` that runs a workload, as Python: with every option that is not the usual one."""
    made = list(operations)
    words = [repr(target), *([repr(made)] if made or not chosen.get("threads") else [])]
    words += [f"{name}={value!r}" for name, value in chosen.items() if value != _UNNAMED[name]]  # type: ignore[literal-required]
    return f"powercut.check({', '.join(words)})"


def suffix(used: options.ExploreOptions) -> str:
    """Returns the suffix that tells the files of a run from the files of the run with the usual options."""
    usual = options.ExploreOptions()
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


def check(target: str, operations: Iterable[object] = (), **chosen: Unpack[CheckOptions]) -> Result:
    """`Session.check` of the current session."""
    return current().check(target, operations, **chosen)


__all__ = [
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
