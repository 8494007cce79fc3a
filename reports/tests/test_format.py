"""Numbers: exact where they can be, honest where they are rounded."""

import pytest

from powercut_reports import format as fmt


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (999, "999"), (1000, "1,000"), ("18446744073709551616", "18,446,744,073,709,551,616"), ("007", "7"),
     (None, "unknown"), ("many", "unknown"), (True, "unknown"), (-1, "unknown")],
)  # fmt: skip
def test_grouped(value: object, text: str) -> None:
    assert fmt.grouped(value) == text  # type: ignore[arg-type]  # bad values are the point


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1234567", ""),
        ("12345678", "≈ 1.2 × 10^7"),
        ("99600000", "≈ 1.0 × 10^8"),
        ("1" + "0" * 5000, "≈ 1.0 × 10^5000"),
    ],
)
def test_magnitude(value: str, text: str) -> None:
    assert fmt.magnitude(value) == text


@pytest.mark.parametrize(
    ("covered", "total", "text"),
    [("1", "8", "12.5 %"), ("7", "7", "100 %"), ("0", "7", "0 %"), ("1", "1000000", "< 0.01 %"),
     ("999999", "1000000", "> 99.99 %"), ("9" * 5000, "1" + "0" * 5000, "> 99.99 %"),
     ("1", "1" + "0" * 5000, "< 0.01 %"), ("1", None, "an unknown share"), ("0", "0", "an unknown share")],
)  # fmt: skip
def test_percent_never_rounds_to_all_or_nothing(covered: str, total: str | None, text: str) -> None:
    assert fmt.percent(covered, total) == text


def test_plural_and_seconds() -> None:
    assert [fmt.plural(n, "leaf", "leaves") for n in (0, 1, 2000)] == ["0 leaves", "1 leaf", "2,000 leaves"]
    assert [fmt.seconds(s) for s in (0.0421, 4.71, 125.2, None)] == ["42 ms", "4.7 s", "2 min 5 s", "unknown"]


def test_printable_keeps_words_and_spells_out_what_steers() -> None:
    assert fmt.printable("größe 0x2a… ✓") == "größe 0x2a… ✓"
    assert fmt.printable("a\tb\nc\x1b[0m\u202ed\udc80") == r"a b c\x1b[0m\u202ed\udc80"
