"""The options of program mode, shared by `run`, `record` and `explore`."""

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from powercut.base import trust
from powercut.base.errors import UsageError
from powercut.engine import options
from powercut.engine.options import BLOCK, RECORDED, ExploreOptions
from powercut.program import probes as program_probes
from powercut.program import program
from powercut.program import tracers as program_tracers
from powercut.program.program import Program
from powercut.runs import runner
from powercut.runs.run_request import Request

Record = Annotated[
    str | None,
    typer.Option(
        "--record",
        metavar="CMD",
        show_default=False,
        help="Program mode: the command to record, which uses the pool files. No shell is involved.",
    ),
]
Recover = Annotated[
    str | None,
    typer.Option(
        "--recover",
        metavar="CMD",
        show_default=False,
        help="Program mode: the command that recovers from a pool and ends with status 0 when it is good. "
        "The pool's path in it, or {image}, becomes the crash image's.",
    ),
]
Pool = Annotated[
    list[str] | None,
    typer.Option(
        "--pool",
        metavar="FILE",
        show_default=False,
        help="Program mode: a file that the program maps; may be repeated.",
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="FILE",
        show_default=False,
        help="Program mode: a file that the program writes by system calls (pwrite, fsync, O_DSYNC): its sectors are "
        "those of a block device behind a volatile write cache.",
    ),
]
SectorSize = Annotated[
    int | None,
    typer.Option(
        "--sector-size",
        metavar="N",
        show_default=False,
        help=f"Program mode: bytes of a sector of the device, {' or '.join(map(str, program.SECTOR_SIZES))}.  "
        f"[default: {program.SECTOR_SIZES[0]}]",
    ),
]
AtomicUnit = Annotated[
    int | None,
    typer.Option(
        "--atomic-unit",
        metavar="N",
        show_default=False,
        help="Program mode: sectors that the device writes as one, "
        f"{', '.join(map(str, program.UNITS))}.  [default: {program.UNITS[0]}]",
    ),
]
Check = Annotated[
    str | None,
    typer.Option(
        "--check",
        metavar="CMD",
        show_default=False,
        help="Program mode: a consistency checker, run on what recovery left.",
    ),
]
Dump = Annotated[
    str | None,
    typer.Option(
        "--dump",
        metavar="CMD",
        show_default=False,
        help="Program mode: prints the contents after recovery; compared with what the marked operations allow.",
    ),
]
Probe = Annotated[
    list[str] | None,
    typer.Option(
        "--probe",
        metavar="CMD",
        show_default=False,
        help="Program mode: uses each recovered pool (writes, deletes, looks again), after --dump; it must end with "
        "status 0, and what it prints is compared as well. May be repeated.",
    ),
]
ProbeScript = Annotated[
    str | None,
    typer.Option(
        "--probe-script",
        metavar="FILE",
        show_default=False,
        help="Program mode: a file with a probe on each line, run in their order, after those of --probe.",
    ),
]
Ordered = Annotated[
    bool,
    typer.Option(
        "--ordered",
        help="Program mode: the order counts in which --dump and --probe print their lines, as in a queue or a list.",
    ),
]
Ops = Annotated[
    str | None,
    typer.Option(
        "--ops",
        metavar="CMD",
        show_default=False,
        help="Program mode: a driver that runs beside the recorded command; what it prints is the command's input.",
    ),
]
Ack = Annotated[
    str | None,
    typer.Option(
        "--ack",
        metavar="REGEX",
        show_default=False,
        help="Program mode: a line of the recorded command's output that matches acknowledges what was asked for "
        "before it. What lies between two such lines is one operation, which --dump must show whole or not at all.",
    ),
]
OpsFile = Annotated[
    str | None,
    typer.Option(
        "--ops-file",
        metavar="FILE",
        show_default=False,
        help="Program mode: the operations, one a line. The file's path in --record, or {ops}, names it; else it is "
        "the command's input. 'powercut minimise' takes its lines away.",
    ),
]
Tracer = Annotated[
    str | None,
    typer.Option(
        "--tracer",
        metavar="T",
        show_default=False,
        help=f"What records: {', '.join(program_tracers.TRACERS)}.  [default: llvm for what was built with it, "
        "else valgrind]",
    ),
]
Threads = Annotated[
    str,
    typer.Option(
        "--threads",
        metavar="HOW",
        help=f"Program mode: {'; '.join(f'{how}: {what}' for how, what in program.THREADS.items())} (--preemptions, "
        f"{program.DEFAULT_PREEMPTIONS} unless given; --search random or pct draws some).",
    ),
]
Timeout = Annotated[
    str, typer.Option("--timeout", metavar="TIME", help="Program mode: the time of each command that judges.")
]
Images = Annotated[
    int,
    typer.Option(
        "--images",
        metavar="N",
        min=2,
        max=options.MOST_IMAGES,
        help="Program mode: crash images that are tried of a crash point where not all can be.",
    ),
]
RecordTimeout = Annotated[
    str, typer.Option("--record-timeout", metavar="TIME", help="Program mode: the time of the recorded command.")
]
AllowExit = Annotated[
    list[int] | None,
    typer.Option(
        "--allow-exit",
        metavar="N",
        min=0,
        max=255,
        show_default=False,
        help="Program mode: an exit status of the recorded command that is no failure; may be repeated.",
    ),
]
Name = Annotated[
    str | None,
    typer.Option(
        "--name", metavar="NAME", show_default=False, help="Program mode: what reports call it.  [default: its file]"
    ),
]
Keep = Annotated[
    bool, typer.Option("--keep", help="Program mode: keep the raw recording and copies of the pools before it.")
]
KeepPool = Annotated[
    bool,
    typer.Option(
        "--keep-pool",
        help="Program mode: begin with the pools as they are, and leave them as the recorded command left them. "
        "Otherwise it begins without pool files, and those that are there are put aside for the run.",
    ),
]
Setup = Annotated[
    str | None,
    typer.Option(
        "--setup",
        metavar="CMD",
        show_default=False,
        help="Program mode: makes the pools before the recording, and is not recorded itself.",
    ),
]
Cwd = Annotated[
    Path | None,
    typer.Option(
        "--cwd",
        metavar="DIR",
        show_default=False,
        help="Program mode: the folder that the commands run in, and that file names are relative to.",
    ),
]


