"""The table of the options of program mode: a new option is a row here, and the code that uses its field.

`powercut run`, `record` and `explore` take their options, their help and their completion from the rows. The command
that finds the same again (`again`) comes from them too.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from powercut.base.errors import UsageError
from powercut.base.option import FAR, PRINT, RUN, is_given, judging_row, program_row, recording_row, row, rows
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

    record: str | None = recording_row(
        "--record CMD", "the command to record, which uses the pool files. No shell is involved."
    )
    recover: str | None = judging_row(
        "--recover CMD",
        "the command that recovers from a pool and ends with status 0 when it is good. "
        "The pool's path in it, or {image}, becomes the crash image's.",
        again="always",
    )
    check: str | None = judging_row("--check CMD", "a consistency checker, run on what recovery left.")
    dump: str | None = judging_row(
        "--dump CMD",
        "prints the contents after recovery; compared with the contents that the marked operations allow.",
    )
    continuation: str | None = judging_row(
        "--continue CMD",
        "the work of a second life, for --files: it runs behind recovery, the power is cut once more at each of its "
        "instants, and recovery, --check and --dump judge what is left. It is one operation, which is acknowledged "
        "when it ends.",
    )
    cwd: Path | None = recording_row(
        "--cwd DIR", "the folder that the commands run in, and that file names are relative to."
    )
    probe: list[str] | None = judging_row(
        "--probe CMD",
        "uses each recovered pool (writes, deletes, looks again), after --dump; it must end with status "
        "0, and its output is compared as well. May be repeated.",
    )
    probe_script: str | None = judging_row(
        "--probe-script FILE",
        "a file with a probe on each line, run in their order, after those of --probe.",
    )
    ordered: bool = judging_row(
        "--ordered",
        "the order of the lines that --dump and --probe print counts, as in a queue or a list.",
        default=False,
    )
    timeout: str = judging_row(
        "--timeout TIME",
        "the time of each command that judges.",
        default=DEFAULT_TIMEOUT,
        show_default=True,
        group=FAR,
        again="always",
    )
    images: int = judging_row(
        "--images N",
        "crash images that are tried at a crash point that has too many to try all.",
        default=DEFAULT_IMAGES,
        show_default=True,
        least=2,
        most=MOST_IMAGES,
        group=FAR,
        again="always",
    )
    pool: list[str] | None = recording_row("--pool FILE", "a file that the program maps; may be repeated.")
    device: str | None = recording_row(
        "--device FILE",
        "a file that the program writes by system calls (pwrite, fsync, O_DSYNC): its sectors are "
        "those of a block device behind a volatile write cache.",
    )
    files: str | None = recording_row(
        "--files DIR",
        "a folder in place of pools: all that is done to the files below it, in any language. With --record the folder "
        "is put aside for the run, and is back afterwards as it was: the command begins with a copy of it, or, with "
        "--setup, with an empty folder and what --setup makes there. 'powercut record --files DIR -- CMD' works in it.",
    )
    fs: str | None = judging_row(
        "--fs NAMES",
        "the file systems that a folder is judged under: ext4,posix; names of 'powercut models files', or files of "
        "your own.  [default: ext4,xfs,btrfs]",
    )
    sector_size: int | None = recording_row(
        "--sector-size N",
        "bytes that the device, or the disk below a folder, writes as a whole, "
        f"{' or '.join(map(str, SECTOR_SIZES))}.  [default: {SECTOR_SIZES[0]}]",
        **_choices(SECTOR_SIZES),
    )
    atomic_unit: int | None = recording_row(
        "--atomic-unit N",
        f"sectors that the device writes as one, {', '.join(map(str, UNITS))}.  [default: {UNITS[0]}]",
        **_choices(UNITS),
    )
    setup: str | None = recording_row(
        "--setup CMD", "makes the pools before the recording, and is not recorded itself."
    )
    ops: str | None = recording_row(
        "--ops CMD", "a driver that runs beside the recorded command; its output is the command's input."
    )
    ops_file: str | None = recording_row(
        "--ops-file FILE",
        "the operations, one a line. The file's path in --record, or {ops}, names it; else it is "
        "the command's input. 'powercut minimise' takes its lines away.",
    )
    ack: str | None = recording_row(
        "--ack REGEX",
        "a matching line of the recorded command's output acknowledges all work before it. The work "
        "between two such lines is one operation, which --dump must show whole or not at all.",
    )
    tracer: str | None = row(
        "--tracer T",
        f"The tracer: {', '.join(TRACERS)}.  [default: llvm for a program built with it, else valgrind]",
        group=RUN,
        choices=tuple(TRACERS),
    )
    name: str | None = program_row("--name NAME", "the program's name in reports.  [default: its file]", group=PRINT)
    threads: str = recording_row(
        "--threads HOW",
        f"{'; '.join(f'{how}: {what}' for how, what in THREADS.items())} (--preemptions, "
        f"{DEFAULT_PREEMPTIONS} unless given; --search random or pct draws some).",
        default=RECORDED,
        show_default=True,
        choices=tuple(THREADS),
    )
    record_timeout: str = program_row(
        "--record-timeout TIME",
        "the time of the recorded command.",
        default=DEFAULT_RECORD_TIMEOUT,
        show_default=True,
        group=FAR,
    )
    allow_exit: list[int] | None = recording_row(
        "--allow-exit N",
        "an exit status of the recorded command that is no failure; may be repeated.",
        least=0,
        most=255,
    )
    keep: bool = program_row(
        "--keep", "keep the raw recording and copies of the pools before it.", default=False, group=PRINT, again="never"
    )
    keep_pool: bool = recording_row(
        "--keep-pool",
        "begin with the pools as they are, and leave them as the recorded command left them. Without the "
        "option, the command begins without pool files: existing files are put aside for the run.",
        default=False,
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
