"""Lists that stand in two places are the same in both: names that people choose by, and invariants."""

import importlib
import json
import re
import subprocess
from collections.abc import Collection
from pathlib import Path
from typing import get_args

import pytest

from powercut.base import paths
from powercut.engine import options
from powercut.runs import faults
from powercut.scenarios import schema
from powercut_records.media import MEDIA
from powercut_reports.gate_formats import FILES, RENDERERS, ci
from replayer.reference import media as reference

ROOT = Path(__file__).resolve().parents[2]
#: Words that a scenario may expect beside invariants; `unpersisted-read` is not checked yet (checker/ORACLE.md).
NO_INVARIANTS = {*options.PERFORMANCE_BUGS}


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("command", "option", "names"),
    [
        ("explore", "--strategy", options.STRATEGIES),
        ("explore", "--model", options.MODELS),
        ("explore", "--atoms", options.ATOMS),
        ("faults", "--fault", faults.KINDS),
    ],
)
def test_what_people_can_choose_is_what_the_engine_has(
    command: str, option: str, names: Collection[str], real_engine: None
) -> None:
    done = subprocess.run([paths.engine(), command, "--trace", "none", option, "none"], capture_output=True, text=True)
    (refusal,) = [event for line in done.stdout.splitlines() if (event := json.loads(line))["event"] == "error"]
    assert refusal["next"] == f"Use one of: {', '.join(names)}.", f"powercut list and the engine differ in {option}"


def test_every_medium_has_its_words() -> None:
    table = re.findall(r"MEDIUM\((\w+)\)", read("replayer/media/media.def"))
    assert [medium.name for medium in MEDIA] == table, "powercut_records.media, MEDIA"
    for medium in MEDIA:
        called = f'.name = "{medium.name}", .called = "{medium.called}"'
        files = sorted((ROOT / "replayer/media" / medium.name).glob("*.cc"))
        code = "".join(path.read_text(encoding="utf-8") for path in files)
        assert called in re.sub(r"\s+", " ", code), called


def test_every_medium_has_its_reference() -> None:
    """The models of the reference are those of the engine, medium by medium; nothing of a medium stands elsewhere."""
    assert list(reference.MEDIA) == [medium.name for medium in MEDIA], "replayer/reference/media.py, MEDIA"
    for medium in MEDIA:
        rules = importlib.import_module(f"replayer.media.{medium.name}.reference").MODELS
        assert list(rules) == list(medium.models), f"replayer/media/{medium.name}/reference.py, MODELS"
    names = "|".join(sorted({model for medium in MEDIA for model in medium.models}))
    memory_alone = {"threads.py", "store_buffers.py", "media.py"}  # schedules of threads, and the table
    for path in sorted((ROOT / "replayer/reference").glob("*.py")):
        found = re.search(rf'"(?:{names})"', path.read_text(encoding="utf-8"))
        assert path.name in memory_alone or not found, f"{path.name}: {found and found[0]}"


def test_every_invariant_is_in_every_list() -> None:
    code = read("checker/oracle/invariants.cc")
    found = set(re.findall(r'(?:Violation\{|invariant = |\? |: |return \{)\s*"([a-z-]+)"', code)) - {"absent"}
    found |= set(
        re.findall(
            r'return "([a-z-]+)"',
            read("tracer/format/trace_names.cc").partition("Trouble trouble")[2].partition("\n}")[0],
        )
    )
    found -= {"died", "unknown"}  # reported as unusable
    page = read("checker/ORACLE.md").partition("\n## Invariants\n")[2].partition("\n## ")[0]
    told = set(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE))
    assert told == found | {"not-idempotent"}, "checker/ORACLE.md, section Invariants"
    assert set(get_args(schema.Invariant)) - NO_INVARIANTS == told, "powercut/scenarios/schema.py, Invariant"
    assert {rule.id for rule in ci.RULES if not rule.performance} == told, (
        "reports/powercut_reports/gate_formats/ci.py, RULES"
    )


def test_every_format_of_a_gate_is_in_the_page_of_runs() -> None:
    page = read("checker/RUN.md")
    for name in RENDERERS:
        row = re.search(rf"^\| `{name}` \| (.+)$", page, re.MULTILINE)
        assert row and FILES.get(name, "stdout") in row[1], f"checker/RUN.md: a row for {name}"


def test_every_fault_is_in_its_pages() -> None:
    page = read("checker/FAULTS.md")
    assert set(faults.KINDS) <= set(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)), "checker/FAULTS.md"
    types = re.findall(r"^\| `fault_\w+` \| `fault` \| `([^`]+)` \|", read("reports/EVENTS.md"), re.MULTILINE)
    assert len(types) == 2
    assert {frozenset(re.findall(r'"([a-z-]+)"', kinds)) for kinds in types} == {frozenset(faults.KINDS)}, (
        "reports/EVENTS.md"
    )


def test_every_event_of_a_trace_is_in_its_format() -> None:
    (kinds,) = re.findall(r"enum class EventKind : uint8_t \{(.*?)\n\};", read("tracer/format/trace.h"), re.DOTALL)
    table = read("tracer/FORMAT.md").partition("| type | event |")[2].partition("\n\n")[0]
    told = {number for cell in re.findall(r"^\| ([\d, ]+) \|", table, re.MULTILINE) for number in cell.split(", ")}
    told.discard("17")  # a flush or fence of a device
    assert told == set(re.findall(r"^  k\w+ = (\d+),", kinds, re.MULTILINE)), "tracer/FORMAT.md, the table of events"


def test_every_strategy_is_in_the_page_of_the_explorer() -> None:
    table = read("replayer/EXPLORER.md").partition("\n## Strategies\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `([a-z-]+)`", table, re.MULTILINE)) == set(options.STRATEGIES), (
        "replayer/EXPLORER.md, Strategies"
    )
