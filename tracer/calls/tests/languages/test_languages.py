"""Programs in Go, Rust, JavaScript and Java leave exactly the expected calls, whatever their runtimes do beside them.

A machine without a language skips its programs: `make setup-languages` installs all four.
"""

from pathlib import Path

import pytest

from tracer.calls.tests.conformance import SUITE, difference, language_cases, recorded_in

pytestmark = pytest.mark.long
CASES = language_cases()


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str] | None]:
    """The programs of each language, compiled once."""
    return {name: SUITE[name].built(tmp_path_factory.mktemp(name)) for name in {name for name, _ in CASES}}


@pytest.mark.parametrize(("language", "name"), CASES)
def test_a_program_leaves_the_expected_calls(
    language: str, name: str, commands: dict[str, list[str] | None], tmp_path: Path
) -> None:
    command = commands[language]
    if command is None:
        pytest.skip(f"{SUITE[language].tool} is not installed: 'make setup-languages' installs it")
    assert difference(CASES[language, name], *recorded_in(tmp_path, [*command, name])) is None
