// The words for kinds of events, with one spelling for events, dumps and messages.
#ifndef POWERCUT_TRACER_FORMAT_TRACE_NAMES_H_
#define POWERCUT_TRACER_FORMAT_TRACE_NAMES_H_

#include <span>
#include <string>

#include "tracer/format/trace.h"
#include "tracer/format/tree_calls.h"

namespace powercut {

const char* name_of(EventKind kind);
const char* name_of(TreeCall call);  // "store", "nt-store", "op-begin", ...
const char* name_of(Trouble trouble);
const char* name_of(OpKind kind);     // "insert", ...
const char* name_of(FlushKind kind);  // "clwb", ...
const char* name_of(FenceKind kind);  // "sfence", "mfence", "locked", "lock"
std::string hex(std::span<const uint8_t> bytes);

}  // namespace powercut
#endif  // POWERCUT_TRACER_FORMAT_TRACE_NAMES_H_
