#include "tracer/format/decoder.h"

#include "tracer/format/layout.h"
#include "tracer/format/tree_calls.h"

namespace powercut {

using namespace layout;

std::span<const Frame> Definitions::stack(uint32_t id) const {
  if (id == 0 || id > ends_.size()) return {};
  uint64_t begin = id == 1 ? 0 : ends_[id - 2];
  return std::span(frames_).subspan(begin, ends_[id - 1] - begin);
}

bool Definitions::add_module(std::string_view path, std::string_view build_id) {
  if (modules_read_ >= kMaxModules) return false;
  if (modules_read_++ == modules_.size()) modules_.push_back({std::string(path), std::string(build_id)});
  return true;
}

bool Definitions::add_stack(std::span<const Frame> frames) {
  if (stacks_read_ >= kMaxStacks) return false;
  if (stacks_read_++ == ends_.size()) {
    if (frames_.size() + frames.size() > kMaxStackFrames) return false;
    frames_.insert(frames_.end(), frames.begin(), frames.end());
    ends_.push_back(frames_.size());
  }
  return true;
}

void RecordDecoder::start_frame(std::span<const uint8_t> payload, uint64_t first_event) {
  payload_ = payload;
  at_ = 0;
  records_ = 0;
  next_event_ = first_event;
  if (first_event == 0) last_kind_ = {};
  thread_ = stack_ = 0;
  addr_ = 0;
  shared_.clear();
  problem_.clear();
}

bool RecordDecoder::fail(const char* problem) {
  if (problem_.empty()) problem_ = problem;
  return false;
}

bool RecordDecoder::byte(uint8_t* out) {
  if (at_ >= payload_.size()) return fail("a record ends beyond its frame");
  *out = payload_[at_++];
  return true;
}

bool RecordDecoder::varint(uint64_t* out) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    uint8_t part = 0;
    if (!byte(&part)) return false;
    uint64_t bits = part & 0x7F;
    if (shift == 63 && bits > 1) break;
    value |= bits << shift;
    if ((part & 0x80) == 0) {
      *out = value;
      return true;
    }
  }
  return fail("a number does not fit 64 bits");
}

bool RecordDecoder::address(uint64_t* out) {
  uint64_t delta = 0;
  if (!varint(&delta)) return false;
  addr_ += static_cast<uint64_t>(unzigzag(delta));
  *out = addr_;
  return true;
}

bool RecordDecoder::raw(size_t size, std::span<const uint8_t>* out) {
  if (size > payload_.size() - at_) return fail("a byte string ends beyond its frame");
  *out = payload_.subspan(at_, size);
  at_ += size;
  return true;
}

bool RecordDecoder::literal(size_t size, std::span<const uint8_t>* out) {
  if (!raw(size, out)) return false;
  if (size >= kMinShared && size <= kMaxShared) shared_.push_back(*out);
  return true;
}

bool RecordDecoder::bytes(size_t max, std::span<const uint8_t>* out) {
  uint64_t head = 0;
  if (!varint(&head)) return false;
  if (head & 1) {
    if ((head >> 1) >= shared_.size()) return fail("a reference to a byte string that the frame does not hold");
    *out = shared_[head >> 1];
    return true;
  }
  if ((head >> 1) > max) return fail("a byte string is longer than the format allows");
  return literal(head >> 1, out);
}

bool RecordDecoder::text(size_t max, std::string_view* out) {
  std::span<const uint8_t> value;
  if (!bytes(max, &value)) return false;
  *out = {reinterpret_cast<const char*>(value.data()), value.size()};
  return true;
}

bool RecordDecoder::store(uint8_t form, Event* out) {
  if (!address(&out->addr)) return false;
  if (form == kFormFlags) {
    if (!byte(&out->flags)) return false;
    if ((out->flags & ~kStoreFlagMask) != 0) return fail("a store has unknown flags");
    if ((out->flags & kStoreContinues) != 0 && (last_kind_ != out->kind || last_thread_ != out->thread)) {
      return fail("a store continues one that is not there");
    }
  }
  bool read = form == kFormByte    ? raw(1, &out->value)
              : form == kFormEight ? literal(8, &out->value)
                                   : bytes(kMaxStoreBytes, &out->value);
  if (!read) return false;
  if (out->value.empty()) return fail("a store has no bytes");
  out->size = out->value.size();
  if (out->addr + out->size < out->addr) return fail("a store wraps around the address space");
  return true;
}

