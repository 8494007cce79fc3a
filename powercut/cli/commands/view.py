"""`powercut view`: what a recorded program did to the files below a folder."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.cli import output
from powercut.cli.commands import shared
from powercut.cli.commands.grouped import argument, option
from powercut.engine.events import Module
from powercut.files import calls, trees
from powercut.files.places import Places
from powercut.files.survey import Survey, survey
from powercut.files.trees import CrashPoint, TreesOfProfile
from powercut.symbols.symbolize import Symbolizer
from powercut_reports import format as fmt


def view(
    trace: Annotated[Path, argument("TRACE", "A trace that 'powercut record --files' wrote.")],
    *,
    fs: Annotated[
        str | None,
        option(
            "--fs NAMES",
            "Count trees under these profiles: ext4,posix; names of 'powercut models files', or files.  "
            f"[default: {','.join(trees.USUAL)}]",
        ),
    ] = None,
    crash_points: Annotated[bool, option("--crash-points", "Print the number of trees at each crash point.")] = False,
    stacks: Annotated[bool, option("--stacks", "Show the frames of the program below each call.")] = False,
    json: shared.Json = False,
) -> None:
    """Show the calls of a recorded program on its files, and what it never synced.

    Each call has a number, its thread, and the inode that a name leads to; behind '@' stands the line that made it.
    A power cut may leave as many trees as the last lines say, under each file system's profile. No recovery is run.
    """
    asked = trees.chosen(fs)
    modules: list[Module] = []
    found = survey(calls.records(paths.engine(), trace, contents=False, modules=modules))
    if not found.ended:
        raise UsageError(
            "this is no recording of a folder", where=str(trace), next_step="Record one with 'powercut record --files'."
        )
    counted = list(trees.count(paths.engine(), trace, asked))
    with Symbolizer() as symbolizer:
        places = Places(modules, symbolizer)
        if json:
            shown = [[frame.record() for frame in places.frames(stack)] for stack in found.stacks]
            output.print_json(
                {
                    **asdict(found),
                    "stacks": shown,
                    "trace": str(trace),
                    "trees": [asdict(each) for each in counted],
                }
            )
            return
        lines = _lines(found, places, stacks=stacks)
    lines += [*(_of_each(counted) if crash_points else []), *_of_all(counted)]
    print("\n".join(lines))


def _lines(found: Survey, places: Places, *, stacks: bool) -> list[str]:
    lines = []
    for line, stack in zip(found.lines, found.stacks, strict=True):
        place = places.place(stack)
        lines.append(f"{line}  @ {place}" if place and not stacks else line)
        if stacks:
            lines += [f"{'':14}{frame.function}  {frame.place}" for frame in places.frames(stack)]
    return [
        *lines,
        f"The program ended: {found.ended}.",
        *(f"Unsynced at the end: {what}." for what in found.unsynced),
        *(f"Nothing to make durable: {what}." for what in found.idle_syncs),
        *(f"Note: {what}." for what in found.notes),
        *(f"Not complete: {what}." for what in found.missed),
    ]


def _number(trees: str | None) -> str:
    if trees is None:
        return "not counted"
    power = fmt.power_of_ten(trees)
    return f"{power.mantissa} × 10^{power.exponent}" if power else fmt.grouped(trees)


def _of_each(counted: list[TreesOfProfile]) -> list[str]:
    """A line for each crash point of any profile, with the trees under each profile that has it."""
    places: dict[tuple[int, int], dict[str, CrashPoint]] = {}
    for each in counted:
        for point in each.crash_points:
            order = ("before", "during", "after").index(point.side)
            places.setdefault((point.call, order), {})[each.profile] = point
    found = []
    for _, points in sorted(places.items()):
        place = next(iter(points.values())).place()
        rows = (f"{profile} {_number(point.trees)}" for profile, point in points.items())
        found.append(f"{place:<18}  {', '.join(rows)}")
    return found


def _of_all(counted: list[TreesOfProfile]) -> list[str]:
    """A line for each profile: its crash points, and where most trees are."""
    width = max(len(each.profile) for each in counted)
    found = ["Trees that a power cut may leave:"]
    for each in counted:
        most = each.most()
        points = len(each.crash_points)
        text = f"{points} crash point{'' if points == 1 else 's'}"
        if most is not None:
            trees_there = f"{_number(most.trees)} tree{'' if most.trees == '1' else 's'}"
            text += f", {trees_there}{'' if points == 1 else ' at most'} ({most.place()})"
        if uncounted := each.uncounted():
            which = "" if most is None else f"{uncounted} of them "
            text += f", {which}not counted: there are too many choices of operations"
        found.append(f"  {each.profile:<{width}}  {text}.")
    return found
