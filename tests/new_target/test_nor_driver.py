"""`powercut/nor_driver.h` as a library for flash sees it, compiled as C and as C++ without the pass."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from powercut.base import paths

PROGRAM = r"""
#include <powercut/nor_driver.h>
#include <stdio.h>

static int flushes;
#ifdef __cplusplus
extern "C"
#endif
void powercut_device_flush(void) { ++flushes; }

#define SAY(call) printf("%d\n", call)

static uint8_t memory[1 << 16];

int main(void) {
  powercut_pool pool;
  powercut_driver driver;
  powercut_nor_part part = powercut_nor_default();
  const uint8_t words[] = {1, 2, 3, 4, 5, 6, 7, 8}, more[] = {1, 2, 3, 4, 0xff, 6, 7, 8};
  uint8_t out[8];
  pool.base = memory;
  pool.size = sizeof memory;
  part.sector = 256;
  part.again = POWERCUT_NOR_BITS;
  powercut_driver_open(&driver, pool, part);
  printf("%llu sectors\n", (unsigned long long)driver.nor.sectors);
  SAY(powercut_driver_erase(&driver, 0, 512));
  SAY(powercut_driver_prog(&driver, 4, words, 8));
  SAY(powercut_driver_read(&driver, 6, out, 8)); /* any bytes, also not of whole units */
  printf("%d %d %d\n", out[0], out[5], out[6]);
  SAY(powercut_driver_sync(&driver));
  printf("'%s'\n", driver.refused);
  SAY(powercut_driver_prog(&driver, 4, more, 8)); /* the second unit is to blame */
  printf("%s\n", driver.refused);
  SAY(powercut_driver_erase(&driver, 0, 100)); /* the first paragraph stays */
  printf("%.30s\n", driver.refused);
  driver.refused[0] = 0;
  SAY(powercut_driver_erase(&driver, 4, 256));
  printf("%s\n", driver.refused);
  driver.refused[0] = 0;
  SAY(powercut_driver_prog(&driver, 2, words, 4));
  printf("%.60s\n", driver.refused);
  SAY(powercut_driver_read(&driver, 256 * driver.nor.sectors - 4, out, 8));
  SAY(powercut_driver_erase(&driver, 256 * (driver.nor.sectors - 1), 512));
  SAY(powercut_driver_erase(&driver, 0, 256));
  SAY(powercut_driver_read(&driver, 4, out, 8));
  printf("%d\n", out[0]);
  /* A unit that a power cut tore, on a part with check words: an error, and nothing is refused. */
  part.ecc = 1;
  powercut_driver_open(&driver, pool, part);
  SAY(powercut_driver_prog(&driver, 0, words, 8));
  powercut_nor_line(&driver.nor, 4)[7] |= 0x80;
  SAY(powercut_driver_read(&driver, 0, out, 8));
  printf("%d %d '%s'\n", out[3], out[4], driver.refused);
  SAY(powercut_driver_prog(&driver, 4, words, 4));
  printf("%.40s\n", driver.refused);
  return 0;
}
"""

SAID = """15 sectors
0
0
0
3 8 255
0
''
-5
The program of unit 2 (byte 8) is refused: a bit would change from 0 to 1, which an erase alone does. Erase \
sector 0 first, or program another unit.
-22
The program of unit 2 (byte 8)
-22
The erase of 256 bytes at byte 4 is refused: it is not of whole sectors of 256 bytes.
-22
The program at byte 2 is refused: it is not of whole units o
-22
-22
0
0
255
0
-74
4 255 ''
-74
Unit 1 (byte 4) cannot be read or progra
"""


@pytest.mark.parametrize("compiler", [["clang-19", "-std=c11"], ["clang++-19", "-std=c++17", "-x", "c++"]])
def test_a_driver_answers_as_the_part_does(compiler: list[str], tmp_path: Path) -> None:
    program = tmp_path / "driver.c"
    program.write_text(PROGRAM)
    include = paths.home() / "targets" / "include"
    flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-I", str(include), str(program), "-o", str(tmp_path / "driver")]
    subprocess.run([*compiler, *flags], check=True, timeout=60)
    done = subprocess.run([str(tmp_path / "driver")], check=True, stdout=subprocess.PIPE, text=True, timeout=60)
    assert done.stdout == SAID
