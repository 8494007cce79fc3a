"""A recording that is asked for: options of the command line, checked against each other and against the files."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from powercut.base.errors import UsageError
from powercut.engine.options import DEFAULT_SCHEDULES, DEFAULT_SEARCH, DEFAULT_VISIBILITY, RECORDED, Schedules
from powercut.program import acknowledgements
from powercut.program import binary as program_binary
from powercut.program import ops_file as program_ops_file
from powercut.program import pools as program_pools
from powercut.program import tracers as program_tracers
from powercut.program.binary import Binary
from powercut.program.ops_file import OpsFile
from powercut.program.options import DEFAULT_PREEMPTIONS, SCHEDULED, SECTOR_SIZES, UNITS, ProgramOptions
from powercut.program.words import duration, words, working_folder

#: Bytes of an atomic write unit, at most: what the kernel writes as one piece of the page cache.
MOST_UNIT = 4096


@dataclass(frozen=True, kw_only=True)
class Scheduling:
    """Which schedules of the program's threads are run, where it is not the one that happens to come."""

    search: str
    preemptions: int
    #: 0: all of them.
    schedules: int
    seed: int
    model: str


@dataclass(frozen=True, kw_only=True)
class Device:
    """How the one pool of a recording is a block device."""

    #: Bytes.
    sector_size: int = SECTOR_SIZES[0]
    #: Sectors that the device writes as one.
    unit: int = UNITS[0]


