"""The help of `run`: one screen of usual options, and all of them under the same headings."""

import re
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from powercut.base.option import GROUPS, rows
from powercut.cli.main import app, main
from powercut.cli.verbs import load
from powercut.program.options import JUDGING, ProgramOptions

HEADING = re.compile(r"^(\S.*):$", re.MULTILINE)
FLAG = re.compile(r"^  (?:-\w, )?(--[\w-]+)", re.MULTILINE)


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main([*words]) == 0
    return capsys.readouterr().out


def test_the_help_of_run_fits_a_screen_and_names_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "run", "--help")
    before, more, _ = text.partition("More with --help-all")
    assert more
    assert len(before.splitlines()) <= 25
    assert max(map(len, text.splitlines())) <= 80
    assert tuple(HEADING.findall(before)) == GROUPS
    every = said(capsys, "run", "--help-all")
    hidden = set(FLAG.findall(every)) - set(FLAG.findall(text))
    assert f"--help-all: {len(hidden)} other options" in text


def test_help_all_has_every_option_of_run_once(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "run", "--help-all")
    assert tuple(HEADING.findall(text)) == (*GROUPS, "Other options")
    flags = FLAG.findall(text[text.index(GROUPS[0]) :])
    assert len(flags) == len(set(flags))
    known = {word for parameter in command("run").params for word in parameter.opts if word.startswith("--")}
    assert known <= {*flags, "--help"}
    assert {option.flag for _, option in rows(ProgramOptions)} <= set(flags)


def command(verb: str) -> Any:
    return load(verb)[verb]


@pytest.mark.parametrize(
    ("verb", "has"),
    [
        ("run", lambda option: True),
        ("record", lambda option: not option.judging),
        ("explore", lambda option: option.judging or option.flag in ("--name", "--cwd")),
    ],
)
def test_a_row_of_the_table_is_an_option_of_the_commands_that_use_it(verb: str, has: Any) -> None:
    """A row alone gives a command its option: spelling, default, metavar, help, least value."""
    given = {parameter.name: parameter for parameter in command(verb).params}
    for field, row in rows(ProgramOptions):
        assert (field.name in given) == has(row), field.name
        if field.name in given:
            option = given[field.name]
            assert option.opts == [row.flag]
            assert (option.default, option.help, option.metavar) == (field.default, row.help, row.metavar)
            assert option.rich_help_panel == row.group
            if row.least is not None:
                assert main([verb, *("-o", "t.pct")[: 2 * (verb == "record")], row.flag, str(row.least - 1)]) == 2


@pytest.mark.parametrize(
    ("words", "expected"), [("--tracer v", "valgrind"), ("--threads sched", "scheduled"), ("--model fl", "flash")]
)
def test_a_shell_completes_what_the_table_lists(words: str, expected: str) -> None:
    done = CliRunner().invoke(
        app,
        [],
        prog_name="powercut",
        env={"_POWERCUT_COMPLETE": "complete_bash", "COMP_WORDS": f"powercut run {words}", "COMP_CWORD": "3"},
    )
    assert done.output.split() == [expected]


def test_judging_options_are_those_of_a_trace() -> None:
    assert set(JUDGING) == {
        "recover",
        "check",
        "dump",
        "probe",
        "probe_script",
        "ordered",
        "timeout",
        "images",
        "fs",
        "continuation",
    }
    assert isinstance(app, typer.Typer)


def test_the_command_again_has_every_option_that_was_given() -> None:
    given = ProgramOptions(
        record="./p pool", recover="./p check pool", pool=["a", "b"], allow_exit=[3, 4], ordered=True, keep=True,
        keep_pool=True, record_timeout="3m", probe=["./p get x"],
    )  # fmt: skip
    assert given.again() == [
        *("--record", "./p pool", "--recover", "./p check pool", "--probe", "./p get x", "--ordered"),
        *("--timeout", "5s", "--images", "4096", "--pool", "a", "--pool", "b", "--record-timeout", "3m"),
        *("--allow-exit", "3", "--allow-exit", "4", "--keep-pool"),
    ]
    assert given.again(judging=True) == [
        *("--recover", "./p check pool", "--probe", "./p get x", "--ordered", "--timeout", "5s", "--images", "4096")
    ]
    assert given.named()[:3] == ["--record", "--recover", "--probe"]
    assert "--timeout" not in given.named()
    assert ProgramOptions(tracer="pin").named() == []
