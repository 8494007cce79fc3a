"""`powercut minimise` on a finding of a program whose operations are lines of a file."""

import shlex
from dataclasses import replace
from pathlib import Path

from powercut import minimise
from powercut.base import paths, scratch, trust
from powercut.base.exit_codes import ExitCode
from powercut.base.output_files import write_bytes, write_json
from powercut.cli import output, talk
from powercut.minimise import lines, show
from powercut.runs import runner
from powercut_records.base import changed
from powercut_records.finding import FindingRecord
from powercut_reports import text


def minimise_lines(
    content: FindingRecord, file: Path, *, out: Path | None, limits: minimise.Limits, json: bool, trusted: bool
) -> ExitCode:
    """Prints the fewest lines that show the finding in `file`, and writes them beside `file`. With `out`, also puts
    finding and trace into `out`."""
    recording = lines.recording_of(content)
    trust.require([trust.command(recording.command, recording.cwd)], file=file, granted=trusted)
    with (
        scratch.folder("powercut-minimise-") as work,
        runner.open_context(paths.engine(), work) as context,
    ):
        with show.bar(f"{content.subject} {content.invariant}", limits, noun="line") as on_progress:
            found = minimise.fewest_lines(content, context=context, folder=work, limits=limits, on_progress=on_progress)
        if found is None:
            if json:
                output.print_json({"fingerprint": content.fingerprint, "minimal": None})
            talk.say("Its operations do not show it any more: 'powercut run' tells whether it is clean now.")
            return ExitCode.CLEAN
        ops = file.with_suffix(".ops")
        if out is not None:
            found = _kept(found, out)
            ops = out / "findings" / f"{found.finding.fingerprint}.ops"
        write_bytes(ops, b"".join(found.lines))
    value = found.record()
    if json:
        output.print_json({"fingerprint": content.fingerprint, "ops_file": str(ops), "minimal": value.as_json()})
    else:
        print(show.summary(value, content.fingerprint))
        print(text.render_finding(found.finding, color=output.colored()))
    talk.say(f"Lines: {ops}. Give them to 'powercut run' with --ops-file.")
    return ExitCode.FINDINGS


def _kept(found: minimise.FewestLines, out: Path) -> minimise.FewestLines:
    """Puts finding and trace into `out`, where `powercut reproduce` finds them."""
    name = found.finding.fingerprint
    trace = (out / "traces" / f"minimal-{name}.pct").absolute()
    runner.prepare_out(trace.parent)
    runner.prepare_out(out / "findings")
    trace.write_bytes(found.trace.read_bytes())
    file = out / "findings" / f"{name}.json"
    finding = changed(
        found.finding, trace=str(trace), file=str(file), reproduce=f"powercut reproduce {shlex.quote(str(file))}"
    )
    write_json(file, finding.as_json())
    return replace(found, trace=trace, finding=finding)
