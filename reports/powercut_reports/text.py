"""Reports for a terminal, a CI log or a failed test.

    ERROR: powercut: lost-item  (target level:published, scenario update_full_bucket)
      An acknowledged update of key 17 is gone.  expected value 0x2a  found: absent
        store A  tokens = next;        level/update.cc:88   persisted
        store B  slot->value = value;  level/update.cc:81   lost
      Power cut: during update(17), before sfence, at event 1,234 (crash point 41)
      Reproduce: powercut reproduce .powercut/findings/7f3a.json
    SUMMARY: powercut: lost-item level/update.cc:88

The last line is for tools: one finding, one line, no padding. Everything foreign passes `printable`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from powercut_records.files import DURABLE, LOST, ON_DISK, PARTLY, Confirmed, FilesFinding
from powercut_records.finding import FindingRecord, OutputDifference
from powercut_records.places import own_frame
from powercut_records.run import PerformanceBug, RunRecord
from powercut_reports import files_view, story
from powercut_reports import format as fmt
from powercut_reports.bugs import bugs, counted, symptom_words
from powercut_reports.format import printable
from powercut_reports.medium import medium_of
from powercut_reports.remedy import cause_sentences, minimal_words, recheck_words

_STORES_SHOWN = 6
_SYMPTOMS = 12
_MOST_USELESS = 8
_WHAT_WIDTH = 48
_ANSWER_WIDTH = 240
_CALL_WIDTH = 72
_PATHS_SHOWN = 12
_LINE_WIDTH = 160
_STYLES = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2", "bold red": "1;31"}
VERDICT_STYLE = {"consistent": "green", "inconsistent": "bold red", "unknown": "yellow"}
_CALL_STYLE = {ON_DISK: "green", LOST: "red", PARTLY: "yellow", DURABLE: "dim"}
_FATE_STYLE = {"persisted": "green", "lost": "red", "torn": "yellow", story.INTERRUPTED: "yellow"}


class Painter:
    """Colours text, or does not."""

    def __init__(self, *, color: bool) -> None:
        self._color = color

    def __call__(self, text: str, style: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self._color and style in _STYLES else text


def render_finding(finding: FindingRecord, *, color: bool) -> str:
    """One finding; ends without a newline. `target`, `variant` and `scenario` are named where given."""
    return _finding(finding, Painter(color=color))


def render_bugs(findings: Iterable[FindingRecord], *, color: bool, page: str = "") -> list[str]:
    """A report for each bug that the findings come to: its first finding, and a line for each other symptom.

    `page`: the HTML report that shows them as well, to link to.
    """
    paint = Painter(color=color)
    return [_finding(bug.told, paint, bug.others, page) for bug in bugs(findings)]


def render_run(run: RunRecord, *, color: bool, assumptions: bool = True) -> str:
    """The summary of one run, without its findings' details; ends without a newline.

    Without `assumptions` it says nothing of them: `closing` does, once for all runs.
    """
    return _run(run, Painter(color=color), assumptions=assumptions)


def _clip(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _finding(finding: FindingRecord, paint: Painter, others: Sequence[FindingRecord] = (), page: str = "") -> str:
    target = f"{finding.target}:{finding.variant}" if finding.variant else finding.target
    where = [f"target {target}"] if target else []
    where += [f"scenario {finding.scenario}"] if finding.scenario else []
    invariant = printable(finding.invariant)
    if finding.underlying:
        invariant += f": {printable(finding.underlying)}"
    head = f"{paint('ERROR:', 'bold red')} powercut: {paint(invariant, 'bold')}"
    rows = [head + (f"  ({printable(', '.join(where))})" if where else "")]

    sentence = printable(story.headline(finding))
    if finding.difference:
        rows += ["  " + sentence, *_difference(finding.difference, paint)]
    else:
        if finding.expected:
            sentence += f"  expected {_clip(printable(' or '.join(finding.expected)), _ANSWER_WIDTH)}"
        if finding.found:
            sentence += f"  found: {_clip(printable(finding.found), _ANSWER_WIDTH)}"
        rows.append("  " + sentence)
    rows += _calls(finding.files, finding.confirmed, paint) if finding.files else _stores(finding, paint)
    rows += _cause(finding, paint)
    if finding.fault:
        frame = own_frame(finding.fault.stack, finding.fault.site)
        fault = (finding.fault.signal or finding.found or "no signal") + story.fault_address(finding.fault)
        fault += f" ({finding.fault.text})" if finding.fault.text else ""
        rows.append("  Fault: " + printable(f"{fault} in {frame.function} {frame.site}" if frame else fault))
    cuts = [story.cut_sentence(finding.crash_point), story.nested_sentence(finding)]
    when = "during" if finding.operation.in_flight else "after"
    during = f"{when} {finding.operation}" if str(finding.operation) else ""
    cut = story.without_cut(finding) or ", ".join(part for part in (during, *cuts) if part)
    if finding.turns:
        rows.append("  Schedule: " + printable("; ".join(story.turn_words(turn) for turn in finding.turns)))
    rows.append("  Power cut: " + printable(cut))
    if finding.minimal and finding.minimal.operations:
        rows.append("  Smallest case: " + printable(minimal_words(finding.minimal)))
    rows += _symptoms(others, page)
    if finding.reproduce:
        rows.append(f"  Reproduce: {printable(finding.reproduce)}")
    if page and (name := story.anchor(finding)):
        rows.append(f"  Report: {printable(page)}#{name}")
    rows.append(f"SUMMARY: powercut: {printable(f'{finding.invariant} {story.summary_site(finding)}'.rstrip())}")
    return "\n".join(rows)


def _symptoms(others: Sequence[FindingRecord], page: str) -> list[str]:
    """The other findings of a bug, a line each, with its anchor in the HTML report where there is a `page`."""
    if not others:
        return []
    rows = [f"  This bug also shows in {fmt.plural(len(others), 'more finding')}:"]
    for other in others[:_SYMPTOMS]:
        link = f"#{name}" if page and (name := story.anchor(other)) else ""
        parts = (symptom_words(other), other.file, link)
        rows.append("    " + "  ".join(printable(part) for part in parts if part))
    left_out = len(others) - _SYMPTOMS
    return [*rows, f"    and {fmt.grouped(left_out)} more"] if left_out > 0 else rows


def _difference(difference: OutputDifference, paint: Painter) -> list[str]:
    """The lines that are missing (-) and too many (+), and some of those that are right."""
    style = {"-": "red", "+": "yellow"}
    rows = [
        "    " + paint(_clip(printable(f"{line.mark} {line.text}"), _LINE_WIDTH), style.get(line.mark, ""))
        for line in difference.lines
    ]
    if difference.changed_left_out:
        rows.append(f"    and {fmt.plural(difference.changed_left_out, 'more line')} that differ")
    if difference.kept_left_out:
        rows.append(f"    and {fmt.plural(difference.kept_left_out, 'more line')} as expected")
    return rows


def _cause(finding: FindingRecord, paint: Painter) -> list[str]:
    """Says which order is missing and how the fix did, or that nobody has looked."""
    cause = finding.cause
    if cause is None:
        return [f"  {printable(story.cause_search(finding))}"]
    rows = [f"  {paint(printable(cause_sentences(cause)), 'bold')}"] if cause_sentences(cause) else []
    if cause.recheck:
        words = printable(recheck_words(cause.recheck))
        # Where no fix is suggested, the fix that was tried is the evidence.
        checked = "Re-checked with the fix" if cause.fix else "A tried order does not mend it"
        rows.append(f"  {checked}: {paint(words, VERDICT_STYLE[cause.recheck.verdict])}")
        if cause.recheck.whole:
            rows.append(f"  The whole run with the fix: {printable(recheck_words(cause.recheck.whole))}")
    return rows


def _stores(finding: FindingRecord, paint: Painter) -> list[str]:
    groups = story.involved(finding)
    groups = tuple(group for group in groups if group.label) or groups
    shown = groups[:_STORES_SHOWN]
    cells = [
        (
            g.noun,
            g.label,
            _clip(printable(g.what), _WHAT_WIDTH),
            _sectors(g),
            printable(g.site),
            printable(g.fate),
        )
        for g in shown
    ]
    cells += _other_places(finding, {g.label for g in groups})
    cells.sort(key=lambda cell: (len(cell[1]), cell[1]))
    widths = [max((len(cell[i]) for cell in cells), default=0) for i in range(5)]
    rows = []
    for *padded, fate in cells:
        noun, *columns = (cell.ljust(width) for cell, width in zip(padded, widths, strict=True))
        columns = [column for column, width in zip(columns, widths[1:], strict=True) if width]
        rows.append(f"    {noun} {'  '.join(columns)}   {paint(fate, _FATE_STYLE.get(fate, ''))}".rstrip())
    if len(groups) > len(shown):
        more = fmt.plural(len(groups) - len(shown), "more place")
        rows.append(f"    and {more}: see {printable(finding.file) or 'the finding'}")
    return rows


def _sectors(group: story.Involved) -> str:
    """For a device: the places in it. Two writes of one line of code often differ in nothing else."""
    return group.extent if group.medium.device and group.what != group.extent else ""


def _calls(files: FilesFinding, confirmed: Sequence[Confirmed], paint: Painter) -> list[str]:
    """The calls with their fates, what the two sides are in a sentence, and the trees beside each other."""
    shown = files_view.call_rows(files)
    cells = [(row.number, _clip(printable(row.text), _CALL_WIDTH), printable(row.call.site), row.fate) for row in shown]
    cells = [
        ("…", text, site, fate) if row.left_out else (number, text, site, fate)
        for row, (number, text, site, fate) in zip(shown, cells, strict=True)
    ]
    widths = [max(len(cell[i]) for cell in cells) if cells else 0 for i in range(3)]
    rows = []
    for row, (number, text, site, fate) in zip(shown, cells, strict=True):
        columns = [number.rjust(widths[0]), text.ljust(widths[1]), *([site.ljust(widths[2])] if widths[2] else [])]
        line = "  ".join(columns)
        rows.append(
            f"  {'>' if row.call.decisive else ' '} {paint(line, 'bold' if row.call.decisive else '')}"
            f"  {paint(fate, _CALL_STYLE.get(row.call.fate, ''))}".rstrip()
        )
    if files.sentence:
        rows.append(f"  {paint(printable(files.sentence), 'bold')}")
    if files.inner:
        rows.append(f"  {files_view.inner_heading(files.inner)}:")
        for call in files.inner.calls:
            line = f"{'>' if call.decisive else ' '} {call.call:>4}  {_clip(printable(call.text), _CALL_WIDTH)}"
            fate = paint(files_view.FATES.get(call.fate, call.fate), _CALL_STYLE.get(call.fate, ""))
            rows.append(f"  {paint(line, 'bold' if call.decisive else '')}  {fate}")
    rows.append(f"  Legal under {printable(files_view.legal_under(files))}.")
    rows += [f"  {printable(files_view.confirmed_words(each))}" for each in confirmed]
    return [*rows, *_trees(files)]


def _trees(files: FilesFinding) -> list[str]:
    """A line for each path in which the three trees differ."""
    shown = files_view.path_rows(files)
    if not shown:
        return []
    lines = [("", *(heading for _, heading in files_view.TREES))]
    lines += [tuple(map(printable, (row.path, *row.words))) for row in shown[:_PATHS_SHOWN]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    rows = ["    " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    more = [f"{fmt.plural(len(shown) - _PATHS_SHOWN, 'more path')} that differ"] if len(shown) > _PATHS_SHOWN else []
    more += [files_view.others(files)] if files_view.others(files) else []
    return [*(row.rstrip() for row in rows), *(f"    {line}" for line in more)]


def _other_places(finding: FindingRecord, shown: set[str]) -> list[tuple[str, str, str, str, str, str]]:
    """A and B of the cause where they are no stores of the image: an acknowledgement, a store still to come."""
    rows = []
    cause = finding.cause
    for letter, place in (("A", cause.second), ("B", cause.first)) if cause else ():
        if place is None or letter in shown:
            continue
        medium = medium_of(finding)
        noun = "step" if place.role == "acknowledgement" else medium.change(place.stack)
        words = place.text if place.role == "acknowledgement" else place.source or place.text
        fate = {"acknowledgement": "acknowledged", "next-store": "not made yet"}.get(place.role, "")
        if other := story.cause_source(finding):
            fate = f"{fate}, in {other}".removeprefix(", ")
        where = ""
        if medium.device and place.offset is not None and place.size is not None:
            where = medium.changed(place.offset, place.size, place.stack)
        rows.append((noun, letter, _clip(printable(words), _WHAT_WIDTH), where, printable(place.site), fate))
    return rows


def _run(run: RunRecord, paint: Painter, *, assumptions: bool) -> str:
    of_folder = bool(run.profiles)
    settings = [] if of_folder else [f"model {run.model}", f"strategy {run.strategy}"]
    settings.append(f"seed {run.seed}")
    rows = [f"{paint(printable(run.name), 'bold')}  {printable(run.scenario)}  ({printable(', '.join(settings))})"]
    rows += _profiles(run, paint)
    # The scenario of a program is the recorded command already.
    rows += [f"  {title}: {printable(words)}" for title, words in story.program_rows(run.commands)]
    rows.append(
        f"  Verdict: {paint(run.verdict, VERDICT_STYLE[run.verdict])}, {printable(story.coverage_sentence(run))}"
    )
    counts = [
        fmt.plural(run.events, "event"),
        fmt.plural(run.crash_points, "crash point"),
        f"{fmt.count_with_magnitude(run.crash_states)} crash states",
        fmt.plural(run.executions, "execution"),
        fmt.plural(run.leaves, "leaf", "leaves"),
        fmt.seconds(run.seconds),
    ]
    rows.append("  Explored: " + ", ".join(counts))
    assumed = run.assumptions if assumptions else ()
    for title, sentences in (
        ("Not checked", story.not_checked(run.not_checked, medium_of(run))),
        ("Assumes", assumed),
    ):
        if sentences:
            rows.append(f"  {title}: " + "; ".join(printable(sentence) for sentence in sentences))
    if run.performance_bugs:
        kinds = Counter[str]()
        for row in run.performance_bugs:
            kinds[row.kind] += max(row.count, 1)
        tallies = [f"{fmt.grouped(count)} {printable(kind)}" for kind, count in sorted(kinds.items())]
        rows.append("  Performance bugs: " + ", ".join(tallies))
        rows += _useless(run.performance_bugs) if run.program else ()
    rows += _claims(run, paint)
    if run.findings:
        found = bugs(run.findings)
        rows.append(f"  Findings: {counted(found)}")
        for bug in found:
            for finding in bug.findings:
                cells = [paint(printable(finding.invariant), "red"), printable(story.summary_site(finding))]
                cells += [printable(words)] if (words := story.standing(finding)) else []
                rows.append(
                    ("    " if finding is bug.told else "      ")
                    + "  ".join([*cells, printable(finding.file)]).rstrip()
                )
    return "\n".join(rows)


def _profiles(run: RunRecord, paint: Painter) -> list[str]:
    """The table of the file systems that were asked for."""
    shown = files_view.profile_rows(run)
    if not shown:
        return []
    lines = [files_view.PROFILE_TITLES, *(row.cells for row in shown)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    rows = ["  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    for index, row in enumerate(shown, 1):
        words = row.cells[1]
        rows[index] = rows[index].replace(words, paint(words, VERDICT_STYLE[row.verdict]), 1)
        rows[index] += f"  ({printable(row.reason)})" if row.reason else ""
    return [row.rstrip() for row in rows]


def _useless(performance_bugs: Sequence[PerformanceBug]) -> list[str]:
    """The places of performance bugs, as many as one reads."""
    rows = [
        f"    {printable(row.kind)}  {printable(row.place or 'unknown')}  {fmt.grouped(max(row.count, 1))}"
        + (f" of {fmt.grouped(row.of)}" if row.of else "")
        for row in performance_bugs[:_MOST_USELESS]
    ]
    more = len(performance_bugs) - len(rows)
    return [*rows, f"    and {fmt.plural(more, 'place')} more: see the HTML or JSON report"] if more else rows


def _claims(run: RunRecord, paint: Painter) -> list[str]:
    """How many claims hold, and each that fails; nothing where the run had nothing to measure."""
    held = sum(claim.holds is True for claim in run.claims)
    failed = [claim for claim in run.claims if claim.holds is False]
    if not held and not failed:
        return []
    counts = [f"{held} {'holds' if held == 1 else 'hold'}"] if held else []
    if failed:
        counts.append(paint(f"{len(failed)} {'fails' if len(failed) == 1 else 'fail'}", "yellow"))
    return ["  Claims: " + ", ".join(counts), *(f"    {printable(story.claim_sentence(claim))}" for claim in failed)]
