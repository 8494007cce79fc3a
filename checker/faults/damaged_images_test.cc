// Every case of every kind of damage, against the obvious way: the damaged pools are made by hand from the events of
// the trace, and each is opened and asked everything. A case must have the same effect, and none may be missing or too
// many. Then what the kinds take for one write, one page and its pair.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>

#include "base/test_support.h"
#include "checker/faults/damage/device_cells.h"
#include "checker/faults/damage/paired_page.h"
#include "checker/faults/fault_images.h"
#include "checker/oracle/queries.h"
#include "checker/trace/explore_options.h"
#include "powercut/contents.h"
#include "tracer/runtime/content_listener.h"

namespace powercut {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Image = std::string;                                        // a whole pool
using Cases = std::map<std::pair<Image, FaultEffect>, uint64_t>;  // -> how often

std::string line_in(const Image& pool, uint64_t line) { return pool.substr(line * kLineSize, kLineSize); }
Image with_line(Image pool, uint64_t line, const std::string& content) {
  return pool.replace(line * kLineSize, kLineSize, content);
}
uint64_t word_in(const std::string& line) {
  uint64_t word;
  std::memcpy(&word, line.data(), sizeof word);
  return word;
}
std::string with_word(std::string line, uint64_t word) {
  std::memcpy(line.data(), &word, sizeof word);
  return line;
}

// The device's contents, by the events alone. Units have one sector.
struct PlainDevice {
  struct Write {
    uint64_t line, request;
    std::string content;  // of the line, once it is done
    bool pending = true;
  };
  Image now, durable;
  std::vector<Write> writes;
  std::vector<Image> durable_before;  // each different from the one behind it
  uint64_t request = 0, next_line = ~uint64_t{0};
  uint32_t stack = 0;
  std::set<uint64_t> written;

  explicit PlainDevice(uint64_t size) : now(size, '\0'), durable(now), durable_before{now} {}

  void saw(const Event& event) {
    if (event.kind == EventKind::kContent || event.kind == EventKind::kMarker) return;
    if (event.kind == EventKind::kStore || event.kind == EventKind::kNtStore) {
      now.replace(event.addr, event.size, reinterpret_cast<const char*>(event.value.data()), event.size);
      const uint64_t line = event.addr / kLineSize;
      if (line != next_line || event.stack != stack) ++request;
      next_line = line + 1;
      stack = event.stack;
      written.insert(line);
      writes.push_back({line, request, line_in(now, line)});
      return;
    }
    next_line = ~uint64_t{0};
    if (!is_device_flush(event) && !is_force(event)) return;
    for (Write& write : writes) {
      if (is_force(event) && write.line != event.addr / kLineSize) continue;
      write.pending = false;
      durable = with_line(durable, write.line, line_in(now, write.line));
    }
    if (durable != durable_before.back()) durable_before.push_back(durable);
  }
  std::vector<std::string> pending_of(uint64_t line) const {
    std::vector<std::string> out;
    for (const Write& write : writes) {
      if (write.pending && write.line == line) out.push_back(write.content);
    }
    return out;
  }
  std::set<uint64_t> pending_lines() const {
    std::set<uint64_t> out;
    for (const Write& write : writes) {
      if (write.pending) out.insert(write.line);
    }
    return out;
  }
};

struct ByHand {
  const PlainDevice& device;
  const DeviceCells& cells;
  const TraceFollower& at;
  Image base;

  bool readable(uint64_t cell) const { return cells.is_readable(reinterpret_cast<const uint8_t*>(base.data()), cell); }

