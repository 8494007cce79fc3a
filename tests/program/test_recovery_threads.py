"""Recoveries that start threads are followed where they run, without Valgrind."""

from pathlib import Path

import pytest

from tests.program.builds import compiled
from tests.program.program_mode import SOURCE, Answer, Kv

PROGRAM = SOURCE.with_name("recovers_by_threads.cc")


def judged(kv: Kv, build: str, *flags: str, images: int = 64) -> Answer:
    words = ["-std=c++20", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", *flags, PROGRAM]
    compiled(kv.folder / "llvm", words, cxx=True)
    if build == "plain":
        compiled(kv.folder / "plain", words, traced=False, cxx=True)
    # Without Valgrind's help: a recovery that cannot be followed has no reads to tell.
    kv.monkeypatch.setenv("POWERCUT_VALGRIND", str(Path("/no/such/valgrind")))
    commands = ["--record", "./llvm run pool", "--recover", f"./{build} check pool", "--pool", "pool"]
    return kv.cli(
        "run", *commands, "--explain", "0", "--images", str(images), "--budget", "30s", "--format", "text", "--json"
    )


@pytest.mark.parametrize("build", ["llvm", "plain"])
def test_viper_falls_back_to_valgrind(kv: Kv, build: str) -> None:
    answer = judged(kv, build)
    assert (answer.code, answer.run["verdict"], answer.run["coverage"]["kind"]) == (0, "consistent", "complete")
    assert int(answer.run["crash_states"]) > 100 > 4 * answer.run["executions"]
    assert not any("not pruned" in note or "Valgrind" in note for note in answer.run["not_checked"]["notes"])


@pytest.mark.parametrize("build", ["llvm", pytest.param("plain", marks=pytest.mark.long)])
def test_a_bug_that_the_threads_of_a_recovery_see(kv: Kv, build: str) -> None:
    answer = judged(kv, build, "-DBUG", images=4)  # none of its images is like another: each is run
    assert (answer.code, answer.run["verdict"]) == (1, "inconsistent")
    assert not any("not pruned" in note or "Valgrind" in note for note in answer.run["not_checked"]["notes"])
    assert {item["invariant"] for item in answer.run["findings"]} == {"recovery-failed"}
