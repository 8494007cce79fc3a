"""Minimises every known bug.

    python -m powercut.corpus.minimal_cases [SCHEME[/BUG]…] [--jobs N] [--out DIR] [--write]

The bug corpus is how the minimiser is judged: each bug should come to at most `FEW` operations, or there must be a
reason why not, in `scenarios/known_bugs/MINIMAL.md`. The first finding of a bug that the corpus expects is minimised;
it shows the line that the bug names, where any finding does. `--write` writes that page, with the reasons that it has.
"""

import argparse
import json
import re
import sys
import tempfile
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
from powercut_records.finding import FindingRecord

_PAGE = "MINIMAL.md"
_ROW = re.compile(
    r"^\| `(?P<id>[^`]+)` \| [\w-]+ \| \d+ \| (?P<after>\d+) \| `[^`]*` \| ?(?P<reason>[^|]*)\|$", re.MULTILINE
)
_HEADER = f"""\
# The known bugs, minimised

Written by `python -m powercut.corpus.minimal_cases --write`, but for the last column; a test holds it to the corpus.
*Before* is what the bug's scenario does, *after* what `powercut minimise` makes of its finding, in operations of all
phases. A case of more than {FEW} operations has its reason in the last column. There stands a smaller case by hand,
where the passes end above it.

| bug | invariant | before | after | the minimal case | why not {FEW} |
|---|---|---|---|---|---|
"""


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


def page() -> Path:
    """The table of the minimal cases."""
    return paths.scenario_dir() / "known_bugs" / _PAGE


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Returns the page's row of a bug."""

    after: int
    #: Why it takes more than `FEW` operations, or nothing.
    reason: str


def entries() -> dict[str, Entry]:
    """The page's rows, by bug."""
    found = _ROW.finditer(_text(page()))
    return {match["id"]: Entry(after=int(match["after"]), reason=match["reason"].strip()) for match in found}


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def render(rows: Iterable[Row], before: str) -> str:
    """The page, with the reasons that it has `before`. Bugs without a row keep their line."""
    lines = {match["id"]: f"{match[0]}\n" for match in _ROW.finditer(before)}
    why = {match["id"]: match["reason"].strip() for match in _ROW.finditer(before)}
    lines |= {row.bug: _line(row, why.get(row.bug, "")) for row in rows}
    return _HEADER + "".join(lines[bug] for bug in sorted(lines))


def _line(row: Row, reason: str) -> str:
    why = f" {reason}" if row.after > FEW and reason else ""
    return f"| `{row.bug}` | {row.invariant} | {row.before} | {row.after} | {_case(row)} |{why} |\n"


def _case(row: Row) -> str:
    """`top=2: insert(1) update(1)`; a long one is shortened."""
    shown = row.operations if len(row.operations) <= 2 * FEW else [*row.operations[:FEW], "…", row.operations[-1]]
    config = " ".join(f"{name}={value}" for name, value in row.config.items())
    return f"`{config + ': ' if config else ''}{' '.join(shown)}`"


def run(chosen: Sequence[known_bugs.Case], *, jobs: int, limits: Limits) -> Iterator[Row]:
    """The rows of these cases as they come. The work is done by engines, which are processes."""
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for done in as_completed([pool.submit(minimised, case, limits=limits) for case in chosen]):
            yield done.result()


def kept(path: Path) -> list[Row]:
    """The rows that an earlier command has kept."""
    return [Row(**json.loads(line)) for line in _text(path).splitlines()]


def main() -> int:
    parser = argparse.ArgumentParser(description="Minimise every known bug.")
    parser.add_argument("names", nargs="*", metavar="SCHEME[/BUG]")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--considered", type=int, default=Limits().considered)
    parser.add_argument("--rows", type=Path, help="keep each row in this file; those that it has are not made again")
    parser.add_argument("--write", action="store_true", help=f"write scenarios/known_bugs/{_PAGE}")
    given = parser.parse_args()
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
        page().write_text(render(rows, _text(page())), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
