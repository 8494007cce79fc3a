"""Programs by gcc, which has no plugin: a bug is found, its twin is clean, and what is lost is said."""

import json
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.compile import cc
from tests.real_engine import require_engine

EXAMPLE = paths.home() / "docs" / "examples" / "raw-intrinsics" / "ledger.c"
LOST = "nothing is stored, flushed or fenced by inline assembly or by libraries that were not rebuilt"
STORED = """
#include <fcntl.h>
#include <immintrin.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char** argv) {
  int file = open(argv[argc - 1], O_RDWR | O_CREAT, 0644);
  if (ftruncate(file, 4096) != 0) return 1;
  long* pool = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  pool[0] = 1;
"""
UNSEEN = f"""{STORED}
  __asm__ volatile("movq $7, %0" : "=m"(pool[64]));
  return 0;
}}
"""

#: A flush and a fence that nobody sees: without them the store would be a bug.
FLUSHED = f"""{STORED}
  FLUSH
  pool[64] = 1;
  _mm_clwb(&pool[64]);
  _mm_sfence();
  return 0;
}}
"""
ASSEMBLY = '__asm__ volatile("clflush %0" : "+m"(pool[0])); __asm__ volatile("lock; addl $0, (%%rsp)" ::: "memory");'
INTRINSICS = "_mm_clflush(&pool[0]); _mm_mfence();"


def judged(
    capsys: pytest.CaptureFixture[str], folder: Path, text: str, *flags: str, create: bool
) -> tuple[int, dict[str, object]]:
    """The exit code and the run of a program that gcc builds from `text`."""
    source, program, pool = folder / "program.c", folder / "program", folder / "a.pool"
    source.write_text(text, encoding="utf-8")
    assert cc.run(["-std=gnu11", "-O2", "-mclwb", *flags, str(source), "-o", str(program)], cxx=False) == 0
    assert "inline assembly, and libraries that are not rebuilt, are not seen" in capsys.readouterr().err
    check = f"{program} check {pool}" if create else "true"
    command = ["run", "--record", f"{program} run {pool}", "--recover", check, "--pool", str(pool), "--json"]
    command += ["--explain", "0"]
    command += ["--setup", f"{program} create {pool}"] if create else []
    code = main([*command, "--out", str(folder / "out")])
    return code, json.loads(capsys.readouterr().out)["runs"][0]


@pytest.fixture(autouse=True)
def gcc(monkeypatch: pytest.MonkeyPatch) -> None:
    require_engine()
    monkeypatch.setenv("POWERCUT_CLANG", "gcc")


@pytest.mark.parametrize(
    ("flags", "code", "verdict"), [((), ExitCode.CLEAN, "consistent"), (("-DBUG",), ExitCode.FINDINGS, "inconsistent")]
)
def test_the_bug_is_found_and_its_twin_is_clean(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, flags: tuple[str, ...], code: ExitCode, verdict: str
) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    ended, run = judged(capsys, tmp_path, text, *flags, create=True)
    assert (ended, run["verdict"]) == (code, verdict)
    assert LOST in str(run["assumptions"])


def test_a_store_of_inline_assembly_is_noticed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ended, run = judged(capsys, tmp_path, UNSEEN, create=False)
    assert (ended, run["verdict"]) == (ExitCode.INCOMPLETE, "unknown")
    assert "without a recorded store" in str(run)


@pytest.mark.parametrize(
    ("flush", "code", "verdict"),
    [(ASSEMBLY, ExitCode.INCOMPLETE, "unknown"), (INTRINSICS, ExitCode.CLEAN, "consistent")],
)
def test_a_flush_of_inline_assembly_makes_no_finding(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, flush: str, code: ExitCode, verdict: str
) -> None:
    ended, run = judged(capsys, tmp_path, FLUSHED.replace("FLUSH", flush), create=False)
    assert (ended, run["verdict"]) == (code, verdict)
    said = "inline assembly of program has 1 clflush, 1 lock (first in main)"
    assert (said in str(run)) == (flush == ASSEMBLY)
