"""The model of raw flash by brute force: programs and erases of pages.

The stores to a page or an erase block are there in order, each of them whole, and are durable once the line is forced.

Sources: Open NAND Flash Interface 5.1; Tseng, Grupp and Swanson, "Understanding the impact of power loss on flash
memory" (DAC 2011).
"""

from __future__ import annotations

from replayer.reference.devices import InOrder
from replayer.reference.program import line_of


class Flash(InOrder):
    def force(self, address: int) -> None:
        self.durable |= {number for number, _, _ in self.of(line_of(address))}

    def flush(self) -> None:
        pass


MODELS = {"flash": Flash}
