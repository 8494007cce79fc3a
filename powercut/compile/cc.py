"""`powercut cc` and `powercut c++`: the user's compiler with the tracer's instrumentation and runtime.

Meant as `CC=` and `CXX=` of a foreign build: every argument is passed through, and what is added suits each
of the compiler's jobs (preprocessing, compiling, linking, dependency lists). Arguments that a job does not use
stand between `--start-no-unused-arguments` and `--end-no-unused-arguments`, so that `-Werror` builds keep
working.

`compilers.py` says which compiler is taken; `POWERCUT_CLANG` and `POWERCUT_CLANGXX` name one. `callbacks.py` has what
one without a plugin is told.
"""

import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from powercut.base import paths
from powercut.base.errors import PowercutError, UsageError
from powercut.compile import callbacks, compilers

# The compiler stops before linking, or does not compile at all.
_NO_LINK = frozenset({"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "-emit-ast", "--precompile", "-r"})
_ONLY_TELL = ("-print-", "--print-", "-dump", "--version", "--help", "-###")
# Their next argument is a value, whatever it looks like.
_TAKES_VALUE = frozenset(
    {"-o", "-x", "-I", "-D", "-U", "-L", "-l", "-include", "-isystem", "-iquote", "-idirafter", "-imacros", "-MF"}
    | {"-MT", "-MQ", "-Xlinker", "-Xclang", "-Xassembler", "-Xpreprocessor", "-arch", "-target", "-T", "-u", "-z"}
    | {"-mllvm", "--param", "-isysroot", "-framework", "-rpath", "-soname"}
)
_MAX_RESPONSE_DEPTH = 8


def build_command(argv: Sequence[str], *, cxx: bool) -> list[str]:
    """The compiler call for `argv` (without a program name). Raises `UsageError` when a part is missing."""
    return command_of(compilers.find(cxx=cxx), argv)


def command_of(compiler: compilers.Compiler, argv: Sequence[str]) -> list[str]:
    """Returns the call of `compiler` for `argv` (without a program name)."""
    arguments = list(_expand(argv, depth=0))
    # After all of the program's own folders, so that nothing of it is hidden.
    always = (f"-idirafter{paths.include_dir()}", "-g", "-fno-omit-frame-pointer")
    if compiler.plugin:
        ours = [f"-fpass-plugin={_library(compiler.plugin)}", *compiler.options, *always]
        command = [compiler.path, *_maybe_unused(compiler, ours), *argv]
    else:
        ours = [*callbacks.options(compiler), *always]
        command = [compiler.path, *_maybe_unused(compiler, ours), *argv, *callbacks.LAST]
    if _links(arguments):
        if "-static" in arguments or "-static-pie" in arguments:
            raise UsageError(
                "the tracer's runtime is a shared library and cannot be linked statically",
                where=Path(compiler.path).name + " -static",
                next_step="Leave -static out of the link flags of the traced build.",
            )
        runtime = _library("libpowercut_rt.so")
        command += [f"-L{runtime.parent}", "-lpowercut_rt", f"-Wl,-rpath,{runtime.parent}", "-Wl,--build-id"]
    return command


def run(argv: Sequence[str], *, cxx: bool) -> int:
    """Runs the compiler; returns its exit status (128 + signal when a signal ended it)."""
    compiler = compilers.find(cxx=cxx)
    if compiler.plugin is None and _links(list(_expand(argv, depth=0))):
        print(f"powercut {'c++' if cxx else 'cc'}: {callbacks.said_of(compiler)}", file=sys.stderr)
    status = subprocess.run(command_of(compiler, argv), check=False).returncode
    return status if status >= 0 else 128 - status


def main_cc(argv: Sequence[str]) -> int:
    """`powercut cc`."""
    return _main(argv, cxx=False)


def main_cxx(argv: Sequence[str]) -> int:
    """`powercut c++`."""
    return _main(argv, cxx=True)


def _main(argv: Sequence[str], *, cxx: bool) -> int:
    try:
        return run(argv, cxx=cxx)
    except PowercutError as error:
        print(f"powercut {'c++' if cxx else 'cc'}: {error}", file=sys.stderr)
        return error.exit_code


def _maybe_unused(compiler: compilers.Compiler, options: Sequence[str]) -> list[str]:
    """`options`, of which clang does not say that its job has no use for them. gcc never does."""
    if compiler.kind == "gcc":
        return list(options)
    return ["--start-no-unused-arguments", *options, "--end-no-unused-arguments"]


def _library(name: str) -> Path:
    path = paths.library_dir() / name
    if not path.is_file():
        raise UsageError("not built yet", where=str(path), next_step=paths.BUILD_STEP)
    return path


def _expand(argv: Sequence[str], *, depth: int) -> Iterator[str]:
    """`argv` with the contents of response files (`@file`) in their place, to look at; clang reads its own."""
    for argument in argv:
        if not argument.startswith("@") or depth >= _MAX_RESPONSE_DEPTH:
            yield argument
            continue
        try:
            text = Path(argument[1:]).read_text(encoding="utf-8", errors="replace")
            inner = shlex.split(text)
        except (OSError, ValueError):
            yield argument  # clang says what is wrong with it
            continue
        yield from _expand(inner, depth=depth + 1)


def _links(arguments: Sequence[str]) -> bool:
    """Whether the call ends in a link: it names an input and nothing stops the compiler before."""
    has_input = False
    values = iter(arguments)
    for argument in values:
        if argument in _TAKES_VALUE:
            # A library alone is an input as well: `cc -lfoo` links.
            has_input |= argument == "-l"
            next(values, None)
        elif argument in _NO_LINK or argument.startswith(_ONLY_TELL):
            return False
        elif argument == "-" or not argument.startswith("-") or argument.startswith("-l"):
            has_input = True
    return has_input
