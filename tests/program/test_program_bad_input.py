"""Program mode with programs that misbehave and command lines that are wrong: a clear paragraph, or a correct run."""

import os
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

from powercut.base.errors import UsageError
from powercut.program import pools as program_pools
from tests.interruptible import interruptible
from tests.program import program_mode
from tests.program.program_mode import CLI, Kv, environment, processes

TRACED = {"llvm": "./kv", "valgrind": "./kv-plain"}


# ---- the recorded program ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tracer", TRACED)
def test_a_program_that_never_maps_the_pool(kv: Kv, tracer: str) -> None:
    kv.odd("run:nomap")
    said = kv.refused("run", *kv.arguments(TRACED[tracer]))
    assert f"the program never mapped {kv.pool}" in said
    assert "--pool" in said


@pytest.mark.parametrize("tracer", TRACED)
def test_a_program_that_fails_while_it_is_recorded(kv: Kv, tracer: str) -> None:
    kv.odd("run:exit")
    said = kv.refused("run", *kv.arguments(TRACED[tracer]))
    assert "ended with exit status 3 while it was recorded" in said
    assert "--allow-exit 3" in said
    assert not (kv.folder / ".powercut" / "traces" / "kv-program.pct").exists()


def test_an_exit_status_may_be_allowed(kv: Kv) -> None:
    record = "sh -c './kv run pool; exit 3'"
    arguments = ["--record", record, "--tracer", "llvm", "--pool", "pool", "--recover", "./kv check pool"]
    assert "exit status 3" in kv.refused("run", *arguments)
    answer = kv.cli("run", *arguments, "--allow-exit", "3", "--format", "text")
    assert answer.code == 0
    assert "exit status 3" in answer.out


@pytest.mark.parametrize("tracer", TRACED)
def test_a_program_that_crashes_while_it_is_recorded(kv: Kv, tracer: str) -> None:
    kv.odd("run:segv")
    assert "ended with signal SIGSEGV" in kv.refused("run", *kv.arguments(TRACED[tracer]))


@pytest.mark.parametrize("tracer", TRACED)
def test_children_are_not_recorded_and_the_result_says_so(kv: Kv, tracer: str) -> None:
    kv.odd("run:fork")
    answer = kv.cli("run", *kv.arguments(TRACED[tracer]))
    assert answer.code == 0
    assert "forked once while it was recorded" in answer.out


@pytest.mark.parametrize("tracer", TRACED)
def test_children_that_are_left_behind_are_ended(kv: Kv, tracer: str) -> None:
    kv.odd("run:children")
    answer = kv.cli("run", *kv.arguments(TRACED[tracer], "--record", f"{TRACED[tracer]} run {kv.pool}"))
    assert answer.code == 0
    assert "the program left processes behind" in answer.out
    assert processes(str(kv.pool)) == []


@pytest.mark.parametrize("kind", ["hang", "stubborn"])
def test_a_program_that_runs_forever_is_ended(kv: Kv, kind: str) -> None:
    kv.odd(f"run:{kind}")
    begun = time.monotonic()
    record = ["--record", f"./kv run {kv.pool}", "--record-timeout", "300ms"]
    said = kv.refused("run", *kv.arguments("./kv", *record))
    assert "did not end within 0.3 s" in said
    assert "--record-timeout" in said
    assert time.monotonic() - begun < 10
    assert processes(str(kv.pool)) == []


def test_a_program_that_prints_without_end_is_kept_short(kv: Kv) -> None:
    kv.odd("run:chatter")  # 256 MiB
    run = kv.judge().run
    assert run["verdict"] == "consistent"
    record = (kv.folder / ".powercut/runs/kv-program-adr.json").read_text()
    assert len(record) < 100_000
    assert "the first line" in record
    assert "the last line" in record


def test_what_a_failing_program_said_is_shown(kv: Kv) -> None:
    said = kv.refused("run", *kv.arguments("./kv", "--record", "sh -c 'echo one; echo two >&2; exit 9'"))
    assert "it printed: one | two" in said


def test_a_program_that_writes_elsewhere_as_well_is_judged_by_its_pool(kv: Kv) -> None:
    record = "sh -c 'echo more > other; exec ./kv run pool'"
    answer = kv.cli("run", *kv.arguments("./kv", "--record", record, "--tracer", "llvm"))
    assert answer.code == 0
    assert (kv.folder / "other").read_text() == "more\n"


