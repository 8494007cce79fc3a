"""The verbs of the command line, each in a module that is loaded when its verb is typed.

People type `--help` and the name of one verb most often; loading all verbs took a second.
"""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup


@dataclass(frozen=True)
class Verb:
    """The place of a verb, and its line in `powercut --help`."""

    module: str  # in powercut.cli.commands
    summary: str


VERBS = {
    "list": Verb("list_", "List targets, scenarios, models, strategies or known bugs."),
    "run": Verb("run", "Record scenarios on targets and explore every crash."),
    "merge": Verb("merge", "Report what the shards of a run found."),
    "record": Verb("record", "Record one scenario, or a program, into a trace."),
    "view": Verb("view", "Show what a recorded program did to its files."),
    "explore": Verb("explore", "Explore every legal crash state of a trace."),
    "reproduce": Verb("reproduce", "Replay one finding."),
    "confirm": Verb("confirm", "Look for a finding of a folder on a real file system."),
    "explain": Verb("explain", "Minimise findings, and look for their root cause."),
    "minimise": Verb("minimise", "Find the smallest case that still shows a finding."),
    "faults": Verb("faults", "Inject faults into scenarios, and judge what follows."),
    "report": Verb("report", "Render the reports of an output folder again."),
    "known-bugs": Verb("known_bugs", "Run the bug corpus: every known bug and its fixed twin."),
    "models": Verb("models", "Print what is believed of a file system, with its sources."),
    "litmus": Verb("litmus", "Run the litmus tests of the persistency models."),
    "audit": Verb("audit", "Compare predictions with plain runs on random images."),
    "fidelity": Verb("fidelity", "Measure the papers' figures that depend on no machine."),
    "cost": Verb("cost", "Count what each operation does to memory."),
    "necessity": Verb("necessity", "Drop each flush and each fence, and explore again."),
    "appendix": Verb("appendix", "Write the tables of a paper's appendix."),
    "doctor": Verb("doctor", "Say what this installation has and lacks."),
    "cc": Verb("compile", "Compile or link C through the tracing pass."),
    "c++": Verb("compile", "Compile or link C++ through the tracing pass."),
    "new-target": Verb("new_target", "Write an adapter for a library of yours."),
    "import": Verb("import_", "Make a trace of what another tool recorded."),
    "export": Verb("export", "Write a trace as another tool reads it."),
    "baseline": Verb("baseline", "Accept known findings, so that only new ones fail."),
}


@cache
def load(module: str) -> dict[str, Any]:
    """`{verb: command}` of a module in `powercut.cli.commands`, built once in a process.

    Typer takes 0.06 s for the options of `run`. A process that carries out many command lines pays once.

    The command is the function that is named as its module. A module with more than that has a function `register`.
    """
    verbs = typer.Typer(rich_markup_mode=None)
    verbs.callback()(_nothing)
    loaded = import_module(f"powercut.cli.commands.{module}")
    if hasattr(loaded, "register"):
        loaded.register(verbs)
    else:
        verbs.command(module.strip("_").replace("_", "-"))(getattr(loaded, module))
    commands: dict[str, Any] = vars(typer.main.get_command(verbs))["commands"]
    return commands


def _nothing() -> None:
    """Makes a group of one verb."""


class Verbs(TyperGroup):
    """A group whose commands are those of `VERBS`."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = dict.fromkeys(VERBS)  # type: ignore[assignment]  # their names, to suggest one

    def list_commands(self, ctx: Any) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in VERBS:
            return None
        if self.commands[cmd_name] is None:
            self.commands.update(load(VERBS[cmd_name].module))
        return self.commands[cmd_name]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.summary) for name, verb in VERBS.items()])
