"""Program mode end to end: a key-value log over raw clwb, recorded by both tracers, judged by its own commands."""

import json
from pathlib import Path

import pytest

from tests.program.program_mode import SOURCE, Kv, compile_traced

#: The build and the tracer that it is recorded with when nobody says.
BUILDS = {"./kv": "llvm", "./kv-plain": "valgrind"}


@pytest.mark.parametrize("program", BUILDS)
def test_a_correct_program_is_clean_and_complete(kv: Kv, program: str) -> None:
    answer = kv.judge(program, "--dump", f"{program} dump pool")
    run = answer.run
    assert (answer.code, run["verdict"], run["coverage"]["kind"]) == (0, "consistent", "complete")
    assert run["program"]["tracer"] == BUILDS[program]
    assert run["program"]["pools"][0]["path"] == str(kv.pool)
    assert run["program"]["pools"][0]["size"] == 8192
    assert run["target"] == program.removeprefix("./")


def test_both_tracers_see_the_same_images(kv: Kv) -> None:
    outcomes = set()
    for program in BUILDS:
        # The results of recovery on them. Crash points differ, since Valgrind sees the C library's fences. The number
        # of images that are run differs, since a recovery built with `powercut cc` tells its reads.
        run = kv.judge(program).run
        outcomes.add((run["leaves"], run["coverage"]["kind"]))
    assert len(outcomes) == 1


@pytest.mark.parametrize("program", BUILDS)
def test_a_missing_flush_is_found_with_its_line(kv: Kv, program: str) -> None:
    kv.bug("order")
    answer = kv.judge(program, "--explain", "0")
    assert (answer.code, answer.run["verdict"]) == (1, "inconsistent")
    sites = {site for item in answer.run["findings"] for site in (item["store_site"], item["lost_site"]) if site}
    assert {item["invariant"] for item in answer.run["findings"]} == {"recovery-failed"}
    lines = Path(__file__).with_name("programs").joinpath("kv.c").read_text().splitlines()
    publishing = next(number for number, line in enumerate(lines, 1) if "publishes the entry" in line)
    assert any(site.endswith(f"kv.c:{publishing}") for site in sites), sites


@pytest.mark.parametrize("program", BUILDS)
def test_only_the_output_shows_an_operation_that_was_lost(kv: Kv, program: str) -> None:
    kv.bug("unflushed")
    alone = kv.judge(program).run
    assert (alone["verdict"], alone["coverage"]["acknowledged"]) == ("consistent", False)
    run = kv.judge(program, "--dump", f"{program} dump pool", "--explain", "0").run
    assert run["coverage"]["acknowledged"]
    assert {item["invariant"] for item in run["findings"]} == {"lost-item"}


def test_commands_that_powercut_cc_built_tell_what_they_read(kv: Kv) -> None:
    compile_traced(kv.folder / "many", source=SOURCE.with_name("many.c"))
    kv.monkeypatch.setenv("POWERCUT_VALGRIND", "/no/such/valgrind")
    run = kv.judge("./many").run
    assert (run["verdict"], run["coverage"]["kind"]) == ("consistent", "complete")
    assert int(run["coverage"]["covered"]) == 2**20
    assert run["executions"] < 2**14


def test_with_keep_pool_the_pool_stays_as_the_program_left_it(kv: Kv) -> None:
    kv.judge("./kv", "--keep-pool")
    before = kv.pool.read_bytes()
    kept = ("--keep", "--keep-pool")
    assert kv.cli("record", *kv.arguments()[:2], "--pool", "pool", "-o", "second.pct", *kept).code == 0
    assert kv.pool.read_bytes()[64 * 5 : 64 * 8] != bytes(64 * 3)
    assert (kv.folder / "second.kept" / "0.before").read_bytes() == before
    # The three entries of the first run are the trace's beginning, and no crash loses them.
    run = kv.cli("explore", "second.pct", "--recover", "./kv check pool", "--format", "text", "--json").run
    assert run["verdict"] == "consistent"
    assert run["program"]["recover"] == ["./kv", "check", "pool"]


def test_state_of_an_earlier_run_the_second_run_of_a_command_finds_what_the_first_has_found(kv: Kv) -> None:
    kv.bug("order")
    first, second = kv.judge().run, kv.judge("./kv", "--explain", "0").run
    assert not kv.pool.exists()
    assert [item["fingerprint"] for item in second["findings"]] == [item["fingerprint"] for item in first["findings"]]
    # A pool that was there is put back, with its name, its permissions and its contents.
    kv.pool.write_bytes(bytes(64) + b"mine" + bytes(8124))
    kv.pool.chmod(0o600)
    kv.judge("./kv", "--explain", "0")
    assert kv.pool.read_bytes() == bytes(64) + b"mine" + bytes(8124)
    assert kv.pool.stat().st_mode & 0o777 == 0o600
    assert not list(kv.folder.glob(".pool*"))


