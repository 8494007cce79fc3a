"""The smaller verbs: list, known-bugs, litmus, fidelity, doctor, cc, and the generated reference."""

import datetime
import json
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from powercut import __version__
from powercut.base.exit_codes import ExitCode, worst
from powercut.cli import doctor
from powercut.cli.main import app, main
from powercut.cost import costs, paper_size


def test_lists(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("clean")
    house.known_bug("buggy")
    expected = {
        "targets": ["level", "patterns", "(published, hardened)", "top=4|2|8: buckets"],
        "scenarios": ["clean", "[level; core]"],
        "models": ["adr", "eadr"],
        "strategies": ["read-driven", "exhaustive", "prefix", "random"],
        "known-bugs": ["level/buggy", "lost-item"],
    }
    for what, words in expected.items():
        assert main(["list", what]) == ExitCode.CLEAN
        printed = capsys.readouterr().out
        assert all(word in printed for word in words), printed
        assert main(["list", what, "--json"]) == ExitCode.CLEAN
        assert list(json.loads(capsys.readouterr().out)) == [what.replace("-", "_")]


def test_bug_corpus_as_it_should_be(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.known_bug("buggy")
    house.scenario("clean_pattern", folder="known_good", targets='["patterns"]')
    assert main(["known-bugs", "--json"]) == ExitCode.CLEAN
    printed = json.loads(capsys.readouterr().out)
    (bug,) = printed["bugs"]
    assert {name: bug[name] for name in ("id", "scheme", "expected", "found", "twin_clean")} == {
        "id": "level/buggy",
        "scheme": "level",
        "expected": ["lost-item"],
        "found": True,
        "twin_clean": True,
    }
    assert printed["known_good"] == [{"scenario": "clean_pattern", "target": "patterns", "clean": True, "findings": []}]
    assert main(["known-bugs", "level"]) == ExitCode.CLEAN
    assert "level/buggy" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "expected", "code", "found", "twin"),
    [
        ("clean", '["lost-item"]', ExitCode.FINDINGS, False, True),  # the bug is missed
        ("lost", '["lost-item"]', ExitCode.FINDINGS, True, False),  # the twin is accused
        ("buggy", '["leak"]', ExitCode.FINDINGS, False, True),  # found, but as something else
        ("buggy_sampled", '["lost-item"]', ExitCode.FINDINGS, True, False),  # a sampled twin shows nothing
        ("broken", '["lost-item"]', ExitCode.INCOMPLETE, False, False),
    ],
)
def test_bug_corpus_that_is_not(
    house: Any, capsys: pytest.CaptureFixture[str], name: str, expected: str, code: ExitCode, found: bool, twin: bool
) -> None:
    house.known_bug(name, expected=expected)
    assert main(["known-bugs", "--json"]) == code
    (bug,) = json.loads(capsys.readouterr().out)["bugs"]
    assert (bug["found"], bug["twin_clean"]) == (found, twin)


