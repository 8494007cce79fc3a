"""The conformance suite of the tracers of a folder's calls: small programs, and the calls that each must leave.

`python -m tracer.calls.tests.conformance` records every program and prints a table, program by tracer. Programs in
languages that this machine lacks are listed as such.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from powercut.base import paths
from powercut.files import record as files_record
from powercut.files.calls import Call, calls
from powercut.files.record import RecordedFiles
from powercut.files.survey import survey
from tracer.calls.tests.plain import plain

HERE = Path(__file__).parent
LANGUAGES = HERE / "languages"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A program, and what a recording of it must say."""

    calls: list[str]
    #: Empty: the program of this name in its language's file.
    command: list[str]
    #: Parts of the notes, in their order.
    missed: list[str]
    notes: list[str]
    ended: str
    any_order: bool

    @staticmethod
    def of(table: Mapping[str, object]) -> "Case":
        given = {"command": [], "missed": [], "notes": [], "ended": "status 0", "any_order": False, **table}
        return Case(**given | {"calls": str(table["calls"]).splitlines()})  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class Language:
    """A compiler, and how a program of it is run: both as functions of a scratch folder."""

    tool: str
    compiler: Callable[[Path], list[str]] | None
    command: Callable[[Path], list[str]]

    def built(self, scratch: Path) -> list[str] | None:
        """The command that runs a program whose name is added to it; None on a machine without the language."""
        if shutil.which(self.tool) is None:
            return None
        if self.compiler is not None:
            # Go keeps what it compiled, and fetches nothing.
            environment = {"GOCACHE": str(scratch / "go"), "GOFLAGS": "", "GO111MODULE": "off", "CGO_ENABLED": "0"}
            subprocess.run(self.compiler(scratch), check=True, env=os.environ | environment)
        return self.command(scratch)


SUITE = {
    "c": Language(
        tool="clang-19",
        compiler=lambda to: ["clang-19", "-O1", "-pthread", "-o", str(to / "c"), str(HERE / "programs.c")],
        command=lambda to: [str(to / "c")],
    ),
    "go": Language(
        tool="go",
        compiler=lambda to: ["go", "build", "-o", str(to / "program"), str(LANGUAGES / "programs.go")],
        command=lambda to: [str(to / "program")],
    ),
    "rust": Language(
        tool="rustc",
        compiler=lambda to: ["rustc", "--edition=2021", "-o", str(to / "rust"), str(LANGUAGES / "programs.rs")],
        command=lambda to: [str(to / "rust")],
    ),
    "node": Language(
        tool="node",
        compiler=None,
        command=lambda to: ["node", str(LANGUAGES / "programs.js")],
    ),
    "java": Language(
        tool="javac",
        compiler=lambda to: ["javac", "-d", str(to), str(LANGUAGES / "Programs.java")],
        command=lambda to: ["java", "-cp", str(to), "Programs"],
    ),
}


def c_cases() -> dict[str, Case]:
    """The programs in C, and those of Python and the shell that have commands of their own."""
    tables = tomllib.loads((HERE / "cases.toml").read_text(encoding="utf-8"))
    return {name: Case.of(table) for name, table in tables.items()}


def language_cases() -> dict[tuple[str, str], Case]:
    """The programs in other languages, by language and name."""
    tables = tomllib.loads((LANGUAGES / "cases.toml").read_text(encoding="utf-8"))
    return {(each, name): Case.of(table) for each, programs in tables.items() for name, table in programs.items()}


def difference(case: Case, found: RecordedFiles, recorded: list[Call]) -> str | None:
    """The first difference of a recording from its case, as a sentence; None if both agree."""
    told = survey(recorded)
    lines, wanted = plain(recorded), case.calls
    if case.any_order:
        lines, wanted = sorted(lines), sorted(wanted)
    if lines != wanted:
        at = next((i for i, pair in enumerate(zip(lines, wanted, strict=False)) if pair[0] != pair[1]), len(wanted))
        return f"call {at + 1} differs: {lines[at : at + 1]} in the place of {wanted[at : at + 1]}; all are {lines}"
    for kind, notes, parts in (("missed", told.missed, case.missed), ("noted", told.notes, case.notes)):
        if len(notes) != len(parts) or not all(part in note for part, note in zip(parts, notes, strict=True)):
            return f"{kind} are {notes} in the place of {parts}"
    if told.ended != case.ended:
        return f"the end is '{told.ended}' in the place of '{case.ended}'"
    complete = not [note for note in told.missed if "through mappings" not in note]
    return None if found.complete == complete else f"complete is {found.complete}, beside these misses: {told.missed}"


