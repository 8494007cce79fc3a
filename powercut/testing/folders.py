"""Crash tests of Python functions that keep their data in a folder.

    def test_settings():
        powercut.check_files(save, [{"colour": "blue"}, {"colour": "red"}], recover=load)

A recorded process calls `save(folder, operation)` for each operation. `load(folder)` is called on every folder that a
power cut may leave. It must not raise, and must return what it returns after an operation: after the last one that has
ended, or after the one that was cut.
"""

import inspect
import os
import pickle
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.cause.explain import Explainer
from powercut.engine.options import ExploreOptions, parse_budget
from powercut.program.options import ProgramOptions
from powercut.runs import program_requests, runner
from powercut.testing import drafts, folder_program
from powercut.testing.api import Result, Session, current

#: In the output folder: the calls of tests, each in a folder of its own.
FOLDER = "folders"
_CALL, _DATA = "call", "data"


def check_files(
    write: Callable[..., object],
    operations: Iterable[object] | None = None,
    *,
    recover: Callable[[Path], object],
    setup: Callable[[Path], object] | None = None,
    continuation: Callable[[Path], object] | None = None,
    fs: str | None = None,
    nested: int = 0,
    seed: int = 1,
    budget: str | None = None,
    timeout: str = "30s",
    complete: bool = False,
    name: str | None = None,
) -> Result:
    """Cuts the power at every moment of `write`, and has `recover` look at every folder that this may leave.

    `write(folder, operation)` is called for each of the operations, without them `write(folder)` once. `setup(folder)`
    makes what is there and durable before. `continuation(folder)` is the work of a second life: it runs behind
    `recover`, and the power is cut once more. `fs`: file systems, such as "ext4,posix"; None: those that people have.
    `timeout` is that of each call of `recover`. `nested` 1 also cuts the power inside of `recover`. `complete` also
    fails where a `budget` ran out.

    Raises InconsistentError for findings and UnknownError where nothing was judged, with the report as the message.
    """
    session = current()
    draft = drafts.in_progress()
    called = name or ("example" if draft else session.naming())
    place = (drafts.folder() if draft else session.out) / FOLDER / runner.slug(called)
    functions = {"write": write, "recover": recover}
    functions |= {what: each for what, each in (("setup", setup), ("continue", continuation)) if each}
    _write_call(place, functions, operations)
    given = _options(place, functions, fs=fs, nested=nested, timeout=timeout, name=called)
    limit = parse_budget(budget or session.budget)
    options = ExploreOptions(nested=nested, seed=seed, budget=limit, keep_going=session.keep_going)
    request = program_requests.run_request(given, options, out=session.out)
    header = {**request.header, "scenario": write.__qualname__}
    request = replace(request, name=called, slug=runner.slug(called), header=header)
    result = Result(runs=(drafts.judge(request),)) if draft else session.judge([request])
    if not draft and result.findings:
        _explain(result, session)
    result.check(complete=complete)  # from here alone, for Hypothesis to see one failure
    return result


def _explain(result: Result, session: Session) -> None:
    """Looks for the cause of the first finding, and tries a sync that mends it."""
    with (
        runner.open_context(paths.engine(), session.out) as context,
        Explainer(context=context, most=1, jobs=session.jobs or 1) as explainer,
    ):
        for run in result.runs:
            explainer.run(run)


def _options(
    place: Path, functions: dict[str, Callable[..., object]], *, fs: str | None, nested: int, timeout: str, name: str
) -> ProgramOptions:
    program = folder_program.__file__

    def command(what: str) -> str:
        return shlex.join([sys.executable, program, what, _CALL, _DATA])

    # The lines of the dump are compared; recovery by itself is started where its own calls are cut as well.
    idle = shutil.which("true")
    return ProgramOptions(
        files=_DATA,
        record=command("write"),
        setup=command("setup") if "setup" in functions else None,
        recover=command("recover") if nested or "continue" in functions or idle is None else idle,
        continuation=command("continue") if "continue" in functions else None,
        dump=command("recover"),
        ordered=True,
        fs=fs,
        timeout=timeout,
        cwd=place,
        name=name,
    )


def _write_call(place: Path, functions: dict[str, Callable[..., object]], operations: Iterable[object] | None) -> None:
    rows: list[tuple[str, ...]] = [(name, *_named(each, name)) for name, each in functions.items()]
    rows += [("path", os.path.abspath(entry)) for entry in sys.path]
    place.mkdir(parents=True, exist_ok=True)
    (place / _CALL).write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    try:
        listed = pickle.dumps(None if operations is None else list(operations))
    except Exception as error:  # whatever an object of the user's raises
        raise UsageError(
            f"the operations cannot be handed to another process ({error})",
            where="powercut.check_files",
            next_step="Use values that 'pickle' takes, such as numbers, texts, tuples and dictionaries.",
        ) from error
    (place / folder_program.OPERATIONS).write_bytes(listed)


def _named(given: Callable[..., object], what: str) -> tuple[str, str, str]:
    """Where another process finds a function: its module, the file of the module, and its name there."""
    name: str = getattr(given, "__qualname__", "")
    module = inspect.getmodule(given)
    file = getattr(module, "__file__", None)
    if not name or "<" in name or module is None or file is None:
        raise UsageError(
            f"{what}: {name or repr(given)} cannot be called by another process",
            where="powercut.check_files",
            next_step="Write a function at the top level of a module; its data goes into the operations.",
        )
    return module.__name__, os.path.abspath(file), name
