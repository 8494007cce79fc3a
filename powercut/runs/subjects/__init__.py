"""The subjects of runs: a library in the engine's process, or the commands of a program, on the images of pools or on
the trees of a folder. This file alone chooses."""

from powercut.files import run as files_run
from powercut.program import run as program_run
from powercut.program.program import Program
from powercut.runs.run_request import Request
from powercut.runs.subjects.folder import Folder
from powercut.runs.subjects.library import Library
from powercut.runs.subjects.program import Commands
from powercut.runs.subjects.subject import Exploring, Replaying, Reproduction, Subject
from powercut_records.finding import FindingRecord
from powercut_records.run import RunRecord

__all__ = [
    "LIBRARY",
    "Commands",
    "Exploring",
    "Folder",
    "Library",
    "Replaying",
    "Reproduction",
    "Subject",
    "of",
    "of_record",
]

LIBRARY = Library()


def of(request: Request) -> Subject:
    """The subject of a run that is asked for."""
    return LIBRARY if request.program is None else _of_program(request.program)


def of_record(record: FindingRecord | RunRecord) -> Subject:
    """The subject of a run that was carried out, or of its finding."""
    if record.program is None:
        return LIBRARY
    return _of_program((files_run if record.program.folder else program_run).of_record(record.program))


def _of_program(program: Program) -> Subject:
    return Commands(program) if program.folder is None else Folder(program)
