#include "tracer/pin/marks.h"

#include <algorithm>
#include <string>
#include <vector>

#include "powercut/mark.h"

namespace powercut {
namespace pin {
namespace {

std::vector<uint8_t> bytes_at(const Host& host, uint64_t address, uint64_t size) {
  std::vector<uint8_t> bytes(static_cast<size_t>(std::min<uint64_t>(size, kPowercutMostBytes)));
  if (!bytes.empty()) bytes.resize(host.copy(bytes.data(), address, bytes.size()));
  return bytes;
}

std::string text_at(const Host& host, uint64_t address) {
  char text[kPowercutMostText + 1] = {};
  if (address != 0) host.copy(text, address, kPowercutMostText);
  return text;
}

void begin_operation(Recorder& recorder, uint32_t thread, const uint64_t* request, const Frames& frames) {
  const std::vector<uint8_t> key = bytes_at(recorder.host(), request[2], request[3]);
  const std::vector<uint8_t> value = bytes_at(recorder.host(), request[4], request[5]);
  Recorder::Entry entry(recorder, thread, frames);
  powercut_stream_op_begin(entry.stream(), entry.site(), static_cast<uint32_t>(request[1]), key.data(), key.size(),
                           value.data(), value.size());
}

}  // namespace

bool is_mark(const Host& host, uint64_t arguments) {
  uint64_t request = 0;
  return host.copy(&request, arguments, sizeof request) == sizeof request &&
         (request & 0xFFFF0000u) == POWERCUT_MARK_BASE && request <= UINT32_MAX;
}

uint64_t answer_mark(Recorder& recorder, PoolFiles& pools, uint32_t thread, uint64_t arguments, const Frames& frames) {
  uint64_t request[6] = {};
  const Host& host = recorder.host();
  if (host.copy(request, arguments, sizeof request) != sizeof request || !recorder.recording()) return 0;
  switch (request[0]) {
    case POWERCUT_MARK_ACTIVE:
      return 1;
    case POWERCUT_MARK_BEGIN:
      // Another number would make a stream that no converter reads.
      if (request[1] < POWERCUT_MARK_FORMAT || request[1] > POWERCUT_MARK_CLOSE) {
        recorder.note(kPowercutNoteOther, "powercut_mark_begin with an unknown kind of operation: it was not recorded");
        return 0;
      }
      begin_operation(recorder, thread, request, frames);
      return 0;
    case POWERCUT_MARK_END: {
      const std::vector<uint8_t> value = bytes_at(host, request[2], request[3]);
      Recorder::Entry entry(recorder, thread, frames);
      powercut_stream_op_end(entry.stream(), entry.site(), static_cast<uint32_t>(request[1]), value.data(),
                             value.size());
      return 0;
    }
    case POWERCUT_MARK_POINT: {
      const std::string name = text_at(host, request[1]);
      Recorder::Entry entry(recorder, thread, frames);
      powercut_stream_marker(entry.stream(), entry.site(), name.c_str());
      return 0;
    }
    case POWERCUT_MARK_POOL:
      pools.registered(thread, request[1], request[2], frames);
      return 0;
    case POWERCUT_MARK_PHASE: {
      const std::string name = text_at(host, request[2]);
      Recorder::Entry entry(recorder, thread, frames);
      powercut_stream_phase(entry.stream(), entry.site(), request[1] != 0, name.c_str());
      return 0;
    }
    case POWERCUT_MARK_CUT: {
      Recorder::Entry entry(recorder, thread, frames);
      powercut_stream_plain(entry.stream(), kPowercutCut, entry.site());
      return 0;
    }
    default:
      return 0;
  }
}

}  // namespace pin
}  // namespace powercut
