"""The subjects of runs: a library in the engine's process, or the commands of a program. This file alone chooses."""

from powercut.program import run as program_run
from powercut.runs.run_request import Request
from powercut.runs.subjects.library import Library
from powercut.runs.subjects.program import Commands
from powercut.runs.subjects.subject import Exploring, Replaying, Reproduction, Subject
from powercut_records.finding import FindingRecord
from powercut_records.run import RunRecord

__all__ = ["LIBRARY", "Commands", "Exploring", "Library", "Replaying", "Reproduction", "Subject", "of", "of_record"]

LIBRARY = Library()


def of(request: Request) -> Subject:
    """The subject of a run that is asked for."""
    return LIBRARY if request.program is None else Commands(request.program)


def of_record(record: FindingRecord | RunRecord) -> Subject:
    """The subject of a run that was carried out, or of its finding."""
    return Commands(program_run.of_record(record.program)) if record.program else LIBRARY
