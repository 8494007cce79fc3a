"""The machine that figures were measured on."""

import os
import platform
from pathlib import Path


def cpu_model() -> str:
    """The processor's name."""
    return _named("/proc/cpuinfo", "model name") or platform.machine()


def sentence() -> str:
    """Processor, cores, memory, kernel."""
    memory = (_named("/proc/meminfo", "MemTotal") or "0 kB").split()[0]
    cores = len(os.sched_getaffinity(0))
    return f"{cpu_model()}, {cores} cores, {int(memory) >> 20} GiB, {platform.system()} {platform.release()}"


def _named(path: str, name: str) -> str | None:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), None)
