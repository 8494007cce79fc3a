"""The conformance suite of all tracers: each program has one normal form, under the compiler pass and under the tool.

The pass sees the program that it instrumented; the tool sees the program that the compiler makes without the pass. One
`memcpy` is a record to the pass and many instructions to the tool. The durable and the visible bytes are equal at every
fence. Programs for which Valgrind 3.19 has no instructions (AVX-512, direct stores) must say so.
"""

import os
import subprocess
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.compile import cc
from tracer.valgrind.tests.valgrind_runs import Recording, record

SUITE = paths.home() / "tracer/llvm/tests/programs"
PROGRAMS = sorted(path for path in SUITE.iterdir() if path.suffix in {".c", ".cc"})
UNKNOWN_TO_VALGRIND = frozenset({"direct_stores", "nontemporal_avx512", "vectors_avx512"})
#: A stand-in for the tracer's runtime.
UNTRACED = Path(__file__).parent / "untraced.c"
INCLUDE = f"-I{paths.home() / 'targets/include'}"


def wishes(source: Path, name: str) -> list[str]:
    """The words of the program's comment `// name: ...`."""
    for line in source.read_text(encoding="utf-8").splitlines():
        if line.startswith(f"// {name}: "):
            return line.split(": ", 1)[1].split()
    return []


def build(source: Path, level: str, folder: Path) -> tuple[Path, Path]:
    """The program through the pass, and as it is."""
    traced, plain, runtime = folder / "traced", folder / "plain", folder / "untraced.o"
    flags = [f"-{level}", INCLUDE, *wishes(source, "flags")]
    cxx = source.suffix == ".cc"
    subprocess.run(cc.build_command([*flags, str(source), "-o", str(traced)], cxx=cxx), check=True)
    subprocess.run(["clang-19", "-c", INCLUDE, UNTRACED, "-o", runtime], check=True)
    compiler = "clang++-19" if cxx else "clang-19"
    subprocess.run([compiler, "-g", *flags, source, runtime, "-o", plain, "-lpthread"], check=True)
    return traced, plain


def normal_form(trace: Path) -> str:
    done = subprocess.run([paths.engine(), "dump", "--normal", "--trace", trace], check=True, stdout=subprocess.PIPE)
    # A program without phases of its own begins with one; the pass makes none.
    return done.stdout.decode().removeprefix("cut\nphase run\n")


def run_both(source: Path, level: str, folder: Path) -> tuple[str, Recording]:
    traced, plain = build(source, level, folder)
    trace = folder / "traced.pct"
    subprocess.run([traced], check=True, env={**os.environ, "POWERCUT_TRACE": str(trace)})
    return normal_form(trace), record([plain], folder)


def level_of(source: Path) -> str:
    return wishes(source, "levels")[0] if wishes(source, "levels") else "O2"


@pytest.mark.parametrize("source", PROGRAMS, ids=lambda source: source.stem)
def test_same_normal_form(source: Path, tmp_path: Path) -> None:
    cpu = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    if missing := set(wishes(source, "cpu")) - set(cpu):
        pytest.skip(f"this processor lacks {' '.join(sorted(missing))}")
    form, run = run_both(source, level_of(source), tmp_path)
    if source.stem in UNKNOWN_TO_VALGRIND:
        assert run.status == -4  # SIGILL
        assert "without AVX-512 and direct stores" in run.stderr
        assert any("does not know the instruction" in note["text"] for note in run.converted["notes"])
        return
    assert run.status == 0, run.stderr
    assert normal_form(run.trace) == form


@pytest.mark.long
@pytest.mark.parametrize("source", [s for s in PROGRAMS if s.stem not in UNKNOWN_TO_VALGRIND], ids=lambda s: s.stem)
def test_same_normal_form_without_optimisation(source: Path, tmp_path: Path) -> None:
    form, run = run_both(source, level_of(source) if wishes(source, "levels") else "O0", tmp_path)
    assert run.status == 0, run.stderr
    assert normal_form(run.trace) == form


def test_a_missing_flush_is_another_form(tmp_path: Path) -> None:
    """The comparison itself can fail: a program without its flush has another form."""
    source = tmp_path / "flushes.c"
    body = '#include <immintrin.h>\n#include "pool.h"\nvoid run(char* pool) { *AT(int, 0) = 1; %s _mm_sfence(); }\n'
    forms = []
    for flush in ("_mm_clwb(pool);", ""):
        folder = tmp_path / f"flush{len(forms)}"
        folder.mkdir()
        source.write_text(f"// flags: -mclwb -I{SUITE}\n{body % flush}", encoding="utf-8")
        form, run = run_both(source, "O2", folder)
        assert normal_form(run.trace) == form
        forms.append(form)
    assert forms[0] != forms[1]
