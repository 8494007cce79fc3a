"""An accepted finding stays accepted when its function or its file is renamed, and nothing else is accepted with it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from powercut.findings.fingerprint import fingerprint
from powercut.gate.baseline import Baseline, load
from powercut.gate.gate import Gate
from powercut.gate.suppressions import Rule, Suppressions, _Table
from powercut.symbols.place_identity import identity_of
from powercut.symbols.symbolize import Frame
from powercut_records.run import RunRecord
from reports.tests.typed import run_of

FILE = Path("base.json")
SOURCE = """\
void Helper(Slot* slot) {
  slot->token = 1;
}

void Update(Slot* slot, int value) {
  slot->value = value;
  slot->count = slot->count + 1;
  slot->token = 1;
}
"""


@dataclass
class Code:
    """A source file, and the run that finds a bug in one of its functions."""

    file: str = "src/slots.cc"
    function: str = "Update"
    text: str = SOURCE

    def write(self) -> None:
        path = Path(self.file)
        path.parent.mkdir(exist_ok=True)
        path.write_text(self.text)

    def store(self, fate: str, text: str) -> dict[str, Any]:
        """The store of a statement of the function."""
        begin = self.text.index(f"void {self.function}(")
        at = self.text.index(text, begin)
        line, column = self.text.count("\n", 0, at) + 1, at - self.text.rfind("\n", 0, at)
        frame = Frame(
            function=f"table::{self.function}(Slot*, int)", file=self.file, line=line, column=column, module="m",
            offset=1, inlined=False, start_file=self.file, start_line=self.text.count("\n", 0, begin) + 1,
        )  # fmt: skip
        identity = identity_of(frame)
        assert identity is not None
        named = {"site": frame.site, "function": frame.function, "identity": identity.record()}
        return {"decisive": True, "fate": fate, **named}

    def run(self, *texts: str) -> RunRecord:
        """A complete run with one finding: the first statement was lost, the last one persisted."""
        texts = texts or ("slot->value", "slot->token")
        stores = [self.store("lost", texts[0]), *[self.store("persisted", text) for text in texts[1:]]]
        kinds = {"operation": {"kind": "update"}, "query": {"kind": "lookup"}}
        finding = {"invariant": "lost-item", "target": "table", "stores": stores, **kinds}
        run = run_of({
            "target": "table", "variant": "own", "scenario": "update", "model": "adr", "atoms": "any", "seed": 1,
            "nested": 1, "verdict": "inconsistent", "error": None,
            "coverage": {"kind": "complete", "nested_complete": 1}, "findings": [finding],
        })  # fmt: skip
        run.findings[0].fingerprint = fingerprint(run.findings[0])
        return run


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Code:
    monkeypatch.chdir(tmp_path)
    made = Code()
    made.write()
    return made


def accepted(code: Code, *texts: str) -> Baseline:
    """The baseline of what is there, as it comes back from its file."""
    Baseline(path=FILE).updated([code.run(*texts)]).write()
    return load(FILE)


def rename_function(code: Code) -> None:
    code.text = code.text.replace("void Update", "void Renew")
    code.function = "Renew"


def rename_file(code: Code) -> None:
    Path(code.file).unlink()
    code.file = "src/places.cc"


def rename_both(code: Code) -> None:
    rename_function(code)
    rename_file(code)


def rename_and_edit_beside(code: Code) -> None:
    rename_function(code)
    code.text = code.text.replace("slot->count + 1", "slot->count + 2")


RENAMES = [rename_function, rename_file, rename_both, rename_and_edit_beside]


@pytest.mark.parametrize("old", [False, True], ids=["", "of_sites_alone"])
@pytest.mark.parametrize("rename", RENAMES)
def test_a_rename_leaves_a_finding_known(code: Code, rename: Callable[[Code], None], *, old: bool) -> None:
    """A renamed function was "1 new, 1 known, 1 fixed"."""
    baseline = accepted(code)
    if old:  # as powercut wrote baselines before it knew of renames
        entries = tuple(entry.model_copy(update={"names": ()}) for entry in baseline.entries)
        baseline = Baseline(path=FILE, entries=entries)
    name = baseline.entries[0].fingerprint
    rename(code)
    code.write()
    run = code.run()
    assert run.findings[0].fingerprint != name
    baseline.mark(run)
    assert (run.findings[0].baseline, run.findings[0].known_as) == ("known", name)
    assert baseline.fixed([run]) == []
    after = baseline.updated([run])
    assert [entry.fingerprint for entry in after.entries] == [run.findings[0].fingerprint]


def test_another_bug_in_a_function_of_the_old_name_is_new(code: Code) -> None:
    baseline = accepted(code)
    rename_function(code)
    code.text += "void Update(Slot* slot, int value) {\n  slot->rest = value;\n  slot->token = 1;\n}\n"
    code.write()
    run = code.run()
    baseline.mark(run)
    assert run.findings[0].baseline == "known"
    code.function = "Update"
    other = code.run("slot->rest", "slot->token")
    baseline.mark(other)
    assert (other.findings[0].baseline, other.findings[0].known_as) == ("new", "")


def test_an_edited_statement_in_a_renamed_function_is_new(code: Code) -> None:
    baseline = accepted(code)
    rename_function(code)
    code.text = code.text.replace("slot->value = value", "slot->value = value + 1")
    code.write()
    run = code.run()
    baseline.mark(run)
    assert run.findings[0].baseline == "new"
    assert len(baseline.fixed([run])) == 1


def test_the_same_bug_in_a_second_function_is_new_while_the_first_stands(code: Code) -> None:
    baseline = accepted(code)
    code.text += code.text[code.text.index("void Update") :].replace("Update", "Copied")
    code.function = "Copied"
    code.write()
    run = code.run()
    baseline.mark(run)
    assert run.findings[0].baseline == "new"


def test_the_same_bug_in_a_function_that_was_there_before_is_new(code: Code) -> None:
    """`Update` is gone, but `Copied` is no new name of it."""
    whole = code.text + code.text[code.text.index("void Update") :].replace("Update", "Copied")
    code.text = whole
    code.write()
    baseline = accepted(code)
    code.text, code.function = whole.replace(SOURCE[SOURCE.index("void Update") :], ""), "Copied"
    code.write()
    run = code.run()
    baseline.mark(run)
    assert run.findings[0].baseline == "new"


def git(*words: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *words], check=True, capture_output=True)


@pytest.mark.parametrize("rename", RENAMES)
def test_a_suppression_by_fingerprint_holds_after_a_rename(code: Code, rename: Callable[[Code], None]) -> None:
    name = code.run().findings[0].fingerprint
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "before")
    rename(code)
    code.write()
    git("add", "-A")
    run = code.run()
    table = _Table(fingerprint=name, reason="later", expires=date(2099, 1, 1))
    rules = Suppressions(path=Path("s.toml"), rules=(Rule(place="s:1", table=table),), day=date(2027, 1, 1))
    Gate(suppressions=rules, since="HEAD").mark(run)
    assert run.findings[0].is_suppressed
    assert run.findings[0].known_as == name
    assert rules.unused([run]) == []


def test_the_file_lists_the_functions_that_there_were(code: Code) -> None:
    accepted(code)
    written = json.loads(FILE.read_text())
    assert written["functions"] == {"src/slots.cc": ["Helper", "Update"]}
    assert written["findings"][0]["names"] == ["src/slots.cc table::Update"]
