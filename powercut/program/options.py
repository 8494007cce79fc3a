"""The table of the options of program mode: a new option is a row here, and the code that uses its field.

`powercut run`, `record` and `explore` take their options, their help and their completion from the rows. The command
that finds the same again (`again`) comes from them too.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from powercut.base.errors import UsageError
from powercut.base.option import FAR, JUDGE, PRINT, RUN, is_given, program_row, row, rows
from powercut.engine.options import MOST_IMAGES, RECORDED
from powercut.program.tracers import TRACERS

DEFAULT_TIMEOUT = "5s"
DEFAULT_RECORD_TIMEOUT = "10m"
DEFAULT_IMAGES = 4096
DEFAULT_PREEMPTIONS = 2

#: Values of `--sector-size` and `--atomic-unit`, the default first.
SECTOR_SIZES = (512, 4096)
UNITS = (1, 2, 4, 8)

#: Values of `--threads`, and what each means.
SCHEDULED = "scheduled"
THREADS = {
    RECORDED: "they run as they come, and the schedule that this came to is judged",
    SCHEDULED: "every schedule with so many preemptions is run and judged",
}


def _choices(values: Iterable[int]) -> dict[str, Any]:
    return {"choices": tuple(map(str, values))}


@dataclass(frozen=True, kw_only=True)
class ProgramOptions:
    """The options of program mode, as the command line gives them."""

    record: str | None = program_row(
        "--record",
        metavar="CMD",
        group=RUN,
        help="the command to record, which uses the pool files. No shell is involved.",
    )
    recover: str | None = program_row(
        "--recover",
        metavar="CMD",
        group=JUDGE,
        judging=True,
        again="always",
        help="the command that recovers from a pool and ends with status 0 when it is good. "
        "The pool's path in it, or {image}, becomes the crash image's.",
    )
    check: str | None = program_row(
        "--check",
        metavar="CMD",
        group=JUDGE,
        judging=True,
        help="a consistency checker, run on what recovery left.",
    )
    dump: str | None = program_row(
        "--dump",
        metavar="CMD",
        group=JUDGE,
        judging=True,
        help="prints the contents after recovery; compared with the contents that the marked operations allow.",
    )
    cwd: Path | None = program_row(
        "--cwd",
        metavar="DIR",
        group=RUN,
        help="the folder that the commands run in, and that file names are relative to.",
    )
    probe: list[str] | None = program_row(
        "--probe",
        metavar="CMD",
        group=JUDGE,
        judging=True,
        help="uses each recovered pool (writes, deletes, looks again), after --dump; it must end with "
        "status 0, and its output is compared as well. May be repeated.",
    )
    probe_script: str | None = program_row(
        "--probe-script",
        metavar="FILE",
        group=JUDGE,
        judging=True,
        help="a file with a probe on each line, run in their order, after those of --probe.",
    )
    ordered: bool = program_row(
        "--ordered",
        default=False,
        group=JUDGE,
        judging=True,
        help="the order of the lines that --dump and --probe print counts, as in a queue or a list.",
    )
    timeout: str = program_row(
        "--timeout",
        metavar="TIME",
        default=DEFAULT_TIMEOUT,
        show_default=True,
        group=FAR,
        judging=True,
        again="always",
        help="the time of each command that judges.",
    )
    images: int = program_row(
        "--images",
        metavar="N",
        default=DEFAULT_IMAGES,
        show_default=True,
        least=2,
        most=MOST_IMAGES,
        group=FAR,
        judging=True,
        again="always",
        help="crash images that are tried at a crash point that has too many to try all.",
    )
    pool: list[str] | None = program_row(
        "--pool",
        metavar="FILE",
        group=RUN,
        help="a file that the program maps; may be repeated.",
    )
    device: str | None = program_row(
        "--device",
        metavar="FILE",
        group=RUN,
        help="a file that the program writes by system calls (pwrite, fsync, O_DSYNC): its sectors are "
        "those of a block device behind a volatile write cache.",
    )
    sector_size: int | None = program_row(
        "--sector-size",
        metavar="N",
        group=RUN,
        **_choices(SECTOR_SIZES),
        help=f"bytes of a sector of the device, {' or '.join(map(str, SECTOR_SIZES))}.  [default: {SECTOR_SIZES[0]}]",
    )
    atomic_unit: int | None = program_row(
        "--atomic-unit",
        metavar="N",
        group=RUN,
        **_choices(UNITS),
        help=f"sectors that the device writes as one, {', '.join(map(str, UNITS))}.  [default: {UNITS[0]}]",
    )
    setup: str | None = program_row(
        "--setup",
        metavar="CMD",
        group=RUN,
        help="makes the pools before the recording, and is not recorded itself.",
    )
    ops: str | None = program_row(
        "--ops",
        metavar="CMD",
        group=RUN,
        help="a driver that runs beside the recorded command; its output is the command's input.",
    )
    ops_file: str | None = program_row(
        "--ops-file",
        metavar="FILE",
        group=RUN,
        help="the operations, one a line. The file's path in --record, or {ops}, names it; else it is "
        "the command's input. 'powercut minimise' takes its lines away.",
    )
    ack: str | None = program_row(
        "--ack",
        metavar="REGEX",
        group=RUN,
        help="a matching line of the recorded command's output acknowledges all work before it. The work between "
        "two such lines is one operation, which --dump must show whole or not at all.",
    )
    tracer: str | None = row(
        "--tracer",
        metavar="T",
        group=RUN,
        choices=tuple(TRACERS),
        help=f"The tracer: {', '.join(TRACERS)}.  [default: llvm for a program built with it, else valgrind]",
    )
    name: str | None = program_row(
        "--name",
        metavar="NAME",
        group=PRINT,
        help="the program's name in reports.  [default: its file]",
    )
    threads: str = program_row(
        "--threads",
        metavar="HOW",
        default=RECORDED,
        show_default=True,
        group=RUN,
        choices=tuple(THREADS),
        help=f"{'; '.join(f'{how}: {what}' for how, what in THREADS.items())} (--preemptions, "
        f"{DEFAULT_PREEMPTIONS} unless given; --search random or pct draws some).",
    )
    record_timeout: str = program_row(
        "--record-timeout",
        metavar="TIME",
        default=DEFAULT_RECORD_TIMEOUT,
        show_default=True,
        group=FAR,
        help="the time of the recorded command.",
    )
    allow_exit: list[int] | None = program_row(
        "--allow-exit",
        metavar="N",
        least=0,
        most=255,
        group=RUN,
        help="an exit status of the recorded command that is no failure; may be repeated.",
    )
    keep: bool = program_row(
        "--keep",
        default=False,
        group=PRINT,
        again="never",
        help="keep the raw recording and copies of the pools before it.",
    )
    keep_pool: bool = program_row(
        "--keep-pool",
        default=False,
        group=RUN,
        help="begin with the pools as they are, and leave them as the recorded command left them. "
        "Without the option, the command begins without pool files: existing files are put aside for the run.",
    )

    def named(self) -> list[str]:
        """The options that were given and that mean program mode."""
        return [
            option.flag
            for field, option in rows(self)
            if option.of_program and is_given(getattr(self, field.name), field.default)
        ]

    def again(self, *, judging: bool = False) -> list[str]:
        """The words of the command that judges the same again; with `judging`, those of a trace alone."""
        words: list[str] = []
        for field, option in rows(self):
            value = getattr(self, field.name)
            wanted = option.again == "always" or (option.again == "given" and is_given(value, field.default))
            if not wanted or (judging and not (option.judging or field.name == "cwd")):
                continue
            if value is True:
                words.append(option.flag)
            else:
                words += [word for item in _each(value) for word in (option.flag, item)]
        return words

    @property
    def scheduled(self) -> bool:
        """Whether the program's threads run in many schedules."""
        if self.threads not in THREADS:
            raise UsageError(
                f"'{self.threads}' is no way to run threads",
                where="--threads",
                next_step=f"Write {' or '.join(THREADS)}.",
            )
        return self.threads == SCHEDULED

    def refuse_with(self, **others: object) -> None:
        """UsageError for options that program mode has no use for."""
        if wrong := [
            f"--{option.replace('_', '-')}" if option != "target" else "TARGET"
            for option, value in others.items()
            if value
        ]:
            if not (self.record or self.recover):
                raise UsageError(
                    f"{', '.join(wrong)} has no use for it: this option belongs to program mode",
                    where=self.named()[0],
                    next_step="Leave it out; or judge a program, with --record CMD --recover CMD --pool FILE.",
                )
            raise UsageError(
                f"{', '.join(wrong)} cannot be combined with --record or --recover",
                where="program mode",
                next_step="Leave it out: a recorded program has neither targets nor scenarios nor a cache, "
                "and is not resumed.",
            )


#: Fields that say how images are judged: a recording has none of them.
JUDGING = tuple(field.name for field, option in rows(ProgramOptions) if option.judging)


def _each(value: object) -> list[str]:
    """The values of an option, as text: several for one that is repeated."""
    return [str(item) for item in value] if isinstance(value, list) else [str("" if value is None else value)]
