"""The chunks of a run on a Dask cluster: `distributed`'s own client, futures, retries and dashboard.

Dask does most of the work. A worker is asked once for everything on which results could depend (`fitness`). A fit
worker gets a *resource* named after its machine, and tasks ask for that resource. Dask itself thus keeps tasks from any
other worker, also from one that joins later. The trace is scattered once, by its content, and is a dependency of the
tasks. Where a worker is idle, the task with the most left to do gives it half of its rest. A worker that dies loses its
tasks, which Dask starts again elsewhere: their results have the same names, and it does not matter which of two is
taken.

`distributed` is the extra `powercut[dask]`, and is imported only here.
"""

import asyncio
import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import distributed
from distributed import Client, Future, Worker

from powercut.base.errors import UsageError
from powercut.base.output_files import unwritable
from powercut.engine import engine, events
from powercut.machines import worker
from powercut.machines.fitness import Facts, difference, facts
from powercut.machines.ranges import Range, crash_points, cut, key_of, missing
from powercut.runs.machines import Exploring

#: Ranges for each thread of the cluster, at first: some workers are slower than others.
_RANGES_PER_SLOT = 2
#: A task that has fewer seconds left is not worth another walk through the trace.
_LEAST_SECONDS = 2.0
#: Times that a range is given to the cluster before the engine of the run explores it.
_ATTEMPTS = 3
#: Seconds between two looks at idle workers and at new ones, and for which a cluster without workers is waited for.
_LOOK, _PATIENCE = 1.0, 60.0
_CONNECT = "30s"


