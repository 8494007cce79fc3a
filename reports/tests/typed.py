"""Records of the tests, which are JSON, as the reports take them."""

from collections.abc import Iterable, Mapping
from typing import Any

from powercut_records.finding import FindingRecord
from powercut_records.run import RunRecord


def run_of(raw: Mapping[str, Any]) -> RunRecord:
    return RunRecord.model_validate(raw)


def runs_of(raw: Iterable[Mapping[str, Any]]) -> list[RunRecord]:
    return [run_of(each) for each in raw]


def finding_of(raw: Mapping[str, Any]) -> FindingRecord:
    return FindingRecord.model_validate(raw)


def findings_of(raw: Iterable[Mapping[str, Any]]) -> list[FindingRecord]:
    return [finding_of(each) for each in raw]
