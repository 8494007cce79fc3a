"""The model of block devices by brute force: writes to units of sectors.

A write to a unit is one whole. Any set of the writes that are not certainly durable may have reached the medium, and of
two that have, the later one shows.

Source: NVM Express Base Specification 2.0 (FLUSH, "Force Unit Access", AWUPF).
"""

from __future__ import annotations

from itertools import chain, combinations

from replayer.reference.devices import Device, Write


class Block(Device):
    def force(self, address: int) -> None:
        """The last write to this sector, with whatever else of the unit it wrote."""
        touching = [number for number, at, data in self.writes if at <= address < at + len(data)]
        self.durable |= set(touching[-1:])

    def flush(self) -> None:
        self.durable |= {number for number, _, _ in self.writes}

    def legal(self, line: int) -> list[list[Write]]:
        here = self.of(line)
        open_ = [write for write in here if write[0] not in self.durable]
        sure = [write for write in here if write[0] in self.durable]
        subsets = chain.from_iterable(combinations(open_, size) for size in range(len(open_) + 1))
        return [sorted([*sure, *chosen]) for chosen in subsets]


MODELS = {"block": Block}
