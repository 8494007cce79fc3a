#include "tracer/format/encoder.h"

#include <xxhash.h>

#include <cstring>

#include "tracer/format/layout.h"

namespace powercut {

using namespace layout;

namespace {
constexpr size_t kSlots = 1u << 14;
}  // namespace

RecordEncoder::RecordEncoder() : slots_(kSlots) {
  payload_.reserve(kMaxFrameRaw);
  start_frame();
}

void RecordEncoder::start_frame() {
  payload_.clear();
  records_ = 0;
  thread_ = stack_ = 0;
  addr_ = 0;
  shared_ = 0;
  ++frame_;
}

void RecordEncoder::module(const TraceModule& module) {
  payload_.push_back(kModuleRecord);
  for (const std::string* part : {&module.path, &module.build_id}) {
    put_varint(payload_, part->size());
    payload_.insert(payload_.end(), part->begin(), part->end());
  }
  ++records_;
}

void RecordEncoder::stack(std::span<const Frame> frames) {
  payload_.push_back(kStackRecord);
  put_varint(payload_, frames.size());
  for (const Frame& frame : frames) {
    put_varint(payload_, frame.module);
    put_varint(payload_, frame.offset);
  }
  ++records_;
}

void RecordEncoder::head(uint8_t type, uint8_t bits, const Event& event) {
  if (event.thread != thread_) {
    payload_.push_back(kThreadRecord);
    put_varint(payload_, event.thread);
    ++records_;
    thread_ = event.thread;
  }
  uint8_t first = static_cast<uint8_t>(type | (bits << kBitsShift));
  bool code = has_code_stack(event.kind);
  bool implicit = code ? event.stack == stack_ : event.stack == 0;
  payload_.push_back(implicit ? first | kImplicitStack : first);
  if (!implicit) put_varint(payload_, event.stack);
  if (code) stack_ = event.stack;
  ++records_;
}

void RecordEncoder::address(uint64_t addr) {
  put_varint(payload_, zigzag(static_cast<int64_t>(addr - addr_)));
  addr_ = addr;
}

int64_t RecordEncoder::find_shared(std::span<const uint8_t> value) {
  miss_ = nullptr;
  if (value.size() < kMinShared || value.size() > kMaxShared) return -1;
  Shared& slot = slots_[XXH3_64bits(value.data(), value.size()) % kSlots];
  if (slot.frame == frame_ && slot.size == value.size() &&
      std::memcmp(payload_.data() + slot.offset, value.data(), value.size()) == 0) {
    return slot.number;
  }
  miss_ = &slot;
  return -1;
}

// Follows find_shared() of the same bytes.
void RecordEncoder::literal(std::span<const uint8_t> value) {
  if (miss_ != nullptr) {
    *miss_ = {frame_, shared_++, static_cast<uint32_t>(payload_.size()), static_cast<uint32_t>(value.size())};
    miss_ = nullptr;
  }
  payload_.insert(payload_.end(), value.begin(), value.end());
}

void RecordEncoder::bytes(std::span<const uint8_t> value) {
  int64_t number = find_shared(value);
  if (number >= 0) {
    put_varint(payload_, static_cast<uint64_t>(number) << 1 | 1);
    return;
  }
  put_varint(payload_, value.size() << 1);
  literal(value);
}

void RecordEncoder::text(std::string_view value) {
  bytes({reinterpret_cast<const uint8_t*>(value.data()), value.size()});
}

void RecordEncoder::event(const Event& event) {
  uint8_t type = static_cast<uint8_t>(event.kind);
  switch (event.kind) {
    case EventKind::kStore:
    case EventKind::kNtStore: {
      size_t size = event.value.size();
      bool plain = event.flags == 0;
      int64_t number = find_shared(event.value);
      uint8_t form = !plain ? kFormFlags : size == 1 ? kFormByte : size == 8 && number < 0 ? kFormEight : kFormBytes;
      head(type, form, event);
      address(event.addr);
      if (form == kFormFlags) payload_.push_back(event.flags);
      if (number >= 0) {
        put_varint(payload_, static_cast<uint64_t>(number) << 1 | 1);
      } else {
        if (form == kFormFlags || form == kFormBytes) put_varint(payload_, size << 1);
        literal(event.value);
      }
      break;
    }
    case EventKind::kFlush:
      head(type, event.code, event);
      address(event.addr);
      break;
    case EventKind::kFence:
      head(type, event.code - 1, event);
      break;
    case EventKind::kOpBegin:
      head(type, event.text.empty() ? 0 : 1, event);
      payload_.push_back(event.code);
      bytes(event.key);
      bytes(event.value);
      if (!event.text.empty()) text(event.text);
      break;
    case EventKind::kOpEnd:
      head(type, event.code < 3 ? event.code : 3, event);
      if (event.code >= 3) payload_.push_back(event.code);
      bytes(event.value);
      break;
    case EventKind::kThreadStart:
    case EventKind::kThreadEnd:
    case EventKind::kCut:
      head(type, 0, event);
      break;
    case EventKind::kAllocate:
      head(type, 0, event);
      address(event.addr);
      put_varint(payload_, event.size);
      break;
    case EventKind::kFree:
      head(type, 0, event);
      address(event.addr);
      break;
    case EventKind::kMarker:
      head(type, 0, event);
      text(event.text);
      break;
    case EventKind::kPhase:
      head(type, event.code, event);
      text(event.text);
      break;
  }
}

}  // namespace powercut
