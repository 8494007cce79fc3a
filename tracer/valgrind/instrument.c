/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds calls of the recorder to translated code.
 *
 * VEX does not know clwb and clflushopt: translation stops before such a flush with Ijk_NoDecode, which would raise
 * SIGILL. The block then ends here in a call of the recorder and goes on behind the instruction. Code is therefore
 * never changed or searched. The tool decodes exactly the instructions that the program's control gets to, whether the
 * code comes from a file or was generated. A program that reads its own code sees the bytes that it wrote.
 *
 * clflush ends a block as well. VEX masks its address to 256 bytes and leaves the block by a jump that throws
 * clflush ends a block as well. VEX masks its address to 256 bytes and leaves the block by a jump that throws
 * translations away. No x86 program needs such a jump for a flush. One call of the recorder replaces the mask and the
 * jump.
 * decoded from the program's bytes, which lie where VEX has just read them. */
#include "tracer/valgrind/instrument.h"

#include <stddef.h>

#include "libvex_guest_amd64.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_machine.h"
#include "pub_tool_vki.h"
#include "tracer/stream/instruction.h"
#include "tracer/valgrind/cpuid.h"
#include "tracer/valgrind/recorder.h"
#include "tracer/valgrind/runs.h"

/* The program is about to get SIGILL, which may be its intention (ud2). */
static void pc_unknown(Addr at) {
  const UChar* bytes = (const UChar*)at;
  const Bool trap = bytes[0] == 0x0F && (bytes[1] == 0x0B || bytes[1] == 0xB9 || bytes[1] == 0xFF);
  HChar text[160];
  if (trap || !pc_recording()) return;
  VG_(sprintf)(text,
               "Valgrind does not know the instruction at 0x%lx (%02x %02x %02x %02x): build the program "
               "without AVX-512 and direct stores",
               at, bytes[0], bytes[1], bytes[2], bytes[3]);
  VG_(umsg)("powercut: %s.\n", text);
  powercut_stream_note(pc_stream(), kPowercutNoteOther, text);
}

typedef struct {
  IRSB* out;
  Addr at;       /* address of the instruction */
  Addr next;     /* address behind the instruction; 0 before the first one */
  UInt kind;     /* powercut_instruction_kind */
  Bool pieces;   /* the instruction stores more than once: the lanes of vmaskmov and its kin */
  IRExpr* round; /* of a string instruction: how many rounds are left, this round included */
} Block;

static IRExpr* number(ULong value) { return IRExpr_Const(IRConst_U64(value)); }

static IRExpr* assign(Block* block, IRType type, IRExpr* value) {
  const IRTemp temp = newIRTemp(block->out->tyenv, type);
  addStmtToIRSB(block->out, IRStmt_WrTmp(temp, value));
  return IRExpr_RdTmp(temp);
}

static IRExpr* binop(Block* block, IRType type, IROp op, IRExpr* left, IRExpr* right) {
  return assign(block, type, IRExpr_Binop(op, left, right));
}

/* Returns the conjunction of two values of type I1. A null is true. */
static IRExpr* both(Block* block, IRExpr* left, IRExpr* right) {
  if (left == NULL || right == NULL) return left == NULL ? right : left;
  IRExpr* wide = binop(block, Ity_I64, Iop_And64, assign(block, Ity_I64, IRExpr_Unop(Iop_1Uto64, left)),
                       assign(block, Ity_I64, IRExpr_Unop(Iop_1Uto64, right)));
  return assign(block, Ity_I1, IRExpr_Unop(Iop_64to1, wide));
}

static IRExpr* tool_word(Block* block, const ULong* word) {
  return assign(block, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, number((Addr)word)));
}

/* Returns an I1: an access at `address` may touch a pool. */
static IRExpr* in_window(Block* block, IRExpr* address) {
  IRExpr* offset = binop(block, Ity_I64, Iop_Sub64, address, tool_word(block, &pc_window.low));
  return binop(block, Ity_I1, Iop_CmpLT64U, offset, tool_word(block, &pc_window.span));
}

static IRDirty* call(Block* block, const HChar* name, void* function, IRExpr** arguments, IRExpr* guard) {
  IRDirty* dirty = unsafeIRDirty_0_N(0, name, VG_(fnptr_to_fnentry)(function), arguments);
  if (guard != NULL) dirty->guard = guard;
  addStmtToIRSB(block->out, IRStmt_Dirty(dirty));
  return dirty;
}

/* The helpers walk the stack, so they need the program counter of this instruction. VEX keeps the counter at memory
 * accesses; elsewhere VEX may have left it out. */
