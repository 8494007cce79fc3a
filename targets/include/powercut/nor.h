/* NOR flash for targets, and memories without an erase: units of 1 to 32 bytes that are programmed in place, and
 * sectors that are erased. Header only; C and C++.
 *
 * After a power cut (replayer/MODELS.md, "nor") an operation that had returned is durable. The parameters of the part
 * say how often a unit may be programmed between two erases, and what an interrupted program or erase leaves.
 *
 * The device lives in the pool that a target is given: a line of 64 bytes for each sector and each cell. A cell is what
 * a power cut decides by itself: a unit, or with torn=bit a byte. A sector's word counts its erases. A cell begins with
 * the number of its programs since it was erased (0: all its bytes read as 0xff); its bytes follow. Nobody but these
 * functions touches the pool. */
#ifndef POWERCUT_NOR_H_
#define POWERCUT_NOR_H_

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "powercut/target.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In the tracer's runtime: all writes are durable. */
void powercut_device_flush(void);

#ifdef __cplusplus
}
#endif

typedef enum powercut_nor_status {
  POWERCUT_NOR_OK = 0,
  POWERCUT_NOR_UNCORRECTABLE = 1, /* read, program: a cut interrupted the unit's program, and its check word is wrong */
  POWERCUT_NOR_NOT_ERASED = 2,    /* program: a bit would have to change from 0 to 1 */
  POWERCUT_NOR_AGAIN = 3,         /* program: the unit has had all programs that the part allows between two erases */
  POWERCUT_NOR_UNALIGNED = 4,     /* program: not of whole units */
  POWERCUT_NOR_NO_ERASE = 5,      /* erase: the memory has none */
  POWERCUT_NOR_WORN_OUT = 6,      /* erase: the sector has had all its erases */
  POWERCUT_NOR_NO_SUCH = 7        /* beyond the end of the device */
} powercut_nor_status;

/* again: which programs a unit takes between two erases. Bits change from 1 to 0 alone. */
enum {
  POWERCUT_NOR_ONCE = 0,
  POWERCUT_NOR_TWICE = 1,
  POWERCUT_NOR_TWICE_ZERO = 2, /* a second one, if all its bytes are zero */
  POWERCUT_NOR_BITS = 3        /* any number */
};
/* torn: what a cut leaves of the unit in flight. */
enum {
  POWERCUT_NOR_TORN_UNIT = 0, /* what was there, or all of it */
  POWERCUT_NOR_TORN_BYTE = 1, /* any number of its bytes, from the first one on */
  POWERCUT_NOR_TORN_BIT = 2   /* any set of the bits that change */
};
/* erase: what a cut leaves of the sector in flight. */
enum {
  POWERCUT_NOR_PREFIX = 0, /* any number of its cells is erased, from the first one on */
  POWERCUT_NOR_MIX = 1     /* any set of its cells is erased */
};
/* kind: the others have no erase, and overwrite in place. */
enum { POWERCUT_NOR_FLASH = 0, POWERCUT_NOR_RRAM = 1, POWERCUT_NOR_EEPROM = 2 };

typedef struct powercut_nor_part {
  uint32_t unit;   /* bytes of a program unit: 1, 2, 4, 8, 16 or 32 */
  uint32_t sector; /* bytes of a sector, in whole units */
  uint32_t again, torn, erase, kind;
  uint32_t ecc;         /* 1: a unit that a cut tears reads as an error, whatever `torn` says */
  uint64_t erase_limit; /* erases that a sector stands */
} powercut_nor_part;

typedef struct powercut_nor {
  uint8_t* lines; /* the pool: of the sectors, then of the cells */
  uint64_t sectors;
  powercut_nor_part part;
} powercut_nor;

enum { POWERCUT_NOR_LINE = 64, POWERCUT_NOR_MOST_UNIT = 32 };

/* A bit of a cell's number of programs: its check word is wrong. */
#define POWERCUT_NOR_BAD (1ull << 63)

/* Each change of a cell is one store, also where a compiler knows its size. */
#ifndef POWERCUT_NOR_STORE
#define POWERCUT_NOR_STORE(to, from, size) memcpy(to, from, size)
#endif
#ifndef POWERCUT_NOR_DURABLE
#define POWERCUT_NOR_DURABLE() powercut_device_flush()
#endif

#if defined(__GNUC__)
__attribute__((noinline, unused)) static void
#else
static void
#endif
powercut_nor_store(void* to, const void* from, size_t size) {
  POWERCUT_NOR_STORE(to, from, size);
}

