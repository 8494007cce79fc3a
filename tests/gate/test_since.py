"""`--since REV` and the cache: what did not change is taken from it, and nothing that is wrong is believed."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from powercut.base import paths
from powercut.base.exit_codes import ExitCode
from powercut.cause.explain import Explainer
from powercut.cli.main import main
from powercut.compile.cc import main_cc
from powercut.engine import elf_code
from powercut.runs import run_cache
from powercut_records.finding import Cause
from powercut_records.run import RunRecord

RECORDS = "out/cache/v1/records"


@pytest.fixture
def project(house: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The house as a git repository with one commit, whose output is ignored."""
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "someone")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "someone@example.org")
    Path(".gitignore").write_text("out*\nbuild\nfake-engine\n")
    git("init", "-q", "-b", "main")
    commit()
    return house


def git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.strip()


def commit() -> str:
    git("add", "-A")
    git("commit", "-q", "--allow-empty", "-m", "a commit")
    return git("rev-parse", "HEAD")


def gate(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """A gate's run: its exit code and its JSON."""
    capsys.readouterr()
    code = main(
        ["run", "level:published", "--out", "out", "--json", "--format", "json,junit", "--no-canary", *arguments]
    )
    return code, json.loads(capsys.readouterr().out)


def why(answer: dict[str, Any]) -> dict[str, str]:
    """Why each run was explored, by its scenario; empty for one that was taken from the cache."""
    return {run["scenario"]: run["since"]["why"] for run in answer["runs"]}


def records() -> list[Path]:
    return sorted(Path(RECORDS).rglob("*.json"))


def test_only_what_changed_is_explored(project: Any, capsys: pytest.CaptureFixture[str]) -> None:
    project.scenario("clean")
    project.scenario("lost_one")
    base = commit()
    code, answer = gate(capsys)
    assert code == ExitCode.FINDINGS and "since" not in answer
    finding = answer["runs"][1]["findings"][0]
    Path(finding["file"]).unlink()

    code, answer = gate(capsys, "--since", base)
    assert code == ExitCode.FINDINGS, "a cached finding stays a finding"
    assert why(answer) == {"clean": "", "lost_one": ""}
    assert answer["since"] == {"revision": base, "commit": base, "cached": 2, "explored": []}
    assert answer["runs"][1]["findings"] == [finding]
    assert json.loads(Path(finding["file"]).read_text())["plan"]["scenario"]["name"] == "lost_one"

    path = project.scenario("clean")
    path.write_text(path.read_text().replace("to = 12", "to = 13"))
    commit()
    code, answer = gate(capsys, "--since", "HEAD~1")
    assert why(answer) == {"clean": "its scenario changed", "lost_one": ""}
    code, answer = gate(capsys, "--since", "HEAD~1")
    assert why(answer) == {"clean": "", "lost_one": ""}, "the same key is the same run, whoever judged it"

    project.library("level").write_text("other code")
    assert why(gate(capsys, "--since", "main")[1]) == dict.fromkeys(("clean", "lost_one"), "its compiled code changed")
    assert why(gate(capsys, "--since", "main", "--nested", "0")[1])["clean"] == "it was not judged there"


def test_a_revision_that_was_not_judged_explores_everything(project: Any, capsys: pytest.CaptureFixture[str]) -> None:
    project.scenario("clean")
    commit()
    gate(capsys)
    commit()
    code, answer = gate(capsys, "--since", "HEAD")
    assert code == ExitCode.CLEAN
    assert why(answer) == {"clean": "nothing is cached for this revision"}


def test_what_is_cached_takes_nothing_of_a_budget(project: Any, capsys: pytest.CaptureFixture[str]) -> None:
    project.scenario("clean")
    project.scenario("lost_one")
    commit()
    code, free = gate(capsys, "--budget", "5m")
    assert code == ExitCode.FINDINGS and all(run["smoke"] for run in free["runs"])
    code, answer = gate(capsys, "--since", "HEAD", "--budget", "1ms")
    assert code == ExitCode.FINDINGS and why(answer) == {"clean": "", "lost_one": ""}
    kinds = [(run["strategy"], run["coverage"]["kind"], "smoke" in run) for run in answer["runs"]]
    assert kinds == [("read-driven", "complete", False)] * 2


def test_results_of_edited_files_are_not_those_of_the_commit(project: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = project.scenario("clean")
    commit()
    path.write_text(path.read_text() + "\n# edited\n")
    gate(capsys)
    assert why(gate(capsys, "--since", "HEAD")[1]) == {"clean": "nothing is cached for this revision"}


@pytest.mark.parametrize("name", ["sampled", "dies", "garbage", "broken", "silent"])
def test_what_is_not_complete_is_never_kept(project: Any, capsys: pytest.CaptureFixture[str], name: str) -> None:
    project.scenario(name)
    commit()
    first, _ = gate(capsys)
    assert first != ExitCode.CLEAN and not records()
    code, answer = gate(capsys, "--since", "HEAD")
    assert code == first and why(answer)[name]


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace('"verdict": "inconsistent"', '"verdict": "consistent"'),
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "no cache at all\n{}\n",
        lambda text: text.replace("powercut-cache 1", "powercut-cache 9"),
    ],
)
def test_damaged_files_are_never_believed(project: Any, capsys: pytest.CaptureFixture[str], damage: Any) -> None:
    project.scenario("lost_one")
    commit()
    gate(capsys)
    for path in Path("out/cache").rglob("*.json"):
        path.write_text(damage(path.read_text()))
    capsys.readouterr()
    assert main(["run", "level:published", "--out", "out", "--since", "HEAD"]) == ExitCode.FINDINGS
    captured = capsys.readouterr()
    assert "left aside" in captured.err
    assert "0 unchanged and taken from the cache, 1 explored" in captured.out


