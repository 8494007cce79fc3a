"""Tasks in threads, which signals stop."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

Result = TypeVar("Result")

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def stoppable(
    tasks: Sequence[Callable[[], Result]], *, jobs: int, stop: Callable[[], None]
) -> Iterator[list[Future[Result]]]:
    """Carries out `tasks` with at most `jobs` at a time, while the body waits for them.

    At SIGINT, SIGTERM, SIGHUP or an exception of the body, what has not begun is cancelled and `stop` is called.
    """
    with ThreadPoolExecutor(max_workers=max(1, min(jobs, len(tasks)))) as pool:
        futures: list[Future[Result]] = []

        def stop_all() -> None:
            for waiting in list(futures):
                waiting.cancel()
            stop()

        try:
            # Before the first task begins: otherwise a signal in between would leave the pool waiting for its tasks.
            with stopped_by_signals(stop_all):
                futures.extend(pool.submit(task) for task in tasks)
                yield futures
        except BaseException:
            stop_all()
            raise


@contextmanager
def stopped_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Calls `stop` at the first SIGINT, SIGTERM or SIGHUP; a second one takes its usual course.

    A signal that is ignored, as `nohup` ignores SIGHUP, stays so. A terminal that closes sends SIGHUP more than once
    (its shell does, then the kernel): after the first one no other does anything.
    A handler, not KeyboardInterrupt: an exception could arise between taking a result and keeping it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in _STOPPING}
    before = {number: handler for number, handler in handlers.items() if handler is not signal.SIG_IGN}

    def handle(number: int, frame: FrameType | None) -> None:
        del frame
        if number == signal.SIGHUP:
            before[signal.SIGHUP] = signal.SIG_IGN
        for name, handler in before.items():
            signal.signal(name, handler)
        # A thread of its own: the handler may run while this one holds a lock that `stop` needs.
        threading.Thread(target=stop, daemon=True).start()

    for number in list(before):
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