  std::set<Image> damaged(FaultKind kind) const {
    std::set<Image> out;
    switch (kind) {
      case FaultKind::kMedia:
        for (uint64_t cell = 0; cell < cells.count(); ++cell) {
          const uint64_t line = cells.line_of(cell);
          if (readable(cell)) out.insert(with_line(base, line, with_word(line_in(base, line), POWERCUT_NO_CONTENT)));
        }
        break;
      case FaultKind::kBitFlip:
        for (uint64_t cell = 0; cell < cells.count(); ++cell) {
          const uint64_t line = cells.line_of(cell);
          if (!device.written.contains(line) || !readable(cell)) continue;
          std::vector<uint8_t> bytes = cells.named(word_in(line_in(base, line)));
          for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
            bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
            out.insert(with_line(base, line, with_word(line_in(base, line), cells.name_of(bytes))));
            bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
          }
        }
        break;
      case FaultKind::kShorn:
        for (uint64_t line : device.pending_lines()) {
          std::vector<std::string> versions = device.pending_of(line);
          versions.insert(versions.begin(), line_in(device.durable, line));
          for (size_t i = 1; i < versions.size(); ++i) {
            for (size_t old : {size_t{0}, i - 1}) {
              for (const auto& [head, tail] : {std::pair{i, old}, std::pair{old, i}}) {
                for (size_t eighths = 1; eighths < 8; ++eighths) {
                  auto bytes = cells.named(word_in(versions[head]));
                  const auto rest = cells.named(word_in(versions[tail]));
                  for (size_t b = bytes.size() / 8 * eighths; b < bytes.size(); ++b) bytes[b] = rest[b];
                  const std::string shorn = with_word(versions[0], cells.name_of(bytes));
                  if (std::find(versions.begin(), versions.end(), shorn) == versions.end()) {
                    out.insert(with_line(base, line, shorn));
                  }
                }
              }
            }
          }
        }
        break;
      case FaultKind::kUnserialisable:
        for (uint64_t request = 1; request <= device.request; ++request) {
          std::set<uint64_t> lines;  // that show it
          for (const auto& write : device.writes) {
            if (write.request == request) {
              lines.insert(write.line);
            } else if (write.request > request) {
              lines.erase(write.line);
            }
          }
          std::set<std::set<uint64_t>> losses = {lines};
          bool durable = true;
          for (uint64_t line : lines) {
            losses.insert({line});
            durable = durable && device.pending_of(line).empty();
          }
          for (const std::set<uint64_t>& lost : losses) {
            Image pool(base.size(), '\0');
            for (const auto& write : device.writes) {
              if (write.request != request || !lost.contains(write.line)) {
                pool = with_line(pool, write.line, write.content);
              }
            }
            if (durable) out.insert(pool);
          }
        }
        break;
      case FaultKind::kStaleMapping: {
        std::vector<std::set<uint64_t>> runs;
        if (cells.is_flash()) {
          for (uint64_t block = 0; block < cells.blocks(); ++block) {
            std::set<uint64_t> all = {block};
            for (uint64_t page = 0; page < cells.unit(); ++page) {
              all.insert(cells.line_of(block * cells.unit() + page));
              runs.push_back({cells.line_of(block * cells.unit() + page)});
            }
            runs.push_back(all);
          }
        } else {
          for (uint64_t line = 0; line < base.size() / kLineSize; line += 8) {
            runs.emplace_back();
            for (uint64_t i = 0; i < 8; ++i) runs.back().insert(line + i);
          }
        }
        for (const auto& run : runs) {
          const auto moved = [&](const Image& to, const Image& from) {
            Image pool = to;
            for (uint64_t line : run) pool = with_line(pool, line, line_in(from, line));
            return pool;
          };
          Image behind = device.durable;
          size_t left = 8;
          for (size_t i = device.durable_before.size(); i-- > 0 && left > 0;) {
            const Image& then = device.durable_before[i];
            if (moved(behind, then) == behind) continue;  // no change of this run
            behind = then;
            if (moved(device.durable, then) == device.durable) continue;
            --left;
            out.insert(moved(base, then));
          }
        }
        break;
      }
      case FaultKind::kPairedPage: {
        const uint64_t line = *device.pending_lines().begin();
        const uint64_t page = line - cells.blocks(), first = page / 4 * 4;
        std::vector<std::string> left = device.pending_of(line);
        left.push_back(line_in(device.durable, line));
        const std::vector<std::vector<uint64_t>> pairs = {{}, {0}, {1, 0}, {2, 1}};
        for (uint64_t paired : pairs[page % 4]) {
          if (!readable(first + paired)) continue;
          const uint64_t other = cells.line_of(first + paired);
          for (const std::string& content : left) {
            out.insert(
                with_line(with_line(base, other, with_word(line_in(base, other), POWERCUT_NO_CONTENT)), line, content));
          }
        }
        break;
      }
      case FaultKind::kUnstableRead:
      case FaultKind::kStuckBits:
      case FaultKind::kAllocation:
      case FaultKind::kStale:
        ADD_FAILURE();
    }
    out.erase(base);
    return out;
  }
};

