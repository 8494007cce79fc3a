"""Types the commands of a documentation page, in order and in one folder, and holds what they print against the page.

Conventions of a page:
- A fenced `console` block: `$ ` begins a command (a line that ends with `\\` goes on below), the lines under it are
  shown output. A fenced `sh` block is commands alone, one a line. (In docs/examples: indented blocks with `$ `.)
- A block with `title="FILE"` is a file, written before the next command runs. `FILE` may be in a folder.
- `$ echo $?` shows the exit status of the command before it; any other command must end with 0.
- `<!-- not run: reason -->` directly above a block: its commands are not typed. `<!-- long: reason -->`: only by
  `make test-long`.
- Each shown line is found in the output, in this order: its columns (two spaces part them) follow one another, from a
  column's beginning; `…` stands for anything, and a time is equal to any other. Lines may be left out.

Known inaccuracy: what a command prints on stdout comes before what it prints on stderr.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>not run|long): (?P<reason>[^\n]+?) -->\n)?"
    r"^(?P<fence>```+)(?P<language>[\w+-]*)[ ]?(?P<info>[^\n]*)\n(?P<text>.*?)^(?P=fence)[ ]*$",
    re.MULTILINE | re.DOTALL,
)
_COMMENT = re.compile(r"\s+#\s.*$")
_TIME = re.compile(r"(?:\d[\d.,]*|…) (?:ms|s|min)\b")


@dataclass
class Step:
    """One command of a page and the lines below it, of which each is to be found in what it prints, in this order."""

    command: str
    shown: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Block:
    """A fenced block: its commands, or the file that it is."""

    language: str
    text: str
    title: str | None = None
    mark: str | None = None
    reason: str | None = None

    @property
    def steps(self) -> list[Step]:
        if self.language == "console":
            return list(_console(self.text))
        if self.language == "sh":
            joined = self.text.replace("\\\n", " ")
            commands = (_COMMENT.sub("", line).strip() for line in joined.splitlines())
            return [Step(command) for command in commands if command and not command.startswith("#")]
        return []


def blocks(page: str) -> list[Block]:
    found = []
    for match in _BLOCK.finditer(page):
        title = re.search(r'title="([^"]+)"', match["info"])
        found.append(Block(match["language"], match["text"], title and title[1], match["mark"], match["reason"]))
    return found


def indented_steps(page: str) -> list[Step]:
    """The indented blocks of a page: '$ ' starts a command."""
    text = "\n".join(line[4:] for line in page.splitlines() if line.startswith("    ") and line.strip())
    return list(_console(text))


def _console(text: str) -> Iterator[Step]:
    step: Step | None = None
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("$ "):
            if step is not None:
                yield step
            command = line.removeprefix("$ ")
            while command.endswith("\\"):
                command = command[:-1] + next(lines).strip()
            step = Step(command)
        elif step is not None and line.strip():
            step.shown.append(line)
    if step is not None:
        yield step


def words(line: str) -> str:
    return _TIME.sub("TIME", re.sub(r"\s+", " ", line).strip())


def assert_shown(step: Step, printed: str) -> None:
    """Every shown line is the beginning of a printed one, or its columns follow one another in it."""
    rest = [words(line) for line in printed.splitlines()]
    for line in step.shown:
        columns = [words(column) for column in re.split(r"\s{2,}", line.strip())]
        pattern = re.compile(".*".join(re.escape(column).replace("…", ".*") for column in columns))
        at = next((number for number, candidate in enumerate(rest) if pattern.search(candidate)), None)
        assert at is not None, f"{step.command}\ndoes not print\n{line}\nbut\n{printed}"
        rest = rest[at + 1 :]


@dataclass
class Typist:
    """A shell's folder, environment and last exit status, between the commands of a page."""

    folder: Path
    environment: dict[str, str] = field(default_factory=lambda: shell_environment({}))
    status: int = 0
    last: str = ""

    def type(self, step: Step) -> None:
        if step.command == "echo $?":
            assert [words(line) for line in step.shown] == [str(self.status)], f"{self.last}: exit status {self.status}"
            self.status = 0
            return
        assert self.status == 0, f"{self.last}\nended with status {self.status}, and the page does not say so"
        if step.command.startswith("cd "):
            self.folder = self.folder / step.command.removeprefix("cd ")
            return
        if step.command.startswith("export "):
            name, _, value = step.command.removeprefix("export ").partition("=")
            self.environment[name] = value
            return
        done = subprocess.run(
            ["bash", "-c", step.command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,
        )
        self.status, self.last = done.returncode, step.command + "\n" + done.stdout + done.stderr
        assert_shown(step, done.stdout + done.stderr)

    def end(self) -> None:
        assert self.status == 0, f"{self.last}\nended with status {self.status}, and the page does not say so"


def shell_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """As after `export PATH="$PWD/.venv/bin:$PATH"` in a clone, on a wide terminal without colours."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "NO_COLOR": "1"}
    environment |= {"COLUMNS": "200", **extra}
    environment.pop("PMEM_IS_PMEM_FORCE", None)  # a page has to say it
    return environment
