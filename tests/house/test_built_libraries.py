"""Files of the build look for their libraries beside themselves."""

from __future__ import annotations

import re
import subprocess

from powercut.base import paths


def test_no_library_is_looked_for_in_the_working_directory(real_engine: None) -> None:
    build = paths.engine().parent.parent
    for file in [paths.engine(), *sorted((build / "lib").glob("**/*.so"))]:
        dynamic = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True).stdout
        for path in re.findall(r"\((?:RPATH|RUNPATH)\)[^\[]*\[(.*)\]", dynamic):
            assert all(entry.startswith("$ORIGIN") for entry in path.split(":")), f"{file}: '{path}'"
