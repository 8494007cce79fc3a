"""`powercut necessity`: what a site is, what had anything to do, what drops show, and the whole on real schemes."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from powercut import necessity
from powercut.base import paths
from powercut.base.errors import NotApplicable
from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.engine import options
from powercut.engine.events import Module
from powercut.necessity import analysis
from powercut.necessity import record as records
from powercut.necessity.drop import Drop, edits
from powercut.necessity.effects import idle_events
from powercut.necessity.sites import Occurrences, Site
from powercut.necessity.unedited_run import Explored, UneditedRun
from powercut.necessity.verdict import NECESSARY, NOT_SHOWN, REDUNDANT, Shown, judge
from powercut.runs import requests
from powercut.runs.run_request import Request
from powercut.runs.runner import open_context
from powercut.scenarios import catalog, targets
from powercut.symbols.flush_helpers import outside
from powercut.symbols.symbolize import Frame, site_frame
from reports.tests.typed import finding_of
from tests.real_engine import require_engine

SITE = Site("level/slots.cc", 12, "flush", "clwb", "StoreToken")


def events(*given: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Records of a trace: ("store", line), ("clwb", line), ("sfence",), …, with the thread as a last number."""
    made = []
    for index, (word, *rest) in enumerate(given):
        where = rest[0] * 64 if rest else 0
        record: dict[str, Any] = {"index": index, "thread": rest[1] if len(rest) > 1 else 0, "offset": where}
        if word in ("store", "nt-store"):
            record |= {"kind": word, "bytes": "2a" * 8}
        elif word in ("clwb", "clflush"):
            record |= {"kind": "flush", "code": word}
        elif word == "cut":
            record |= {"kind": "cut"}
        else:
            record |= {"kind": "fence", "code": word}
        made.append(record)
    return made


def frame(function: str, file: str, line: int) -> Frame:
    return Frame(function=function, file=file, line=line, column=0, module="m", offset=line, inlined=False)


@pytest.mark.parametrize(
    ("helpers", "place"),
    [
        ((), "flush.c:7"),
        (("write_back",), "map.c:40"),
        (("pm_*", "write_back"), "map.c:40"),
        (("commit",), "flush.c:7"),
        (("write_back", "commit"), "main.c:3"),
        (("*",), "flush.c:7"),
    ],
)
def test_a_helper_is_passed_by_for_the_line_that_calls_it(helpers: tuple[str, ...], place: str) -> None:
    """`persist()` of a C file was one site for all that call it."""
    stack = [
        frame("powercut::flush(void const*)", "targets/include/powercut/pmem.h", 20),
        frame("write_back", "flush.c", 7),
        frame("kv::Map::commit(unsigned long)", "map.c", 40),
        frame("main", "main.c", 3),
    ]
    chosen = site_frame(outside(stack, helpers))
    assert chosen is not None and chosen.site == place


@pytest.mark.parametrize("name", ["persist", "clwb_range", "pm::Region::flush(void const*, unsigned long)", "mfence"])
def test_a_helper_with_a_usual_name_need_not_be_named(name: str) -> None:
    stack = [frame(name, "flush.c", 7), frame("persist_header", "map.c", 40), frame("main", "main.c", 3)]
    chosen = site_frame(outside(stack))
    assert chosen is not None and chosen.site == "map.c:40"


@pytest.mark.parametrize(
    ("given", "idle"),
    [
        ([("store", 1), ("clwb", 1), ("sfence",)], set()),
        ([("store", 1), ("clwb", 1), ("clwb", 1), ("sfence",), ("sfence",)], {2, 4}),
        ([("store", 1), ("clwb", 1), ("store", 1), ("clwb", 1), ("sfence",)], set()),
        ([("clwb", 1), ("sfence",)], {0, 1}),
        ([("store", 1), ("clwb", 1), ("sfence",), ("clwb", 1), ("sfence",)], {3, 4}),
        ([("store", 1), ("clflush", 1), ("clwb", 1), ("sfence",)], {2, 3}),
        ([("nt-store", 1), ("sfence",), ("sfence",)], {2}),
        ([("store", 1), ("clwb", 2), ("sfence",)], {1, 2}),
        ([("store", 1), ("cut",), ("clwb", 1), ("sfence",)], {2, 3}),
        # Another thread's flush is no help to this thread's fence; its fence is.
        ([("store", 1), ("clwb", 1, 1), ("clwb", 1, 0), ("sfence", 0, 0), ("sfence", 0, 1)], {4}),
        ([("store", 1), ("clwb", 1, 0), ("lock", 0, 0), ("clwb", 1, 1), ("sfence", 0, 1)], {3, 4}),
    ],
)
def test_what_had_nothing_to_do(given: list[tuple[Any, ...]], idle: set[int]) -> None:
    assert idle_events(events(*given), model="adr") == idle


