// Groups of event kinds, for switches that handle a few kinds and pass the others over: `case POWERCUT_TREE_EVENTS:`
// stands for a label of each kind in the group. Every kind is in one group or stands alone, so the compiler still names
// each switch that lacks a kind. Whoever adds a kind decides which group it joins.
#ifndef POWERCUT_TRACER_FORMAT_EVENT_GROUPS_H_
#define POWERCUT_TRACER_FORMAT_EVENT_GROUPS_H_

#include "tracer/format/trace.h"

// The machine was asked to change memory, or to make it durable.
#define POWERCUT_MEMORY_EVENTS                  \
  EventKind::kStore : case EventKind::kNtStore: \
  case EventKind::kFlush:                       \
  case EventKind::kFence
// An operation of the workload.
#define POWERCUT_OPERATION_EVENTS EventKind::kOpBegin : case EventKind::kOpEnd
// Threads and blocks of the heap come and go.
#define POWERCUT_PROCESS_EVENTS                         \
  EventKind::kThreadStart : case EventKind::kThreadEnd: \
  case EventKind::kAllocate:                            \
  case EventKind::kFree
// A place in the trace gets a name.
#define POWERCUT_NAME_EVENTS EventKind::kMarker : case EventKind::kPhase
// The tree of schedules, its crash points and its findings.
#define POWERCUT_TREE_EVENTS                \
  EventKind::kFork : case EventKind::kBack: \
  case EventKind::kCrashPoint:              \
  case EventKind::kSearched:                \
  case EventKind::kTrouble
// kCut and kContent stand alone.

#endif  // POWERCUT_TRACER_FORMAT_EVENT_GROUPS_H_
