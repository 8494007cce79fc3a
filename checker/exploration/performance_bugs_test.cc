// Performance bugs of random traces against a slow model that looks for each event at all that came before it.
#include "checker/exploration/performance_bugs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <sstream>

#include "base/test_support.h"
#include "replayer/media/medium.h"
#include "tracer/format/writer.h"

namespace powercut {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TemporaryFolder;

constexpr uint64_t kPool = 4096;

// An event as a test writes it down. `site` is the instruction, `caller` its caller; 0 for both: no stack.
struct Step {
  EventKind kind{};
  uint8_t code = 0;
  uint32_t thread = 0;
  uint64_t addr = 0, size = 8;
  uint64_t site = 0, caller = 0;
  std::string text = {};
  uint32_t module = 0;
};

Step store(uint64_t addr, uint64_t site, uint32_t thread = 0, uint64_t size = 8) {
  return {.kind = EventKind::kStore, .thread = thread, .addr = addr, .size = size, .site = site};
}
Step nt_store(uint64_t addr, uint64_t site, uint32_t thread = 0) {
  return {.kind = EventKind::kNtStore, .thread = thread, .addr = addr, .site = site};
}
Step flush(uint64_t addr, uint64_t site, uint32_t thread = 0, FlushKind kind = FlushKind::kClwb) {
  return {.kind = EventKind::kFlush, .code = static_cast<uint8_t>(kind), .thread = thread, .addr = addr, .site = site};
}
Step fence(uint64_t site, uint32_t thread = 0, FenceKind kind = FenceKind::kSfence) {
  return {.kind = EventKind::kFence, .code = static_cast<uint8_t>(kind), .thread = thread, .site = site};
}
Step cut() { return {.kind = EventKind::kCut}; }
Step marker(std::string_view text, uint32_t thread = 0) {
  return {.kind = EventKind::kMarker, .thread = thread, .text = std::string(text)};
}

// "kind count of first-event" of each row.
std::vector<std::string> rows(const std::vector<Step>& steps, const std::string& model_name = "adr",
                              const PoolUse& use = {}) {
  TemporaryFolder folder;
  TraceError error;
  const std::string file = folder.file("run.pct");
  auto writer = TraceWriter::create(file, "{}", &error);
  writer->module({"prog", "00"});
  writer->module({"/usr/lib/x86_64-linux-gnu/libc.so.6", "01"});
  const std::vector<uint8_t> bytes(kLineSize * 4, 7);
  for (const Step& step : steps) {
    Event event;
    event.kind = step.kind;
    event.code = step.code;
    event.thread = step.thread;
    event.addr = step.addr;
    event.text = step.text;
    if (step.kind == EventKind::kStore || step.kind == EventKind::kNtStore) {
      event.size = step.size;
      event.value = std::span(bytes).first(step.size);
    }
    if (step.site != 0) event.stack = writer->stack(std::vector<Frame>{{step.module, step.site}, {0, step.caller}});
    writer->append(event);
  }
  EXPECT_FALSE(writer->finish().has_value());
  const auto reader = TraceReader::open(file, &error);
  const auto model = make_model(model_name, AtomPolicy::kAny, kPool);
  PerformanceBugs bugs(*reader, use);
  Event event;
  while (reader->next(&event)) {
    model->apply(event);
    bugs.apply(event);
  }
  model->finish();
  std::vector<std::string> out;
  for (const PerformanceBug& row : bugs.finish(*model)) {
    std::ostringstream text;
    text << row.kind << ' ' << row.count << " of " << row.of << ", first " << row.event;
    out.push_back(text.str());
  }
  return out;
}

// The slow model, which knows nothing but the list of events.
class Slow {
 public:
  explicit Slow(const std::vector<Step>& steps) : steps_(steps) {}

