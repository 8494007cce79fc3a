"""Set-up shared by every Python test."""

import gc
import os
import sys
from collections.abc import Generator, Iterator

import hypothesis
import pytest

# Commands that tests start find their modules compiled, whatever the environment says: to compile two hundred modules
# takes each start of `powercut` 0.2 s.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A machine that has other work to do is no failure.
hypothesis.settings.register_profile("powercut", deadline=None)
hypothesis.settings.load_profile("powercut")

pytest_plugins = ["pytester"]

# Reasons that no set-up can mend: tools that no distribution carries, instructions of another processor, privileges and
# devices of a machine. A skip for want of one of these is right even where POWERCUT_REQUIRE_TOOLS is set; the reason of
# the skip starts with these words.
NOT_INSTALLABLE = ("Pin", "this processor lacks ", "No privilege: ", "This machine lacks ", "This kernel lacks ")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--collect-garbage",
        action="store_true",
        help="collect garbage after each test, so that whatever a test left open fails this test and no later one; "
        "'python -X dev -m pytest' also tells where it was opened",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collects without looking for garbage: the objects of nine thousand tests stay until the end.

    Every worker spent a third of its time for collection on them. Later searches leave them out too.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        # As the command line has it: what a test makes is trees of records, in which the default looks for cycles
        # again and again.
        gc.set_threshold(100_000, 50, 1000)


@pytest.fixture(autouse=True)
def nothing_left_open(request: pytest.FixtureRequest) -> Iterator[None]:
    """Autouse fixtures end last: by now the test has let go of all that it opened."""
    yield
    if request.config.getoption("--collect-garbage"):
        gc.collect()


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Files that tests give to powercut are not remembered for the person who runs them (powercut.base.trust)."""
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))
    yield
    if before is None:
        del os.environ["XDG_STATE_HOME"]
    else:
        os.environ["XDG_STATE_HOME"] = before


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turns a skipped test into a failed one where all tools are promised (continuous integration)."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("POWERCUT_REQUIRE_TOOLS"):
        reason = report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else ""
        if not reason.startswith(NOT_INSTALLABLE):
            report.outcome = "failed"
            report.longrepr = (
                f"{item.nodeid} skipped, but POWERCUT_REQUIRE_TOOLS is set: {reason}. Install what it needs."
            )
    return report
