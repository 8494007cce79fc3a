"""Writes a scenario as the file that would read back as the same one (scenarios/SCHEMA.md)."""

import json
from typing import Any

from powercut.scenarios.schema import DEFAULT_POOL_BYTES, ScenarioFile

#: Keys of the file that are tables; they come after all others.
_TABLES = frozenset({"config", "pool", "data", "phase", "search", "known_bug", "define", "claim"})
_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def render(content: ScenarioFile, *, comment: str = "") -> str:
    """The text of the file; `comment` goes before it, a line each."""
    values = content.model_dump(by_alias=True, exclude_defaults=True)
    lines = [f"# {line}".rstrip() for line in comment.splitlines()]
    lines += [f"{key} = {toml_value(value)}" for key, value in values.items() if key not in _TABLES]
    if "config" in values:
        lines += ["", "[config]", *(f"{_key(name)} = {toml_value(value)}" for name, value in values["config"].items())]
    if content.pool.size != DEFAULT_POOL_BYTES:
        lines += ["", "[pool]", f"size = {toml_value(_size(content.pool.size))}"]
    if "data" in values:
        lines += ["", "[data]", *(f"{name} = {toml_value(value)}" for name, value in values["data"].items())]
    for phase in values["phase"]:
        lines += ["", "[[phase]]"]
        lines += [f"{name} = {toml_value(value)}" for name, value in phase.items() if name not in ("steps", "threads")]
        if "threads" in phase:
            lines += ["threads = [", *(f"  {toml_value(thread)}," for thread in phase["threads"]), "]"]
        else:
            lines += ["steps = [", *(f"  {_table(step)}," for step in phase["steps"]), "]"]
    if "search" in values:
        lines += ["", "[search]", *(f"{name} = {toml_value(value)}" for name, value in values["search"].items())]
    if "known_bug" in values:
        lines += ["", "[known_bug]"]
        lines += [f"{name} = {toml_value(value)}" for name, value in values["known_bug"].items()]
    if "define" in values:
        lines += ["", "[define]"]
        lines += [f"{_key(name)} = {toml_value(value)}" for name, value in values["define"].items()]
    for claim in values.get("claim", ()):
        lines += ["", "[[claim]]", *(f"{name} = {toml_value(value)}" for name, value in claim.items())]
    return "\n".join(lines) + "\n"


def toml_value(value: Any) -> str:
    """A text, number, boolean, list or table as TOML spells it, in a line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # A basic string has the escapes of JSON; TOML forbids one more character than JSON does.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    if isinstance(value, dict):
        return _table(value)
    return repr(value)


def _key(name: str) -> str:
    return name if name and all(c.isascii() and (c.isalnum() or c in "-_") for c in name) else toml_value(name)


def _table(values: dict[str, Any]) -> str:
    return "{ " + ", ".join(f"{_key(name)} = {toml_value(value)}" for name, value in values.items()) + " }"


def _size(size: int) -> str:
    return next(f"{size // unit}{name}" for unit, name in _UNITS if size % unit == 0)
