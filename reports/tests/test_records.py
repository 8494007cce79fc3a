"""The schema of run records and finding records: what is read is written, and RUN.md names the same fields."""

import json
import lzma
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from powercut_records.base import changed, first_error, without
from powercut_records.finding import FindingRecord, Operation
from powercut_records.run import RunRecord

RUN_PAGE = Path(__file__).resolve().parents[2] / "checker" / "RUN.md"


def test_what_was_read_is_written_and_nothing_else(explained: dict[str, Any]) -> None:
    record = FindingRecord.model_validate(explained)
    assert record.as_json() == explained
    assert FindingRecord.model_validate({}).as_json() == {}


def test_real_findings_come_back_as_they_were(data: Path) -> None:
    content = json.loads(lzma.decompress((data / "real_findings.json.xz").read_bytes()))
    found = [item for run in content for item in run["findings"]] if "findings" in content[0] else content
    assert found
    for raw in found:
        assert FindingRecord.model_validate(raw).as_json() == raw


def test_a_field_of_a_newer_version_is_kept() -> None:
    assert FindingRecord.model_validate({"message": "m", "novelty": [1]}).as_json() == {"message": "m", "novelty": [1]}


def test_null_and_absent_are_told_apart() -> None:
    record = FindingRecord.model_validate({"store_site": None, "fault": None})
    assert (record.store_site, record.lost_site) == ("", "")
    assert record.as_json() == {"store_site": None, "fault": None}
    record.lost_site = "a.cc:1"
    assert record.as_json() == {"store_site": None, "fault": None, "lost_site": "a.cc:1"}


def test_copies_leave_the_record_alone() -> None:
    record = FindingRecord.model_validate({"message": "m", "plan": {"seed": 1}, "novelty": 1})
    assert changed(record, message="n").as_json() == {"message": "n", "plan": {"seed": 1}, "novelty": 1}
    assert without(record, "plan", "cause").as_json() == {"message": "m", "novelty": 1}
    assert record.as_json() == {"message": "m", "plan": {"seed": 1}, "novelty": 1}


def test_defaults_are_not_shared() -> None:
    first, second = FindingRecord(), FindingRecord()
    first.operation.kind = "insert"
    assert second.operation == Operation()
    assert first.stores is not second.stores


def test_a_wrong_type_is_named() -> None:
    with pytest.raises(ValidationError) as caught:
        RunRecord.model_validate({"findings": [{"stores": {"a": 1}}]})
    assert first_error(caught.value).startswith("findings.0.stores: ")


def test_records_are_read_by_name_as_well() -> None:
    record = FindingRecord.model_validate({"operation": {"kind": "insert"}, "novelty": 3})
    assert (record["operation"]["kind"], record["novelty"], record["lost_site"]) == ("insert", 3, "")
    with pytest.raises(KeyError, match="kind"):
        record["kind"]


def test_the_page_names_the_fields_of_a_run() -> None:
    """The block of RUN.md is no JSON of a record, but its keys on the outermost level are those of one."""
    block = RUN_PAGE.read_text(encoding="utf-8").partition("## Run record\n```json\n")[2].partition("```")[0]
    depth, named = 0, set()
    for token in re.findall(r'"(?:[^"\\]|\\.)*"\s*:|"(?:[^"\\]|\\.)*"|[\[{}\]]', block):
        if token.endswith(":") and depth == 1:
            named.add(token.rstrip(": ").strip('"'))
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token, 0)
    assert named == set(RunRecord.model_fields)
