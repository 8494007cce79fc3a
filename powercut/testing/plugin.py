"""pytest plugin: crash tests beside ordinary ones (docs/pytest.md).

    @pytest.mark.powercut(target=["level:hardened", "cceh"], scenario="insert*")
    def test_inserts_survive_a_power_cut():
        pass                                   # the marker alone is the test; a body may add to it

    def test_expansion():
        powercut.check("level:hardened", [("insert", 1), ("maintain", "expand")])

    def test_update(powercut):
        powercut.assert_consistent("level:hardened", scenario="update", model="eadr")

Each target × scenario of a marker is a test of its own, `test_inserts_survive_a_power_cut[level:hardened-insert]`. It
fails before its body when a power cut loses or corrupts data; what is printed is the report and no traceback, since
the fault lies in the target and not in the test. A verdict that covers only a part (a budget ran out) passes with a
warning.
"""

import os
import sys
import uuid
import warnings
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from powercut.testing.session import made_by

# Everything else is imported when a crash test is collected or run: pytest loads this module in every project.
if TYPE_CHECKING:
    from powercut.testing.api import Result, Session
    from powercut.testing.cases import Case, CrashTest

_MARKER = "powercut"
_CASE = "powercut_case"
#: Where `pytest_configure_node` tells a worker of xdist which folder is its own.
_WORKER_FOLDER = "powercut_folder"


class SampledWarning(UserWarning):
    """A crash test passed, but its budget ran out before every crash state was covered."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("powercut", "crash consistency (powercut)")
    group.addoption(
        "--powercut-budget",
        metavar="LIMIT",
        default=None,
        help="limit of each exploration: a time (60s, 5m) or executions (20000x); default: none",
    )
    group.addoption(
        "--powercut-nested", metavar="N", type=int, default=None, help="power cuts inside recovery; default: 1"
    )
    group.addoption(
        "--powercut-watchdog",
        metavar="SECONDS",
        type=float,
        default=None,
        help="limit of one recovery or query; what exceeds it is blocked, and its run unknown; default: 60",
    )
    group.addoption(
        "--powercut-step-budget",
        metavar="N",
        type=int,
        default=None,
        help="loop turns and calls after which one execution is given up; default: by the pool's size",
    )
    group.addoption("--powercut-out", metavar="DIR", default=".powercut", help="folder of findings; default: .powercut")
    group.addoption(
        "--powercut-no-replay",
        action="store_true",
        default=False,
        help="do not begin with the findings of earlier sessions (DIR/failures)",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "powercut(target, scenario=None, model='adr', strategy='read-driven', seed=1, complete=False): "
        "cut the power at every moment of the target's scenarios, and check what recovery brings back; target, "
        "scenario and model may be lists, and each of their combinations is a test of its own",
    )
    config.stash[_SESSION] = _TestSession(
        out=Path(os.path.abspath(config.rootpath / config.getoption("--powercut-out"))),
        worker=getattr(config, "workerinput", {}).get(_WORKER_FOLDER, ""),
    )


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """In the controller of xdist, for each worker that it starts."""
    node.workerinput[_WORKER_FOLDER] = f"{node.config.stash[_SESSION].identifier}/{node.workerinput['workerid']}"


@dataclass
class _TestSession:
    """The plugin's state for one session of pytest."""

    #: Where everything lies in the end.
    out: Path
    #: "session/worker" in a worker of xdist, else empty.
    worker: str
    identifier: str = field(default_factory=lambda: uuid.uuid4().hex[:12])

    @property
    def folder(self) -> Path:
        """Where this process writes."""
        return self.out / "workers" / self.worker if self.worker else self.out

    def final(self, text: str) -> str:
        """`text` with names of files as they are when the workers' folders were merged."""
        return text.replace(f"/workers/{self.worker}", "") if self.worker else text


@dataclass
class _ItemRecord:
    """The plugin's state for one test."""

    session: "Session | None" = None
    results: list["Result"] = field(default_factory=list)
    scenarios: int = 0


_SESSION = pytest.StashKey[_TestSession]()
_RECORD = pytest.StashKey[_ItemRecord]()


@pytest.fixture(name="powercut")
def powercut_fixture(request: pytest.FixtureRequest) -> "Session":
    """Judges targets: `powercut.check(…)`, `powercut.run(target, scenario=…)`, `powercut.assert_consistent(…)`."""
    return _session_of(request.node)


