"""The user's folder is aside while a program is recorded, and is back afterwards, whatever happens meanwhile."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from powercut.base.errors import UsageError
from powercut.files import fresh_folder
from powercut.program import binary, keeper
from powercut.program.recording import Recording


def recording(folder: Path, **more: Any) -> Recording:
    found = binary.find("true", cwd=folder.parent, option="--record")
    made = Recording(
        command=("true",), binary=found, pools=(folder,), cwd=folder.parent, tracer="calls", timeout=10.0,
        bare="with an empty folder",
    )  # fmt: skip
    return replace(made, **more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "data"
    (made / "inner").mkdir(parents=True)
    (made / "inner" / "kept").write_bytes(b"precious")
    os.link(made / "inner" / "kept", made / "other name")
    (made / "link").symlink_to("inner/kept")
    made.chmod(0o750)
    return made


def identities(folder: Path) -> dict[str, tuple[int, int, int]]:
    return {
        str(path.relative_to(folder)): (path.lstat().st_ino, path.lstat().st_mode, path.lstat().st_mtime_ns)
        for path in [folder, *folder.rglob("*")]
    }


def test_a_program_begins_with_a_copy_and_the_folder_is_back_as_it_was(folder: Path, tmp_path: Path) -> None:
    before = identities(folder)
    with fresh_folder.begun(recording(folder), scratch=tmp_path, interrupt=None) as begun:
        assert begun.recording.began == "a copy of the folder as it is"
        assert (folder / "link").read_bytes() == b"precious"
        assert (folder / "other name").stat().st_nlink == 2
        assert folder.stat().st_mode & 0o777 == 0o750
        (folder / "inner" / "kept").write_bytes(b"changed by the program")
        (folder / "inner").chmod(0)
        (folder / "new").mkdir()
    assert identities(folder) == before
    assert (folder / "inner" / "kept").read_bytes() == b"precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]


def test_a_set_up_begins_with_an_empty_folder(folder: Path, tmp_path: Path) -> None:
    setup = ("sh", "-c", f"ls -A {folder} > {tmp_path}/seen; echo made > {folder}/made")
    with fresh_folder.begun(recording(folder, setup=setup), scratch=tmp_path, interrupt=None) as begun:
        assert begun.recording.began.startswith("made by --setup: sh -c")
        assert [path.name for path in folder.iterdir()] == ["made"]
    assert (tmp_path / "seen").read_text() == ""
    assert (folder / "link").read_bytes() == b"precious"


@pytest.mark.parametrize("there", [True, False])
def test_a_set_up_may_make_the_folder_itself(folder: Path, tmp_path: Path, there: bool) -> None:
    data = folder if there else tmp_path / "none"
    setup = ("sh", "-c", f"mkdir {data} && echo made > {data}/made")
    with fresh_folder.begun(recording(data, setup=setup), scratch=tmp_path, interrupt=None):
        assert [path.name for path in data.iterdir()] == ["made"]
    assert data.exists() == there
    assert (folder / "link").read_bytes() == b"precious"


def test_a_set_up_that_has_begun_to_fill_the_folder_is_not_run_again(folder: Path, tmp_path: Path) -> None:
    setup = ("sh", "-c", f"echo run >> {tmp_path}/runs; echo half > {folder}/half; exit 3")
    with (
        pytest.raises(UsageError, match="the set-up ended with exit status 3"),
        fresh_folder.begun(recording(folder, setup=setup), scratch=tmp_path, interrupt=None),
    ):
        pass
    assert (tmp_path / "runs").read_text() == "run\n"


def test_the_first_failure_of_a_set_up_is_told(folder: Path, tmp_path: Path) -> None:
    setup = ("sh", "-c", f"test -d {folder} && exit 3; exit 4")
    with (
        pytest.raises(UsageError, match="the set-up ended with exit status 3"),
        fresh_folder.begun(recording(folder, setup=setup), scratch=tmp_path, interrupt=None),
    ):
        pass
    assert (folder / "link").read_bytes() == b"precious"


@pytest.mark.parametrize("make", ["touch", "ln -s ."])
def test_a_set_up_that_makes_no_folder_is_refused(folder: Path, tmp_path: Path, make: str) -> None:
    setup = ("sh", "-c", f"rmdir {folder}; {make} {folder}")
    with (
        pytest.raises(UsageError, match="the set-up made something else than a folder"),
        fresh_folder.begun(recording(folder, setup=setup), scratch=tmp_path, interrupt=None),
    ):
        pass
    assert (folder / "link").read_bytes() == b"precious"


def test_a_folder_that_was_not_there_is_not_there_afterwards(tmp_path: Path) -> None:
    folder = tmp_path / "none"
    with fresh_folder.begun(recording(folder), scratch=tmp_path, interrupt=None) as begun:
        assert begun.recording.began == "an empty folder"
        assert begun.recording.advice.startswith("It began with an empty folder")
        (folder / "a").write_bytes(b"a")
    assert not folder.exists()


def test_the_folder_is_back_where_the_program_put_something_else_in_its_place(folder: Path, tmp_path: Path) -> None:
    for make in ("touch", "ln -s /nowhere"):
        with fresh_folder.begun(recording(folder), scratch=tmp_path, interrupt=None):
            subprocess.run(["sh", "-c", f"rm -r {folder} && {make} {folder}"], check=True)
        assert (folder / "link").read_bytes() == b"precious"


def test_a_failed_set_up_loses_nothing(folder: Path, tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match="the set-up ended with exit status 3") as raised,
        fresh_folder.begun(recording(folder, setup=("sh", "-c", "exit 3")), scratch=tmp_path, interrupt=None),
    ):
        pass
    assert "It begins with an empty folder" in raised.value.paragraph()
    assert (folder / "link").read_bytes() == b"precious"


def test_the_folder_is_back_after_kill_9(folder: Path, tmp_path: Path) -> None:
    before = identities(folder)
    script = f"""
        import os, signal, sys
        sys.path.insert(0, {str(Path(__file__).parents[2])!r})
        from pathlib import Path
        from powercut.files import fresh_folder
        from tests.files.test_fresh_folder import recording
        folder = Path({str(folder)!r})
        with fresh_folder.begun(recording(folder), scratch=folder.parent, interrupt=None):
            (folder / "new").write_bytes(b"new")
            os.kill(os.getpid(), signal.SIGKILL)
    """
    assert subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False).returncode == -signal.SIGKILL
    deadline = time.monotonic() + 10
    while os.path.lexists(keeper.aside_of(str(folder))) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert identities(folder) == before


def test_what_a_stopped_machine_has_left_aside_is_never_overwritten(folder: Path, tmp_path: Path) -> None:
    aside = Path(keeper.aside_of(str(folder)))
    folder.rename(aside)
    folder.mkdir()
    (folder / "which").write_bytes(b"which one is wanted?")
    with (
        pytest.raises(UsageError, match="now there is another one as well"),
        fresh_folder.begun(recording(folder), scratch=tmp_path, interrupt=None),
    ):
        pass
    assert (folder / "which").exists() and (aside / "link").exists()
    (folder / "which").unlink()
    with fresh_folder.begun(recording(folder), scratch=tmp_path, interrupt=None):
        assert (folder / "link").read_bytes() == b"precious"
    assert (folder / "link").read_bytes() == b"precious" and not aside.exists()


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("file", "this is a file, and no folder"),
        ("no/such", "its folder does not exist"),
        ("", "an empty name"),
        ("/", "the root of a file system"),
        (str(Path.home()), "this is your home folder"),
    ],
)
def test_folders_that_cannot_be_judged(tmp_path: Path, name: str, what: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UsageError, match=what):
        fresh_folder.examine(name, cwd=tmp_path)


def test_nothing_of_the_run_lies_in_the_folder(folder: Path) -> None:
    with pytest.raises(UsageError, match="the folder of the commands lies in the folder that is judged"):
        fresh_folder.refuse_inside(folder, the_folder_of_the_commands=folder / "inner")
