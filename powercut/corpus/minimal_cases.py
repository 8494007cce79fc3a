"""Minimises every known bug.

    python -m powercut.corpus.minimal_cases [SCHEME[/BUG]…] [--jobs N] [--out DIR] [--write]
    python -m powercut.corpus.minimal_cases --page FILE

The bug corpus is how the minimiser is judged: each bug should come to at most `FEW` operations, or its entry says in
`why_not_fewer` why it does not. The finding to minimise is the first of the bug's findings that the corpus expects.
Findings that show the line that the bug names come first. `--write` writes the key `minimal` of each bug into its file.
`--page` writes the table of all minimal cases, which is a page of the documentation's site.
"""

import argparse
import json
import re
import sys
import tempfile
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

from powercut.base import paths
from powercut.corpus import known_bugs
from powercut.engine.options import ExploreOptions
from powercut.minimise import Limits, minimise
from powercut.minimise.order import FEW
from powercut.runs import runner
from powercut.scenarios import catalog
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.toml_text import toml_value
from powercut_records.finding import FindingRecord

_HEADER = f"""\
# The known bugs, minimised

Written by `python -m powercut.corpus.minimal_cases --page` from `scenarios/known_bugs`.
*Before* is what the bug's scenario does, *after* what `powercut minimise` makes of its finding, in operations of all
phases. A case of more than {FEW} operations has its reason in the last column. There stands a smaller case by hand,
where the passes end above it.

| bug | invariant | before | after | the minimal case | why not {FEW} |
|---|---|---|---|---|---|
"""
_WIDTH = 120
_FOLDED = '"""'
_TABLE = re.compile(r"\[+[\w.\"-]+\]+\s*$")


@dataclass(frozen=True, kw_only=True)
class Row:
    """The result for one known bug."""

    bug: str
    invariant: str
    before: int
    after: int
    operations: list[str]
    config: dict[str, str]
    considered: int
    seconds: float
    complete: bool


def minimised(case: known_bugs.Case, *, limits: Limits) -> Row:
    """Runs one scenario of the bug corpus and minimises its finding."""
    bug = case.scenario.bug_id
    with (
        tempfile.TemporaryDirectory(prefix="powercut-corpus-") as folder,
        runner.open_context(paths.engine(), Path(folder)) as context,
    ):
        runner.run_one(case.request, context)
        files = sorted((Path(folder) / "findings").glob("*.json"))
        records = [FindingRecord.model_validate(json.loads(path.read_text())) for path in files]
        finding = known_bugs.telling(case.scenario.bug, records)
        assert finding is not None, f"{bug}: it is not found"
        result = minimise(finding, context=context, folder=Path(folder) / "minimal", limits=limits)
    assert result is not None, f"{bug}: its finding does not show again"
    value = result.record()
    return Row(
        bug=bug,
        invariant=result.finding.invariant,
        before=result.operations_before,
        after=len(value.operations),
        operations=[item.text for item in value.operations],
        config=value.config,
        considered=result.considered,
        seconds=result.seconds,
        complete=result.complete,
    )


def cases(names: Sequence[str]) -> list[known_bugs.Case]:
    """The runs with a bug: of schemes, of single bugs (`level/leaked-level`), or of all."""
    found = [case for case in known_bugs.cases(None, options=ExploreOptions()) if case.role == "bug"]
    return [case for case in found if not names or {case.scenario.bug_id, case.scenario.scheme} & set(names)]


def render() -> str:
    """The table of the minimal cases."""
    return _HEADER + "".join(_line(item) for item in sorted(catalog.known_bugs(), key=lambda item: item.bug_id))


def _line(item: Scenario) -> str:
    bug = item.bug
    if bug.minimal is None:
        return f"| `{item.bug_id}` | | | | not minimised | |\n"
    small, why = bug.minimal, f" {bug.why_not_fewer}" if bug.why_not_fewer else ""
    return f"| `{item.bug_id}` | {small.invariant} | {small.before} | {small.after} | `{small.case}` |{why} |\n"


def write(rows: Iterable[Row]) -> None:
    """Writes the minimal cases into the files of their bugs, and drops the reasons that no case needs any more."""
    places = {item.bug_id: item for item in catalog.known_bugs()}
    for row in rows:
        item = places[row.bug]
        lines = item.path.read_text(encoding="utf-8").splitlines()
        item.path.write_text("\n".join(_written(lines, item, row)) + "\n", encoding="utf-8")
    catalog.forget()


