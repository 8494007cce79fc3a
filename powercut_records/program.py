"""The recorded program of program mode, and the commands that judged it."""

from __future__ import annotations

import shlex

from powercut_records.base import Record, Text


class Sectors(Record):
    """How a file that is a block device lies in the trace (`tracer/stream/STREAM.md`, "Devices")."""

    sector_size: int = 512  # bytes
    unit: int = 1  # sectors of an atomic write unit


class Pool(Record):
    path: Text = ""
    size: int | None = None
    address: int | None = None  # of its first mapping
    device: Sectors | None = None


class Program(Record):
    """Commands are lists of words."""

    name: Text = ""
    command: list[Text] = []  # empty for a trace that was recorded before
    ops: list[Text] = []
    ops_file: Text = ""  # whose lines are its operations; empty without one
    scheduled: bool = False  # its threads were run in many schedules
    record_timeout: float | None = None  # seconds; none: as long as it takes
    allowed: list[int] = [0]  # exit statuses that are no failure
    recover: list[Text] = []
    check: list[Text] = []
    dump: list[Text] = []
    probes: list[list[Text]] = []  # run on what recovery left, in this order
    continuation: list[Text] = []  # the work of a second life; empty: there is one life
    ordered: bool = False  # the order counts in which the dump and the probes print their lines
    timeout: float = 0.0  # seconds that each of them may take
    images: int = 0  # of one crash point that are tried where not all can be
    cwd: Text = ""
    tracer: Text = ""
    began: Text = ""  # what the pools were then
    setup: list[Text] = []  # made them; empty without one
    keep_pool: bool = False  # the program began with the present pools, which stay as it left them
    ack: Text = ""  # the expression whose lines end its operations
    exit: dict[str, int] | None = None
    pools: list[Pool] = []
    folder: Text = ""  # whose files are judged, in the place of pools
    profiles: dict[str, dict[str, Text]] = {}  # the switches of each file system that was asked for
    sector_size: int = 512  # bytes that the disk below the folder writes as a whole
    output: dict[str, list[Text]] = {}  # stdout and stderr
    notes: list[Text] = []  # stores and files that were not recorded

    @property
    def ended(self) -> str:
        """ "exit status 0" """
        if not self.exit:
            return ""
        return f"signal {self.exit['signal']}" if "signal" in self.exit else f"exit status {self.exit.get('status')}"

    @property
    def stdout(self) -> list[str]:
        return self.output.get("stdout", [])

    @property
    def stderr(self) -> list[str]:
        return self.output.get("stderr", [])

    def shown(self, command: str) -> str:
        """A command as it is typed."""
        return shlex.join(getattr(self, command))

    @property
    def shown_probes(self) -> str:
        """All commands, as they are typed."""
        return "; ".join(shlex.join(probe) for probe in self.probes)

    @property
    def device(self) -> Sectors | None:
        """How its one pool is a device; None where pools are memory."""
        return next((pool.device for pool in self.pools if pool.device), None)
