"""Marks and acknowledgements among the calls of a recording (docs/files-marks.md)."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.cli.main import main
from powercut.files import calls as files_calls
from powercut.files import record as files_record
from powercut.files.calls import Call, Mark
from tests.real_engine import require_engine
from tracer.calls.tests.plain import plain

HERE = Path(__file__).parent
Recorded = list[Call | Mark]
Record = Callable[..., Recorded]


@pytest.fixture(scope="session")
def marks(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The C programs, compiled once."""
    out = tmp_path_factory.mktemp("marks") / "marks"
    words = ["clang-19", "-O1", "-pthread", f"-I{HERE.parents[2] / 'targets' / 'include'}", "-o"]
    subprocess.run([*words, str(out), str(HERE / "marks.c")], check=True)
    return str(out)


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Record:
    """Records a command in an empty folder, which is its working folder."""
    require_engine()
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def recorded(*command: str, ack: str | None = None) -> Recorded:
        trace = tmp_path / "run.pct"
        found = files_record.record(command, folder, trace, ack=re.compile(ack) if ack else None)
        assert found.status == 0
        assert found.complete
        return list(files_calls.records(paths.engine(), trace))

    return recorded


def test_the_header_writes_lines(marks: str, record: Record) -> None:
    assert plain(record(marks, "header")) == [
        *("begin format", "creat a", "end OK", "begin maintain grow", "point half way", "end FULL"),
        f"begin insert \\x00%20%25k\\xff {'v' * 3000}",
        *("end EXISTS", "begin lookup k", "end OK v"),
    ]


def test_a_mark_stands_where_the_program_made_it(marks: str, record: Record, capfd: pytest.CaptureFixture[str]) -> None:
    record(marks, "header")
    assert main(["view", "../run.pct"]) == 0
    begin, opened, *_ = capfd.readouterr().out.splitlines()
    assert "  @ header, " in begin
    assert "  @ put, " in opened or "  @ header, " in opened


def test_marks_of_threads_are_their_own(marks: str, record: Record) -> None:
    recorded = record(marks, "threads")
    lines = plain(recorded)
    threads = {mark.key: mark.thread for mark in recorded if isinstance(mark, Mark) and mark.kind == "begin"}
    assert sorted(lines) == ["begin insert a", "begin insert b", "creat a", "creat b", "end OK", "end OK"]
    assert set(lines[-2:]) == {"end OK"}
    ended = [mark.thread for mark in recorded if isinstance(mark, Mark) and mark.kind == "end"]
    assert sorted(ended) == sorted(threads.values()), "both operations run at the same time, and each ends"
    assert len(set(ended)) == 2


def test_lines_of_threads_are_put_together_by_thread(marks: str, record: Record) -> None:
    recorded = [mark for mark in record(marks, "interleaved") if isinstance(mark, Mark)]
    assert sorted(plain(recorded)) == ["begin insert a", "begin insert b", "end OK", "end OK"]
    assert len({mark.thread for mark in recorded}) == 2


def test_marks_of_processes_are_their_own(marks: str, record: Record) -> None:
    assert plain(record(marks, "processes")) == [
        *("begin open", "begin erase c", "creat a", "end NOT_FOUND", "end OK"),
    ]


def test_an_operation_may_end_in_another_thread(marks: str, record: Record) -> None:
    recorded = record(marks, "moved")
    assert plain(recorded) == ["begin insert k v", "creat a", "end OK"]
    assert len({mark.thread for mark in recorded if isinstance(mark, Mark)}) == 1


def test_lines_come_in_pieces_and_together(marks: str, record: Record) -> None:
    assert plain(record(marks, "pieces")) == [
        *("begin insert k v", "point here", "creat a", "end OK", "begin open", "end OK"),
    ]


def test_the_python_module_writes_lines(record: Record) -> None:
    script = (
        "from powercut import marks\n"
        "with marks.operation('insert', b'\\xff k', 'v'): open('a', 'w').close()\n"
        "marks.begin('lookup', 'k'); marks.point('on the way'); marks.end('OK', 'v')"
    )
    assert plain(record(sys.executable, "-c", script)) == [
        *("begin insert \\xff%20k v", "creat a", "end OK", "begin lookup k", "point on the way", "end OK v"),
    ]


def test_a_mark_sees_what_was_stored_through_a_mapping(record: Record) -> None:
    script = (
        "import mmap\nfrom powercut import marks\n"
        "file = open('a', 'w+b'); file.truncate(512); memory = mmap.mmap(file.fileno(), 512)\n"
        "with marks.operation('insert', 'k'): memory[:] = b'X' * 512\n"
    )
    folder, trace = Path.cwd(), Path.cwd().parent / "mapped.pct"
    files_record.record([sys.executable, "-c", script], folder, trace)
    lines = plain(files_calls.records(paths.engine(), trace))
    assert lines == ["creat a", "truncate a 1", "begin insert k", "store a 0 X", "end OK"]


