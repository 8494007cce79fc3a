#include "tracer/runtime/recording/stream_trace.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tracer/runtime/hooks/pending_store.h"
#include "tracer/runtime/recording/uninstrumented.h"

namespace powercut::runtime {
namespace {

constexpr size_t kBuffer = 1 << 20;
// How many differences are told: more would say nothing new.
constexpr uint32_t kMostTold = 4;
// Says which events a recording lacks if the compiler had no plugin.
constexpr const char* kCallbacks =
    "nothing is stored, flushed or fenced by inline assembly or by libraries that were not rebuilt: the program is "
    "instrumented by -fsanitize=thread, which does not see these";
constexpr const char* kNoOrder =
    "several threads stored to the pools, and -fsanitize=thread does not tell in which order: a compiler with a plugin "
    "('powercut doctor' lists them) does";
// The flags of a stream's store are the flags of a hook's store.
static_assert(uint32_t{kPowercutStoreNt} == POWERCUT_STORE_NT);
static_assert(uint32_t{kPowercutStoreAtomic} == POWERCUT_STORE_ATOMIC);
static_assert(uint32_t{kPowercutStoreString} == POWERCUT_STORE_MEMCALL);
static_assert(uint32_t{kPowercutStoreRmw} == POWERCUT_STORE_RMW);
static_assert(uint32_t{kPowercutStoreContinues} == POWERCUT_STORE_CONTINUES);

// Appends to `path`, which is opened anew: the program could close a descriptor of the runtime's, or mean it by a
// number.
int append(const std::string& path, int flags, const void* bytes, size_t size) {
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0644);
  if (fd < 0) return errno;
  int problem = 0;
  const char* from = static_cast<const char*>(bytes);
  while (size != 0 && problem == 0) {
    const ssize_t done = ::write(fd, from, size);
    if (done < 0 && errno != EINTR) problem = errno;
    if (done > 0) {
      from += done;
      size -= static_cast<size_t>(done);
    }
  }
  close(fd);
  return problem;
}

std::string refusal(const std::string& what, const std::string& path) {
  return "the program used " + what + " on the device " + path + ", which is not modelled";
}

std::string command_line() {
  std::string words(4096, '\0');
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  const ssize_t size = fd < 0 ? 0 : read(fd, words.data(), words.size());
  if (fd >= 0) close(fd);
  words.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  while (!words.empty() && words.back() == '\0') words.pop_back();
  for (char& letter : words) {
    if (letter == '\0' || letter == '\n') letter = ' ';
  }
  return words;
}

}  // namespace

StreamTrace::StreamTrace(std::string path, std::string_view pool_files, std::string_view device,
                         std::string_view output)
    : path_(std::move(path)),
      files_(pool_files, device),
      output_(output),
      ranges_(std::make_unique<powercut_ranges>()),
      stacks_([this](std::span<const uint64_t> addresses) { return define_stack(addresses); }),
      unseen_(ranges_.get()) {
  if (device.empty()) return;
  device_ = static_cast<uint32_t>(files_.all().size() - 1);
  device_maps_ = std::make_unique<powercut_ranges>();
}

powercut_window StreamTrace::window() const {
  if (ranges_->span == 0) return {0, 0};
  // A store that begins before the first range may reach into it.
  const uint64_t before = std::min(ranges_->low, kLineSize - 1);
  return {ranges_->low - before, ranges_->span + before};
}

int StreamTrace::write(const void* bytes, size_t size) {
  const int problem = append(path_, 0, bytes, size);
  if (problem != 0) problem_ = path_ + ": " + strerror(problem);
  return problem;
}

