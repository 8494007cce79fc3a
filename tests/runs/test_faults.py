"""Each kind of fault: a pattern that stands it is left alone, one that is made to fail at it is found."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from powercut.base import paths
from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.runs import faults
from powercut.runs.faults import KINDS, ONLY_ON, fitting
from tests.scenario_texts import scenario_text

#: bug of pattern `checked` -> the fault that shows it, and an invariant that is then violated
BUGS = {
    "swallowed": ("media", "lost-item"),
    "unchecked": ("bitflip", "torn-value"),
    "throwing_new": ("alloc", "unhandled-failure"),
    "trusts_zeroes": ("stale", "stale-contents"),
}
STEPS = (
    'op = "insert", from = 1, to = 2',
    'op = "update", keys = [1]',
    'op = "erase", keys = [2]',
    'op = "lookup", keys = [1, 2]',
)


pytestmark = pytest.mark.usefixtures("real_engine")


def of_pattern(name: str, pattern: str, bug: str) -> str:
    config = f'pattern = "{pattern}"\nbug = "{bug}"\ncapacity = 3'
    return scenario_text(name, "patterns", *STEPS, config=config, pool='size = "16KiB"')


def inject(
    folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str, bug: str = "none", pattern: str = "checked"
) -> tuple[int, list[dict[str, Any]]]:
    path = folder / f"{pattern}_{bug}.toml"
    path.write_text(of_pattern(path.stem, pattern, bug))
    code = main(["faults", "patterns", "--scenario", str(path), "--out", str(folder / "out"), "--json", *arguments])
    return code, json.loads(capsys.readouterr().out)["runs"]


def test_a_table_whose_regions_lie_in_the_pool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`regions` of the chained table reads the pool, which the engine gives to a target alone while it runs."""
    command = ["faults", "chained:hardened", "--scenario", "map-ycsb-load", "--fault", "alloc", "--out", str(tmp_path)]
    assert main([*command, "--json"]) == ExitCode.CLEAN
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert (run["error"], run["complete"]) == (None, True)
    assert run["effects"]["detected"] > 0


def test_scenarios_with_threads_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    injected = []
    monkeypatch.setattr(faults, "run_faults", lambda request, *_, **__: injected.append(request) or [])
    assert main(["faults", "level:hardened", "constructions:hardened", "--out", str(tmp_path)]) == ExitCode.CLEAN
    assert injected and all(request.scenario.content.race is None for request in injected)
    told = capsys.readouterr().err
    assert re.search(r"^\d+ built-in scenarios do not apply to level:hardened: level_threads_\w+, ", told, re.M)
    assert " need threads, which powercut faults does not follow" in told


def test_a_target_of_threads_alone_is_not_judged_as_clean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "run_faults", lambda *_, **__: [])
    threads = ["--scenario", "level_threads_*"]
    assert main(["faults", "level:hardened", *threads, "--out", str(tmp_path)]) == ExitCode.USAGE
    told = capsys.readouterr().err
    assert "level:hardened: no built-in scenario applies to this target, so nothing was judged: " in told


def test_a_pattern_that_stands_every_fault_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, runs = inject(tmp_path, capsys)
    assert [run["fault"] for run in runs] == list(fitting("adr")) == [kind for kind in KINDS if kind not in ONLY_ON]
    assert all((run["findings"], run["complete"], run["error"]) == ([], True, None) for run in runs)
    assert code == ExitCode.CLEAN
    effects = {run["fault"]: run["effects"] for run in runs}
    assert all(sum(effects[run["fault"]].values()) == run["cases"] == run["cases_of"] for run in runs)
    assert all(effects[kind]["detected"] > 0 for kind in ("media", "bitflip", "alloc"))
    assert effects["stale"]["harmless"] == 16384 // 64
    (allocations,) = (run for run in runs if run["fault"] == "alloc")
    assert [run["verdict"] for run in allocations["explored"]] == ["consistent"] * allocations["cases"]


