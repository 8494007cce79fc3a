/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/valgrind/stacks.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_hashtable.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_stacktrace.h"
#include "pub_tool_threadstate.h"
#include "tracer/valgrind/core.h"
#include "tracer/valgrind/resumed.h"

enum { kDepth = 64, kMostModules = 4096, kNoModule = 0x7FFFFFFF };

typedef struct Stack {
  struct Stack* next;
  UWord key; /* hash of the addresses */
  UInt number, depth;
  Addr addresses[];
} Stack;

typedef struct {
  VgHashNode node;
  UInt number, depth;
  const Addr* addresses;
} Wanted;

static VgHashTable* stacks;
static UInt stack_count;

static HChar* modules[kMostModules];
static UInt module_count;

static UInt module_of(powercut_stream* stream, const HChar* path) {
  for (UInt i = 0; i < module_count; ++i) {
    if (VG_(strcmp)(modules[i], path) == 0) return pc_resumed.modules + i;
  }
  if (module_count == kMostModules) return kNoModule;
  modules[module_count] = VG_(strdup)("powercut.module", path);
  powercut_stream_module(stream, path);
  return pc_resumed.modules + module_count++;
}

UInt pc_modules(void) { return pc_resumed.modules + module_count; }
UInt pc_stacks(void) { return pc_resumed.stacks + stack_count; }

static Word differs(const void* node1, const void* node2) {
  const Wanted* wanted = node1;
  const Stack* stack = node2;
  return wanted->depth != stack->depth ||
         VG_(memcmp)(wanted->addresses, stack->addresses, wanted->depth * sizeof(Addr)) != 0;
}

/* The core knows one section of code for each file; code in another section belongs to the file that is mapped
 * there. */
static DebugInfo* info_of(DiEpoch now, Addr address) {
  DebugInfo* info = VG_(find_DebugInfo)(now, address);
  if (info != NULL) return info;
  const NSegment* mapping = VG_(am_find_nsegment)(address);
  const HChar* file = mapping == NULL ? NULL : VG_(am_get_filename)(mapping);
  if (file == NULL) return NULL; /* generated code */
  const DebugInfo* known = NULL;
  while ((known = VG_(next_DebugInfo)(known)) != NULL) {
    if (VG_(strcmp)(VG_(DebugInfo_get_filename)(known), file) == 0) return (DebugInfo*)known;
  }
  return NULL;
}

static UInt define(powercut_stream* stream, const Addr* addresses, UInt depth) {
  powercut_stream_frame frames[kDepth];
  UInt count = 0;
  const DiEpoch now = VG_(current_DiEpoch)();
  for (Bool last = False; count < depth && !last; ++count) {
    DebugInfo* info = info_of(now, addresses[count]);
    if (info == NULL) break;
    const UInt module = module_of(stream, VG_(DebugInfo_get_filename)(info));
    if (module == kNoModule) break;
    frames[count].module = module;
    /* The callers of main say nothing about the program. */
    last = VG_(get_fnname_kind_from_IP)(now, addresses[count]) == Vg_FnNameMain;
    /* A trace has return addresses; these addresses lie in the instruction itself. */
    frames[count].offset = addresses[count] + 1 - (Addr)VG_(DebugInfo_get_text_bias)(info);
  }
  if (count == 0) return 0;
  powercut_stream_stack(stream, frames, count);
  ++stack_count;
  return pc_stacks();
}

/* The core follows a thread up to the end of the stack that the thread was started on. A thread may have another stack
 * above that end, as a goroutine or a coroutine has: the core would see its innermost function alone. The core is
 * therefore told of the mapping that such a stack lies in, and of one such mapping at a time. */
