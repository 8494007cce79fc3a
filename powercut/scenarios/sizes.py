"""Sizes of keys and of values: one for the whole run, or a range that each key and each value draws its own size from
(scenarios/SCHEMA.md)."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from pydantic import BeforeValidator

#: The longest key and the longest value of any scenario, in bytes.
MOST_KEY_BYTES, MOST_BYTES = 4096, 65536
#: Bytes of a key or of a value: one number for the whole run, or the least and the most.
Size = int | tuple[int, int]
#: The sizes of keys and of values.
Sizes = tuple[Size, Size]


def ends(size: Size) -> tuple[int, int]:
    """The least and the most bytes of a size."""
    return size if isinstance(size, tuple) else (size, size)


def is_range(size: Size) -> bool:
    """True if keys, or values, of this size differ in their bytes."""
    return isinstance(size, tuple)


def are_mixed(sizes: Sizes) -> bool:
    """True if keys or values differ in their sizes."""
    return any(map(is_range, sizes))


def in_plan(size: Size) -> int | list[int]:
    """A size as a plan (JSON) has it."""
    return list(size) if isinstance(size, tuple) else size


def of_plan(size: int | Sequence[int]) -> Size:
    """The size that a plan has: the inverse of `in_plan`."""
    return size if isinstance(size, int) else (size[0], size[1])


def _size(value: Any, *, least: int, drawn: int, most: int) -> object:
    """A size of at least `least` bytes, or a range that begins at `drawn` bytes or later; ValueError for neither."""
    numbers = list(value) if isinstance(value, list | tuple) else [value]
    are_numbers = all(isinstance(number, int) and not isinstance(number, bool) for number in numbers)
    if not are_numbers or len(numbers) > 2 or (len(numbers) < 2 and isinstance(value, list | tuple)):
        raise ValueError(f"{value!r} is no size; write bytes, or the least and the most bytes, such as [8, 64]")
    lowest = least if len(numbers) == 1 else drawn
    for number in numbers:
        if not lowest <= number <= most:
            raise ValueError(f"{number} bytes; a size here has {lowest} to {most}")
    if numbers[0] > numbers[-1]:
        raise ValueError(f"the least size, {numbers[0]}, is above the most, {numbers[1]}")
    return value if len(numbers) == 1 else tuple(numbers)


#: Two key ids, or two value serials, could coincide in fewer than 8 bytes. A range of values may begin lower: of two
#: short values that coincide, either is right in the other's place.
KeySize = Annotated[Size, BeforeValidator(partial(_size, least=8, drawn=8, most=MOST_KEY_BYTES))]
ValueSize = Annotated[Size, BeforeValidator(partial(_size, least=8, drawn=1, most=MOST_BYTES))]