bool RecordDecoder::file_call(Event* out) {
  uint64_t pool = 0;
  if (!byte(&out->code) || !varint(&pool)) return false;
  if (out->code > static_cast<uint8_t>(PoolCall::kWrittenThrough)) return fail("unknown kind of call on a file");
  out->pool = pool - 1;
  const auto call = static_cast<PoolCall>(out->code);
  if (call == PoolCall::kSize) return varint(&out->size);
  if (!varint(&out->addr)) return false;
  if (call != PoolCall::kContent && call != PoolCall::kWrite) return varint(&out->size);
  if (!bytes(kMaxOperationBytes, &out->value)) return false;
  out->size = out->value.size();
  return out->addr + out->size >= out->addr || fail("a write wraps around the file");
}

bool RecordDecoder::tree_call(Event* out) {
  if (!byte(&out->code)) return false;
  if (out->code > static_cast<uint8_t>(kLastTreeCall)) return fail("unknown kind of call on a tree");
  const auto call = static_cast<TreeCall>(out->code);
  for (const TreeField field : fields_of(call)) {
    bool read = false;
    switch (field) {
      case TreeField::kInode:
        read = varint(&out->pool);
        break;
      case TreeField::kFlags:
        read = byte(&out->flags);
        break;
      case TreeField::kPlace:
        read = varint(&out->addr);
        break;
      case TreeField::kSize:
        read = varint(&out->size);
        break;
      case TreeField::kName:
        read = bytes(kMaxText, &out->key);
        break;
      case TreeField::kValue:
        read = bytes(kMaxOperationBytes, &out->value);
        break;
    }
    if (!read) return false;
  }
  if (has_bytes(call)) out->size = out->value.size();
  if ((has_bytes(call) || has_range(call)) && out->addr + out->size < out->addr) {
    return fail("a call on a tree wraps around its file");
  }
  return text(kMaxText, &out->text);
}

