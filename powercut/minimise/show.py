"""A minimal case for people, and the progress of the search for it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from powercut.minimise.ledger import Limits
from powercut.minimise.ledger import Progress as Count
from powercut_records.finding import LINE, Minimal


def summary(minimal: Minimal, fingerprint: str) -> str:
    """The field `minimal` of a finding's record as a few lines: what was taken away, and what is left."""
    operations, point = minimal.operations, minimal.crash_point
    lines = [
        f"Minimised {fingerprint}: {_counted(minimal.operations_before, minimal.noun)} → {len(operations)}, "
        f"{_counted(minimal.lost_before, 'lost store')} → {minimal.lost}; "
        f"{_counted(minimal.considered, 'candidate')} in {minimal.seconds:.1f} s"
    ]
    if minimal.note:
        lines.append(f"  It may be smaller still: {minimal.note}.")
    if minimal.noun != LINE:  # lines come with no configuration
        config = ", ".join(f"{name} = {value}" for name, value in minimal.config.items())
        lines.append(f"  Configuration: {config or 'the default'}")
    phase = ""  # which lines have
    for item in operations:
        if item.phase != phase:
            phase = item.phase
            lines.append(f"  Phase '{phase}'{'' if item.explored else ', not explored'}")
        lines.append(f"    {(item.index or 0) + 1}. {item}")
    depth = f", {_counted(point.depth, 'cut')} inside recovery" if point.depth else ""
    lines.append(f"  Power cut: {point.when}, at event {point.event} (crash point {point.index}){depth}")
    return "\n".join(lines)


def _counted(count: int | None, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


@contextmanager
def bar(name: str, limits: Limits, *, noun: str = "operation") -> Iterator[Callable[[Count], None]]:
    """A callback for `minimise`: a bar on stderr when that is a terminal, silence otherwise."""
    if not sys.stderr.isatty():
        yield lambda count: None
        return
    shown = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[state]}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    # The end is the search's to find: the bar shows how much of its limit is used.
    task = shown.add_task(f"minimise {name}", total=limits.considered, state="")
    with shown:
        yield lambda count: shown.update(
            task,
            completed=count.considered,
            state=f"{_counted(count.considered, 'candidate')}, {_counted(count.operations, noun)} now",
        )
