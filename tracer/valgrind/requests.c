/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/valgrind/requests.h"

#define POWERCUT_MARK_NUMBERS_ONLY
#include "powercut/mark.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_libcbase.h"
#include "tracer/stream/marks.h"
#include "tracer/valgrind/files/pool_files.h"
#include "tracer/valgrind/recorder.h"
#include "tracer/valgrind/runs.h"

/* pmemcheck's requests, by their public numbers: PMDK's libraries and programs annotated for it issue them. */
enum {
  kPmcBase = 'P' << 24 | 'C' << 16,
  kPmcRegisterMapping = kPmcBase,
  kPmcRegisterFile,
  kPmcRemoveMapping,
  kPmcCheckIsPmem,
  kPmcPrintMappings,
  kPmcFlush,
  kPmcFence,
  kPmcWriteStats = kPmcBase + 8,
  kPmcSetClean = kPmcBase + 17,
  kPmcAddToGlobalTxIgnore = kPmcBase + 28,
  kPmcEmitLog = kPmcBase + 30,
};

/* Ranges that were registered and are not recorded. A program that asks about such a range must hear yes: PMDK's
 * libraries register a variable of theirs. If the variable is not persistent memory then, they keep their other
 * requests to themselves. */
static powercut_ranges elsewhere;

static void register_mapping(Addr address, ULong length) {
  pc_pool_registered(address, length, False);
  Addr begin;
  if (length != 0 && powercut_ranges_clip(pc_ranges(), address, length, &begin) == 0)
    powercut_ranges_map(&elsewhere, address, length, 0, 0);
}

/* Returns 1: all of the range is persistent memory; 2: a part is; 0: nothing is. */
static UWord is_pmem(Addr address, ULong length) {
  Addr begin;
  ULong known = powercut_ranges_clip(pc_ranges(), address, length, &begin);
  if (known == 0) known = powercut_ranges_clip(&elsewhere, address, length, &begin);
  return known == 0 ? 0 : known == length ? 1 : 2;
}

/* Returns whether libpmem asks about its own variable, by which it finds out whether it runs under pmemcheck. If so,
 * libpmem copies small pieces in another way, byte by byte: a copy that it never tears could then be torn in a
 * recording. libpmem hears no, unless its registrations are needed to find persistent memory. All else that it says to
 * pmemcheck shows in the instructions that it executes. */
static Bool asks_for_itself(Addr address) {
  const HChar* object = NULL;
  VG_(DebugInfo_sect_kind)(&object, address);
  return object != NULL && (VG_(strstr)(object, "libpmem.so") != NULL || VG_(strstr)(object, "libpmem2.so") != NULL);
}

static Bool pmemcheck_request(ThreadId tid, UWord* args, UWord* answer) {
  switch (args[0]) {
    case kPmcRegisterMapping:
      register_mapping(args[1], args[2]);
      return True;
    case kPmcRegisterFile:
      register_mapping(args[2], args[3]);
      return True;
    case kPmcRemoveMapping:
      powercut_ranges_unmap(&elsewhere, args[1], args[2]);
      pc_unmap(kPowercutDisowned, args[1], args[2]);
      return True;
    case kPmcCheckIsPmem:
      if (!pc_pools_are_named() || !asks_for_itself(args[1])) *answer = is_pmem(args[1], args[2]);
      return True;
    case kPmcFlush:
      pc_annotated_flush(tid, args[1], args[2]);
      return True;
    case kPmcFence:
      pc_annotated_fence(tid);
      return True;
    case kPmcEmitLog:
      powercut_stream_marker(pc_stream(), pc_site(tid), (const HChar*)args[1]);
      return True;
    default:
      /* Transactions, memory called clean, and statistics are for checks that powercut does otherwise: it looks at the
       * recovery of every image. Such requests are understood and change nothing. */
      return args[0] <= kPmcEmitLog;
  }
}

static Bool powercut_request(ThreadId tid, UWord* args) {
  unsigned texts, bytes;
  switch (args[0]) {
    case POWERCUT_MARK_ACTIVE:
    case POWERCUT_MARK_SERVE:
    case POWERCUT_MARK_RUN:
      return True; /* answered, whether anything is recorded or not */
    case POWERCUT_MARK_POOL:
      pc_pool_registered(args[1], args[2], True);
      return True;
    case POWERCUT_MARK_POOLS_END:
      pc_pools_end();
      return True;
    default:
      if (!powercut_mark_reads(args[0], &texts, &bytes)) return False;
      powercut_stream_mark(pc_stream(), pc_site(tid), (const uint64_t*)args);
      return True;
  }
}

Bool pc_client_request(ThreadId tid, UWord* args, UWord* answer) {
  *answer = 0;
  const UWord base = args[0] & 0xFFFF0000;
  if (base != kPmcBase && base != POWERCUT_MARK_BASE) return False;
  if (args[0] == POWERCUT_MARK_ACTIVE) *answer = 1;
  if (args[0] == POWERCUT_MARK_SERVE) *answer = pc_serve();
  if (args[0] == POWERCUT_MARK_RUN) pc_begin_run();
  if (!pc_recording()) return True;
  return base == kPmcBase ? pmemcheck_request(tid, args, answer) : powercut_request(tid, args);
}
