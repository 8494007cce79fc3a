// Draws a Dash table: the directory, then each segment with its header, its buckets and its stash.
#include "targets/common/drawing.h"
#include "targets/dash/draw_bucket.h"
#include "targets/dash/table.h"

namespace powercut::dash {

namespace {

constexpr uint64_t kEntriesInRow = 8;
constexpr const char* kStates[] = {"normal", "splitting", "new", "filled"};

}  // namespace

void Table::Draw(Drawing* to) {
  using Number = unsigned long long;
  const auto name = [&](uint64_t offset) {
    uint64_t number = 0;
    while (number < segments_.size() && segments_.offset(number) != offset) ++number;
    return static_cast<Number>(number);
  };
  to->Group("directory");
  to->Word("depth", &root()->directory, sizeof root()->directory, "%u", global_depth());
  for (uint64_t entry = 0; entry < uint64_t{1} << global_depth() && to->Wants(); ++entry) {
    char label[16];
    std::snprintf(label, sizeof label, "%llu", static_cast<Number>(entry));
    to->Bucket(entry / kEntriesInRow);
    to->Word(label, &entries()[entry], sizeof entries()[entry], "segment %llu", name(entries()[entry]));
  }

  for (uint64_t i = 0; i < segments_.size() && to->Wants(); ++i) {
    Segment* segment = SegmentAt(segments_.offset(i));
    to->Group("segment %llu", static_cast<Number>(i));
    to->Word("depth", &segment->identity, sizeof segment->identity, "%u", segment->Which().depth);
    to->Word("state", &segment->state, sizeof segment->state, "%s", kStates[segment->state & 3]);
    to->Word("version", &segment->version, sizeof segment->version, "%llu", static_cast<Number>(segment->version));
    to->Pointer("link", &segment->link);
    const bool counts = Counts(segment);
    for (uint32_t b = 0; b < all_buckets() && to->Wants(); ++b) {
      if (b == options_.buckets) to->Group("segment %llu, stash", static_cast<Number>(i));
      const uint32_t number = b < options_.buckets ? b : b - options_.buckets;
      DrawBucket(to, segment->bucket(b), number, options_.slots, counts, [&](const Record& r) { return ViewOf(r); });
    }
  }
}

}  // namespace powercut::dash

POWERCUT_DRAWS(powercut::dash::Table)
