// Draws a PFHT table: its buckets, then the chains of its stash.
#include <string>

#include "targets/common/drawing.h"
#include "targets/pfht/table.h"

namespace powercut::pfht {

void Table::Draw(Drawing* to) const {
  to->Group("root");
  to->Pointer("undo log", &root()->log_slot);
  DrawBody(body_, "", to);
  for (int i = 0; i < older_.count; ++i) DrawBody(older_.table[i], "older " + std::to_string(i + 1) + ": ", to);
}

void Table::DrawBody(const Body& body, const std::string& age, Drawing* to) const {
  const uint32_t key_size = options_.key_size;
  to->Group("%sbuckets", age.c_str());
  for (uint64_t b = 0; b < body.shape.buckets() && to->Wants(); ++b) {
    uint8_t* bucket = Bucket(body, b);
    const uint32_t tokens = Tokens(bucket);
    to->Bucket(b);
    to->Tokens("tokens", bucket_.TokensAt(bucket), bucket_.header_size(), tokens, bucket_.slots());
    for (uint32_t s = 0; s < bucket_.slots(); ++s) {
      const uint8_t* slot = bucket_.Slot(bucket, s);
      if ((tokens >> s & 1) != 0) {
        to->Item(s, slot, slot + key_size, slot, bucket_.item_size());
      } else {
        to->Empty(s, slot, bucket_.item_size());
      }
    }
  }
  to->Group("%sstash", age.c_str());
  for (uint64_t chain = 0; chain < body.shape.chains && to->Wants(); ++chain) {
    to->Bucket(chain);
    const uint64_t* head = Head(body, chain);
    to->Pointer("chain", head);
    uint32_t slot = 0;
    ForEachInChain(body, chain, [&](const Place& place) {
      to->Item(slot++, place.item, place.item + key_size, NodeAt(*place.link), sizeof(StashNode));
      return !to->Wants();
    });
  }
}

}  // namespace powercut::pfht

POWERCUT_DRAWS(powercut::pfht::Table)