/* Units of 4 bytes and sectors of 4 KiB, programmed once, torn as wholes. */
static inline powercut_nor_part powercut_nor_default(void) {
  powercut_nor_part part;
  memset(&part, 0, sizeof part);
  part.unit = 4;
  part.sector = 4096;
  part.erase_limit = 1ull << 32;
  return part;
}

static inline int powercut_nor_word(const char* value, const char* const* words, uint32_t* out) {
  uint32_t i;
  for (i = 0; words[i] != NULL; ++i) {
    if (strcmp(words[i], value) != 0) continue;
    *out = i;
    return 1;
  }
  return 0;
}

/* Sets a parameter by its name. 0: no such parameter, or no such value. */
static inline int powercut_nor_set(powercut_nor_part* part, const char* name, const char* value) {
  static const char* const again[] = {"once", "twice", "twice-zero", "bits", NULL};
  static const char* const torn[] = {"unit", "byte", "bit", NULL};
  static const char* const erase[] = {"prefix", "mix", NULL};
  static const char* const kind[] = {"flash", "rram", "eeprom", NULL};
  static const char* const ecc[] = {"off", "on", NULL};
  if (strcmp(name, "again") == 0) return powercut_nor_word(value, again, &part->again);
  if (strcmp(name, "torn") == 0) return powercut_nor_word(value, torn, &part->torn);
  if (strcmp(name, "erase") == 0) return powercut_nor_word(value, erase, &part->erase);
  if (strcmp(name, "kind") == 0) return powercut_nor_word(value, kind, &part->kind);
  if (strcmp(name, "ecc") == 0) return powercut_nor_word(value, ecc, &part->ecc);
  if (strcmp(name, "unit") == 0) {
    part->unit = (uint32_t)strtoul(value, NULL, 10);
    return part->unit != 0 && part->unit <= POWERCUT_NOR_MOST_UNIT && (part->unit & (part->unit - 1)) == 0;
  }
  if (strcmp(name, "sector") == 0) {
    part->sector = (uint32_t)strtoul(value, NULL, 10);
    return part->sector != 0;
  }
  return 0;
}

/* Bytes of a cell. */
static inline uint32_t powercut_nor_cell(const powercut_nor_part* part) {
  return part->torn == POWERCUT_NOR_TORN_BIT && !part->ecc ? 1 : part->unit;
}

/* Bytes of a pool with this many sectors. */
static inline uint64_t powercut_nor_pool(const powercut_nor_part* part, uint64_t sectors) {
  return sectors * (part->sector / powercut_nor_cell(part) + 1) * POWERCUT_NOR_LINE;
}

/* The answer of powercut_target_device() for a target on this part. */
static inline powercut_device powercut_nor_device(const powercut_nor_part* part) {
  powercut_device device;
  device.medium = POWERCUT_NOR;
  device.bytes = powercut_nor_cell(part);
  device.unit = part->sector / powercut_nor_cell(part);
  return device;
}

/* The device in `pool`, with as many sectors as there is room for. */
static inline powercut_nor powercut_nor_in(powercut_pool pool, powercut_nor_part part) {
  powercut_nor device;
  device.lines = pool.base;
  device.sectors = pool.size / powercut_nor_pool(&part, 1);
  device.part = part;
  return device;
}

/* Bytes of the device. */
static inline uint64_t powercut_nor_size(const powercut_nor* device) { return device->sectors * device->part.sector; }

static inline uint8_t* powercut_nor_sector_line(const powercut_nor* device, uint64_t sector) {
  return device->lines + sector * POWERCUT_NOR_LINE;
}

/* The line of the cell that holds this byte of the device. */
static inline uint8_t* powercut_nor_line(const powercut_nor* device, uint64_t at) {
  return device->lines + (device->sectors + at / powercut_nor_cell(&device->part)) * POWERCUT_NOR_LINE;
}

static inline uint64_t powercut_nor_programs(const uint8_t* line) {
  uint64_t programs;
  memcpy(&programs, line, sizeof programs);
  return programs;
}

/* Faults (checker/FAULTS.md) damage a byte of a cell: four bytes behind its own say which byte, from 1, which bits,
 * how, and the number of programs for which it holds. A byte that is unstable changes from read to read. */
enum { POWERCUT_NOR_DAMAGE = 40, POWERCUT_NOR_STUCK_AT_0 = 0, POWERCUT_NOR_STUCK_AT_1 = 1, POWERCUT_NOR_UNSTABLE = 2 };

