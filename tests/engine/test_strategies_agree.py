"""Every way of exploring gives the same results.

`exhaustive` shares nothing between images and is obvious; `read-driven` is clever. Both write down every distinct
(crash point, depth, query, result), and the two files must be the same bytes. Each of these faults thus shows as a
difference, on every scenario and whatever the oracle makes of it: a branch that the read-driven explorer misses; a
candidate set filtered too far; a result remembered for too long; a reset that leaves something behind.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.scenarios import catalog, scenario, targets
from tests.real_engine import (
    VARIANTS,
    BadAnswer,
    Exploration,
    Subject,
    bad_answers,
    explore,
    known_good,
    level_scenarios,
    planted_bugs,
    record,
    results_and_bad_answers,
)
from tests.scenario_texts import scenario_text

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("real_engine")]

#: Scenarios whose recovery stores so much that the eager reference takes seconds to hours with a cut inside it:
#: every resize that a cut interrupts is finished by recovery. The long test alone compares them.
COSTLY = frozenset(
    {
        "always_logged",
        "clevel_context_helped",
        "expand",
        "expand_on_failure",
        "rehash-clear-first",
        "resize_back_and_forth",
        "resize_cut",
        "slots_16",
        "traditional_expand",
        "traditional_shrink",
        "slots_8",
        "undo-log-unordered",
        "ycsb_a",
        "ycsb_a_uniform",
        "ycsb_f",
        "ycsb_load",
    }
)
#: And not at all with one: more than the 15 s of the measurement each.
TOO_COSTLY = frozenset(
    {
        "duplicates_resized",
        "layout_8x8_slots_16",
        "shrink",
        "shrink-two-pointers",
        "shrink_turned_around",
        "traditional_shrink_turned_around",
    }
)
#: Targets that have no room for some scenarios for every map, and take the eager reference minutes with the others.
SMALL = frozenset({"nor_log"})
#: One scenario for each part of level, for the comparisons that need no breadth.
FEW = ("duplicates_left_by_crash_update", "insert_move_top", "update_full_bucket")
#: Targets that are compared with the eager reference too, under every option.
ELABORATE = frozenset({"level", "patterns"})
SHORT_TOGGLES = ("update_two_writes", "move_unordered", "not_idempotent", "leak_new_level")


@dataclass(frozen=True, kw_only=True)
class Case:
    subject: Subject
    model: str
    nested: int

    @property
    def id(self) -> str:
        return f"{self.subject.id}-{self.model}-{self.nested}"


def subjects() -> Iterator[Subject]:
    for item in level_scenarios():
        for variant in VARIANTS:
            yield Subject(scenario=item, target="level", variant=variant)
    yield from (subject for subject in planted_bugs() if subject.target in ELABORATE)
    yield from known_good()


def core_of(target: str) -> list[scenario.Scenario]:
    """The core scenarios that apply to the target: some come for every map and need mixed sizes, or more room."""
    fitting = [item for item in catalog.core(target) if targets.find(target).takes(item)]
    return [item for item in fitting if not (target in SMALL and item.is_for_every_map)]


def others() -> Iterator[pytest.param]:
    """Every other scheme: scenarios for every map in the quick test, its own and its planted bugs in the long one."""
    for name in targets.libraries():
        if name in ELABORATE:
            continue
        for item in core_of(name):
            subject = Subject(scenario=item, target=name, variant="hardened")
            generic = item.content.targets == ["*"]
            yield pytest.param(subject, id=f"{name}-{subject.id}", marks=() if generic else pytest.mark.long)
        for subject in planted_bugs():
            if subject.target == name:
                yield pytest.param(subject, id=f"{name}-{subject.id}", marks=pytest.mark.long)


@pytest.mark.parametrize("subject", list(others()))
def test_every_scheme_is_judged_as_without_memory(subject: Subject, tmp_path: Path) -> None:
    trace = record(subject, tmp_path)
    remembering = explore(trace, dump=True)
    asking = explore(trace, "--no-remember", dump=True)
    assert remembering.result["crash_states"] == asking.result["crash_states"]
    assert_same_results(remembering, asking)


def in_short(subject: Subject) -> bool:
    """A few scenarios as they should be, and a few bugs."""
    return (subject.scenario.name in FEW and subject.variant == "hardened") or subject.toggle in SHORT_TOGGLES


def merging() -> Iterator[pytest.param]:
    for name in targets.libraries():
        for item in core_of(name):
            for variant in VARIANTS:
                subject = Subject(scenario=item, target=name, variant=variant)
                quick = (item.name == "map_churn" and variant == "hardened") or in_short(subject)
                yield pytest.param(subject, id=f"{name}-{subject.id}", marks=() if quick else pytest.mark.long)
    for subject in planted_bugs():
        marks = () if subject.toggle in SHORT_TOGGLES else pytest.mark.long
        yield pytest.param(subject, id=f"{subject.target}-{subject.id}", marks=marks)


@pytest.mark.parametrize("subject", list(merging()))
def test_merged_ways_answer_as_each_way_does(subject: Subject, tmp_path: Path) -> None:
    """Every query is merged from its first execution on, against one execution for each way."""
    trace = record(subject, tmp_path)
    merged = explore(trace, "--merge-after", "0", dump=True)
    plain, reference = results_and_bad_answers(trace, "--no-merge")
    assert_same_results(merged, plain)
    assert sorted(f["key"] for f in merged.findings) == sorted(f["key"] for f in plain.findings)
    judged = bad_answers(trace, "--merge-after", "0")
    assert sorted(judged.any) == sorted(reference.any)


def cases() -> Iterator[pytest.param]:
    for subject in subjects():
        for model in ("adr", "eadr"):
            for nested in (0, 1):
                name = subject.scenario.name
                if nested and name in TOO_COSTLY:
                    continue
                case = Case(subject=subject, model=model, nested=nested)
                yield pytest.param(case, id=case.id, marks=() if quick(case) else pytest.mark.long)


def quick(case: Case) -> bool:
    """One variant, and of the rest what exercises something of its own."""
    subject = case.subject
    if case.nested == 0 or subject.scenario.name in COSTLY:
        return False
    if subject.toggle or subject.target != "level":
        return case.model == "adr"
    return subject.variant == "hardened" and (case.model == "adr" or subject.scenario.name in FEW)


@pytest.mark.parametrize("case", list(cases()))
def test_read_driven_agrees_with_exhaustive(case: Case, tmp_path: Path) -> None:
    trace = record(case.subject, tmp_path, search={"model": case.model})
    options = ("--model", case.model, "--nested", str(case.nested))
    clever = explore(trace, *options, dump=True)
    eager = explore(trace, *options, strategy="exhaustive", dump=True)
    assert_complete(clever, eager)
    assert_same_results(clever, eager)


@pytest.mark.parametrize("subject", [s for s in subjects() if s.scenario.name in FEW], ids=lambda s: s.id)
def test_read_driven_agrees_with_exhaustive_under_ascending_atoms(subject: Subject, tmp_path: Path) -> None:
    """`atoms=byte` has 2^31 images for one copied item: there the unit tests of the models stand in."""
    trace = record(subject, tmp_path)
    options = ("--atoms", "ascending", "--nested", "1" if subject.scenario.name in FEW[:2] else "0")
    clever = explore(trace, *options, dump=True)
    eager = explore(trace, *options, strategy="exhaustive", dump=True)
    assert_complete(clever, eager)
    assert_same_results(clever, eager)


def remembering() -> Iterator[pytest.param]:
    for subject in subjects():
        yield pytest.param(subject, id=subject.id, marks=() if in_short(subject) else pytest.mark.long)


@pytest.mark.parametrize("subject", list(remembering()))
def test_remembered_results_are_those_of_a_run(subject: Subject, tmp_path: Path) -> None:
    trace = record(subject, tmp_path)
    remembering = explore(trace, dump=True)
    asking = explore(trace, "--no-remember", dump=True)
    assert_same_results(remembering, asking)
    # With a dump, what is remembered is judged without its image: each finding has its branch looked for again.
    # Loads are compared, and not runs: where ways of a query are merged, each stretch between two merges is a run.
    if not remembering.findings:
        assert asking.result["loads"] >= remembering.result["loads"]
    # The findings are the same too, byte for byte: which image is shown does not depend on what was remembered.
    assert sorted(f["key"] for f in remembering.findings) == sorted(f["key"] for f in asking.findings)


@pytest.mark.parametrize("subject", list(remembering()))
def test_asking_only_what_is_new_passes_over_no_bad_answer(subject: Subject, tmp_path: Path) -> None:
    """The default run against the runs that ask everything everywhere, by what is judged bad.

    The others must tell every result of the default run: under the same version of what is legal, and after as many
    cuts. The default run must tell every result of the others as well, with two exceptions that it need not ask again.
    An answer that was bad already under an earlier version stays bad when an operation only adds to what is legal. A
    result that was told after one cut is not told again for a cut in recovery.
    """
    trace = record(subject, tmp_path)
    quick = bad_answers(trace)
    references = [bad_answers(trace, "--no-remember")]
    if subject.scenario.name not in COSTLY | TOO_COSTLY:
        references.append(bad_answers(trace, strategy="exhaustive"))
    for reference in references:
        assert_told(quick.first, reference.first)
        assert_told(quick.any, reference.any)
        assert sorted(reference.any) == sorted(quick.any)
        for bad, versions in reference.any.items():
            assert min(quick.any[bad]) <= min(versions), bad


def assert_told(told: dict[BadAnswer, set[int]], reference: dict[BadAnswer, set[int]]) -> None:
    more = sorted(bad for bad, versions in told.items() if not versions <= reference.get(bad, set()))
    assert not more, f"told of by the default run alone: {more[:5]}"


def sampled() -> Iterator[pytest.param]:
    for subject in subjects():
        if subject.scenario.name in FEW or subject.toggle:
            yield pytest.param(subject, id=subject.id, marks=() if in_short(subject) else pytest.mark.long)


#: Long enough for several workers, with an operation of every kind.
LONG_SCENARIO = scenario_text(
    "several_chunks",
    "level",
    'op = "insert", from = 1, to = 130',
    'op = "update", from = 1, to = 60',
    'op = "erase", from = 20, to = 60',
    'op = "maintain", command = "expand"',
    config="top = 32",
)


def assert_repeatable(trace: Path, *options: str) -> Exploration:
    first = explore(trace, "--jobs", "1", *options)
    expected = first.stable(ignoring=frozenset({"jobs"}))
    assert explore(trace, "--jobs", "1", *options).stable() == first.stable(), "two runs differ"
    for jobs in ("2", "3"):
        assert explore(trace, "--jobs", jobs, *options).stable(ignoring=frozenset({"jobs"})) == expected, (
            f"--jobs {jobs}"
        )
    assert explore(trace, "--paranoid", *options).stable() == first.stable(), "--paranoid"
    return first


@pytest.mark.parametrize("subject", [s for s in planted_bugs() if s.toggle in SHORT_TOGGLES], ids=lambda s: s.id)
def test_jobs_runs_and_paranoia_change_nothing(subject: Subject, tmp_path: Path) -> None:
    assert assert_repeatable(record(subject, tmp_path)).findings


def test_no_symbol_is_bound_while_a_target_runs(tmp_path: Path) -> None:
    """Late binding leaves vector registers on the stack, which uninitialised padding of a target would show."""
    trace = record(next(s for s in planted_bugs() if s.toggle == "not_idempotent"), tmp_path)
    debug = {"LD_DEBUG": "bindings", "LD_DEBUG_OUTPUT": str(tmp_path / "bindings")}
    command = [paths.engine(), "explore", "--trace", str(trace), "--jobs", "1"]
    assert subprocess.run(command, env=os.environ | debug, stdout=subprocess.DEVNULL, check=False).returncode == 1
    (output,) = tmp_path.glob("bindings.*")
    lines = output.read_text(encoding="utf-8").splitlines()
    assert any("binding file" in line for line in lines)
    # Every line begins with its process: all are the leader's, and none is a worker's.
    assert {int(line.split(":")[0]) for line in lines} == {int(output.suffix[1:])}


@pytest.mark.parametrize("toggle", [None, "insert_top_unordered"])
def test_jobs_share_a_long_trace(toggle: str | None, tmp_path: Path) -> None:
    file = tmp_path / "several_chunks.toml"
    file.write_text(LONG_SCENARIO, encoding="utf-8")
    subject = Subject(scenario=scenario.load(file), target="level", variant="hardened", toggle=toggle)
    explored = assert_repeatable(record(subject, tmp_path), "--chunk-events", "500")
    assert explored.result["events"] > 4 * 500, "too few chunks to go round"
    assert bool(explored.findings) == (toggle is not None)


@pytest.mark.parametrize("strategy", ["prefix", "random"])
@pytest.mark.parametrize("subject", list(sampled()))
def test_samples_are_called_samples_and_find_no_more(subject: Subject, strategy: str, tmp_path: Path) -> None:
    trace = record(subject, tmp_path)
    sampled = explore(trace, strategy=strategy, dump=True)
    whole = explore(trace, dump=True)
    coverage = sampled.result["coverage"]
    assert coverage["kind"] == "sampled"
    assert int(coverage["covered"]) <= int(coverage["total"]) == int(whole.result["crash_states"])
    assert coverage["nested_complete"] == 0
    assert strategy in coverage["reason"]
    assert_subset(sampled, whole)
    if sampled.result["verdict"] == "inconsistent":
        assert whole.result["verdict"] == "inconsistent"


def test_random_depends_on_its_seed_alone(tmp_path: Path) -> None:
    subject = next(s for s in planted_bugs() if s.toggle == "update_two_writes")
    trace = record(subject, tmp_path)
    runs = [explore(trace, "--seed", seed, "--samples", "2", strategy="random", dump=True) for seed in "112"]
    assert runs[0].dump == runs[1].dump
    assert runs[0].dump != runs[2].dump


def assert_complete(*explorations: Exploration) -> None:
    for exploration in explorations:
        coverage = exploration.result["coverage"]
        assert coverage["kind"] == "complete", coverage["reason"]
        assert coverage["covered"] == coverage["total"]


def assert_same_results(left: Exploration, right: Exploration) -> None:
    for name in ("crash_points", "crash_states", "verdict"):
        assert left.result[name] == right.result[name], name
    if left.dump != right.dump:  # pytest's own diff of two such texts takes minutes
        ours, theirs = lines(left), lines(right)
        some = sorted(ours - theirs)[:5], sorted(theirs - ours)[:5]
        pytest.fail(f"results differ: only the first has {some[0]}, only the second has {some[1]}")


def assert_subset(part: Exploration, whole: Exploration) -> None:
    more = sorted(lines(part) - lines(whole))
    assert not more, f"results that a complete exploration does not have: {more[:5]}"


def lines(exploration: Exploration) -> set[str]:
    assert exploration.dump is not None
    return set(exploration.dump.splitlines())
