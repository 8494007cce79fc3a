#include "tracer/format/writer.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "tracer/format/encoder.h"
#include "tracer/format/event_groups.h"
#include "tracer/format/frame_writer.h"
#include "tracer/format/layout.h"
#include "tracer/format/tree_calls.h"

namespace powercut {

using namespace layout;

namespace {

struct FramesHash {
  using is_transparent = void;
  size_t operator()(std::span<const Frame> frames) const {
    uint64_t hash = frames.size();
    for (const Frame& frame : frames) {
      uint64_t words[2] = {frame.module, frame.offset};
      hash = XXH3_64bits_withSeed(words, sizeof words, hash);
    }
    return hash;
  }
};

struct FramesEqual {
  using is_transparent = void;
  bool operator()(std::span<const Frame> a, std::span<const Frame> b) const { return std::ranges::equal(a, b); }
};

// Why an event cannot be written behind one of kind `last` by `last_thread`, or null.
const char* objection(const Event& event, uint64_t stacks, EventKind last, uint32_t last_thread) {
  if (event.stack > stacks) return "an event names a stack that stack() did not return";
  if (event.key.size() > kMaxOperationBytes || event.text.size() > kMaxText) return "a key or text is too long";
  if (event.kind == kFileCall) {
    if (event.value.size() > kMaxOperationBytes) return "a write to a file is too long";
    return event.code <= static_cast<uint8_t>(PoolCall::kWrittenThrough) ? nullptr : "unknown kind of call on a file";
  }
  if (event.kind == kTreeCall) {
    if (event.value.size() > kMaxOperationBytes || event.key.size() > kMaxText) return "a call on a tree is too long";
    return event.code <= static_cast<uint8_t>(kLastTreeCall) ? nullptr : "unknown kind of call on a tree";
  }
  switch (event.kind) {
    case EventKind::kStore:
    case EventKind::kNtStore:
      if (event.addr + event.value.size() < event.addr) return "a store wraps around the address space";
      if ((event.flags & ~kStoreFlagMask) != 0) return "a store has unknown flags";
      if ((event.flags & kStoreContinues) != 0 && (last != event.kind || last_thread != event.thread)) {
        return "a store continues one that is not there";
      }
      return nullptr;
    case EventKind::kFlush:
      return event.code >= 1 && event.code <= 4 ? nullptr : "unknown kind of flush";
    case EventKind::kFence:
      return event.code >= 1 && event.code <= 5 ? nullptr : "unknown kind of fence";
    case EventKind::kContent:
      return event.value.size() <= kMaxOperationBytes ? nullptr : "a content is too long";
    case EventKind::kOpBegin:
      if (event.code < 1 || event.code > static_cast<uint8_t>(OpKind::kIncrement)) return "unknown kind of operation";
      [[fallthrough]];
    case EventKind::kOpEnd:
      return event.value.size() <= kMaxOperationBytes ? nullptr : "a value of an operation is too long";
    case EventKind::kPhase:
      return event.code <= 1 ? nullptr : "a phase is explored (1) or not (0)";
    case POWERCUT_PROCESS_EVENTS:
    case EventKind::kMarker:
    case EventKind::kCut:
    case EventKind::kFork:
    case EventKind::kBack:
    case EventKind::kCrashPoint:
    case EventKind::kSearched:
      return nullptr;
    case EventKind::kTrouble:
      return event.code >= 1 && event.code <= static_cast<uint8_t>(Trouble::kDied) ? nullptr
                                                                                   : "unknown kind of trouble";
  }
  return "unknown kind of event";
}

}  // namespace

struct TraceWriter::Impl {
  std::string path, temporary;
  int fd = -1;
  bool placed = false;
  std::optional<TraceError> error;
  uint64_t written = 0;  // header and metadata

  RecordEncoder encoder;
  std::optional<FrameWriter> frames;

  std::unordered_map<std::string, uint32_t> modules;
  std::unordered_map<std::vector<Frame>, uint32_t, FramesHash, FramesEqual> stacks;

