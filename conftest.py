"""Set-up shared by every Python test."""

import os
from collections.abc import Generator

import pytest

pytest_plugins = ["pytester"]

# Tools that no distribution carries. A skip for want of one of these is right even where
# POWERCUT_REQUIRE_TOOLS is set; the reason of the skip starts with the name.
OPTIONAL_TOOLS = ("Pin",)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turns a skipped test into a failed one where all tools are promised (continuous integration)."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("POWERCUT_REQUIRE_TOOLS"):
        reason = report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else ""
        if not reason.startswith(OPTIONAL_TOOLS):
            report.outcome = "failed"
            report.longrepr = (
                f"{item.nodeid} skipped, but POWERCUT_REQUIRE_TOOLS is set: {reason}. Install what it needs."
            )
    return report
