#include "tracer/pin/requests.h"

#include <algorithm>
#include <vector>

#define POWERCUT_MARK_NUMBERS_ONLY
#include "powercut/mark.h"
#include "tracer/stream/marks.h"

namespace powercut {
namespace pin {
namespace {

std::vector<uint8_t> bytes_at(const Host& host, uint64_t address, uint64_t size) {
  std::vector<uint8_t> bytes(static_cast<size_t>(std::min<uint64_t>(size, kPowercutMostBytes)));
  if (!bytes.empty()) bytes.resize(host.copy(bytes.data(), address, bytes.size()));
  return bytes;
}

}  // namespace

bool is_mark(const Host& host, uint64_t arguments) {
  uint64_t request = 0;
  return host.copy(&request, arguments, sizeof request) == sizeof request &&
         (request & 0xFFFF0000u) == POWERCUT_MARK_BASE && request <= UINT32_MAX;
}

uint64_t answer_mark(Recorder& recorder, PoolFiles& pools, uint32_t thread, uint64_t arguments, const Frames& frames) {
  uint64_t request[kPowercutMarkWords] = {};
  const Host& host = recorder.host();
  if (host.copy(request, arguments, sizeof request) != sizeof request || !recorder.recording()) return 0;
  if (request[0] == POWERCUT_MARK_ACTIVE) return 1;
  if (request[0] == POWERCUT_MARK_POOL) pools.registered(thread, request[1], request[2], frames);
  unsigned texts = 0, bytes = 0;
  if (powercut_mark_reads(request[0], &texts, &bytes) == 0) return 0;
  // Another number would make a stream that no converter reads.
  if (request[0] == POWERCUT_MARK_BEGIN && (request[1] < POWERCUT_MARK_FORMAT || request[1] > POWERCUT_MARK_CLOSE)) {
    recorder.note(kPowercutNoteOther, "powercut_mark_begin with an unknown kind of operation: it was not recorded");
    return 0;
  }
  // The program may have given wrong addresses: only readable bytes are copied.
  std::vector<uint8_t> copies[kPowercutMarkWords];
  for (int i = 0; i < kPowercutMarkWords; ++i) {
    const bool text = (texts >> i & 1) != 0;
    if (!text && (bytes >> i & 1) == 0) continue;
    copies[i] = bytes_at(host, request[i], text ? uint64_t{kPowercutMostText} : request[i + 1]);
    if (text) copies[i].push_back('\0');
    if (!text) request[i + 1] = copies[i].size();
    request[i] = reinterpret_cast<uint64_t>(copies[i].data());
  }
  Recorder::Entry entry(recorder, thread, frames);
  powercut_stream_mark(entry.stream(), entry.site(), request);
  return 0;
}

}  // namespace pin
}  // namespace powercut