/* The byte `i` of a cell as a read gives it. */
static inline uint8_t powercut_nor_seen(uint8_t* line, uint64_t i, uint8_t byte) {
  uint8_t damage[4];
  memcpy(damage, line + POWERCUT_NOR_DAMAGE, sizeof damage);
  if (damage[0] != i + 1) return byte;
  if (damage[2] == POWERCUT_NOR_STUCK_AT_0) return byte & (uint8_t)~damage[1];
  if (damage[2] == POWERCUT_NOR_STUCK_AT_1) return byte | damage[1];
  if (damage[3] != (uint8_t)powercut_nor_programs(line)) return byte;
  line[POWERCUT_NOR_DAMAGE + sizeof damage] ^= 1;
  return line[POWERCUT_NOR_DAMAGE + sizeof damage] ? byte ^ damage[1] : byte;
}

/* One byte. Reads nothing else: a power cut's effect on other bytes stays undecided. */
static inline powercut_nor_status powercut_nor_byte(const powercut_nor* device, uint64_t at, uint8_t* out) {
  const uint32_t cell = powercut_nor_cell(&device->part);
  uint8_t* line;
  uint64_t programs;
  *out = 0xff;
  if (at >= powercut_nor_size(device)) return POWERCUT_NOR_NO_SUCH;
  line = powercut_nor_line(device, at);
  programs = powercut_nor_programs(line);
  if (programs >= POWERCUT_NOR_BAD) return POWERCUT_NOR_UNCORRECTABLE;
  if (programs != 0) *out = line[sizeof programs + at % cell];
  *out = powercut_nor_seen(line, at % cell, *out);
  return POWERCUT_NOR_OK;
}

/* Reads `size` bytes. Bytes of a unit that cannot be read are 0xff. */
static inline powercut_nor_status powercut_nor_read(const powercut_nor* device, uint64_t at, void* out, uint64_t size) {
  const uint64_t cell = powercut_nor_cell(&device->part);
  powercut_nor_status status = POWERCUT_NOR_OK;
  uint64_t done = 0, damaged;
  if (at > powercut_nor_size(device) || size > powercut_nor_size(device) - at) return POWERCUT_NOR_NO_SUCH;
  while (done < size) {
    uint8_t* const line = powercut_nor_line(device, at + done);
    const uint64_t programs = powercut_nor_programs(line), first = (at + done) % cell;
    const uint64_t here = cell - first < size - done ? cell - first : size - done;
    if (programs != 0 && programs < POWERCUT_NOR_BAD) {
      memcpy((uint8_t*)out + done, line + sizeof programs + first, here);
    } else {
      memset((uint8_t*)out + done, 0xff, here);
      if (programs != 0) status = POWERCUT_NOR_UNCORRECTABLE;
    }
    damaged = line[POWERCUT_NOR_DAMAGE];
    if (damaged > first && damaged <= first + here) {
      uint8_t* const byte = (uint8_t*)out + done + damaged - 1 - first;
      *byte = powercut_nor_seen(line, damaged - 1, *byte);
    }
    done += here;
  }
  return status;
}

/* Whether the bytes are these; reads up to the first one that differs. A unit that cannot be read differs. */
static inline int powercut_nor_equals(const powercut_nor* device, uint64_t at, const void* bytes, uint64_t size) {
  uint64_t i;
  for (i = 0; i < size; ++i) {
    uint8_t byte;
    if (powercut_nor_byte(device, at + i, &byte) != POWERCUT_NOR_OK || byte != ((const uint8_t*)bytes)[i]) return 0;
  }
  return 1;
}

/* Whether the bytes read as erased; reads up to the first one that does not. */
static inline int powercut_nor_is_blank(const powercut_nor* device, uint64_t at, uint64_t size) {
  const uint32_t cell = powercut_nor_cell(&device->part);
  uint64_t i;
  uint8_t byte;
  if (at > powercut_nor_size(device) || size > powercut_nor_size(device) - at) return 0;
  for (i = 0; i < size;) {
    const uint8_t* const line = powercut_nor_line(device, at + i);
    if (powercut_nor_programs(line) == 0 && line[POWERCUT_NOR_DAMAGE] == 0) {
      i += cell - (at + i) % cell; /* all of the cell */
      continue;
    }
    if (powercut_nor_byte(device, at + i, &byte) != POWERCUT_NOR_OK || byte != 0xff) return 0;
    ++i;
  }
  return 1;
}

