"""How many bugs of the pairs the crash states show that ALICE looks at: what docs/files-comparison.md says of it."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.cli.main import main
from powercut.models import profiles
from tests.files.alice_states import found
from tests.files.brute_force import Judge
from tests.files.engine_by_brute_force import calls_of
from tests.files.test_pairs import FILE_SYSTEMS, Pair, commands, pairs
from tests.real_engine import require_engine

EVERYWHERE = frozenset(FILE_SYSTEMS)
#: Their rename is there, and zeroes in the place of the data: no rename comes with a file of 0 bytes.
ON_EXT4_ALONE = (
    *("c.settings", "c.notes", "python.config", "python.tasks", "python.profile", "go.profile", "go.report"),
    *("rust.state", "rust.table", "node.state", "node.cart", "node.export"),
)
#: The profiles under which a pair has a bug that no state shows at which ALICE looks.
MISSED = {
    **dict.fromkeys(ON_EXT4_ALONE, frozenset({"ext4"})),
    "python.recent": frozenset({"ext4", "btrfs", "posix"}),
    "c.jobs": frozenset({"btrfs"}),
    **dict.fromkeys(("c.tally", "python.outbox", "node.redo"), EVERYWHERE),
}


def test_the_page_has_these_counts() -> None:
    page = (paths.home() / "docs" / "files-comparison.md").read_text(encoding="utf-8")
    for name in FILE_SYSTEMS:
        shown = [pair for pair in pairs() if name in pair.fs and pair.lives == 1]
        nested = sum(pair.nested for pair in shown)
        missed = sum(name in MISSED.get(pair.key, ()) for pair in shown)
        assert f"| {name} | {len(shown)} | {len(shown) - nested} | {len(shown) - missed} |" in page


@pytest.mark.long
@pytest.mark.parametrize("pair", [pytest.param(pair, id=pair.key) for pair in pairs() if pair.lives == 1])
def test_the_states_that_alice_looks_at(pair: Pair, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    require_engine()
    words, data, trace = commands(pair, tmp_path), tmp_path / "data", tmp_path / "trace"
    data.mkdir()
    subprocess.run([*shlex.split(words), "setup", str(data)], check=True)
    ack = ["--ack", "^done "] if pair.acknowledges else []
    recording = ["record", "--files", str(data), "-o", str(trace), *ack]
    assert main([*recording, "--", *shlex.split(words), "run", str(data)]) == 0, capfd.readouterr().err
    calls, judge = calls_of(trace), Judge(tmp_path / "image", words)
    shown = {name: found(calls, profiles.named(name).switches, judge, dumps=pair.acknowledges) for name in FILE_SYSTEMS}
    missed = MISSED.get(pair.key, ())
    assert {name: one.wrong for name, one in shown.items()} == {
        name: name in pair.fs and name not in missed for name in FILE_SYSTEMS
    }
    assert all(0 < one.looked_at <= one.trees for one in shown.values())
    print(*(f"{name} {one.looked_at} of {one.trees}" for name, one in shown.items()), sep=", ")
