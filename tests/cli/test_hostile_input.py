"""Files that nobody meant as input (issue B1, 7): each ends with exit code 2 or 3 and a sentence."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from powercut.base import trust, user_files
from powercut.base.errors import UsageError
from powercut.base.exit_codes import ExitCode
from powercut.base.output_files import write_json
from powercut.cli.main import main
from powercut.findings.collector import blank_run
from powercut.findings.finding_records import FINDING_VERSION
from tests.cli.test_cli_bad_input import refused


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


HOSTILE: dict[str, Callable[[Path], None]] = {
    "a_fifo": pipe,
    "a_device": device,
    "a_folder": Path.mkdir,
    "empty": Path.touch,
    "not_utf8": lambda path: path.write_bytes(b"\xff\xfe\x00"),
    "deep_json": lambda path: path.write_text("[" * 200_000),
    "deep_but_closed": lambda path: path.write_text("[" * 500 + "]" * 500),
    "deep_toml": lambda path: path.write_text("a = " + "[" * 100_000 + "]" * 100_000),
    "huge_number": lambda path: path.write_text("1" * 10_000),
    "huge_number_in_toml": lambda path: path.write_text("schema = " + "1" * 10_000),
    "nan": lambda path: path.write_text('{"run": NaN}'),
    "a_list": lambda path: path.write_text("[1, 2]"),
    "a_lone_surrogate": lambda path: path.write_text('{"finding": "\\ud800", "run": "\\ud800"}'),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_no_input_is_refused_by_every_reader(
    house: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path, kind: str
) -> None:
    runs = tmp_path / "out" / "runs"
    runs.mkdir(parents=True)
    HOSTILE[kind](runs / "x.json")
    file = str(runs / "x.json")
    refused(capsys, "report", str(tmp_path / "out"))
    for verb in ("reproduce", "explain", "minimise"):
        refused(capsys, verb, file)
    refused(capsys, "run", "level", "--baseline", file)
    refused(capsys, "run", "level", "--suppressions", file)
    if kind != "a_folder":
        scenario = house.root / "scenarios" / "core" / "odd.toml"
        scenario.parent.mkdir(parents=True, exist_ok=True)
        os.replace(file, scenario)
        refused(capsys, "run", "level", "--scenario", "odd")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("findings", {"a": 1}),
        ("findings", [1]),
        ("findings", [{}]),
        ("findings", [{"fingerprint": 3}]),
        ("performance_bugs", [{"kind": 3}]),
        ("coverage", {"kind": "complete", "covered": []}),
        ("not_checked", []),
        ("not_checked", {"notes": 3}),
        ("seconds", "long"),
        ("maxima", 7),
        ("assumptions", 3),
        ("error", {"what": None}),
        ("target", None),
    ],
)
def test_a_wrong_type_in_a_run_record(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, field: str, value: object
) -> None:
    record = {**blank_run({"target": "level"}).as_json(), field: value}
    write_json(tmp_path / "runs" / "x.json", record)
    code = main(["report", str(tmp_path), "--format", "text,html,sarif,junit,github,markdown"])
    said = capsys.readouterr().err
    assert code in (ExitCode.FINDINGS, ExitCode.USAGE, ExitCode.INCOMPLETE)
    assert "Traceback" not in said
    assert said.strip()


def test_a_damaged_checkpoint_of_a_recording_is_none(tmp_path: Path) -> None:
    from powercut.findings.checkpoints import of_run

    checkpoint = of_run(tmp_path, "x")
    for content in ("[]", "3", '{"plan": 1}', '{"plan": {"a": 1}, "recorded": [1]}', "[" * 5000, ""):
        checkpoint.recording.parent.mkdir(exist_ok=True)
        checkpoint.recording.write_text(content)
        try:
            assert checkpoint.recorded({"a": 1}, tmp_path / "none.pct") is None
        except UsageError as error:
            assert "another plan" in error.what


def test_a_path_that_is_not_utf8(house: Any, tmp_path: Path) -> None:
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe")
    os.mkdir(odd)
    for arguments in (["report", odd], ["reproduce", f"{odd}/x.json"], ["explore", f"{odd}/x.pct"], ["run", odd]):
        ended = subprocess.run(
            [sys.executable, "-m", "powercut", *arguments], cwd=odd, capture_output=True, text=True, check=False
        )
        assert ended.returncode in (2, 3), ended.stderr
        assert "Traceback" not in ended.stderr
        assert "\\udcff" in ended.stderr


def test_a_path_that_is_not_utf8_stands_in_a_record_as_json_escapes_it(tmp_path: Path) -> None:
    odd = os.fsdecode(b"/\xff")
    write_json(tmp_path / "a.json", {"trace": odd})
    assert user_files.json_of(tmp_path / "a.json") == {"trace": odd}


def test_records_keep_the_umask(tmp_path: Path) -> None:
    for mask, expected in ((0o077, 0o600), (0o022, 0o644), (0o002, 0o664)):
        before = os.umask(mask)
        try:
            write_json(tmp_path / "a.json", {})
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "a.json").stat().st_mode) == expected
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


class TestTrust:
    """A library or command that a file names runs only when its user has named it before."""

    @pytest.fixture(autouse=True)
    def own_list(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def finding(self, folder: Path, **fields: object) -> Path:
        record: dict[str, object] = {
            "finding": FINDING_VERSION,
            "fingerprint": "0123456789ab",
            "invariant": "lost-item",
            "target": "evil",
            "scenario": "x",
            "crash_point": {},
            "image": [],
            "stores": [],
            **fields,
        }
        write_json(folder / "findings" / "a.json", record)
        return folder / "findings" / "a.json"

    def test_a_command_out_of_a_file_does_not_run(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        touched = tmp_path / "touched"
        described = {
            "name": "x",
            "recover": ["/usr/bin/touch", str(touched)],
            "check": [],
            "dump": [],
            "timeout": 1.0,
            "images": 1,
            "cwd": str(tmp_path),
        }
        file = self.finding(tmp_path, program=described)
        for verb in ("reproduce", "explain"):
            said = refused(capsys, verb, str(file))
            assert f"the command /usr/bin/touch {touched}" in said
            assert "--trust" in said
        assert not touched.exists()

    def test_a_library_out_of_a_plan_is_not_loaded(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        file = self.finding(tmp_path, plan={"target": {"library": "/tmp/evil.so"}})
        for verb in ("reproduce", "explain", "minimise"):
            assert "the library /tmp/evil.so" in refused(capsys, verb, str(file))

    def test_a_library_named_in_a_trace_is_not_loaded(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        metadata = json.dumps({"plan": {"target": {"library": "/tmp/evil.so"}}}).encode()
        trace = tmp_path / "a.pct"
        trace.write_bytes(
            b"\x89PCT\r\n\x1a\n".ljust(16, b"\0") + len(metadata).to_bytes(8, "little") + bytes(16) + metadata
        )
        assert "the library /tmp/evil.so" in refused(capsys, "explore", str(trace))

    def test_what_was_named_before_needs_no_word(self, tmp_path: Path) -> None:
        mine, other = trust.library("/tmp/mine.so"), trust.command(["./prog", "check"], tmp_path)
        with pytest.raises(UsageError, match="--trust"):
            trust.require([mine, other], file=tmp_path, granted=False)
        trust.remember([mine])
        trust.require([mine], file=tmp_path, granted=False)
        with pytest.raises(UsageError, match="prog check"):
            trust.require([mine, other], file=tmp_path, granted=False)
        trust.require([mine, other], file=tmp_path, granted=True)

    def test_a_list_that_others_may_write_to_says_nothing(self, tmp_path: Path) -> None:
        mine = trust.library("/tmp/mine.so")
        trust.remember([mine])
        (tmp_path / "state" / "powercut" / "trusted").chmod(0o666)
        with pytest.raises(UsageError):
            trust.require([mine], file=tmp_path, granted=False)
        (tmp_path / "state" / "powercut" / "trusted").chmod(0o600)
        (tmp_path / "state" / "powercut").chmod(0o777)
        with pytest.raises(UsageError):
            trust.require([mine], file=tmp_path, granted=False)
        (tmp_path / "state" / "powercut").chmod(0o700)
        trust.require([mine], file=tmp_path, granted=False)
