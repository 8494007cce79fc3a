"""Figures at their papers' size: what a run keeps, and what nobody has run."""

import datetime
from pathlib import Path
from typing import Any

import pytest

from powercut import __version__
from powercut.cost import paper_size

ROOT = Path(__file__).resolve().parents[2]


def row(scheme: str, figure: str, measured: float, *, depends_on_size: bool = True) -> dict[str, Any]:
    return {
        "scheme": scheme, "figure": figure, "paper": "> 0.90", "measured": measured, "unit": "items/slots",
        "reproduced": measured > 0.9, "note": "", "depends_on_size": depends_on_size,
    }  # fmt: skip


def test_a_run_takes_the_place_of_the_last_one_of_its_schemes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper_size, "FILE", tmp_path / "kept.json")
    assert paper_size.load() == []
    assert not paper_size.keep([row("level", "erase", 1.0, depends_on_size=False)])
    assert not paper_size.FILE.exists(), "nothing depends on the size"
    assert paper_size.keep([row("path", "4.2.1", 0.95)])
    assert paper_size.keep([row("level", "Fig. 8", 0.95), row("level", "Fig. 9", 0.95)])
    assert paper_size.keep([row("level", "Fig. 8", 0.85)])
    assert [(item.scheme, item.figure, item.measured) for item in paper_size.load()] == [
        ("level", "Fig. 8", 0.85),
        ("path", "4.2.1", 0.95),
    ]
    small = [row("level", name, 0.5) for name in ("Fig. 8", "Fig. 9")] + [row("level", "x", 1, depends_on_size=False)]
    shown = paper_size.beside(small)
    assert [(item["figure"], item["measured"], item["reproduced"]) for item in shown] == [
        ("Fig. 8", 0.85, False),
        ("Fig. 9", None, None),
    ]
    assert shown[0]["powercut"] == __version__
    assert datetime.date.fromisoformat(shown[0]["date"]) <= datetime.date.today()
    assert shown[1]["date"] is None


def test_what_is_kept_says_when_it_was_run_and_has_a_verdict() -> None:
    kept = paper_size.load()
    assert kept
    for item in kept:
        assert item.date and datetime.date.fromisoformat(item.date) <= datetime.date.today(), item.figure
        assert item.powercut and item.paper is not None and item.reproduced is not None, item.figure
    places = [(item.scheme, item.figure) for item in kept]
    assert len(set(places)) == len(places)


def test_nothing_runs_at_the_papers_size_by_itself() -> None:
    runners = [ROOT / "Makefile", *sorted((ROOT / ".ci").iterdir()), *sorted((ROOT / "tools").rglob("*.*"))]
    for path in runners:
        if path.suffix not in (".pyc", ".png"):
            assert "--paper-size" not in path.read_text(encoding="utf-8", errors="replace"), path