@pytest.fixture(name=_CASE)
def powercut_case_fixture(request: pytest.FixtureRequest) -> "CrashTest":
    """The case of a marked test: its `target`, `scenario` and `model`, and its `result` for the body to look at."""
    from powercut.testing.cases import CrashTest

    if not hasattr(request, "param"):
        raise pytest.UsageError(f"{_CASE} is for tests that are marked with @pytest.mark.powercut(target=…)")
    return CrashTest(case=request.param)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Makes a test of each case of the markers, nearest first."""
    markers = list(metafunc.definition.iter_markers(_MARKER))
    if not markers:
        return
    from powercut.testing.cases import cases

    found: dict[str, Case] = {}
    for marker in markers:
        for case in cases(marker.args, marker.kwargs):
            name = case.id
            while name in found and found[name] != case:
                name += "'"
            found[name] = case
    if _CASE not in metafunc.fixturenames:
        metafunc.fixturenames.append(_CASE)
    metafunc.parametrize(_CASE, list(found.values()), ids=list(found), indirect=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """`powercut.check` inside a test uses the session of this test."""
    with made_by(lambda: _session_of(item)):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Carries out the case of a marked test before its body."""
    printed = False
    try:
        if item.get_closest_marker(_MARKER):
            _carry_out(item)
        return (yield)
    except AssertionError as error:
        printed = _is_report(error)
        raise
    finally:
        _tell(item, in_sections=not printed)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Prints the report of a crash test in place of a traceback."""
    report = yield
    if call.excinfo is not None and report.failed and "powercut.base.errors" in sys.modules:
        from powercut.base.errors import PowercutError

        error = call.excinfo.value
        if _is_report(error):
            notes = getattr(error, "__notes__", [])
            report.longrepr = item.config.stash[_SESSION].final("\n".join([str(error), *notes]))
        elif isinstance(error, PowercutError):
            report.longrepr = f"powercut: {error.paragraph()}"
    return report


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Merges what the workers have left."""
    kept = session.config.stash[_SESSION]
    if not kept.worker and (kept.out / "workers" / kept.identifier).is_dir():
        from powercut.testing.records import merge

        merge(kept.out / "workers" / kept.identifier, kept.out)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """The findings of the session in a line each, and where the report is."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    told = {
        report.nodeid: report.user_properties
        for report in reports
        if any(name.startswith("powercut.") for name, _ in getattr(report, "user_properties", ()))
    }
    if not told:
        return
    from powercut.testing.records import run_files, summary

    terminalreporter.section(_MARKER)
    for line in summary(len(told), run_files(told.values()), config.stash[_SESSION].out):
        terminalreporter.write_line(line)


def _is_report(error: BaseException) -> bool:
    """True for an error whose message is the report of a crash test."""
    api = sys.modules.get("powercut.testing.api")
    return api is not None and isinstance(error, api.InconsistentError | api.UnknownError)


def _session_of(item: pytest.Item) -> "Session":
    """The one session of a test."""
    from powercut.engine import options
    from powercut.testing.api import Session

    kept = item.stash.setdefault(_RECORD, _ItemRecord())
    if kept.session is None:
        config, common = item.config, item.config.stash[_SESSION]
        nested = config.getoption("--powercut-nested")
        workers = int(getattr(config, "workerinput", {}).get("workercount", 1))
        kept.session = Session(
            out=common.folder,
            cache=common.out,
            budget=config.getoption("--powercut-budget"),
            watchdog=config.getoption("--powercut-watchdog"),
            nested=options.DEFAULT_NESTED if nested is None else nested,
            step_budget=config.getoption("--powercut-step-budget"),
            jobs=max(1, len(os.sched_getaffinity(0)) // workers),
            replay=not config.getoption("--powercut-no-replay"),
            naming=lambda: _scenario_name(item, kept),
            heard=kept.results.append,
        )
    return kept.session


def _scenario_name(item: pytest.Item, kept: _ItemRecord) -> str:
    """The name of the next scenario that the test makes: unique in the project, and the same in every session."""
    kept.scenarios += 1
    return item.nodeid if kept.scenarios == 1 else f"{item.nodeid}.{kept.scenarios}"


def _carry_out(item: pytest.Item) -> None:
    """Judges the case of the test; of a test that cannot have parameters (unittest), every case of its markers."""
    from powercut.testing.cases import cases

    case = item.callspec.params.get(_CASE) if hasattr(item, "callspec") else None
    if case is not None:
        result = _judge(item, case)
        if _CASE in getattr(item, "funcargs", {}):
            item.funcargs[_CASE].judged = result  # type: ignore[attr-defined]
        return
    for each in item.iter_markers(_MARKER):
        for case in cases(each.args, each.kwargs):
            _judge(item, case)


def _judge(item: pytest.Item, case: "Case") -> "Result":
    from powercut.base.errors import NotApplicable

    if case.error:
        raise case.error
    session = _session_of(item)
    try:
        result = session.assert_consistent(case.target, scenario=case.scenario, model=case.model, **case.options)
    except NotApplicable as error:
        if not case.optional:
            raise
        pytest.skip(f"{case.name} does not apply to {case.target}: it needs {error.needs}")
    if not result.complete:
        reasons = sorted({run.coverage.reason or "not complete" for run in result.runs})
        warnings.warn(SampledWarning(f"consistent, but only sampled: {', '.join(reasons)}"), stacklevel=2)
    return result


def _tell(item: pytest.Item, *, in_sections: bool) -> None:
    """Puts what was judged into the test's properties, and into its sections unless the message is the report."""
    kept = item.stash.get(_RECORD, None)
    if kept is None or not kept.results:
        return
    from powercut.testing.records import properties

    final = item.config.stash[_SESSION].final
    item.user_properties += [
        (name, final(value)) for name, value in properties(kept.results, item.config.stash[_SESSION].folder)
    ]
    if in_sections:
        item.add_report_section("call", _MARKER, final("\n\n".join(result.report() for result in kept.results)))
    kept.results.clear()
