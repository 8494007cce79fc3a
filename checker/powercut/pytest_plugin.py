"""pytest plugin: crash tests beside ordinary ones.

    @pytest.mark.powercut(target="level:hardened", scenario="insert")
    def test_insert_survives_a_power_cut():
        pass                                   # the marker alone is the test; a body may add to it

    def test_update(powercut):
        powercut.assert_consistent("level:hardened", scenario="update", model="eadr")

A marked test fails before its body when a power cut loses or corrupts data; what is printed is the
report and no traceback, since the fault lies in the target and not in the test. A verdict that covers
only a part (a budget ran out) passes with a warning.
"""

import warnings
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

# Everything else is imported when a crash test runs: pytest loads this module in every project.
if TYPE_CHECKING:
    from powercut.api import Result, Session

_MARKER = "powercut"
_ALLOWED = ("target", "scenario", "model", "strategy", "seed", "complete")


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
    group.addoption("--powercut-out", metavar="DIR", default=".powercut", help="folder of findings; default: .powercut")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "powercut(target, scenario=None, model='adr', strategy='read-driven', seed=1, complete=False): "
        "cut the power at every moment of the target's scenarios, and check what recovery brings back",
    )


@pytest.fixture(name="powercut")
def powercut_fixture(request: pytest.FixtureRequest) -> "Session":
    """Judges targets: `powercut.run(target, scenario=…, model=…)` and `powercut.assert_consistent(…)`."""
    return _session(request.config)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Carries out the markers of a test, nearest first, before its body."""
    for marker in item.iter_markers(_MARKER):
        _carry_out(item.config, marker)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Prints the report of a crash test in place of a traceback."""
    del item
    report = yield
    if call.excinfo is not None and report.failed:
        from powercut.api import InconsistentError, PowercutError, UnknownError

        error = call.excinfo.value
        if isinstance(error, InconsistentError | UnknownError):
            report.longrepr = str(error)
        elif isinstance(error, PowercutError):
            report.longrepr = f"powercut: {error.paragraph()}"
    return report


def _session(config: pytest.Config) -> "Session":
    from powercut import options
    from powercut.api import Session

    nested = config.getoption("--powercut-nested")
    return Session(
        out=config.rootpath / Path(config.getoption("--powercut-out")),
        budget=config.getoption("--powercut-budget"),
        nested=options.DEFAULT_NESTED if nested is None else nested,
    )


def _carry_out(config: pytest.Config, marker: pytest.Mark) -> "Result":
    from powercut.errors import UsageError, nearest

    values: dict[str, Any] = dict(marker.kwargs)
    if marker.args:
        values["target"], *rest = marker.args
        if rest or "target" in marker.kwargs:
            raise UsageError(
                "the marker takes the target and otherwise names",
                where="@pytest.mark.powercut",
                next_step="Write @pytest.mark.powercut(target='level:hardened', scenario='insert').",
            )
    for name in values:
        if name not in _ALLOWED:
            close = nearest(name, _ALLOWED, limit=1)
            hint = f"Did you mean '{close[0]}'?" if close else f"There are {', '.join(_ALLOWED)}."
            raise UsageError(f"unknown name '{name}'", where="@pytest.mark.powercut", next_step=hint)
    if "target" not in values:
        raise UsageError("no target", where="@pytest.mark.powercut", next_step="Name one: target='level:hardened'.")
    result = _session(config).assert_consistent(values.pop("target"), **values)
    if not result.complete:
        reasons = sorted({run["coverage"].get("reason") or "not complete" for run in result.runs})
        warnings.warn(SampledWarning(f"consistent, but only sampled: {', '.join(reasons)}"), stacklevel=2)
    return result