  std::vector<std::string> rows() const {
    struct Row {
      uint64_t count = 0, of = 0;
      size_t first = 0;
    };
    std::map<std::pair<std::string, uint64_t>, Row> all;
    std::map<uint64_t, bool> waited;  // by the site of an mfence
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      std::string kind;
      bool useless = false;
      uint64_t place = step.site << 16 | step.caller;
      if (step.kind == EventKind::kStore || step.kind == EventKind::kNtStore) {
        kind = "never-persisted";
        useless = !durable_as_a_whole(i);
        place = step.site;
      } else if (step.kind == EventKind::kFlush) {
        kind = "redundant-flush";
        useless = !needed(i);
      } else if (step.kind == EventKind::kFence && told(step)) {
        kind = "redundant-fence";
        useless = !waits(i);
        if (is(step, FenceKind::kMfence)) waited[step.site] = waited[step.site] || !useless;
      } else {
        continue;
      }
      Row& row = all[{kind, place}];
      ++row.of;
      if (useless && row.count++ == 0) row.first = i;
    }
    std::map<std::pair<std::string, size_t>, std::string> sorted;
    for (const auto& [name, row] : all) {
      const auto mfence = waited.find(name.second >> 16);
      if (row.count == 0 || (name.first == "redundant-fence" && mfence != waited.end() && !mfence->second)) continue;
      std::ostringstream text;
      text << name.first << ' ' << row.count << " of " << row.of << ", first " << row.first;
      sorted[{name.first, row.first}] = text.str();
    }
    std::vector<std::string> out;
    for (const auto& [name, text] : sorted) out.push_back(text);
    return out;
  }

 private:
  static bool is(const Step& step, FenceKind kind) {
    return step.kind == EventKind::kFence && step.code == static_cast<uint8_t>(kind);
  }
  static bool is(const Step& step, FlushKind kind) {
    return step.kind == EventKind::kFlush && step.code == static_cast<uint8_t>(kind);
  }
  static bool told(const Step& step) {
    return is(step, FenceKind::kSfence) || is(step, FenceKind::kMfence) || is(step, FenceKind::kDevice);
  }
  bool any(size_t from, size_t to, const std::function<bool(size_t)>& fits) const {
    for (size_t i = from; i < to; ++i) {
      if (fits(i)) return true;
    }
    return false;
  }
  bool fence_between(size_t from, size_t to, uint32_t thread) const {
    return any(from, to, [&](size_t i) {
      return steps_[i].kind == EventKind::kFence && steps_[i].thread == thread && !is(steps_[i], FenceKind::kDevice);
    });
  }
  // Whether the bytes that store `s` wrote at `at` are durable just before `end`.
  bool durable(size_t s, uint64_t at, size_t end) const {
    const bool streams = steps_[s].kind == EventKind::kNtStore;
    if (streams && fence_between(s, end, steps_[s].thread)) return true;
    return any(s + 1, end, [&](size_t i) {
      const Step& step = steps_[i];
      if (step.kind == EventKind::kCut || is(step, FenceKind::kDevice)) return true;
      if (is(step, FlushKind::kForce)) return step.addr / 8 == at / 8;
      if (streams || step.kind != EventKind::kFlush || step.addr / kLineSize != at / kLineSize) return false;
      return is(step, FlushKind::kClflush) || fence_between(i, end, step.thread);
    });
  }
  bool durable_as_a_whole(size_t s) const {
    return !any(steps_[s].addr, steps_[s].addr + steps_[s].size,
                [&](size_t at) { return !durable(s, at, steps_.size()); });
  }
  // Whether flush `f` has a store to make durable that its thread has not flushed already.
  bool needed(size_t f) const {
    const Step& wanted = steps_[f];
    const uint64_t unit = is(wanted, FlushKind::kForce) ? 8 : kLineSize;
    return any(0, f, [&](size_t s) {
      if (steps_[s].kind != EventKind::kStore) return false;
      return any(steps_[s].addr, steps_[s].addr + steps_[s].size, [&](size_t at) {
        if (at / unit != wanted.addr / unit || durable(s, at, f)) return false;
        return !any(s + 1, f, [&](size_t i) {
          return steps_[i].kind == EventKind::kFlush && steps_[i].thread == wanted.thread && unit == kLineSize &&
                 steps_[i].addr / kLineSize == at / kLineSize;
        });
      });
    });
  }
  bool waits(size_t f) const {
    if (is(steps_[f], FenceKind::kDevice)) {
      return any(0, f, [&](size_t s) {
        if (steps_[s].kind != EventKind::kStore) return false;
        return any(steps_[s].addr, steps_[s].addr + steps_[s].size, [&](size_t at) { return !durable(s, at, f); });
      });
    }
    for (size_t i = f; i-- > 0;) {
      const Step& step = steps_[i];
      if (step.kind == EventKind::kCut) return false;
      if (step.thread != steps_[f].thread) continue;
      if (step.kind == EventKind::kFence) return false;
      if (step.kind == EventKind::kNtStore || (step.kind == EventKind::kFlush && needed(i))) return true;
    }
    return false;
  }