bool StreamTrace::begin() {
  if (const int problem = append(path_, O_CREAT | O_EXCL, nullptr, 0)) {
    state_ = State::kEnded;
    if (problem == EEXIST) {
      const std::string line = command_line() + '\n';
      append(path_ + ".unrecorded", O_CREAT, line.data(), line.size());
    } else {
      problem_ = path_ + ": " + strerror(problem);
    }
    return false;
  }
  buffer_.resize(kBuffer);
  stream_.write = [](void* self, const void* bytes, size_t size) {
    return static_cast<StreamTrace*>(self)->write(bytes, size);
  };
  stream_.context = this;
  stream_.buffer = buffer_.data();
  stream_.capacity = buffer_.size();
  powercut_stream_begin(&stream_);
  uint32_t number = 0;
  for (PoolFiles::File& file : files_.all()) {
    struct stat status{};
    if (stat(file.path.c_str(), &status) == 0) file.size = static_cast<uint64_t>(status.st_size);
    powercut_stream_pool(&stream_, file.block ? kPowercutDevice : kPowercutMemory, file.path.c_str(), file.size);
    PoolFiles::read(file, [&](uint64_t offset, std::span<const uint8_t> bytes) {
      powercut_stream_content(&stream_, number, offset, bytes.data(), static_cast<uint32_t>(bytes.size()));
      unseen_.store(number, offset, bytes, 0);
    });
    ++number;
  }
  state_ = State::kRecording;
  for (; early_forks_ != 0; --early_forks_) forked();
  return true;
}

uint32_t StreamTrace::define_stack(std::span<const uint64_t> addresses) {
  std::vector<powercut_stream_frame> frames;
  for (const uint64_t address : addresses) {
    // A return address: one byte back lies in the call itself, whose line is wanted.
    const std::optional<ModuleMap::Place> place = modules_.find(address - 1);
    if (!place) break;
    const auto next = static_cast<uint32_t>(module_numbers_.size());
    const auto [known, added] = module_numbers_.emplace(place->module->path, next);
    if (added) powercut_stream_module(&stream_, known->first.c_str());
    frames.push_back({known->second, place->offset});
  }
  if (frames.empty()) return 0;
  powercut_stream_stack(&stream_, frames.data(), static_cast<uint32_t>(frames.size()));
  return ++stack_count_;
}

void StreamTrace::thread_start() { powercut_stream_plain(&stream_, kPowercutThreadStart, no_stack()); }

void StreamTrace::thread_end() { powercut_stream_plain(&stream_, kPowercutThreadEnd, no_stack()); }

void StreamTrace::begins_event() {
  if (state_ != State::kRecording) return;
  output_.look([this](uint32_t which, uint64_t size) { powercut_stream_output(&stream_, which, size); });
}

void StreamTrace::store(uint64_t addr, uint64_t size, uint32_t flags, const void* value, const void* pc,
                        const void* frame) {
  const uint8_t* bytes = static_cast<const uint8_t*>(value);
  const uint64_t end = addr + size;
  in_pieces_ = in_pieces_ && (flags & POWERCUT_STORE_CONTINUES) != 0;
  flags &= ~uint32_t{POWERCUT_STORE_IN_STEP};  // a flag that a stream does not know
  uint64_t at = addr;
  for (powercut_range piece; powercut_ranges_next(ranges_.get(), &at, end, &piece);) {
    const powercut_site where = site(pc, frame);
    const std::span stored(bytes + (piece.begin - addr), piece.end - piece.begin);
    flags = in_pieces_ ? flags | POWERCUT_STORE_CONTINUES : flags & ~uint32_t{POWERCUT_STORE_CONTINUES};
    powercut_stream_store(&stream_, where, flags, piece.begin, stored.data(), stored.size());
    unseen_.store(piece.pool, piece.offset, stored, piece.begin);
    in_pieces_ = true;
  }
}

void StreamTrace::load(uint64_t addr, uint64_t size) {
  uint64_t begin = 0;
  if (const uint64_t piece = powercut_ranges_clip(ranges_.get(), addr, size, &begin)) {
    powercut_stream_load(&stream_, no_stack(), begin, piece);
  }
}

void StreamTrace::rmw_begin(uint64_t, uint64_t, const void* pc, const void* frame) {
  fence(POWERCUT_RMW_FENCE, pc, frame);
}

