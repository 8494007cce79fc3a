/* A block device for targets: sectors behind a volatile write cache. Header only; C and C++.
 *
 * After a power cut (replayer/MODELS.md, "block") each atomic write unit has its content at the last flush, or its
 * content after any later write. All writes with POWERCUT_BLOCK_FUA, and all writes before a flush that returned,
 * survive. A write of several units may be torn between them, in any order.
 *
 * The device lives in the pool that a target is given. Each atomic write unit has a line of 64 bytes there, each sector
 * of it a word: the name of its content (contents.h). The engine therefore decides a sector when the sector is first
 * read, as with words of memory. Nobody but these functions touches the pool. */
#ifndef POWERCUT_BLOCK_H_
#define POWERCUT_BLOCK_H_

#include <string.h>

#include "powercut/contents.h"
#include "powercut/target.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In the tracer's runtime: all writes are durable; the write to this word is durable. */
void powercut_device_flush(void);
void powercut_device_force(const void* word);

#ifdef __cplusplus
}
#endif

enum { POWERCUT_BLOCK_FUA = 1 }; /* durable when the write returns */

typedef struct powercut_block {
  uint8_t* lines;       /* the pool */
  uint64_t sectors;     /* how many */
  uint32_t sector_size; /* bytes */
  uint32_t unit;        /* sectors of an atomic write unit: 1, 2, 4 or 8 */
  uint32_t write_cache; /* 0: none, each write is durable when it returns */
} powercut_block;

enum { POWERCUT_BLOCK_LINE = 64 }; /* bytes of the pool for each unit */

/* The device in `pool`, which has room for pool.size / 64 units. */
static inline powercut_block powercut_block_in(powercut_pool pool, uint32_t sector_size, uint32_t unit,
                                               uint32_t write_cache) {
  powercut_block device;
  device.lines = pool.base;
  device.sectors = pool.size / POWERCUT_BLOCK_LINE * unit;
  device.sector_size = sector_size;
  device.unit = unit;
  device.write_cache = write_cache;
  return device;
}

static inline uint64_t* powercut_block_word(const powercut_block* device, uint64_t sector) {
  return (uint64_t*)(void*)(device->lines + sector / device->unit * POWERCUT_BLOCK_LINE) + sector % device->unit;
}

static inline int powercut_block_holds(const powercut_block* device, uint64_t first, uint64_t count) {
  return count <= device->sectors && first <= device->sectors - count;
}

/* Reads `count` sectors into `out`. 0; -1 beyond the end of the device, or where a sector cannot be read. */
static inline int powercut_block_read(const powercut_block* device, uint64_t first, uint64_t count, void* out) {
  uint64_t i;
  if (!powercut_block_holds(device, first, count)) return -1;
  for (i = 0; i < count; ++i) {
    const uint64_t name = *powercut_block_word(device, first + i);
    const void* const from = powercut_content(name, device->sector_size);
    uint8_t* const to = (uint8_t*)out + i * device->sector_size;
    if (name == 0) {
      memset(to, 0, device->sector_size);
    } else if (from != NULL) {
      memcpy(to, from, device->sector_size);
    } else {
      return -1;
    }
  }
  return 0;
}

/* Writes `count` sectors. 0; -1 beyond the end of the device: nothing was written. Each atomic write unit is one write,
 * which is not torn, also where only a part of it is written. */
static inline int powercut_block_write(const powercut_block* device, uint64_t first, uint64_t count, const void* data,
                                       unsigned flags) {
  uint64_t done = 0;
  if (!powercut_block_holds(device, first, count)) return -1;
  while (done < count) {
    uint64_t names[POWERCUT_BLOCK_LINE / sizeof(uint64_t)];
    uint64_t* const words = powercut_block_word(device, first + done);
    uint64_t here = device->unit - (first + done) % device->unit, i;
    if (here > count - done) here = count - done;
    for (i = 0; i < here; ++i) {
      const uint8_t* const from = (const uint8_t*)data + (done + i) * device->sector_size;
      names[i] = powercut_content_name(from, device->sector_size, NULL, 0);
    }
    memcpy(words, names, here * sizeof *names);
    done += here;
  }
  if ((flags & POWERCUT_BLOCK_FUA) != 0 || !device->write_cache) {
    for (done = 0; done < count; ++done) powercut_device_force(powercut_block_word(device, first + done));
  }
  return 0;
}

/* All that was written is durable. */
static inline void powercut_block_flush(const powercut_block* device) {
  if (device->write_cache) powercut_device_flush();
}

/* The sectors read as zeroes. Each is a write by itself: what is promised of atomic write units is promised of writes,
 * not of a trim. */
static inline int powercut_block_trim(const powercut_block* device, uint64_t first, uint64_t count) {
  uint64_t i;
  if (!powercut_block_holds(device, first, count)) return -1;
  for (i = 0; i < count; ++i) *powercut_block_word(device, first + i) = 0;
  for (i = 0; i < count && !device->write_cache; ++i) powercut_device_force(powercut_block_word(device, first + i));
  return 0;
}

#endif /* POWERCUT_BLOCK_H_ */
