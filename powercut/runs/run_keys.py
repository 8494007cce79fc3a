"""The key of a run: two runs with equal keys are the same run.

A key hashes everything on which a run depends: the code of the target's library and of all libraries that it loads
(`elf_code`); the plan, the options and the tracer; the engine's own code and powercut's; the claims that are made of
the run. Line numbers are no part of it: `Key.lines` hashes them apart, since findings name lines.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from powercut.claims.sheet import applicable, of_run
from powercut.engine import elf_code
from powercut.runs import subjects
from powercut.runs.run_request import DEFAULT_TRACER, Request


@dataclass(frozen=True, kw_only=True)
class Key:
    """The key of one run. `name` says which run it is, whatever its code; `parts` are hashes, `lines` is no part of the
    key."""

    name: str
    parts: Mapping[str, str]
    lines: str

    @property
    def digest(self) -> str:
        return _digest(dict(self.parts))


def key_of(request: Request, *, engine_path: Path) -> Key | None:
    """None for what is no run of a target (a program, a given trace), or cannot be read."""
    if request.plan is None or not subjects.of(request).recorded_alike or request.slug is None:
        return None
    target = request.plan["target"]
    options = request.options
    described = {**options.described(), "paranoid": options.paranoid, "tracer": request.tracer}
    described["budget_executions"] = options.budget.executions
    described["step_budget"] = options.step_budget
    described["chunk_events"] = options.chunk_events
    plan = {**request.plan, "target": {**target, "library": ""}}
    try:
        codes = [elf_code.of_file(path) for path in _recorded_and_explored(request)]
        engine = elf_code.of_file(engine_path, lines=False).code
    except OSError:
        return None
    parts = {
        "code": _digest([code.code for code in codes]),
        "plan": _digest(plan),
        "options": _digest(described),
        "engine": engine,
        "powercut": _own_code(),
        "claims": _digest(repr(applicable(of_run(request.plan, request.scenario), request.plan, model=options.model))),
    }
    name = f"{request.slug} {parts['options'][:12]}"
    return Key(name=name, parts=parts, lines=_digest([code.lines for code in codes]))


def _recorded_and_explored(request: Request) -> list[Path]:
    """The instrumented library; a tracer of binaries records its plain twin."""
    assert request.plan is not None
    library = Path(request.plan["target"]["library"])
    plain = library.parent / "plain" / library.name
    return [library, plain] if request.tracer != DEFAULT_TRACER and plain.is_file() else [library]


@cache
def _own_code() -> str:
    """Hashes the Python package, which puts records together."""
    folder = Path(__file__).parents[1]
    own = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        own.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return own.hexdigest()


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