#: Fields of the options below that say how images are judged: none of them belongs to a recording.
JUDGING = ("recover", "check", "dump", "probe", "probe_script", "ordered", "timeout", "images")


@dataclass(frozen=True, kw_only=True)
class ProgramOptions:
    """The options of program mode."""

    record: Record = None
    recover: Recover = None
    pool: Pool = None
    device: Device = None
    sector_size: SectorSize = None
    atomic_unit: AtomicUnit = None
    check: Check = None
    dump: Dump = None
    probe: Probe = None
    probe_script: ProbeScript = None
    ordered: Ordered = False
    ops: Ops = None
    ack: Ack = None
    ops_file: OpsFile = None
    tracer: Tracer = None
    threads: Threads = RECORDED
    timeout: Timeout = program.DEFAULT_TIMEOUT
    images: Images = program.DEFAULT_IMAGES
    record_timeout: RecordTimeout = program.DEFAULT_RECORD_TIMEOUT
    allow_exit: AllowExit = None
    name: Name = None
    keep: Keep = False
    keep_pool: KeepPool = False
    setup: Setup = None
    cwd: Cwd = None

    def named(self) -> list[str]:
        """The options of program mode that were given."""
        given = {
            "--record": self.record,
            "--recover": self.recover,
            "--pool": self.pool,
            "--device": self.device,
            "--sector-size": self.sector_size,
            "--atomic-unit": self.atomic_unit,
            "--check": self.check,
            "--dump": self.dump,
            "--probe": self.probe,
            "--probe-script": self.probe_script,
            "--ordered": self.ordered,
            "--ops": self.ops,
            "--ack": self.ack is not None,
            "--ops-file": self.ops_file,
            "--allow-exit": self.allow_exit,
            "--name": self.name,
            "--keep": self.keep,
            "--keep-pool": self.keep_pool,
            "--setup": self.setup is not None,
            "--cwd": self.cwd,
            "--threads": self.threads != RECORDED,
            "--timeout": self.timeout != program.DEFAULT_TIMEOUT,
            "--images": self.images != program.DEFAULT_IMAGES,
            "--record-timeout": self.record_timeout != program.DEFAULT_RECORD_TIMEOUT,
        }
        return [option for option, value in given.items() if value]

    @property
    def scheduled(self) -> bool:
        """Whether the program's threads run in many schedules."""
        if self.threads not in program.THREADS:
            raise UsageError(
                f"'{self.threads}' is no way to run threads",
                where="--threads",
                next_step=f"Write {' or '.join(program.THREADS)}.",
            )
        return self.threads == program.SCHEDULED

    def recording(self, chosen: ExploreOptions) -> program.Recording:
        """What is to be recorded."""
        if self.record is None:
            raise UsageError(
                f"{', '.join(self.named())} belong to program mode, which needs a command to record",
                where="--record",
                next_step="Name it, such as --record './prog run POOL'; or name a TARGET of powercut's own instead.",
            )
        return program.recording(
            record=self.record,
            ops=self.ops,
            ops_file=self.ops_file,
            pools=self.pool or [],
            device=self.device,
            layout=program.device_layout(sector_size=self.sector_size, unit=self.atomic_unit),
            ack=self.ack,
            cwd=self.cwd,
            tracer=self.tracer,
            timeout=self.record_timeout,
            allow_exit=self.allow_exit or [],
            keep=self.keep,
            keep_pool=self.keep_pool,
            setup=self.setup,
            scheduling=program.scheduling(chosen.schedules, seed=chosen.seed, model=chosen.model)
            if self.scheduled
            else None,
        )

    def recovery(self) -> program.Recovery:
        """How images are judged."""
        made = program.recovery(
            recover=self.recover,
            check=self.check,
            dump=self.dump,
            probes=program_probes.given(self.probe or [], script=self.probe_script, cwd=self.cwd),
            ordered=self.ordered,
            timeout=self.timeout,
            images=self.images,
            cwd=self.cwd,
        )
        # A finding's record names them again.
        judging = (made.recover, made.check, made.dump, *made.probes)
        trust.remember(trust.command(words, made.cwd) for words in judging if words)
        return made

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