@contextmanager
def connected(
    *, address: str | None, scheduler_file: Path | None, shared: Path | None, engine_path: Path,
    say: Callable[[str], None],
) -> Iterator["Cluster"]:  # fmt: skip
    """A cluster by its scheduler's address or file; UsageError where there is none."""
    where = address or str(scheduler_file)
    if scheduler_file is not None and not scheduler_file.is_file():  # Dask would wait for it
        raise UsageError(
            "there is no Dask scheduler here (its file does not exist)",
            where=where,
            next_step="Start one with 'dask scheduler --scheduler-file FILE' (docs/many-machines.md).",
        )
    try:
        given: dict[str, Any] = {"address": address} if address else {"scheduler_file": str(scheduler_file)}
        client: Client = Client(**given, timeout=_CONNECT, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError(
            f"there is no Dask scheduler here ({error})",
            where=where,
            next_step="Start one with 'dask scheduler', and workers with 'dask worker' (docs/many-machines.md).",
        ) from error
    with client:
        yield Cluster(client=client, where=where, shared=shared, engine_path=engine_path, say=say)


@dataclass(kw_only=True)
class Cluster:
    """`runs.machines.Machines` on a Dask cluster."""

    client: Client
    where: str
    engine_path: Path
    shared: Path | None
    say: Callable[[str], None]
    _lock: threading.Lock = field(default_factory=threading.Lock)
    #: For each target library: this machine's facts, and the workers that are fit, with their threads.
    _facts: dict[str, Facts] = field(default_factory=dict)
    _asked: dict[str, dict[str, int]] = field(default_factory=dict)

    def explored(self, exploring: Exploring) -> Sequence[Path]:
        """Has the chunks explored, and puts each result into the run's folder."""
        if exploring.folder is None:
            return ()  # what keeps nothing is too short for a cluster
        return _Exploration(self, exploring, exploring.folder).run()

    def resource(self, library: str) -> str:
        return f"powercut-{self._facts[library].digest[:16]}"

    def admit(self, library: str) -> int:
        """Asks the workers that have not been asked; the threads of those that are fit for this target."""
        with self._lock:
            if library not in self._facts:
                self._facts[library] = facts(self.engine_path, library)
            asked = self._asked.setdefault(library, {})
            workers: dict[str, Any] = self.client.scheduler_info(n_workers=-1)["workers"]
            new = [address for address in workers if address not in asked]
            answers = self.client.run(worker.fit, library, workers=new, on_error="return") if new else {}
            for address, answer in answers.items():
                if isinstance(answer, Facts):
                    why = difference(self._facts[library], answer)
                else:
                    why = f"it cannot explore: {answer}"
                asked[address] = 0 if why else int(workers[address]["nthreads"])
                if why:
                    self.say(f"powercut: worker {address} takes no part: {why}.")
            if fit := [address for address in answers if asked[address]]:
                self.client.run(_offer, self.resource(library), workers=fit, on_error="ignore")
            return sum(asked[address] for address in workers if address in asked)

    def halved(self, keys: set[str]) -> tuple[str, Range] | None:
        """Takes half of what the slowest of these tasks has left: that task's key, and the half."""
        slowest: tuple[float, str, str] | None = None
        for address, tasks in self.client.run(worker.left, on_error="ignore").items():
            for key, seconds in tasks.items():
                if key in keys and seconds >= _LEAST_SECONDS and (slowest is None or seconds > slowest[0]):
                    slowest = (seconds, address, key)
        if slowest is None:
            return None
        _, address, key = slowest
        taken = self.client.run(worker.halve, key, workers=[address], on_error="ignore").get(address)
        return (key, Range(*taken)) if taken is not None else None

    def scattered(self, content: bytes) -> "Future[bytes] | None":
        """In the memory of each worker; None where there is none any more.

        Which workers are there is the scheduler's to know: one that is named here may have died since.
        """
        try:
            scattered: Future[bytes] = self.client.scatter(content, broadcast=True, hash=True)
        except (OSError, TimeoutError):
            return None
        return scattered


class _Exploration:
    """The chunks of one run on the cluster: those under way, and those that are done."""

    def __init__(self, cluster: Cluster, exploring: Exploring, folder: Path) -> None:
        self._cluster, self._exploring, self._folder = cluster, exploring, folder
        self._listed = exploring.listed()
        self._pending: dict[Future[worker.Done], Range] = {}
        self._attempts: dict[Range, int] = {}
        self._files: list[Path] = []
        self._crash_points = 0
        self._heard = threading.Event()
        self._digest = ""
        self._trace: Future[bytes] | None = None

    def run(self) -> Sequence[Path]:
        done = self._earlier()
        slots = self._cluster.admit(self._listed.library)
        if not slots:
            raise UsageError(
                "no worker of the cluster can take part",
                where=self._cluster.where,
                next_step="The sentences above say why. Start workers with the same installation, at the same paths, "
                "on machines of one kind.",
            )
        self._bring_trace()
        for chunks in cut(self._listed, missing(len(self._listed.firsts), done), parts=slots * _RANGES_PER_SLOT):
            self._submit(chunks)
        looked = alive = time.monotonic()
        while self._pending:
            self._heard.wait(_LOOK / 4)
            self._heard.clear()
            if self._exploring.interrupt.requested:
                self._cancel()
                raise engine.Interrupted
            self._hear()
            if time.monotonic() - looked < _LOOK:
                continue
            looked = time.monotonic()
            if slots := self._cluster.admit(self._listed.library):
                alive = looked
                self._share_out(slots)
            elif looked - alive > _PATIENCE:
                self._say("has no fit worker any more; the rest is explored here")
                self._cancel()
                break
        return self._files

    def _submit(self, chunks: Range) -> None:
        attempt = self._attempts[chunks] = self._attempts.get(chunks, 0) + 1
        task = worker.Task(
            key=f"powercut-{key_of(self._listed.identity, chunks)}-{attempt}",
            chunks=chunks,
            digest=self._digest,
            words=tuple(self._exploring.words()[3:]),
            shared=str(self._cluster.shared or ""),
        )
        resources = {self._cluster.resource(self._listed.library): 1}
        future = self._cluster.client.submit(
            _explore, task, self._trace, key=task.key, resources=resources, retries=_ATTEMPTS
        )
        self._pending[future] = chunks
        future.add_done_callback(lambda _: self._heard.set())

    def _cancel(self) -> None:
        self._cluster.client.cancel(list(self._pending))

    def _hear(self) -> None:
        """Takes tasks that have ended; lost tasks are submitted again."""
        for future in [future for future in self._pending if future.status != "pending"]:
            chunks = self._pending.pop(future)
            result = _result(future)
            if result is not None:
                self._take(result, chunks)
            elif self._attempts[chunks] < _ATTEMPTS:
                self._bring_trace()  # it may have gone with the workers
                self._submit(chunks)
            else:
                self._say(f"lost chunks {chunks} {_ATTEMPTS} times; they are explored here")

    def _share_out(self, slots: int) -> None:
        """Gives threads that are idle half of what the slowest tasks have left."""
        for _ in range(slots - len(self._pending)):
            under_way = {str(future.key): future for future in self._pending}
            halved = self._cluster.halved(set(under_way))
            if halved is None:
                return
            key, part = halved
            self._pending[under_way[key]] = Range(self._pending[under_way[key]].first, part.first)
            self._submit(part)

    def _say(self, what: str) -> None:
        self._cluster.say(f"powercut: {self._exploring.name}: {self._cluster.where} {what}.")

    def _earlier(self) -> list[Range]:
        """The ranges that a run which is resumed has got; without --resume none, and they are removed."""
        folder = self._folder
        done = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for path in sorted(folder.glob("*.chunks")):
                numbers = path.stem.split("-")
                if not self._exploring.resume or len(numbers) != 3 or numbers[0] != _identity(self._listed):
                    path.unlink(missing_ok=True)
                    continue
                done.append(Range(int(numbers[1]), int(numbers[2])))
                self._files.append(path)
        except OSError as error:
            raise unwritable(folder, error) from error
        return done

    def _take(self, result: worker.Done, chunks: Range) -> None:
        """Takes the result of a task. Chunks that it lacks are explored here, where their troubles are told as ever."""
        count = 0
        while chunks.first + count < chunks.end and chunks.first + count in result.finished:
            count += 1
        if count:
            part = Range(chunks.first, chunks.first + count)
            path = self._folder / f"{_identity(self._listed)}-{part.first}-{part.end}.chunks"
            try:
                path.with_suffix(".part").write_bytes(result.packets)
                path.with_suffix(".part").replace(path)
            except OSError as error:
                raise unwritable(path, error) from error
            self._files.append(path)
            self._crash_points += crash_points(self._listed, part)
        for trouble in dict.fromkeys(result.troubles):
            self._cluster.say(f"powercut: {self._exploring.name}, chunks {chunks}: {trouble}")
        self._exploring.progressed(
            events.Progress(
                event="progress", crash_points=self._crash_points, of=self._listed.crash_points, crash_states="0"
            )
        )

    def _bring_trace(self) -> None:
        """Puts the trace where workers find it by its digest: in the shared folder, or in their memory."""
        content = self._exploring.trace.read_bytes()
        self._digest = self._digest or hashlib.sha256(content).hexdigest()
        shared = self._cluster.shared
        if shared is None:
            self._trace = self._cluster.scattered(content) or self._trace
            if self._trace is None:
                raise UsageError(
                    "no worker of the cluster takes the trace",
                    where=self._cluster.where,
                    next_step="Start workers again, or name a folder that they share with --shared.",
                )
            return
        try:
            shared.mkdir(parents=True, exist_ok=True)
            path = shared / worker.trace_name(self._digest)
            if not path.is_file():
                path.with_suffix(".part").write_bytes(content)
                path.with_suffix(".part").replace(path)
        except OSError as error:
            raise unwritable(shared, error) from error


def _identity(listed: events.Chunks) -> str:
    return key_of(listed.identity, Range(0, 0))[:16]


def _result(future: "Future[worker.Done]") -> worker.Done | None:
    """None where the task or the trace was lost with its workers."""
    if future.status != "finished":
        return None
    try:
        return future.result(timeout=_CONNECT)
    except Exception:  # of Dask, in whose words the loss of a result has several names
        return None


def _explore(task: worker.Task, trace: bytes | None) -> worker.Done:
    return worker.explore(task, trace, distributed.get_worker().local_directory)


async def _offer(resource: str, dask_worker: Worker) -> None:
    """In a worker: it takes tasks that ask for `resource`, one a thread."""
    await asyncio.sleep(0)
    await dask_worker.set_resources(**{resource: dask_worker.state.nthreads})