void StreamTrace::rmw_end(uint64_t addr, uint64_t size, uint32_t stored, const void* pc, const void* frame) {
  if (stored == 0) return;
  store(addr, size, POWERCUT_STORE_RMW | POWERCUT_STORE_ATOMIC, reinterpret_cast<const void*>(addr), pc, frame);
}

void StreamTrace::flush(uint64_t addr, uint32_t kind, const void* pc, const void* frame) {
  uint64_t begin = 0;
  if (powercut_ranges_clip(ranges_.get(), addr & ~(kLineSize - 1), kLineSize, &begin) == 0) return;
  powercut_stream_flush_line(&stream_, site(pc, frame), kind, addr);
}

void StreamTrace::fence(uint32_t kind, const void* pc, const void* frame) {
  powercut_stream_fence(&stream_, site(pc, frame), kind);
}

void StreamTrace::mark(const char* name) { powercut_stream_marker(&stream_, no_stack(), name); }

void StreamTrace::left(const char* how, const void* pc, const void* frame) {
  powercut_stream_marker(&stream_, site(pc, frame), how);
}

void StreamTrace::operation_begins(uint32_t kind, std::span<const uint8_t> key, std::span<const uint8_t> value) {
  look("the start of operation " + std::to_string(++operations_));
  powercut_stream_op_begin(&stream_, no_stack(), kind, key.data(), key.size(), value.data(), value.size());
}

void StreamTrace::operation_ends(uint32_t status, std::span<const uint8_t> value) {
  look("the end of operation " + std::to_string(operations_));
  powercut_stream_op_end(&stream_, no_stack(), status, value.data(), value.size());
}

void StreamTrace::forked() {
  if (state_ == State::kRecording) {
    powercut_stream_note(&stream_, kPowercutNoteFork, "the program forked");
  } else if (state_ == State::kWaiting) {
    ++early_forks_;
  }
}

void StreamTrace::look(const std::string& place) {
  const bool all = unseen_.affords_all();
  tell(unseen_.look(all ? UnseenStores::Where::kAll : UnseenStores::Where::kStored, threads_ > 1), place);
  if (all) looked_ = place;
}

void StreamTrace::tell(const UnseenStores::Differences& differences, const std::string& place) {
  for (const auto& [pool, difference] : differences) {
    if (++told_ > kMostTold) return;
    const std::string suspects = uninstrumented_code();
    const std::string text = difference.text() + " of " + files_.all()[pool].path + " changed between " + looked_ +
                             " and " + place + " without a recorded store" +
                             (suspects.empty() ? "" : " (" + suspects + ")");
    powercut_stream_note(&stream_, kPowercutNoteUnseen, text.c_str());
  }
}

std::optional<std::string> StreamTrace::finish(int status) {
  if (state_ == State::kRecording) {
    begins_event();
    tell(unseen_.look(UnseenStores::Where::kAll, threads_ > 1), "the end of the recording");
    if (has_callbacks()) powercut_stream_note(&stream_, kPowercutNoteCallbacks, kCallbacks);
    if (has_callbacks() && threads_ > 1) powercut_stream_note(&stream_, kPowercutNoteUnseen, kNoOrder);
    powercut_stream_end(&stream_, kPowercutExited, static_cast<uint32_t>(status));
    state_ = State::kEnded;
  }
  return problem_.empty() ? std::nullopt : std::optional(std::exchange(problem_, {}));
}

std::optional<uint32_t> StreamTrace::touch(int fd) {
  if (state_ == State::kEnded) return std::nullopt;
  const std::optional<PoolFiles::Open> open = files_.find(fd);
  if (!open || (state_ == State::kWaiting && !begin())) return std::nullopt;
  if (open->replaced) {
    powercut_stream_file_size(&stream_, no_stack(), open->pool, 0);
    unseen_.zero_from(open->pool, 0);
  }
  resized(open->pool, fd);
  return open->pool;
}

void StreamTrace::resized(uint32_t pool, int fd) { set_size(pool, fd, no_stack()); }

