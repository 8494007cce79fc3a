// For tests: a tape, as an example of a medium. Blocks are appended and never written again. A power cut leaves a
// prefix of the blocks, at least those that were there at the last rewind (the device's flush).
//
// The first word of the pool is the number of blocks on the tape: an append stores the next number. The numbers are a
// chain of stores to one line, and any prefix of the chain may persist. The word therefore says which prefix of the
// blocks there is. On a tape that is a file of a program, a line for each block names what the block holds.
#ifndef POWERCUT_REPLAYER_MEDIA_TAPE_TAPE_H_
#define POWERCUT_REPLAYER_MEDIA_TAPE_TAPE_H_

#include <algorithm>
#include <array>
#include <cstring>

#include "powercut/contents.h"
#include "replayer/media/image_writer.h"
#include "replayer/media/medium.h"
#include "tracer/format/content_name.h"

namespace powercut {

constexpr uint64_t kTapeBlock = 192;  // bytes; no sector has so many

class TapeRules final : public Persistency {
 public:
  std::string_view name() const override { return "tape"; }
  Durable by_flush(FlushKind kind) const override {
    return kind == FlushKind::kForce ? Durable::kLine : Durable::kNothing;
  }
  bool has_fence(FenceKind kind) const override { return kind == FenceKind::kDevice; }
  Durable by_fence() const override { return Durable::kAll; }
  StoreTraits taken(const StoreTraits&) const override { return {.whole = true}; }
  bool by_threads() const override { return false; }
  std::optional<AtomPolicy> own_policy() const override { return AtomPolicy::kAny; }
  std::vector<std::string> assumptions(std::string_view, bool) const override {
    return {"blocks reach the tape in the order in which they are appended"};
  }
};

class TapeCalls final : public PoolCalls {
 public:
  explicit TapeCalls(const PoolFile& file) : file_(file) {}
  void call(const Event& call, CallEvents* out) override {
    if (static_cast<PoolCall>(call.code) == PoolCall::kFsync) out->fence(FenceKind::kDevice);
    if (static_cast<PoolCall>(call.code) == PoolCall::kWrite) append(call.value, out);
  }

 private:
  // A block lies behind the end until it is counted, so no image tells when its bytes came.
  void append(std::span<const uint8_t> block, CallEvents* out) {
    const uint64_t word = file_.offset + file_.device->word(count_++), name = content_name(block);
    out->begin_change();
    out->content(block);
    out->store(word, bytes_of(name));
    out->flush(word, FlushKind::kForce);
    out->end_change();
    out->store(file_.offset, bytes_of(count_));
  }
  static std::span<const uint8_t> bytes_of(const uint64_t& word) {
    return {reinterpret_cast<const uint8_t*>(&word), sizeof word};
  }

  const PoolFile file_;
  uint64_t count_ = 0;
};

class TapeImages final : public ImageWriter {
 public:
  uint64_t space(const PoolFile& file) const override { return file.device->space(file.size); }
  bool in_place() const override { return false; }
  bool by_calls() const override { return true; }
  std::optional<uint64_t> size_word(const PoolFile& file) const override { return file.offset; }
  void write(const PoolFile& file, uint64_t line, const Content& content, ImageFile* out) const override {
    uint64_t word = 0;
    std::memcpy(&word, content.bytes.data(), sizeof word);
    if (line == 0) return out->resize(std::min(word * kTapeBlock, file.size));
    if (word == 0) return;  // zeroes, or no block yet
    const void* block = powercut_content(word, kTapeBlock);
    if (block == nullptr) return out->lacks_content("a block of the tape");
    for (uint64_t done = 0; done < kTapeBlock; done += kLineSize) {
      out->put((line - 1) * kTapeBlock + done, {static_cast<const uint8_t*>(block) + done, kLineSize});
    }
  }
  LineBytes seen_by(const PoolFile& file, const LineBytes& read) const override {
    return {file.offset / kLineSize + 1 + read.line * kLineSize / kTapeBlock, 0xFF};
  }
};

inline const Medium& tape_medium() {
  static const TapeRules rules;
  static const TapeImages images;
  static const std::array<const Persistency*, 1> models = {&rules};
  static const Medium medium = {
      .name = "tape",
      .called = "a tape",
      .kind = 1000,
      .models = models,
      .takes = [](const PoolFile& file) { return file.device && file.device->sector_size == kTapeBlock; },
      .calls = [](const PoolFile& file) -> std::unique_ptr<PoolCalls> { return std::make_unique<TapeCalls>(file); },
      .images = &images};
  return medium;
}

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MEDIA_TAPE_TAPE_H_
