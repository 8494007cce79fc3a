"""A command on a Dask cluster ends as it does on one machine, whoever explores and whoever dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from powercut.base.exit_codes import ExitCode
from tests.machines.merging import COMMAND, MINIMAL, environment, left, powercut
from tests.real_engine import require_engine

pytest.importorskip("distributed", reason="distributed: the extra powercut[dask] is not installed")

_PATIENCE = 90


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[tuple[Path, list[subprocess.Popen[bytes]]]]:
    """A scheduler and workers, each a process without a nanny, so that what is killed stays dead."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment()}
    python = [sys.executable, "-m"]
    started = []
    try:
        scheduler = [*python, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        started.append(subprocess.Popen([*scheduler, "--scheduler-file", str(file)], **quiet))
        for index in range(workers):
            worker = [*python, "distributed.cli.dask_worker", "--scheduler-file", str(file), "--no-nanny"]
            worker += ["--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1"]
            worker += ["--local-directory", str(folder / f"worker{index}")]
            started.append(subprocess.Popen(worker, **quiet))
        deadline = time.monotonic() + _PATIENCE
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        _wait_for(file, workers)
        yield file, started[1:]
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def _wait_for(file: Path, workers: int) -> None:
    from distributed import Client

    with Client(scheduler_file=str(file), timeout=_PATIENCE, set_as_default=False) as client:
        client.wait_for_workers(workers, timeout=_PATIENCE)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Files that the command leaves on one machine."""
    require_engine()
    folder = tmp_path_factory.mktemp("whole")
    done = powercut(folder, *COMMAND, *MINIMAL)
    assert done.returncode == ExitCode.FINDINGS, done.stderr
    return left(folder, done)


@pytest.mark.slow
def test_a_worker_explores_what_the_engine_would(whole: dict[str, str], tmp_path: Path) -> None:
    with cluster(tmp_path / "cluster", 1) as (file, _):
        done = powercut(tmp_path / "here", *COMMAND, *MINIMAL, "--scheduler-file", str(file))
    assert left(tmp_path / "here", done) == whole, done.stderr
    (record,) = (tmp_path / "here" / ".powercut" / "runs").glob("*.json")
    assert json.loads(record.read_text(encoding="utf-8"))["stats"]["run"].get("fork", 0.0) == 0


@pytest.mark.long
@pytest.mark.parametrize("shared", [False, True])
def test_three_workers_and_a_shared_folder(whole: dict[str, str], tmp_path: Path, shared: bool) -> None:
    options = ["--shared", str(tmp_path / "shared")] if shared else []
    with cluster(tmp_path / "cluster", 3) as (file, _):
        done = powercut(tmp_path / "here", *COMMAND, *MINIMAL, "--scheduler-file", str(file), *options)
    assert left(tmp_path / "here", done) == whole, done.stderr
    assert bool(list(tmp_path.glob("shared/*.pct"))) == shared


@pytest.mark.long
def test_two_workers_are_killed_on_the_way(tmp_path: Path) -> None:
    require_engine()
    command = ["run", "level:hardened", "--scenario", "ycsb-a-10k", "--chunk-events", "3000", *MINIMAL]
    alone = powercut(tmp_path / "alone", *command)
    expected = left(tmp_path / "alone", alone)
    with cluster(tmp_path / "cluster", 3) as (file, workers):
        here = tmp_path / "here"
        here.mkdir()
        words = [sys.executable, "-m", "powercut", *command, "--scheduler-file", str(file)]
        with subprocess.Popen(
            words, cwd=here, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as running:
            for index, worker in enumerate(workers[:2]):
                deadline = time.monotonic() + _PATIENCE
                while not list((tmp_path / "cluster").glob(f"worker{index}/**/powercut-range.*")):
                    if running.poll() is not None or time.monotonic() > deadline:
                        pytest.fail(f"worker {index} has explored nothing: {running.communicate()}")
                    time.sleep(0.02)
                os.kill(worker.pid, signal.SIGKILL)
            out, err = running.communicate(timeout=600)
    done = subprocess.CompletedProcess(words, running.returncode, out, err)
    assert left(here, done) == expected, err


@pytest.mark.long
def test_a_worker_of_another_build_takes_no_part(whole: dict[str, str], tmp_path: Path) -> None:
    with cluster(tmp_path / "cluster", 1) as (file, workers):
        odd = tmp_path / "cpuinfo.py"
        odd.write_text(
            "from powercut.machines import fitness\n"
            "fitness.cpu_features = lambda: ('sse9',)\n"
            "fitness.facts.__globals__['cpu_features'] = fitness.cpu_features\n"
            "def dask_setup(worker):\n    pass\n",
            encoding="utf-8",
        )
        words = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(file), "--no-nanny"]
        words += ["--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1", "--preload", str(odd)]
        stranger = subprocess.Popen(
            words,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(),
        )
        try:
            _wait_for(file, 2)
            done = powercut(tmp_path / "here", *COMMAND, *MINIMAL, "--scheduler-file", str(file))
            assert left(tmp_path / "here", done) == whole, done.stderr
            assert "takes no part: its CPU lacks" in done.stderr
            for worker in workers:
                worker.kill()
            nobody = powercut(tmp_path / "nobody", *COMMAND, *MINIMAL, "--scheduler-file", str(file))
            assert nobody.returncode == ExitCode.USAGE
            assert "no worker of the cluster can take part" in nobody.stderr
        finally:
            stranger.kill()
            stranger.wait()


def test_without_a_scheduler_it_is_a_mistake_in_the_request(tmp_path: Path) -> None:
    require_engine()
    (tmp_path / "none.json").write_text('{"address": "tcp://127.0.0.1:9"}', encoding="utf-8")
    done = powercut(tmp_path, *COMMAND, "--scheduler-file", str(tmp_path / "missing.json"))
    assert done.returncode == ExitCode.USAGE
    assert "Traceback" not in done.stderr and "no Dask scheduler here" in done.stderr