class DamagedImages : public ::testing::Test {
 protected:
  void record(const std::string& library, const std::string& name, const Json& options, const Json& sizes,
              const std::vector<Json>& steps) {
    Json plan = testing::plan_json({testing::phase_json(steps)}, options);
    plan["target"]["library"] = std::string(POWERCUT_TEST_LIBRARIES) + "/../" + library;
    plan["target"]["name"] = name;
    plan["target"]["variant"] = name == "pair" ? "published" : "hardened";
    plan["scenario"].update(sizes);
    const testing::EngineRun run = testing::record(folder_, plan);
    ASSERT_EQ(run.exit, 0) << run.output;
    auto loaded = load_trace(folder_.file("run.pct"));
    ASSERT_TRUE(loaded.ok()) << loaded.error().what;
    loaded_ = std::move(*loaded);
    size_ = loaded_->plan.scenario.pool_size;
  }
  void record_counts(const std::string& sectors) {
    record("libpowercut-unbuffered.so", "unbuffered",
           {{"page", sectors == "1" ? "512" : "1024"},
            {"sectors", sectors},
            {"entries", "2"},
            {"pages", "1"},
            {"blocks", "1"},
            {"overflow", "1"}},
           {{"pool_size", 4096}, {"key_size", 8}, {"value_size", 8}},
           {{{"op", "increment"}, {"from", 1}, {"to", 3}}, {{"op", "increment"}, {"from", 1}, {"to", 1}}});
  }
  void record_log() {
    record("regression/flash_erase_before_copy-twin.so", "pair", Json::object(),
           {{"pool_size", 4096}, {"key_size", 8}, {"value_size", 16}},
           {{{"op", "insert"}, {"from", 1}, {"to", 2}},
            {{"op", "erase"}, {"from", 1}, {"to", 1}},
            {{"op", "insert"}, {"from", 3}, {"to", 4}}});
  }

  // The effects by the way that powercut goes; `report` has the counts.
  Cases judged(FaultKind kind, FaultReport* report, const FaultOptions& options) {
    const auto points = ImageFaults::count_points(*loaded_, kind);
    auto reader = open_trace(loaded_->trace);
    ImageFaults faults(*loaded_, options, *points, std::move(*reader), report, &progress_);
    Cases cases;
    faults.hear(
        [&](std::span<const uint8_t> pool, FaultEffect effect) { ++cases[{Image(pool.begin(), pool.end()), effect}]; });
    EXPECT_FALSE(faults.run().has_value());
    return cases;
  }

