"""An engine process that answers requests, a line of JSON each: the other side of every comparison with brute force."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self


class EngineLines:
    """Asks one process request by request, so that a failing example can be shrunk."""

    def __init__(self, executable: Path, *command: str) -> None:
        words = [str(executable), *command]
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.communicate(timeout=10)

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to any request; `{"error": …}` where the engine refuses it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            _, errors = self._process.communicate(timeout=10)
            raise RuntimeError(f"the engine stopped (status {self._process.returncode}): {errors.strip()}")
        answer: dict[str, Any] = json.loads(line)
        return answer