void StreamTrace::set_size(uint32_t pool, int fd, powercut_site site) {
  struct stat status{};
  PoolFiles::File& file = files_.all()[pool];
  if (fstat(fd, &status) != 0 || static_cast<uint64_t>(status.st_size) == file.size) return;
  if (static_cast<uint64_t>(status.st_size) < file.size) {
    unseen_.zero_from(pool, static_cast<uint64_t>(status.st_size));
  }
  file.size = static_cast<uint64_t>(status.st_size);
  powercut_stream_file_size(&stream_, site, pool, file.size);
}

void StreamTrace::mapped(int fd, uint64_t address, uint64_t length, uint64_t offset, bool shared) {
  // Any earlier mapping at these addresses is gone.
  unmapped(address, length);
  const std::optional<uint32_t> pool = touch(fd);
  if (!pool) return;
  if (!shared) {
    powercut_stream_note(&stream_, kPowercutNotePrivate, files_.all()[*pool].path.c_str());
  } else if (powercut_ranges_map(ranges_.get(), address, length, *pool, offset) != 0) {
    powercut_stream_note(&stream_, kPowercutNoteOther, "too many mappings of pools; the last ones are not recorded");
  } else {
    powercut_stream_map(&stream_, *pool, address, length, offset);
  }
}

void StreamTrace::unmapped(uint64_t address, uint64_t length) {
  if (device_maps_ != nullptr) powercut_ranges_unmap(device_maps_.get(), address, length);
  if (powercut_ranges_unmap(ranges_.get(), address, length) == 0) return;
  powercut_stream_unmap(&stream_, kPowercutGone, address, length);
}

void StreamTrace::unmaps(uint64_t address, uint64_t length) {
  if (state_ != State::kRecording) return;
  tell(unseen_.look_at(address, length, threads_ > 1), "an unmapping");
}

void StreamTrace::moved(uint64_t from, uint64_t old_length, uint64_t to, uint64_t new_length) {
  const powercut_range* range = powercut_ranges_at(ranges_.get(), from);
  const bool ours = range != nullptr && range->begin <= from;
  const uint32_t pool = ours ? range->pool : 0;
  const uint64_t offset = ours ? range->offset + (from - range->begin) : 0;
  uint64_t begin = 0;
  const bool reads = device_maps_ != nullptr && powercut_ranges_clip(device_maps_.get(), from, 1, &begin) != 0;
  // With an old length of 0 a shared mapping is doubled and the old one stays.
  unmapped(from, old_length);
  unmapped(to, new_length);
  if (ours && powercut_ranges_map(ranges_.get(), to, new_length, pool, offset) == 0) {
    powercut_stream_map(&stream_, pool, to, new_length, offset);
  }
  if (reads) device_mapped(to, new_length, false);
}

void StreamTrace::written(uint32_t pool, int fd, uint64_t offset, const void* bytes, uint64_t size,
                          const CallSite& site) {
  write_file(pool, offset, bytes, size, this->site(site.pc, site.frame));
  resized(pool, fd);
}

void StreamTrace::write_file(uint32_t pool, uint64_t offset, const void* bytes, uint64_t size, powercut_site site) {
  const uint8_t* from = static_cast<const uint8_t*>(bytes);
  while (size != 0) {
    // The bytes of a sector are in one record.
    const uint64_t most =
        files_.all()[pool].block ? kPowercutMostStore - offset % kPowercutMostStore : uint64_t{kPowercutMostStore};
    const uint64_t piece = std::min<uint64_t>(size, most);
    powercut_stream_file_write(&stream_, site, pool, offset, from, static_cast<uint32_t>(piece));
    if (!files_.all()[pool].block) unseen_.store(pool, offset, {from, piece}, 0);
    offset += piece;
    from += piece;
    size -= piece;
  }
}

void StreamTrace::synced(uint32_t pool, uint32_t kind, uint64_t offset, uint64_t length, const CallSite& site) {
  powercut_stream_sync(&stream_, this->site(site.pc, site.frame), kind, pool, offset, length);
}

