"""The repo's own targets: recorded by either tracer, a scenario has one normal form and one verdict."""

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from powercut.base import paths
from powercut.engine import options
from powercut.runs import requests, runner
from powercut.scenarios import catalog, targets
from powercut.scenarios.scenario import Scenario
from powercut_records.run import RunRecord

#: The library that runs under the tool is the plain twin of the library that is explored.
SCHEMES = sorted(
    name
    for name, path in targets.libraries().items()
    if (path.parent / "plain" / path.name).exists()
    and name not in targets.SELF_TEST_TARGETS
    and targets.find(name).description.device is None
)
#: The quick test explores each scheme's first core scenario, and only its crash states in program order.
QUICK = options.ExploreOptions(strategy="prefix", nested=0)


def judged(
    selection: targets.Selection, scenario: Scenario, tracer: str, out: Path, how: options.ExploreOptions
) -> tuple[RunRecord, str]:
    """The run's record and the normal form of its trace."""
    request = requests.one(selection, scenario, options=how)
    request = replace(request, slug=f"{request.slug}-{tracer}", tracer=tracer)
    with runner.open_context(paths.engine(), out) as context:
        run = runner.run_one(request, context)
    trace = out / "traces" / f"{request.slug}.pct"
    dump = subprocess.run([paths.engine(), "dump", "--normal", "--trace", trace], check=True, stdout=subprocess.PIPE)
    return run, dump.stdout.decode()


def verdict(run: RunRecord) -> tuple[str, str]:
    """Coverage, and whether anything was found.

    Which invariants an inconsistent scheme violates may differ. To the pass a copy is one store, torn at 8-byte
    boundaries. To the tool a copy is the instructions that the compiler made of it, which overlap and tear elsewhere.
    """
    assert not run.error, run.error
    return run.coverage.kind, "inconsistent" if run.findings else "consistent"


def compare(
    name: str, scenarios: list[Scenario], selection: targets.Selection, out: Path, how: options.ExploreOptions
) -> None:
    for scenario in scenarios:
        (llvm, form), (valgrind, other_form) = (
            judged(selection, scenario, tracer, out, how) for tracer in ("llvm", "valgrind")
        )
        assert form == other_form, f"{name} {scenario.name}: the tracers disagree"
        assert form.count("fence") > 0
        assert verdict(llvm) == verdict(valgrind), f"{name} {scenario.name}"


@pytest.mark.parametrize("name", SCHEMES)
def test_one_verdict_whatever_recorded(name: str, tmp_path: Path) -> None:
    target = targets.find(name)
    selection = targets.Selection(target=target, variant=target.default_variants[0])
    compare(name, catalog.core(name, target.library)[:1], selection, tmp_path, QUICK)


@pytest.mark.long
@pytest.mark.parametrize("name", SCHEMES)
def test_one_verdict_for_every_core_scenario(name: str, tmp_path: Path) -> None:
    target = targets.find(name)
    for variant in target.default_variants:
        selection = targets.Selection(target=target, variant=variant)
        compare(name, catalog.core(name, target.library), selection, tmp_path, options.ExploreOptions())


def test_a_finding_names_the_line_of_the_plain_library(tmp_path: Path) -> None:
    (selection,) = targets.select(["stash"])
    run, _ = judged(selection, catalog.core("stash", selection.target.library)[0], "valgrind", tmp_path, QUICK)
    files = {frame["file"] for finding in run["findings"] for frame in frames_of(finding.as_json())}
    assert any("targets/common/cuckoo/insert.cc" in file for file in files), files


def frames_of(finding: dict[str, Any]) -> list[dict[str, Any]]:
    """Every symbolised frame anywhere in a finding."""
    found: list[dict[str, Any]] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if "file" in value and "line" in value and value["file"]:
                found.append(value)
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(finding)
    return found