  const std::vector<Step>& steps_;
};

TEST(PerformanceBugs, AreThoseOfTheSlowModelInMemory) {
  std::mt19937 random(2026);
  const auto one_of = [&](uint32_t most) { return static_cast<uint32_t>(random() % most); };
  for (int trace = 0; trace < 250; ++trace) {
    std::vector<Step> steps;
    for (uint32_t i = 10 + one_of(50); i > 0; --i) {
      const uint32_t thread = one_of(2), what = one_of(16);
      const uint64_t line = one_of(3) * kLineSize;
      if (what < 5) {
        // Now and then over the end of a line.
        steps.push_back(store(line + one_of(8) * 8, 0x10 + one_of(3), thread, one_of(4) == 0 ? 16 : 8));
      } else if (what == 5) {
        // Lines of its own: what two threads stream to one place is ordered by more than their fences.
        steps.push_back(nt_store(1024 + thread * kLineSize + one_of(2) * 8, 0x18, thread));
      } else if (what < 10) {
        steps.push_back(flush(line, 0x20 + one_of(2), thread, one_of(8) == 0 ? FlushKind::kClflush : FlushKind::kClwb));
      } else if (what < 13) {
        steps.push_back(fence(0x30 + one_of(2), thread));
      } else if (what == 13) {
        steps.push_back(fence(0x38 + one_of(3), thread, FenceKind::kMfence));
      } else if (what == 14) {
        steps.push_back(fence(0x3f, thread, one_of(2) == 0 ? FenceKind::kRmw : FenceKind::kLock));
      } else if (one_of(3) == 0) {
        steps.push_back(cut());
      }
      if (!steps.empty() && steps.back().site != 0) steps.back().caller = 0x90 + one_of(2);
    }
    ASSERT_EQ(rows(steps), Slow(steps).rows()) << "trace " << trace;
  }
}

TEST(PerformanceBugs, AreThoseOfTheSlowModelOnADevice) {
  std::mt19937 random(2027);
  const auto one_of = [&](uint32_t most) { return static_cast<uint32_t>(random() % most); };
  for (int trace = 0; trace < 120; ++trace) {
    std::vector<Step> steps;
    for (uint32_t i = 5 + one_of(30); i > 0; --i) {
      const uint32_t what = one_of(8);
      // Two sectors of one atomic write unit, and one sector of another unit.
      const uint64_t word = one_of(3) == 0 ? 2 * kLineSize : kLineSize + one_of(2) * 8;
      if (what < 4) {
        steps.push_back(store(word, 0x10 + one_of(2)));
      } else if (what < 6) {
        steps.push_back(flush(word, 0x20, 0, FlushKind::kForce));
      } else {
        steps.push_back(fence(0x30 + one_of(2), one_of(2), FenceKind::kDevice));
      }
    }
    ASSERT_EQ(rows(steps, "block"), Slow(steps).rows()) << "trace " << trace;
  }
}

TEST(PerformanceBugs, FlushOfAnotherThreadDoesNotMakeOneRedundant) {
  // Each thread fences for itself.
  EXPECT_THAT(rows({store(0, 0x10), flush(0, 0x20, 1), flush(0, 0x21, 0), fence(0x30, 0), fence(0x31, 1)}), IsEmpty());
  // After the other one's fence there is nothing left to do.
  EXPECT_THAT(rows({store(0, 0x10), flush(0, 0x20, 1), fence(0x31, 1), flush(0, 0x21, 0), fence(0x30, 0)}),
              ElementsAre("redundant-fence 1 of 1, first 4", "redundant-flush 1 of 1, first 3"));
}

