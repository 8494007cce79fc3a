"""Requests to the worker of a guardian, and its answers, as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Start:
    """How the program runs, and what is done with each image; the first request."""

    folder: str  # the judged one
    start: str  # a copy of the folder as the program begins with it
    cwd: str
    command: list[str]
    driver: list[str] = field(default_factory=list)  # its output feeds the command
    engine: str
    environment: dict[str, str]
    timeout: float  # seconds of the command
    commands: list[tuple[str, list[str]]]  # with the names of their steps, in the order in which they run
    seconds: float  # that each of them may take
    record: dict[str, Any]  # the finding


@dataclass(frozen=True, kw_only=True)
class Run:
    """One more run of the program, and its images."""

    number: int
    images: int
    within: float  # seconds


@dataclass(kw_only=True)
class Looked:
    """The answer to a run."""

    images: int = 0
    refused: int = 0  # images that the kernel did not mount
    reproduced: int = 0  # the number of the image that failed as the finding; 0: none did
    calls: int = 0  # of the program on the folder
    error: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)