static void put_program_counter(Block* block) {
  addStmtToIRSB(block->out, IRStmt_Put(offsetof(VexGuestAMD64State, guest_RIP), number(block->at)));
}

/* Returns the flags of a round; kLastPiece in the last round makes the next instruction's first round a store of its
 * own. */
static IRExpr* string_flags(Block* block) {
  IRExpr* last = binop(block, Ity_I1, Iop_CmpEQ64, block->round, number(1));
  IRExpr* bit = binop(block, Ity_I64, Iop_Shl64, assign(block, Ity_I64, IRExpr_Unop(Iop_1Uto64, last)),
                      IRExpr_Const(IRConst_U8(15)));
  return binop(block, Ity_I64, Iop_Or64, bit,
               number(kPowercutStoreString | kPowercutStoreContinues | kPowercutStoreRound));
}

static void after_store(Block* block, IRExpr* address, ULong size, IRExpr* guard) {
  const ULong flags =
      (block->kind == kPowercutInsnNtStore ? kPowercutStoreNt : 0) | (block->pieces ? kPowercutStoreContinues : 0);
  IRExpr* all = block->kind == kPowercutInsnStringStore ? string_flags(block) : number(flags);
  /* The window is made for accesses of up to 64 bytes; only accesses by helpers are longer. */
  IRExpr* test = size <= 64 ? both(block, guard, in_window(block, address)) : guard;
  call(block, "pc_store", pc_store, mkIRExprVec_3(address, number(size), all), test);
}

static void before_load(Block* block, IRExpr* address, ULong size, IRExpr* guard) {
  if (!pc_loads) return;
  IRExpr* test = size <= 64 ? both(block, guard, in_window(block, address)) : guard;
  call(block, "pc_load", pc_load, mkIRExprVec_2(address, number(size)), test);
}

static IRExpr* widened(Block* block, IRType type, IRExpr* value) {
  switch (type) {
    case Ity_I8:
      return assign(block, Ity_I64, IRExpr_Unop(Iop_8Uto64, value));
    case Ity_I16:
      return assign(block, Ity_I64, IRExpr_Unop(Iop_16Uto64, value));
    case Ity_I32:
      return assign(block, Ity_I64, IRExpr_Unop(Iop_32Uto64, value));
    default:
      return value;
  }
}

/* Returns an I1: the compare-and-swap found the value that it expected. */
static IRExpr* succeeded(Block* block, IRType type, IRTemp old, IRExpr* expected) {
  return binop(block, Ity_I1, Iop_CmpEQ64, widened(block, type, IRExpr_RdTmp(old)), widened(block, type, expected));
}

static void add_cas(Block* block, IRStmt* statement) {
  const IRCAS* cas = statement->Ist.CAS.details;
  const IRType type = typeOfIRExpr(block->out->tyenv, cas->expdLo);
  const Bool pair = cas->oldHi != IRTemp_INVALID;
  const ULong size = (ULong)sizeofIRType(type) * (pair ? 2 : 1);
  before_load(block, cas->addr, size, NULL);
  addStmtToIRSB(block->out, statement);
  IRExpr* stored = succeeded(block, type, cas->oldLo, cas->expdLo);
  if (pair) stored = both(block, stored, succeeded(block, type, cas->oldHi, cas->expdHi));
  IRExpr* inside = assign(block, Ity_I64, IRExpr_Unop(Iop_1Uto64, in_window(block, cas->addr)));
  IRExpr* either = binop(block, Ity_I64, Iop_Or64, inside, tool_word(block, &pc_unfenced));
  IRExpr* guard = binop(block, Ity_I1, Iop_CmpNE64, either, number(0));
  call(block, "pc_rmw", pc_rmw,
       mkIRExprVec_3(cas->addr, number(size), assign(block, Ity_I64, IRExpr_Unop(Iop_1Uto64, stored))), guard);
}

static void add_dirty(Block* block, IRStmt* statement) {
  const IRDirty* dirty = statement->Ist.Dirty.details;
  const Bool reads = dirty->mFx == Ifx_Read || dirty->mFx == Ifx_Modify;
  const Bool writes = dirty->mFx == Ifx_Write || dirty->mFx == Ifx_Modify;
  if (reads) before_load(block, dirty->mAddr, (ULong)dirty->mSize, dirty->guard);
  if (pc_is_cpuid(dirty)) {
    pc_add_cpuid(block->out, statement);
  } else {
    addStmtToIRSB(block->out, statement);
  }
  if (writes) after_store(block, dirty->mAddr, (ULong)dirty->mSize, dirty->guard);
}

