/* Raw NAND flash for targets: pages that are programmed once and erased a block at a time. Header only; C and C++.
 *
 * After a power cut (replayer/MODELS.md, "flash") an operation that had returned is durable. A program that the cut
 * interrupts leaves its page empty, whole, or unreadable. An erase leaves the block's old pages, no pages, or a block
 * that has to be erased again.
 *
 * The device lives in the pool that a target is given: a line of 64 bytes for each block and each page. A block's word
 * counts its erases. A page has two words: the name of its content (contents.h) and, from 1, its block's count when the
 * page was programmed. An erase is thus one store. Nobody but these functions touches the pool. */
#ifndef POWERCUT_FLASH_H_
#define POWERCUT_FLASH_H_

#include <string.h>

#include "powercut/contents.h"
#include "powercut/target.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In the tracer's runtime: the write to this word is durable. */
void powercut_device_force(const void* word);

#ifdef __cplusplus
}
#endif

typedef enum powercut_flash_status {
  POWERCUT_FLASH_OK = 0,
  POWERCUT_FLASH_ERASED = 1,        /* read: nothing was programmed; all bytes are 0xff */
  POWERCUT_FLASH_UNCORRECTABLE = 2, /* read: a cut interrupted the program, or the erase; program: erase it first */
  POWERCUT_FLASH_NOT_ERASED = 3,    /* program: the page was programmed since the last erase */
  POWERCUT_FLASH_OUT_OF_ORDER = 4,  /* program: the page before it, in its block, is not programmed */
  POWERCUT_FLASH_WORN_OUT = 5,      /* erase: the block has had all its erases */
  POWERCUT_FLASH_NO_SUCH = 6        /* no such page or block */
} powercut_flash_status;

typedef struct powercut_flash {
  uint8_t* lines; /* the pool: of the blocks, then of the pages */
  uint64_t blocks;
  uint32_t pages_per_block;
  uint32_t page_size, spare_size; /* bytes; their sum is what one program writes */
  uint64_t erase_limit;           /* erases that a block stands */
} powercut_flash;

enum { POWERCUT_FLASH_LINE = 64 }; /* bytes of the pool for each block and for each page */

/* A bit of a block's word while its erase goes on. */
#define POWERCUT_FLASH_UNSTABLE (1ull << 63)

/* The device in `pool`, with as many blocks as there is room for. */
static inline powercut_flash powercut_flash_in(powercut_pool pool, uint32_t pages_per_block, uint32_t page_size,
                                               uint32_t spare_size, uint64_t erase_limit) {
  powercut_flash device;
  device.lines = pool.base;
  device.blocks = pool.size / POWERCUT_FLASH_LINE / (pages_per_block + 1);
  device.pages_per_block = pages_per_block;
  device.page_size = page_size;
  device.spare_size = spare_size;
  device.erase_limit = erase_limit;
  return device;
}

static inline uint64_t powercut_flash_pages(const powercut_flash* device) {
  return device->blocks * device->pages_per_block;
}

static inline uint64_t* powercut_flash_block_word(const powercut_flash* device, uint64_t block) {
  return (uint64_t*)(void*)(device->lines + block * POWERCUT_FLASH_LINE);
}

static inline uint64_t* powercut_flash_page_words(const powercut_flash* device, uint64_t page) {
  return (uint64_t*)(void*)(device->lines + (device->blocks + page) * POWERCUT_FLASH_LINE);
}

/* Whether the page was programmed since its block was erased for the `erases`th time. */
static inline int powercut_flash_is_programmed(const powercut_flash* device, uint64_t page, uint64_t erases) {
  return powercut_flash_page_words(device, page)[1] == erases + 1;
}

