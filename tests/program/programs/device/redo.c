/* Two counters that are set together, by a redo log: one file, sectors of 512 bytes.
 *
 *   redo run FILE       sets both to 1, then to 2, …
 *   redo recover FILE   applies a log that is whole, and takes it away
 *   redo dump FILE      prints both
 *
 * With -DBUG=1 recovery takes the log away before what it has applied is durable: one power cut does it no harm, and a
 * second one, inside recovery, does. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "powercut/mark.h"

enum { kSector = 512, kLog = 0, kFirst = 1, kSecond = 2, kRounds = 2 };

struct sector {
  uint64_t value, valid;
  char rest[kSector - 16];
};

static int file;

static void need(int good) {
  if (!good) exit(9);
}

static struct sector read_sector(int number) {
  struct sector out = {0};
  need(pread(file, &out, kSector, (off_t)number * kSector) >= 0);
  return out;
}

static void write_sector(int number, uint64_t value, uint64_t valid) {
  const struct sector sector = {.value = value, .valid = valid};
  need(pwrite(file, &sector, kSector, (off_t)number * kSector) == kSector);
}

static void durable(void) { need(fdatasync(file) == 0); }

static void apply(uint64_t value, int bug) {
  write_sector(kFirst, value, 0);
  write_sector(kSecond, value, 0);
  if (!bug) durable();
  write_sector(kLog, 0, 0);
  durable();
}

static int run(void) {
  for (int sector = kLog; sector <= kSecond; ++sector) write_sector(sector, 0, 0);
  durable();
  for (uint64_t round = 1; round <= kRounds; ++round) {
    powercut_mark_begin(POWERCUT_MARK_INSERT, &round, sizeof round, NULL, 0);
    write_sector(kLog, round, 1);
    durable();
    apply(round, 0);
    powercut_mark_end(0, NULL, 0);
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3) return 99;
  file = open(argv[2], O_RDWR | O_CREAT, 0600);
  need(file >= 0);
  switch (argv[1][2]) {
    case 'n':
      return run();
    case 'c': {
      const struct sector log = read_sector(kLog);
      if (log.valid == 1) apply(log.value, BUG);
      return 0;
    }
    default: {
      const struct sector first = read_sector(kFirst), second = read_sector(kSecond);
      printf("%d %d\n", (int)first.value, (int)second.value);
      return 0;
    }
  }
}