bool RecordDecoder::event(uint8_t first, Event* out) {
  uint8_t type = first & kTypeMask;
  uint8_t bits = (first >> kBitsShift) & 3;
  *out = Event{};
  out->kind = static_cast<EventKind>(type);
  out->index = next_event_;
  out->thread = thread_;
  if (type == kDeviceRecord) {
    if (bits > 1) return fail("a record of a device has unknown bits");
    out->kind = bits == 0 ? EventKind::kFence : EventKind::kFlush;
    out->code = static_cast<uint8_t>(bits == 0 ? uint8_t(FenceKind::kDevice) : uint8_t(FlushKind::kForce));
  }

  bool code = has_code_stack(out->kind);
  if (first & kImplicitStack) {
    out->stack = code ? stack_ : 0;
  } else {
    uint64_t stack = 0;
    if (!varint(&stack)) return false;
    if (stack > definitions_.stacks_read()) return fail("an event names a stack that is not defined yet");
    out->stack = static_cast<uint32_t>(stack);
  }
  if (code) stack_ = out->stack;
  if (type == kTreeCallRecord) return (bits == 0 || fail("a record has unknown bits")) && tree_call(out);
  if (type == kFileCallRecord) return (bits == 0 || fail("a record has unknown bits")) && file_call(out);

  switch (out->kind) {
    case EventKind::kStore:
    case EventKind::kNtStore:
      return store(bits, out);
    case EventKind::kFlush:
      if (out->code == 0) out->code = bits;
      if (out->code == 0) return fail("unknown kind of flush");
      return address(&out->addr);
    case EventKind::kFence:
      if (out->code == 0) out->code = bits + 1;
      return true;
    case EventKind::kContent:
      return (bits == 0 || fail("a record has unknown bits")) && bytes(kMaxOperationBytes, &out->value);
    case EventKind::kOpBegin:
      if (bits > 1) return fail("an operation has unknown bits");
      if (!byte(&out->code)) return false;
      if (out->code < 1 || out->code > static_cast<uint8_t>(OpKind::kIncrement))
        return fail("unknown kind of operation");
      if (!bytes(kMaxOperationBytes, &out->key) || !bytes(kMaxOperationBytes, &out->value)) return false;
      return bits == 0 || text(kMaxText, &out->text);
    case EventKind::kOpEnd:
      out->code = bits;
      if (bits == 3 && !byte(&out->code)) return false;
      return bytes(kMaxOperationBytes, &out->value);
    case EventKind::kThreadStart:
    case EventKind::kThreadEnd:
    case EventKind::kCut:
    case EventKind::kCrashPoint:
      return bits == 0 || fail("a record has unknown bits");
    case EventKind::kAllocate:
      return (bits == 0 || fail("a record has unknown bits")) && address(&out->addr) && varint(&out->size);
    case EventKind::kFree:
      return (bits == 0 || fail("a record has unknown bits")) && address(&out->addr);
    case EventKind::kMarker:
    case EventKind::kSearched:
      return (bits == 0 || fail("a record has unknown bits")) && text(kMaxText, &out->text);
    case EventKind::kPhase:
      if (bits > 1) return fail("a phase has unknown bits");
      out->code = bits;
      return text(kMaxText, &out->text);
    case EventKind::kFork:
      return (bits == 0 || fail("a record has unknown bits")) && byte(&out->code);
    case EventKind::kBack:
      return (bits == 0 || fail("a record has unknown bits")) && varint(&out->size);
    case EventKind::kTrouble:
      if (bits != 0) return fail("a record has unknown bits");
      if (!byte(&out->code)) return false;
      if (out->code < 1 || out->code > static_cast<uint8_t>(Trouble::kDied)) return fail("unknown kind of trouble");
      return text(kMaxText, &out->text);
  }
  return fail("unknown record type");
}

bool RecordDecoder::define_module() {
  std::string_view parts[2];
  for (std::string_view& part : parts) {
    uint64_t size = 0;
    std::span<const uint8_t> value;
    if (!varint(&size)) return false;
    if (size > kMaxText) return fail("a module's name is longer than the format allows");
    if (!raw(size, &value)) return false;
    part = {reinterpret_cast<const char*>(value.data()), value.size()};
  }
  return definitions_.add_module(parts[0], parts[1]) || fail("more modules than the format allows");
}

bool RecordDecoder::define_stack() {
  uint64_t depth = 0;
  if (!varint(&depth)) return false;
  if (depth > kMaxStackDepth) return fail("a stack is deeper than the format allows");
  frames_.clear();
  for (uint64_t i = 0; i < depth; ++i) {
    uint64_t module = 0, offset = 0;
    if (!varint(&module) || !varint(&offset)) return false;
    if (module >= definitions_.modules_read()) return fail("a stack names a module that is not defined yet");
    frames_.push_back({static_cast<uint32_t>(module), offset});
  }
  return definitions_.add_stack(frames_) || fail("more stacks than the format allows");
}

bool RecordDecoder::next(Event* out) {
  while (problem_.empty() && at_ < payload_.size()) {
    uint8_t first = payload_[at_++];
    ++records_;
    switch (first & kTypeMask) {
      case kThreadRecord: {
        uint64_t thread = 0;
        if (first != kThreadRecord) return fail("a record has unknown bits");
        if (!varint(&thread)) return false;
        if (thread > UINT32_MAX) return fail("a thread number does not fit 32 bits");
        thread_ = static_cast<uint32_t>(thread);
        break;
      }
      case kModuleRecord:
        if (first != kModuleRecord) return fail("a record has unknown bits");
        if (!define_module()) return false;
        break;
      case kStackRecord:
        if (first != kStackRecord) return fail("a record has unknown bits");
        if (!define_stack()) return false;
        break;
      default:
        if (!event(first, out)) return false;
        last_kind_ = out->kind;
        last_thread_ = out->thread;
        ++next_event_;
        return true;
    }
  }
  return false;
}

}  // namespace powercut