  uint64_t events = 0, frame_first_event = 0;
  EventKind last_kind{};  // of the event that was appended last
  uint32_t last_thread = 0;

  ~Impl() {
    frames.reset();
    if (fd >= 0) close(fd);
    if (!placed && !temporary.empty()) unlink(temporary.c_str());
  }

  void fail(std::string what, std::string next) {
    if (!error) error = TraceError{std::move(what), path, std::move(next)};
  }
  void fail_io(const char* action, int number) {
    fail(std::string(action) + ": " + std::strerror(number), "Free some space or choose another place for the trace.");
  }

  void write(std::span<const uint8_t> bytes) {
    if (error) return;
    if (int number = FrameWriter::write_all(fd, bytes)) return fail_io("cannot write the trace", number);
    written += bytes.size();
  }

  void begin_file(const std::string& metadata) {
    uint8_t header[kHeaderSize];
    std::memcpy(header, kMagic.data(), 8);
    put<uint32_t>(header + 8, kTraceVersion);
    put<uint32_t>(header + 12, kEndianMark);
    put<uint64_t>(header + 16, metadata.size());
    put<uint64_t>(header + 24, XXH3_64bits(metadata.data(), metadata.size()));
    put<uint64_t>(header + 32, XXH3_64bits(header, 32));
    write(header);
    write({reinterpret_cast<const uint8_t*>(metadata.data()), metadata.size()});
  }

  void begin_frames() {
    try {
      frames.emplace(fd);
    } catch (const std::system_error& problem) {
      return fail(std::string("cannot start a thread for the trace: ") + problem.what(),
                  "Allow this user more processes (ulimit -u), or end some.");
    }
    encoder.start_frame(frames->buffer());
  }

  void end_frame() {
    if (encoder.size() == 0) return;
    frames->submit(encoder.size(), encoder.records(), frame_first_event);
    frame_first_event = events;
    encoder.start_frame(frames->buffer());
  }

  void after_record() {
    if (encoder.size() >= kFrameTarget) [[unlikely]]
      end_frame();
  }

  // Everything that was appended is in the file, or there is an error.
  void end_frames() {
    if (!error) end_frame();
    frames->finish();
    const FrameWriter::Problem& problem = frames->problem();
    if (problem.what == nullptr) return;
    if (problem.error != 0) return fail_io(problem.what, problem.error);
    fail(problem.what, "Report this as a bug of powercut.");
  }

