"""A house of its own for every test: scenarios, target libraries and an engine that replays canned events."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import powercut
from powercut.scenarios import catalog, targets
from powercut.testing.session import made_by
from tests.program import builds, program_mode
from tests.real_engine import require_engine

SOURCE = Path(__file__).with_name("fake_engine.py")
SCENARIO = """\
schema = 1
name = "{name}"
summary = "For a test."
targets = {targets}
core = {core}

[config]
top = 4
auto_expand = true

[pool]
size = "256KiB"

[[phase]]
name = "main"
steps = [{{ op = "insert", from = 1, to = 12 }}]
"""


@dataclass(frozen=True)
class House:
    """A project folder with a fake build."""

    root: Path

    @property
    def out(self) -> Path:
        return self.root / "out"

    def library(self, name: str) -> Path:
        path = self.root / "build" / "lib" / f"libpowercut-{name}.so"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        return path

    def scenario(
        self, name: str, *, folder: str = "core", targets: str = '["level"]', core: bool = True, extra: str = ""
    ) -> Path:
        path = self.root / "scenarios" / folder / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = SCENARIO.format(name=name, targets=targets, core=str(core).lower())
        path.write_text(text + extra)
        return path

    def known_bug(self, name: str, *, expected: str = '["lost-item"]') -> Path:
        table = f'[known_bug]\ntoggle = "{name}"\nexpected = {expected}\nsource = "a test"\n'
        return self.scenario(name, folder="known_bugs/level", core=False, extra=table)


def engine_program(folder: Path) -> Path:
    """The fake engine as a program that starts fast: this interpreter, without site-packages, with compiled code."""
    program = folder / "fake-engine"
    imported = f"sys.path.append({str(SOURCE.parent)!r})\nimport {SOURCE.stem}"
    program.write_text(f"#!{sys.executable} -ISs\nimport sys\n{imported}\n{SOURCE.stem}.main()\n")
    program.chmod(0o755)
    return program


@pytest.fixture(scope="session")
def session_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of this session have."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session", autouse=True)
def shared_builds(session_folder: Path) -> None:
    """Programs that tests compile are compiled once in a session."""
    builds.keep_in(session_folder / "builds")


@pytest.fixture(scope="session")
def real_engine() -> None:
    """Skips where there is no engine."""
    require_engine()


@pytest.fixture
def folder(real_engine: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder for the real engine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


@pytest.fixture
def own_session() -> Iterator[None]:
    """As outside of pytest: the plugin's session is that of this test, in the project's folder."""
    with made_by(lambda: powercut.Session(out=Path(".powercut"))):
        yield


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    monkeypatch.setenv("POWERCUT_HOME", str(tmp_path))
    monkeypatch.setenv("POWERCUT_BUILD", str(tmp_path / "build"))
    monkeypatch.setenv("POWERCUT_ENGINE", str(engine_program(tmp_path)))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    made = House(tmp_path)
    made.library("level")
    made.library("patterns")
    catalog.forget()
    targets.forget()
    yield made
    catalog.forget()
    targets.forget()


@pytest.fixture(scope="session")
def kv_build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the builds of the test program of program mode."""
    require_engine()
    folder = tmp_path_factory.mktemp("kv")
    program_mode.build(folder)
    return folder


@pytest.fixture
def kv(
    kv_build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> program_mode.Kv:
    """A folder of its own with the test program, which is the working folder."""
    for program in kv_build.iterdir():
        (tmp_path / program.name).symlink_to(program)
    for variable in ("KV_BUG", "KV_EXTRA", "POWERCUT_STREAM", "PMEM_IS_PMEM_FORCE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)
    return program_mode.Kv(tmp_path, monkeypatch, capsys)