void StreamTrace::synced_memory(uint64_t address, uint64_t length, const CallSite& site) {
  const uint64_t end = address + length;
  for (powercut_range piece; powercut_ranges_next(ranges_.get(), &address, end, &piece);) {
    synced(piece.pool, kPowercutMsync, piece.offset, piece.end - piece.begin, site);
  }
}

bool StreamTrace::touch_device(int fd) {
  if (state_ == State::kEnded || !device_) return false;
  const std::optional<PoolFiles::Open> open = files_.find(fd);
  if (!open || (state_ == State::kWaiting && !begin())) return false;
  if (open->replaced) refuse("another file in the place of the one that it had");
  set_size(*device_, fd, no_stack());
  return true;
}

bool StreamTrace::touch_device(int folder, const char* path, bool follow) {
  if (state_ == State::kEnded || !device_ || files_.named(folder, path, follow) == nullptr) return false;
  return state_ != State::kWaiting || begin();
}

void StreamTrace::device_written(int fd, uint64_t offset, const void* bytes, uint64_t size, bool durable,
                                 const CallSite& site) {
  const powercut_site where = this->site(site.pc, site.frame);
  set_size(*device_, fd, where);  // before the pieces that lie behind the old end
  write_file(*device_, offset, bytes, size, where);
  if (durable) powercut_stream_sync(&stream_, where, kPowercutWrittenThrough, *device_, offset, size);
}

void StreamTrace::device_filled(int fd, uint64_t offset, uint64_t size, bool durable, const CallSite& site) {
  std::vector<uint8_t> bytes(size);
  const int file = open(files_.all()[*device_].path.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t done = file < 0 ? -1 : pread(file, bytes.data(), size, static_cast<off_t>(offset));
  if (file >= 0) close(file);
  if (done != static_cast<ssize_t>(size)) refuse("a copy into it that cannot be read back");
  device_written(fd, offset, bytes.data(), size, durable, site);
}

void StreamTrace::device_zeroed(int fd, uint64_t offset, uint64_t size, const CallSite& site) {
  const std::vector<uint8_t> zeroes(std::min<uint64_t>(size, kBuffer));
  for (uint64_t done = 0; done < size;) {
    const uint64_t piece = std::min<uint64_t>(size - done, zeroes.size());
    device_written(fd, offset + done, zeroes.data(), piece, false, site);
    done += piece;
  }
}

bool StreamTrace::is_on(dev_t system) {
  struct stat status{};
  return stat(files_.all()[*device_].path.c_str(), &status) == 0 && status.st_dev == system;
}

void StreamTrace::device_resized(int fd, const CallSite& site) {
  set_size(*device_, fd, this->site(site.pc, site.frame));
}

void StreamTrace::device_synced(const CallSite& site) {
  powercut_stream_sync(&stream_, this->site(site.pc, site.frame), kPowercutFsync, *device_, 0, UINT64_MAX);
}

void StreamTrace::device_mapped(uint64_t address, uint64_t length, bool writable) {
  if (writable || powercut_ranges_map(device_maps_.get(), address, length, *device_, 0) != 0) {
    refuse("mmap with MAP_SHARED and PROT_WRITE");
  }
}

void StreamTrace::device_protected(uint64_t address, uint64_t length, bool writable) {
  uint64_t begin = 0;
  if (device_maps_ == nullptr || !writable) return;
  if (powercut_ranges_clip(device_maps_.get(), address, length, &begin) != 0) refuse("mprotect with PROT_WRITE");
}

void StreamTrace::refuse(const std::string& what) {
  if (state_ != State::kRecording || !refused_.insert(what).second) return;
  powercut_stream_note(&stream_, kPowercutNoteRefused, refusal(what, files_.all()[*device_].path).c_str());
}

bool StreamTrace::is_of(const void* address, std::string_view module) {
  const std::optional<ModuleMap::Place> place = modules_.find(reinterpret_cast<uint64_t>(address));
  if (!place) return false;
  const std::string& path = place->module->path;
  return std::string_view(path).substr(path.rfind('/') + 1).starts_with(module);
}

}  // namespace powercut::runtime