  void end_file() {
    const FrameWriter::Totals& totals = frames->totals();
    uint8_t footer[kFooterSize];
    std::memcpy(footer, kFooterMagic.data(), 8);
    put<uint64_t>(footer + 8, events);
    put<uint64_t>(footer + 16, totals.records);
    put<uint64_t>(footer + 24, totals.frames);
    put<uint32_t>(footer + 32, static_cast<uint32_t>(modules.size()));
    put<uint32_t>(footer + 36, static_cast<uint32_t>(stacks.size()));
    put<uint64_t>(footer + 40, totals.raw_bytes);
    put<uint64_t>(footer + 48, totals.chain);
    put<uint64_t>(footer + 56, written + totals.written + kFooterSize);
    put<uint64_t>(footer + 64, XXH3_64bits(footer, 64));
    write(footer);
  }
};

TraceWriter::TraceWriter() : impl_(std::make_unique<Impl>()) {}
TraceWriter::~TraceWriter() = default;

std::unique_ptr<TraceWriter> TraceWriter::create(const std::string& path, const std::string& metadata,
                                                 TraceError* error) {
  std::unique_ptr<TraceWriter> writer(new TraceWriter());
  Impl& impl = *writer->impl_;
  impl.path = path;
  if (metadata.size() > kMaxMetadata) {
    *error = {"the metadata is larger than 16 MiB", path, "Use a smaller plan."};
    return nullptr;
  }
  std::string temporary = partial_path(path, getpid());
  impl.fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (impl.fd < 0) {
    *error = {std::string("cannot create the trace: ") + std::strerror(errno), path,
              "Choose a folder that exists and that you may write to."};
    return nullptr;
  }
  impl.temporary = temporary;
  impl.begin_file(metadata);
  if (!impl.error) impl.begin_frames();
  if (impl.error) {
    *error = *impl.error;
    return nullptr;
  }
  return writer;
}

uint32_t TraceWriter::module(const TraceModule& module) {
  Impl& impl = *impl_;
  std::string name = module.path + '\0' + module.build_id;
  auto [found, added] = impl.modules.try_emplace(std::move(name), static_cast<uint32_t>(impl.modules.size()));
  if (!added) return found->second;
  if (impl.modules.size() > kMaxModules || module.path.size() > kMaxText || module.build_id.size() > kMaxText) {
    impl.fail("too many modules, or a path that is too long: " + module.path.substr(0, 200),
              "Load fewer libraries or move the program to a shorter path.");
    return 0;
  }
  uint32_t index = found->second;
  impl.encoder.module(module);
  impl.after_record();
  return index;
}

uint32_t TraceWriter::stack(std::span<const Frame> frames) {
  Impl& impl = *impl_;
  if (auto found = impl.stacks.find(frames); found != impl.stacks.end()) return found->second;
  frames = frames.first(std::min(frames.size(), kMaxStackDepth));
  if (auto found = impl.stacks.find(frames); found != impl.stacks.end()) return found->second;
  for (const Frame& frame : frames) {
    if (frame.module >= impl.modules.size()) {
      impl.fail("a stack names a module that module() did not return", "Report this as a bug of powercut.");
      return 0;
    }
  }
  if (impl.stacks.size() >= kMaxStacks) {
    impl.fail("more than 16777216 different call stacks", "Record a shorter run.");
    return 0;
  }
  uint32_t id = static_cast<uint32_t>(impl.stacks.size()) + 1;
  impl.stacks.emplace(std::vector<Frame>(frames.begin(), frames.end()), id);
  impl.encoder.stack(frames);
  impl.after_record();
  return id;
}

void TraceWriter::append(const Event& event) {
  Impl& impl = *impl_;
  // finish() tells of a write that failed on the thread.
  if (impl.error || impl.frames->failed()) return;
  if (const char* wrong = objection(event, impl.stacks.size(), impl.last_kind, impl.last_thread)) {
    impl.fail(wrong, "Report this as a bug of the tracer that wrote the trace.");
    return;
  }
  auto add = [&impl](const Event& part) {
    impl.encoder.event(part);
    ++impl.events;
    impl.last_kind = part.kind;
    impl.last_thread = part.thread;
    impl.after_record();
  };
  bool store = event.kind == EventKind::kStore || event.kind == EventKind::kNtStore;
  if (!store || (!event.value.empty() && event.value.size() <= kMaxStoreBytes)) return add(event);
  // The pieces are one store still. Each ends at a line boundary, so that none is cut where the hardware would not.
  Event part = event;
  std::span<const uint8_t> rest = event.value;
  while (!rest.empty()) {
    size_t size = rest.size();
    if (size > kMaxStoreBytes) size = kMaxStoreBytes - (part.addr + kMaxStoreBytes) % kLineSize;
    part.value = rest.first(size);
    part.size = size;
    add(part);
    part.flags |= kStoreContinues;
    part.addr += size;
    rest = rest.subspan(size);
  }
}

std::optional<TraceError> TraceWriter::finish() {
  Impl& impl = *impl_;
  if (impl.fd < 0) return impl.error;
  impl.end_frames();
  if (!impl.error) impl.end_file();
  int fd = std::exchange(impl.fd, -1);
  if (close(fd) != 0) impl.fail_io("cannot write the trace", errno);
  if (!impl.error && rename(impl.temporary.c_str(), impl.path.c_str()) != 0) {
    impl.fail_io("cannot put the trace into place", errno);
  }
  impl.placed = !impl.error;
  return impl.error;
}

std::string TraceWriter::partial_path(const std::string& path, int pid) {
  return path + ".partial." + std::to_string(pid);
}

uint64_t TraceWriter::events() const { return impl_->events; }

}  // namespace powercut
