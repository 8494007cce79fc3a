// Draws a Dash-LH table: N, Next and the directory, then each segment with its header, buckets, stash and chain.
#include "targets/common/drawing.h"
#include "targets/dash/draw_bucket.h"
#include "targets/dash_lh/table.h"

namespace powercut::dash_lh {

namespace {

constexpr const char* kStates[] = {"absent", "normal", "splitting", "new", "filled"};

}  // namespace

void Table::Draw(Drawing* to) {
  using Number = unsigned long long;
  const auto draw = [&](const Bucket* bucket, uint32_t number, bool counts) {
    dash::DrawBucket(to, bucket, number, options_.slots, counts, [&](const Record& r) { return ViewOf(r); });
  };
  to->Group("directory");
  to->Word("round", &root()->round, sizeof root()->round, "N %u, Next %u", round().level, round().next);
  for (uint32_t array = 0; array < kArrays && to->Wants(); ++array) {
    if (root()->array[array] == 0) continue;
    char label[16];
    std::snprintf(label, sizeof label, "%u", array);
    to->Pointer(label, &root()->array[array]);
  }
  for (uint64_t i = 0; i < segment_count() && to->Wants(); ++i) {
    Segment* segment = SegmentOf(i);
    to->Group("segment %llu", static_cast<Number>(i));
    to->Word("state", &segment->state, sizeof segment->state, "%s",
             segment->state <= kFilled ? kStates[segment->state] : "unknown");
    if (segment->state == kAbsent) continue;
    to->Word("version", &segment->version, sizeof segment->version, "%llu", static_cast<Number>(segment->version));
    const bool counts = Counts(segment);
    if (counts) to->Pointer("chain", &segment->chain);
    for (uint32_t b = 0; b < all_buckets() && to->Wants(); ++b) {
      if (b == options_.buckets) to->Group("segment %llu, stash", static_cast<Number>(i));
      draw(segment->bucket(b), b < options_.buckets ? b : b - options_.buckets, counts);
    }
    if (!counts || segment->chain == 0) continue;
    to->Group("segment %llu, chain", static_cast<Number>(i));
    uint32_t number = 0;
    ForEachInChain(segment, [&](Bucket* bucket) {
      draw(bucket, number++, true);
      to->Pointer("next", &bucket->next);
      return !to->Wants();
    });
  }
}

}  // namespace powercut::dash_lh

POWERCUT_DRAWS(powercut::dash_lh::Table)
