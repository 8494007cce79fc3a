// The image files of a run that reports its reads: where the run has mapped them, and which bytes it has accessed.
//
// A shared mapping of an image lies in an area of its own in which nothing can be accessed, the *closed area*. The
// mapping lies once more at a constant distance above, in another area. Hooks announce an access and lead it to the
// upper area (powercut_alias of hooks.h); an access without a hook faults (unannounced.cc).
//
// Pages that all images have alike are not reported (read_log.h), so the program can access them at their own
// addresses.
//
// Pages that a run may change are reported as well. At first no mapping of an image can be written to. The first write
// to a page faults, whoever makes the write, and only then the page becomes writable. Writes by system calls are
// reported before they are made.
//
// Hooks and signal handlers call these functions: no function allocates or changes errno.
#ifndef POWERCUT_TRACER_RUNTIME_READS_FOLLOWED_POOLS_H_
#define POWERCUT_TRACER_RUNTIME_READS_FOLLOWED_POOLS_H_

#include <cstdint>

#include "tracer/runtime/reads/closed_area.h"
#include "tracer/runtime/reads/read_log.h"

namespace powercut::runtime {

inline constexpr uint64_t kReadsPage = POWERCUT_READ_LOG_PAGE;

// Called before main. Returns null, or a text of the problem.
const char* prepare_pools(powercut_read_log* log, const char* const* images, uint32_t count);
// Called in the run, before the run does anything else.
void begin_pools();

// Returns the number of the image that `fd` is an open file of, or -1.
int image_of(long fd);
// Bytes of an image's file are read or overwritten. Bytes behind the file's end at the start of the run do not count.
void accessed(uint32_t image, uint64_t offset, uint64_t size, bool written);
// As accessed(), for the bytes of images at these addresses of the closed area.
void access_memory(uint64_t address, uint64_t size, bool written);
// From now on these pages of an image's file, or any pages of any image, may be changed.
void file_may_change(uint32_t image, uint64_t offset, uint64_t size);
void any_page_may_change();
// As file_may_change(), for the pages at these addresses of the closed area, before the kernel writes there.
void open_to_write(uint64_t address, uint64_t size);
// Returns whether the write that faulted there was the first write to a page; the page then is writable.
bool first_write(uint64_t address);
// Returns where the bytes of an address are.
uint64_t place_in_pools(uint64_t address);

// The kernel's calls on an image or in the closed area. They return the result that the program finds in rax.
long map_image(uint32_t image, long length, long protection, long flags, long fd, long offset);
// As map_image(), for an address that the program chose: moves the closed area there, if nothing has been mapped in the
// area before and nothing else lies near the address. The caller makes the new filter for the moved area.
bool move_closed_area(uint64_t address, uint64_t length);
long unmap_pools(uint64_t address, uint64_t length);
long protect_pools(uint64_t address, uint64_t length, long protection);

// Returns whether the program may access the page; false also for an address that is no page of an image.
bool may_access(uint64_t page, bool to_write);
// Makes a page of an image accessible at its own address, as the program may access it. close_page() undoes this.
void open_page(uint64_t page);
void close_page(uint64_t page);
// Counts a fault on a page of an image; returns how many faults there were on the page before.
uint32_t count_fault(uint64_t page);
// Returns whether every byte of the page was accessed.
bool all_accessed(uint64_t page);

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_READS_FOLLOWED_POOLS_H_