def test_under_eadr_only_non_temporal_stores_wait() -> None:
    given = events(("store", 1), ("clwb", 1), ("sfence",), ("nt-store", 2), ("sfence",))
    assert idle_events(given, model="eadr") == {1, 2}


def explored(*, states: int = 10, complete: bool = True, reason: str | None = None) -> Explored:
    return Explored(
        verdict="consistent",
        complete=complete,
        reason=reason,
        crash_points=4,
        crash_states=states,
        executions=3,
        loads=7,
        fingerprints=frozenset(),
        findings=[],
    )


def dropped(
    *,
    scenario: str = "insert",
    count: int = 2,
    idle: int = 0,
    in_recovery: int = 0,
    states: int = 10,
    complete: bool = True,
    finding: dict[str, Any] | None = None,
) -> Drop:
    occurrences = Occurrences(events=list(range(count)), idle=idle, in_recovery=in_recovery)
    unedited = UneditedRun(
        request=Request(
            name=scenario,
            slug=scenario,
            options=options.ExploreOptions(),
            header={"scenario": scenario, "target": "level"},
        ),
        trace=Path("a.pct"),
        modules=[],
        records=[],
        starts=True,
        sites={SITE: occurrences},
        explored=explored(),
    )
    after = explored(states=states, complete=complete, reason="budget")
    return Drop(
        unedited=unedited,
        occurrences=occurrences,
        explored=after,
        finding=finding_of(finding) if finding else None,
        trace=Path("b.pct"),
        unchanged=complete and states == 10,
    )


FOUND = {"message": "Key 2 is gone.", "invariant": "lost-item", "fingerprint": "abc"}


@pytest.mark.parametrize(
    ("drops", "skipped", "result", "complete", "why"),
    [
        ([dropped(), dropped(finding=FOUND)], {}, NECESSARY, True, "Without it: Key 2 is gone. (lost-item, insert)"),
        ([dropped(finding=FOUND)], {"erase": "budget"}, NECESSARY, True, "Key 2"),
        ([dropped(idle=2)], {}, REDUNDANT, True, "Each of the 2 times it had nothing to make durable"),
        (
            [dropped(), dropped(idle=2)],
            {},
            REDUNDANT,
            True,
            "Without it the crash states are the same, in 2 scenarios",
        ),
        ([dropped(idle=2), dropped(states=11)], {}, NOT_SHOWN, True, "11 crash states for 10 in insert"),
        ([dropped(idle=1, states=9)], {}, NOT_SHOWN, True, "It makes something durable, and no query"),
        ([dropped(idle=2, in_recovery=1)], {}, NOT_SHOWN, True, "Recovery executes it, in 1 scenario"),
        ([dropped(idle=2, complete=False)], {}, NOT_SHOWN, False, "1 of 1 runs were not explored completely"),
        ([dropped(idle=2)], {"erase": "budget"}, NOT_SHOWN, False, "1 of 2 runs"),
    ],
)
def test_what_drops_show(drops: list[Drop], skipped: dict[str, str], result: str, complete: bool, why: str) -> None:
    verdict = judge(Shown(site=SITE, drops=drops, skipped=skipped))
    assert (verdict.result, verdict.complete) == (result, complete)
    assert why in verdict.why


def test_rules_for_recovery_use_the_modules_of_the_trace() -> None:
    modules = [Module(path="/lib/engine"), Module(path="/lib/level.so")]
    prefixes = {(("/lib/level.so", 16), ("/lib/level.so", 32)), (("/lib/other.so", 1),)}
    made = edits(Occurrences(events=[3, 5]), prefixes, modules)
    assert made == {"edits": 1, "drop": [3, 5], "recovery": [{"frames": [[1, 16], [1, 32]], "do": "drop"}]}


def test_a_record_that_is_not_finished_says_so() -> None:
    drop = dropped(idle=2)
    shown = Shown(site=SITE, drops=[drop])
    entry = records.of_site(shown, judge(shown), None, [drop.unedited])
    assert entry["site"] == "level/slots.cc:12"
    assert (entry["count"], entry["idle"], entry["in_recovery"], entry["result"]) == (2, 2, False, REDUNDANT)
    header = {"target": "level", "variant": "hardened", "model": "adr", "command": ""}
    whole = records.assemble(header, [drop.unedited], [entry], of=1, errors=[], seconds=1)
    assert whole["complete"] and whole["unedited"]["crash_states"] == "10"
    assert not records.assemble(header, [drop.unedited], [entry], of=2, errors=[], seconds=1)["complete"]
    assert not records.assemble(header, [drop.unedited], [entry], of=1, errors=["broke"], seconds=1)["complete"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["levle"], "unknown target 'levle'. Did you mean 'level'?"),
        (["level:hardend"], "Did you mean 'hardened'?"),
        (["level", "--scenario", "claen"], "Did you mean 'clean'?"),
        (["level", "--model", "eard"], "Did you mean 'eadr' or 'adr'?"),
        (["level", "--budget", "sixty"], "is not a budget"),
    ],
)
def test_bad_input(house: Any, capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str) -> None:
    house.scenario("clean")
    assert main(["necessity", *arguments]) == ExitCode.USAGE
    said = capsys.readouterr()
    assert expected in said.err and "Traceback" not in said.err and said.out == ""
    assert not (house.root / ".powercut").exists()


