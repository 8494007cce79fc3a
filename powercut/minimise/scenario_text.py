"""A case as a scenario file: a regression test that can be committed (scenarios/SCHEMA.md)."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.engine.options import DEFAULT_SEARCH, DEFAULT_VISIBILITY
from powercut.minimise.case import Case, Operation, Phase, repeatable
from powercut.minimise.order import is_number
from powercut.scenarios.plan import BUG_OPTION
from powercut.scenarios.schema import CHOICE_SINCE, COUNTERS_SINCE, SIZES_SINCE, THREADS_SINCE
from powercut.scenarios.sizes import are_mixed, in_plan
from powercut_records.finding import FindingRecord

_NAME = re.compile(r"^name = .*$", re.MULTILINE)
_COMMAND = re.compile(r"^(# Shows it again: powercut run \S+ --scenario )\S+", re.MULTILINE)
_WIDTH = 116


def scenario_text(case: Case, *, finding: FindingRecord, original: FindingRecord, toggle: str | None) -> str:
    """The TOML of `case`, which shows `finding`; `original` is the finding that was minimised."""
    name = f"minimal-{original.fingerprint}"
    lines = [
        *_comment(f"Regression test of finding {original.fingerprint}, minimised by powercut: {_what(original)}."),
        *_comment(finding.message),
        f"# Shows it again: {_command(original, name, depth=finding.crash_point.depth)}",
        f"schema = {_version(case, original)}",
        f"name = {_quoted(name)}",
        f"summary = {_quoted(_summary(original))}",
        f"targets = [{_quoted(original.target)}]",
        "",
    ]
    options = [*case.options, *([(BUG_OPTION, toggle)] if toggle is not None else [])]
    if options:
        values = [f"{key} = {value if is_number(value) else _quoted(value)}" for key, value in options]
        lines += ["[config]", *values, ""]
    lines += ["[pool]", f"size = {_quoted(_size(case.pool_size))}", ""]
    lines += ["[data]", f"key_size = {_value(in_plan(case.key_size))}"]
    lines.append(f"value_size = {_value(in_plan(case.value_size))}")
    for phase in case.phases:
        lines += ["", "[[phase]]", *_phase(phase)]
    if case.race:
        lines += _search(original)
    return "\n".join([*lines, ""])


def renamed(text: str, path: Path) -> str:
    """Returns the scenario for the file `path`: a scenario is named as its file is."""
    text = _NAME.sub(lambda _: f"name = {_quoted(path.stem)}", text, count=1)
    return _COMMAND.sub(lambda match: f"{match[1]}{path.name}", text, count=1)


def _what(original: FindingRecord) -> str:
    return f"{original.invariant} in {original.target}:{original.variant}, scenario {original.scenario}"


def _summary(original: FindingRecord) -> str:
    return f"The smallest workload known to show finding {original.fingerprint} ({original.invariant})."


def _command(original: FindingRecord, name: str, *, depth: int) -> str:
    """`powercut run` with what decides whether the finding shows."""
    assert original.plan is not None
    used, library = original.engine, Path(original.plan["target"]["library"])
    of_the_build = library.parent.resolve() == paths.library_dir().resolve()
    target = original.target if of_the_build else library.name
    words = ["powercut", "run", f"{target}:{original.variant}", "--scenario", f"{name}.toml"]
    words += ["--model", used.model, "--atoms", used.atoms, "--nested", str(depth)]
    return " ".join(words)


def _comment(text: str) -> list[str]:
    """`text` as lines of a comment."""
    lines, line = [], "#"
    for word in text.split():
        if len(line) + 1 + len(word) > _WIDTH and line != "#":
            lines.append(line)
            line = "#"
        line = f"{line} {word}"
    return [*lines, line]


def _phase(phase: Phase) -> list[str]:
    lines = [f"name = {_quoted(phase.name)}"]
    if not phase.explore:
        lines.append("explore = false")
    if phase.cut_at is not None:
        lines.append(f"cut_at = {_quoted(phase.cut_at)}")
    if phase.threads:
        threads = [", ".join(f"{{ {_fields(step)} }}" for step in _steps(program)) for program in phase.programs]
        return [*lines, "threads = [", *(f"  [{steps}]," for steps in threads), "]"]
    steps = _steps(phase.operations, joining=phase.cut_at is None)
    return [*lines, "steps = [", *(f"  {{ {_fields(step)} }}," for step in steps), "]"]


def _version(case: Case, original: FindingRecord) -> int:
    """The lowest that knows what the file says."""
    if are_mixed((case.key_size, case.value_size)):
        return SIZES_SINCE
    if any(item.kind == "increment" for item in case.operations):
        return COUNTERS_SINCE
    if not case.race:
        return 1
    assert original.plan is not None
    return CHOICE_SINCE if "visibility" in original.plan["search"] else THREADS_SINCE


def _search(original: FindingRecord) -> list[str]:
    """The table that chooses the schedules which the finding came from; nothing where all were run."""
    assert original.plan is not None
    search = original.plan.get("search", {})
    search = repeatable(search) if search else search
    usual = {"kind": DEFAULT_SEARCH, "preemptions": None, "schedules": 0, "visibility": DEFAULT_VISIBILITY}
    fields = [f"{name} = {_value(search[name])}" for name in usual if search.get(name, usual[name]) != usual[name]]
    return ["", "[search]", *fields] if fields else []


def _steps(operations: Sequence[Operation], *, joining: bool = True) -> list[dict[str, Any]]:
    """Neighbours of one kind become one step, unless a cut may drop the rest of a step."""
    groups: list[list[Operation]] = []
    for operation in operations:
        before = groups[-1][0] if groups and joining and operation.key is not None else None
        if before is not None and replace(before, key=operation.key) == operation:
            groups[-1].append(operation)
        else:
            groups.append([operation])
    return [
        {**group[0].step(), "keys": [item.key for item in group]} if group[0].key is not None else group[0].step()
        for group in groups
    ]


def _fields(step: dict[str, Any]) -> str:
    return ", ".join(f"{key} = {_value(value)}" for key, value in step.items())


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_value(item) for item in value)}]"
    return str(value) if isinstance(value, int) else _quoted(value)


def _quoted(text: str) -> str:
    # A basic string of TOML escapes what a string of JSON does, and 0x7f.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _size(size: int) -> str:
    return f"{size >> 20}MiB" if size % (1 << 20) == 0 else f"{size >> 10}KiB"