  // The cases, judged by hand.
  Cases judged_by_hand(FaultKind kind) {
    Cases cases;
    Executor executor(executor_options(*loaded_, loaded_->own_model(), AtomPolicy::kAny, 0));
    auto reader = open_trace(loaded_->trace);
    TraceFollower follower(*loaded_, loaded_->own_model(), AtomPolicy::kAny, std::move(*reader), nullptr);
    Oracle oracle(loaded_->library->target(), *loaded_->config, loaded_->traits, {executor.pool_address(), size_},
                  &follower.history(), [](const Exposure&) {});
    const DeviceCells cells(loaded_->device, size_);
    PlainDevice device(size_);
    // Opens a pool and asks everything; adds the wrong queries where asked to.
    const auto effect_of = [&](const Image& pool, const std::set<QueryId>& left_out, std::set<QueryId>* wrong) {
      std::vector<LineSet> lines;
      for (uint64_t line = 0; line < size_ / kLineSize; ++line) {
        lines.push_back(definite_line(line, content_at(reinterpret_cast<const uint8_t*>(pool.data()), line)));
      }
      LineSets sets;
      for (const LineSet& set : lines) sets.push_back(&set);
      executor.memory().install(sets);
      const UndecidedMemory::Mark start = executor.memory().mark();
      ResultBuffer buffer;
      Decisions none;
      const Outcome outcome = executor.run_recovery(&none, nullptr, [&] { oracle.recover(&buffer); });
      FaultEffect worst = weigh_recovery(outcome, buffer.view()).effect;
      if (outcome.returned() && oracle.usable()) {
        const UndecidedMemory::Mark leaf = executor.memory().mark();
        for (QueryId query : all_queries(&oracle)) {
          if (left_out.contains(query)) continue;
          buffer.clear();
          Decisions nothing;
          const Outcome ended = executor.run(&nothing, [&] { oracle.run(query, &buffer); });
          if (!ended.returned()) oracle.ended(query, ended, &buffer);
          const FaultAnswer answer = weigh_query(follower.history(), loaded_->traits, query, ended, buffer.view());
          executor.memory().undo(leaf);
          if (wrong != nullptr && answer.effect != FaultEffect::kHarmless) wrong->insert(query);
          worst = std::max(worst, answer.effect);
        }
      }
      executor.memory().undo(start);
      executor.memory().uninstall();
      return worst;
    };
    const bool at_ends = kind == FaultKind::kMedia || kind == FaultKind::kBitFlip;
    while (follower.next([&](const Event& event) { device.saw(event); })) {
      if (!follower.history().formatted()) continue;
      const bool ends = !follower.instant().before && !follower.history().in_flight();
      std::vector<Image> images = {device.now};
      if (at_ends && !ends) images.clear();
      if (kind == FaultKind::kShorn && device.pending_lines().empty()) images.clear();
      if (kind == FaultKind::kShorn && device.pending_lines().size() > 1) images.push_back(device.durable);
      if (kind == FaultKind::kPairedPage) {
        const auto pending = device.pending_lines();
        if (pending.empty() || *pending.begin() < cells.blocks()) images.clear();
      }
      for (const Image& image : images) {
        std::set<QueryId> wrong;
        const FaultEffect undamaged = effect_of(image, {}, &wrong);
        if (undamaged != FaultEffect::kHarmless && wrong.empty()) continue;
        for (const Image& pool : ByHand{device, cells, follower, image}.damaged(kind)) {
          ++cases[{pool, effect_of(pool, wrong, nullptr)}];
        }
      }
    }
    return cases;
  }

  void compare(FaultKind kind, uint64_t at_least) {
    FaultOptions options;
    options.trace = loaded_->trace;
    options.kind = kind;
    FaultReport report(*loaded_, options);
    const Cases ran = judged(kind, &report, options);
    Cases rest = judged_by_hand(kind);
    uint64_t by_hand = 0, unread = 0;
    for (const auto& [image, times] : rest) by_hand += times;
    for (const auto& [image, times] : ran) {
      const auto at = rest.find(image);
      ASSERT_TRUE(at != rest.end() && at->second >= times)
          << name_of(kind) << ": " << name_of(image.second) << ", which is not what the obvious way makes of it";
      at->second -= times;
    }
    for (const auto& [image, times] : rest) {
      if (times == 0) continue;
      unread += times;
      EXPECT_EQ(image.second, FaultEffect::kHarmless) << name_of(kind) << ": a case that was not run";
    }
    EXPECT_EQ(by_hand, report.tally.cases) << name_of(kind);
    EXPECT_EQ(unread, report.tally.not_read) << name_of(kind);
    EXPECT_TRUE(report.tally.complete());
    EXPECT_GE(by_hand - unread, at_least) << name_of(kind);
  }

  testing::TemporaryFolder folder_;
  std::unique_ptr<LoadedTrace> loaded_;
  uint64_t size_ = 0;
  Progress progress_;
};

