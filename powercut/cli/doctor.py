"""Lists the parts that this installation has and lacks, each with the next step.

Known inaccuracy: the CPU's features matter only to code that runs on real persistent memory; judging
needs none of them, since the engine's pool is ordinary memory.
"""

import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.compile import compilers, load_test
from powercut.program import pin, pmemcheck, valgrind


@dataclass(frozen=True, kw_only=True)
class Check:
    """One line of the doctor."""

    name: str
    ok: bool
    #: Without a required part nothing can be judged.
    required: bool
    detail: str
    next_step: str = ""


def examine() -> list[Check]:
    """Every check, in the order of the way through the house."""
    return [
        _program("clang-19", required=True, package="clang-19"),
        _program("llvm-symbolizer-19", required=True, package="llvm-19"),
        *map(_pass, compilers.PLUGINS),
        _gcc(),
        _file("runtime", paths.library_dir() / "libpowercut_rt.so"),
        _engine(),
        _targets(),
        *_cpu(("clwb", "clflushopt", "avx512f")),
        _program("chromium", required=False, package="chromium", purpose="the tests of the HTML report"),
        _valgrind(),
        _pin(),
        _pmemcheck(),
    ]


def _program(name: str, *, required: bool, package: str, purpose: str = "") -> Check:
    path = shutil.which(name)
    wanted = f", for {purpose}" if purpose else ""
    return Check(
        name=name,
        ok=path is not None,
        required=required,
        detail=path or f"not installed{wanted}",
        next_step="" if path else f"Run 'make setup', or 'apt-get install {package}'.",
    )


def _file(name: str, path: Path) -> Check:
    ok = path.is_file()
    return Check(
        name=name,
        ok=ok,
        required=True,
        detail=str(path) if ok else f"{path} was not built",
        next_step="" if ok else paths.BUILD,
    )


def _pass(major: int) -> Check:
    """The plugin for a clang, loaded by it. All but that of the first are for code that is built with others."""
    required = major == next(iter(compilers.PLUGINS))
    name, clang = f"compiler pass for clang {major}", f"clang-{major}"
    built = _file(name, paths.library_dir() / compilers.PLUGINS[major])
    if not built.ok:
        step = built.next_step if required or paths.installed() else f"Install llvm-{major}-dev and run 'make build'."
        return replace(built, required=required, next_step=step)
    path = shutil.which(clang)
    if path is None:
        step = f"For code that is built with it, run 'apt-get install {clang}'."
        return Check(name=name, ok=False, required=False, detail=f"{clang} is not installed", next_step=step)
    wrong = load_test.problem(compilers.Compiler(path=path, major=major))
    if not wrong:
        return replace(built, required=required, detail=f"{built.detail}, load-tested with {path}")
    detail = f"{path} with {built.detail} {wrong}"
    return Check(name=name, ok=False, required=required, detail=detail, next_step=paths.BUILD)


def _gcc() -> Check:
    """gcc's callbacks, which stand in for a plugin."""
    name, path = "gcc without a plugin", shutil.which("gcc")
    if path is None or not (major := compilers.gcc_major(path)):
        step = "For code that is built with it, run 'apt-get install gcc' and set POWERCUT_CLANG=gcc."
        return Check(name=name, ok=False, required=False, detail="not installed", next_step=step)
    wrong = load_test.problem(compilers.Compiler(path=path, major=major, kind="gcc"))
    detail = f"{path}, gcc {major}, " + (wrong or f"load-tested with -fsanitize=thread; {compilers.LOST_BY_CALLBACKS}")
    step = f"See whether '{path} -fsanitize=thread -c' compiles a file." if wrong else ""
    return Check(name=name, ok=not wrong, required=False, detail=detail, next_step=step)


def _engine() -> Check:
    path = Path(os.environ.get("POWERCUT_ENGINE") or paths.build_dir() / "bin" / paths.ENGINE_NAME)
    try:
        done = subprocess.run([str(path), "--version"], capture_output=True, text=True, check=False, timeout=10)
        ok = done.returncode == 0
        detail = f"{path} ({done.stdout.strip() or 'no version'})" if ok else f"{path}: exit status {done.returncode}"
    except (OSError, subprocess.TimeoutExpired) as error:
        ok, detail = False, f"{path}: {getattr(error, 'strerror', None) or error}"
    return Check(name="engine", ok=ok, required=True, detail=detail, next_step="" if ok else paths.BUILD)


def _targets() -> Check:
    names = [path.name for path in sorted(paths.library_dir().glob("libpowercut-*.so"))]
    return Check(
        name="targets",
        ok=bool(names),
        required=True,
        detail=", ".join(names) or f"none in {paths.library_dir()}",
        next_step="" if names else paths.BUILD,
    )


def cpu_flags(text: str) -> frozenset[str]:
    """The feature flags in the text of /proc/cpuinfo."""
    line = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return frozenset(line.partition(":")[2].split())


def _cpu(names: Iterable[str]) -> list[Check]:
    try:
        flags = cpu_flags(Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        flags = frozenset()
    step = "Nothing to do: judging needs no such CPU, only real persistent memory does."
    return [
        Check(
            name=f"CPU {name}",
            ok=name in flags,
            required=False,
            detail="present" if name in flags else "absent",
            next_step="" if name in flags else step,
        )
        for name in names
    ]


def _valgrind() -> Check:
    try:
        detail, next_step = f"{valgrind.launcher()}, tool in {valgrind.tool_folder()}", ""
    except UsageError as missing:
        detail, next_step = f"{missing.what}: unmodified programs cannot be recorded", missing.next_step
    return Check(name="Valgrind tool", ok=not next_step, required=False, detail=detail, next_step=next_step)


def _pin() -> Check:
    lacks = pin.missing()
    what, next_step = lacks or (f"{pin.tool()}, kit in {pin.kit()}", "")
    return Check(name="Intel Pin", ok=lacks is None, required=False, detail=what, next_step=next_step)


def _pmemcheck() -> Check:
    found = pmemcheck.find()
    named = os.environ.get(pmemcheck.VARIABLE)
    absent = f"absent: {pmemcheck.VARIABLE}={named} has no such tool" if named else "absent: no Valgrind here has it"
    return Check(
        name="pmemcheck",
        ok=found is not None,
        required=False,
        detail=found or absent,
        next_step="" if found else "Nothing to do: the powercut Valgrind tool does the same job, and logs are read.",
    )