def test_one_missed_bug_of_two_is_no_success(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.known_bug("buggy")
    house.known_bug("clean")
    assert main(["known-bugs", "--json"]) == ExitCode.FINDINGS
    bugs = json.loads(capsys.readouterr().out)["bugs"]
    assert {bug["id"]: bug["found"] for bug in bugs} == {"level/buggy": True, "level/clean": False}


def test_self_tests_run_when_their_target_is_named(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.known_bug("buggy")
    table = '[known_bug]\ntoggle = "{0}"\nexpected = ["redundant-flush"]\nsource = "x"\n'
    for name in ("untidy_bug", "redundant"):
        text = table.format(name)
        house.scenario(name, folder="self_test", targets='["patterns"]', core=False, extra=text)
    assert main(["known-bugs", "--json"]) == ExitCode.CLEAN
    assert [bug["id"] for bug in json.loads(capsys.readouterr().out)["bugs"]] == ["level/buggy"]
    assert main(["known-bugs", "patterns", "--json"]) == ExitCode.FINDINGS
    bugs = {bug["scenarios"][0]: bug for bug in json.loads(capsys.readouterr().out)["bugs"]}
    assert (bugs["untidy_bug"]["found"], bugs["untidy_bug"]["twin_clean"]) == (True, True)
    assert (bugs["redundant"]["found"], bugs["redundant"]["twin_clean"]) == (True, False)


def test_a_known_bug_goes_by_its_file(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.known_bug("buggy-swap").write_text(
        house.known_bug("buggy-swap").read_text().replace('name = "buggy-swap"', "")
    )
    assert main(["known-bugs", "--json"]) == ExitCode.CLEAN
    row = json.loads(capsys.readouterr().out)["bugs"][0]
    assert (row["id"], row["scenarios"]) == ("level/buggy-swap", ["buggy-swap"])
    assert main(["run", "level", "--scenario", "known_bugs/level/*", "--json"]) == ExitCode.FINDINGS
    assert json.loads(capsys.readouterr().out)["runs"][0]["scenario"] == "buggy-swap"


def fidelity_program(house: Any, text: str, *, status: int = 0) -> None:
    folder = house.root / "build" / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "powercut-fidelity-level"
    program.write_text(f'#!/bin/sh\necho "$*" >"${{0%/*}}/../asked"\ncat <<\'END\'\n{text}\nEND\nexit {status}\n')
    program.chmod(0o755)


FIGURE = {
    "scheme": "level", "figure": "maximum load factor", "paper": "> 90", "measured": 91.5, "unit": "%",
    "reproduced": True, "note": "4 slots", "depends_on_size": False,
}  # fmt: skip


COST: dict[str, Any] = {
    "scheme": "level", "variant": "hardened", "scenario": "map_costs", "operation": "insert", "count": 10,
    "stores": 3.0, "nt_stores": 0.0, "lines": 2.0, "blocks": 1.0, "flushes": 2.0, "fences": 2.0, "lines_read": 3.0,
}  # fmt: skip


def test_fidelity(house: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    base = costs.Cost(**COST | {"variant": "published", "options": {"movement": "late"}})
    slow = costs.Cost(**COST | {"scheme": "pfht", "variant": "published", "flushes": 9.0})
    monkeypatch.setattr(costs, "measure", lambda scheme: [costs.Cost(**COST), base, slow])
    fidelity_program(house, json.dumps({"figures": [FIGURE]}))
    assert main(["fidelity", "level", "--json"]) == ExitCode.CLEAN
    answer = json.loads(capsys.readouterr().out)
    assert answer["figures"] == [FIGURE]
    assert answer["costs"][0] == COST | {"options": {}, "latency_ns": {"200": 1000, "600": 1800, "1000": 2600}}
    (ratio,) = answer["ratios"]
    assert ratio.pop("note")
    assert ratio == {
        "operation": "insert", "scheme": "pfht", "paper": "> 1.8", "ratios": [2.4, 3.33, 3.69],
        "level": "movement=late", "reproduced": True,
    }  # fmt: skip
    assert answer["rows"] == {"yes": 2, "no": 0, "ours": 0}, "a ratio of the model is a row, too"
    assert main(["fidelity"]) == ExitCode.CLEAN
    printed = capsys.readouterr().out
    assert all(
        word in printed for word in ("maximum load factor", "> 90", "91.5", "yes", "level:published movement=late")
    )
    fidelity_program(house, json.dumps({"figures": [FIGURE | {"reproduced": False}]}))
    assert main(["fidelity", "level"]) == ExitCode.FINDINGS
    assert main(["fidelity", "levle"]) == ExitCode.USAGE


def test_fidelity_counts_its_verdicts(
    house: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "measure", lambda scheme: [])
    ours = FIGURE | {"paper": None, "reproduced": None}
    fidelity_program(house, json.dumps({"figures": [FIGURE, ours, ours]}))
    assert main(["fidelity", "level"]) == ExitCode.CLEAN, "a number of ours has nothing to reproduce"
    printed = capsys.readouterr().out
    assert "  ours  " in printed and printed.splitlines()[-1] == "rows: 1 yes, 0 no, 2 ours"
    assert main(["fidelity", "level", "--json"]) == ExitCode.CLEAN
    assert json.loads(capsys.readouterr().out)["rows"] == {"yes": 1, "no": 0, "ours": 2}
    asked = house.root / "build" / "asked"
    assert asked.read_text() == "\n", "small tables"
    assert main(["fidelity", "level", "--paper-size"]) == ExitCode.CLEAN
    assert asked.read_text() == "--paper-size\n"


def test_fidelity_shows_the_last_run_at_the_papers_size(
    house: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(costs, "measure", lambda scheme: [])
    monkeypatch.setattr(paper_size, "FILE", tmp_path / "paper_size.json")
    small = FIGURE | {"paper": None, "reproduced": None, "depends_on_size": True}
    other = small | {"figure": "Fig. 9"}
    fidelity_program(house, json.dumps({"figures": [FIGURE | {"depends_on_size": True}, FIGURE | {"figure": "costs"}]}))
    assert main(["fidelity", "level", "--paper-size"]) == ExitCode.CLEAN
    assert "Kept: " in capsys.readouterr().err
    fidelity_program(house, json.dumps({"figures": [small, other]}))
    assert main(["fidelity", "level", "--json"]) == ExitCode.CLEAN
    kept, missing = json.loads(capsys.readouterr().out)["paper_size"]
    assert (kept["measured"], kept["reproduced"], kept["powercut"]) == (91.5, True, __version__)
    assert datetime.date.fromisoformat(kept["date"]) <= datetime.date.today()
    assert (missing["figure"], missing["measured"], missing["date"]) == ("Fig. 9", None, None)
    assert main(["fidelity", "level"]) == ExitCode.CLEAN
    printed = capsys.readouterr().out
    assert f"{kept['date']}, powercut {__version__}" in printed and "not run" in printed
    assert printed.splitlines()[-1] == "rows: 0 yes, 0 no, 2 ours", "a kept row is none of this run"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("no table", 0),
        ('{"figures": [{}]}', 0),
        ("{}", 3),
        (json.dumps({"figures": [FIGURE | {"paper": None}]}), 0),  # reproduces what no paper prints
        (json.dumps({"figures": [FIGURE | {"reproduced": None}]}), 0),  # has a paper's figure and no verdict
    ],
)
def test_fidelity_program_that_fails(house: Any, capsys: pytest.CaptureFixture[str], text: str, status: int) -> None:
    fidelity_program(house, text, status=status)
    assert main(["fidelity", "level"]) == ExitCode.INCOMPLETE
    assert "powercut-fidelity-level" in capsys.readouterr().err


def test_doctor_names_what_is_missing(
    house: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIN_ROOT", raising=False)
    assert main(["doctor"]) == ExitCode.USAGE
    printed = capsys.readouterr().out
    assert "missing  compiler pass" in printed
    assert "Run 'make build' in the project's folder." in printed
    assert "(powercut-engine 0.1.0 (fake))" in printed
    for name in (
        "clang-19",
        "compiler pass for clang 16",
        "compiler pass for clang 14",
        "runtime",
        "engine",
        "CPU clwb",
        "CPU clflushopt",
        "CPU avx512",
        "chromium",
        "pmemcheck",
    ):
        assert name in printed
    assert "Intel Pin" in printed and "PIN_ROOT is not set" in printed
    for name in ("libpowercut_pass.so", "libpowercut_pass_16.so", "libpowercut_rt.so"):
        (house.root / "build" / "lib" / name).touch()
    checks = {check.name: check for check in doctor.examine()}
    assert not checks["compiler pass for clang 19"].ok  # an empty file loads nowhere
    assert "fails: " in checks["compiler pass for clang 19"].detail
    monkeypatch.setattr("powercut.compile.load_test.problem", lambda compiler: "")
    required = {check.name: check.ok for check in doctor.examine() if check.required}
    assert main(["doctor", "--json"]) == (ExitCode.CLEAN if all(required.values()) else ExitCode.USAGE)
    assert required["compiler pass for clang 19"] and required["targets"]


def test_cpu_flags() -> None:
    assert doctor.cpu_flags("processor: 0\nflags\t\t: fpu clwb\n") == {"fpu", "clwb"}
    assert doctor.cpu_flags("") == frozenset()


def test_compiler_wrappers_hand_everything_on(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, list[str]]] = []
    wrapper = types.ModuleType("powercut.compile.cc")
    wrapper.main_cc = lambda argv: seen.append(("cc", argv)) or 7  # type: ignore[attr-defined]
    wrapper.main_cxx = lambda argv: seen.append(("c++", argv)) or 0  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "powercut.compile.cc", wrapper)
    monkeypatch.setattr("powercut.compile.cc", wrapper, raising=False)
    assert main(["cc", "-c", "x.c", "--version", "-o", "x.o", "--", "--help"]) == 7
    assert main(["c++"]) == 0
    assert seen == [("cc", ["-c", "x.c", "--version", "-o", "x.o", "--", "--help"]), ("c++", [])]


def test_litmus_hands_on_its_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    from powercut.litmus import litmus

    monkeypatch.setattr(litmus, "run", lambda json: 1 if json else 0)
    assert main(["litmus"]) == 0
    assert main(["litmus", "--json"]) == 1


def commands(command: Any, context: Any) -> Iterator[tuple[str, list[str]]]:
    """Every command and group with the names of its options."""
    yield context.command_path, [name for item in command.get_params(context) for name in item.opts if name[:2] == "--"]
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        inner = command.get_command(context, name)
        with inner.make_context(name, [], parent=context, resilient_parsing=True) as below:
            yield from commands(inner, below)


def every_command() -> dict[str, list[str]]:
    root: Any = typer.main.get_command(app)
    with root.make_context("powercut", [], resilient_parsing=True) as context:
        return dict(commands(root, context))


def test_the_page_of_the_command_line_has_every_command_and_option(tmp_path: Path) -> None:
    file = tmp_path / "made" / "cli.md"
    subprocess.run([sys.executable, "-m", "tools.docs", str(file)], check=True, cwd=Path(__file__).parents[2])
    title, *sections = re.split(r"^## ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert "Exit codes of every command" in title
    told = {section.partition("\n")[0]: section for section in sections}
    known = every_command()
    assert list(told) == list(known) and len(known) > 20
    hidden = {"--install-completion", "--show-completion"}
    for name, options in known.items():
        assert [word for word in options if word not in hidden and f"{word} " not in told[name]] == [], name


def test_the_man_page_has_every_command_and_option(tmp_path: Path) -> None:
    file = tmp_path / "made" / "powercut.1"
    subprocess.run([sys.executable, "-m", "tools.man_page", str(file)], check=True, cwd=Path(__file__).parents[2])
    page = file.read_text(encoding="utf-8").replace("\\-", "-")
    assert page.startswith(".TH POWERCUT 1") and ".SH EXIT STATUS" in page
    for name, options in every_command().items():
        assert name in page
        assert [word for word in options if word not in page] == [], name


def test_every_command_and_option_is_described(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == ExitCode.CLEAN
    commands = capsys.readouterr().out.partition("Commands:")[2].split("\n")
    assert all(len(line.split()) > 1 for line in commands if line.strip())
    assert main(["--version"]) == ExitCode.CLEAN
    assert capsys.readouterr().out.startswith("powercut ")


def test_worst_exit_code() -> None:
    clean, findings, usage, incomplete = ExitCode.CLEAN, ExitCode.FINDINGS, ExitCode.USAGE, ExitCode.INCOMPLETE
    assert worst([]) == clean
    assert worst([clean, incomplete]) == incomplete
    assert worst([incomplete, findings, clean]) == findings
    assert worst([findings, usage, incomplete]) == usage
