"""Durations as people write them: "500ms", "5s", "2m", "1h"."""

import re

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_seconds(text: str) -> float | None:
    """The seconds that `text` says; None when it is no duration above zero."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)", text.strip())
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    return seconds if seconds > 0 else None
