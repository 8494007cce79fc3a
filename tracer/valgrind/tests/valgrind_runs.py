"""Programs built as they are and recorded under the Valgrind tool."""

import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.program import valgrind

PROGRAMS = Path(__file__).parent / "programs"
TIMEOUT = 60


@dataclass(frozen=True)
class Recording:
    """The results of a run."""

    status: int
    stderr: str
    trace: Path
    #: The `converted` event.
    converted: dict[str, Any]
    #: The trace's events in order, without the opening cut and phase.
    events: list[dict[str, Any]] = field(default_factory=list)
    stream: Path = Path()

    def lines(self, *kinds: str) -> list[str]:
        """Events of these kinds in short: "store 0 0100", "flush 64 clwb"."""
        return [short(event) for event in self.events if event["kind"] in kinds]


def short(event: dict[str, Any]) -> str:
    words = [
        event["kind"],
        *(str(event[key]) for key in ("offset", "bytes", "code", "text") if event.get(key, "") != ""),
    ]
    return " ".join(words)


def dump(trace: Path) -> list[dict[str, Any]]:
    answer = subprocess.run(
        [paths.engine(), "dump", "--trace", trace, "--format", "json"], check=True, stdout=subprocess.PIPE
    )
    return [event for line in answer.stdout.splitlines() if (event := json.loads(line))["event"] == "trace_event"]


def record(argv: Sequence[str | Path], folder: Path, *, pools: Sequence[Path] = (), loads: bool = False) -> Recording:
    """Runs a program under the tool and converts the stream that it wrote."""
    stream, trace = folder / "run.stream", folder / "run.pct"
    command, env = valgrind.command([str(word) for word in argv], stream=stream, pools=pools, loads=loads)
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    answer = subprocess.run(
        [paths.engine(), "convert", "--stream", stream, "--trace", trace], check=True, stdout=subprocess.PIPE
    )
    (converted,) = [event for line in answer.stdout.splitlines() if (event := json.loads(line))["event"] == "converted"]
    events = [event for event in dump(trace) if event["kind"] not in {"cut", "phase"}]
    return Recording(done.returncode, done.stderr, trace, converted, events, stream)


Build = Callable[..., Path]
