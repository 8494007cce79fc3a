"""docs/pytest.md: every block of Python on the page is a test file that passes, and its names exist."""

from __future__ import annotations

import re

import pytest

from powercut.base import paths
from tests.real_engine import require_engine

PAGE = (paths.home() / "docs" / "pytest.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_every_block_is_a_test_that_passes(pytester: pytest.Pytester) -> None:
    require_engine()
    files = {f"test_block_{number}": block for number, block in enumerate(BLOCKS)}
    assert len(files) >= 6
    pytester.makepyfile(**files)
    result = pytester.runpytest_subprocess("-v", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=sum(result.parseoutcomes().values()))
    shown = result.stdout.str()
    for number in range(len(BLOCKS)):
        assert f"test_block_{number}.py::" in shown, f"block {number} has no test"
    for name in re.findall(r"^    (\S+\[\S+\]) PASSED$", PAGE, re.MULTILINE):
        assert f"{name} PASSED" in shown


def test_the_page_names_every_option(pytester: pytest.Pytester) -> None:
    said = pytester.runpytest("--help").stdout.str()
    options = set(re.findall(r"--powercut-[\w-]+", said))
    assert options == set(re.findall(r"--powercut-[\w-]+", PAGE))