/* Whether the part takes this program of one unit. */
static inline powercut_nor_status powercut_nor_allows(const powercut_nor* device, uint64_t at, const uint8_t* data) {
  const uint32_t cell = powercut_nor_cell(&device->part), again = device->part.again;
  uint32_t i, zero = 1;
  if (device->part.kind != POWERCUT_NOR_FLASH) return POWERCUT_NOR_OK;
  for (i = 0; i < device->part.unit; ++i) zero &= data[i] == 0;
  for (i = 0; i < device->part.unit; i += cell) {
    const uint64_t programs = powercut_nor_programs(powercut_nor_line(device, at + i));
    if (programs == 0) continue;
    if (programs >= POWERCUT_NOR_BAD) return POWERCUT_NOR_UNCORRECTABLE;
    if (again == POWERCUT_NOR_ONCE || (again != POWERCUT_NOR_BITS && programs > 1)) return POWERCUT_NOR_AGAIN;
    if (again == POWERCUT_NOR_TWICE_ZERO && !zero) return POWERCUT_NOR_AGAIN;
  }
  for (i = 0; i < device->part.unit; ++i) {
    uint8_t old;
    powercut_nor_byte(device, at + i, &old);
    if ((data[i] & ~old) != 0) return POWERCUT_NOR_NOT_ERASED;
  }
  return POWERCUT_NOR_OK;
}

/* Programs a cell of a unit that has then had `programs` programs. Each store is a content that a cut in the middle may
 * leave; the last one is the result. A program counts from the first bit on that changes; one that changes none is
 * none, but for its check word. */
static inline void powercut_nor_program_cell(const powercut_nor* device, uint64_t at, const uint8_t* data,
                                             uint64_t programs) {
  const uint32_t cell = powercut_nor_cell(&device->part);
  uint8_t* const line = powercut_nor_line(device, at);
  uint8_t next[sizeof(uint64_t) + POWERCUT_NOR_MOST_UNIT];
  uint8_t* const bytes = next + sizeof programs;
  uint32_t i, begun = 0;
  memset(bytes, 0xff, cell);
  if (powercut_nor_programs(line) != 0) memcpy(bytes, line + sizeof programs, cell);
  memcpy(next, &programs, sizeof programs);
  if (device->part.ecc) {
    const uint64_t bad = programs | POWERCUT_NOR_BAD;
    memcpy(next, &bad, sizeof bad);
    memcpy(bytes, data, cell);
    powercut_nor_store(line, next, sizeof programs + cell);
    powercut_nor_store(line, &programs, sizeof programs);
    return;
  }
  for (i = 0; i < cell && device->part.torn != POWERCUT_NOR_TORN_UNIT; ++i) {
    const uint8_t old = bytes[i], change = old ^ data[i];
    /* With torn=byte the whole byte, with torn=bit each set of its bits that change. */
    uint8_t some = device->part.torn == POWERCUT_NOR_TORN_BYTE ? change : (uint8_t)((0 - change) & change);
    for (; some != 0; some = (uint8_t)((some - change) & change)) {
      bytes[i] = old ^ some;
      if (begun) {
        powercut_nor_store(line + sizeof programs + i, bytes + i, 1);
      } else {
        powercut_nor_store(line, next, sizeof programs + cell);
      }
      begun = 1;
    }
  }
  if (begun || memcmp(bytes, data, cell) == 0) return;
  memcpy(bytes, data, cell);
  powercut_nor_store(line, next, sizeof programs + cell);
}

/* Programs whole units, in ascending order. A part that does not take one of them takes none. A memory without erase
 * overwrites them. */
static inline powercut_nor_status powercut_nor_program(const powercut_nor* device, uint64_t at, const void* data,
                                                       uint64_t size) {
  const uint8_t* const bytes = (const uint8_t*)data;
  const uint32_t unit = device->part.unit, cell = powercut_nor_cell(&device->part);
  uint64_t done;
  uint32_t i;
  if (at % unit != 0 || size % unit != 0) return POWERCUT_NOR_UNALIGNED;
  if (at > powercut_nor_size(device) || size > powercut_nor_size(device) - at) return POWERCUT_NOR_NO_SUCH;
  for (done = 0; done < size; done += unit) {
    const powercut_nor_status status = powercut_nor_allows(device, at + done, bytes + done);
    if (status != POWERCUT_NOR_OK) return status;
  }
  for (done = 0; done < size; done += unit) {
    uint64_t programs = 0;
    for (i = 0; i < unit && device->part.kind == POWERCUT_NOR_FLASH; i += cell) {
      const uint64_t here = powercut_nor_programs(powercut_nor_line(device, at + done + i));
      if (here > programs) programs = here;
    }
    for (i = 0; i < unit; i += cell) powercut_nor_program_cell(device, at + done + i, bytes + done + i, programs + 1);
    POWERCUT_NOR_DURABLE();
  }
  return POWERCUT_NOR_OK;
}

