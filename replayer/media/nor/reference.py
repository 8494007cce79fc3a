"""The model of NOR flash by brute force, at the pool's lines: stores that the device's flush makes durable.

The stores to a line are there in order, each of them whole. `parts.py` beside this module has the rules of a part, in
programs and erases.

Sources: ST RM0351, 3.3.7, "Flash main memory programming sequences"; Nordic nRF52840 Product Specification, NVMC;
Winbond W25Q128JV data sheet, 8.2.
"""

from replayer.reference.devices import Flushed

MODELS = {"nor": Flushed}
