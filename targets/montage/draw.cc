// Draws a map: the clock, and the payloads that are not free, with the epochs that wrote them.
#include "targets/common/drawing.h"
#include "targets/montage/table.h"

namespace powercut::montage {

void Table::Draw(Drawing* to) const {
  const auto number = [](uint64_t n) { return static_cast<unsigned long long>(n); };
  to->Group("root");
  to->Word("clock", &root()->clock, sizeof root()->clock, "epoch %llu", number(root()->clock));
  to->Group("payloads");
  for (uint32_t block = 0; block < blocks_ && to->Wants(); ++block) {
    const Payload& payload = *At(block);
    if (payload.epoch == 0) continue;
    to->Bucket(block);
    char epoch[32];
    std::snprintf(epoch, sizeof epoch, "epoch %llu", number(payload.epoch));
    const Bytes key = payload.item.key();
    const bool counts = Find(BucketOf(key), key) == block;
    if (counts && payload.kind == Kind::kItem) {
      to->Item(0, key, payload.item.value(), &payload, payload.bytes(), epoch);
    } else {
      to->Word(counts ? "erased" : "covered", &payload, payload.bytes(), "%s", epoch);
    }
  }
}

}  // namespace powercut::montage

POWERCUT_DRAWS(powercut::montage::Table)
