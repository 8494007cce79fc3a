"""Carries out a composite GitHub action as a runner does: its own steps, in their order, with bash.

Only the parts that `action.yml` uses are interpreted: inputs with defaults, `env`, `working-directory`, `if` with the
functions always and contains, `==`, `!=`, `&&`, `||`, `!`; outputs of steps, GITHUB_OUTPUT, GITHUB_PATH and
GITHUB_STEP_SUMMARY. Steps with `uses` are not carried out; they are recorded with their interpreted `with`. Any other
part of a file is an error here, so that a test never passes on a step that was misread.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_STEP_KEYS = {"name", "id", "if", "shell", "run", "uses", "with", "env", "working-directory", "continue-on-error"}
#: The command behind `shell: bash`, as GitHub documents it.
_BASH = ["bash", "--noprofile", "--norc", "-eo", "pipefail"]
_TOKEN = re.compile(r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<op>==|!=|&&|\|\||!|\(|\)|,)|(?P<name>[A-Za-z_][\w.-]*))")


class Expression:
    """An expression of a workflow: recursive descent, by precedence."""

    def __init__(self, text: str, context: dict[str, Any], *, failed: bool) -> None:
        self._tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(text.rstrip()):
            match = _TOKEN.match(text, at)
            assert match, f"not understood: {text[at:]}"
            self._tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
            at = match.end()
        self._context, self._failed = context, failed
        self.used_status = "always" in text

    def value(self) -> Any:
        found = self._either()
        assert not self._tokens, self._tokens
        return found

    def _next(self, *wanted: str) -> str | None:
        if self._tokens and self._tokens[0][0] == "op" and self._tokens[0][1] in wanted:
            return self._tokens.pop(0)[1]
        return None

    def _either(self) -> Any:
        left = self._both()
        while self._next("||"):
            right = self._both()
            left = left or right
        return left

    def _both(self) -> Any:
        left = self._equal()
        while self._next("&&"):
            right = self._equal()
            left = left and right
        return left

    def _equal(self) -> Any:
        left = self._one()
        while how := self._next("==", "!="):
            left = (str(left) == str(self._one())) is (how == "==")
        return left

    def _one(self) -> Any:
        if self._next("!"):
            return not self._one()
        if self._next("("):
            found = self._either()
            assert self._next(")")
            return found
        kind, word = self._tokens.pop(0)
        if kind == "text":
            return word[1:-1].replace("''", "'")
        assert kind == "name", word
        if not self._next("("):
            return self._looked_up(word)
        arguments = []
        while not self._next(")"):
            arguments.append(self._either())
            self._next(",")
        if word == "always":
            return True
        assert word == "contains", word
        return str(arguments[1]).lower() in str(arguments[0]).lower()

    def _looked_up(self, name: str) -> Any:
        """A name that there is not is empty, as for GitHub; but a first part that there is not is a mistake here."""
        first, *rest = name.split(".")
        found = self._context[first]
        for part in rest:
            found = found.get(part, "") if isinstance(found, dict) else ""
        return found


@dataclass
class Used:
    """A step with `uses`, and whether its files were there when its turn came."""

    uses: str
    given: dict[str, str]


@dataclass
class Answer:
    """The result of the action."""

    failed: bool = False
    stdout: str = ""
    stderr: str = ""
    summary: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    used: list[Used] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)

    def with_of(self, uses: str) -> dict[str, str]:
        (found,) = (item.given for item in self.used if item.uses == uses)
        return found


def interpolated(text: Any, context: dict[str, Any]) -> str:
    """With every `${{ … }}` replaced."""
    return re.sub(r"\$\{\{(.*?)\}\}", lambda match: str(Expression(match[1], context, failed=False).value()), str(text))


def given_by_workflow(workflow: Path, context: dict[str, Any]) -> dict[str, str]:
    """The `with` of the step of a workflow that uses the action."""
    (job,) = yaml.safe_load(workflow.read_text())["jobs"].values()
    (step,) = (step for step in job["steps"] if "powercut" in step.get("uses", ""))
    return {name: interpolated(value, context) for name, value in step["with"].items()}


def carry_out(
    action: Path, *, inputs: dict[str, str], github: dict[str, Any], folder: Path, files: Path, env: dict[str, str]
) -> Answer:
    """Carries out the steps of an action in `folder`; `files` is for the files of the runner."""
    content = yaml.safe_load(action.read_text())
    assert content["runs"]["using"] == "composite"
    unknown = set(inputs) - set(content["inputs"])
    assert not unknown, f"action.yml has no input {unknown}"
    values = {name: inputs.get(name, str(item.get("default", ""))) for name, item in content["inputs"].items()}
    context: dict[str, Any] = {
        "inputs": values,
        "github": {"action_path": str(action.parent), **github},
        "runner": {"os": "Linux", "arch": "X64"},
        "steps": {},
    }
    answer = Answer()
    environment = {**env, "GITHUB_ACTION_PATH": str(action.parent), "GITHUB_WORKSPACE": str(folder)}
    files.mkdir(parents=True, exist_ok=True)
    for step in content["runs"]["steps"]:
        assert set(step) <= _STEP_KEYS, f"{step['name']}: {set(step) - _STEP_KEYS}"
        condition = Expression(step.get("if", "always()" if not answer.failed else "''"), context, failed=answer.failed)
        wanted = condition.value()
        if not wanted or (answer.failed and not condition.used_status):
            continue
        answer.ran.append(step["name"])
        if "uses" in step:
            given = {name: interpolated(value, context) for name, value in step.get("with", {}).items()}
            answer.used.append(Used(step["uses"], given))
            continue
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "an input in a script is an injection; hand it over by env"
        _run(step, context, answer, environment, folder=folder, files=files)
    outputs = content.get("outputs", {})
    answer.outputs = {name: interpolated(item["value"], context) for name, item in outputs.items()}
    return answer


def _run(
    step: dict[str, Any],
    context: dict[str, Any],
    answer: Answer,
    environment: dict[str, str],
    *,
    folder: Path,
    files: Path,
) -> None:
    names = {name: files / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")}
    for path in names.values():
        path.write_text("")
    script = files / "step.sh"
    script.write_text(step["run"])
    own = {name: interpolated(value, context) for name, value in step.get("env", {}).items()}
    done = subprocess.run(
        [*_BASH, str(script)],
        cwd=folder / interpolated(step.get("working-directory", "."), context),
        env={**environment, **own, **{name: str(path) for name, path in names.items()}},
        capture_output=True,
        text=True,
        timeout=120,
    )
    answer.stdout += done.stdout
    answer.stderr += done.stderr
    answer.summary += names["GITHUB_STEP_SUMMARY"].read_text()
    for line in names["GITHUB_PATH"].read_text().splitlines():
        environment["PATH"] = f"{line}:{environment['PATH']}"
    if "id" in step:
        said = dict(line.split("=", 1) for line in names["GITHUB_OUTPUT"].read_text().splitlines())
        context["steps"][step["id"]] = {"outputs": said}
    if done.returncode and not step.get("continue-on-error"):
        answer.failed = True


def uploaded(answer: Answer, folder: Path) -> list[str]:
    """The files that the artefact has, by the patterns of the step that uploads it."""
    patterns = answer.with_of("actions/upload-artifact@v4")["path"].split()
    found: list[str] = []
    for pattern in patterns:
        for path in sorted(folder.glob(os.path.normpath(pattern))):
            inside = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
            found += [str(file.relative_to(folder)) for file in inside]
    return found
