#include "tracer/runtime/reads/followed_pools.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>

#include "tracer/format/line_bytes.h"
#include "tracer/runtime/hooks.h"
#include "tracer/runtime/reads/kernel.h"
#include "tracer/runtime/reads/other_threads.h"
#include "tracer/stream/pools.h"

namespace powercut::runtime {
namespace {

constexpr uint64_t kMostImages = 64;
constexpr uint64_t kGrain = uint64_t{1} << 32, kRoom = 16 * kGrain;
constexpr long kReserve = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

struct Image {
  const char* path = nullptr;
  dev_t device = 0;
  ino_t inode = 0;
  uint64_t size = 0;
  uint64_t* settled = nullptr;  // by line: the bytes that were accessed
  uint32_t* faults = nullptr;   // by page
  uint8_t* followed = nullptr;  // by page: whether the page is followed
  uint8_t* changed = nullptr;   // by page: whether the log tells that the page may be changed
  uint64_t pages() const { return (size + kReadsPage - 1) / kReadsPage; }
  bool follows(uint64_t offset) const { return offset < size && followed[offset / kReadsPage] != 0; }
};

struct Pools {
  powercut_read_log* log = nullptr;
  Image images[kMostImages];
  uint32_t count = 0;
  ClosedArea closed;
  uint64_t delta = 0;  // from a closed address to the place of its bytes
  uint64_t next = 0;   // where the next mapping goes
  bool moved = false;  // the area was moved to where the program wanted it
  // Mappings in the closed area; a range's `pool` is an image's number and the protection that the program asked for.
  powercut_ranges mapped;
};
constinit Pools pools{};

constexpr uint32_t kProtections = 8;
uint32_t kind_of(uint32_t image, long protection) {
  return image * kProtections + static_cast<uint32_t>(protection & (kProtections - 1));
}

bool failed(long result) { return result < 0 && result >= -4095; }

uint64_t pages_of(uint64_t size) { return (size + kReadsPage - 1) / kReadsPage * kReadsPage; }

uint64_t reserve(uint64_t size) {
  const long found = kernel(SYS_mmap, 0, static_cast<long>(size), PROT_NONE, kReserve, -1, 0);
  return failed(found) ? 0 : static_cast<uint64_t>(found);
}

// Returns a table of `count` zeroes.
template <typename T>
T* table(uint64_t count) {
  const long found =
      kernel(SYS_mmap, 0, static_cast<long>(pages_of(count * sizeof(T))), PROT_READ | PROT_WRITE, kReserve, -1, 0);
  if (failed(found)) refuse("there is no memory to follow its reads in");
  return reinterpret_cast<T*>(found);
}

// Opens the pages of an image's mapping that are not followed.
void open_others(uint64_t address, uint64_t length, const Image& image, uint64_t offset, long protection) {
  for (uint64_t at = 0; at < length;) {
    const bool follows = image.follows(offset + at);
    uint64_t end = at + kReadsPage;
    while (end < length && image.follows(offset + end) == follows) end += kReadsPage;
    if (!follows &&
        failed(kernel(SYS_mprotect, static_cast<long>(address + at), static_cast<long>(end - at), protection))) {
      refuse("its pool has too many pages that are followed by others that are not");
    }
    at = end;
  }
}

// Returns the image of a page in the closed area, and the page's offset in the image's file.
std::pair<const Image*, uint64_t> file_of(uint64_t page) {
  const powercut_range& range = *powercut_ranges_at(&pools.mapped, page);
  return {&pools.images[range.pool / kProtections], range.offset + (page - range.begin)};
}

void may_change(const Image& image, uint64_t offset, uint64_t size) {
  powercut_read_log& log = *pools.log;
  const uint64_t end = std::min(offset + size, image.size);
  for (uint64_t page = offset / kReadsPage; page * kReadsPage < end; ++page) {
    if (image.changed[page] != 0) continue;
    image.changed[page] = 1;
    const uint32_t change = std::atomic_ref(log.changed).fetch_add(1);
    if (change >= POWERCUT_READ_LOG_PAGES) return any_page_may_change();
    log.changes[change] = {static_cast<uint32_t>(&image - pools.images), static_cast<uint32_t>(page)};
  }
}

void watch_closed_area() {
  const uint64_t span = pools.closed.end - pools.closed.begin;
  __powercut_alias = {pools.closed.begin, span, pools.delta};
  __powercut_load_window = __powercut_store_window = {pools.closed.begin, span};
}

// Returns the protection of a mapping's pages until they are written to. On this machine, pages that may be written can
// be read.
long before_writes(long protection) {
  return (protection & PROT_WRITE) == 0 ? protection : (protection & ~PROT_WRITE) | PROT_READ;
}

// Makes the first write to each page fault: the fault tells of the write.
void protect_from_writes(uint64_t address, uint64_t length, long protection) {
  if ((protection & PROT_WRITE) == 0) return;
  kernel(SYS_mprotect, static_cast<long>(address), static_cast<long>(length), before_writes(protection));
}

// Reserves the closed addresses and the places of their bytes again.
void vacate(uint64_t address, uint64_t length) {
  for (const uint64_t begin : {address, address + pools.delta}) {
    kernel(SYS_mmap, static_cast<long>(begin), static_cast<long>(length), PROT_NONE, kReserve | MAP_FIXED, -1, 0);
  }
  powercut_ranges_unmap(&pools.mapped, address, length);
}

// Bytes of a pool that code before main has read are the same for all runs, whatever their images hold.
bool mapped_before_main(const char* path) {
  FILE* const maps = fopen("/proc/self/maps", "re");
  if (maps == nullptr) return true;
  char* line = nullptr;
  size_t room = 0;
  bool found = false;
  while (!found && getline(&line, &room, maps) > 0) found = std::strstr(line, path) != nullptr;
  free(line);
  fclose(maps);
  return found;
}

}  // namespace

const ClosedArea& closed_area() { return pools.closed; }

void any_page_may_change() { pools.log->changed = POWERCUT_READ_LOG_PAGES + 1; }

void refuse(const char* why) { refuse(why, ""); }

void refuse(const char* why, const char* what) {
  char* to = pools.log->why;
  char* const end = to + sizeof pools.log->why - 1;
  for (const char* part : {why, what}) {
    while (*part != '\0' && to < end) *to++ = *part++;
  }
  *to = '\0';
  pools.log->state = kPowercutReadsRefused;
  for (;;) kernel(SYS_exit_group, 0);
}

const char* prepare_pools(powercut_read_log* log, const char* const* images, uint32_t count) {
  pools.log = log;
  if (count > kMostImages) return "it has more than 64 pools";
  pools.count = count;
  for (uint32_t i = 0; i < count; ++i) {
    pools.images[i].path = images[i];
    if (mapped_before_main(images[i])) return "it maps its pool before main";
  }
  const uint64_t closed = reserve(kRoom + kGrain), open = reserve(kRoom);
  if (closed == 0 || open == 0) return "there is no address space to watch its pools in";
  pools.closed.begin = (closed + kGrain - 1) / kGrain * kGrain;
  pools.closed.end = pools.closed.begin + kRoom;
  pools.delta = open - pools.closed.begin;
  pools.next = pools.closed.begin + kReadsPage;  // no access begins before the area and ends in a pool
  return nullptr;
}

void begin_pools() {
  for (uint32_t i = 0; i < pools.count; ++i) {
    Image& image = pools.images[i];
    struct stat status{};
    if (failed(kernel(SYS_stat, reinterpret_cast<long>(image.path), reinterpret_cast<long>(&status)))) {
      refuse("there is no file ", image.path);
    }
    image.device = status.st_dev;
    image.inode = status.st_ino;
    image.size = static_cast<uint64_t>(status.st_size);
    if (image.size == 0) continue;
    image.settled = table<uint64_t>(image.pages() * kReadsPage / kLineSize);
    image.faults = table<uint32_t>(image.pages());
    image.followed = table<uint8_t>(image.pages());
    image.changed = table<uint8_t>(image.pages());
    if (pools.log->followed > POWERCUT_READ_LOG_PAGES) std::memset(image.followed, 1, image.pages());
  }
  for (uint32_t i = 0; i < std::min(pools.log->followed, POWERCUT_READ_LOG_PAGES); ++i) {
    const powercut_image_page& followed = pools.log->pages[i];
    if (followed.image < pools.count && followed.page < pools.images[followed.image].pages()) {
      pools.images[followed.image].followed[followed.page] = 1;
    }
  }
  watch_closed_area();
  // A real flush of an address where nothing can be accessed faults; in an ordinary file a flush does nothing.
  __powercut_real_flush = 0;
}

int image_of(long fd) {
  struct stat status{};
  if (failed(kernel(SYS_fstat, fd, reinterpret_cast<long>(&status)))) return -1;
  for (uint32_t i = 0; i < pools.count; ++i) {
    if (status.st_dev == pools.images[i].device && status.st_ino == pools.images[i].inode) return static_cast<int>(i);
  }
  return -1;
}

void accessed(uint32_t number, uint64_t offset, uint64_t size, bool written) {
  const Alone turn;
  const Image& image = pools.images[number];
  if (offset >= image.size) return;
  powercut_read_log& log = *pools.log;
  for_each_line(offset, offset + std::min(size, image.size - offset), [&](uint64_t line, uint64_t mask) {
    const uint64_t first = image.follows(line * kLineSize) ? first_accessed(&image.settled[line], mask) : 0;
    if (first == 0) return;
    // Other processes add to the log's count as well.
    const uint64_t entry = std::atomic_ref(log.count).fetch_add(1);
    if (entry >= POWERCUT_READ_LOG_ENTRIES) refuse("it reads too many pieces of its pools");
    const bool hides = written && !is_concurrent();
    log.entries[entry] = {static_cast<uint32_t>(line), static_cast<uint16_t>(number), hides, first};
  });
}

void access_memory(uint64_t address, uint64_t size, bool written) {
  const Alone turn;
  const uint64_t end = address + size;
  for (powercut_range piece; powercut_ranges_next(&pools.mapped, &address, end, &piece) != 0;) {
    accessed(piece.pool / kProtections, piece.offset, piece.end - piece.begin, written);
  }
}

void file_may_change(uint32_t number, uint64_t offset, uint64_t size) {
  const Alone turn;
  may_change(pools.images[number], offset, size);
}

void open_to_write(uint64_t address, uint64_t size) {
  const Alone turn;
  const uint64_t end = address + size;
  for (powercut_range piece; powercut_ranges_next(&pools.mapped, &address, end, &piece) != 0;) {
    const long protection = piece.pool % kProtections;
    if ((protection & PROT_WRITE) == 0) continue;
    may_change(pools.images[piece.pool / kProtections], piece.offset, piece.end - piece.begin);
    const uint64_t begin = piece.begin / kReadsPage * kReadsPage;
    kernel(SYS_mprotect, static_cast<long>(begin + pools.delta), static_cast<long>(pages_of(piece.end - begin)),
           protection);
  }
}

uint64_t place_in_pools(uint64_t address) { return pools.closed.holds(address) ? address + pools.delta : address; }

long map_image(uint32_t image, long length, long protection, long flags, long fd, long offset) {
  const Alone turn;
  if ((flags & MAP_TYPE) == MAP_PRIVATE) {
    // From now on the mapping's pages are the program's own, as the file has them.
    accessed(image, static_cast<uint64_t>(offset), static_cast<uint64_t>(length), false);
    return kernel(SYS_mmap, 0, length, protection, flags, fd, offset);
  }
  const uint64_t room = pages_of(static_cast<uint64_t>(length));
  if (length > 0 && room + kReadsPage > pools.closed.end - pools.next) refuse("its mappings of pools are too large");
  const uint64_t at = pools.next;
  const long mapped =
      kernel(SYS_mmap, static_cast<long>(at + pools.delta), length, protection, flags | MAP_FIXED, fd, offset);
  if (failed(mapped)) return mapped;
  protect_from_writes(at + pools.delta, room, protection);
  const long closed = kernel(SYS_mmap, static_cast<long>(at), length, PROT_NONE, MAP_SHARED | MAP_FIXED, fd, offset);
  if (failed(closed)) refuse("its pool cannot be mapped twice");
  open_others(at, room, pools.images[image], static_cast<uint64_t>(offset), before_writes(protection));
  if (powercut_ranges_map(&pools.mapped, at, room, kind_of(image, protection), static_cast<uint64_t>(offset)) != 0) {
    refuse("it has too many mappings of its pools");
  }
  pools.next += room + kReadsPage;
  return static_cast<long>(at);
}

bool move_closed_area(uint64_t address, uint64_t length) {
  const uint64_t begin = address / kGrain * kGrain, end = (address + length + kGrain - 1) / kGrain * kGrain;
  const uint64_t open = pools.closed.begin + pools.delta;
  // The filters of other threads and processes cannot be changed.
  if (is_concurrent()) return false;
  if (address % kReadsPage != 0 || pools.moved || pools.mapped.count != 0 || end - begin > kRoom) return false;
  const long reserved = kernel(SYS_mmap, static_cast<long>(begin), static_cast<long>(end - begin), PROT_NONE,
                               kReserve | MAP_FIXED_NOREPLACE, -1, 0);
  if (reserved != static_cast<long>(begin)) {
    if (!failed(reserved)) kernel(SYS_munmap, reserved, static_cast<long>(end - begin));  // a kernel that knows no flag
    return false;
  }
  pools.moved = true;
  pools.closed = {begin, end};
  pools.delta = open - begin;
  pools.next = address;
  watch_closed_area();
  return true;
}

long unmap_pools(uint64_t address, uint64_t length) {
  const Alone turn;
  if (address % kReadsPage != 0 || !pools.closed.holds(address + length)) return -EINVAL;
  vacate(address, pages_of(length));
  return 0;
}

long protect_pools(uint64_t address, uint64_t length, long protection) {
  const Alone turn;
  const long result =
      kernel(SYS_mprotect, static_cast<long>(address + pools.delta), static_cast<long>(length), protection);
  if (failed(result)) return result;
  protect_from_writes(address + pools.delta, pages_of(length), protection);
  const uint64_t end = address + pages_of(length);
  uint64_t at = address;
  for (powercut_range piece; powercut_ranges_next(&pools.mapped, &at, end, &piece) != 0;) {
    // Pages that code without hooks has opened are closed again: the code faults there and finds the new protection.
    kernel(SYS_mprotect, static_cast<long>(piece.begin), static_cast<long>(piece.end - piece.begin), PROT_NONE);
    if (powercut_ranges_map(&pools.mapped, piece.begin, piece.end - piece.begin,
                            kind_of(piece.pool / kProtections, protection), piece.offset) != 0) {
      refuse("it has too many mappings of its pools");
    }
    open_others(piece.begin, piece.end - piece.begin, pools.images[piece.pool / kProtections], piece.offset,
                before_writes(protection));
  }
  return 0;
}

bool may_access(uint64_t page, bool to_write) {
  const powercut_range* range = powercut_ranges_at(&pools.mapped, page);
  if (range == nullptr || range->begin > page) return false;
  const long protection = range->pool % kProtections;
  // On this machine, pages that may be written or executed can be read.
  return (protection & (to_write ? PROT_WRITE : PROT_READ | PROT_WRITE | PROT_EXEC)) != 0;
}

bool first_write(uint64_t address) {
  const uint64_t page = address / kReadsPage * kReadsPage;
  const bool placed = pools.closed.holds(page - pools.delta);  // the fault was at the place of the bytes
  const uint64_t own = placed ? page - pools.delta : page;     // the page's address in the program
  if (!may_access(own, true)) return false;
  const auto [image, offset] = file_of(own);
  if (!placed && image->follows(offset)) return false;
  may_change(*image, offset, kReadsPage);
  const powercut_range* range = powercut_ranges_at(&pools.mapped, own);
  if (failed(kernel(SYS_mprotect, static_cast<long>(page), kReadsPage, range->pool % kProtections))) {
    refuse("it writes to too many pages of its pool that are not neighbours");
  }
  return true;
}

void open_page(uint64_t page) {
  const powercut_range* range = powercut_ranges_at(&pools.mapped, page);
  const auto [image, offset] = file_of(page);
  if ((range->pool & PROT_WRITE) != 0) may_change(*image, offset, kReadsPage);
  kernel(SYS_mprotect, static_cast<long>(page), kReadsPage, range->pool % kProtections);
}

void close_page(uint64_t page) { kernel(SYS_mprotect, static_cast<long>(page), kReadsPage, PROT_NONE); }

uint32_t count_fault(uint64_t page) {
  const auto [image, offset] = file_of(page);
  return offset < image->size ? image->faults[offset / kReadsPage]++ : 0;
}

bool all_accessed(uint64_t page) {
  const auto [image, offset] = file_of(page);
  if (offset >= image->size) return false;
  const std::span lines(&image->settled[offset / kLineSize], kReadsPage / kLineSize);
  return std::ranges::all_of(lines, [](uint64_t line) { return line == ~uint64_t{0}; });
}

}  // namespace powercut::runtime
