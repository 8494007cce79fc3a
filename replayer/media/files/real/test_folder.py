"""The rig makes the calls that a program's lines mean: its folder, on any file system, against the plain one."""

from __future__ import annotations

import errno
from pathlib import Path
from random import Random

import pytest

from replayer.media.files.programs import Plain, generate

from .folder import PAGE, Folder, read_tree
from .rig import start_of

PROGRAMS = 120


@pytest.mark.parametrize("keeps_open", [True, False])
def test_without_a_power_cut_the_tree_is_the_plain_one(tmp_path: Path, keeps_open: bool) -> None:
    ran = 0
    for seed in range(PROGRAMS):
        program = generate(Random(seed))
        begin, unit, plain = start_of(program.calls), PAGE // program.page, Plain()
        assert begin == len(program.calls) - len(program.lines)
        folder = Folder(tmp_path / str(seed), unit, keeps_open=keeps_open)
        folder.path.mkdir()
        try:
            folder.make_start(list(program.calls[:begin]))
            for call in program.calls[begin:]:
                if call.op != "sync-all":  # it would wait for the whole machine
                    folder.make(call)
        except OSError as error:
            assert error.errno == errno.EOPNOTSUPP, program  # fallocate and O_TMPFILE, on some file systems
            continue
        finally:
            folder.close()
        for call in program.calls:
            plain.apply(call)
        assert read_tree(folder.path, unit) == plain.text(), f"seed {seed}\n{program}"
        ran += 1
    assert ran > PROGRAMS // 3


def test_what_is_no_letter_is_a_question_mark(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"A" * PAGE + bytes(PAGE) + b"A" * 512 + b"B" * 3584 + b"\xff" * PAGE)
    (tmp_path / "l").symlink_to("nowhere")
    assert read_tree(tmp_path, PAGE) == "a=A0?? l->nowhere"