@dataclass(frozen=True, kw_only=True)
class Recording:
    """A command to record, and how it is recorded."""

    command: tuple[str, ...]
    binary: Binary
    #: Its standard output feeds the command.
    ops: tuple[str, ...] = ()
    #: The operations, where they are lines of a file.
    ops_file: OpsFile | None = None
    #: Absolute, links resolved, in the order of the command line.
    pools: tuple[Path, ...]
    cwd: Path
    tracer: str
    timeout: float | None
    #: Seconds that a budget leaves for recording; None: there is no budget.
    within: float | None = None
    #: Exit statuses that are no failure.
    allowed: frozenset[int] = frozenset({0})
    keep: bool = False
    #: True if the program begins with the present pools, and the pools stay as the program leaves them.
    keep_pool: bool = False
    #: Makes the pools before the run, which begins without files otherwise.
    setup: tuple[str, ...] = ()
    #: State of the pools when the program began, in words; known when it is recorded.
    began: str = ""
    #: Advice for a program that fails, where it began with nothing; empty elsewhere.
    advice: str = ""
    #: How a set-up begins, in words.
    bare: str = "without a pool file"
    #: None: the program's threads run as they come.
    scheduling: Scheduling | None = None
    #: None: the pools are memory, which the program maps.
    device: Device | None = None
    #: Lines of its output that end an operation; None: it has marked them, or there are none.
    ack: re.Pattern[str] | None = None

    def described(self) -> dict[str, Any]:
        """As it stands in the trace's metadata and in records."""
        return {
            "command": list(self.command),
            "ops": list(self.ops),
            "ops_file": os.fspath(self.ops_file.named) if self.ops_file else "",
            "scheduled": self.scheduling is not None,
            "record_timeout": self.timeout,
            "allowed": sorted(self.allowed),
            "cwd": os.fspath(self.cwd),
            "tracer": self.tracer,
            "began": self.began,
            "setup": list(self.setup),
            "keep_pool": self.keep_pool,
            "ack": self.ack.pattern if self.ack else "",
        }

    @property
    def limit(self) -> float | None:
        """Seconds that recording may take: the least of its limits."""
        return min((limit for limit in (self.timeout, self.within) if limit is not None), default=None)

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the command that is started."""
        return self.ops_file.command(self.command, cwd=self.cwd) if self.ops_file else self.command

    @property
    def driver(self) -> tuple[str, ...]:
        """The words of the command that feeds it; empty when nothing does."""
        return self.ops_file.driver(self.command, cwd=self.cwd) if self.ops_file else self.ops


def recording(given: ProgramOptions, *, scheduling: Scheduling | None = None) -> Recording:
    """The recording that the options ask for. UsageError when it cannot be made."""
    if given.record is None:
        raise UsageError(
            f"{', '.join(given.named())} belong to program mode, which needs a command to record",
            where="--record",
            next_step="Name it, such as --record './prog run POOL'; or name a TARGET of powercut's own instead.",
        )
    layout = device_layout(sector_size=given.sector_size, unit=given.atomic_unit)
    ops, ops_file, setup, device, ack = given.ops, given.ops_file, given.setup, given.device, given.ack
    pools, keep_pool = given.pool or [], given.keep_pool
    folder = working_folder(given.cwd)
    command = words(given.record, option="--record")
    driver = words(ops, option="--ops")
    binary = program_binary.find(command[0], cwd=folder, option="--record")
    if driver:
        program_binary.find(driver[0], cwd=folder, option="--ops")
    making = words(setup, option="--setup")
    if making:
        program_binary.find(making[0], cwd=folder, option="--setup")
    if making and keep_pool:
        raise UsageError(
            "one makes the pool anew, the other begins with what is there",
            where=f"--setup {setup} --keep-pool",
            next_step="Leave one of them out.",
        )
    if driver and ops_file is not None:
        raise UsageError(
            "a program has its operations from one place",
            where=f"--ops {ops} --ops-file {ops_file}",
            next_step="Leave one of them out.",
        )
    operations = None if ops_file is None else program_ops_file.examine(ops_file, cwd=folder)
    fed = operations.driver(command, cwd=folder) if operations else driver
    if not pools and device is None:
        raise UsageError(
            "no pool file was named",
            where="--pool",
            next_step="Name the file that the program maps: --pool FILE; repeat it for several. "
            "One that it writes by system calls: --device FILE.",
        )
    chosen = program_tracers.choose(given.tracer, binary, command=command)
    if device is not None:
        _refuse_on_device(chosen, device, pools=pools, scheduled=scheduling is not None)
    elif layout is not None:
        raise UsageError(
            "sectors belong to a device, and none was named",
            where="--sector-size, --atomic-unit",
            next_step="Leave them out, or name the file that is one: --device FILE.",
        )
    if ack is not None:
        _refuse_acknowledged(chosen, ack, scheduled=scheduling is not None)
    if scheduling is not None:
        _refuse_unscheduled(chosen, binary, command=command, driver=fed)
    if fed and chosen == "pmemcheck":
        raise UsageError(
            "the pmemcheck tracer gives a program no input",
            where=f"--tracer {chosen}",
            next_step="Leave it out: Valgrind records the same. Or let the program open the file of --ops-file itself.",
        )
    files = tuple(program_pools.examine(name, cwd=folder) for name in pools)
    if device is not None:
        files = (program_pools.examine(device, cwd=folder, option="--device"),)
    if twice := next((file for file in files if files.count(file) > 1), None):
        raise UsageError("this pool is named twice", where=f"--pool {twice}", next_step="Name every pool once.")
    return Recording(
        command=command,
        binary=binary,
        ops=driver,
        ops_file=operations,
        pools=files,
        cwd=folder,
        tracer=chosen,
        timeout=duration(given.record_timeout, option="--record-timeout"),
        allowed=frozenset({0, *(given.allow_exit or [])}),
        keep=given.keep,
        keep_pool=keep_pool,
        setup=making,
        scheduling=scheduling,
        device=None if device is None else layout or Device(),
        ack=None if ack is None else acknowledgements.pattern(ack),
    )


def device_layout(*, sector_size: int | None, unit: int | None) -> Device | None:
    """The device of the two options; None where neither was given. UsageError for values that no device has."""
    if sector_size is None and unit is None:
        return None
    made = Device(sector_size=sector_size or SECTOR_SIZES[0], unit=unit or UNITS[0])
    for option, value, allowed in (
        ("--sector-size", made.sector_size, SECTOR_SIZES),
        ("--atomic-unit", made.unit, UNITS),
    ):
        if value not in allowed:
            raise UsageError(
                f"{value} is none of {', '.join(map(str, allowed))}",
                where=option,
                next_step=f"Write one of them, or leave it out: {allowed[0]}.",
            )
    if made.sector_size * made.unit > MOST_UNIT:
        raise UsageError(
            f"an atomic write unit of {made.sector_size * made.unit} bytes is more than a page of {MOST_UNIT}, and a "
            "write of several pages may be torn between them",
            where=f"--atomic-unit {made.unit}",
            next_step=f"Write {MOST_UNIT // made.sector_size} or less.",
        )
    return made


def _refuse_on_device(tracer: str, device: str, *, pools: Sequence[str], scheduled: bool) -> None:
    where = f"--device {device}"
    if pools:
        raise UsageError(
            "a program that has a device beside pools in memory is not modelled",
            where=f"{where} --pool {pools[0]}",
            next_step="Name the one file that matters: --device for one that the program writes by system calls, "
            "--pool for one that it maps.",
        )
    if tracer not in ("llvm", "valgrind"):
        raise UsageError(
            f"the tracer '{tracer}' does not record system calls on a device",
            where=where,
            next_step="Leave --tracer out, or write llvm or valgrind.",
        )
    if scheduled:
        raise UsageError(
            "the threads of a program that writes to a device are not scheduled",
            where=f"{where} --threads {SCHEDULED}",
            next_step="Leave --threads out: one order of its calls is recorded, and the verdict says so.",
        )


def _refuse_acknowledged(tracer: str, ack: str, *, scheduled: bool) -> None:
    if tracer not in acknowledgements.TRACERS:
        raise UsageError(
            f"the tracer '{tracer}' does not look at the program's output",
            where=f"--ack {ack}",
            next_step=f"Leave --tracer out, or write {' or '.join(acknowledgements.TRACERS)}.",
        )
    if scheduled:
        raise UsageError(
            "the output belongs to no thread of the program, so its acknowledgements end no operation of a schedule",
            where=f"--ack {ack} --threads {SCHEDULED}",
            next_step="Mark its operations (powercut/mark.h), or leave --threads out.",
        )


def scheduling(chosen: Schedules, *, seed: int, model: str) -> Scheduling:
    """How `--threads scheduled` runs a program's threads. UsageError for what only scenarios have."""
    if chosen.preemptions == "none":
        raise UsageError(
            "a program's schedules are run from its beginning, each of them, and are too many without a bound",
            where="--preemptions none",
            next_step=f"Write a number; {DEFAULT_PREEMPTIONS} is the default.",
        )
    if chosen.search == RECORDED:
        raise UsageError(
            "the recorded schedule is no search of schedules",
            where=f"--search {RECORDED}",
            next_step=f"Write --threads {RECORDED} instead.",
        )
    if chosen.visibility not in (None, DEFAULT_VISIBILITY):
        raise UsageError(
            "store buffers are not followed in programs",
            where=f"--visibility {chosen.visibility}",
            next_step="Leave it out, or judge a target of the same code (docs/threads.md).",
        )
    search = chosen.search or DEFAULT_SEARCH
    return Scheduling(
        search=search,
        preemptions=DEFAULT_PREEMPTIONS if chosen.preemptions is None else chosen.preemptions,
        schedules=chosen.schedules or (0 if search == DEFAULT_SEARCH else DEFAULT_SCHEDULES),
        seed=seed,
        model=model,
    )


def _refuse_unscheduled(tracer: str, binary: Binary, *, command: Sequence[str], driver: Sequence[str]) -> None:
    if tracer != "llvm" or not binary.traced_by_llvm:
        raise UsageError(
            "the threads of this program cannot be scheduled: it was not built with 'powercut cc' or 'powercut c++'"
            if not binary.traced_by_llvm
            else f"the {tracer} tracer schedules no threads",
            where=f"--record {command[0]}",
            next_step="Build it with CC='powercut cc' and record the program itself, or leave out --threads scheduled.",
        )
    if driver:
        raise UsageError(
            "a driver cannot feed a program that is run many times",
            where=f"--threads {SCHEDULED}",
            next_step="Let the program read a file, such as that of --ops-file, or leave out --threads scheduled.",
        )
