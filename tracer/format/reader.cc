#include "tracer/format/reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "tracer/format/decoder.h"
#include "tracer/format/kept_event.h"
#include "tracer/format/layout.h"

namespace powercut {

using namespace layout;

namespace {

constexpr const char* kAgain = "Record it again with 'powercut record'.";
constexpr const char* kNotATrace = "Give a file that 'powercut record' wrote.";

struct Footer {
  uint64_t events, records, frames, raw_bytes, chain;
  uint32_t modules, stacks;
};

}  // namespace

struct TraceReader::Impl {
  std::string name;
  std::span<const uint8_t> file;
  uint8_t* mapping = nullptr;

  std::string metadata;
  size_t frames_begin = 0, frames_end = 0;
  Footer footer{};

  ZSTD_DCtx* context = ZSTD_createDCtx();
  std::vector<uint8_t> raw;
  Definitions definitions;
  RecordDecoder decoder{&definitions};
  std::optional<TraceError> error;
  std::optional<TraceRules> rules;
  bool trees = false;  // next() gives calls on a tree

  // If the trace has calls on files: the object that turns a call into events, and the events of the call at hand.
  std::unique_ptr<FileCalls> calls;
  std::vector<KeptEvent> made;
  size_t given = 0;  // of these
  std::optional<uint64_t> total_events;

  // The state of the current pass.
  size_t at = 0, frame_at = 0;
  size_t released = 0;  // bytes of the mapping that were given back
  bool in_frame = false, finished = false;
  uint64_t events = 0;  // that next() has given
  uint64_t frame_records = 0, records = 0, frames = 0, raw_bytes = 0, chain = 0;

  ~Impl() {
    ZSTD_freeDCtx(context);
    if (mapping != nullptr) munmap(mapping, file.size());
  }

  std::optional<TraceError> check_header();
  std::optional<TraceError> check_footer();
  void start_pass();
  bool next_frame();
  void release_read();
  bool decoded(Event* out);
  bool next(Event* out);

