"""Reads the JSON of records without trust: a field that is missing or of another type becomes an empty value.

A report of an interrupted run, or of a newer engine, must still be readable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Raw = Mapping[str, Any]


def as_text(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else str(value)


def as_int(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value


def as_float(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def as_dict(value: object) -> Raw:
    return value if isinstance(value, Mapping) else {}


def as_list(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def as_dicts(value: object) -> list[Raw]:
    return [item for item in as_list(value) if isinstance(item, Mapping)]


def as_texts(value: object) -> tuple[str, ...]:
    return tuple(as_text(item) for item in as_list(value))