def test_a_record_that_lies_with_a_right_checksum_is_not_believed(
    project: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """A complete record of another run, or one that calls findings clean, under this key."""
    project.scenario("lost_one")
    commit()
    gate(capsys)
    (path,) = records()
    cache = run_cache.RunCache(folder=Path("out/cache/v1"), engine_path=paths.engine(), warn=print)
    content = cache._read(path)
    assert content is not None
    for change in ({"verdict": "consistent"}, {"coverage": {**content["run"]["coverage"], "kind": "sampled"}},
                   {"scenario": "another"}, {"nested": 5}, {"error": {"what": "x"}}, {"findings": None}):  # fmt: skip
        cache._write(path, {**content, "run": {**content["run"], **change}})
        code, answer = gate(capsys, "--since", "HEAD")
        assert (code, why(answer)) == (ExitCode.FINDINGS, {"lost_one": "its cached record cannot be used"}), change


def test_marks_of_a_baseline_are_not_kept(
    project: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An explained finding is kept once more, when the findings are marked already."""

    def explain(_: Explainer, run: RunRecord) -> None:
        for finding in run.findings:
            finding.cause = Cause(kind="order", sentence="Missing order: B before A.")

    monkeypatch.setattr(Explainer, "run", explain)
    project.scenario("lost_one")
    commit()
    gate(capsys)
    assert main(["baseline", "update", "known.json", "--out", "out"]) == 0
    records()[0].unlink()
    assert gate(capsys, "--baseline", "known.json")[0] == ExitCode.CLEAN
    code, answer = gate(capsys, "--since", "HEAD")
    assert (code, why(answer)) == (ExitCode.FINDINGS, {"lost_one": ""})
    (path,) = records()
    assert '"cause": {"kind": "order"' in path.read_text() and '"baseline"' not in path.read_text()


def test_moved_lines_are_explored_again_where_findings_name_lines(
    project: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project.scenario("clean")
    project.scenario("lost_one")
    commit()
    gate(capsys)
    real = elf_code.of_file
    monkeypatch.setattr(elf_code, "of_file", lambda path, **kw: elf_code.Code(code=real(path).code, lines="moved"))
    found = why(gate(capsys, "--since", "HEAD")[1])
    assert found == {"clean": "", "lost_one": "lines of the source moved, and its findings name lines"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--since", "nowhere"], "there is no revision 'nowhere' here"),
        (["--since", ""], "'' is no revision"),
        (["--since=--all"], "'--all' is no revision"),
        (["--since", "HEAD", "--record", "/bin/true", "--pool", "p"], "--since cannot be combined with --record"),
    ],
)
def test_bad_revisions(project: Any, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    project.scenario("clean")
    target = [] if "--record" in arguments else ["level"]
    assert main(["run", *target, *arguments, "--out", "out", "--format", "markdown"]) == ExitCode.USAGE
    assert words in capsys.readouterr().err
    assert "✅" not in Path("out/summary.md").read_text(), "the summary says it too"


def test_outside_a_repository(house: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    house.scenario("clean")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(house.root.parent))
    assert main(["run", "level", "--since", "main"]) == ExitCode.USAGE
    assert "the working folder is in no git repository" in capsys.readouterr().err


def test_old_records_go_first(tmp_path: Path) -> None:
    import os

    for number in range(4):
        path = tmp_path / "records" / "ab" / f"{number}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x" * 100)
        os.utime(path, (number, number))
    run_cache.prune(tmp_path, limit=250)
    assert sorted(path.name for path in tmp_path.rglob("*.json")) == ["2.json", "3.json"]


SOURCE = (
    "static int helper(int x) {{ return x * {factor}; }}\n{comment}\nint answer(int x) {{ return helper(x) + 1; }}\n"
)


def built(folder: Path, *, factor: int = 3, comment: str = "", flags: tuple[str, ...] = ()) -> elf_code.Code:
    folder.mkdir(exist_ok=True)
    source, library = folder / "a.c", folder / "liba.so"
    source.write_text(SOURCE.format(factor=factor, comment=comment))
    assert main_cc(["-O1", "-shared", "-fPIC", "-o", str(library), str(source), *flags]) == 0
    return elf_code.of_file(library)


def test_a_comment_changes_lines_and_no_code(tmp_path: Path) -> None:
    first = built(tmp_path)
    assert built(tmp_path) == first, "a rebuild changes nothing"
    commented = built(tmp_path, comment="/* a\n\n comment */")
    assert commented.code == first.code and commented.lines != first.lines
    assert built(tmp_path, factor=5).code != first.code
    stamped = built(tmp_path, flags=("-Wl,--build-id=0x1234",))
    assert stamped.code == first.code


def test_code_of_a_library_that_is_linked_dynamically_counts(tmp_path: Path) -> None:
    def whole(factor: int) -> elf_code.Code:
        built(tmp_path, factor=factor)
        (tmp_path / "b.c").write_text("int answer(int); int twice(int x) { return 2 * answer(x); }\n")
        words = ["-shared", "-fPIC", "-o", str(tmp_path / "libb.so"), str(tmp_path / "b.c"), f"-L{tmp_path}", "-la"]
        assert main_cc([*words, f"-Wl,-rpath,{tmp_path}"]) == 0
        return elf_code.of_file(tmp_path / "libb.so")

    first = whole(3)
    assert whole(3).code == first.code
    assert whole(4).code != first.code


def test_what_is_no_elf_file_is_hashed_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.so"
    seen = set()
    for content in (b"", b"text", b"\x7fELF\x02\x01", b"\x7fELF\x02\x01" + b"\xff" * 80):
        path.write_bytes(content)
        seen.add(elf_code.of_file(path).code)
    assert len(seen) == 4