def _written(lines: Sequence[str], item: Scenario, row: Row) -> list[str]:
    """The lines of a bug's file with its minimal case: the last key of the bug, but for the reason."""
    header = f"[bug.{item.name}]" if item.folder else "[known_bug]"
    begin = next(number for number, line in enumerate(lines) if line.strip() == header) + 1
    end = next((number for number in range(begin, len(lines)) if _TABLE.match(lines[number])), len(lines))
    while not lines[end - 1].strip():
        end -= 1
    own = list(lines[begin:end])
    reason = _taken(own, "why_not_fewer")
    _taken(own, "minimal")
    return [*lines[:begin], *own, *_minimal(row), *(reason if row.after > FEW else ()), *lines[end:]]


def _taken(lines: list[str], key: str) -> list[str]:
    """Takes a key and its value out of the lines: one line, or as many as its text of several lines has."""
    at = next((number for number, line in enumerate(lines) if line.startswith(f"{key} = ")), None)
    if at is None:
        return []
    last = at
    if lines[at].count(_FOLDED) == 1:
        last = next(number for number in range(at + 1, len(lines)) if _FOLDED in lines[number])
    found = lines[at : last + 1]
    del lines[at : last + 1]
    return found


def _minimal(row: Row) -> list[str]:
    """The key `minimal`; its case goes on in lines of its own where one line would be too long."""
    begin = f"minimal = {{ invariant = {toml_value(row.invariant)}, before = {row.before}, after = {row.after}, case = "
    case = _case(row)
    whole = f"{begin}{toml_value(case)} }}"
    if len(whole) <= _WIDTH:
        return [whole]
    spelled = toml_value(case)[1:-1]
    folded = textwrap.wrap(spelled, _WIDTH - 2 - len(f"{_FOLDED} }}"), break_long_words=False, break_on_hyphens=False)
    return [f"{begin}{_FOLDED}\\", *(f"  {line} \\" for line in folded[:-1]), f"  {folded[-1]}{_FOLDED} }}"]


def _case(row: Row) -> str:
    """A case such as `top=2: insert(1) update(1)`; a long one is shortened."""
    shown = row.operations if len(row.operations) <= 2 * FEW else [*row.operations[:FEW], "…", row.operations[-1]]
    config = " ".join(f"{name}={value}" for name, value in row.config.items())
    return f"{config + ': ' if config else ''}{' '.join(shown)}"


def run(chosen: Sequence[known_bugs.Case], *, jobs: int, limits: Limits) -> Iterator[Row]:
    """The rows of these cases as they come. The work is done by engines, which are processes."""
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for done in as_completed([pool.submit(minimised, case, limits=limits) for case in chosen]):
            yield done.result()


def kept(path: Path) -> list[Row]:
    """The rows that an earlier command has kept."""
    return [Row(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


def main() -> int:
    parser = argparse.ArgumentParser(description="Minimise every known bug.")
    parser.add_argument("names", nargs="*", metavar="SCHEME[/BUG]")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--considered", type=int, default=Limits().considered)
    parser.add_argument("--rows", type=Path, help="keep each row in this file; those that it has are not made again")
    parser.add_argument("--write", action="store_true", help="write the minimal cases into scenarios/known_bugs")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the table of all minimal cases, and end")
    given = parser.parse_args()
    if given.page:
        given.page.parent.mkdir(parents=True, exist_ok=True)
        given.page.write_text(render(), encoding="utf-8")
        return 0
    rows = kept(given.rows) if given.rows else []
    done = {row.bug for row in rows}
    left = [case for case in cases(given.names) if case.scenario.bug_id not in done]
    for row in run(left, jobs=given.jobs, limits=Limits(considered=given.considered)):
        rows.append(row)
        print(f"{row.bug:45} {row.before:4} → {row.after:3}  {row.considered:5} {row.seconds:7.1f} s", flush=True)
        if given.rows:
            with given.rows.open("a", encoding="utf-8") as file:
                print(json.dumps(asdict(row)), file=file, flush=True)
    few = sum(row.after <= FEW for row in rows)
    print(f"{few} of {len(rows)} have at most {FEW} operations")
    if given.write:
        write(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
