"""Makes `replayer.reference` importable and keeps one engine process for all tests of this folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from powercut.base import paths
from powercut.base.errors import PowercutError
from replayer.tests.engine import EngineModel


@pytest.fixture(scope="session")
def engine_model() -> Iterator[EngineModel]:
    try:
        executable = paths.engine()
    except PowercutError as error:
        pytest.skip(f"powercut-engine: {error.paragraph()}")
    with EngineModel(executable) as model:
        yield model
