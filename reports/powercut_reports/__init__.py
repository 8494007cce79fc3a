"""What people read of a powercut run: text, JSON and one self-contained HTML page.

Input is plain dicts: the objects of the event stream (EVENTS.md), which the caller has joined into one
`run` dict per exploration and enriched with symbolised `frames`. Nothing here knows the engine.
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
