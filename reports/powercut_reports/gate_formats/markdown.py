"""The summary of a CI job, in GitHub's Markdown: verdict, one row a run, then each finding with its sites.

GitHub refuses a summary of more than 1 MiB. Whole rows and findings that do not fit are left out, and counted. Runs
with findings or without full coverage come before clean ones, and rows take at most half of the room.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from powercut_records.run import RunRecord
from powercut_reports import format as fmt
from powercut_reports import story
from powercut_reports.bugs import Bug, bugs, counted, symptom_words
from powercut_reports.format import printable
from powercut_reports.gate_formats import ci
from powercut_reports.gate_formats.ci import Accepted, Results

#: Bytes; below GitHub's limit, with room for what a workflow adds.
LIMIT = 1_000_000
_RESERVE = 2_000  # for verdict, headings and the notes on what was left out
_STORES_SHOWN = 12
_SYMPTOMS = 12
_CELL = 300
_ORDER = (ci.FINDINGS, ci.INCOMPLETE, ci.CLEAN)


def render(
    runs: Sequence[RunRecord],
    *,
    fail_on: frozenset[str] = frozenset(),
    errors: Sequence[str] = (),
    standing: Sequence[str] = (),
    limit: int = LIMIT,
) -> str:
    """The file's text, at most `limit` bytes of UTF-8 (where `limit` has room for more than the verdict).

    `standing`: how the findings stand to the baseline and the suppressions, in lines; an indented one is an item.
    """
    results = ci.results(runs, fail_on=fail_on, errors=errors)
    ordered = sorted(results.runs, key=lambda run: _ORDER.index(ci.outcome(run, results)))
    parts = ["## powercut\n\n", _verdict(results), "\n\n"]
    room = limit - _RESERVE
    parts += _within(room // 8, (_standing(line) for line in standing), "line")
    parts += ["\n"] if standing else []
    parts += _within(room // 4, (f"- **error**: {_plain(message)}\n" for message in errors), "error")
    head = "| target | scenario | model | verdict | coverage | findings |\n|---|---|---|---|---|---|\n"
    parts += ["\n" if errors else "", head] if runs else []
    accepted = {id(run): beside for run, beside in zip(results.runs, results.accepted, strict=True)}
    rows_of = (_row(run, accepted[id(run)]) for run in ordered)
    parts += _within(room // 2, rows_of, "run", prefix="| … | ", suffix=" | | | | |")
    parts += _within(room // 8, _unreached(ordered), "target", prefix="\n")
    room -= _size(parts)
    subjects = {id(finding): run for run in ordered for finding in run.findings}
    found = bugs(finding for run in ordered for finding in run.findings)
    parts += _within(room, (_bug(bug, subjects) for bug in found), "bug", prefix="\n")
    room = limit - _RESERVE - _size(parts)
    rows = list(_performance_bugs(results))
    if rows:
        parts.append("\n### Performance bugs\n\n| kind | times | site | message |\n|---|---|---|---|\n")
        parts += _within(room, rows, "site", prefix="| … | ", suffix=" | | |")
    return "".join(parts)


def _size(parts: Iterable[str]) -> int:
    return sum(len(part.encode("utf-8")) for part in parts)


def _within(room: int, blocks: Iterable[str], noun: str, *, prefix: str = "", suffix: str = "") -> list[str]:
    """The blocks that fit into `room` bytes, then how many did not."""
    kept: list[str] = []
    left_out = 0
    for block in blocks:
        room -= len(block.encode("utf-8"))
        if room < 0 or left_out:
            left_out += 1
        else:
            kept.append(block)
    note = f"{prefix}{fmt.plural(left_out, f'more {noun}')} left out: see the report{suffix}\n"
    return [*kept, note] if left_out else kept


def _verdict(results: Results) -> str:
    outcomes = Counter(ci.outcome(run, results) for run in results.runs)
    found = bugs(finding for run in results.runs for finding in run.findings)
    marked = sum(ci.counts(row, results) for run in results.runs for row in run.performance_bugs)
    if found or marked:
        said = [counted(found)] if found else []
        bold = f"❌ {' and '.join([*said, *([fmt.plural(marked, 'performance bug')] if marked else [])])}"
    elif outcomes[ci.INCOMPLETE] or results.errors or not results.runs:
        bold = "⚠️ No finding, but not everything was judged"
    else:
        bold = f"✅ {'No new finding' if any(results.accepted) else 'Consistent'}, every crash state covered"
    words = ((ci.FINDINGS, "with findings"), (ci.INCOMPLETE, "unknown or not complete"), (ci.CLEAN, "clean"))
    parts = [f"{fmt.grouped(outcomes[name])} {text}" for name, text in words if outcomes[name]]
    accepted = sum(map(len, results.accepted))
    if accepted:
        parts.append(f"{fmt.plural(accepted, 'finding')} known or suppressed")
    told = f"**{bold}** in {fmt.plural(len(results.runs), 'run')}" + (f": {', '.join(parts)}." if parts else ".")
    return " ".join([told, *_around(results)])


def _around(results: Results) -> list[str]:
    """How much was taken from a cache, and that a planted bug was found on the same way."""
    said = []
    known = [run.since for run in results.runs if run.since]
    if known:
        cached = sum(since.cached for since in known)
        said.append(f"{fmt.grouped(cached)} unchanged since {_code(known[0].revision)}, from the cache.")
    if any(run.canary and run.canary.found for run in results.runs):
        said.append("The planted bug (canary) was found again.")
    return said


def _standing(line: str) -> str:
    text = _plain(line.strip(), width=4 * _CELL)
    return f"- {text}\n" if line.startswith(" ") else f"\n{text}\n\n"


def _row(run: RunRecord, accepted: Sequence[Accepted]) -> str:
    coverage = story.coverage_sentence(run) + (f". {run.error}" if run.error else "")
    verdict = "only what is accepted" if accepted and not run.findings else story.verdict_words(run)
    cells = (run.name, run.scenario, run.model, verdict, coverage, _counted(run, accepted))
    return "| " + " | ".join(_plain(cell) for cell in cells) + " |\n"


def _unreached(runs: Sequence[RunRecord]) -> Iterable[str]:
    """For each target: the functions whose stores none of its runs reached."""
    for name in sorted({run.name for run in runs}):
        if missed := story.unreached_by_all([run for run in runs if run.name == name]):
            words = f"{name}: not checked: {story.unreached_sentence(missed)}"
            yield f"\n{_plain(words, width=4 * _CELL)}.\n"


def _counted(run: RunRecord, accepted: Sequence[Accepted]) -> str:
    """ "1 new, 2 known", or the number alone where nothing was accepted beforehand."""
    known = sum(item.known for item in accepted)
    if not accepted and not any(finding.baseline for finding in run.findings):
        return fmt.grouped(len(run.findings))
    counts = ((len(run.findings), "new"), (known, "known"), (len(accepted) - known, "suppressed"))
    return ", ".join(f"{fmt.grouped(count)} {word}" for count, word in counts if count or word == "new")


def _bug(bug: Bug, runs: Mapping[int, RunRecord]) -> str:
    """The finding that stands for it, and the others in a line each."""
    finding, run = bug.told, runs[id(bug.told)]
    place = story.summary_site(finding)
    rows = [f"\n### {_plain(finding.invariant)} {_code(place)}".rstrip(), ""]
    rows += [f"{_plain(story.headline(finding))} ({_plain(ci.subject(run))})", ""]
    groups = story.involved(finding)
    groups = tuple(group for group in groups if group.label) or groups
    for group in groups[:_STORES_SHOWN]:
        name = f"{group.noun} {group.label}".rstrip()
        place = f" at {_code(group.site)}" if group.site != group.what else ""
        rows.append(f"- {name} {_code(group.what)}{place}: {_plain(group.fate_words)}")
    if len(groups) > _STORES_SHOWN:
        rows.append(f"- and {fmt.plural(len(groups) - _STORES_SHOWN, 'more place')}")
    rows += ["", _plain(story.story(finding), width=4 * _CELL)]
    if finding.cause is None:
        rows += ["", story.SEARCH.format(command=_code(story.explain_command(finding)))]
    elif remedy := ci.remedy(finding):
        rows += ["", f"**{_plain(remedy, width=4 * _CELL)}**"]
    if bug.others:
        rows += ["", f"This bug also shows in {fmt.plural(len(bug.others), 'more finding')}:", ""]
        rows += [
            f"- {_plain(symptom_words(other))} ({_plain(ci.subject(runs[id(other)]))})"
            for other in bug.others[:_SYMPTOMS]
        ]
        if len(bug.others) > _SYMPTOMS:
            rows.append(f"- and {fmt.grouped(len(bug.others) - _SYMPTOMS)} more")
    if finding.reproduce:
        rows += ["", *_fenced(finding.reproduce)]
    return "\n".join(rows) + "\n"


def _performance_bugs(results: Results) -> Iterable[str]:
    times = Counter[tuple[bool, str, str, str]]()
    for run in results.runs:
        for row in run.performance_bugs:
            times[(not ci.counts(row, results), row.kind, row.place, row.message)] += max(row.count, 1)
    for (_, kind, site, message), count in sorted(times.items()):
        yield f"| {_plain(kind)} | {fmt.grouped(count)} | {_plain(site)} | {_plain(message)} |\n"


def _clip(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _plain(text: str, *, width: int = _CELL) -> str:
    """Foreign text without a meaning in Markdown or HTML; on one line."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&@!$])", r"\\\1", _clip(printable(text), width))


def _ticks(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)


def _code(text: str) -> str:
    """As a code span, in which nothing else has a meaning."""
    shown = _clip(printable(text), _CELL)
    if not shown.strip():
        return ""
    fence = "`" * (_ticks(shown) + 1)
    return f"{fence} {shown} {fence}" if "`" in shown else f"{fence}{shown}{fence}"


def _fenced(text: str) -> list[str]:
    shown = printable(text)
    fence = "`" * max(3, _ticks(shown) + 1)
    return [f"{fence}sh", shown, fence]