def test_a_second_process_on_the_pool_is_named(kv: Kv) -> None:
    record = "sh -c './kv run pool && ./kv run pool'"
    answer = kv.cli("run", *kv.arguments("./kv", "--record", record, "--tracer", "llvm"))
    assert answer.code == 3
    assert "other processes used the pool and were not recorded: ./kv run pool" in answer.out


def test_libraries_that_the_compiler_pass_did_not_see_are_named(kv: Kv) -> None:
    (kv.folder / "kv").unlink()
    program_mode.compile_traced(kv.folder / "kv", "-Wl,--no-as-needed", "-lzstd")
    answer = kv.cli("run", *kv.arguments())
    assert answer.code == 0
    assert "what libzstd.so.1 did to the pool was seen only if built with 'powercut cc'" in answer.out


def test_a_shell_that_a_program_takes_the_place_of_is_followed(kv: Kv) -> None:
    kv.bug("order")
    unexplained = ("--tracer", "valgrind", "--explain", "0")
    plain = kv.judge("./kv-plain", *unexplained)
    words = ["--record", "sh -c 'exec ./kv-plain run pool'", "--recover", "sh -c 'exec ./kv-plain check pool'"]
    shell = kv.judge("./kv-plain", *words, *unexplained)
    assert shell.code == plain.code == 1
    assert shell.run["crash_states"] == plain.run["crash_states"]


def test_a_script_does_not_hide_that_its_programs_are_not_recorded(kv: Kv) -> None:
    script = kv.folder / "script"
    script.write_text("#!/bin/sh\n./kv-plain run pool\n")
    script.chmod(0o755)
    said = kv.refused("run", *kv.arguments("./kv-plain", "--record", "./script"))
    assert "it started other processes, which are not recorded" in said


def test_a_static_program_is_recorded_and_judged(kv: Kv) -> None:
    kv.bug("order")
    answer = kv.cli("run", *kv.arguments("./kv-static", "--explain", "0"))
    assert answer.code == 1
    assert "statically linked" in answer.out


