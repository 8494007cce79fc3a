"""Evidence that findings are one bug: which store each blames, its cause, and the check that two share a cause."""

from pathlib import Path
from typing import Any

import pytest

from powercut.cause import shared_cause
from powercut.cause.images import VISIBLE, Answer, Image, Judge
from powercut.findings import bugs
from powercut_records.finding import FindingRecord
from reports.tests.typed import finding_of


def identity(text: str) -> dict[str, Any]:
    return {"file": "a.cc", "function": "f", "text": text, "ordinal": 0, "by": "source"}


def store(text: str, fate: str = "lost", *, event: int = 1, **fields: Any) -> dict[str, Any]:
    place = {"identity": identity(text), "site": f"a.cc:{len(text)}", "offset": 64, "decisive": True}
    return {"fate": fate, "event": event, **place, **fields}


def finding(*stores: dict[str, Any], **fields: Any) -> FindingRecord:
    made = {"invariant": "lost-item", "target": "t", "variant": "v", "operation": {"kind": "insert"}}
    return finding_of({**made, "fingerprint": "f", "stores": stores, **fields})


def settled(*records: FindingRecord) -> list[FindingRecord]:
    bugs.settle(records)
    return list(records)


def test_the_lost_store_is_blamed_and_not_a_lock_that_persisted() -> None:
    (found,) = settled(finding(store("lock=0", "persisted", event=9), store("slot=v", "torn"), store("value=v")))
    assert (found["lost_site"], found["store_site"]) == ("a.cc:7", "a.cc:6")
    assert found["blamed"] == "a.cc f value=v #0"


def test_a_store_that_most_findings_share_ranks_last() -> None:
    header = store("magic=1", event=5)
    found = settled(finding(header, store("one=1")), finding(header, store("two=2")), finding(header))
    assert [item["blamed"] for item in found] == ["a.cc f one=1 #0", "a.cc f two=2 #0", "a.cc f magic=1 #0"]
    assert found[0]["lost_site"] == "a.cc:5"


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (finding(store("slot=v"), invariant="torn-value"), True),  # the same class
        (finding(store("slot=v"), operation={"kind": "erase"}), True),
        (finding(store("slot=v"), invariant="not-idempotent", underlying="stale-value"), True),
        (finding(store("slot=v"), invariant="recovery-failed"), False),
        (finding(store("slot=w")), False),
        (finding(store("slot=v"), variant="w"), False),
        (finding(store("slot=v"), needs_power_cut=False), False),
    ],
)
def test_findings_that_blame_one_store_are_provisionally_one_bug(other: FindingRecord, *, same: bool) -> None:
    first, second = settled(finding(store("slot=v"), needs_power_cut=True), other)
    assert (first["bug"]["store"] == second["bug"]["store"]) is same
    assert not first.bug.cause


def cause(first: str, second: str | None = "token=1", kind: str = "order") -> dict[str, Any]:
    places = [{"role": "store", "identity": identity(text)} if text else None for text in (first, second)]
    return {"kind": kind, "first": places[0], "second": places[1]}


def test_the_cause_is_named_by_its_kind_and_its_places() -> None:
    causes = [cause("value=v"), cause("value=w"), cause("value=v", "x"), cause("value=v", kind="atomicity"), None]
    keys = [bugs.bug_keys(finding(cause=item)).cause for item in causes]
    assert not keys[-1]
    assert len(set(keys)) == len(keys)
    again = bugs.bug_keys(finding(store("other"), invariant="unusable", cause=cause("value=v")))
    assert again["cause"] == keys[0]
    assert not bugs.bug_keys(finding(cause=cause("value=v", kind="unexplained"))).cause


SYMPTOM = ("lost-item", "lookup(1)", "")


@pytest.mark.parametrize(
    ("now", "text", "given"),
    [
        (frozenset(), "value=v", True),
        (frozenset({SYMPTOM}), "value=v", False),  # still wrong with B there
        (frozenset(), "value=w", False),  # it has not lost B
    ],
)
def test_a_cause_is_shared_after_a_check(
    now: frozenset[Any], text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, given: bool
) -> None:
    asked: list[Image] = []

    def ask(self: Judge, images: list[Image]) -> list[Answer]:
        asked.extend(images)
        at = {"legal": True, "crash_point": 3, "event": 4, "when": "before sfence"}
        return [Answer(symptoms=symptoms, **at) for symptoms in (frozenset({SYMPTOM}), now)]  # type: ignore[arg-type]

    monkeypatch.setattr(Judge, "ask", ask)
    trace = tmp_path / "t.pct"
    trace.touch()
    image = [{"offset": 64, "bytes": "00" * 64, "visible": "01" * 64, "floor": "00" * 64, "decided": True}]
    here = {"index": 3, "event": 4, "when": "before sfence", "depth": 0}
    found = finding(
        store(text), trace=str(trace), image=image, nested_image=[], crash_point=here, query={"text": "lookup(1)"},
        engine={"model": "adr", "atoms": "any"}, found="absent", fault=None,
    )  # fmt: skip
    other = finding(fingerprint="rep", cause={**cause("value=v"), "recheck": {"held": True}})
    answer = shared_cause.shared(found, other, engine_path=Path("engine"))
    assert (answer is not None) is given
    if answer is not None:
        assert (answer["shared_with"], answer["recheck"]) == ("rep", None)
        assert asked[1].level.lines[64] == VISIBLE
    other.cause.kind = "recovery"  # no single store to bring back
    assert shared_cause.shared(found, other, engine_path=Path("engine")) is None