static void know_stack(ThreadId tid) {
  static UWord known;
  static Addr start, end;
  const Addr sp = VG_(get_SP)(tid);
  if (sp <= VG_(thread_get_stack_max)(tid) || (start <= sp && sp <= end)) return;
  const NSegment* mapping = VG_(am_find_nsegment)(sp);
  if (mapping == NULL) return;
  if (end != 0) VG_(deregister_stack)(known);
  start = mapping->start;
  end = mapping->end;
  known = VG_(register_stack)(start, end);
}

UInt pc_stack(powercut_stream* stream, ThreadId tid) {
  know_stack(tid);
  Addr addresses[kDepth];
  const UInt depth = VG_(get_StackTrace)(tid, addresses, kDepth, NULL, NULL, 0);
  UWord hash = 0;
  for (UInt i = 0; i < depth; ++i) hash = (hash ^ addresses[i]) * 0x9E3779B97F4A7C15ul;
  if (stacks == NULL) stacks = VG_(HT_construct)("powercut.stacks");
  Wanted wanted = {{NULL, hash}, 0, depth, addresses};
  Stack* known = VG_(HT_gen_lookup)(stacks, &wanted, differs);
  if (known == NULL) {
    known = VG_(malloc)("powercut.stack", sizeof(Stack) + depth * sizeof(Addr));
    known->key = hash;
    known->depth = depth;
    VG_(memcpy)(known->addresses, addresses, depth * sizeof(Addr));
    known->number = define(stream, addresses, depth);
    VG_(HT_add_node)(stacks, known);
  }
  return known->number;
}

/* The C library, which is one with the dynamic linker, and the libraries of languages on top of it. */
typedef enum { kElsewhere, kCLibrary, kLanguageLibrary } Origin;

static Origin origin_of(DebugInfo* info) {
  static const struct {
    const HChar* prefix;
    Origin origin;
  } kNames[] = {{"libc.so.", kCLibrary},          {"ld-linux-x86-", kCLibrary},
                {"libpthread.so", kCLibrary},     {"libm.so.", kCLibrary},
                {"libdl.so.", kCLibrary},         {"libstdc++.so.", kLanguageLibrary},
                {"libc++.so.", kLanguageLibrary}, {"libgcc_s.so.", kLanguageLibrary}};
  const HChar* name = info == NULL ? NULL : VG_(DebugInfo_get_soname)(info);
  for (UInt i = 0; name != NULL && i < sizeof kNames / sizeof *kNames; ++i) {
    if (VG_(strncmp)(name, kNames[i].prefix, VG_(strlen)(kNames[i].prefix)) == 0) return kNames[i].origin;
  }
  return kElsewhere;
}

static Bool is_lock_operation(const HChar* function) {
  static const HChar* const kNames[] = {
      "pthread_mutex_", "pthread_rwlock_", "pthread_spin_", "pthread_cond_", "sem_", "mtx_", "cnd_"};
  while (*function == '_') ++function;
  for (UInt i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
    if (VG_(strncmp)(function, kNames[i], VG_(strlen)(kNames[i])) == 0) return True;
  }
  return False;
}

LockedBy pc_locked_by(ThreadId tid) {
  enum { kInnermost = 8 };
  Addr addresses[kInnermost];
  const UInt depth = VG_(get_StackTrace)(tid, addresses, kInnermost, NULL, NULL, 0);
  const DiEpoch now = VG_(current_DiEpoch)();
  Bool in_lock = False;
  for (UInt i = 0; i < depth; ++i) {
    const Origin origin = origin_of(VG_(find_DebugInfo)(now, addresses[i]));
    const HChar* function;
    if (origin == kElsewhere) return i == 0 ? kOfProgram : in_lock ? kOfLock : kIncidental;
    if (VG_(get_fnname)(now, addresses[i], &function) && is_lock_operation(function)) {
      in_lock = True;
    } else if (in_lock) {
      /* The lock's caller decides: a standard library locks for the program, the C library for itself. */
      return origin == kLanguageLibrary ? kOfLock : kIncidental;
    }
  }
  return in_lock ? kOfLock : kIncidental;
}
