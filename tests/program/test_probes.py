"""Probes: commands that use each recovered image, on the key-value log and on a table with a free list."""

from __future__ import annotations

import json
from pathlib import Path

from tests.program.program_mode import Kv
from tests.program.test_program_pairs import SOURCES, _build


def test_lost_free_list_only_a_probe_sees_it(kv: Kv) -> None:
    """It is told of with its command and what it should print, reproduced, and explained."""
    _build(kv, "lost_free_list", bug=True, tracer="llvm", instrumented=True)
    words = ["run", "--record", "./prog run pool", "--recover", "./prog check pool", "--dump", "./prog dump pool"]
    words += ["--pool", "pool", "--format", "text", "--explain", "0", "--json"]
    blind = kv.cli(*words).run
    assert (blind["verdict"], blind["findings"]) == ("consistent", [])
    (note,) = (note for note in blind["not_checked"]["notes"] if "only reads" in note)
    assert note == "a dump that only reads misses faults that only a write meets: --probe writes to each image"

    run = kv.cli(*words, "--probe", "./prog use pool", "--probe", "./prog dump pool").run
    assert not [note for note in run["not_checked"]["notes"] if "only reads" in note]
    (item,) = run["findings"]
    record = json.loads(Path(item["file"]).read_text())
    assert record["query"]["text"] == f"probe 2: ./prog dump {kv.pool}"
    assert record["expected"] == ["1=100\n8=800\n3=300\n9=900"]
    assert record["found"] == "1=100\n8=800\n9=900"
    assert record["program"]["probes"] == [["./prog", "use", "pool"], ["./prog", "dump", "pool"]]

    answer = kv.cli("reproduce", item["file"])
    assert (answer.code, "The finding holds." in answer.err) == (1, True), answer
    assert kv.cli("explain", item["file"]).code == 0
    cause = json.loads(Path(item["file"]).read_text())["cause"]
    assert (cause["kind"], cause["fix"]["kind"], cause["recheck"]["held"]) == ("order", "flush-and-fence", True)
    source = (SOURCES / "lost_free_list.c").read_text().splitlines()
    assert "links it" in source[int(cause["first"]["site"].rpartition(":")[2]) - 1]


def test_a_script_is_its_lines_in_order_behind_those_of_the_command_line(kv: Kv) -> None:
    (kv.folder / "session").write_text("# looks twice\n\n  ./kv dump pool\n./kv check 'pool'\n")
    answer = kv.judge("./kv", "--probe", "./kv check {image}", "--probe-script", "session")
    assert (answer.code, answer.run["verdict"]) == (0, "consistent"), answer
    assert answer.run["program"]["probes"] == [
        ["./kv", "check", "{image}"],
        ["./kv", "dump", "pool"],
        ["./kv", "check", "pool"],
    ]
    (record,) = (kv.folder / ".powercut").glob("runs/*.json")
    assert "--probe-script session" in json.loads(record.read_text())["command"]


def test_without_a_dump_what_probes_print_is_judged(kv: Kv) -> None:
    kv.bug("unflushed")
    run = kv.judge("./kv", "--probe", "./kv check pool", "--probe", "./kv dump pool", "--explain", "0").run
    assert {item["invariant"] for item in run["findings"]} == {"lost-item"}
    assert run["findings"][0]["message"].startswith(
        f"After recovery the output of probe 2 ('./kv dump {kv.pool}') is that after 0 operations, but 1 had ended: "
    )


def test_a_trace_is_explored_with_probes(kv: Kv) -> None:
    kv.bug("unflushed")
    assert kv.cli("record", *kv.arguments()[:2], "--pool", "pool", "-o", "run.pct").code == 0
    answer = kv.cli(
        "explore", "run.pct", "--recover", "./kv check pool", "--probe", "./kv dump pool",
        "--format", "text", "--explain", "0", "--json",
    )  # fmt: skip
    assert (answer.code, answer.run["findings"][0]["invariant"]) == (1, "lost-item")


# ---- bad input -----------------------------------------------------------------------------------------------------


def test_a_probe_that_cannot_be_run(kv: Kv) -> None:
    (kv.folder / "folder").mkdir()
    (kv.folder / "bytes").write_bytes(b"\xff\xfe")
    (kv.folder / "empty").write_text("\n# nothing\n")
    (kv.folder / "quote").write_text("./kv dump pool\n./kv put 'x\n")
    (kv.folder / "missing").write_text("\n./missing pool\n")
    for words, expected in {
        ("--probe", "./missing"): "--probe",
        ("--probe", ""): "an empty command",
        ("--probe", "./kv dump pool > x"): "'>' would be an argument",
        ("--probe-script", "nowhere"): "no such file",
        ("--probe-script", "folder"): "this is a folder",
        ("--probe-script", "bytes"): "not UTF-8",
        ("--probe-script", "empty"): "it has no command",
        ("--probe-script", "quote"): "quote:2 ./kv put 'x: cannot be split into words",
        ("--probe-script", "missing"): "missing:2",
    }.items():
        assert expected in kv.refused("run", *kv.arguments("./kv", *words)), words


def test_a_probe_that_refuses_a_whole_pool_judges_nothing(kv: Kv) -> None:
    said = kv.refused("run", *kv.arguments("./kv", "--probe", "true", "--probe", "false"))
    assert "--probe false: this does not accept the pool as the program left it" in said


def test_a_probe_that_hangs_on_a_whole_pool_judges_nothing(kv: Kv) -> None:
    said = kv.refused("run", *kv.arguments("./kv", "--probe", "sleep 60", "--timeout", "200ms"))
    assert "--probe sleep 60" in said
    assert "no end within --timeout" in said


def test_a_probe_that_prints_something_else_each_time_judges_nothing(kv: Kv) -> None:
    kv.odd("dump:random")
    said = kv.refused("run", *kv.arguments("./kv", "--probe", "true", "--probe", "./kv dump pool"))
    assert "--probe ./kv dump pool: run twice" in said


def test_more_probes_than_files_may_be_open_are_refused(kv: Kv) -> None:
    (kv.folder / "session").write_text("true\n" * 30)
    said = kv.refused("run", *kv.arguments("./kv", "--probe-script", "session", "--jobs", "1000"))
    assert "31 commands in 1000 jobs need" in said


def test_a_record_of_a_finding_asks_before_its_probes_run(kv: Kv) -> None:
    kv.bug("unflushed")
    (item, *_) = kv.judge("./kv", "--dump", "./kv dump pool", "--explain", "0").run["findings"]
    file = Path(item["file"])
    record = json.loads(file.read_text())
    record["program"]["probes"] = [["touch", "pwned"]]
    file.write_text(json.dumps(record))
    assert "touch pwned" in kv.refused("reproduce", str(file))
    assert not (kv.folder / "pwned").exists()