  bool fail(std::string what, size_t offset) {
    error = TraceError{std::move(what), name + ", byte " + std::to_string(offset), kAgain};
    return false;
  }
};

std::optional<TraceError> TraceReader::Impl::check_header() {
  if (file.empty()) return TraceError{"the file is empty", name, kAgain};
  size_t common = std::min(file.size(), kMagic.size());
  if (std::memcmp(file.data(), kMagic.data(), common) != 0) {
    return TraceError{"this is not a powercut trace", name, kNotATrace};
  }
  if (file.size() < kHeaderSize) return TraceError{"the file ends within its header", name, kAgain};
  // Mark and version come first: another version may lay out everything behind them differently.
  uint32_t mark = get<uint32_t>(&file[12]);
  if (mark == kSwappedEndianMark) {
    return TraceError{"the trace was written in big-endian order, this build reads little-endian ones", name,
                      "Record it again with 'powercut record' on an x86-64 machine."};
  }
  if (mark != kEndianMark) return TraceError{"the byte-order mark is damaged", name + ", byte 12", kAgain};
  uint32_t version = get<uint32_t>(&file[8]);
  if (version < kOldestTraceVersion || version > kTraceVersion) {
    return TraceError{"format version " + std::to_string(version) + ", this build reads " +
                          std::to_string(kOldestTraceVersion) + " to " + std::to_string(kTraceVersion),
                      name, kAgain};
  }
  if (get<uint64_t>(&file[32]) != XXH3_64bits(file.data(), 32)) {
    return TraceError{"the header's checksum is wrong", name + ", byte 32", kAgain};
  }
  uint64_t size = get<uint64_t>(&file[16]);
  if (size > kMaxMetadata)
    return TraceError{"the metadata is larger than the format allows", name + ", byte 16", kAgain};
  if (size > file.size() - kHeaderSize) return TraceError{"the file ends within its metadata", name, kAgain};
  metadata.assign(reinterpret_cast<const char*>(&file[0]) + kHeaderSize, size);
  if (get<uint64_t>(&file[24]) != XXH3_64bits(metadata.data(), metadata.size())) {
    return TraceError{"the metadata's checksum is wrong", name + ", byte 40", kAgain};
  }
  frames_begin = kHeaderSize + size;
  return std::nullopt;
}

std::optional<TraceError> TraceReader::Impl::check_footer() {
  TraceError truncated{"the trace is truncated: its footer is missing", name,
                       "Copy it again, or record it again with 'powercut record'."};
  if (file.size() - frames_begin < kFooterSize) return truncated;
  frames_end = file.size() - kFooterSize;
  const uint8_t* footer_bytes = &file[frames_end];
  if (std::memcmp(footer_bytes, kFooterMagic.data(), kFooterMagic.size()) != 0) return truncated;
  std::string where = name + ", byte " + std::to_string(frames_end);
  if (get<uint64_t>(footer_bytes + 64) != XXH3_64bits(footer_bytes, 64)) {
    return TraceError{"the footer's checksum is wrong", where, kAgain};
  }
  if (get<uint64_t>(footer_bytes + 56) != file.size()) {
    return TraceError{"the file has " + std::to_string(file.size()) + " bytes, its footer says " +
                          std::to_string(get<uint64_t>(footer_bytes + 56)),
                      where, kAgain};
  }
  footer = {.events = get<uint64_t>(footer_bytes + 8),
            .records = get<uint64_t>(footer_bytes + 16),
            .frames = get<uint64_t>(footer_bytes + 24),
            .raw_bytes = get<uint64_t>(footer_bytes + 40),
            .chain = get<uint64_t>(footer_bytes + 48),
            .modules = get<uint32_t>(footer_bytes + 32),
            .stacks = get<uint32_t>(footer_bytes + 36)};
  return std::nullopt;
}

void TraceReader::Impl::start_pass() {
  at = frame_at = frames_begin;
  released = 0;
  in_frame = finished = false;
  frame_records = records = frames = raw_bytes = chain = 0;
  definitions.start_pass();
  events = given = 0;
  made.clear();
  if (calls != nullptr) calls->start();
  if (rules) rules->start();
  error.reset();
}

// Decompresses the frame at `at`; false at the end of the frames or on an error.
bool TraceReader::Impl::next_frame() {
  if (at == frames_end) {
    if (decoder.next_event() != footer.events || records != footer.records || frames != footer.frames ||
        raw_bytes != footer.raw_bytes || chain != footer.chain || definitions.modules_read() != footer.modules ||
        definitions.stacks_read() != footer.stacks) {
      return fail("the frames do not add up to the footer's totals", frames_end);
    }
    finished = true;
    return false;
  }
  if (frames_end - at < kFrameHeaderSize) return fail("a frame ends within its header", at);
  const uint8_t* header = &file[at];
  if (get<uint32_t>(header) != kFrameMagic) return fail("no frame begins where one must", at);
  if (get<uint64_t>(header + 32) != XXH3_64bits(header, 32))
    return fail("the checksum of a frame's header is wrong", at);
  size_t size = get<uint32_t>(header + 4), raw_size = get<uint32_t>(header + 8);
  if (raw_size == 0 || raw_size > kMaxFrameRaw || size > kMaxFrameCompressed) {
    return fail("a frame is empty or larger than the format allows", at);
  }
  if (size > frames_end - at - kFrameHeaderSize) return fail("a frame ends beyond the file", at);
  raw.resize(raw_size);
  size_t got = ZSTD_decompressDCtx(context, raw.data(), raw_size, header + kFrameHeaderSize, size);
  if (ZSTD_isError(got)) return fail(std::string("zstd cannot read a frame: ") + ZSTD_getErrorName(got), at);
  uint64_t checksum = get<uint64_t>(header + 24);
  if (got != raw_size || XXH3_64bits(raw.data(), raw_size) != checksum) return fail("a frame's checksum is wrong", at);
  uint64_t first = frames == 0 ? 0 : decoder.next_event();
  if (get<uint64_t>(header + 16) != first) return fail("a frame is missing or out of order", at);
  frame_records = get<uint32_t>(header + 12);
  decoder.start_frame(raw, first);
  ++frames;
  raw_bytes += raw_size;
  chain = chain_checksum(chain, checksum);
  frame_at = at;
  at += kFrameHeaderSize + size;
  in_frame = true;
  release_read();
  return true;
}

// Gives the memory of the pages behind the reader back; another pass maps them again. The process stays small while it
// walks over a trace of any size.
void TraceReader::Impl::release_read() {
  constexpr size_t kPiece = size_t{8} << 20;
  if (mapping == nullptr || at - released < kPiece) return;
  const size_t size = (at - released) / kPiece * kPiece;
  madvise(mapping + released, size, MADV_DONTNEED);
  released += size;
}

bool TraceReader::Impl::next(Event* out) {
  while (given == made.size()) {
    made.clear();
    given = 0;
    if (!decoded(out)) return false;
    if (out->kind == kTreeCall && !trees) {
      return fail("this is the recording of a folder, which is not explored yet; 'powercut view' shows it", frame_at);
    }
    if (out->kind != kFileCall) {
      if (calls != nullptr) calls->pass(*out);
      break;
    }
    if (calls == nullptr) return fail("a call on a file stands where nobody knows what medium the file is", frame_at);
    calls->call(*out, [this](const Event& event) { made.emplace_back(event); });
  }
  if (given < made.size()) *out = made[given++].view();
  out->index = events++;
  const std::optional<std::string> wrong = rules ? rules->wrong(*out) : std::nullopt;
  return !wrong || fail("event " + std::to_string(out->index) + " " + *wrong, frame_at);
}

// The next event or call of the file.
bool TraceReader::Impl::decoded(Event* out) {
  while (!error && !finished) {
    if (!in_frame && !next_frame()) return false;
    if (decoder.next(out)) return true;
    if (!decoder.problem().empty()) {
      return fail(decoder.problem() + " (at byte " + std::to_string(decoder.offset()) + " of its frame)", frame_at);
    }
    if (decoder.records() != frame_records)
      return fail("a frame holds another number of records than it says", frame_at);
    records += decoder.records();
    in_frame = false;
  }
  return false;
}

TraceReader::TraceReader() : impl_(std::make_unique<Impl>()) {}
TraceReader::~TraceReader() = default;

std::unique_ptr<TraceReader> TraceReader::open_bytes(std::span<const uint8_t> bytes, const std::string& name,
                                                     TraceError* error) {
  std::unique_ptr<TraceReader> reader(new TraceReader());
  Impl& impl = *reader->impl_;
  impl.name = name;
  impl.file = bytes;
  std::optional<TraceError> wrong = impl.check_header();
  if (!wrong) wrong = impl.check_footer();
  if (wrong) {
    *error = *wrong;
    return nullptr;
  }
  impl.decoder.start_frame({}, 0);
  impl.start_pass();
  return reader;
}

std::unique_ptr<TraceReader> TraceReader::open(const std::string& path, TraceError* error) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe is refused, not waited for
  struct stat status{};
  if (fd < 0 || fstat(fd, &status) != 0) {
    *error = {std::string("cannot read the trace: ") + std::strerror(errno), path, kNotATrace};
    if (fd >= 0) ::close(fd);
    return nullptr;
  }
  if (!S_ISREG(status.st_mode)) {
    *error = {"this is not a file", path, kNotATrace};
    ::close(fd);
    return nullptr;
  }
  size_t size = static_cast<size_t>(status.st_size);
  void* mapping = size == 0 ? nullptr : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  int problem = errno;
  ::close(fd);
  if (mapping == MAP_FAILED) {
    *error = {std::string("cannot map the trace: ") + std::strerror(problem), path, "Free some memory and try again."};
    return nullptr;
  }
  auto reader = open_bytes({static_cast<const uint8_t*>(mapping), size}, path, error);
  if (reader == nullptr) {
    if (mapping != nullptr) munmap(mapping, size);
    return nullptr;
  }
  reader->impl_->mapping = static_cast<uint8_t*>(mapping);
  return reader;
}