def test_scenarios_with_threads_are_set_aside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded: list[Request] = []

    def refuse(request: Request, *_: Any, **__: Any) -> Any:
        recorded.append(request)
        raise NotApplicable("not now", next_step="None.", needs="nothing")

    monkeypatch.setattr(analysis, "prepare", refuse)
    assert main(["necessity", "level:hardened", "--out", str(tmp_path)]) == ExitCode.USAGE
    assert recorded and all(request.scenario and request.scenario.content.race is None for request in recorded)
    assert main(["necessity", "level:hardened", "--scenario", "level_threads_*"]) == ExitCode.USAGE
    assert "need threads, which powercut necessity does not follow" in capsys.readouterr().err


def analysed(capsys: pytest.CaptureFixture[str], out: Path, *arguments: str, code: ExitCode = ExitCode.CLEAN) -> Any:
    """The record of one target by the real engine, from stdout; the one on disk is the same."""
    require_engine()
    capsys.readouterr()
    assert main(["necessity", *arguments, "--out", str(out), "--json"]) == code
    (made,) = json.loads(capsys.readouterr().out)["records"]
    assert json.loads(records.path_of(out, made["target"], made["variant"]).read_text()) == made
    return made


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["flush", "fence"])
def test_a_planted_redundancy_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    made = analysed(capsys, tmp_path, "patterns:hardened", "--scenario", f"self_test/redundant_{kind}.toml")
    found = [site for site in made["sites"] if site["result"] == REDUNDANT]
    assert kind in {site["kind"] for site in found}, "a planted flush is a whole persist, with its fence"
    assert any(site["idle"] == site["count"] for site in found), "the planted one"
    clean = analysed(capsys, tmp_path / "clean", "patterns:hardened", "--scenario", "known_good/plain.toml")
    assert clean["totals"][REDUNDANT] == 0 and clean["totals"][NECESSARY] > 0


@pytest.mark.slow
def test_a_necessary_site_comes_with_a_finding_that_replays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = analysed(capsys, tmp_path, "path:hardened", "--scenario", "path_insert")
    assert made["complete"] and made["unedited"]["verdict"] == "consistent"
    necessary = [site for site in made["sites"] if site["result"] == NECESSARY]
    assert {site["kind"] for site in necessary} == {"flush", "fence"}
    for site in necessary:
        finding = json.loads(Path(site["finding"]["file"]).read_text())
        assert finding["without"]["site"] == site["site"]
        assert finding["fingerprint"] == site["finding"]["fingerprint"]
        assert finding["plan"] is None, "recorded anew, the run would have the flush"
    assert main(["reproduce", necessary[0]["finding"]["file"]]) == ExitCode.FINDINGS
    assert main(["necessity", "path:hardened", "--scenario", "path_insert", "--out", str(tmp_path)]) == ExitCode.CLEAN
    printed = capsys.readouterr().out
    assert f"{len(necessary)} necessary" in printed and necessary[0]["source"] in printed