def run_request(given: ProgramOptions, chosen: ExploreOptions) -> Request:
    """The run of `powercut run --record …`."""
    recording = given.recording(chosen)
    chosen = chosen.on(BLOCK if recording.device else None)
    name = given.name or program.default_name(recording.command)
    made = Program(name=name, recording=recording, recovery=replace(given.recovery(), pools=recording.pools))
    # 'powercut minimise' runs it again.
    trust.remember([trust.command(recording.command, recording.cwd)])
    words = ["powercut", "run", "--record", given.record or "", *_recovery_words(given)]
    for pool in given.pool or []:
        words += ["--pool", pool]
    for option, value in (
        ("--device", given.device),
        ("--sector-size", given.sector_size),
        ("--atomic-unit", given.atomic_unit),
    ):
        words += [option, str(value)] if value else []
    for option, value in (
        ("--setup", given.setup),
        ("--ops", given.ops),
        ("--ops-file", given.ops_file),
        ("--ack", given.ack),
        ("--tracer", recording.tracer),
        ("--name", given.name),
    ):
        words += [option, value] if value else []
    if given.scheduled:
        words += ["--threads", given.threads, *chosen.schedules.words()]
    return _request(made, chosen, scenario=shlex.join(recording.command), words=words)


def explore_request(given: ProgramOptions, chosen: ExploreOptions, trace: Path) -> Request:
    """The run of `powercut explore TRACE --recover …`."""
    made = Program(name=given.name or program.default_name([trace.stem]), recovery=given.recovery())
    words = ["powercut", "explore", str(trace), *_recovery_words(given)]
    request = _request(made, chosen, scenario=trace.name, words=words)
    recorded = trust.metadata_of(trace).get("program")
    if isinstance(recorded, dict):  # what a reader of the verdict has to know of the recording
        request.header["program"] |= {name: str(recorded[name]) for name in ("began", "ack") if name in recorded}
    return replace(request, trace=trace.absolute())


def _recovery_words(given: ProgramOptions) -> list[str]:
    words = ["--recover", given.recover or ""]
    for option, value in (("--check", given.check), ("--dump", given.dump), ("--cwd", given.cwd)):
        words += [option, str(value)] if value else []
    for probe in given.probe or []:
        words += ["--probe", probe]
    words += ["--probe-script", given.probe_script] if given.probe_script else []
    words += ["--ordered"] if given.ordered else []
    return [*words, "--timeout", given.timeout, "--images", str(given.images)]


def _request(made: Program, chosen: ExploreOptions, *, scenario: str, words: list[str]) -> Request:
    words += ["--model", chosen.model, "--atoms", chosen.atoms, "--seed", str(chosen.seed)]
    words += ["--nested", str(chosen.nested)] if chosen.nested else []
    header: dict[str, Any] = {
        "target": made.name,
        "scenario": scenario,
        "command": shlex.join(words),
        "program": {"name": made.name, **made.recovery.described()},
    }
    return Request(
        name=f"{made.name} {scenario}",
        slug=runner.slug(made.name, "program"),
        options=chosen,
        program=made,
        header=header,
    )
