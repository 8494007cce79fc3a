"""The words of a report with their definitions: those of docs/words.md, which is the one source.

A page shows a definition where a word is pointed at. The package has the file where the installation put it; a report
that is made without it has no definitions and is complete otherwise.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from markupsafe import Markup

_NAME = Path("docs") / "words.md"
_HERE = Path(__file__).resolve()
# In a checkout the package lies in reports/; an installation has the page beside the other package's files.
_PLACES = (_HERE.parents[2], _HERE.parents[1] / "powercut" / "native" / "share" / "powercut")


def parsed(page: str) -> dict[str, str]:
    """The definitions of a page of words, by name in lower case, as plain text."""
    found: dict[str, str] = {}
    for entry in re.findall(r"^- (.*(?:\n  .*)*)", page, flags=re.MULTILINE):
        text = re.sub(r"\s+", " ", entry)
        parts = re.split(r"\*\*([^*]+)\*\*: ", text)
        for name, definition in zip(parts[1::2], parts[2::2], strict=True):
            found[name.lower()] = _plain(definition)
    return found


def _plain(text: str) -> str:
    """Without marks of Markdown; a link to another page is of no use here."""
    text = re.sub(r" ?\[[\w./-]+\.md\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", text)
    text = text.strip()
    first = text[:1].upper()  # of code, as it is
    return re.sub(r"[*`]", "", first + text[1:])


@cache
def words() -> dict[str, str]:
    """The definitions of docs/words.md; empty where the file is not there."""
    for place in _PLACES:
        try:
            return parsed((place / _NAME).read_text(encoding="utf-8"))
        except OSError:
            continue
    return {}


def term(text: str, word: str = "") -> Markup:
    """`text`, with the definition of `word` (or of itself) where a reader points at it."""
    definition = words().get((word or text).lower())
    if definition is None:
        return Markup.escape(text)
    return Markup('<span class="term" tabindex="0" title="{}">{}</span>').format(definition, text)
