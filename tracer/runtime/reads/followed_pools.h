// The image files of a run that reports its reads: where it has mapped them, and which bytes it has accessed.
//
// A shared mapping of an image lies in an area of its own in which nothing can be accessed, and once more at a constant
// distance above it, in another area. Hooks announce an access and lead it there (powercut_alias of hooks.h); what does
// not come through a hook faults (unannounced.cc).
//
// Of pages that all images have alike nothing is told (read_log.h), so they can be accessed where the program has them.
//
// Which pages a run may change is told as well. No mapping of an image can be written to at first: the first write to a
// page faults, whoever makes it, and only then the page is writable. Writes by system calls are told of before they are
// made.
//
// Called by hooks and in signal handlers: no function allocates, or changes errno.
#ifndef POWERCUT_TRACER_RUNTIME_READS_FOLLOWED_POOLS_H_
#define POWERCUT_TRACER_RUNTIME_READS_FOLLOWED_POOLS_H_

#include <cstdint>

#include "tracer/runtime/reads/closed_area.h"
#include "tracer/runtime/reads/read_log.h"

namespace powercut::runtime {

inline constexpr uint64_t kReadsPage = POWERCUT_READ_LOG_PAGE;

// Before main. Null, or what is wrong.
const char* prepare_pools(powercut_read_log* log, const char* const* images, uint32_t count);
// In the run, before it does anything.
void begin_pools();

// The number of the image that `fd` is an open file of, or -1.
int image_of(long fd);
// Bytes of an image's file are read or overwritten. What lies behind its end at the start of the run does not count.
void accessed(uint32_t image, uint64_t offset, uint64_t size, bool written);
// The same of what the closed area has at these addresses.
void access_memory(uint64_t address, uint64_t size, bool written);
// Pages of an image's file, or any pages of any image, may be changed from now on.
void file_may_change(uint32_t image, uint64_t offset, uint64_t size);
void any_page_may_change();
// The same of what the closed area has at these addresses, before the kernel writes there.
void open_to_write(uint64_t address, uint64_t size);
// Whether a write that faulted there was the first one to a page, which now is writable.
bool first_write(uint64_t address);
// Where the bytes at an address are.
uint64_t place_in_pools(uint64_t address);

// The calls of the kernel on an image or in the closed area. They return what the program finds in rax.
long map_image(uint32_t image, long length, long protection, long flags, long fd, long offset);
// The same at an address that the program chose: the closed area moves there, if nothing has been mapped in it before
// and nothing else lies near. The area's new filter is the caller's to make.
bool move_closed_area(uint64_t address, uint64_t length);
long unmap_pools(uint64_t address, uint64_t length);
long protect_pools(uint64_t address, uint64_t length, long protection);

// Whether the program may access the page. False as well for what is no page of an image.
bool may_access(uint64_t page, bool to_write);
// Makes such a page accessible at its own address, as the program may access it.
void open_page(uint64_t page);
void close_page(uint64_t page);
// How many faults there were on a page of an image before this one.
uint32_t count_fault(uint64_t page);
// Whether every byte of it was accessed.
bool all_accessed(uint64_t page);

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_READS_FOLLOWED_POOLS_H_
