#include "tracer/format/encoder.h"

#include <cstring>

#include "tracer/format/layout.h"
#include "tracer/format/tree_calls.h"

namespace powercut {

using namespace layout;

namespace {

constexpr int kSlotBits = 14;
constexpr size_t kSlots = size_t{1} << kSlotBits;

uint64_t word_at(const uint8_t* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// The slot of a byte string of kMinShared bytes or more. Runs at every store: a few multiplications, no call. It
// need not be strong, only cheap and the same on every run.
size_t slot_of(std::span<const uint8_t> value) {
  static_assert(kMinShared >= sizeof(uint64_t));
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio
  // The last word overlaps the one before it where the size is no multiple of 8.
  uint64_t hash = word_at(value.data() + value.size() - 8) * kOdd;
  for (size_t at = 0; at + 8 < value.size(); at += 8) hash = (hash ^ (hash >> 32) ^ word_at(value.data() + at)) * kOdd;
  return hash >> (64 - kSlotBits);
}

// memcmp and memcpy of kMinShared to kMaxShared bytes, without a call; the last word overlaps as above.
bool same_bytes(const uint8_t* a, const uint8_t* b, size_t size) {
  for (size_t at = 0; at + 8 < size; at += 8) {
    if (word_at(a + at) != word_at(b + at)) return false;
  }
  return word_at(a + size - 8) == word_at(b + size - 8);
}

void copy_words(uint8_t* to, const uint8_t* from, size_t size) {
  const uint64_t last = word_at(from + size - 8);
  for (size_t at = 0; at + 8 < size; at += 8) std::memcpy(to + at, from + at, 8);
  std::memcpy(to + size - 8, &last, 8);
}

}  // namespace

RecordEncoder::RecordEncoder() : slots_(kSlots) {}

void RecordEncoder::start_frame(uint8_t* payload) {
  payload_ = at_ = payload;
  records_ = 0;
  thread_ = stack_ = 0;
  addr_ = 0;
  shared_ = 0;
  ++frame_;
}

void RecordEncoder::put(std::span<const uint8_t> bytes) {
  if (bytes.size() >= kMinShared && bytes.size() <= kMaxShared) {
    copy_words(at_, bytes.data(), bytes.size());
  } else if (!bytes.empty()) {
    std::memcpy(at_, bytes.data(), bytes.size());
  }
  at_ += bytes.size();
}

void RecordEncoder::module(const TraceModule& module) {
  put(kModuleRecord);
  for (const std::string* part : {&module.path, &module.build_id}) {
    at_ = put_varint(at_, part->size());
    put({reinterpret_cast<const uint8_t*>(part->data()), part->size()});
  }
  ++records_;
}

void RecordEncoder::stack(std::span<const Frame> frames) {
  put(kStackRecord);
  at_ = put_varint(at_, frames.size());
  for (const Frame& frame : frames) {
    at_ = put_varint(at_, frame.module);
    at_ = put_varint(at_, frame.offset);
  }
  ++records_;
}

void RecordEncoder::head(uint8_t type, uint8_t bits, const Event& event) {
  if (event.thread != thread_) {
    put(kThreadRecord);
    at_ = put_varint(at_, event.thread);
    ++records_;
    thread_ = event.thread;
  }
  uint8_t first = static_cast<uint8_t>(type | (bits << kBitsShift));
  bool code = has_code_stack(event.kind);
  bool implicit = code ? event.stack == stack_ : event.stack == 0;
  put(static_cast<uint8_t>(implicit ? first | kImplicitStack : first));
  if (!implicit) at_ = put_varint(at_, event.stack);
  if (code) stack_ = event.stack;
  ++records_;
}

void RecordEncoder::address(uint64_t addr) {
  at_ = put_varint(at_, zigzag(static_cast<int64_t>(addr - addr_)));
  addr_ = addr;
}

int64_t RecordEncoder::find_shared(std::span<const uint8_t> value) {
  miss_ = nullptr;
  if (value.size() < kMinShared || value.size() > kMaxShared) return -1;
  Shared& slot = slots_[slot_of(value)];
  if (slot.frame == frame_ && slot.size == value.size() &&
      same_bytes(payload_ + slot.offset, value.data(), value.size())) {
    return slot.number;
  }
  miss_ = &slot;
  return -1;
}

// Follows find_shared() of the same bytes.
void RecordEncoder::literal(std::span<const uint8_t> value) {
  if (miss_ != nullptr) {
    *miss_ = {frame_, shared_++, static_cast<uint32_t>(size()), static_cast<uint32_t>(value.size())};
    miss_ = nullptr;
  }
  put(value);
}

void RecordEncoder::bytes(std::span<const uint8_t> value) {
  int64_t number = find_shared(value);
  if (number >= 0) {
    at_ = put_varint(at_, static_cast<uint64_t>(number) << 1 | 1);
    return;
  }
  at_ = put_varint(at_, value.size() << 1);
  literal(value);
}

void RecordEncoder::text(std::string_view value) {
  bytes({reinterpret_cast<const uint8_t*>(value.data()), value.size()});
}

void RecordEncoder::file_call(const Event& event) {
  head(kFileCallRecord, 0, event);
  put(event.code);
  at_ = put_varint(at_, event.pool + 1);  // kNoPool is 0
  switch (static_cast<PoolCall>(event.code)) {
    case PoolCall::kContent:
    case PoolCall::kWrite:
      at_ = put_varint(at_, event.addr);
      return bytes(event.value);
    case PoolCall::kSize:
      at_ = put_varint(at_, event.size);
      return;
    case PoolCall::kMsync:
    case PoolCall::kFsync:
    case PoolCall::kWrittenThrough:
      at_ = put_varint(at_, event.addr);
      at_ = put_varint(at_, event.size);
      return;
  }
}

void RecordEncoder::tree_call(const Event& event) {
  head(kTreeCallRecord, 0, event);
  put(event.code);
  for (const TreeField field : fields_of(static_cast<TreeCall>(event.code))) {
    switch (field) {
      case TreeField::kInode:
        at_ = put_varint(at_, event.pool);
        break;
      case TreeField::kFlags:
        put(event.flags);
        break;
      case TreeField::kPlace:
        at_ = put_varint(at_, event.addr);
        break;
      case TreeField::kSize:
        at_ = put_varint(at_, event.size);
        break;
      case TreeField::kName:
        bytes(event.key);
        break;
      case TreeField::kValue:
        bytes(event.value);
        break;
    }
  }
  text(event.text);
}

void RecordEncoder::event(const Event& event) {
  uint8_t type = static_cast<uint8_t>(event.kind);
  if (event.kind == kFileCall) return file_call(event);
  if (event.kind == kTreeCall) return tree_call(event);
  switch (event.kind) {
    case EventKind::kStore:
    case EventKind::kNtStore: {
      size_t size = event.value.size();
      bool plain = event.flags == 0;
      int64_t number = find_shared(event.value);
      uint8_t form = !plain ? kFormFlags : size == 1 ? kFormByte : size == 8 && number < 0 ? kFormEight : kFormBytes;
      head(type, form, event);
      address(event.addr);
      if (form == kFormFlags) put(event.flags);
      if (number >= 0) {
        at_ = put_varint(at_, static_cast<uint64_t>(number) << 1 | 1);
      } else {
        if (form == kFormFlags || form == kFormBytes) at_ = put_varint(at_, size << 1);
        literal(event.value);
      }
      break;
    }
    case EventKind::kFlush:
      if (event.code == static_cast<uint8_t>(FlushKind::kForce)) {
        head(kDeviceRecord, 1, event);
      } else {
        head(type, event.code, event);
      }
      address(event.addr);
      break;
    case EventKind::kFence:
      if (event.code == static_cast<uint8_t>(FenceKind::kDevice)) {
        head(kDeviceRecord, 0, event);
      } else {
        head(type, event.code - 1, event);
      }
      break;
    case EventKind::kContent:
      head(type, 0, event);
      bytes(event.value);
      break;
    case EventKind::kOpBegin:
      head(type, event.text.empty() ? 0 : 1, event);
      put(event.code);
      bytes(event.key);
      bytes(event.value);
      if (!event.text.empty()) text(event.text);
      break;
    case EventKind::kOpEnd:
      head(type, event.code < 3 ? event.code : 3, event);
      if (event.code >= 3) put(event.code);
      bytes(event.value);
      break;
    case EventKind::kThreadStart:
    case EventKind::kThreadEnd:
    case EventKind::kCut:
    case EventKind::kCrashPoint:
      head(type, 0, event);
      break;
    case EventKind::kAllocate:
      head(type, 0, event);
      address(event.addr);
      at_ = put_varint(at_, event.size);
      break;
    case EventKind::kFree:
      head(type, 0, event);
      address(event.addr);
      break;
    case EventKind::kMarker:
    case EventKind::kSearched:
      head(type, 0, event);
      text(event.text);
      break;
    case EventKind::kPhase:
      head(type, event.code, event);
      text(event.text);
      break;
    case EventKind::kFork:
      head(type, 0, event);
      put(event.code);
      break;
    case EventKind::kBack:
      head(type, 0, event);
      at_ = put_varint(at_, event.size);
      break;
    case EventKind::kTrouble:
      head(type, 0, event);
      put(event.code);
      text(event.text);
      break;
  }
}

}  // namespace powercut
