"""A record of injected faults as text: one line of counts, and each finding in a paragraph."""

from typing import Any

_EFFECTS = ("harmless", "detected", "crashed", "silent")


def render(run: dict[str, Any]) -> str:
    """The record of one kind of fault in one scenario."""
    lines = [_finding(item, run) for item in run["findings"]]
    lines += [
        f"  {len(item['findings'])} findings of crash states in {item['trace']}; 'powercut explore' shows them."
        for item in run["explored"]
        if item["findings"]
    ]
    return "\n".join([*lines, _summary(run)])


def _summary(run: dict[str, Any]) -> str:
    head = f"{run['target']}:{run['variant']} {run['scenario']} {run['fault']}:"
    if run["error"]:
        return f"{head} unknown. {run['error']['where']}: {run['error']['what']}. {run['error']['next']}"
    counts = ", ".join(f"{run['effects'][name]} {name}" for name in _EFFECTS if run["effects"][name])
    covered = "complete" if run["complete"] else f"sampled ({run['reason']})"
    text = f"{head} {run['cases']} cases: {counts or 'none'}; {covered}"
    if run["fault"] not in ("alloc", "stale"):
        text += f" at {run['points']} images"
    if run["invariants"] and not run["claimed"]:
        by = ", ".join(f"{name} {count}" for name, count in sorted(run["invariants"].items()))
        seen = f"; {run['seen_by_verify']} of them are seen by verify" if run["fault"] == "bitflip" else ""
        text += f". Wrong: {by}{seen}. No findings: {_EXCUSES.get(run['fault'], _CONTRACT)}"
    return "\n".join([text.rstrip(".") + ".", *(f"  Note: {note}." for note in run["notes"])])


_EXCUSES = {
    "bitflip": "the target does not claim to detect damage",
    "stale": "the target says that it needs a zeroed pool",
}
_CONTRACT = "the device breaks its contract"


def _finding(item: dict[str, Any], run: dict[str, Any]) -> str:
    place = item["site"] and f"{item['site']}" + (f" in {item['function']}" if item["function"] else "")
    times = f" ({item['count']} cases)" if item["count"] > 1 else ""
    return "\n".join(
        [
            f"ERROR: powercut: {item['invariant']}"
            f" (target {run['target']}:{run['variant']}, scenario {run['scenario']}, fault {run['fault']})",
            f"  {item['message']}{times}",
            f"    fault     {item['subject']}",
            f"    during    {item['operation']} (operation {item['operation_index']})"
            + (f", {item['query']}" if item["query"] else ""),
            *([f"    at        {place}"] if place else []),
            f"    expected  {' or '.join(item['expected']) or '-'}   found {item['found'] or '-'}",
        ]
    )
