"""A buffered target whose history is beyond what is followed: refused by every command that would judge it."""

from pathlib import Path

import pytest

from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from tests.real_engine import require_engine
from tests.scenario_texts import scenario_text

#: More keys since a sync than are followed.
SCENARIO = scenario_text(
    "unsynced",
    "montage",
    'op = "lookup", keys = [1]',
    before='op = "insert", from = 1, to = 600',
    schema=2,
    config="every = 0",
    pool='size = "512KiB"',
    data="key_size = 8\nvalue_size = 8",
)


@pytest.mark.parametrize("command", ["run", "audit"])
def test_more_tables_than_are_followed(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require_engine()
    path = tmp_path / "unsynced.toml"
    path.write_text(SCENARIO)
    words = [command, "montage", "--scenario", str(path), "--out", str(tmp_path / "out")]
    assert main(words) == ExitCode.USAGE
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert "a power cut may leave too many tables" in said
    assert 'Let the scenario run a sync in between: { op = "maintain", command = "sync" }.' in said
