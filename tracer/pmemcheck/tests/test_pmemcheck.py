"""pmemcheck logs from end to end: the commands, the judge of pmreorder's rules, stacks, and running under pmemcheck."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.engine.events import Module
from powercut.program import pmemcheck, valgrind
from powercut.symbols.symbolize import Symbolizer, site_frame
from tests.real_engine import require_engine
from tracer.pmemcheck.tests.pmreorder_rules import Refused, Replay, replay

BASE, SIZE = 0x5400000, 0x2000
REGISTER = f"|REGISTER_FILE;/mnt/pool;{BASE:#x};{SIZE:#x};0x0"
LOG = f"START{REGISTER}|STORE;0x5400040;0x7;0x8;0x4011a6: main (a.c:9)|FLUSH;0x5400040;0x40|FENCE|STOP\n"


@pytest.fixture(autouse=True)
def _engine() -> None:
    require_engine()


def dump(trace: Path, *options: str) -> str:
    return subprocess.run(
        [paths.engine(), "dump", "--trace", trace, *options], check=True, capture_output=True, text=True
    ).stdout


def durable(trace: Path) -> dict[int, bytes]:
    """By line, what is certainly durable at the end of the trace: the normal form's last floors."""
    floors = {}
    for address, floor in re.findall(r"line 0x([0-9a-f]+) visible \w+ floor (\w+)", dump(trace, "--normal")):
        floors[int(address, 16)] = bytes.fromhex(floor)
    return floors


def require_real_pmreorder(log: Path, done: Replay, engine: str, *checker: Path | str, consistent: bool) -> None:
    """Where `POWERCUT_PMREORDER` names pmreorder.py of PMDK, it replays the log, and leaves the judge's bytes."""
    if script := os.environ.get("POWERCUT_PMREORDER"):
        options = ["-l", log, "-c", "prog", "-r", engine, "-o", log.with_suffix(".pmreorder"), "-p", *checker]
        ended = subprocess.run([sys.executable, script, *options], capture_output=True, text=True)
        assert (ended.returncode, ended.stderr) == (0 if consistent else 1, "")
        assert [file.path.read_bytes() for file in done.files] == [file.bytes for file in done.files]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace of one of our own targets, with debug info: a real program's stores, flushes and fences."""
    require_engine()
    trace = tmp_path_factory.mktemp("recorded") / "trace.pct"
    assert main(["record", "patterns", "--scenario", "known_good/plain", "-o", str(trace)]) == ExitCode.CLEAN
    return trace


