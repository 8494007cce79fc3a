"""Messages to people while a command runs: lines on stderr."""

import sys
from contextlib import suppress

from powercut.base.errors import PowercutError


def say(message: str) -> None:
    """A line for people, on stderr; nothing where that is gone, as it is with a terminal that was closed."""
    with suppress(OSError):
        print(message, file=sys.stderr, flush=True)


def say_error(error: PowercutError) -> None:
    """One paragraph for people, on stderr."""
    say(f"powercut: {error.paragraph()}")