/* How often the sector's erase has begun. */
static inline uint64_t powercut_nor_erases(const powercut_nor* device, uint64_t sector) {
  return powercut_nor_programs(powercut_nor_sector_line(device, sector));
}

/* Erases a sector: all its bytes read as 0xff. */
static inline powercut_nor_status powercut_nor_erase(const powercut_nor* device, uint64_t sector) {
  const uint64_t cell = powercut_nor_cell(&device->part), cells = device->part.sector / cell, none = 0;
  uint64_t erases, i;
  if (device->part.kind != POWERCUT_NOR_FLASH) return POWERCUT_NOR_NO_ERASE;
  if (sector >= device->sectors) return POWERCUT_NOR_NO_SUCH;
  erases = powercut_nor_erases(device, sector) + 1;
  if (erases > device->part.erase_limit) return POWERCUT_NOR_WORN_OUT;
  powercut_nor_store(powercut_nor_sector_line(device, sector), &erases, sizeof erases);
  POWERCUT_NOR_DURABLE();
  for (i = 0; i < cells; ++i) {
    uint8_t* const line = powercut_nor_line(device, sector * device->part.sector + i * cell);
    /* Where a cut leaves many cells undecided, none is read: each would be decided for nothing. */
    const int read = device->part.erase == POWERCUT_NOR_PREFIX && cell == device->part.unit;
    if (read && powercut_nor_programs(line) == 0) continue;
    powercut_nor_store(line, &none, sizeof none);
    if (device->part.erase == POWERCUT_NOR_PREFIX) POWERCUT_NOR_DURABLE();
  }
  if (device->part.erase == POWERCUT_NOR_MIX) POWERCUT_NOR_DURABLE();
  return POWERCUT_NOR_OK;
}

/* Writes a paragraph to `out`: what was refused, where, why and what to do next. Returns `out`. */
static inline char* powercut_nor_explain(const powercut_nor* device, powercut_nor_status status, uint64_t at, char* out,
                                         size_t size) {
  static const char* const allowed[] = {"one program", "two programs", "a second program of zeroes alone",
                                        "any number of programs"};
  const unsigned long long where = at, unit = at / device->part.unit, sector = at / device->part.sector;
  switch (status) {
    case POWERCUT_NOR_OK:
      snprintf(out, size, "The operation at byte %llu was done.", where);
      break;
    case POWERCUT_NOR_UNCORRECTABLE:
      snprintf(out, size,
               "Unit %llu (byte %llu) cannot be read or programmed: a power cut interrupted its program, and its check "
               "word is wrong. Erase sector %llu first.",
               unit, where, sector);
      break;
    case POWERCUT_NOR_NOT_ERASED:
      snprintf(out, size,
               "The program of unit %llu (byte %llu) is refused: a bit would change from 0 to 1, which an erase alone "
               "does. Erase sector %llu first, or program another unit.",
               unit, where, sector);
      break;
    case POWERCUT_NOR_AGAIN:
      snprintf(out, size,
               "The program of unit %llu (byte %llu) is refused: the unit was programmed since its last erase, and the "
               "part allows %s. Erase sector %llu first, or program another unit.",
               unit, where, allowed[device->part.again], sector);
      break;
    case POWERCUT_NOR_UNALIGNED:
      snprintf(out, size, "The program at byte %llu is refused: it is not of whole units of %u bytes. Pad it to them.",
               where, device->part.unit);
      break;
    case POWERCUT_NOR_NO_ERASE:
      snprintf(out, size, "The erase at byte %llu is refused: the memory has none. Program its units again.", where);
      break;
    case POWERCUT_NOR_WORN_OUT:
      snprintf(out, size, "The erase of sector %llu is refused: it has had all its %llu erases. Use another sector.",
               sector, (unsigned long long)device->part.erase_limit);
      break;
    case POWERCUT_NOR_NO_SUCH:
      snprintf(out, size, "Byte %llu lies beyond the device, which has %llu bytes. Use an address below that.", where,
               (unsigned long long)powercut_nor_size(device));
      break;
  }
  return out;
}

#endif /* POWERCUT_NOR_H_ */