@pytest.mark.parametrize("bug", BUGS)
def test_each_kind_finds_its_bug_and_no_other_kind_does(
    bug: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, runs = inject(tmp_path, capsys, bug=bug)
    kind, invariant = BUGS[bug]
    assert {run["fault"] for run in runs if run["findings"]} == {kind}
    (run,) = (run for run in runs if run["fault"] == kind)
    assert invariant in {finding["invariant"] for finding in run["findings"]}
    assert code == ExitCode.FINDINGS
    if kind != "bitflip":
        assert any("targets/patterns/" in (finding["site"] or "") for finding in run["findings"])


def test_damage_that_nobody_claims_to_detect_is_counted_and_is_no_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, runs = inject(tmp_path, capsys, "--fault", "bitflip,stale", pattern="plain")
    assert [run["findings"] for run in runs] == [[], []]
    assert [run["claimed"] for run in runs] == [False, False]
    assert all(run["effects"]["silent"] > 0 for run in runs)
    assert code == ExitCode.CLEAN


def test_every_persistent_allocation_fails_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, (run,) = inject(tmp_path, capsys, "--fault", "alloc", pattern="blocks")
    # The handle of open, and one block for each of two inserts; each is answered by FULL.
    assert (run["cases"], run["effects"]["detected"], run["findings"]) == (3, 3, [])
    assert all(item["verdict"] == "consistent" for item in run["explored"])
    assert code == ExitCode.CLEAN


def test_level_open_let_bad_alloc_escape(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(
        ["faults", "level:hardened", "--scenario", "expand", "--fault", "alloc", "--out", str(tmp_path), "--json"]
    )
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["how"]["open answers FULL"] == 1
    assert run["effects"]["detected"] == run["cases"] and run["findings"] == []
    assert [item["verdict"] for item in run["explored"]] == ["consistent"] * run["cases"]
    assert code == ExitCode.CLEAN


def test_what_is_wrong_without_a_fault_is_not_held_against_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The published erase clears one of two copies that an earlier cut left, with or without memory.
    selection = ["level:published", "--scenario", "duplicates_left_by_crash_erase"]
    code = main(["faults", *selection, "--fault", "alloc", "--out", str(tmp_path), "--json"])
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["effects"]["silent"] == 0 and run["findings"] == []
    assert any("wrong without any fault" in note for note in run["notes"])
    assert "inconsistent" in {item["verdict"] for item in run["explored"]}
    assert code == ExitCode.FINDINGS


def test_a_budget_is_a_sample_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, (run,) = inject(tmp_path, capsys, "--fault", "bitflip", "--budget", "100x")
    assert not run["complete"] and "of" in run["reason"]
    assert run["executions"] <= 110
    assert (run["points"], run["points_of"]) == (1, 9)  # six operations, format, open, close
    assert code == ExitCode.INCOMPLETE


def test_same_seed_same_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def without_clock(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{name: value for name, value in run.items() if name not in ("seconds", "explored")} for run in runs]

    first = inject(tmp_path, capsys, bug="unchecked")
    second = inject(tmp_path, capsys, bug="unchecked")
    assert without_clock(first[1]) == without_clock(second[1])


COUNTS = scenario_text(
    "counts",
    "unbuffered",
    'op = "increment", from = 1, to = 3',
    'op = "increment", keys = [1, 2, 1, 3, 1], by = 5',
    schema=4,
    config="page = 1024\nsectors = 2\nentries = 2\npages = 2\nblocks = 2\noverflow = 1",
    pool='size = "4KiB"',
    data="key_size = 8\nvalue_size = 8",
)


def of_device(
    folder: Path, capsys: pytest.CaptureFixture[str], target: str, *kinds: str, more: tuple[str, ...] = ()
) -> dict[str, dict[str, Any]]:
    path = folder / "counts.toml"
    path.write_text(COUNTS)
    arguments = ["faults", target, "--scenario", str(path), "--fault", ",".join(kinds), "--out", str(folder / "out")]
    main([*arguments, "--json", *more])
    return {run["fault"]: run for run in json.loads(capsys.readouterr().out)["runs"]}


ITEMS = scenario_text(
    "items",
    "pair",
    *STEPS[:3],
    schema=4,
    pool='size = "4KiB"',
    data="key_size = 8\nvalue_size = 800",
)
#: kind -> effects other than harmless of a table that trusts its sectors, and of one that has checksums
WEAKNESSES: dict[str, tuple[set[str], set[str]]] = {
    "media": ({"detected"}, {"detected"}),
    "bitflip": ({"silent"}, {"detected"}),
    "shorn": ({"silent"}, {"detected"}),
    "unserialisable": ({"silent"}, {"silent"}),
    "stale-mapping": ({"silent"}, {"silent"}),
}


@pytest.mark.parametrize("checked", [False, True])
def test_a_checksum_tells_damage_and_no_checksum_tells_what_is_missing_or_old(
    checked: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "items.toml"
    path.write_text(ITEMS)
    library = paths.library_dir() / "test" / f"libtest-sector-map-{'checked' if checked else 'trusting'}.so"
    arguments = ["--scenario", str(path), "--fault", ",".join(WEAKNESSES), "--out", str(tmp_path / "out")]
    main(["faults", str(library), *arguments, "--budget", "1000x", "--json"])
    runs = {run["fault"]: run for run in json.loads(capsys.readouterr().out)["runs"]}
    told = {
        kind: {name for name, count in run["effects"].items() if count} - {"harmless"} for kind, run in runs.items()
    }
    assert told == {kind: effects[checked] for kind, effects in WEAKNESSES.items()}
    assert all(run["complete"] for kind, run in runs.items() if kind != "bitflip")
    # Four writes, of two sectors each: the first one without the second, or the other way round.
    assert runs["shorn"]["cases"] == 8
    # Devices that break their contract: what is silent is shown, and is no finding.
    assert [kind for kind, run in runs.items() if run["findings"]] == []
    for kind in ("unserialisable", "stale-mapping", *(() if checked else ("shorn",))):
        assert not runs[kind]["claimed"]
        assert any(note.startswith("The first silent case: ") for note in runs[kind]["notes"]), kind
    if not checked:
        assert set(runs["shorn"]["invariants"]) == {"torn-value"}


def test_damage_of_a_sector_is_damage_of_its_content(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A flipped bit of a count is read as another count; the word that names the content is none of the target's."""
    published = of_device(tmp_path, capsys, "unbuffered:published", "bitflip", more=("--budget", "2000x"))["bitflip"]
    assert published["effects"]["silent"] > 0
    checked = of_device(tmp_path, capsys, "unbuffered:hardened", "bitflip", "media", more=("--budget", "2000x"))
    assert checked["bitflip"]["effects"]["silent"] == 0 < checked["bitflip"]["effects"]["detected"]
    assert checked["media"]["effects"]["detected"] > 0 and not any("died of" in how for how in checked["media"]["how"])


def test_a_failing_allocation_leaves_a_trace_that_knows_its_contents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = of_device(tmp_path, capsys, "unbuffered:hardened", "alloc", more=("--budget", "4x"))["alloc"]
    assert [item["verdict"] for item in run["explored"]] == ["consistent"] * 4


LOG = scenario_text(
    "log",
    "pair",
    'op = "insert", from = 1, to = 2',
    'op = "erase", keys = [1]',
    'op = "insert", from = 3, to = 4',
    schema=4,
    pool='size = "4KiB"',
    data="key_size = 8\nvalue_size = 16",
)


def test_a_log_on_flash_takes_a_page_that_its_pair_destroyed_for_one_that_was_cut(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.toml"
    path.write_text(LOG)
    log = paths.library_dir() / "regression" / "flash_erase_before_copy-twin.so"
    main(["faults", str(log), "--scenario", str(path), "--out", str(tmp_path / "out"), "--budget", "400x", "--json"])
    runs = {run["fault"]: run for run in json.loads(capsys.readouterr().out)["runs"]}
    assert tuple(runs) == fitting("flash")
    for kind in ("paired-page", "stale-mapping"):
        assert runs[kind]["effects"]["silent"] > 0 and "lost-item" in runs[kind]["invariants"], kind
    # It formats nothing: the pages of a device that was used before are items to it.
    assert runs["stale"]["effects"]["silent"] > 0 and not runs["stale"]["claimed"]
    # A page that cannot be read is passed over, and with it an acknowledged item: an error that it swallows.
    assert runs["media"]["findings"] and runs["media"]["findings"][0]["subject"].startswith("page ")


def test_a_log_on_nor_flash_does_not_know_of_cells_that_change_by_themselves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.toml"
    path.write_text(
        LOG.replace('"4KiB"', '"64KiB"').replace("value_size = 16", "value_size = 8").replace("pair", "nor_log")
    )
    log = ["faults", "nor_log:hardened", "--scenario", str(path), "--out", str(tmp_path / "out")]
    main([*log, "--budget", "400x", "--json"])
    runs = {run["fault"]: run for run in json.loads(capsys.readouterr().out)["runs"]}
    assert tuple(runs) == fitting("nor")
    for kind in ("unstable-read", "stuck-bits"):
        assert sum(runs[kind]["effects"].values()) > 10 and not runs[kind]["claimed"], kind
        assert runs[kind]["effects"]["detected"] > 0 and not runs[kind]["findings"], kind
    # A record has a checksum, and a status has none: a stuck bit of a status takes a record.
    assert runs["stuck-bits"]["effects"]["silent"] > 0 and "lost-item" in runs["stuck-bits"]["invariants"]
    # A record that cannot be read is passed over: an error that it swallows.
    assert runs["media"]["findings"] and runs["media"]["findings"][0]["subject"].startswith("cell ")


@pytest.mark.parametrize(
    ("target", "kind", "of"),
    [
        ("unbuffered", "stuck-bits", "NOR flash, and the pool of 'unbuffered' is a block device"),
        ("patterns", "shorn", "block devices, and the pool of 'patterns' is memory"),
        ("unbuffered", "paired-page", "raw flash, and the pool of 'unbuffered' is a block device"),
        ("patterns", "stale-mapping", "devices, and the pool of 'patterns' is memory"),
    ],
)
def test_a_kind_that_the_medium_cannot_have_is_refused(
    target: str, kind: str, of: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "counts.toml"
    path.write_text(of_pattern("counts", "checked", "none") if target == "patterns" else COUNTS)
    arguments = ["faults", target, "--scenario", str(path), "--fault", kind, "--out", str(tmp_path / "out")]
    assert main(arguments) == ExitCode.USAGE
    assert f"{kind} is a fault of {of}" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--fault", "lightning"], "unknown fault 'lightning'"), (["--budget", "5m"], "'5m' is a time")],
)
def test_bad_requests(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["faults", "patterns", *arguments]) == ExitCode.USAGE
    assert message in capsys.readouterr().err