static void add_fence(Block* block, IRStmt* statement) {
  addStmtToIRSB(block->out, statement);
  const ULong kind = block->kind == kPowercutInsnSfence   ? kPowercutSfence
                     : block->kind == kPowercutInsnMfence ? kPowercutMfence
                                                          : 0;
  if (kind == 0) return; /* lfence orders loads only */
  put_program_counter(block);
  call(block, "pc_fence", pc_fence, mkIRExprVec_1(number(kind)), NULL);
}

/* Returns whether the instruction whose mark is the statement number `mark` stores more than once. */
static Bool has_pieces(const IRSB* in, Int mark) {
  UInt stores = 0;
  for (Int i = mark + 1; i < in->stmts_used && in->stmts[i]->tag != Ist_IMark; ++i) {
    stores += in->stmts[i]->tag == Ist_Store || in->stmts[i]->tag == Ist_StoreG;
  }
  return stores > 1;
}

static IRExpr* guest_register(Block* block, Int offset) { return assign(block, Ity_I64, IRExpr_Get(offset, Ity_I64)); }

/* Tells the recorder all that it has to know before the instruction's stores. */
static void begin_instruction(Block* block, const IRSB* in, Int mark) {
  block->pieces = has_pieces(in, mark);
  if (block->pieces) call(block, "pc_pieces", pc_pieces, mkIRExprVec_0(), NULL);
  if (block->kind == kPowercutInsnStringStore) {
    block->round = guest_register(block, offsetof(VexGuestAMD64State, guest_RCX));
  }
}

static void add_statement(Block* block, const IRSB* in, Int number_of) {
  IRSB* out = block->out;
  IRStmt* statement = in->stmts[number_of];
  switch (statement->tag) {
    case Ist_IMark:
      block->at = statement->Ist.IMark.addr;
      block->kind = statement->Ist.IMark.len == 0
                        ? kPowercutInsnOther
                        : powercut_decode((const UChar*)block->at, statement->Ist.IMark.len).kind;
      addStmtToIRSB(out, statement);
      /* If VEX has followed a jump, it leaves the program counter at the jump. */
      if (block->next != 0 && block->next != block->at) put_program_counter(block);
      block->next = block->at + statement->Ist.IMark.len;
      begin_instruction(block, in, number_of);
      break;
    case Ist_WrTmp: {
      const IRExpr* value = statement->Ist.WrTmp.data;
      if (value->tag == Iex_Load)
        before_load(block, value->Iex.Load.addr, (ULong)sizeofIRType(value->Iex.Load.ty), NULL);
      addStmtToIRSB(out, statement);
      break;
    }
    case Ist_LoadG: {
      IRLoadG* load = statement->Ist.LoadG.details;
      IRType loaded, widened_to;
      typeOfIRLoadGOp(load->cvt, &widened_to, &loaded);
      before_load(block, load->addr, (ULong)sizeofIRType(loaded), load->guard);
      addStmtToIRSB(out, statement);
      break;
    }
    case Ist_Store: {
      IRExpr* data = statement->Ist.Store.data;
      addStmtToIRSB(out, statement);
      after_store(block, statement->Ist.Store.addr, (ULong)sizeofIRType(typeOfIRExpr(out->tyenv, data)), NULL);
      break;
    }
    case Ist_StoreG: {
      IRStoreG* store = statement->Ist.StoreG.details;
      addStmtToIRSB(out, statement);
      after_store(block, store->addr, (ULong)sizeofIRType(typeOfIRExpr(out->tyenv, store->data)), store->guard);
      break;
    }
    case Ist_CAS:
      add_cas(block, statement);
      break;
    case Ist_Dirty:
      add_dirty(block, statement);
      break;
    case Ist_MBE:
      add_fence(block, statement);
      break;
    default:
      addStmtToIRSB(out, statement);
      break;
  }
}

static IRExpr* general_register(Block* block, UInt which) {
  return guest_register(block, (Int)(offsetof(VexGuestAMD64State, guest_RAX) + 8 * which));
}

/* Returns the address of a flush. The block ends with the flush, so that the guest state holds every register. */
static IRExpr* effective_address(Block* block, const powercut_instruction* flush) {
  const Long displacement = flush->displacement;
  IRExpr* sum = flush->base == kPowercutRip ? number(block->at + flush->length + (ULong)displacement)
                                            : number((ULong)displacement);
  if (flush->base < kPowercutNoRegister) {
    sum = binop(block, Ity_I64, Iop_Add64, general_register(block, flush->base), sum);
  }
  if (flush->index < kPowercutNoRegister) {
    IRExpr* index = general_register(block, flush->index);
    if (flush->shift != 0) index = binop(block, Ity_I64, Iop_Shl64, index, IRExpr_Const(IRConst_U8(flush->shift)));
    sum = binop(block, Ity_I64, Iop_Add64, sum, index);
  }
  if (flush->narrow) sum = binop(block, Ity_I64, Iop_And64, sum, number(0xFFFFFFFF));
  if (flush->segment != kPowercutSegmentNone) {
    const Int base = flush->segment == kPowercutSegmentFs ? offsetof(VexGuestAMD64State, guest_FS_CONST)
                                                          : offsetof(VexGuestAMD64State, guest_GS_CONST);
    sum = binop(block, Ity_I64, Iop_Add64, sum, guest_register(block, base));
  }
  return sum;
}

