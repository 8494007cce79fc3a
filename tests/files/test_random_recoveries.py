"""Random programs of calls with scripted recoveries: the verdicts of the engine are those of every legal tree.

A program of random calls runs under the tracer. The engine serves each tree to a recovery that a seed scripts. A
reader in memory tells every transcript of the recovery, as replayer/tests/test_engine_agrees_on_readers.py holds it
against the brute force. The engine must find a failing one if there is one, under each profile, and run each once or
little more.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from random import Random

import pytest

from powercut.base import paths
from powercut.models import profiles
from replayer.media.files.engine import EngineTrees
from replayer.media.files.programs import generate
from replayer.media.files.real.folder import PAGE
from tests.files.test_trees_of_recordings import SECTOR, in_bytes, recorded, usable
from tests.real_engine import require_engine

NAMES = ("posix", "ext4", "xfs", "btrfs")
PATHS = ("a", "b", "d", "e", "d/a", "d/b", "e/a")
PROGRAMS, LONG_PROGRAMS = 24, 3000
_MASK = (1 << 64) - 1


@pytest.fixture(scope="module")
def recovery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_engine()
    program = tmp_path_factory.mktemp("recovery") / "scripted-recovery"
    source = Path(__file__).with_name("scripted_recovery.c")
    subprocess.run(["clang-19", "-O1", "-w", "-pthread", "-o", str(program), str(source)], check=True)
    return program


def fails(transcript: str, seed: int) -> bool:
    """Whether the recovery fails behind this transcript: the last lines of scripted_recovery.c."""
    hashed = (14695981039346656037 + seed) & _MASK
    for byte in transcript.encode():
        hashed = ((hashed ^ byte) * 1099511628211) & _MASK
    return (hashed >> 40) % 5 == 0


def explored(
    data: Path,
    trace: Path,
    words: list[str],
    scratch: Path,
    *,
    names: Sequence[str] = NAMES,
    nested: int = 0,
    more: Sequence[str] = (),
) -> dict[str, object]:
    """The event `result` of the engine. `more`: further options of the engine."""
    switches = {name: asdict(profiles.named(name).switches) for name in names}
    (scratch / "profiles").write_text(json.dumps(switches), encoding="utf-8")
    asked = ["--trace", str(trace), "--folder", str(data), "--profiles", str(scratch / "profiles")]
    command = [str(paths.engine()), "files", *asked, "--nested", str(nested), "--recover", json.dumps(words), *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=scratch)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    (result,) = [event for event in events if event["event"] == "result"]
    assert isinstance(result, dict)
    return result


def check(
    seed: int, model: EngineTrees, recovery: Path, folder: Path, capfd: pytest.CaptureFixture[str]
) -> tuple[int, int]:
    """Returns the runs of the engine and the transcripts that there are."""
    program = generate(Random(seed))
    data, trace = recorded(program, folder, capfd)
    random = Random(f"recovery {seed}")
    questions, asked = random.randint(1, 8), sorted(random.sample(PATHS, len(PATHS)), key=lambda path: path.count("/"))
    words = [str(recovery), "{image}", str(seed), str(questions), *asked]
    result = explored(data, trace, words, folder)
    made = [in_bytes(call, PAGE // program.page) for call in program.calls]
    every: set[str] = set()
    rows = result["profiles"]
    assert isinstance(rows, list)
    for row, name in zip(rows, NAMES, strict=True):
        script = (seed, questions, asked)
        points = model.transcripts(made, profiles.named(name).switches, script, sector=SECTOR, page=PAGE)
        found = {one for point in points for one in point}
        every |= found
        wrong = any(fails(one, seed) for one in found)
        assert (row["verdict"], row["complete"]) == ("inconsistent" if wrong else "consistent", True), (
            f"{name} {program}"
        )
    runs = result["executions"]
    assert isinstance(runs, int)
    assert runs >= len(every), program
    return runs, len(every)


def _run(seeds: range, recovery: Path, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    runs = transcripts_there = 0
    with EngineTrees(paths.engine()) as model:
        for seed in seeds:
            if not usable(generate(Random(seed))):
                continue
            (folder / str(seed)).mkdir()
            more, there = check(seed, model, recovery, folder / str(seed), capfd)
            runs, transcripts_there = runs + more, transcripts_there + there
    assert transcripts_there > len(seeds)
    assert runs <= 1.2 * transcripts_there, (runs, transcripts_there)


@pytest.fixture(params=["one thread", "a thread for each question"])
def _threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param != "one thread":
        monkeypatch.setenv("THREADS", "1")


@pytest.mark.usefixtures("_threads")
def test_random_programs(recovery: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _run(range(PROGRAMS), recovery, tmp_path, capfd)


@pytest.mark.long
@pytest.mark.usefixtures("_threads")
def test_many_random_programs(recovery: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _run(range(10_000, 10_000 + LONG_PROGRAMS), recovery, tmp_path, capfd)
