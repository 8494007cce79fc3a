"""Children of tests that are to be interrupted.

Children ignore the signals that this process ignores. A shell ignores SIGINT and SIGQUIT for a command that it puts
into the background (`nohup make test &`). Some systems for continuous integration start their jobs like that.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_ENDING = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)


def interruptible() -> None:
    """For `preexec_fn`: a child in which every signal that ends a process has its default effect."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def ignored(number: signal.Signals) -> Iterator[None]:
    """This process, and what it starts in the body, ignores the signal."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, before)
