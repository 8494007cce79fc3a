/* NOR flash behind the interface that flash libraries ask for: read, prog, erase and sync, by address. Header only; C
 * and C++. littlefs, dhara, FlashDB, Zephyr's flash API and sequential-storage want these four functions, with other
 * names and other orders of arguments.
 *
 * The functions take a `powercut_driver*` as their context and answer 0 or a negative errno, so that many libraries can
 * call them as they are. A part that refuses an operation refuses all of it (nor.h): -EIO, and `refused` has a
 * paragraph of the first refusal. */
#ifndef POWERCUT_NOR_DRIVER_H_
#define POWERCUT_NOR_DRIVER_H_

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "powercut/nor.h"

typedef struct powercut_driver {
  powercut_nor nor; /* nor.sectors, nor.part.sector and nor.part.unit are the geometry */
  char refused[320];
} powercut_driver;

/* Lines for the `options` of a target, with the defaults of powercut_nor_default(). */
#define POWERCUT_DRIVER_OPTIONS                                                                  \
  "sector=4096|256|512|...: bytes of a sector, which is erased as a whole",                      \
      "unit=4|1|2|8|16|32: bytes of a program unit",                                             \
      "again=once|twice|twice-zero|bits: how often a unit may be programmed between two erases", \
      "torn=unit|byte|bit: what a power cut leaves of the unit in flight",                       \
      "erase=prefix|mix: what a power cut leaves of the sector in flight",                       \
      "ecc=off|on: a unit that is torn reads as an error"

/* 1: a decimal number of 1 to 8 digits, without anything else. */
static inline int powercut_driver_number(const char* value) {
  size_t digits = 0;
  while (value[digits] >= '0' && value[digits] <= '9') ++digits;
  return digits != 0 && digits <= 8 && value[digits] == 0;
}

/* Takes the parameters of a part out of the options of a run; `part` has the defaults. `own`, unless it is null, is a
 * null-terminated list of options that the target reads itself. POWERCUT_BAD_CONFIG: config->error says what would be
 * right, in one paragraph that begins with `name`. */
static inline powercut_status powercut_driver_configure(const powercut_config* config, const char* name,
                                                        const char* const* own, powercut_nor_part* part) {
  static const char* const known[][2] = {{"sector", "a number of bytes, of whole units"},
                                         {"unit", "1, 2, 4, 8, 16 or 32 bytes"},
                                         {"again", "once, twice, twice-zero or bits"},
                                         {"torn", "unit, byte or bit"},
                                         {"erase", "prefix or mix"},
                                         {"ecc", "off or on"}};
  const size_t count = sizeof known / sizeof *known;
  char names[240], unused[1];
  char* const error = config->error != NULL ? config->error : unused;
  const size_t size = config->error != NULL ? config->error_size : sizeof unused;
  size_t i, k, length;
  for (i = 0; i < config->option_count; ++i) {
    const char *const key = config->options[i].key, *const value = config->options[i].value;
    for (k = 0; own != NULL && own[k] != NULL && strcmp(own[k], key) != 0; ++k) continue;
    if (own != NULL && own[k] != NULL) continue;
    for (k = 0; k < count && strcmp(known[k][0], key) != 0; ++k) continue;
    if (k == count) {
      for (length = k = 0; k < count; ++k) {
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", k != 0 ? ", " : "", known[k][0]);
      }
      for (k = 0; own != NULL && own[k] != NULL && length < sizeof names; ++k) {
        length += (size_t)snprintf(names + length, sizeof names - length, ", %s", own[k]);
      }
      snprintf(error, size, "%s: no option is called '%.40s'. The options are %s.", name, key, names);
      return POWERCUT_BAD_CONFIG;
    }
    if ((k < 2 && !powercut_driver_number(value)) || !powercut_nor_set(part, key, value)) {
      snprintf(error, size, "%s: '%.40s' is no value of the option '%s', which is %s.", name, value, key, known[k][1]);
      return POWERCUT_BAD_CONFIG;
    }
  }
  if (part->sector % part->unit != 0) {
    snprintf(error, size,
             "%s: a sector of %u bytes is not of whole units of %u bytes. Give the option 'sector' a multiple of it.",
             name, (unsigned)part->sector, (unsigned)part->unit);
    return POWERCUT_BAD_CONFIG;
  }
  return POWERCUT_OK;
}

/* The device in `pool`, with as many sectors as there is room for. */
static inline void powercut_driver_open(powercut_driver* driver, powercut_pool pool, powercut_nor_part part) {
  driver->nor = powercut_nor_in(pool, part);
  driver->refused[0] = 0;
}

/* A device's status as an errno. */
static inline int powercut_driver_status(powercut_driver* driver, powercut_nor_status status, uint64_t at) {
  if (status == POWERCUT_NOR_OK) return 0;
  if (driver->refused[0] == 0) powercut_nor_explain(&driver->nor, status, at, driver->refused, sizeof driver->refused);
  if (status == POWERCUT_NOR_UNCORRECTABLE) return -EBADMSG;
  return status == POWERCUT_NOR_NO_SUCH || status == POWERCUT_NOR_UNALIGNED ? -EINVAL : -EIO;
}

/* Any bytes. -EBADMSG: a unit among them has a wrong check word; its bytes are 0xff. */
static inline int powercut_driver_read(void* driver, uint64_t at, void* out, size_t size) {
  powercut_driver* const self = (powercut_driver*)driver;
  const powercut_nor_status status = powercut_nor_read(&self->nor, at, out, size);
  if (status == POWERCUT_NOR_UNCORRECTABLE) return -EBADMSG; /* of a power cut; nothing was refused */
  return powercut_driver_status(self, status, at);
}

/* Whole units. */
static inline int powercut_driver_prog(void* driver, uint64_t at, const void* data, size_t size) {
  powercut_driver* const self = (powercut_driver*)driver;
  const uint32_t unit = self->nor.part.unit;
  powercut_nor_status status = powercut_nor_program(&self->nor, at, data, size);
  uint64_t done = 0;
  if (status == POWERCUT_NOR_NOT_ERASED || status == POWERCUT_NOR_AGAIN) { /* the paragraph names the unit to blame */
    while (powercut_nor_allows(&self->nor, at + done, (const uint8_t*)data + done) == POWERCUT_NOR_OK) done += unit;
  }
  return powercut_driver_status(self, status, at + done);
}

/* Whole sectors, the one at the lowest address first. */
static inline int powercut_driver_erase(void* driver, uint64_t at, size_t size) {
  powercut_driver* const self = (powercut_driver*)driver;
  const uint32_t sector = self->nor.part.sector;
  uint64_t done;
  if (at % sector != 0 || size % sector != 0) {
    if (self->refused[0] == 0) {
      snprintf(self->refused, sizeof self->refused,
               "The erase of %llu bytes at byte %llu is refused: it is not of whole sectors of %u bytes.",
               (unsigned long long)size, (unsigned long long)at, (unsigned)sector);
    }
    return -EINVAL;
  }
  for (done = 0; done < size; done += sector) {
    const int status = powercut_driver_status(self, powercut_nor_erase(&self->nor, (at + done) / sector), at + done);
    if (status != 0) return status;
  }
  return 0;
}

/* Nothing is left to do: an operation is durable when it returns. */
static inline int powercut_driver_sync(void* driver) {
  (void)driver;
  return 0;
}

#endif /* POWERCUT_NOR_DRIVER_H_ */
