#include "tracer/stream/marks.h"

#define POWERCUT_MARK_NUMBERS_ONLY
#include "powercut/mark.h"

int powercut_mark_reads(uint64_t request, unsigned* texts, unsigned* bytes) {
  *texts = *bytes = 0;
  switch (request) {
    case POWERCUT_MARK_BEGIN:
      *bytes = 1u << 2 | 1u << 4;
      return 1;
    case POWERCUT_MARK_END:
      *bytes = 1u << 2;
      return 1;
    case POWERCUT_MARK_POINT:
      *texts = 1u << 1;
      return 1;
    case POWERCUT_MARK_PHASE:
      *texts = 1u << 2;
      return 1;
    case POWERCUT_MARK_CUT:
      return 1;
    default:
      return 0;
  }
}

static const char* text_at(uint64_t address) { return address == 0 ? "" : (const char*)address; }

void powercut_stream_mark(powercut_stream* stream, powercut_site site, const uint64_t request[kPowercutMarkWords]) {
  switch (request[0]) {
    case POWERCUT_MARK_BEGIN:
      powercut_stream_op_begin(stream, site, (uint32_t)request[1], (const void*)request[2], request[3],
                               (const void*)request[4], request[5]);
      break;
    case POWERCUT_MARK_END:
      powercut_stream_op_end(stream, site, (uint32_t)request[1], (const void*)request[2], request[3]);
      break;
    case POWERCUT_MARK_POINT:
      powercut_stream_marker(stream, site, text_at(request[1]));
      break;
    case POWERCUT_MARK_PHASE:
      powercut_stream_phase(stream, site, request[1] != 0, text_at(request[2]));
      break;
    case POWERCUT_MARK_CUT:
      powercut_stream_plain(stream, kPowercutCut, site);
      break;
    default:
      break;
  }
}
