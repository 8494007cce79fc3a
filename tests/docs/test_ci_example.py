"""The repository of docs/examples/ci, with the steps of action.yml: a pull request that drops a flush is red."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
import yaml

from powercut.base import paths
from tests.docs.composite_action import Answer, Expression, carry_out, given_by_workflow, uploaded
from tests.real_engine import require_engine
from tools import docs

EXAMPLE = paths.home() / "docs" / "examples" / "ci"
ACTION = paths.home() / "action.yml"
WORKFLOW = ".github/workflows/crash.yml"
FLUSH = "    persist(slot, sizeof *slot); /* the account is durable before it counts */\n"
REPORTS = ("report.html", "report.sarif", "report.junit.xml", "summary.md")


@dataclass
class Repository:
    """A clone of the example on a runner."""

    folder: Path
    runs: int = 0
    environment: dict[str, str] = field(default_factory=dict)

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.folder), *words], env=self.environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, message: str) -> str:
        self.git("add", "-A")
        self.git("commit", "-qm", message)
        return self.git("rev-parse", "HEAD")

    def edit(self, file: str, before: str, after: str) -> None:
        path = self.folder / file
        text = path.read_text()
        assert text.count(before) == 1, before
        path.write_text(text.replace(before, after))

    def line_of(self, file: str, text: str) -> int:
        lines = (self.folder / file).read_text().splitlines()
        (number,) = (number for number, line in enumerate(lines, 1) if text in line)
        return number

    def check(self, *, base: str = "", **inputs: str) -> Answer:
        """The job of the workflow, for a push (without `base`) or a pull request onto it."""
        self.runs += 1
        event = {"pull_request": {"base": {"sha": base}}} if base else {}
        github = {"event": event, "run_id": str(self.runs), "run_attempt": "1", "action_ref": "v0.1"}
        given = given_by_workflow(self.folder / WORKFLOW, {"github": github})
        return carry_out(
            ACTION,
            inputs={**given, "installed": "true", **{name.replace("_", "-"): value for name, value in inputs.items()}},
            github=github,
            folder=self.folder,
            files=self.folder.parent / "runner",
            env=self.environment,
        )

    def sarif(self) -> dict[str, Any]:
        (run,) = json.loads((self.folder / ".powercut/report.sarif").read_text())["runs"]
        assert isinstance(run, dict)
        return run


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    require_engine()
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    made = Repository(tmp_path / "store")
    shutil.copytree(EXAMPLE, made.folder, ignore=shutil.ignore_patterns("*.so", "*.o", "*.a", ".powercut"))
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "POWERCUT_BUILD") if name in os.environ}
    made.environment = {**kept, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "NO_COLOR": "1"}
    made.environment |= {
        f"GIT_{who}_{what}": "someone@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    made.git("init", "-q", "-b", "main")
    made.commit("a ledger and settings")
    yield made


@pytest.mark.slow
def test_a_pull_request_that_drops_a_flush_is_red_and_one_that_fixes_it_green(repository: Repository) -> None:
    base = repository.git("rev-parse", "HEAD")
    pushed = repository.check()
    assert pushed.outputs == {"exit-code": "0"} and not pushed.failed, pushed.stderr
    assert "::error" not in pushed.stdout
    assert "✅ No new finding" in pushed.summary
    assert "Baseline powercut-baseline.json: 0 new, 1 known, 0 fixed" in pushed.stdout
    assert "1 suppressed" in pushed.stdout
    assert "Canary: the planted lost-item was found again" in pushed.stdout

    repository.git("switch", "-qc", "faster")
    repository.edit("src/ledger.c", FLUSH, "")
    repository.commit("ledger: insert flushes once")
    lost = repository.line_of("src/ledger.c", "memcpy(slot->balance[0], value, kLedgerValue);")
    red = repository.check(base=base)
    assert red.outputs == {"exit-code": "1"} and red.failed
    assert re.findall(r"^::error file=(.*?),line=(\d+),", red.stdout, re.M) == [("src/ledger.c", str(lost))]
    assert f"Since {base} ({base[:12]}): 1 unchanged and taken from the cache, 1 explored" in red.stdout
    assert "ledger:default ledger: its compiled code changed" in red.stdout
    _assert_reports_show(repository, "src/ledger.c", lost)
    assert "❌ 1 bug, 1 symptom" in red.summary and f"src/ledger.c:{lost}" in red.summary
    files = uploaded(red, repository.folder)
    assert {f".powercut/{name}" for name in REPORTS} <= set(files)
    assert any(name.startswith(".powercut/findings/") for name in files)
    assert Path(repository.folder, red.with_of("github/codeql-action/upload-sarif@v3")["sarif_file"]).is_file()
    assert Path(repository.folder, red.with_of("actions/cache/save@v4")["path"]).is_dir()

    repository.edit("src/ledger.c", "    publish(&slot->state, 1);\n", f"{FLUSH}    publish(&slot->state, 1);\n")
    repository.commit("ledger: the account is durable first")
    green = repository.check(base=base)
    assert green.outputs == {"exit-code": "0"} and not green.failed, green.stdout
    assert "::error" not in green.stdout
    assert "2 unchanged and taken from the cache, 0 explored" in green.stdout
    assert "cached: unchanged since" in (repository.folder / ".powercut/summary.md").read_text()


def _assert_reports_show(repository: Repository, file: str, line: int) -> None:
    sarif = repository.sarif()
    new = [result for result in sarif["results"] if result["level"] == "error" and not result.get("suppressions")]
    (result,) = new
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == (file, line)
    steps = [step["kinds"][0] for step in result["codeFlows"][0]["threadFlows"][0]["locations"]]
    assert steps[-1] == "crash" and "store" in steps
    assert sum(bool(item.get("suppressions")) for item in sarif["results"]) == 2  # baseline and suppressions
    root = Xml.parse(repository.folder / ".powercut/report.junit.xml").getroot()
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("2", "1", "0")
    failure = root.find(".//testcase[@name='ledger']/failure")
    assert failure is not None and f"{file}:{line}" in (failure.text or "")


@pytest.mark.slow
def test_a_comment_changes_nothing_where_no_finding_names_a_line(repository: Repository) -> None:
    base = repository.git("rev-parse", "HEAD")
    repository.check()
    repository.edit("src/ledger.c", "int ledger_erase(", "/* The state decides. */\nint ledger_erase(")
    repository.edit("src/settings.c", "static uint64_t number_of(", "/* As a number. */\nstatic uint64_t number_of(")
    repository.commit("comments")
    answer = repository.check(base=base)
    assert "1 unchanged and taken from the cache, 1 explored" in answer.stdout
    assert "settings:default settings: lines of the source moved, and its findings name lines" in answer.stdout
    # The finding of the baseline is on another line now, and the same: a line above it makes nothing new.
    assert "Baseline powercut-baseline.json: 0 new, 1 known, 0 fixed" in answer.stdout
    assert "::error" not in answer.stdout


def test_harness_trouble_is_red_and_leaves_reports(repository: Repository) -> None:
    repository.environment["POWERCUT_ENGINE"] = "/nonexistent/engine"
    answer = repository.check()
    assert answer.failed and answer.outputs == {"exit-code": "2"}
    files = uploaded(answer, repository.folder)
    assert {".powercut/report.sarif", ".powercut/report.junit.xml", ".powercut/summary.md"} <= set(files)
    assert "is not an executable file" in answer.summary
    assert not repository.sarif()["invocations"][0]["executionSuccessful"]


@pytest.mark.slow
def test_a_folder_of_a_larger_repository_is_annotated_where_the_repository_has_it(repository: Repository) -> None:
    """Fingerprints, and so the baseline, stay what they are in the folder itself."""
    (repository.folder / "store").mkdir()
    for name in ("src", "crash", "Makefile", "powercut-baseline.json", "powercut-suppressions.toml"):
        repository.git("mv", name, f"store/{name}")
    repository.edit("store/src/ledger.c", FLUSH, "")
    repository.commit("moved, and a flush dropped")
    answer = repository.check(working_directory="store")
    lost = repository.line_of("store/src/ledger.c", "memcpy(slot->balance[0], value, kLedgerValue);")
    assert answer.outputs == {"exit-code": "1"}
    assert re.findall(r"^::error file=(.*?),line=(\d+),", answer.stdout, re.M) == [("store/src/ledger.c", str(lost))]
    (run,) = json.loads((repository.folder / "store/.powercut/report.sarif").read_text())["runs"]
    uris = {item["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for item in run["results"]}
    assert uris == {"store/src/ledger.c", "store/src/settings.c"}
    assert "Baseline powercut-baseline.json: 1 new, 1 known, 0 fixed" in answer.stdout
    assert {f"store/.powercut/{name}" for name in REPORTS} <= set(uploaded(answer, repository.folder))


def test_a_run_that_is_not_complete_is_red_and_leaves_reports(repository: Repository) -> None:
    answer = repository.check(budget="1x", targets="./crash/libledger.so")
    assert answer.failed and answer.outputs == {"exit-code": "3"}
    assert "::warning title=powercut%3A sampled::ledger:default ledger" in answer.stdout
    assert "not everything was judged" in answer.summary and "✅" not in answer.summary
    assert {f".powercut/{name}" for name in REPORTS} <= set(uploaded(answer, repository.folder))
    (told,) = repository.sarif()["invocations"][0]["toolExecutionNotifications"]
    assert told["level"] == "warning"


def test_a_build_that_fails_is_red_without_a_verdict(repository: Repository) -> None:
    answer = repository.check(build="false")
    assert answer.failed and answer.outputs == {"exit-code": ""}
    assert "Judge every crash state" not in answer.ran
    assert "Upload reports and findings" in answer.ran


def test_the_workflow_gives_only_inputs_that_there_are() -> None:
    inputs = yaml.safe_load(ACTION.read_text())["inputs"]
    assert set(given_by_workflow(EXAMPLE / WORKFLOW, {"github": {}})) <= set(inputs)
    guide = (paths.home() / "docs" / "ci.md").read_text()
    assert all(item["description"] and f"`{name}`" in guide for name, item in inputs.items())


def test_the_guide_gives_only_what_there_is() -> None:
    """Its workflows are YAML, and hand over inputs and options that exist."""
    blocks = re.findall(r"```yaml\n(.*?)```", (paths.home() / "docs" / "ci.md").read_text(), re.S)
    github, gitlab = (yaml.safe_load(block) for block in blocks)
    (step,) = (item for item in github["jobs"]["powercut"]["steps"] if "powercut" in item.get("uses", ""))
    assert set(step["with"]) <= set(yaml.safe_load(ACTION.read_text())["inputs"])
    reference = docs.render()
    used = re.findall(r"--[a-z-]+", " ".join(gitlab["powercut"]["script"]))
    assert used and all(f"{option} " in reference for option in used)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("always() && inputs.a == 'x'", True),
        ("inputs.a != 'x' || !(inputs.b == '')", False),
        ("contains(inputs.a, 'X') && inputs.b", ""),
        ("inputs.none", ""),
        ("'it''s'", "it's"),
    ],
)
def test_expressions(text: str, value: object) -> None:
    assert Expression(text, {"inputs": {"a": "x", "b": ""}}, failed=False).value() == value
