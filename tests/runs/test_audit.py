"""`powercut audit`: the split of the images, what it prints, its exit codes, and the real thing on small scenarios."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from powercut.base import paths
from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.runs import audit
from powercut.scenarios import targets
from tests.real_engine import require_engine

RECORD = {"target", "variant", "scenario", "model", "atoms", "seed", "images", "distinct", "answers", "not_compared",
          "differences", "crash_points", "crash_states", "instrumented", "left_out", "seconds"}  # fmt: skip


@pytest.mark.parametrize(
    ("images", "scenarios", "expected"),
    [(10, 3, [4, 3, 3]), (9, 3, [3, 3, 3]), (2, 3, [1, 1, 0]), (100_000, 1, [100_000])],
)
def test_images_are_split_equally_with_the_remainder_to_the_first(
    images: int, scenarios: int, expected: list[int]
) -> None:
    assert audit.shares(images, scenarios) == expected


def test_text(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("clean")
    house.scenario("hooked")
    assert main(["audit", "level", "--images", "7"]) == ExitCode.CLEAN
    first, second, summary = capsys.readouterr().out.splitlines()
    assert (
        first
        == "level:published clean: 4 images (4 distinct, of 1.1e21 crash states), 40 answers compared, 0 differences"
    )
    assert "instrumented one ran, with its hooks off" in second
    assert "2 executions that the engine stops were not compared" in second
    assert summary == "audit: 7 images over 2 scenarios, 0 differences"


def test_differences_as_text(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("twice")
    assert main(["audit", "level"]) == ExitCode.FINDINGS
    printed = capsys.readouterr().out
    assert printed.count("before sfence: lookup(17)") == 5
    assert "predicted  OK 2a" in printed
    assert "plain run  NOT_FOUND" in printed
    assert "... and 2 more" in printed
    assert printed.endswith("audit: 10000 images over 1 scenario, 7 differences\n")


def test_json(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("clean")
    house.scenario("lost")
    assert main(["audit", "level", "--images", "100", "--model", "eadr", "--seed", "5", "--json"]) == ExitCode.FINDINGS
    printed = json.loads(capsys.readouterr().out)
    assert list(printed) == ["images", "differences", "cases", "audits"]
    assert (printed["images"], printed["differences"]) == (100, 1)
    assert printed["cases"] == [
        {
            "target": "level", "variant": "published", "scenario": "lost", "crash_point": 0, "when": "before sfence",
            "lines": [{"line": 64, "content": "2a" * 64}], "query": "lookup(17)", "predicted": ["OK 2a"],
            "actual": "NOT_FOUND",
        }
    ]  # fmt: skip
    assert [set(item) for item in printed["audits"]] == [RECORD, RECORD]
    assert {(item["model"], item["seed"]) for item in printed["audits"]} == {("eadr", 5)}


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["broken"], ExitCode.INCOMPLETE),
        (["silent"], ExitCode.INCOMPLETE),
        (["refused"], ExitCode.USAGE),
        (["broken", "lost"], ExitCode.FINDINGS),
        (["broken", "lost", "refused"], ExitCode.USAGE),
    ],
)
def test_the_worst_exit_code_wins_and_others_are_still_audited(
    house: Any, capsys: pytest.CaptureFixture[str], names: list[str], code: ExitCode
) -> None:
    for name in names:
        house.scenario(name)
    assert main(["audit", "level"]) == code
    printed = capsys.readouterr()
    assert ("lost:" in printed.out) == ("lost" in names)
    assert "powercut: " in printed.err


@pytest.mark.parametrize(
    "arguments",
    [["--images", "0"], ["--images", "many"], ["--model", "tso"], ["--scenario", "no_such"], ["no_such_target"]],
)
def test_usage_errors(house: Any, arguments: list[str]) -> None:
    house.scenario("clean")
    assert main(["audit", *arguments]) == ExitCode.USAGE


def real(capsys: pytest.CaptureFixture[str], *arguments: str, out: Path) -> tuple[int, dict[str, Any]]:
    require_engine()
    code = main(["audit", *arguments, "--json", "--out", str(out)])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("model", ["adr", "eadr"])
def test_the_engine_tells_the_truth(tmp_path: Path, capsys: pytest.CaptureFixture[str], model: str) -> None:
    """Every crash state of a small scenario is drawn, run plain, and as predicted."""
    code, printed = real(
        capsys,
        "level:hardened",
        "--scenario",
        "update_full_bucket",
        "--images",
        "20000",
        "--model",
        model,
        out=tmp_path,
    )
    assert (code, printed["differences"], printed["cases"]) == (ExitCode.CLEAN, 0, [])
    (item,) = printed["audits"]
    assert item["images"] == 20000
    assert str(item["distinct"]) == item["crash_states"]
    assert not item["instrumented"]


def test_failures_of_the_target_are_predicted_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Recoveries that die of a signal or of an abort, hang, or store outside of what the target owns."""
    code, printed = real(
        capsys, "patterns", *(word for name in ("recovery_failed", "recovery_failed_segv", "recovery_hang",
        "wild_store", "unusable") for word in ("--scenario", f"self_test/{name}*")), "--images", "500", out=tmp_path,
    )  # fmt: skip
    assert (code, printed["differences"]) == (ExitCode.CLEAN, 0)
    stopped = {item["scenario"] for item in printed["audits"] if item["not_compared"]}
    assert stopped == {"recovery_hang", "wild_store", "unusable"}


def test_every_target_is_asked_the_same_in_both_builds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also what only some of them can be asked: regions, blocks, and of buffered ones a dump."""
    maps = sorted(set(targets.libraries()) - {"patterns", "mb", "mdb", "mdb_l", "unbuffered"})
    code, printed = real(capsys, *maps, "--scenario", "map_update", "--images", "100", out=tmp_path)
    assert (code, printed["differences"], printed["cases"]) == (ExitCode.CLEAN, 0, [])
    assert {item["target"] for item in printed["audits"]} == set(maps)


def test_counters_on_a_device_are_asked_the_same_in_both_builds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, printed = real(capsys, "--scenario", "counts", "--images", "400", out=tmp_path)
    assert (code, printed["differences"], printed["cases"]) == (ExitCode.CLEAN, 0, [])
    assert {item["target"] for item in printed["audits"]} == {"mb", "mdb", "mdb_l", "unbuffered"}


def test_every_target_of_the_build_has_a_plain_library() -> None:
    """Same name in lib/plain, and nothing in it asks for the hooks."""
    require_engine()
    libraries = sorted(paths.library_dir().glob("libpowercut-*.so"))
    assert libraries
    for library in libraries:
        plain = library.parent / "plain" / library.name
        assert plain.is_file()
        symbols = subprocess.run(["nm", "-D", str(plain)], capture_output=True, text=True, check=True).stdout
        assert "powercut_target_entry" in symbols
        assert "__powercut_" not in symbols
