"""Which session `powercut.check` uses: the test that runs says so, by the pytest plugin.

Apart from `powercut.testing.api` because the plugin is loaded in every project that has powercut installed, and must
not import what only crash tests need.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_MAKER: ContextVar[Callable[[], Any] | None] = ContextVar("powercut session", default=None)


@contextmanager
def made_by(maker: Callable[[], Any]) -> Iterator[None]:
    """Has `maker` called for the session that checks in this context use."""
    token = _MAKER.set(maker)
    try:
        yield
    finally:
        _MAKER.reset(token)


def given() -> Any:
    """The `Session` of the test that runs; None elsewhere."""
    maker = _MAKER.get()
    return maker() if maker else None
