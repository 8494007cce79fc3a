"""Minimising the operations of a program that are lines of a file."""

from __future__ import annotations

import json
import random
from itertools import combinations
from pathlib import Path

import pytest

from powercut.minimise.ddmin import ddmin
from tests.program.builds import compiled
from tests.program.program_mode import Kv

SOURCE = Path(__file__).parent / "programs" / "ops.c"


def many_lines(count: int) -> list[str]:
    """Two of them are the bug, far from each other."""
    draw = random.Random(2026)
    lines = [f"put {draw.choice([0, 1, 2, 4, 5])} {draw.randrange(1000)}" for _ in range(count)]
    lines[count // 4], lines[count // 2], lines[count * 3 // 4] = "seal 3", "seal 7", "put 3 77"
    return lines


def build(kv: Kv) -> None:
    compiled(kv.folder / "ops", ["-O0", "-g", "-Wall", "-Wextra", "-Werror", SOURCE])


def found(kv: Kv, record: str, *more: str) -> Path:
    """The file of the one finding of a run."""
    commands = ["--record", record, "--ops-file", "lines", "--recover", "./ops check pool", "--pool", "pool", *more]
    answer = kv.cli("run", *commands, "--format", "text", "--explain", "0", "--json")
    assert answer.code == 1, answer
    (finding,) = answer.run["findings"]
    return Path(finding["file"])


#: By its name in the command, and as its input.
@pytest.mark.parametrize(
    ("record", "count"),
    [
        *(pytest.param("./ops run pool lines", count, marks=pytest.mark.long) for count in (12, 40)),
        ("./ops run pool", 4),
    ],
)
def test_a_bug_of_two_of_many_lines_comes_to_these_two(kv: Kv, record: str, count: int) -> None:
    build(kv)
    lines = many_lines(count) if count > 4 else ["put 3 1", "seal 3", "put 3 77", "put 5 1"]
    (kv.folder / "lines").write_text("".join(f"{line}\n" for line in lines))
    file = found(kv, record)
    answer = kv.cli("minimise", str(file), "--json")
    assert answer.code == 1, answer
    told = json.loads(answer.out)
    assert [item["text"] for item in told["minimal"]["operations"]] == ["seal 3", "put 3 77"]
    assert (told["minimal"]["operations_before"], told["minimal"]["complete"]) == (count, True)
    smallest = file.with_suffix(".ops")
    assert Path(told["ops_file"]) == smallest
    assert smallest.read_text() == "seal 3\nput 3 77\n"
    # Earlier files stay, and the remaining lines show the bug.
    assert not kv.pool.exists()
    (kv.folder / "lines").write_bytes(smallest.read_bytes())
    assert found(kv, record).name == file.name
    # One that is mended is clean.
    (kv.folder / "lines").write_text("put 3 77\n")
    assert kv.cli("minimise", str(file)).code == 0


def test_a_limit_ends_the_search_and_says_so(kv: Kv) -> None:
    build(kv)
    (kv.folder / "lines").write_text("".join(f"{line}\n" for line in many_lines(24)))
    file = found(kv, "./ops run pool {ops}")
    answer = kv.cli("minimise", str(file), "--limit", "6", "--out", "kept")
    assert answer.code == 1
    assert "the search ended after 6 candidates" in answer.out
    (kept,) = (kv.folder / "kept" / "findings").glob("*.json")
    assert 2 <= len(kept.with_suffix(".ops").read_text().splitlines()) < 24
    assert kv.cli("reproduce", str(kept)).code == 1
    assert f"powercut minimise {file}" in kv.cli("explain", str(file)).err


def test_what_cannot_be_minimised_is_told(kv: Kv) -> None:
    kv.bug("order")
    file = kv.judge("./kv", "--explain", "0").run["findings"][0]["file"]
    assert "--ops-file FILE" in kv.refused("minimise", file)
    build(kv)
    (kv.folder / "lines").write_text("seal 3\nput 3 77\n")
    lines = str(found(kv, "./ops run pool"))
    assert "no scenario" in kv.refused("minimise", lines, "--save-scenario", "a.toml")
    (kv.folder / "lines").unlink()
    assert "no such file" in kv.refused("minimise", lines)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--ops-file", "nowhere"], "no such file"),
        (["--ops-file", "."], "no regular file"),
        (["--ops-file", "lines", "--ops", "echo"], "from one place"),
    ],
)
def test_bad_files_of_operations(kv: Kv, more: list[str], says: str) -> None:
    (kv.folder / "lines").write_text("")
    assert says in kv.refused("run", *kv.arguments(), *more)


def test_ddmin_misses_no_item_that_can_be_missed() -> None:
    """Against all subsets: what is left shows, and without any one of its items it does not."""
    draw = random.Random(2026)
    for _ in range(300):
        items = tuple(range(draw.randrange(1, 9)))
        wanted = [set(draw.sample(items, draw.randrange(0, len(items) + 1))) for _ in range(draw.randrange(1, 3))]

        def shows(part: tuple[int, ...], wanted: list[set[int]] = wanted) -> bool:
            return any(one <= set(part) for one in wanted)

        left = ddmin(items, shows)
        assert shows(left) and list(left) == sorted(left)
        assert not left or not any(shows(smaller) for smaller in combinations(left, len(left) - 1))
