"""The end of a command's output: a table for each target, and what all verdicts stand on. A line for a finding so far.

    level:published
      scenario            verdict                 bugs  findings  crash states    time
      insert              consistent, complete       0         0         1,234  412 ms
      update_full_bucket  inconsistent, complete     1         3   1.8 × 10^19   2.1 s
    1 target, 2 runs: 1 consistent, 1 inconsistent; 1 bug, 3 findings; 2.5 s
    Assumes: …

Bugs and findings of a target are counted once each, also where several runs have them: the last line may have fewer
than the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from powercut_records.finding import FindingRecord
from powercut_records.run import RunRecord
from powercut_reports import format as fmt
from powercut_reports import story
from powercut_reports.bugs import bugs, totals
from powercut_reports.format import printable
from powercut_reports.text import VERDICT_STYLE, Painter

_TITLES = ("scenario", "verdict", "bugs", "findings", "crash states", "time")
_LEAST_NAME = 12


def render_line(finding: FindingRecord) -> str:
    """One finding in one line, for before its run is over; ends without a newline."""
    words = [f"FOUND: powercut: {finding.invariant} {story.summary_site(finding)}".rstrip()]
    words += [f"({' '.join(part for part in (finding.subject, finding.scenario) if part)})"]
    return printable("  ".join([*words, finding.file]).rstrip())


def render(runs: Sequence[RunRecord], *, color: bool, width: int | None = None, took: float | None = None) -> str:
    """The closing summary of several runs; for one run, what it assumes.

    `width` columns of the terminal, None for any. `took`: seconds of the command, None where it explored nothing.
    """
    rows: list[str] = []
    if len(runs) > 1:
        rows += _tables(runs, Painter(color=color), width)
        rows.append(total(runs, took=took))
        rows += _unreached(runs)
    if runs and (assumed := _assumptions(runs)):
        rows.append("Assumes: " + "; ".join(assumed))
    return "\n".join(rows)


def _tables(runs: Sequence[RunRecord], paint: Painter, width: int | None) -> list[str]:
    lines = [(run, _cells(run)) for run in runs]
    widths = [max(len(cells[i]) for cells in [_TITLES, *(cells for _, cells in lines)]) for i in range(len(_TITLES))]
    if width is not None:
        over = 2 + sum(widths) + 2 * (len(widths) - 1) - width
        widths[0] = max(min(widths[0], _LEAST_NAME), widths[0] - max(0, over))
    rows: list[str] = []
    for name in dict.fromkeys(run.name for run in runs):
        rows.append(paint(printable(name), "bold"))
        rows.append("  " + _row(_TITLES, widths))
        for run, cells in lines:
            if run.name == name:
                shown = _row(cells, widths)
                verdict = cells[1].ljust(widths[1])
                rows.append("  " + shown.replace(verdict, paint(verdict, VERDICT_STYLE[run.verdict]), 1))
    return rows


def _cells(run: RunRecord) -> tuple[str, ...]:
    covered = "" if run.verdict == "unknown" else f", {story.coverage_words(run.coverage)}{_depth(run)}"
    power = fmt.power_of_ten(run.crash_states)
    states = f"{power.mantissa} × 10^{power.exponent}" if power else fmt.grouped(run.crash_states)
    count = len({finding.counted_as for finding in run.findings})
    counts = fmt.grouped(len(bugs(run.findings))), fmt.grouped(count)
    return printable(run.scenario), f"{run.verdict}{covered}", *counts, states, fmt.seconds(run.seconds)


def _depth(run: RunRecord) -> str:
    """The words that `complete` lacks: for a program, and where cuts inside recovery were asked for."""
    if run.coverage.acknowledged is False:
        return " without acknowledged data"
    depth = run.coverage.nested_complete
    if run.coverage.kind != "complete" or depth is None:
        return ""
    short = not depth if isinstance(depth, bool) else depth < (run.nested or 0)
    return " without cuts inside recovery" if short else ""


def _row(cells: Sequence[str], widths: list[int]) -> str:
    name = cells[0] if len(cells[0]) <= widths[0] else cells[0][: widths[0] - 1] + "…"
    words = [name.ljust(widths[0]), cells[1].ljust(widths[1])]
    words += [cell.rjust(width) for cell, width in zip(cells[2:], widths[2:], strict=True)]
    return "  ".join(words)


def total(runs: Sequence[RunRecord], *, took: float | None = None) -> str:
    """The totals of all runs, in a line. `took`: seconds of the command; without it the line has those of the runs."""
    found = totals(runs)
    counted = ", ".join(f"{count} {name}" for name, count in found.verdicts.items())
    words = [f"{fmt.plural(found.targets, 'target')}, {fmt.plural(found.runs, 'run')}: {counted}"]
    words += [f"{fmt.plural(found.bugs, 'bug')}, {fmt.plural(found.findings, 'finding')}"]
    words += [f"{fmt.seconds(found.seconds)} of runs" if took is None else fmt.seconds(took)]
    words += [f"{found.interrupted} interrupted"] if found.interrupted else []
    return "; ".join(words)


def _unreached(runs: Sequence[RunRecord]) -> list[str]:
    """For each target of several runs: the functions whose stores none of its runs reached."""
    rows = []
    for name in dict.fromkeys(run.name for run in runs):
        members = [run for run in runs if run.name == name]
        if len(members) > 1 and (missed := story.unreached_by_all(members)):
            rows.append(printable(f"Not checked in any run of {name}: {story.unreached_sentence(missed)}"))
    return rows


def _assumptions(runs: Sequence[RunRecord]) -> list[str]:
    """Each sentence once; one that not every run stands on says how many do."""
    told = Counter(sentence for run in runs for sentence in dict.fromkeys(run.assumptions))
    judged = sum(bool(run.assumptions) for run in runs)
    return [
        printable(sentence) + (f" ({count} of {judged} runs)" if count < judged else "")
        for sentence, count in told.items()
    ]