/* Returns how many bytes of an instruction at `at` can be read. */
static UInt readable(Addr at) {
  const UInt to_page = (UInt)(VKI_PAGE_SIZE - at % VKI_PAGE_SIZE);
  if (to_page >= kPowercutLongestInstruction) return kPowercutLongestInstruction;
  return VG_(am_is_valid_for_client)(at + to_page, 1, VKI_PROT_READ) ? kPowercutLongestInstruction : to_page;
}

/* Returns whether the code at `at` differs from the given bytes. */
static ULong pc_changed(Addr at, ULong length, ULong low, ULong high) {
  const ULong before[2] = {low, high};
  return VG_(memcmp)((const void*)at, before, length) != 0;
}

/* Valgrind notices that generated code has changed by looking at the bytes that VEX has decoded. The bytes of the flush
 * are not among them. If the code may change, its bytes are compared here, and the translation is given up if they
 * differ. */
static void leave_if_changed(Block* block, Addr at, ULong length) {
  const NSegment* segment = VG_(am_find_nsegment)(at);
  if (segment != NULL && segment->kind == SkFileC && !segment->hasW) return;
  ULong bytes[2] = {0, 0};
  VG_(memcpy)(bytes, (const void*)at, length);
  const IRTemp changed = newIRTemp(block->out->tyenv, Ity_I64);
  IRExpr** arguments = mkIRExprVec_4(number(at), number(length), number(bytes[0]), number(bytes[1]));
  IRDirty* dirty = unsafeIRDirty_1_N(changed, 0, "pc_changed", VG_(fnptr_to_fnentry)(pc_changed), arguments);
  addStmtToIRSB(block->out, IRStmt_Dirty(dirty));
  addStmtToIRSB(block->out, IRStmt_Put(offsetof(VexGuestAMD64State, guest_CMSTART), number(at - 1)));
  addStmtToIRSB(block->out, IRStmt_Put(offsetof(VexGuestAMD64State, guest_CMLEN), number(length + 1)));
  addStmtToIRSB(block->out, IRStmt_Exit(binop(block, Ity_I1, Iop_CmpNE64, IRExpr_RdTmp(changed), number(0)),
                                        Ijk_InvalICache, IRConst_U64(at), offsetof(VexGuestAMD64State, guest_RIP)));
}

/* Ends the block with the flush at `at`, if there is one. */
static void end_with_flush(Block* block, Addr at) {
  if (!VG_(am_is_valid_for_client)(at, 1, VKI_PROT_READ)) return;
  const powercut_instruction flush = powercut_decode((const UChar*)at, readable(at));
  block->at = at;
  if (flush.length == 0) {
    if (block->out->jumpkind == Ijk_NoDecode) call(block, "pc_unknown", pc_unknown, mkIRExprVec_1(number(at)), NULL);
    return;
  }
  leave_if_changed(block, at, flush.length);
  IRExpr* address = effective_address(block, &flush);
  put_program_counter(block);
  call(block, "pc_flush", pc_flush, mkIRExprVec_2(address, number(flush.kind)), in_window(block, address));
  block->out->next = number(at + flush.length);
  block->out->jumpkind = Ijk_Boring;
}

IRSB* pc_instrument(VgCallbackClosure* closure, IRSB* in, const VexGuestLayout* layout, const VexGuestExtents* extents,
                    const VexArchInfo* arch, IRType guest_word, IRType host_word) {
  tl_assert(guest_word == Ity_I64 && host_word == Ity_I64);
  pc_translated(closure->nraddr);
  Block block = {deepCopyIRSBExceptStmts(in), 0, 0, kPowercutInsnOther, False, NULL};
  for (Int i = 0; i < in->stmts_used; ++i) {
    if (in->stmts[i]->tag != Ist_NoOp) add_statement(&block, in, i);
  }
  if (in->jumpkind == Ijk_NoDecode && in->next->tag == Iex_Const) {
    end_with_flush(&block, in->next->Iex.Const.con->Ico.U64);
  } else if (in->jumpkind == Ijk_InvalICache) {
    end_with_flush(&block, block.at);
  }
  return block.out;
}
