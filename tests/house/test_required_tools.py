"""A skip is a failure where every tool is promised (POWERCUT_REQUIRE_TOOLS), and only there."""

from pathlib import Path

import pytest

CONFTEST = (Path(__file__).resolve().parents[2] / "conftest.py").read_text(encoding="utf-8")
TESTS = """
import pytest
def test_browser(): pytest.skip("Chromium is not installed")
def test_pin(): pytest.skip("Pin: PIN_ROOT is not set")
def test_processor(): pytest.skip("this processor lacks movdiri")
@pytest.mark.xfail(reason="known")
def test_expected(): assert False
def test_plain(): pass
"""


@pytest.mark.parametrize(
    ("required", "expected"),
    [
        ("", {"passed": 1, "skipped": 3, "xfailed": 1}),
        ("1", {"passed": 1, "skipped": 2, "xfailed": 1, "failed": 1}),
    ],
)
def test_skips(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, required: str, expected: dict[str, int]
) -> None:
    monkeypatch.setenv("POWERCUT_REQUIRE_TOOLS", required)
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:powercut")
    result.assert_outcomes(**expected)
    if required:
        result.stdout.fnmatch_lines(["*test_browser skipped, but POWERCUT_REQUIRE_TOOLS is set: Chromium is not*"])