def test_a_shell_marks(record: Record) -> None:
    script = 'echo begin insert k v >> $POWERCUT_MARKS; : > a; env printf "end OK\\npoint b\\n" >> $POWERCUT_MARKS'
    assert plain(record("sh", "-c", script)) == ["begin insert k v", "creat a", "end OK", "point b"]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("begn insert k", "'begn insert k': the first word is none of begin, end, point."),
        ("begin put k", "'begin put k': 'begin' is followed by one of format, open, insert, "),
        ("begin insert", "'begin insert': 'begin insert' is followed by a key."),
        ("begin insert k v w", "'begin insert k v w': more words follow than a key and a value; a blank"),
        (
            "begin insert 50%",
            "'begin insert 50%': no two hexadecimal digits follow a '%', which by itself is written %25.",
        ),
        ("begin maintain", "'begin maintain': 'begin maintain' is followed by a command."),
        ("begin open\\nbegin open", "'begin open': an operation of this thread has not ended yet."),
        ("end OK", "'end OK': no operation has begun."),
        ("begin open\\nend WELL", "'end WELL': 'end' is followed by one of OK, NOT_FOUND, "),
        ("begin open\\nend 256", "'end 256': 'end' is followed by one of OK, NOT_FOUND, "),
        ("point", "'point': 'point' is followed by a name."),
        ("", "'': the first word is none of begin, end, point."),
        ("begin open\\nend\\c", "'end': it has no end."),
    ],
)
def test_a_line_that_marks_nothing_is_told(lines: str, told: str, record: Record) -> None:
    with pytest.raises(UsageError) as error:
        record("sh", "-c", f"echo '{lines}' >> $POWERCUT_MARKS")
    assert f"the program wrote a line that marks nothing, {told}" in f"{error.value.what}."
    assert error.value.where == "POWERCUT_MARKS"
    assert not Path("../run.pct").exists()


# -- acknowledgements in the output ------------------------------------------------------------------------


def test_a_line_acknowledges_at_the_write_that_completes_it(
    marks: str, record: Record, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("before").touch()
    assert plain(record(marks, "answers", ack=r"^did (\d)")) == [
        *("begin maintain 1", "creat a", "end OK", "begin maintain 2", "creat b", "end OK"),
        *("begin maintain 3", "creat c", "creat d", "end OK"),
        # Both lines left in one write.
        *("begin maintain 4", "begin maintain 5", "creat e", "end OK", "end OK"),
    ]
    printed = capfd.readouterr()
    assert printed.out == "did 1\ndid 2\ndid 3\nnothing\n"
    assert printed.err == "did 4\ndid 5\n"


def test_lines_that_left_together_are_told(marks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_engine()
    (folder := tmp_path / "folder").mkdir()
    monkeypatch.chdir(folder)
    found = files_record.record([marks, "answers"], folder, tmp_path / "run.pct", ack=re.compile("^did"))
    assert found.acknowledged == 5
    assert "2 of 5 acknowledgements left the program together with others" in found.notes[0]


def test_without_files_at_the_start_the_first_operation_makes_them(record: Record) -> None:
    script = "echo x > a; echo did 1; echo y >> a; echo did 2; echo z >> a"
    assert plain(record("sh", "-c", script, ack="^did")) == [
        *("creat a", "pwrite a 0 2B", "begin maintain did 1", "end OK"),
        *("begin maintain did 2", "pwrite a 2B 2B", "end OK", "begin maintain not acknowledged", "pwrite a 4B 2B"),
    ]


def test_an_answer_goes_through_a_pipe(record: Record) -> None:
    Path("before").touch()
    script = "{ : > a; echo did 1; } | cat; : > b"
    assert plain(record("sh", "-c", script, ack="^did")) == [
        *("begin maintain did 1", "creat a", "end OK", "begin maintain not acknowledged", "creat b"),
    ]


def test_answers_of_python(record: Record) -> None:
    Path("before").touch()
    script = "open('a', 'w').close(); print('did', 1, flush=True); open('b', 'w').close(); print('did', 2)"
    assert plain(record(sys.executable, "-c", script, ack="^did")) == [
        *("begin maintain did 1", "creat a", "end OK", "begin maintain did 2", "creat b", "end OK"),
    ]


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo begin open >> $POWERCUT_MARKS; echo did", "the program marks its operations itself"),
        ("echo done", "no line that the program printed matches this, so nothing would be acknowledged"),
    ],
)
def test_what_cannot_acknowledge_is_told(script: str, told: str, record: Record) -> None:
    with pytest.raises(UsageError) as error:
        record("sh", "-c", script, ack="^did")
    assert told in error.value.what
    assert not Path("../run.pct").exists()
