"""The model of a tape by brute force: the prefixes of what was appended, at least what was there at the rewind."""

from __future__ import annotations

from replayer.reference.devices import Device, Write


class Tape(Device):
    def force(self, address: int) -> None:
        pass

    def flush(self) -> None:
        """The rewind."""
        self.durable |= {number for number, _, _ in self.writes}

    def legal(self, line: int) -> list[list[Write]]:
        here = self.of(line)
        sure = sum(write[0] in self.durable for write in here)
        return [here[:count] for count in range(sure, len(here) + 1)]


MODELS = {"tape": Tape}
