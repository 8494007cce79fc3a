"""Results of the instructions of `programs/straight/operands.h`: the register's new value, with the flags in it, and
the bytes in memory."""

from __future__ import annotations

from random import Random

#: By number: eight of each operation, by size and direction, and single ones behind them.
_BY_SIZE = ("mov", "add", "sub", "and", "or", "xor", "cmp", "test")
#: Loads that widen: with the sign or without, from so many bytes to so many.
_WIDEN = tuple((False, small, large) for small, large in ((1, 2), (1, 4), (1, 8), (2, 4), (2, 8)))
_WIDEN += tuple((True, small, large) for small, large in ((1, 2), (1, 4), (1, 8), (2, 4), (2, 8), (4, 8)))
#: An operation on memory and a constant, and the size.
_CONSTANTS = (
    ("cmp", -3, 8),
    ("add", -1, 4),
    ("test", 0x81, 1),
    ("mov", -2, 8),
    ("sub", 0x1234, 2),
    ("or", 0x40, 1),
)
_FIRST_WIDEN = 8 * len(_BY_SIZE)
_FIRST_CONSTANT = _FIRST_WIDEN + len(_WIDEN)
_FIRST_OTHER = _FIRST_CONSTANT + len(_CONSTANTS)
_OTHERS = ("inc", "not", "imul", "shl", "xadd", "rol", "neg")
_SIZES_OF_OTHERS = (1, 4, 8, 8, 8, 2, 2)
OPERATIONS = _FIRST_OTHER + len(_OTHERS)

_SIGN, _ZERO, _PARITY, _OVERFLOW, _CARRY = 0x80, 0x40, 0x04, 0x02, 0x01
_BEFORE = _ZERO | _PARITY  # what an exclusive or of a register with itself leaves


def draw(random: Random) -> int:
    return random.randrange(OPERATIONS)


def operated(number: int, value: int, pool: bytearray, at: int) -> int:
    """Performs the instruction; the register's value, with the flags in it."""
    flags = _BEFORE
    if number < _FIRST_WIDEN:
        name, to_memory, size = _BY_SIZE[number // 8], number % 8 >= 4, 1 << number % 4
        there, register = _load(pool, at, size), _cut(value, size)
        left, right = (there, register) if to_memory else (register, there)
        result, flags = _operate(name, left, right, size)
        if name not in ("cmp", "test"):
            if to_memory:
                _store(pool, at, result, size)
            else:
                value = _into(value, result, size)
    elif number < _FIRST_CONSTANT:
        signed, small, large = _WIDEN[number - _FIRST_WIDEN]
        there = int.from_bytes(pool[at : at + small], "little", signed=signed)
        value = _into(value, _cut(there, large), large)
    elif number < _FIRST_OTHER:
        name, constant, size = _CONSTANTS[number - _FIRST_CONSTANT]
        result, flags = _operate(name, _load(pool, at, size), _cut(constant, size), size)
        if name not in ("cmp", "test"):
            _store(pool, at, result, size)
    else:
        return _other(number - _FIRST_OTHER, value, pool, at)
    return value ^ flags << 48


def _other(number: int, value: int, pool: bytearray, at: int) -> int:
    name, size = _OTHERS[number], _SIZES_OF_OTHERS[number]
    there = _load(pool, at, size)
    if name == "imul":
        return _cut(value * there, size)
    after = {
        "inc": there + 1,
        "not": ~there,
        "shl": there << 3,
        "xadd": there + value,
        "rol": there << 5 | there >> 11,
        "neg": -there,
    }[name]
    _store(pool, at, after, size)
    return there if name == "xadd" else value


def _operate(name: str, left: int, right: int, size: int) -> tuple[int, int]:
    """Combines two values, and computes the flags."""
    if name == "mov":
        return right, _BEFORE
    whole = {
        "add": left + right,
        "sub": left - right,
        "cmp": left - right,
        "and": left & right,
        "test": left & right,
        "or": left | right,
        "xor": left ^ right,
    }[name]
    result, top = _cut(whole, size), 1 << 8 * size - 1
    flags = (_SIGN if result & top else 0) | (0 if result else _ZERO)
    flags |= 0 if (result & 0xFF).bit_count() % 2 else _PARITY
    if name in ("add", "sub", "cmp"):
        flags |= _CARRY if whole != result else 0
        other = right if name == "add" else ~right
        flags |= _OVERFLOW if ~(left ^ other) & (left ^ result) & top else 0
    return result, flags


def _cut(value: int, size: int) -> int:
    return value & (1 << 8 * size) - 1


def _into(value: int, part: int, size: int) -> int:
    """A half of a register leaves zeroes above it; less leaves what was there."""
    return part if size >= 4 else value & ~((1 << 8 * size) - 1) | part


def _load(pool: bytearray, at: int, size: int) -> int:
    return int.from_bytes(pool[at : at + size], "little")


def _store(pool: bytearray, at: int, value: int, size: int) -> None:
    pool[at : at + size] = _cut(value, size).to_bytes(size, "little")
