"""The trees of a recording are those of the calls that the program made: recorder, trace and engine together."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from powercut.base import paths
from powercut.cli.main import main
from powercut.files import trees
from powercut.models import profiles
from powercut.real_fs import kernel
from replayer.media.files.calls import Call
from replayer.media.files.engine import EngineTrees
from replayer.media.files.programs import Program, generate
from replayer.media.files.real.folder import PAGE, Folder
from replayer.media.files.real.rig import start_of
from tests.real_engine import require_engine

SECTOR = 512
PROGRAMS, LONG_PROGRAMS = 12, 400
#: They differ in every switch but those of posix.
NAMES = ("posix", "ext4", "xfs", "btrfs", "ext4-writeback", "ext4-journal")


@pytest.fixture(scope="module")
def engine() -> Iterator[EngineTrees]:
    require_engine()
    with EngineTrees(paths.engine()) as model:
        yield model


def in_bytes(call: Call, unit: int) -> Call:
    """The call of the plain language, whose sectors have one byte, with sectors of `unit` bytes."""
    data = b"".join(bytes([letter]) * unit for letter in call.data)
    return replace(call, offset=call.offset * unit, length=call.length * unit, size=call.size * unit, data=data)


def usable(program: Program) -> bool:
    """Whether the program has none of some calls: `sync` waits for the whole machine, msync needs a mapping, and marks
    (`mark.h`, POWERCUT_MARKS) have tests of their own."""
    return all(call.op not in ("sync-all", "begin", "end") and call.what != "range" for call in program.calls)


def recorded(program: Program, folder: Path, capfd: pytest.CaptureFixture[str]) -> tuple[Path, Path]:
    """The folder and the trace of the program, which was run under the tracer."""
    unit, start = PAGE // program.page, start_of(program.calls)
    data, text, trace = folder / "data", folder / "program", folder / "trace"
    data.mkdir()
    maker = Folder(data, unit, keeps_open=False)
    maker.make_start(list(program.calls[:start]))
    maker.close()
    calls = [call.to_json() for call in program.calls]
    text.write_text(json.dumps({"unit": unit, "calls": calls, "start": start}), encoding="utf-8")
    words = [sys.executable, "-m", "tests.files.recorded_program", str(data), str(text)]
    assert main(["record", "--files", str(data), "-o", str(trace), "--", *words]) == 0
    assert "ended with status 0" in capfd.readouterr().err
    return data, trace


def check(engine: EngineTrees, program: Program, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    unit = PAGE // program.page
    _, trace = recorded(program, folder, capfd)
    asked = [profiles.named(name) for name in NAMES]
    for told, profile in zip(trees.count(paths.engine(), trace, asked), asked, strict=True):
        made = [in_bytes(call, unit) for call in program.calls]
        expected = engine.crash_points(made, profile.switches, sector=SECTOR, page=PAGE, listed=False)
        points = [
            (side, point["states"]) for point in expected for side in ("before", "during", "after") if side in point
        ]
        found = [(point.side, point.trees) for point in told.crash_points]
        assert found == points, f"{profile.name}\n{program}"


def _run(engine: EngineTrees, seeds: range, folder: Path, capfd: pytest.CaptureFixture[str]) -> int:
    ran = 0
    for seed in seeds:
        program = generate(Random(seed))
        if not usable(program):
            continue
        (folder / str(seed)).mkdir()
        check(engine, program, folder / str(seed), capfd)
        ran += 1
    return ran


def test_recorded_programs(engine: EngineTrees, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert _run(engine, range(PROGRAMS), tmp_path, capfd) > PROGRAMS // 3


@pytest.mark.long
def test_many_recorded_programs(engine: EngineTrees, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert _run(engine, range(1000, 1000 + LONG_PROGRAMS), tmp_path, capfd) > LONG_PROGRAMS // 3


def test_a_write_of_many_records_is_one_call(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A record has 64 KiB at most. Where data are in the journal, a call is on disk as a whole."""
    require_engine()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a").write_bytes(bytes(300_000))
    script = "import os; os.pwrite(os.open('a', os.O_RDWR), b'x' * 300_000, 0)"
    words = ["sh", "-c", f'cd {tmp_path}/data && {sys.executable} -c "{script}"']
    assert main(["record", "--files", str(tmp_path / "data"), "-o", str(tmp_path / "trace"), "--", *words]) == 0
    told = list(trees.count(paths.engine(), tmp_path / "trace", trees.chosen("ext4-journal,ext4")))
    sectors = -(-300_000 // SECTOR)
    assert [each.crash_points[-1].trees for each in told] == ["2", str(2**sectors)]


def test_a_file_that_ends_in_a_hole_has_its_size(tmp_path: Path) -> None:
    require_engine()
    (tmp_path / "data").mkdir()
    with (tmp_path / "data" / "a").open("wb") as file:
        file.write(b"x" * 100)
        file.truncate(100_000)
    words = [sys.executable, "-c", f"import os; os.truncate('{tmp_path}/data/a', 99_999)"]
    assert main(["record", "--files", str(tmp_path / "data"), "-o", str(tmp_path / "trace"), "--", *words]) == 0
    (told,) = trees.count(paths.engine(), tmp_path / "trace", trees.chosen("ext4"))
    # Without the hole the new size would be a larger one. The tail of the last page is zero before and after.
    assert [point.trees for point in told.crash_points] == ["2"]


def test_room_that_is_kept_for_a_file_has_no_size(tmp_path: Path) -> None:
    require_engine()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a").write_bytes(b"x")
    for mode, expected in ((kernel.FALLOC_FL_KEEP_SIZE, 1), (0, 2)):
        script = (
            "import os; from powercut.real_fs import kernel;"
            f"kernel.allocate(os.open('{tmp_path}/data/a', os.O_RDWR), {mode}, 0, 8192)"
        )
        trace = tmp_path / f"trace{mode}"
        words = [sys.executable, "-c", script]
        assert main(["record", "--files", str(tmp_path / "data"), "-o", str(trace), "--", *words]) == 0
        (told,) = trees.count(paths.engine(), trace, trees.chosen("ext4"))
        assert told.crash_points[-1].trees == str(expected)


def test_an_msync_that_does_not_wait_makes_nothing_durable(tmp_path: Path) -> None:
    require_engine()
    (tmp_path / "data").mkdir()
    for flags, crash_points in (("MS_ASYNC", 1), ("MS_SYNC", 2)):
        (tmp_path / "data" / "a").write_bytes(bytes(4096))
        script = (
            "import ctypes, mmap, os; MS_ASYNC, MS_SYNC = 1, 4;"
            f"room = mmap.mmap(os.open('{tmp_path}/data/a', os.O_RDWR), 4096); room[:1] = b'x';"
            "at = ctypes.addressof(ctypes.c_char.from_buffer(room));"
            f"assert ctypes.CDLL(None).msync(ctypes.c_void_p(at), ctypes.c_size_t(4096), {flags}) == 0"
        )
        words = [sys.executable, "-c", script]
        assert main(["record", "--files", str(tmp_path / "data"), "-o", str(tmp_path / flags), "--", *words]) == 0
        (told,) = trees.count(paths.engine(), tmp_path / flags, trees.chosen("ext4"))
        assert len(told.crash_points) == crash_points
        assert told.crash_points[0].trees == "2"
