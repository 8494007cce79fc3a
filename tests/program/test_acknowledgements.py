"""`--ack`: lines of the output as acknowledgements. A program that prints too early is found, its twin is clean."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.program.builds import compiled
from tests.program.program_mode import Answer, Kv

SOURCE = Path(__file__).parent / "programs" / "acks.c"
#: The build, the medium, and the tracer that records it.
WAYS = [("acks", "memory"), ("acks-plain", "memory"), ("acks", "device"), ("acks-plain", "device")]
#: Each tracer and each medium once; s: in pieces, t: by another thread. The rest is for long runs.
QUICK = [(("acks", "memory"), "t"), (("acks-plain", "device"), "s")]
ways = pytest.mark.parametrize(
    "way", [pytest.param(way, id="-".join(way), marks=[] if way == WAYS[1] else [pytest.mark.long]) for way in WAYS]
)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`acks`, as `powercut cc` builds it, and `acks-plain`, as anybody would."""
    folder = tmp_path_factory.mktemp("programs")
    words = ["-O0", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{SOURCE.parents[3] / 'targets/include'}"]
    compiled(folder / "acks", [*words, str(SOURCE)])
    compiled(folder / "acks-plain", ["-gdwarf-4", *words, str(SOURCE)], traced=False)
    return folder


@pytest.fixture
def folder(kv: Kv, programs: Path) -> Kv:
    for name in ("acks", "acks-plain"):
        (kv.folder / name).symlink_to(programs / name)
    return kv


def words(way: tuple[str, str], how: str, *more: str) -> list[str]:
    program, medium = way
    commands = ["--record", f"./{program} {medium} file {how}", "--recover", "./acks-plain check file"]
    file = ["--device" if medium == "device" else "--pool", "file"]
    return [*commands, "--dump", "./acks-plain dump file", *file, "--format", "text", "--explain", "0", *more]


def judge(kv: Kv, way: tuple[str, str], how: str, *more: str, ack: str = "^stored (.*)") -> Answer:
    return kv.cli("run", *words(way, how, "--ack", ack, *more), "--json")


@pytest.mark.parametrize(
    ("way", "how"),
    [
        pytest.param(way, how, id=f"{'-'.join(way)}-{how}", marks=[] if (way, how) in QUICK else pytest.mark.long)
        for way in WAYS
        for how in ("x", "s", "t", "r")
    ],
)
def test_an_acknowledgement_before_the_flush_is_found_and_its_twin_is_clean(
    folder: Kv, way: tuple[str, str], how: str
) -> None:
    clean = judge(folder, way, how)
    assert (clean.code, clean.run["verdict"], clean.run["coverage"]["kind"]) == (0, "consistent", "complete"), clean
    assert clean.run["coverage"]["acknowledged"]
    early = judge(folder, way, f"e{how}")
    assert (early.code, early.run["verdict"]) == (1, "inconsistent")
    lost = [item for item in early.run["findings"] if item["invariant"] == "lost-item"]
    assert {item["operation"] for item in lost} <= {f"ack({number})" for number in range(1, 7)}
    assert lost


@pytest.mark.parametrize("way", WAYS[:2], ids="-".join)
def test_what_leaves_a_buffer_late_acknowledges_late(folder: Kv, way: tuple[str, str]) -> None:
    answer = judge(folder, way, "eb")
    assert (answer.code, answer.run["findings"]) == (3, [])
    assert "acknowledgements left the program together" in answer.run["coverage"]["reason"]
    assert "all 6 acknowledgements left the program at its end: it holds its output back" in "\n".join(
        answer.run["not_checked"]["notes"]
    )


@ways
def test_between_those_that_leave_together_only_exit_statuses_count(folder: Kv, way: tuple[str, str]) -> None:
    clean = judge(folder, way, "2")
    assert (clean.code, clean.run["verdict"]) == (3, "consistent"), clean
    assert "acknowledgements left the program together" in clean.run["coverage"]["reason"]
    assert "6 of 6 acknowledgements left the program together with others" in "\n".join(
        clean.run["not_checked"]["notes"]
    )
    # A half of two operations is the dump of neither: its kind says no more.
    assert {item["invariant"] for item in judge(folder, way, "2e").run["findings"]} == {"structure"}


def test_a_trace_has_the_operations_and_needs_no_expression_any_more(folder: Kv) -> None:
    given = words(WAYS[0], "e")
    assert folder.cli("record", *given[:2], "--pool", "file", "--ack", "^stored", "-o", "t.pct").code == 0
    explored = folder.cli("explore", "t.pct", *given[2:6], "--format", "text", "--explain", "0")
    assert explored.code == 1
    assert "lost-item" in explored.out
    assert "ack(stored 2)" in explored.out


@pytest.mark.long
def test_the_cause_is_a_store_that_is_not_durable_when_it_is_acknowledged(folder: Kv) -> None:
    answer = folder.cli("run", *words(WAYS[0], "e", "--ack", "^stored", "--explain", "1"))
    assert "fence before the program acknowledges 'stored" in answer.out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--ack", "^stored ("], "not a regular expression"),
        (["--ack", ".*"], "matches an empty line, and so every line"),
        (
            ["--ack", "OK"],
            "no line that the program printed matches this, so nothing would be acknowledged; it ",
        ),
        (["--ack", "stored", "--tracer", "pin"], "the tracer 'pin' does not look at the program's output"),
        (["--ack", "stored", "--threads", "scheduled"], "belongs to no thread of the program"),
    ],
)
def test_expressions_that_cannot_acknowledge(folder: Kv, more: list[str], said: str) -> None:
    assert said in folder.refused("run", *words(WAYS[0], "x", *more))


@pytest.mark.parametrize("way", WAYS[:2], ids="-".join)
def test_a_program_that_marks_its_operations_has_no_other_ones(folder: Kv, way: tuple[str, str]) -> None:
    assert "the program marks its operations itself" in folder.refused("run", *words(way, "m", "--ack", "stored"))
