"""The model of a tape by brute force: the prefixes of what was appended, at least what was there at the rewind.

The rewind is the device's flush.
"""

from replayer.reference.devices import Flushed

MODELS = {"tape": Flushed}