/* Programs a page and its spare area. `spare` may be null where spare_size is 0. */
static inline powercut_flash_status powercut_flash_program(const powercut_flash* device, uint64_t page,
                                                           const void* data, const void* spare) {
  uint64_t erases, words[2];
  uint64_t* to;
  if (page >= powercut_flash_pages(device)) return POWERCUT_FLASH_NO_SUCH;
  erases = *powercut_flash_block_word(device, page / device->pages_per_block);
  if (erases >= POWERCUT_FLASH_UNSTABLE) return POWERCUT_FLASH_UNCORRECTABLE;
  if (powercut_flash_is_programmed(device, page, erases)) return POWERCUT_FLASH_NOT_ERASED;
  if (page % device->pages_per_block != 0 && !powercut_flash_is_programmed(device, page - 1, erases)) {
    return POWERCUT_FLASH_OUT_OF_ORDER;
  }
  to = powercut_flash_page_words(device, page);
  words[0] = POWERCUT_NO_CONTENT;
  words[1] = erases + 1;
  memcpy(to, words, sizeof words);
  words[0] = powercut_content_name(data, device->page_size, spare, device->spare_size);
  memcpy(to, words, sizeof words);
  powercut_device_force(to);
  return POWERCUT_FLASH_OK;
}

/* Finds a page without a copy. Sets `*bytes` to the bytes of the page, followed by the bytes of its spare area; the
 * bytes stay valid for ever. Sets `*bytes` to null if all bytes are zero, or if the page is not OK. */
static inline powercut_flash_status powercut_flash_find(const powercut_flash* device, uint64_t page,
                                                        const uint8_t** bytes) {
  uint64_t erases, name;
  *bytes = NULL;
  if (page >= powercut_flash_pages(device)) return POWERCUT_FLASH_NO_SUCH;
  erases = *powercut_flash_block_word(device, page / device->pages_per_block);
  if (erases >= POWERCUT_FLASH_UNSTABLE) return POWERCUT_FLASH_UNCORRECTABLE;
  if (!powercut_flash_is_programmed(device, page, erases)) return POWERCUT_FLASH_ERASED;
  name = powercut_flash_page_words(device, page)[0];
  if (name == 0) return POWERCUT_FLASH_OK;
  *bytes = (const uint8_t*)powercut_content(name, (size_t)device->page_size + device->spare_size);
  return *bytes == NULL ? POWERCUT_FLASH_UNCORRECTABLE : POWERCUT_FLASH_OK;
}

/* Reads a page and its spare area; either place may be null. Bytes of a page that is not OK are 0xff. */
static inline powercut_flash_status powercut_flash_read(const powercut_flash* device, uint64_t page, void* data,
                                                        void* spare) {
  const uint8_t* bytes;
  const powercut_flash_status status = powercut_flash_find(device, page, &bytes);
  if (status == POWERCUT_FLASH_NO_SUCH) return status;
  if (bytes == NULL) {
    const int fill = status == POWERCUT_FLASH_OK ? 0 : 0xff;
    if (data != NULL) memset(data, fill, device->page_size);
    if (spare != NULL) memset(spare, fill, device->spare_size);
    return status;
  }
  if (data != NULL) memcpy(data, bytes, device->page_size);
  if (spare != NULL) memcpy(spare, bytes + device->page_size, device->spare_size);
  return status;
}

/* How often the block was erased. */
static inline uint64_t powercut_flash_erases(const powercut_flash* device, uint64_t block) {
  return *powercut_flash_block_word(device, block) & ~POWERCUT_FLASH_UNSTABLE;
}

/* Erases a block: its pages may be programmed again, from the first on. */
static inline powercut_flash_status powercut_flash_erase(const powercut_flash* device, uint64_t block) {
  uint64_t* word;
  uint64_t erases;
  if (block >= device->blocks) return POWERCUT_FLASH_NO_SUCH;
  word = powercut_flash_block_word(device, block);
  erases = powercut_flash_erases(device, block);
  if (erases >= device->erase_limit) return POWERCUT_FLASH_WORN_OUT;
  /* Volatile: both are written, in this order. */
  *(volatile uint64_t*)word = erases | POWERCUT_FLASH_UNSTABLE;
  *(volatile uint64_t*)word = erases + 1;
  powercut_device_force(word);
  return POWERCUT_FLASH_OK;
}

#endif /* POWERCUT_FLASH_H_ */