def recorded_in(scratch: Path, command: list[str], tracer: str = "calls") -> tuple[RecordedFiles, list[Call]]:
    """Records a command in a new folder, which is its working folder."""
    folder, trace = scratch / "folder", scratch / "run.pct"
    folder.mkdir()
    with contextlib.chdir(folder):
        found = files_record.record(command, folder, trace, tracer=tracer)
    return found, list(calls(paths.engine(), trace))


def _language_of(command: list[str]) -> str:
    if not command:
        return "c"
    return "python" if command[0].startswith("python") else "shell"


#: Programs that leave other calls under Valgrind, and why.
OTHER_UNDER_VALGRIND = {
    "openat2": "Valgrind 3.19 has no openat2: the program sees an old kernel",
    "fetched_descriptor": "Valgrind 3.19 has no pidfd_open: the program sees an old kernel",
    "old_code": "Valgrind has no calls of 32-bit code in a 64-bit program",
    "waits_for_another": "Valgrind lets the threads take turns, so no copy waits",
    "mapping": "stores are exact",
    "mapping_at_the_end": "stores are exact",
    "mapping_that_writes_later": "stores are exact",
    "mapping_unlinked": "stores are exact",
    "python_mmap": "stores are exact",
}


class _Table:
    """Records each program by each tracer that fits, in a room of its own below `scratch`."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.prefixes: dict[str, list[str] | None] = {}
        self.counts = {"agree": 0, "differ": 0, "not run": 0}

    def row(self, language: str, name: str, case: Case) -> str:
        """One line of the table."""
        if language in SUITE and language not in self.prefixes:
            (built := self.scratch / language).mkdir()
            self.prefixes[language] = SUITE[language].built(built)
        prefix = self.prefixes.get(language)
        if not case.command and prefix is None:
            return f"| {language} | {name} | {self._count('not run')}: {SUITE[language].tool} is not installed | |"
        command = case.command or [*(prefix or []), name]
        under = ""
        if language in ("go", "rust", "node", "java"):
            under = "-"
        elif name in OTHER_UNDER_VALGRIND:
            under = OTHER_UNDER_VALGRIND[name]
        cells = (self._by("calls", case, command), under or self._by("valgrind", case, command))
        return f"| {language} | {name} | {cells[0]} | {cells[1]} |"

    def _by(self, tracer: str, case: Case, command: list[str]) -> str:
        room = Path(tempfile.mkdtemp(dir=self.scratch))
        if wrong := difference(case, *recorded_in(room, command, tracer)):
            return f"**{self._count('differ')}**: {wrong}"
        self._count("agree")
        told = "".join(f"; told: {note}" for note in [*case.notes, *case.missed])
        return f"the same {len(case.calls)} call{'' if len(case.calls) == 1 else 's'}{told}"

    def _count(self, what: str) -> str:
        self.counts[what] += 1
        return what


def main() -> int:
    """Prints the table. Returns 1 if a recording differs from its case."""
    every = [*((_language_of(case.command), name, case) for name, case in c_cases().items())]
    every += [(language, name, case) for (language, name), case in language_cases().items()]
    with tempfile.TemporaryDirectory(prefix="powercut-") as scratch:
        table = _Table(Path(scratch))
        print("| language | program | calls | valgrind |\n|---|---|---|---|")
        for language, name, case in every:
            print(table.row(language, name, case), flush=True)
    counts = ", ".join(f"{count} {what}" for what, count in table.counts.items())
    print(f"\n{len(every)} programs; recordings: {counts}.")
    return 1 if table.counts["differ"] else 0


if __name__ == "__main__":
    sys.exit(main())
