"""A benchmark that is a program of its own: starts it and reads the JSON object that it prints."""

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from powercut.base import paths
from powercut.base.errors import HarnessError


def run(name: str, arguments: Sequence[str]) -> dict[str, Any]:
    """Returns the measurements of `build/bin/<name>`; HarnessError when it fails."""
    program = paths.tool(name)
    ran = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        said = ran.stderr.strip() or f"it ended with {ran.returncode} and said nothing"
        raise HarnessError(f"the benchmark failed: {said}", where=str(program), next_step=paths.BUILD_STEP)
    costs: dict[str, Any] = json.loads(ran.stdout)
    return costs
