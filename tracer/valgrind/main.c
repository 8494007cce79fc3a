/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Valgrind tool `powercut`: records the persistent-memory events of a program (tracer/stream/STREAM.md).
 *
 *   valgrind --tool=powercut --stream=FILE [--pool=FILE]... [--loads=yes] PROGRAM ...
 *   valgrind --tool=powercut --stream=FILE --device=FILE PROGRAM ...
 *
 *   valgrind --tool=powercut --stores=FILE PROGRAM ...
 *
 * With --output=FOLDER the files FOLDER/stdout and FOLDER/stderr are the program's output.
 *
 * Known inaccuracies are in README.md. */
#include "pub_tool_aspacemgr.h"
#include "pub_tool_basics.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_options.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_vki.h"
#include "tracer/valgrind/core.h"
#include "tracer/valgrind/files/calls.h"
#include "tracer/valgrind/files/device.h"
#include "tracer/valgrind/files/mapped_files.h"
#include "tracer/valgrind/files/pool_files.h"
#include "tracer/valgrind/instrument.h"
#include "tracer/valgrind/output.h"
#include "tracer/valgrind/recorder.h"
#include "tracer/valgrind/requests.h"
#include "tracer/valgrind/resumed.h"
#include "tracer/valgrind/runs.h"

static Bool option(const HChar* argument) {
  const HChar* pool;
  if (VG_STR_CLO(argument, "--stream", pc_stream_path)) return True;
  if (VG_STR_CLO(argument, "--pool", pool)) {
    if (!pc_pool_named(pool)) VG_(fmsg_bad_option)(argument, "There are more than 64 pools.\n");
    return True;
  }
  if (VG_STR_CLO(argument, "--device", pool)) {
    if (!pc_device_named(pool)) VG_(fmsg_bad_option)(argument, "There is a device already.\n");
    return True;
  }
  if (VG_STR_CLO(argument, "--output", pool)) {
    pc_output_named(pool);
    return True;
  }
  if (VG_STR_CLO(argument, "--stores", pool)) {
    pc_stores_named(pool);
    return True;
  }
  if (VG_BOOL_CLO(argument, "--loads", pc_loads)) return True;
  if (VG_BOOL_CLO(argument, "--stacks", pc_store_stacks)) return True;
  if (VG_STR_CLO(argument, "--resume", pool)) {
    if (!pc_resume_option(pool)) VG_(fmsg_bad_option)(argument, "The tool gives this option to itself.\n");
    return True;
  }
  return False;
}

static void print_usage(void) {
  VG_(printf)("    --stream=FILE             where the records go (required)\n");
  VG_(printf)("    --pool=FILE               record every shared mapping of this file; may be repeated\n");
  VG_(printf)("    --device=FILE             record system calls on this file, a block device, and no pool\n");
  VG_(printf)("    --output=FOLDER           record how far FOLDER/stdout and FOLDER/stderr have grown\n");
  VG_(printf)(
      "    --stores=FILE             tell stores to mapped files alone (tracer/calls/store_record.h), for powercut\n");
  VG_(printf)("    --loads=no|yes            record what is read of pools as well, without call stacks [no]\n");
  VG_(printf)("    --stacks=no|yes           with --loads=yes: call stacks of all but what is read [no]\n");
}

static void print_debug_usage(void) { VG_(printf)("    (none)\n"); }

static void in_parent(ThreadId tid) {
  if (!pc_recording()) return;
  powercut_stream_note(pc_stream(), kPowercutNoteFork, "the program started a child: it was not recorded");
}

/* Neither the child nor a program that it starts is recorded, unless the child is a run. */
static void in_child(ThreadId tid) {
  if (pc_tells_stores()) return pc_stores_in_child();
  if (pc_serving()) return;
  pc_recorder_abandon();
  VG_(clo_trace_children) = False;
}

/* A crash of the program must not lose the records in the buffer. */
static void before_signal(ThreadId tid, Int number, Bool alternate_stack) {
  if (pc_tells_stores()) pc_stores_flush();
  if (pc_recording()) powercut_stream_flush(pc_stream());
}

static void kernel_reads_string(CorePart part, ThreadId tid, const HChar* what, Addr address) {
  /* The address may be a wrong pointer, or the text may have no end. */
  SizeT size = 0;
  do {
    if ((size == 0 || (address + size) % VKI_PAGE_SIZE == 0) &&
        !VG_(am_is_valid_for_client)(address + size, 1, VKI_PROT_READ)) {
      break;
    }
  } while (*(const HChar*)(address + size++) != '\0');
  pc_kernel_read(part, tid, what, address, size);
}

static void post_clo_init(void) {
  if (pc_tells_stores()) return pc_stores_begin();
  if (pc_stream_path == NULL) {
    VG_(fmsg)("powercut: --stream=FILE is missing. 'powercut record' starts this tool with all that it needs.\n");
    VG_(exit)(1);
  }
  if (pc_loads && pc_has_device()) {
    VG_(fmsg)("powercut: --loads=yes goes with --pool=FILE, also of a device's file.\n");
    VG_(exit)(1);
  }
  pc_recorder_open(pc_stream_path);
  if (pc_loads) {
    VG_(track_pre_mem_read)(pc_kernel_read);
    VG_(track_pre_mem_read_asciiz)(kernel_reads_string);
  }
  if (pc_has_device()) {
    pc_device_begin();
  } else {
    pc_pools_begin();
  }
  pc_recorder_begun();
}

static void finish(Int status) {
  if (pc_tells_stores()) pc_stores_flush();
  pc_recorder_close();
  pc_end_run();
}

static void pre_clo_init(void) {
  VG_(details_name)("powercut");
  VG_(details_version)("1");
  VG_(details_description)("a tracer of persistent memory");
  VG_(details_copyright_author)("Copyright (C) 2026 the powercut authors. GNU GPL version 2 or later.");
  VG_(details_bug_reports_to)("the powercut project");
  VG_(details_avg_translation_sizeB)(500);
  VG_(basic_tool_funcs)(post_clo_init, pc_instrument, finish);
  VG_(needs_command_line_options)(option, print_usage, print_debug_usage);
  VG_(needs_client_requests)(pc_client_request);
  VG_(needs_syscall_wrapper)(pc_pre_syscall, pc_post_syscall);
  VG_(track_post_mem_write)(pc_kernel_write);
  VG_(track_pre_thread_ll_create)(pc_thread_created);
  VG_(track_pre_thread_ll_exit)(pc_thread_exits);
  VG_(track_pre_deliver_signal)(before_signal);
  /* The core's decoder would complain of every clwb before pc_instrument sees it. */
  VG_(clo_sigill_diag) = False;
  VG_(atfork)(pc_before_fork, in_parent, in_child);
}

VG_DETERMINE_INTERFACE_VERSION(pre_clo_init)
