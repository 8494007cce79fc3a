"""`powercut explain`: the smallest case, the root cause and a fix that was tried, of findings on disk."""

import shlex
from pathlib import Path
from typing import Annotated

from powercut.base import paths
from powercut.cause import explain as explaining
from powercut.cli import output, talk
from powercut.cli.commands import shared
from powercut.cli.commands.grouped import argument
from powercut.findings import run_records
from powercut.runs import runner
from powercut_records.finding import FindingRecord
from powercut_reports import text


def explain(
    finding: Annotated[list[Path], argument("FINDING.json…", "Findings that 'powercut run' wrote.")],
    json: shared.Json = False,
    trust: shared.Trust = False,
) -> None:
    """Minimise findings, and look for their root cause.

    For each finding: the fewest operations that show it, and the two stores whose order is missing. Then a flush, a
    fence or an order that mends it, tried on the trace. If no order mends it, the answer says so. The findings' files
    keep the answer, and 'powercut report' shows it.

    Exit code: 0 all findings were explained, 2 a finding cannot be explained, 3 powercut itself failed.
    """
    records = [_one(file, trusted=trust) for file in finding]
    if json:
        told = [record.as_json() for record in records]
        output.print_json(
            [{name: each.get(name) for name in ("fingerprint", "file", "minimal", "cause")} for each in told]
        )
    else:
        for file, record in zip(finding, records, strict=True):
            with run_records.as_written(file, "this finding", next_step="Find it again with 'powercut run'."):
                print(text.render_finding(record, color=output.colored()))
            if record.commands.ops_file and not record.commands.scheduled:
                talk.say(f"The fewest lines of its operations that show it: powercut minimise {shlex.quote(str(file))}")


def _one(file: Path, *, trusted: bool) -> FindingRecord:
    # The finding lies at OUT/findings/<fingerprint>.json, and the traces of minimal cases lie in OUT/minimal.
    with (
        run_records.as_written(file, "this finding", next_step="Find it again with 'powercut run'."),
        runner.open_context(paths.engine(), file.resolve().parent.parent) as context,
    ):
        return explaining.explain_file(file, context=context, trusted=trusted)
