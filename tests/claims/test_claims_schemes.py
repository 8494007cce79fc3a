"""The claims of the schemes, judged by the real engine: planted violations are named, and no claim is never checked."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from powercut.base import paths
from powercut.claims import sheet
from powercut.claims.expression import parse
from powercut.claims.judge import check
from powercut.claims.run import loads_file
from powercut.engine.options import ExploreOptions
from powercut.runs import plan_recording, requests, runner
from powercut.runs.run_request import Request
from powercut.scenarios import catalog, plan, targets
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.tables import ClaimTable
from powercut_records.finding import Coverage
from powercut_records.run import RunRecord
from tests.real_engine import Subject, explore, record

FILES = sorted((paths.home() / "targets").glob(f"*/{sheet.FILE_NAME}"))
SCHEMES = [path.parent.name for path in FILES]


pytestmark = pytest.mark.usefixtures("real_engine")


def _bug(toggle: str, scheme: str) -> Scenario:
    found = [item for item in catalog.known_bugs() if item.bug.toggle == toggle]
    return next(item for item in found if item.fits(scheme))


def _run(scenario: Scenario, scheme: str, variant: str, out: Path, *, with_bug: bool = True) -> RunRecord:
    selection = targets.Selection(target=targets.find(scheme), variant=variant)
    request = requests.one(selection, scenario, options=ExploreOptions(), with_bug=with_bug)
    with runner.open_context(paths.engine(), out) as context:
        return runner.run_one(request, context)


def _row(run: dict[str, Any], claim: str) -> dict[str, Any]:
    return next(row for row in run["claims"] if row["claim"] == claim)


def test_every_scheme_has_claims_and_they_parse() -> None:
    schemes = set(targets.libraries()) - targets.SELF_TEST_TARGETS
    explained = {name for name in schemes if (paths.home() / "targets" / name / "README.md").is_file()}
    assert explained <= set(SCHEMES), f"checker/CLAIMS.md: {sorted(explained - set(SCHEMES))} lack a {sheet.FILE_NAME}"
    for path in FILES:
        commands = targets.find(path.parent.name).description.commands
        assert sheet.load(path, commands=commands).claims


def test_a_second_commit_store_is_named_with_its_operation_and_line(tmp_path: Path) -> None:
    """The bug updates the two tokens by two stores, where the paper has one (OSDI'18, 3.3(4))."""
    scenario = _bug("update_two_writes", "level")
    claim = "update.commit_store <= 1"
    wrong = _row(_run(scenario, "level", "hardened", tmp_path / "bug"), claim)
    assert (wrong["holds"], wrong["measured"]) == (False, 2)
    assert wrong["operation"].startswith("update(")
    file, line = wrong["site"].split(":")
    assert file == "targets/level/update.cc"
    text = (paths.home() / file).read_text().splitlines()[int(line) - 1]
    assert "StoreTokens(place.bucket, without_old | 1u << slot)" in text  # the second of the two
    assert _row(_run(scenario, "level", "hardened", tmp_path / "twin", with_bug=False), claim)["holds"] is True


def test_a_claim_about_states_names_the_store_before_the_cut(tmp_path: Path) -> None:
    (scenario,) = catalog.matching("duplicates_moved_again")
    row = _row(_run(scenario, "level", "published", tmp_path), "duplicates <= 2")
    assert (row["holds"], row["measured"]) == (False, 3)
    assert row["operation"].startswith("copies of key ")
    assert row["site"].startswith("targets/level/")


def test_a_claim_of_a_scenario_is_checked_and_names_the_fence_too_many(tmp_path: Path) -> None:
    (level,) = catalog.matching("map_insert")
    path = tmp_path / "mine.toml"
    text = level.path.read_text().replace('name = "map_insert"', 'name = "mine"')
    path.write_text(f'{text}\n[[claim]]\nclaim = "insert.sfences <= 1"\ncites = "nobody"\nunless = ["move.*"]\n')
    (mine,) = catalog.matching(str(path))
    row = _row(_run(mine, "level", "hardened", tmp_path / "out"), "insert.sfences <= 1")
    assert row["holds"] is False
    assert row["measured"] >= 2
    assert row["operation"].startswith("insert(")
    assert row["site"].startswith("targets/level/slots.cc:")  # the fence behind the token
    assert row["place"].startswith(str(path)) or row["place"].startswith("mine.toml")


def test_an_explored_trace_knows_the_claims_of_its_scheme(tmp_path: Path) -> None:
    (scenario,) = catalog.matching("map_erase")
    first = _run(scenario, "level", "hardened", tmp_path / "run")
    request = Request(name="trace", slug=None, options=ExploreOptions(), trace=Path(first["trace"]))
    with runner.open_context(paths.engine(), tmp_path / "explore") as context:
        second = runner.run_one(request, context)
    assert second["claims"] == first["claims"] != []


def _small() -> Iterator[Any]:
    for name, variant in (
        ("duplicates_moved_again", "published"),
        ("update_full_bucket", "hardened"),
        ("map_erase", "hardened"),
    ):
        yield pytest.param(name, variant, id=name)


@pytest.mark.parametrize("model", ["adr", "eadr"])
@pytest.mark.parametrize(("name", "variant"), list(_small()))
def test_what_is_remembered_hides_no_maximum(name: str, variant: str, model: str, tmp_path: Path) -> None:
    """The reference executes every image; the explorer that remembers must have seen the same most."""
    (scenario,) = catalog.matching(name)
    trace = record(Subject(scenario=scenario, target="level", variant=variant), tmp_path)
    told = [
        {
            most: item["value"]
            for most, item in explore(trace, "--model", model, strategy=strategy).result["maxima"].items()
        }
        for strategy in ("read-driven", "exhaustive")
    ]
    assert told[0] == told[1]
    assert told[0]["recovery.lines_read"] > 0
    assert told[0]["duplicates"] > 0


def _probes(read: sheet.Sheet) -> list[sheet.Claim]:
    """A claim for each defined name, which fails where the name means anything."""
    return [
        sheet.Claim(
            place=f"[define] {name}",
            table=ClaimTable(claim=f"mean({name}) == 0", cites="a probe"),
            expression=parse(f"mean({name}) == 0", defined=read.definitions),
        )
        for name in read.definitions
    ]


def _measured(scheme: str, variant: str, scenario: Scenario, waiting: dict[str, sheet.Claim], out: Path) -> set[str]:
    """The places of those claims that the run has an answer to, and of probes that fail. It is recorded only."""
    content = plan.build(targets.find(scheme), variant=variant, scenario=scenario, seed=1)
    read = sheet.of_run(content, scenario)
    claims = [claim for claim in read.claims if claim.place in waiting]
    claims = sheet.applicable(sheet.Sheet(claims=tuple(claims), definitions={}), content, model="adr")
    claims += [claim for claim in waiting.values() if claim.table.cites == "a probe"]
    if not claims:
        return set()
    with runner.open_context(paths.engine(), out) as context:
        trace = out / f"{scenario.name}.pct"
        plan_recording.record(content, trace, context=context, loads=sheet.needs_lines_read(claims))
        rows = check(
            read, claims, RunRecord(trace=str(trace), coverage=Coverage(kind="complete")),
            engine_path=paths.engine(), symbolizer=context.symbolizer, loads=loads_file(trace),
        )  # fmt: skip
    return {
        row["place"] for row in rows if row["holds"] is False or (row["holds"] is True and row["cites"] != "a probe")
    }


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_claim_is_measured_and_every_definition_means_something(scheme: str, tmp_path: Path) -> None:
    """In some core scenario. A glob that matches no store and no mark would make `== 0` true of everything."""
    read = sheet.load(paths.home() / "targets" / scheme / sheet.FILE_NAME)
    about_operations = [claim for claim in read.claims if not claim.expression.quantity.state]
    waiting = {claim.place: claim for claim in [*about_operations, *_probes(read)]}
    for variant in targets.find(scheme).default_variants:
        for scenario in catalog.core(scheme):
            if waiting and targets.find(scheme).takes(scenario):
                done = _measured(scheme, variant, scenario, waiting, tmp_path)
                waiting = {place: claim for place, claim in waiting.items() if place not in done}
    assert list(waiting) == [], "no core scenario says anything about these"
