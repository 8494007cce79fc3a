"""`powercut list`: the names that a command line can use."""

from typing import Annotated, Any

from powercut.base import paths
from powercut.base.errors import unknown_name
from powercut.cli import output
from powercut.cli.commands import shared
from powercut.cli.commands.grouped import argument
from powercut.engine import options
from powercut.scenarios import catalog, targets


def list_(
    what: Annotated[str, argument("targets|scenarios|models|strategies|known-bugs", "What to list.")],
    json: shared.Json = False,
) -> None:
    """List targets, scenarios, models, strategies or known bugs, one a line."""
    if what not in _LISTS:
        raise unknown_name("list", what, _LISTS, list_command="powercut list --help")
    rows = _LISTS[what]()
    if json:
        output.print_json({what.replace("-", "_"): rows})
        return
    width = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        print(f"{row['name']:<{width}}  {_line(row)}".rstrip())
        for detail in row.get("options", []):
            print(f"    {detail}")


def _line(row: dict[str, Any]) -> str:
    parts = [row["summary"]]
    if "variants" in row:
        parts.append(f"({', '.join(row['variants'])})")
    if "targets" in row:
        parts.append(f"[{', '.join(row['targets'])}{'; core' if row['core'] else ''}]")
    if "expected" in row:
        parts.append(f"[{', '.join(row['expected'])}; {row['scenario']}]")
    return "  ".join(parts)


def _targets() -> list[dict[str, Any]]:
    return [
        {
            "name": item.name,
            "summary": item.description.summary,
            "paper": item.description.paper,
            "variants": item.description.variants,
            "options": item.description.options,
            "commands": item.description.commands,
        }
        for item in (targets.find(name) for name in targets.libraries())
    ]


def _scenarios() -> list[dict[str, Any]]:
    return [
        {
            "name": item.name,
            "summary": item.content.summary,
            "targets": item.content.targets,
            "core": item.content.core,
            "file": paths.relative(item.path),
            "line": item.line or 1,
        }
        for item in catalog.everything()
    ]


def _known_bugs() -> list[dict[str, Any]]:
    return [
        {
            "name": item.bug_id,
            "summary": item.content.summary,
            "class": item.bug.defect_class,
            "expected": item.bug.expected,
            "source": item.bug.source,
            "scenario": item.place,
        }
        for item in catalog.known_bugs()
    ]


def _models() -> list[dict[str, Any]]:
    return [{"name": name, "summary": text} for name, text in options.MODELS.items()]


def _strategies() -> list[dict[str, Any]]:
    return [{"name": name, "summary": text} for name, text in options.STRATEGIES.items()]


_LISTS = {
    "targets": _targets,
    "scenarios": _scenarios,
    "models": _models,
    "strategies": _strategies,
    "known-bugs": _known_bugs,
}