@pytest.mark.slow
def test_lines_that_the_corpus_leaves_out_are_necessary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Known bugs of Level hashing that leave a persist out, or make it too short: its line is necessary."""
    made = analysed(capsys, tmp_path, "level:hardened", "--scenario", "update_full_bucket", "--scenario", "insert")
    bugs = {item.bug.toggle: item.bug for item in catalog.known_bugs() if item.scheme == "level"}
    for toggle in ("log_unordered", "log_cleared_early", "flush_first_line"):
        switch = f"Bug::k{toggle.title().replace('_', '')}"
        sites = [site for site in made["sites"] if switch in site["source"]]
        assert {(site["kind"], site["result"]) for site in sites} == {("flush", NECESSARY), ("fence", NECESSARY)}, (
            toggle
        )
        assert {site["finding"]["invariant"] for site in sites} <= {*bugs[toggle].expected, "not-idempotent"}, toggle


def test_a_budget_proves_nothing_redundant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["patterns:hardened", "--scenario", "self_test/redundant_flush.toml", "--budget", "1x"]
    made = analysed(capsys, tmp_path, *given, code=ExitCode.INCOMPLETE)
    assert made["unedited"]["incomplete"] and not made["complete"]
    assert made["totals"][REDUNDANT] == made["totals"][NECESSARY] == 0
    assert all("not explored completely" in site["why"] for site in made["sites"])


@pytest.mark.slow
def test_old_findings_prove_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = analysed(capsys, tmp_path, "patterns:hardened", "--scenario", "self_test/lost_item.toml")
    assert made["unedited"]["verdict"] == "inconsistent" and made["unedited"]["findings"] > 0
    kept = [site["finding"]["fingerprint"] for site in made["sites"] if site["finding"]]
    (run,) = _runs(tmp_path / "run", "patterns:hardened", "self_test/lost_item.toml")
    assert not set(kept) & {finding["fingerprint"] for finding in run["findings"]}


def test_caches_in_the_persistence_domain_make_flushes_redundant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = analysed(capsys, tmp_path, "path:hardened", "--scenario", "path_insert", "--model", "eadr")
    assert made["sites"] and {site["result"] for site in made["sites"]} == {REDUNDANT}
    assert all(site["idle"] == site["count"] for site in made["sites"])


def _runs(out: Path, target: str, scenario: str) -> list[dict[str, Any]]:
    main(["run", target, "--scenario", scenario, "--out", str(out), "--format", "json"])
    return [json.loads(path.read_text()) for path in (out / "runs").glob("*.json")]


class _StopsAtFirst:
    """Interrupts the analysis as soon as one site is judged."""

    def __init__(self, stop: Any) -> None:
        self._stop = stop
        self._dropping = threading.Event()

    def stage(self, name: str, of: int) -> None:
        if name == "sites dropped":
            self._dropping.set()

    def advanced(self) -> None:
        if self._dropping.is_set():
            self._stop()


def test_an_interruption_keeps_what_is_judged(tmp_path: Path) -> None:
    require_engine()
    selection = targets.select(["path:hardened"])
    chosen = options.ExploreOptions()
    wanted = requests.for_run(selection, ["path_insert"], options=chosen, explicit=True)
    header = {"target": "path", "variant": "hardened", **chosen.described(), "command": ""}
    with open_context(paths.engine(), tmp_path) as context:
        progress = _StopsAtFirst(context.interrupt.request)
        made = necessity.analyse(wanted, header=header, context=context, jobs=1, progress=progress)
    assert 1 <= len(made["sites"]) < made["sites_total"]
    assert not made["complete"]
    assert json.loads(records.path_of(tmp_path, "path", "hardened").read_text()) == made


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(set(targets.libraries()) - targets.SELF_TEST_TARGETS))
def test_nothing_is_redundant_that_the_survey_does_not_call_so(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two ways to the same answer: the engine's performance bugs of each trace, and our drops of whole sites.

    Performance bugs do not know that a line holds the flushed bytes already (zeros, on a new pool). Nor do they know
    that a later flush does the work. `test_necessity_effects` holds that part of the proof against the models'
    reference.
    """
    require_engine()
    variant = targets.find(name).default_variants[0]
    made = analysed(capsys, tmp_path, f"{name}:{variant}")
    main(["run", f"{name}:{variant}", "--out", str(tmp_path / "run"), "--format", "json", "--no-replay"])
    runs = [json.loads(path.read_text()) for path in (tmp_path / "run" / "runs").glob("*.json")]
    said = {(row["kind"], row["site"]) for run in runs for row in run["performance_bugs"]}
    for site in (site for site in made["sites"] if site["result"] == REDUNDANT):
        assert site["idle"] < site["count"] or (f"redundant-{site['kind']}", site["site"]) in said, site
    assert made["complete"] and made["totals"][NECESSARY]


@pytest.mark.long
def test_a_named_helper_has_a_site_for_each_line_that_calls_it(tmp_path: Path) -> None:
    require_engine()
    arguments = [
        "necessity",
        "patterns:hardened",
        "--scenario",
        "known_good/plain",
        "--helper",
        "SetState",
        "--out",
        str(tmp_path),
    ]
    assert main([*arguments, "--json"]) == ExitCode.CLEAN
    record = json.loads((tmp_path / "necessity" / "patterns-hardened.json").read_text())
    calls = [site for site in record["sites"] if site["source"].startswith("SetState(")]
    assert [(site["count"], site["result"]) for site in calls if site["kind"] == "flush"] == [
        (7, "necessary"), (4, "necessary"), (2, "necessary"),
    ]  # fmt: skip
    assert record["helpers"] == ["SetState"] and "--helper SetState" in record["command"]
