// The structural invariants that hold after every recovery.
#include "targets/common/scheme_target.h"
#include "targets/path/table.h"

namespace powercut::path {

powercut_status Table::Verify(uint64_t region, char* message, size_t size) {
  if (region == 0) return VerifyRoot(message, size);
  const CellRange range = RangeOf(region);
  for (uint64_t index = range.begin; index < range.end; ++index) {
    uint8_t* cell = Cell(*range.tree, index);
    const uint32_t tokens = bucket_.LoadTokens(cell);
    if (tokens > 1) {
      return Broken(message, size, "cell %llu: its token is 0x%x, not 0 or 1", static_cast<unsigned long long>(index),
                    tokens);
    }
    if (tokens == 0) continue;
    if (ForEachCell(*range.tree, bucket_.Slot(cell, 0), [&](const uint8_t* one) { return one == cell; }) == nullptr) {
      return Broken(message, size, "cell %llu is on neither path of its item", static_cast<unsigned long long>(index));
    }
  }
  return POWERCUT_OK;
}

powercut_status Table::VerifyRoot(char* message, size_t size) {
  if (root()->log_slot != 0) return Broken(message, size, "the undo log is still valid after recovery");
  const auto is_lost = [&](const Tree& tree) { return !IsBlock(OffsetOf(tree.cells), BlockBytes(Bytes(tree))); };
  if (is_lost(tree_)) {
    return Broken(message, size, "the tree of 2^%u leaves lies in no block of its own", tree_.leaves_log2);
  }
  if (std::any_of(older_.begin(), older_.end(), is_lost)) {
    return Broken(message, size, "a tree that is being emptied lies in no block of its own");
  }
  return POWERCUT_OK;
}

}  // namespace powercut::path
