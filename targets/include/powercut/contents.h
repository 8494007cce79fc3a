/* Contents of sectors and pages, by name: how devices (block.h, flash.h) keep kilobytes in a word of eight bytes.
 *
 * The name of a content is a hash of its bytes, so equal contents have one name, in every process. Zeroes have the name
 * 0. Names and contents are the engine's: a power cut takes none of them, and a target keeps none itself. */
#ifndef POWERCUT_CONTENTS_H_
#define POWERCUT_CONTENTS_H_

#include <stddef.h>
#include <stdint.h>

#define POWERCUT_NO_CONTENT 1ull

#ifdef __cplusplus
extern "C" {
#endif

/* The name of `size` bytes and `more_size` more behind them, which are kept from now on. Never POWERCUT_NO_CONTENT. */
uint64_t powercut_content_name(const void* bytes, size_t size, const void* more, size_t more_size);
/* The bytes of that name, good for ever; null where nobody has named so many. */
const void* powercut_content(uint64_t name, size_t size);

#ifdef __cplusplus
}
#endif
#endif /* POWERCUT_CONTENTS_H_ */