def test_an_exported_log_is_accepted_and_replayed(recorded: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    arguments = ["export", "pmemcheck", str(recorded), "-o", str(log), "--pools", str(tmp_path / "pools")]
    assert main(arguments) == ExitCode.CLEAN
    done = replay(log)
    (file,) = done.files
    assert file.path == tmp_path / "pools" / "pool"
    assert done.barriers > 10
    assert {"format", "insert", "update"} <= set(done.sections)
    # The contents that pmreorder leaves in the file are those that the engine's model calls durable.
    expected = bytearray(len(file.bytes))
    for address, floor in durable(recorded).items():
        expected[address : address + len(floor)] = floor
    assert file.bytes == expected
    assert any(expected)
    require_real_pmreorder(log, done, "ReorderAccumulative", "/bin/true", consistent=True)
    # Sources are named as the report names them.
    assert any("targets/patterns/map.cc:" in frame for store in done.stores for frame in store.trace)


def test_the_way_back_keeps_content_durability_and_stacks(recorded: Path, tmp_path: Path) -> None:
    log, back = tmp_path / "log", tmp_path / "back.pct"
    assert main(["export", "pmemcheck", str(recorded), "-o", str(log), "--pools", str(tmp_path / "a")]) == 0
    assert main(["import", "pmemcheck", str(log), "-o", str(back)]) == ExitCode.CLEAN
    assert durable(back) == durable(recorded)
    again = tmp_path / "again"
    assert main(["export", "pmemcheck", str(back), "-o", str(again)]) == ExitCode.CLEAN
    assert again.read_text() == log.read_text()


WORDS = st.one_of(
    st.builds(
        lambda line, word, value: f"STORE;{BASE + line * 64 + word * 8:#x};{value:#x};0x8",
        st.integers(0, 5),
        st.integers(0, 7),
        st.integers(0, 2**64 - 1),
    ),
    st.builds(lambda line: f"FLUSH;{BASE + line * 64:#x};0x40", st.integers(0, 5)),
    st.just("FENCE"),
)


@settings(max_examples=25, deadline=None)
@given(entries=st.lists(WORDS, max_size=40))
def test_the_judge_and_the_model_agree(entries: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("logs")
    pool = folder / "pool"
    pool.write_bytes(bytes(SIZE))
    log = folder / "log"
    log.write_text("|".join(["START", f"REGISTER_FILE;{pool};{BASE:#x};{SIZE:#x};0x0", *entries, "STOP\n"]))
    pmemcheck.import_log(log, folder / "trace", snapshots={})
    content = bytearray(SIZE)
    for address, floor in durable(folder / "trace").items():
        content[address : address + 64] = floor
    assert replay(log).files[0].bytes == content


@pytest.mark.parametrize(
    "entry",
    [
        "here",
        "a.BEGIN|b.BEGIN|a.END",
        "a.END",
        "STORE;0x5400000;0x100;0x10",
        "STORE;0x1;0x1;0x1",
        "FENCE;0x0",
        "STORE;0x5400000;0x1;0x1;0x1: START (a.c:1)",
        "COMMIT",
    ],
)
def test_the_judge_refuses_what_pmreorder_refuses(entry: str, tmp_path: Path) -> None:
    (tmp_path / "pool").write_bytes(bytes(SIZE))
    log = tmp_path / "log"
    good = f"START|REGISTER_FILE;{tmp_path / 'pool'};{BASE:#x};{SIZE:#x};0x0|FENCE"
    log.write_text(good + "|STOP\n")
    assert isinstance(replay(log), Replay)
    log.write_text(f"{good}|{entry}|STOP\n")
    with pytest.raises(Refused):
        replay(log)


def test_stacks_of_a_log_are_symbolised_from_their_text() -> None:
    modules = [
        Module(path="pmemcheck:put(int, char const*) (src/a.c:9)"),
        Module(path="pmemcheck:??? (in /usr/lib/libpmem.so.1)"),
        Module(path="pmemcheck:???"),
    ]
    with Symbolizer() as symbolizer:
        frames = symbolizer.stack(modules, [(1, 0x10), (0, 0x4011A6), (2, 0)])
    assert [(frame.function, frame.site, frame.module) for frame in frames] == [
        ("??", None, "libpmem.so.1"),
        ("put(int, char const*)", "src/a.c:9", "pmemcheck log"),
        ("??", None, "pmemcheck log"),
    ]
    chosen = site_frame(frames)
    assert chosen and chosen.site == "src/a.c:9"


def test_import_says_what_it_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").write_text(LOG.replace("|FENCE", "|STORE;0x1;0x1;0x1|FENCE"))
    before = tmp_path / "before"
    before.write_bytes(b"x" * 100)
    arguments = ["import", "pmemcheck", str(tmp_path / "log"), "-o", str(tmp_path / "t.pct")]
    assert main(arguments) == ExitCode.CLEAN
    said = capsys.readouterr()
    assert not said.out
    assert "/mnt/pool counts as zeros" in said.err
    assert "1 stores lie in no registered file" in said.err
    assert main([*arguments, "--pool", f"/mnt/pool={before}", "--json"]) == ExitCode.CLEAN
    printed = json.loads(capsys.readouterr().out)
    assert printed["pools"] == [{"path": "/mnt/pool", "size": SIZE, "address": BASE, "content_known": True}]
    assert "nt" not in dump(tmp_path / "t.pct").split() and "main (a.c:9)" in dump(tmp_path / "t.pct")


@pytest.mark.parametrize(
    ("log", "options", "message"),
    [
        (LOG[:-6], [], "log:1:120: the log was cut short: no STOP after 3 whole entries"),
        ("hello\n", [], "this is no store log of pmemcheck"),
        ("\0" * 100, [], "this is no store log of pmemcheck"),
        (LOG, ["--pool", "pool"], "'pool' names no snapshot"),
        (LOG, ["--pool", "/mnt/pool=/nowhere"], "/nowhere: cannot open it (No such file or directory)"),
        (LOG, ["--pool", "/mnt/other=/bin/true"], "the log registers no file '/mnt/other'. It registers /mnt/pool."),
        (LOG.replace("REGISTER_FILE", "REGISTER"), [], "log:1:7: unknown entry 'REGISTER;"),
        (None, [], "cannot open it (No such file or directory)"),
    ],
)
def test_bad_imports(
    log: str | None, options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if log is not None:
        (tmp_path / "log").write_text(log)
    trace = tmp_path / "t.pct"
    trace.write_text("an older trace")
    assert main(["import", "pmemcheck", str(tmp_path / "log"), "-o", str(trace), *options]) == ExitCode.USAGE
    said = capsys.readouterr()
    assert message in said.err
    assert not said.out
    assert len(said.err.splitlines()) == 1
    assert trace.read_text() == "an older trace"
    assert len(list(tmp_path.iterdir())) == 1 + (log is not None)


def test_bad_exports(recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    pools = tmp_path / "pools"
    pools.mkdir()
    (pools / "pool").write_text("somebody's")
    damaged = tmp_path / "damaged"
    damaged.write_bytes(recorded.read_bytes()[:-10])
    for arguments, message in (
        ([str(recorded), "-o", str(tmp_path / "log")], "Name a folder for it with --pools."),
        ([str(recorded), "-o", str(tmp_path / "log"), "--pools", str(pools)], "File exists"),
        ([str(recorded), "-o", str(tmp_path / "no" / "log"), "--pools", str(tmp_path / "new")], "cannot write it"),
        ([str(recorded), "-o", str(pools)], "this is a folder"),
        ([str(damaged), "-o", str(tmp_path / "log")], "damaged"),
        ([str(tmp_path / "absent"), "-o", str(tmp_path / "log")], "absent"),
    ):
        assert main(["export", "pmemcheck", *arguments]) == ExitCode.USAGE
        said = capsys.readouterr()
        assert message in said.err
        assert len(said.err.splitlines()) == 1
    assert (pools / "pool").read_text() == "somebody's"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["damaged", "new", "pools"]
    assert not list((tmp_path / "new").iterdir())


@pytest.fixture(scope="module", params=["good", "bug"])
def ledger(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The example program in raw intrinsics, right or with a flush missing, and its trace by the Valgrind tool."""
    require_engine()
    folder = tmp_path_factory.mktemp("ledger")
    program, pool, stream, trace = folder / "ledger", folder / "pool", folder / "stream", folder / "t.pct"
    define = ["-DBUG"] if request.param == "bug" else []
    source = paths.home() / "docs" / "examples" / "raw-intrinsics" / "ledger.c"
    subprocess.run(["clang-19", "-std=gnu11", "-O2", "-g", "-mclwb", *define, "-o", program, source], check=True)
    subprocess.run([program, "create", pool], check=True)
    try:
        command, environment = valgrind.command([str(program), "run", str(pool)], stream=stream, pools=[pool])
    except UsageError as error:
        pytest.skip(f"valgrind: {error.paragraph()}")
    subprocess.run(command, env=environment, check=True)
    subprocess.run([paths.engine(), "convert", "--stream", stream, "--trace", trace], check=True, capture_output=True)
    return program, trace


def test_a_log_says_what_the_program_did(ledger: tuple[Path, Path], tmp_path: Path) -> None:
    """Exported, judged, imported and explored again: the same states, and the missing flush is found each time."""
    program, trace = ledger
    log, back = tmp_path / "log", tmp_path / "back.pct"
    assert main(["export", "pmemcheck", str(trace), "-o", str(log), "--pools", str(tmp_path / "images")]) == 0
    done = replay(log)
    (file,) = done.files
    assert any("ledger.c:" in frame for store in done.stores for frame in store.trace)
    # The pool is half a page, and pmreorder writes back whole ones.
    assert (file.size, len(file.bytes)) == (2048, 4096)
    assert pmemcheck.import_log(log, back, snapshots={str(file.path): file.path}).stores_outside == 0
    assert dump(back, "--normal") == dump(trace, "--normal")
    verdicts = [explored(trace, program, "check"), explored(back, program, "check")]
    assert verdicts[0] == verdicts[1]
    correct = verdicts[0][0] == "consistent"
    assert correct or verdicts[0][0] == "inconsistent"
    # pmreorder's rules leave the entries of the faulty program out for ever: its checker complains, too.
    require_real_pmreorder(log, done, "ReorderFull", program, "check", consistent=correct)
    file.path.write_bytes(file.bytes)
    assert (subprocess.run([program, "check", file.path], capture_output=True).returncode == 0) == correct


def explored(trace: Path, program: Path, verb: str) -> tuple[str, str]:
    """The verdict of program mode, and the number of legal crash states."""
    recover = json.dumps([str(program), verb, "{image}"])
    done = subprocess.run(
        [paths.engine(), "program", "--trace", trace, "--recover", recover, "--images", "64", "--jobs", "1"],
        check=False,
        capture_output=True,
        text=True,
    )
    (result,) = (json.loads(line) for line in done.stdout.splitlines() if '"event":"result"' in line)
    return result["verdict"], result["crash_states"]


FAKE_VALGRIND = f"""#!{sys.executable}
import os, subprocess, sys
first = next((i for i, word in enumerate(sys.argv) if i and not word.startswith("-")), len(sys.argv))
options = sys.argv[1:first]
assert "--tool=pmemcheck" in options
if "--help" in options:
    print("    --log-stores=<yes|no>")
    sys.exit(0)
assert "--log-stores=yes" in options and "--log-stores-stacktraces=yes" in options
(log,) = (word.partition("=")[2].replace("%%", "%") for word in options if word.startswith("--log-file="))
program = sys.argv[first:]
status = subprocess.run(program).returncode
pool = os.path.realpath(program[-1])
with open(log, "w") as file:
    file.write(f"START|REGISTER_FILE;{{pool}};0x5400000;0x1000;0x0|STORE;0x5400000;0x2a;0x1;0x1: main (p.c:3)|STOP\\n")
sys.exit(status)
"""


@pytest.fixture
def fake_valgrind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for the fork's valgrind: it runs the program and writes the log of a store that it did not watch."""
    script = tmp_path / "valgrind of the fork"
    script.write_text(FAKE_VALGRIND)
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv(pmemcheck.VARIABLE, str(script))
    return script


def test_a_program_is_recorded_in_one_step(fake_valgrind: Path, tmp_path: Path) -> None:
    folder = tmp_path / "100%"
    folder.mkdir()
    pool, trace = folder / "pool", folder / "t.pct"
    pool.write_bytes(b"old")
    program = ["/bin/sh", "-c", 'printf new > "$0"; exit 3', str(pool)]
    done = pmemcheck.record(program, [pool], trace, timeout=60)
    assert done.ended.status == 3
    assert [(file.path, file.content_known) for file in done.trace.pools] == [(str(pool), True)]
    text = dump(trace)
    assert b"old".hex() in text and "0x0 1 byte 2a" in text  # what was there before the run, not after
    (last,) = (json.loads(line) for line in dump(trace, "--format", "json").splitlines() if '"dumped"' in line)
    assert last["metadata"]["program"]["command"] == program
    assert last["metadata"]["program"]["exit"] == {"status": 3}
    assert sorted(path.name for path in folder.iterdir()) == ["pool", "t.pct"]


def test_what_ends_recording_leaves_nothing(fake_valgrind: Path, tmp_path: Path) -> None:
    fake_valgrind.write_text(FAKE_VALGRIND.replace("with open(log", "sys.exit(7)\nwith open(log"))
    with pytest.raises(UsageError, match=r"pmemcheck wrote no log \(exit status 7\)"):
        pmemcheck.record(["/bin/true", "pool"], [], tmp_path / "t.pct")
    assert [path.name for path in tmp_path.iterdir()] == [fake_valgrind.name]


def test_without_pmemcheck_one_line_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(pmemcheck.VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError) as caught:
        pmemcheck.require()
    assert "not installed" in caught.value.paragraph() and "--tracer valgrind" in caught.value.paragraph()
    assert "\n" not in caught.value.paragraph()
    monkeypatch.setenv(pmemcheck.VARIABLE, "/bin/true")
    with pytest.raises(UsageError, match="POWERCUT_PMEMCHECK=/bin/true: this valgrind has no pmemcheck"):
        pmemcheck.require()
    main(["doctor", "--json"])
    row = next(check for check in json.loads(capsys.readouterr().out)["checks"] if check["name"] == "pmemcheck")
    assert not row["ok"] and "POWERCUT_PMEMCHECK" in row["detail"]