const std::string& TraceReader::metadata() const { return impl_->metadata; }
uint64_t TraceReader::total_events() const { return impl_->total_events.value_or(impl_->footer.events); }
bool TraceReader::read_through(std::unique_ptr<FileCalls> calls) {
  Impl& impl = *impl_;
  bool called = false;
  for (Event event; impl.decoded(&event);) called = called || event.kind == kFileCall;
  const auto again = [&] {
    if (impl.error) return false;
    rewind();
    return true;
  };
  // A trace without calls is read as fast as one without a medium.
  if (!again() || !called) return !impl.error;
  impl.calls = std::move(calls);
  uint64_t count = 0;
  rewind();
  for (Event event; impl.next(&event);) ++count;
  impl.total_events = count;
  return again();
}
uint64_t TraceReader::raw_bytes() const { return impl_->footer.raw_bytes; }
void TraceReader::hold_to(TraceRules rules) { impl_->rules.emplace(std::move(rules)); }
void TraceReader::take_tree_calls() { impl_->trees = true; }
bool TraceReader::next(Event* out) { return impl_->next(out); }
const std::optional<TraceError>& TraceReader::error() const { return impl_->error; }
void TraceReader::rewind() {
  impl_->decoder.start_frame({}, 0);
  impl_->start_pass();
}
const std::vector<TraceModule>& TraceReader::modules() const { return impl_->definitions.modules(); }
std::span<const Frame> TraceReader::stack(uint32_t id) const { return impl_->definitions.stack(id); }

}  // namespace powercut
