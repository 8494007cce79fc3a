"""The switches of a file system's profile: the values of each, and the meaning of each value in one line.

`replayer/media/files/PROFILES.md` has the whole model. A test demands that the page tells every switch and value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Switches:
    """The value of every switch."""

    order: str
    rename: str
    new_inode: str
    overwrite: str
    size: str
    stale: str
    replace: str
    fsync: str
    fdatasync: str
    fsync_folder: str
    range: str
    sync: str
    new_name: str


@dataclass(frozen=True, slots=True)
class Choice:
    """A switch: the question that it answers, and its values with their meanings."""

    asks: str
    values: Mapping[str, str]


CHOICES: Mapping[str, Choice] = {
    "order": Choice(
        "Which operations on names and which truncations may be on disk?",
        {
            "any": "any set of them",
            "one": "a prefix: the journal has one order",
            "synced": "a prefix, and beside it the entries that a sync made durable",
        },
    ),
    "rename": Choice(
        "Are the two entries of a rename on disk together?",
        {
            "atomic": "both entries change together",
            "new-first": "a sync of the new folder may bring the new name alone, and both names are there",
            "split": "each entry changes by itself: both names, or none",
        },
    ),
    "new_inode": Choice(
        "Is a new inode on disk when its name is?",
        {"whole": "a name leads to its inode", "apart": "a name may lead to a bad inode"},
    ),
    "overwrite": Choice(
        "What of one write call is on disk together?",
        {"sector": "each sector by itself", "call": "all sectors of one call, or none"},
    ),
    "size": Choice(
        "Which data are on disk when the size that a write brought is?",
        {
            "alone": "none: zeroes may show",
            "last": "the last sector below the size: zeroes show only before written data",
            "all": "all data that extended the file up to the size",
        },
    ),
    "stale": Choice(
        "What may a new block show before its data are on disk?",
        {"zeroes": "zeroes", "garbage": "zeroes, or anything: another file's old data"},
    ),
    "replace": Choice(
        "What of a file is on disk when its rename over another file is?",
        {"nothing": "nothing", "size": "its size", "data": "its size and its data"},
    ),
    "fsync": Choice(
        "What does fsync of a file make durable beside its data and size?",
        {
            "file": "nothing",
            "names": "all its names, and the first name of each new parent",
            "journal": "all operations before the last change of its inode",
        },
    ),
    "fdatasync": Choice(
        "What does fdatasync of a file make durable beside its data and size?",
        {
            "file": "nothing",
            "new-name": "the first name of a new file, and of each new parent",
            "journal": "all operations before the last change of its size or its blocks",
        },
    ),
    "fsync_folder": Choice(
        "What does fsync of a folder make durable?",
        {"entries": "its entries", "journal": "all operations before the last change of its entries or its names"},
    ),
    "range": Choice(
        "Which data do msync and a write through O_DSYNC make durable?",
        {"range": "those of its range", "file": "those of the file"},
    ),
    "sync": Choice(
        "What do sync and syncfs make durable?",
        {
            "all": "everything",
            "names": "operations and sizes; data may still lie in the disk's cache",
            "nothing": "nothing: they may return before",
        },
    ),
    "new_name": Choice(
        "May a new name of a file that was synced before overtake other operations?",
        {
            "waits": "no, until a sync makes it durable",
            "overtakes": "yes: with any later sync, or by itself",
        },
    ),
}