def test_a_32_bit_program(kv: Kv) -> None:
    program = kv.folder / "old"
    program.write_bytes(b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HH", 2, 3) + bytes(48))
    program.chmod(0o755)
    said = kv.refused("run", *kv.arguments("./kv", "--record", "./old run pool"))
    assert "32-bit" in said
    assert "-m32" in said


# ---- the command line ----------------------------------------------------------------------------------------------


def test_commands_that_cannot_be_run(kv: Kv) -> None:
    (kv.folder / "plain.txt").write_text("no program")
    (kv.folder / "garbage").write_text("no program")
    (kv.folder / "garbage").chmod(0o755)
    (kv.folder / "folder").mkdir()
    for record, expected in {
        "no-such-program-anywhere run": "command not found",
        "./missing run": "no such program",
        "./plain.txt": "not executable",
        "./folder": "this is a folder",
        "./garbage": "neither an ELF program nor a script",
        "'": "cannot be split into words (no closing quotation)",
        "": "an empty command",
        "./kv run pool > out": "'>' would be an argument",
        "./kv run pool && true": "'&&' would be an argument",
    }.items():
        assert expected in kv.refused("run", *kv.arguments("./kv", "--record", record, "--tracer", "valgrind")), record


def test_a_recovery_that_cannot_be_run(kv: Kv) -> None:
    for option in ("--recover", "--check", "--dump"):
        said = kv.refused("run", *kv.arguments("./kv", option, "./missing"))
        assert option in said
        assert "no such program" in said


def test_options_that_are_missing_or_do_not_belong_together(kv: Kv) -> None:
    record, recover, pool = ["--record", "./kv run pool"], ["--recover", "./kv check pool"], ["--pool", "pool"]
    assert "--recover" in kv.refused("run", *record, *pool)
    assert "no pool file was named" in kv.refused("run", *record, *recover)
    assert "needs a command to record" in kv.refused("run", *recover, *pool)
    assert "TARGET cannot be combined" in kv.refused("run", "level", *record, *recover, *pool)
    assert "named twice" in kv.refused("run", *record, *recover, *pool, "--pool", "./pool")
    assert "is not a time" in kv.refused("run", *record, *recover, *pool, "--timeout", "soon")
    assert "no such folder" in kv.refused("run", *record, *recover, *pool, "--cwd", "nowhere")
    assert "valgrind" in kv.refused("run", *record, *recover, *pool, "--tracer", "valgrnd")
    assert "not built with 'powercut cc'" in kv.refused("run", *kv.arguments("./kv-plain", "--tracer", "llvm"))
    assert "nothing to record" in kv.refused("record", "-o", "x.pct")


def test_pools_that_cannot_be_used(kv: Kv) -> None:
    (kv.folder / "folder").mkdir()
    os.mkfifo(kv.folder / "fifo")
    for pool, expected in {
        "folder": "this is a folder",
        "missing/pool": "its folder does not exist",
        "fifo": "not a regular file",
        "": "an empty name",
    }.items():
        assert expected in kv.refused("run", *kv.arguments()[:4], "--pool", pool), pool


def test_a_pool_on_a_read_only_file_system(kv: Kv, monkeypatch: pytest.MonkeyPatch) -> None:
    status = list(os.statvfs(kv.folder))
    status[8] |= os.ST_RDONLY
    monkeypatch.setattr(os, "statvfs", lambda path: os.statvfs_result(status))
    with pytest.raises(UsageError, match="mounted read-only"):
        program_pools.examine("pool", cwd=kv.folder)


def test_a_pool_that_may_not_be_written(kv: Kv, monkeypatch: pytest.MonkeyPatch) -> None:
    kv.pool.write_bytes(b"x")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(UsageError, match="cannot be written"):
        program_pools.examine("pool", cwd=kv.folder)


# ---- the recovery --------------------------------------------------------------------------------------------------


def test_a_recovery_that_refuses_a_whole_pool_judges_nothing(kv: Kv) -> None:
    kv.odd("check:fail")
    said = kv.refused("run", *kv.arguments())
    assert "does not accept the pool as the program left it" in said
    assert "kv: I never recover" in said


def test_a_checker_that_hangs_on_a_whole_pool_judges_nothing(kv: Kv) -> None:
    said = kv.refused("run", *kv.arguments("./kv", "--check", "sleep 60", "--timeout", "200ms"))
    assert "--check sleep 60" in said
    assert "no end within --timeout" in said


def test_a_dump_that_prints_something_else_each_time_judges_nothing(kv: Kv) -> None:
    kv.odd("dump:random")
    said = kv.refused("run", *kv.arguments("./kv", "--dump", "./kv dump pool"))
    assert "two different ends" in said
    assert "depend on the pool alone" in said


# ---- what is left behind -------------------------------------------------------------------------------------------


def leftovers(folder: Path) -> list[str]:
    """Processes that know the test's folder, and hidden files in it."""
    hidden = [str(path) for path in folder.rglob(".record.*")]
    return processes(str(folder)) + hidden


def wait_until(true: object, what: str) -> None:
    deadline = time.monotonic() + 20
    while not true():  # type: ignore[operator]
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def slow_recovery(folder: Path, *, only_if: str) -> str:
    """A recovery that sleeps on some images; the last words make its processes known by the test's folder."""
    return f"sh -c '{only_if} sleep 300; : {folder}' {{image}}"


PHASES = {
    "recording": None,
    "checking that recovery accepts the whole pool": "true &&",
    "exploring": "cmp -s final $0 ||",
}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("phase", PHASES)
def test_nothing_is_left_behind(kv: Kv, phase: str, number: signal.Signals) -> None:
    """Ctrl-C and kill -9: no process, no image, no half of a recording."""
    work = kv.folder / "work"
    work.mkdir()
    kv.pool.write_bytes(b"mine")
    inode = kv.pool.stat().st_ino
    asleep = PHASES[phase]
    if asleep is None:
        kv.odd("run:stubborn")
    recover = slow_recovery(kv.folder, only_if=asleep) if asleep else "./kv check pool"
    record = f"sh -c './kv run {kv.pool} && cp {kv.pool} final'"
    arguments = ["--record", record, "--tracer", "llvm", "--recover", recover, "--pool", "pool", "--timeout", "2m"]
    process = subprocess.Popen(
        [*CLI, "run", *arguments],
        cwd=kv.folder,
        env={**environment(), "POWERCUT_WORK": str(work)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=interruptible,
    )
    # powercut's own command line has all of it.
    started = f": {kv.folder}" if asleep else f"./kv run {kv.pool}"
    wait_until(lambda: [line for line in processes(started) if "--record" not in line], "it never started")
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert "Traceback" not in err
    assert process.returncode == (3 if number == signal.SIGINT else -number)
    wait_until(lambda: not leftovers(kv.folder), "something is left behind")
    wait_until(lambda: not list(work.iterdir()), "crash images are left behind")
    wait_until(lambda: kv.pool.read_bytes() == b"mine", "the pool is not as it was")
    assert kv.pool.stat().st_ino == inode
    assert not list(kv.folder.glob(".pool*"))
