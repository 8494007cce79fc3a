"""Each verb is loaded when it is typed, and no other."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from powercut.cli import verbs

#: Modules of the interpreter, Typer and this package; altair alone brings five times as many.
_MOST_MODULES = 220

_TELL = """
import sys
from powercut.cli.main import main
main(sys.argv[1:])
print(len(sys.modules), *sorted(sys.modules), file=sys.stderr)
"""


def loaded(*arguments: str) -> tuple[int, list[str]]:
    done = subprocess.run([sys.executable, "-c", _TELL, *arguments], capture_output=True, text=True, check=True)
    count, *names = done.stderr.split()
    return int(count), names


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_loads_no_verb(option: str) -> None:
    count, names = loaded(option)
    assert count <= _MOST_MODULES
    assert [name for name in names if name.startswith("powercut.cli.commands.")] == ["powercut.cli.commands.compile"]


@pytest.mark.parametrize(("typed", "offered"), [("re", "record reproduce report"), ("run --mod", "--model")])
def test_a_shell_completes_verbs_and_options(typed: str, offered: str) -> None:
    asked = {"_POWERCUT_COMPLETE": "complete_bash", "COMP_WORDS": f"powercut {typed}"}
    asked["COMP_CWORD"] = str(len(typed.split()))
    done = subprocess.run(
        [sys.executable, "-m", "powercut"], env=os.environ | asked, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == offered.split()


def test_a_verb_loads_itself() -> None:
    _, names = loaded("doctor", "--help")
    assert "powercut.cli.commands.doctor" in names
    assert "powercut.cli.commands.run" not in names and "altair" not in names


def test_a_run_loads_templates_and_bars_when_it_needs_them() -> None:
    _, names = loaded("run", "--help")
    assert "powercut.runs.runner" in names
    assert not {"jinja2", "powercut_reports.html", "rich.console"} & set(names)


def test_a_verb_is_built_once_in_a_process() -> None:
    assert verbs.load("run") is verbs.load("run")


@pytest.mark.parametrize("module", sorted({verb.module for verb in verbs.VERBS.values()}))
def test_a_module_has_the_verbs_that_are_listed(module: str) -> None:
    assert list(verbs.load(module)) == [name for name, verb in verbs.VERBS.items() if verb.module == module]


def test_every_module_of_commands_is_listed() -> None:
    folder = Path(verbs.__file__).parent / "commands"
    texts = {file.stem: file.read_text(encoding="utf-8") for file in folder.glob("*.py")}
    # Modules that other modules share: a function of such a module may have the module's name, and is no verb.
    helping = {"grouped", "judge", "minimise_lines"}
    offering = {name for name, text in texts.items() if re.search(rf"^def (register|{name})\(", text, re.M)}
    assert offering - helping == {verb.module for verb in verbs.VERBS.values()}


@pytest.mark.parametrize("name", verbs.VERBS)
def test_a_summary_is_a_line(name: str) -> None:
    summary = verbs.VERBS[name].summary
    assert summary.endswith(".") and len(summary) <= 62
