/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/valgrind/cpuid.h"

#include <stddef.h>

#include "libvex_guest_amd64.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_machine.h"
#include "tracer/stream/instruction.h"

enum { kFeatures = 7 };

static void complete(VexGuestAMD64State* state, ULong leaf) {
  /* A processor model that ends before leaf 7 gets the leaf. */
  if ((UInt)leaf == 0 && (UInt)state->guest_RAX < kFeatures) state->guest_RAX = kFeatures;
  /* The features are shown for every subleaf: VEX does not keep RCX for the tool, and the bits mean nothing in the
   * others. */
  if ((UInt)leaf == kFeatures) state->guest_RBX = powercut_shown_features(kFeatures, 0, (UInt)state->guest_RBX);
}

Bool pc_is_cpuid(const IRDirty* dirty) {
  static const HChar kPrefix[] = "amd64g_dirtyhelper_CPUID";
  return VG_(strncmp)(dirty->cee->name, kPrefix, sizeof kPrefix - 1) == 0;
}

static void modifies(IRDirty* dirty, Int which, Int offset) {
  VG_(memset)(&dirty->fxState[which], 0, sizeof dirty->fxState[which]);
  dirty->fxState[which].fx = Ifx_Modify;
  dirty->fxState[which].offset = (UShort)offset;
  dirty->fxState[which].size = 8;
}

void pc_add_cpuid(IRSB* out, IRStmt* statement) {
  const IRTemp leaf = newIRTemp(out->tyenv, Ity_I64);
  addStmtToIRSB(out, IRStmt_WrTmp(leaf, IRExpr_Get(offsetof(VexGuestAMD64State, guest_RAX), Ity_I64)));
  addStmtToIRSB(out, statement);
  IRDirty* dirty = unsafeIRDirty_0_N(0, "powercut_cpuid", VG_(fnptr_to_fnentry)(complete),
                                     mkIRExprVec_2(IRExpr_GSPTR(), IRExpr_RdTmp(leaf)));
  dirty->nFxState = 2;
  modifies(dirty, 0, offsetof(VexGuestAMD64State, guest_RAX));
  modifies(dirty, 1, offsetof(VexGuestAMD64State, guest_RBX));
  addStmtToIRSB(out, IRStmt_Dirty(dirty));
}
