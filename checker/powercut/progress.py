"""Progress bars on stderr: crash points done, states a second, findings, time left. Only on a terminal."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from powercut import events
from powercut.runner import Listener, Silent


def compact(number: int) -> str:
    """A count of any size in a few characters: 987, 12.3k, 4.5M, 1.2e40."""
    for limit, unit in ((10**3, ""), (10**6, "k"), (10**9, "M"), (10**12, "G")):
        if number < limit:
            return str(number) if not unit else f"{number * 1000 / limit:.1f}{unit}"
    digits = str(number)
    return f"{digits[0]}.{digits[1]}e{len(digits) - 1}"


class Bars:
    """One bar for every run in progress."""

    def __init__(self) -> None:
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]} states/s"),
            TextColumn("{task.fields[found]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._tasks: dict[int, TaskID] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> "Bars":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Takes the bars off the terminal while something is printed."""
        self._bars.stop()
        try:
            yield
        finally:
            self._bars.start()

    def started(self, order: int, name: str) -> None:
        with self._lock:
            self._tasks[order] = self._bars.add_task(name, total=None, rate="-", found="")

    def progressed(self, order: int, progress: events.Progress, found: int) -> None:
        rate = int(progress.crash_states) * 1000 // max(1, int(progress.seconds * 1000))
        with self._lock:
            self._bars.update(
                self._tasks[order],
                completed=progress.crash_points,
                total=progress.of,
                rate=compact(rate),
                found=f"{found} findings" if found else "",
            )

    def ended(self, order: int) -> None:
        with self._lock:
            task = self._tasks.pop(order, None)
            if task is not None:
                self._bars.remove_task(task)

    def announced(self, order: int, sentence: str) -> None:
        del order
        self._bars.console.print(sentence, markup=False, highlight=False, soft_wrap=True)


class Sentences(Silent):
    """Says on stderr what cannot wait for the end of a run."""

    def announced(self, order: int, sentence: str) -> None:
        del order
        print(sentence, file=sys.stderr, flush=True)


@contextmanager
def bars() -> Iterator[tuple[Listener, Bars | None]]:
    """A listener for the runner: bars when stderr is a terminal, single sentences otherwise."""
    if not sys.stderr.isatty():
        yield Sentences(), None
        return
    with Bars() as shown:
        yield shown, shown
