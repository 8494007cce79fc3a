// Fuzz target of the reader. The first byte of an input chooses what the rest is: a whole file, or the raw
// payload of a frame that is wrapped into an otherwise right file. Without the second, checksums would keep
// almost every input away from the record decoder.
#include <xxhash.h>
#include <zstd.h>

#include <cstdlib>
#include <vector>

#include "tracer/format/layout.h"
#include "tracer/format/reader.h"

namespace powercut {

namespace {

using namespace layout;

void append(std::vector<uint8_t>& file, const std::vector<uint8_t>& part) {
  file.insert(file.end(), part.begin(), part.end());
}

// A file with one frame of this payload. The counts in it are guesses, so a payload that decodes still ends in
// the error about totals unless it is a single event.
std::vector<uint8_t> wrap(std::span<const uint8_t> raw) {
  std::vector<uint8_t> header(kHeaderSize), frame(kFrameHeaderSize), footer(kFooterSize);
  std::copy(kMagic.begin(), kMagic.end(), header.begin());
  put<uint32_t>(&header[8], kTraceVersion);
  put<uint32_t>(&header[12], kEndianMark);
  put<uint64_t>(&header[24], XXH3_64bits(nullptr, 0));
  put<uint64_t>(&header[32], XXH3_64bits(header.data(), 32));

  std::vector<uint8_t> packed(ZSTD_compressBound(raw.size()));
  packed.resize(ZSTD_compress(packed.data(), packed.size(), raw.data(), raw.size(), 1));
  uint64_t checksum = XXH3_64bits(raw.data(), raw.size());
  put<uint32_t>(&frame[0], kFrameMagic);
  put<uint32_t>(&frame[4], static_cast<uint32_t>(packed.size()));
  put<uint32_t>(&frame[8], static_cast<uint32_t>(raw.size()));
  put<uint32_t>(&frame[12], 1);
  put<uint64_t>(&frame[24], checksum);
  put<uint64_t>(&frame[32], XXH3_64bits(frame.data(), 32));

  std::vector<uint8_t> file = header;
  append(file, frame);
  append(file, packed);
  std::copy(kFooterMagic.begin(), kFooterMagic.end(), footer.begin());
  for (size_t at : {8, 16, 24}) put<uint64_t>(&footer[at], 1);
  put<uint64_t>(&footer[40], raw.size());
  put<uint64_t>(&footer[48], chain_checksum(0, checksum));
  put<uint64_t>(&footer[56], file.size() + kFooterSize);
  put<uint64_t>(&footer[64], XXH3_64bits(footer.data(), 64));
  append(file, footer);
  return file;
}

// Touches everything an event refers to, so that a span out of bounds is seen.
uint64_t read(std::span<const uint8_t> file) {
  TraceError error;
  auto reader = TraceReader::open_bytes(file, "fuzz.pct", &error);
  if (reader == nullptr) {
    if (error.what.empty() || error.next.empty()) std::abort();
    return 0;
  }
  constexpr uint64_t kSpace = 1 << 20;
  reader->take_tree_calls();
  reader->hold_to(TraceRules(kSpace, RecordSizes{{16, 16}, {15, 15}}));
  uint64_t sum = 0;
  for (int pass = 0; pass < 2; ++pass) {
    Event event;
    uint64_t count = 0;
    while (reader->next(&event)) {
      if (event.index != count++) std::abort();
      const bool store = event.kind == EventKind::kStore || event.kind == EventKind::kNtStore;
      if (store && (event.addr > kSpace || event.size > kSpace - event.addr)) std::abort();
      for (uint8_t byte : event.value) sum += byte;
      for (uint8_t byte : event.key) sum += byte;
      for (char byte : event.text) sum += static_cast<uint8_t>(byte);
      for (const Frame& frame : reader->stack(event.stack)) sum += reader->modules()[frame.module].path.size();
    }
    if (!reader->error() && count != reader->total_events()) std::abort();
    reader->rewind();
  }
  return sum;
}

}  // namespace

}  // namespace powercut

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::span<const uint8_t> rest(data + 1, size - 1);
  volatile uint64_t sum = 0;
  if (data[0] % 2 == 0) {
    sum = powercut::read(rest);
  } else {
    std::vector<uint8_t> file = powercut::wrap(rest);
    sum = powercut::read(file);
  }
  (void)sum;
  return 0;
}