TEST(PerformanceBugs, AfterAPowerCutEveryLineIsClean) {
  EXPECT_THAT(rows({store(0, 0x10), cut(), flush(0, 0x20), fence(0x30)}),
              ElementsAre("redundant-fence 1 of 1, first 3", "redundant-flush 1 of 1, first 2"));
}

TEST(PerformanceBugs, StoresOfTheCLibraryAreThoseOfOneCall) {
  std::vector<Step> steps = {store(0, 0x30), flush(0, 0x20), fence(0x21), store(0, 0x30), store(64, 0x30)};
  for (Step& step : steps) step.module = step.kind == EventKind::kStore ? 1 : 0;
  steps[0].caller = steps[3].caller = 0x90;
  steps[4].caller = 0x98;
  EXPECT_THAT(rows(steps), ElementsAre("never-persisted 1 of 2, first 3", "never-persisted 1 of 1, first 4"));
}

TEST(PerformanceBugs, FenceThatOrdersWhatThreadsSeeIsNotTold) {
  const auto mfence = [](uint64_t site) { return fence(site, 0, FenceKind::kMfence); };
  EXPECT_THAT(rows({mfence(0x30), mfence(0x30)}), IsEmpty());
  // An mfence that has made a store durable is there for the store.
  EXPECT_THAT(rows({mfence(0x30), store(0, 0x10), flush(0, 0x20), mfence(0x30)}),
              ElementsAre("redundant-fence 1 of 2, first 0"));
}

TEST(PerformanceBugs, WhatTheKernelDoesForTheSizeOfAFileIsNotTold) {
  // One sync after the file has grown, and one sync after nothing.
  EXPECT_THAT(rows({marker(kSizeMarker), fence(0x30), fence(0x30)}), ElementsAre("redundant-fence 1 of 2, first 2"));
  EXPECT_THAT(rows({marker(kSizeMarker), flush(0, 0x20), fence(0x30, 1)}),
              ElementsAre("redundant-fence 1 of 1, first 2"));
}

TEST(PerformanceBugs, SizeOfADeviceIsSynced) {
  const PoolUse use = {.volatile_parts = {}, .size_word = 0};
  const auto force = [](uint64_t at) { return flush(at, 0x20, 0, FlushKind::kForce); };
  const auto sync = fence(0x30, 0, FenceKind::kDevice);
  EXPECT_THAT(rows({store(0, 0x10), force(0), sync, sync}, "block", use),
              ElementsAre("redundant-fence 1 of 2, first 3"));
  // A write that is durable when it returns is no reason for a sync.
  EXPECT_THAT(rows({store(64, 0x10), force(64), sync}, "block", use), ElementsAre("redundant-fence 1 of 1, first 2"));
}

TEST(PerformanceBugs, VolatilePartsOfAPoolAreLeftOut) {
  const PoolUse use = {.volatile_parts = {{64, 128}, {200, 208}}, .size_word = {}};
  EXPECT_THAT(rows({store(64, 0x10), store(200, 0x11)}, "adr", use), IsEmpty());
  // A store beside the volatile part in the same line, and a store over its end.
  EXPECT_THAT(rows({store(192, 0x10), store(120, 0x11, 0, 16)}, "adr", use),
              ElementsAre("never-persisted 1 of 1, first 0", "never-persisted 1 of 1, first 1"));
  // A flush that would do nothing elsewhere, and its fence.
  EXPECT_THAT(rows({flush(64, 0x20), fence(0x30)}, "adr", use), IsEmpty());
}

TEST(PerformanceBugs, ContentsBeforeTheRunHaveNoPlace) {
  EXPECT_THAT(rows({{.kind = EventKind::kStore, .addr = 0}, store(64, 0x10)}),
              ElementsAre("never-persisted 1 of 1, first 1"));
}

TEST(PerformanceBugs, StoresOfASiteThatStayedPendingAreCountedAmongAll) {
  EXPECT_THAT(rows({store(0, 0x10), flush(0, 0x20), fence(0x30), store(64, 0x10), store(0, 0x10)}),
              ElementsAre("never-persisted 2 of 3, first 3"));
}

}  // namespace
}  // namespace powercut