def test_a_trace_of_a_program_is_explored_later_and_elsewhere(kv: Kv) -> None:
    kv.bug("order")
    recorded = kv.cli("record", "--record", "./kv run pool", "--pool", "pool", "-o", "run.pct")
    assert recorded.code == 0
    assert "powercut explore run.pct --recover" in recorded.err
    assert not kv.pool.exists()
    answer = kv.cli("explore", "run.pct", "--recover", "./kv check pool", "--explain", "0", "--format", "text")
    assert answer.code == 1
    assert "recovery-failed" in answer.out


def test_a_finding_is_reproduced_and_its_image_written(kv: Kv) -> None:
    kv.bug("order")
    file = kv.judge("./kv", "--explain", "0").run["findings"][0]["file"]
    answer = kv.cli("reproduce", file, "--image-out", "image")
    assert (answer.code, "The finding holds." in answer.err) == (1, True)
    image = kv.folder / "image"
    assert image.stat().st_size == 8192
    # The image is one of the program's own files: its own check refuses it, too.
    record = json.loads(Path(file).read_text())
    for line in record["image"]:
        at = line["offset"]
        assert image.read_bytes()[at : at + 64].hex() == line["bytes"]
    # With a recovery that accepts everything it does not hold any more.
    record["program"]["recover"] = ["true", "pool"]
    Path(file).write_text(json.dumps(record))
    assert kv.cli("reproduce", file, "--trust").code == 0


def test_a_finding_that_does_not_fit_its_trace_is_refused(kv: Kv) -> None:
    kv.bug("order")
    file = Path(kv.judge("./kv", "--explain", "0").run["findings"][0]["file"])
    record = json.loads(file.read_text())
    line = next(line for line in record["image"] if line["candidates"] > 1)
    line["bytes"] = "ff" * 64
    file.write_text(json.dumps(record))
    assert "cannot hold what the finding says" in kv.refused("reproduce", str(file))


def test_the_text_report_says_how_it_was_recorded_and_judged(kv: Kv) -> None:
    kv.bug("order")
    answer = kv.cli("run", *kv.arguments("./kv", "--name", "my log", "--format", "text,html"))
    assert "target my log, scenario ./kv run pool" in answer.out
    for row in (
        "  Recorded: ./kv run pool (with llvm, exit status 0)",
        "  Recovery: ./kv check pool",
        f"  Pools: {kv.pool} (8,192 bytes)",
    ):
        assert row in answer.out.splitlines()
    page = (kv.folder / ".powercut" / "report.html").read_text()
    assert "my log" in page
    assert "./kv check pool" in page
    assert str(kv.pool) in page


def test_the_folder_of_the_commands_may_be_another_one(kv: Kv, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = kv.folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    answer = kv.judge("./kv", "--cwd", str(kv.folder), "--keep-pool")
    assert answer.code == 0
    assert kv.pool.exists()
    assert (elsewhere / ".powercut" / "traces" / "kv-program.pct").exists()


def test_a_driver_feeds_the_program(kv: Kv) -> None:
    record = "sh -c 'read count && exec ./kv run pool $count'"
    arguments = ["--record", record, "--ops", "echo 5", "--recover", "./kv check pool", "--pool", "pool"]
    answer = kv.cli("run", *arguments, "--tracer", "llvm", "--format", "text", "--json", "--keep-pool")
    assert answer.code == 0
    assert len(kv.cli("explore", ".powercut/traces/sh-program.pct", "--recover", "true pool", "--json").out) > 0
    assert kv.pool.read_bytes()[8] == 5


def test_pmem_is_forced_unless_the_user_says_otherwise(kv: Kv, monkeypatch: pytest.MonkeyPatch) -> None:
    record = "sh -c 'echo forced=$PMEM_IS_PMEM_FORCE; exec ./kv run pool'"
    for wanted in ("1", "0"):
        if wanted == "0":
            monkeypatch.setenv("PMEM_IS_PMEM_FORCE", "0")
        arguments = ["--record", record, "--recover", "./kv check pool", "--pool", "pool", "--tracer", "llvm"]
        assert kv.cli("run", *arguments, "--format", "text").code == 0
        run = json.loads((kv.folder / ".powercut/runs/sh-program-adr.json").read_text())
        assert run["program"]["output"]["stdout"] == [f"forced={wanted}"]
