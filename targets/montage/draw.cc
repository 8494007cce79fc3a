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
    const bool counts = Find(BucketOf(payload.key), payload.key) == block;
    if (counts && payload.kind == Kind::kItem) {
      to->Item(0, payload.key, payload.value, &payload, sizeof payload, epoch);
    } else {
      to->Word(counts ? "erased" : "covered", &payload, sizeof payload, "%s", epoch);
    }
  }
}

}  // namespace powercut::montage

POWERCUT_DRAWS(powercut::montage::Table)