TEST_F(DamagedImages, OfABlockDeviceAreAsByHand) {
  record_counts("1");
  for (const FaultKind kind :
       {FaultKind::kMedia, FaultKind::kShorn, FaultKind::kUnserialisable, FaultKind::kStaleMapping}) {
    compare(kind, 10);
  }
}

TEST_F(DamagedImages, OfABlockDeviceWithPagesOfTwoSectorsAreAsByHand) {
  record_counts("2");
  for (const FaultKind kind : {FaultKind::kShorn, FaultKind::kUnserialisable, FaultKind::kStaleMapping}) {
    compare(kind, 10);
  }
}

TEST_F(DamagedImages, OfRawFlashAreAsByHand) {
  record_log();
  for (const FaultKind kind :
       {FaultKind::kMedia, FaultKind::kBitFlip, FaultKind::kStaleMapping, FaultKind::kPairedPage}) {
    compare(kind, 10);
  }
}

TEST(PairedPages, AreThoseOfTheChip) {
  EXPECT_THAT(paired_with(0, 8), IsEmpty());
  EXPECT_THAT(paired_with(1, 8), ElementsAre(0));
  EXPECT_THAT(paired_with(2, 8), ElementsAre(1, 0));
  EXPECT_THAT(paired_with(3, 8), ElementsAre(2));
  EXPECT_THAT(paired_with(4, 8), ElementsAre(3, 1));
  EXPECT_THAT(paired_with(6, 8), ElementsAre(5, 3));
  EXPECT_THAT(paired_with(7, 8), ElementsAre(6, 5));
  EXPECT_THAT(paired_with(1, 2), ElementsAre(0));
}

TEST(DeviceCells, AnErasedPageHoldsNothing) {
  const DeviceCells cells({.medium = POWERCUT_FLASH, .bytes = 40, .unit = 4}, 640);
  EXPECT_EQ(cells.count(), 8u);
  std::vector<uint8_t> pool(640);
  EXPECT_FALSE(cells.is_readable(pool.data(), 5));
  cells.fill_line(pool.data(), cells.line_of(5), 1);
  EXPECT_TRUE(cells.is_readable(pool.data(), 5));
  EXPECT_EQ(cells.read(pool.data(), 5).size(), 40u);
  EXPECT_EQ(cells.describe(5), "page 1 of block 1");
  EXPECT_THAT(cells.in(1, ~uint64_t{0}), IsEmpty()) << "the line of an erase block";
}

TEST(DeviceCells, ASectorOfAUnitIsAWord) {
  const DeviceCells cells({.medium = POWERCUT_BLOCK, .bytes = 512, .unit = 4}, 128);
  EXPECT_EQ(cells.count(), 8u);
  EXPECT_THAT(cells.in(1, 0xff00), ElementsAre(5));
  const std::vector<uint8_t> pool(128);
  EXPECT_TRUE(cells.is_readable(pool.data(), 5)) << "zeroes";
  EXPECT_EQ(cells.renamed(pool.data(), 5, 77).contents[0].word(1), 77u);
}

TEST(DeviceCells, ContentsMayBeForgotten) {
  const DeviceCells cells({.medium = POWERCUT_BLOCK, .bytes = 512, .unit = 1}, 128);
  const std::vector<uint8_t> kept(512, 3), other(512, 4);
  const uint64_t name = cells.name_of(kept);
  powercut_keep_contents();
  const uint64_t forgotten = cells.name_of(other);
  EXPECT_EQ(cells.named(forgotten), other);
  powercut_forget_contents(512);
  EXPECT_EQ(cells.named(forgotten), other) << "no more than that is forgotten";
  powercut_forget_contents(0);
  EXPECT_THAT(cells.named(forgotten), IsEmpty());
  EXPECT_EQ(cells.named(name), kept);
  EXPECT_EQ(cells.name_of(other), forgotten) << "it can be named again";
  EXPECT_EQ(cells.named(forgotten), other);
}

}  // namespace
}  // namespace powercut
