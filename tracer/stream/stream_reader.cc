#include "tracer/stream/stream_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tracer/format/layout.h"

namespace powercut {
namespace {

constexpr char kAgain[] = "Record it again, with the tracer of this build";

// The part of a record behind its fixed fields.
enum class Rest { kNothing, kText, kBytes, kFrames, kOperation };

struct Layout {
  bool site = false, pool = false;
  unsigned numbers = 0;  // of 8 bytes: address, length, offset
  Rest rest = Rest::kNothing;
  bool status = false;  // 4 bytes, of kPowercutEnd
};

std::optional<Layout> layout_of(uint8_t type) {
  if (type < kPowercutPool || type > kPowercutOutput) return std::nullopt;
  switch (static_cast<powercut_record>(type)) {
    case kPowercutPool:
      return Layout{.numbers = 1, .rest = Rest::kText};
    case kPowercutContent:
      return Layout{.pool = true, .numbers = 1, .rest = Rest::kBytes};
    case kPowercutMap:
      return Layout{.pool = true, .numbers = 3};
    case kPowercutUnmap:
      return Layout{.numbers = 2};
    case kPowercutStore:
      return Layout{.site = true, .numbers = 1, .rest = Rest::kBytes};
    case kPowercutFlush:
      return Layout{.site = true, .numbers = 1};
    case kPowercutFence:
    case kPowercutThreadStart:
    case kPowercutThreadEnd:
    case kPowercutCut:
      return Layout{.site = true};
    case kPowercutLoad:
      return Layout{.site = true, .numbers = 2};
    case kPowercutModule:
    case kPowercutNote:
      return Layout{.rest = Rest::kText};
    case kPowercutStack:
      return Layout{.rest = Rest::kFrames};
    case kPowercutOpBegin:
      return Layout{.site = true, .rest = Rest::kOperation};
    case kPowercutOpEnd:
      return Layout{.site = true, .rest = Rest::kBytes};
    case kPowercutMarker:
    case kPowercutPhase:
      return Layout{.site = true, .rest = Rest::kText};
    case kPowercutFileWrite:
      return Layout{.site = true, .pool = true, .numbers = 1, .rest = Rest::kBytes};
    case kPowercutFileSize:
      return Layout{.site = true, .pool = true, .numbers = 1};
    case kPowercutSync:
    case kPowercutFileRead:
      return Layout{.site = true, .pool = true, .numbers = 2};
    case kPowercutEnd:
      return Layout{.status = true};
    case kPowercutOutput:
      return Layout{.numbers = 1};
  }
  return std::nullopt;
}

std::string_view text_of(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::unique_ptr<StreamReader> StreamReader::open(const std::string& path, TraceError* error) {
  const auto fail = [&](const std::string& what, const std::string& next) {
    *error = {what, path, next};
    return nullptr;
  };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe is refused, not waited for
  if (file < 0) {
    return fail(std::string("cannot open the stream: ") + std::strerror(errno),
                "The tracer writes the file: see its standard error");
  }
  struct stat status{};
  fstat(file, &status);
  const auto size = static_cast<size_t>(status.st_size);
  if (!S_ISREG(status.st_mode) || size < kPowercutStreamHeader) {
    close(file);
    return fail("not a stream: it has no header", "The tracer did not start: see its standard error");
  }
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  const int problem = errno;
  close(file);
  if (data == MAP_FAILED) {
    return fail(std::string("cannot map the stream: ") + std::strerror(problem), "Free some memory and try again");
  }
  std::unique_ptr<StreamReader> reader(new StreamReader(path, static_cast<const uint8_t*>(data), size));
  if (std::memcmp(data, POWERCUT_STREAM_MAGIC, 8) != 0) return fail("not a stream of powercut's tracers", kAgain);
  const auto version = layout::get<uint32_t>(reader->data_ + 8);
  if (version != POWERCUT_STREAM_VERSION) {
    return fail(
        "stream version " + std::to_string(version) + ", this build reads " + std::to_string(POWERCUT_STREAM_VERSION),
        kAgain);
  }
  return reader;
}

StreamReader::~StreamReader() { munmap(const_cast<uint8_t*>(data_), size_); }

bool StreamReader::damaged(const std::string& what) {
  error_ = TraceError{"the stream is damaged: " + what, path_ + ", byte " + std::to_string(at_), kAgain};
  return false;
}

bool StreamReader::next(StreamRecord* record) {
  if (error_ || cut_short_ || at_ == size_) return false;
  cut_short_ = true;  // until the record proves complete
  if (size_ - at_ < kPowercutRecordHeader) return false;
  const uint8_t* header = data_ + at_;
  const auto payload = layout::get<uint32_t>(header + 4);
  if (payload > kPowercutMostPayload) return damaged("a record of " + std::to_string(payload) + " bytes");
  if (size_ - at_ - kPowercutRecordHeader < payload) return false;
  cut_short_ = false;
  *record = {};
  record->code = header[1];
  record->flags = layout::get<uint16_t>(header + 2);
  if (!parse(header[0], {header + kPowercutRecordHeader, payload}, record)) return false;
  if (const char* what = wrong(*record)) return damaged(what);
  at_ += kPowercutRecordHeader + payload;
  return true;
}

bool StreamReader::parse(uint8_t type, std::span<const uint8_t> payload, StreamRecord* record) {
  const std::optional<Layout> layout = layout_of(type);
  if (!layout) return damaged("no record has type " + std::to_string(type));
  record->type = static_cast<powercut_record>(type);  // undefined for any other number
  const size_t fixed = 8 * (layout->site + layout->pool + layout->numbers) + (layout->status ? 4 : 0);
  const auto wrong_size = [&] {
    return damaged("a record of type " + std::to_string(type) + " with " + std::to_string(payload.size()) + " bytes");
  };
  if (payload.size() < fixed) return wrong_size();
  const uint8_t* at = payload.data();
  const auto number = [&at]<typename Int>(Int* out) {
    *out = layout::get<Int>(at);
    at += sizeof(Int);
  };
  if (layout->site) {
    number(&record->site.thread);
    number(&record->site.stack);
  }
  if (layout->pool) {
    number(&record->pool);
    at += 4;
  }
  uint64_t* const numbers[] = {&record->address, &record->length, &record->offset};
  for (unsigned i = 0; i < layout->numbers; ++i) number(numbers[i]);
  if (layout->status) record->length = layout::get<uint32_t>(at);
  std::span<const uint8_t> rest = payload.subspan(fixed);
  switch (layout->rest) {
    case Rest::kNothing:
      if (!rest.empty()) return wrong_size();
      break;
    case Rest::kText:
      record->text = text_of(rest);
      break;
    case Rest::kBytes:
      record->bytes = rest;
      break;
    case Rest::kFrames:
      if (rest.size() % 16 != 0 || rest.size() / 16 > kPowercutMostFrames) return wrong_size();
      for (; !rest.empty(); rest = rest.subspan(16)) {
        record->frames.push_back({layout::get<uint32_t>(rest.data()), layout::get<uint64_t>(rest.data() + 8)});
      }
      break;
    case Rest::kOperation: {
      if (rest.size() < 8) return wrong_size();
      const uint64_t key = layout::get<uint32_t>(rest.data()), value = layout::get<uint32_t>(rest.data() + 4);
      rest = rest.subspan(8);
      if (key + value > rest.size()) return wrong_size();
      record->key = rest.first(key);
      record->bytes = rest.subspan(key, value);
      record->text = text_of(rest.subspan(key + value));
      break;
    }
  }
  return true;
}

const char* StreamReader::wrong(const StreamRecord& record) {
  if (record.site.stack > stacks_) return "a stack that was not defined";
  switch (record.type) {
    case kPowercutPool:
      ++pools_;
      return record.code <= kPowercutDevice ? nullptr : "an unknown kind of pool";
    case kPowercutModule:
      ++modules_;
      return nullptr;
    case kPowercutStack:
      ++stacks_;
      return std::ranges::all_of(record.frames, [&](const Frame& frame) { return frame.module < modules_; })
                 ? nullptr
                 : "a module that was not defined";
    case kPowercutContent:
    case kPowercutMap:
    case kPowercutFileWrite:
    case kPowercutFileSize:
      return record.pool < pools_ ? nullptr : "a pool that was not defined";
    case kPowercutSync:
      if (record.code < kPowercutMsync || record.code > kPowercutWrittenThrough) return "an unknown kind of sync";
      return record.pool < pools_ ? nullptr : "a pool that was not defined";
    case kPowercutFileRead:
      if (record.code > kPowercutReadSince) return "an unknown kind of read";
      return record.pool < pools_ ? nullptr : "a pool that was not defined";
    case kPowercutUnmap:
      return record.code <= kPowercutDisowned ? nullptr : "an unknown kind of unmapping";
    case kPowercutFlush:
      return record.code >= kPowercutClwb && record.code <= kPowercutClflush ? nullptr : "an unknown kind of flush";
    case kPowercutFence:
      return record.code >= kPowercutSfence && record.code <= kPowercutLockFence ? nullptr : "an unknown kind of fence";
    case kPowercutOpBegin:
      return record.code >= static_cast<uint8_t>(OpKind::kFormat) &&
                     record.code <= static_cast<uint8_t>(OpKind::kIncrement)
                 ? nullptr
                 : "an unknown kind of operation";
    case kPowercutOutput:
      return record.code == kPowercutStdout || record.code == kPowercutStderr ? nullptr : "an unknown output";
    case kPowercutStore:
    case kPowercutLoad:
    case kPowercutThreadStart:
    case kPowercutThreadEnd:
    case kPowercutOpEnd:
    case kPowercutMarker:
    case kPowercutPhase:
    case kPowercutCut:
    case kPowercutNote:
    case kPowercutEnd:
      break;
  }
  return nullptr;
}

}  // namespace powercut
