"""`powercut-engine judge` knows the models of every medium."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.engine import engine, events
from powercut.scenarios import catalog
from tests.real_engine import Subject, record

pytestmark = pytest.mark.usefixtures("real_engine")


def judged(trace: Path, model: str) -> list[events.Judged]:
    file = trace.with_suffix(".requests")
    file.write_text(json.dumps({"id": 1, "crash_point": 0, "rest": "visible", "lines": [], "nested": []}) + "\n")
    given = ["judge", "--trace", str(trace), "--requests", str(file), "--model", model]
    return [event for event, _ in engine.stream(paths.engine(), given) if isinstance(event, events.Judged)]


@pytest.mark.parametrize(("target", "model"), [("nor_log", "nor"), ("level", "adr"), ("level", "eadr")])
def test_an_image_is_judged_under_the_model_of_its_medium(target: str, model: str, tmp_path: Path) -> None:
    item = min(catalog.core(target), key=lambda one: one.name != "map_update")
    trace = record(Subject(scenario=item, target=target, variant="hardened"), tmp_path)
    assert len(judged(trace, model)) == 1
    with pytest.raises(UsageError, match="unknown model 'tape'"):
        judged(trace, "tape")
