"""Where the trace of a finding lies."""

from pathlib import Path

from powercut_records.finding import FindingRecord


def trace_of(finding: FindingRecord, file: Path) -> Path | None:
    """The trace as the record in `file` names it, else beside the record (an output folder that was moved)."""
    name = finding.trace
    if not name:
        return None
    beside = file.resolve().parent.parent / "traces" / Path(name).name
    return next((place for place in (Path(name), beside) if place.is_file()), None)
