"""The name of a place of the source: it survives edits beside the place, and tells different places apart."""

from pathlib import Path

import pytest

from powercut.symbols.place_identity import CODE, LINE, SOURCE, identity_of, told
from powercut.symbols.statements import statements
from powercut.symbols.symbolize import Frame

BEFORE = """\
#include <x.h>
void Helper() {
  p->token = 1;
}
void Update(Slot* slot, int value) {
  slot->value = value;
  persist(&slot->value, 8);
  slot->token = 1;
  for (int i = 0; i < 2; ++i) slot->rest[i] = 0;
  slot->token = 1; slot->other = 2;
}
"""
#: Edits that leave the code the same: a comment above, another layout, a new function.
EDITED = {
    "comment": BEFORE.replace("  slot->token", "  // A comment; with { all } signs\n  slot->token"),
    "layout": BEFORE.replace("slot->value = value", "slot->value\n      =   value").replace("1; slot", "1;\n\n\tslot"),
    "joined": BEFORE.replace(";\n  slot->token = 1;\n  for", "; slot->token=1; for"),
    "function": BEFORE.replace(
        "void Update", "#define TOKEN(x) \\\n  x->token = 1;\nvoid New() { q->token = 1; }\nvoid Update"
    ),
}


def frame(file: Path, text: str, nth: int, **fields: object) -> Frame:
    """The frame of the n-th occurrence of `text` in the file, within `Update`."""
    content = file.read_text()
    at = -1
    for _ in range(nth + 1):
        at = content.index(text, at + 1)
    line = content.count("\n", 0, at) + 1
    begin = content[: content.index("void Update")].count("\n") + 1
    place = {"file": str(file), "line": line, "column": at - content.rfind("\n", 0, at)}
    start = {"start_file": str(file), "start_line": begin}
    given = {"function": "Update(Slot*, int)", "module": "m", "offset": 1, "inlined": False}
    return Frame(**{**given, **place, **start, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize("edit", EDITED)
def test_an_edit_beside_a_place_leaves_it_the_same(edit: str, tmp_path: Path) -> None:
    was, now = tmp_path / "old" / "a.cc", tmp_path / "new" / "a.cc"
    for file, text in ((was, BEFORE), (now, EDITED[edit])):
        file.parent.mkdir()
        file.write_text(text)
    old = [identity_of(frame(was, name, 0)) for name in ("slot->value", "slot->rest", "slot->other")]
    new = [identity_of(frame(now, name, 0)) for name in ("slot->value", "slot->rest", "slot->other")]
    assert old == new
    assert all(place and place.by == SOURCE for place in old)
    last = content_count(now) - 1
    second = identity_of(frame(now, "slot->token", last))
    assert second == identity_of(frame(was, "slot->token", 1))
    assert second is not None
    assert second.ordinal == 1  # and not those of other functions
    assert str(second) == "a.cc Update slot->token=1 #1"


def content_count(file: Path) -> int:
    return file.read_text().count("slot->token")


def test_other_places_are_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "a.cc"
    file.write_text(BEFORE)
    first, second = (identity_of(frame(file, "slot->token", nth)) for nth in (0, 1))
    assert first is not None
    assert second is not None
    assert (first.text, first.ordinal, second.text, second.ordinal) == ("slot->token=1", 0, "slot->token=1", 1)
    file.write_text(BEFORE.replace("slot->token = 1;\n", "slot->token = 2;\n"))
    assert identity_of(frame(file, "slot->token", 0)) != first


def test_a_place_without_source_is_named_by_its_function(tmp_path: Path) -> None:
    file = tmp_path / "a.cc"
    file.write_text(BEFORE)
    lines = frame(file, "slot->value", 0)
    file.unlink()
    named = identity_of(lines)
    assert named is not None
    assert (named.by, named.text) == (LINE, "line 1")
    code = Frame(
        function="Update", file=None, line=0, column=0, module="prog", offset=0x1135, inlined=False, start_offset=0x1130
    )
    named = identity_of(code)
    assert named is not None
    assert (named.by, str(named)) == (CODE, "prog Update +0x5 #0")
    assert told(named.record()) == str(named)
    assert identity_of(None) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = b;", ["a=b"]),
        ("return  x ; /* ; */ y();", ["return x", "y()"]),
        ("f(\"; { // }\", '}', '\\'');", ["f(\"; { // }\",'}','\\'')"]),
        ('auto s = R"x(; " } )x"; t();', ['auto s=R"x(; " } )x"', "t()"]),
        ("x = 1'000'000; y;", ["x=1'000'000", "y"]),
        ("// only this", []),
        ("#define A { ; \\\n  b;\nc();", ["c()"]),
        ("for (i = 0; i < n; ++i) { p[i] = 0; }", ["for(i=0;i<n;++i)", "p[i]=0"]),
        ("'a: loop { *x = 1; }", ["'a:loop", "*x=1"]),
        ("unfinished(", ["unfinished("]),
    ],
)
def test_statements(text: str, said: list[str]) -> None:
    assert [one.text for one in statements(text).found] == said
