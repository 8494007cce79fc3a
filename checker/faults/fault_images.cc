#include "checker/faults/fault_images.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "checker/exploration/exploration.h"
#include "checker/oracle/queries.h"

namespace powercut {
namespace {

// Every image is asked all its queries once before anything is damaged: a budget goes to as many images as this pays.
constexpr uint64_t kLeastForAnImage = 64;
constexpr uint64_t kLinesOfBlock = kMediaBlock / kLineSize;

bool ends_operation(const TraceFollower& at) { return !at.instant().before && !at.history().in_flight(); }

uint64_t word_at(uint64_t address) {
  uint64_t word;
  std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
  return word;
}

}  // namespace

ImageFaults::ImageFaults(const LoadedTrace& loaded, const FaultOptions& options, uint64_t points,
                         std::unique_ptr<TraceReader> reader, FaultReport* report, Progress* progress)
    : loaded_(loaded),
      options_(options),
      points_(points),
      executor_(executor_options(loaded, loaded.own_model(), AtomPolicy::kAny, options.step_budget)),
      follower_(loaded, loaded.own_model(), AtomPolicy::kAny, std::move(reader), executor_.pool()),
      oracle_(loaded.library->target(), *loaded.config, loaded.traits,
              {executor_.pool_address(), loaded.plan.scenario.pool_size}, &follower_.history(), [](const Exposure&) {}),
      report_(report),
      progress_(progress) {
  report_->tally.points_of = points;
}

Result<uint64_t> ImageFaults::count_points(const LoadedTrace& loaded) {
  auto reader = open_trace(loaded.trace);
  if (!reader) return reader.error();
  TraceFollower follower(loaded, loaded.own_model(), AtomPolicy::kAny, std::move(*reader), nullptr);
  uint64_t count = 0;
  while (follower.next()) count += ends_operation(follower) ? 1 : 0;
  if (const auto error = follower.error()) return usage_error(*error);
  return count;
}

std::optional<EngineError> ImageFaults::run() {
  const auto saw = [this](const Event& event) {
    if (event.kind != EventKind::kStore && event.kind != EventKind::kNtStore) return;
    for (uint64_t line = event.addr / kLineSize; line <= (event.addr + event.size - 1) / kLineSize; ++line) {
      written_.insert(line);
    }
  };
  while (follower_.next(saw)) {
    if (ends_operation(follower_)) visit();
  }
  if (const auto error = follower_.error()) return usage_error(*error);
  return std::nullopt;
}

void ImageFaults::visit() {
  FaultTally& tally = report_->tally;
  follower_.follow();
  const uint64_t passed = passed_++;
  uint64_t allowed = ~uint64_t{0};
  if (options_.budget > 0) {
    const uint64_t images = std::clamp<uint64_t>(options_.budget / kLeastForAnImage, 1, points_);
    if ((passed + 1) * images / points_ == passed * images / points_) return;
    // What was not spent on earlier images is left for this one and those after it.
    const uint64_t rest = options_.budget - std::min(options_.budget, tally.executions);
    allowed = rest / (images - std::min(images - 1, tally.points));
    if (allowed == 0) return;
  }
  std::vector<LineSet> visible;
  for (const LineSet* set : follower_.frontier().sets()) {
    visible.push_back(
        {.line = set->line, .contents = {set->contents[set->visible]}, .base = {}, .visible = 0, .diff = 0});
  }
  LineSets sets;
  for (const LineSet& set : visible) sets.push_back(&set);
  executor_.memory().install(sets);
  ++tally.points;
  if (learn()) {
    const std::vector<Case> all = cases();
    const uint64_t unread = options_.kind == FaultKind::kBitFlip
                                ? [&] {
                                    uint64_t bytes = 0;
                                    for (uint64_t line : written_) bytes += 64 - std::popcount(read_by_all(line));
                                    return bytes * 8;
                                  }()
                                : loaded_.plan.scenario.pool_size / kMediaBlock - all.size();
    tally.cases_of += unread + all.size();
    tally.cases += unread;
    tally.not_read += unread;
    tally.effects[static_cast<size_t>(FaultEffect::kHarmless)] += unread;
    // Evenly spread over all of them when the budget is too small.
    const uint64_t chosen = std::min<uint64_t>(allowed, all.size());
    for (uint64_t i = 0; i < chosen; ++i) {
      const Case& damage = all[i * all.size() / chosen];
      if (options_.kind == FaultKind::kBitFlip) {
        flip(damage);
      } else {
        poison(damage);
      }
    }
  }
  executor_.memory().uninstall();
}

uint64_t ImageFaults::read_by_all(uint64_t line) const {
  const auto at = read_.find(line);
  return at == read_.end() ? 0 : at->second;
}

bool ImageFaults::learn() {
  known_.clear();
  wrong_.clear();
  read_.clear();
  progress_->start("recovery", loaded_.library->path());
  const UndecidedMemory::Mark start = executor_.memory().mark();
  Decisions decisions;
  buffer_.clear();
  executor_.reads().begin(start.arena);
  ++report_->tally.executions;
  const Outcome outcome = executor_.run_recovery(&decisions, nullptr, [&] { oracle_.recover(&buffer_); });
  bool good = weigh_recovery(outcome, buffer_.view()).effect == FaultEffect::kHarmless;
  for (uint64_t line : executor_.reads().lines()) read_[line] = executor_.reads().mask(line);
  read_by_recovery_ = read_;
  if (good) {
    const UndecidedMemory::Mark leaf = executor_.memory().mark();
    opened_ = oracle_.opened();
    globals_ = executor_.memory().globals_signature();
    for (QueryId query : all_queries(&oracle_)) {
      progress_->start("a query", loaded_.library->path());
      executor_.reads().begin(leaf.arena);
      Decisions none;
      buffer_.clear();
      ++report_->tally.query_runs;
      const Outcome ended = executor_.run(&none, [&] { oracle_.run(query, &buffer_); });
      if (!ended.returned()) oracle_.ended(query, ended, &buffer_);
      const FaultAnswer answer = weigh_query(follower_.history(), loaded_.traits, query, ended, buffer_.view());
      executor_.memory().undo(leaf);
      if (answer.effect != FaultEffect::kHarmless) {
        wrong_.insert(query);
        continue;
      }
      Known& known = known_.emplace_back();
      known.query = query;
      for (uint64_t line : executor_.reads().lines()) {
        const uint64_t mask = executor_.reads().mask(line);
        read_[line] |= mask;
        Known::Bytes& bytes = known.lines.emplace_back(Known::Bytes{line, mask, {}});
        std::memcpy(bytes.content.bytes.data(), executor_.pool() + line * kLineSize, kLineSize);
      }
      for (uint64_t word : executor_.reads().words()) {
        known.heap.push_back({word, executor_.reads().bits(word), word_at(word)});
      }
    }
  }
  executor_.memory().undo(start);
  if (!good) ++report_->tally.images_left_out;
  report_->tally.answers_left_out += wrong_.size();
  return good;
}

std::vector<ImageFaults::Case> ImageFaults::cases() const {
  std::vector<Case> out;
  if (options_.kind == FaultKind::kBitFlip) {
    for (const auto& [line, mask] : read_) {
      if (!written_.contains(line)) continue;
      for (uint64_t rest = mask; rest != 0; rest &= rest - 1) {
        for (unsigned bit = 0; bit < 8; ++bit) out.push_back({line, rest & -rest, bit});
      }
    }
    return out;
  }
  for (const auto& [line, mask] : read_) {
    if (!out.empty() && out.back().line / kLinesOfBlock == line / kLinesOfBlock) continue;
    out.push_back({line, mask, 0});
  }
  return out;
}

void ImageFaults::flip(const Case& damage) {
  const auto byte = static_cast<uint64_t>(std::countr_zero(damage.mask));
  LineSet set;
  set.line = damage.line;
  Content& content = set.contents.emplace_back();
  std::memcpy(content.bytes.data(), executor_.pool() + damage.line * kLineSize, kLineSize);
  content.bytes[byte] ^= static_cast<uint8_t>(1u << damage.bit);
  const LineSets sets{&set};
  executor_.memory().install(sets);
  const auto at = read_by_recovery_.find(damage.line);
  const uint64_t offset = damage.line * kLineSize + byte;
  judge(absl::StrCat("bit ", damage.bit, " of the byte at offset ", offset), offset,
        at != read_by_recovery_.end() && (at->second & damage.mask) != 0, [&](const Known& known) {
          return std::any_of(known.lines.begin(), known.lines.end(), [&](const Known::Bytes& bytes) {
            return bytes.line == damage.line && (bytes.mask & damage.mask) != 0;
          });
        });
  executor_.memory().uninstall();
}

void ImageFaults::poison(const Case& damage) {
  const uint64_t block = damage.line / kLinesOfBlock;
  const auto in_block = [&](uint64_t line) { return line / kLinesOfBlock == block; };
  const uint64_t offset = block * kMediaBlock;
  media_.poison({kPoolBase + offset, kPoolBase + offset + kMediaBlock});
  judge(
      absl::StrCat("the block at offset ", offset), offset,
      std::any_of(read_by_recovery_.begin(), read_by_recovery_.end(), [&](const auto& e) { return in_block(e.first); }),
      [&](const Known& known) {
        return std::any_of(known.lines.begin(), known.lines.end(),
                           [&](const Known::Bytes& bytes) { return in_block(bytes.line); });
      });
  media_.heal();
}

bool ImageFaults::differs(const Known& known) const {
  for (const Known::Bytes& bytes : known.lines) {
    const uint8_t* at = executor_.pool() + bytes.line * kLineSize;
    for (uint64_t rest = bytes.mask; rest != 0; rest &= rest - 1) {
      const int i = std::countr_zero(rest);
      if (at[i] != bytes.content.bytes[static_cast<size_t>(i)]) return true;
    }
  }
  return std::any_of(known.heap.begin(), known.heap.end(),
                     [](const Known::Word& word) { return ((word_at(word.address) ^ word.value) & word.bits) != 0; });
}

// A poisoned block must end in an error. A flipped bit need not be noticed, unless the target says that it is.
bool ImageFaults::is_finding(const FaultAnswer& answer, uint64_t survived) const {
  if (answer.effect != FaultEffect::kSilent && answer.effect != FaultEffect::kCrashed) return false;
  return options_.kind == FaultKind::kMedia ? survived > 0 : loaded_.traits.detects_damage != 0;
}

void ImageFaults::judge(const std::string& subject, uint64_t offset, bool recovery_reads,
                        const std::function<bool(const Known&)>& reads) {
  FaultTally& tally = report_->tally;
  progress_->start(subject, loaded_.library->path());
  FaultAnswer worst;
  bool seen_by_verify = false;
  const auto weigh = [&](const FaultAnswer& answer, const std::string& query, const Outcome& outcome) {
    if (is_finding(answer, media_.hits())) {
      report_->add_finding({.violation = answer.violation,
                            .subject = subject,
                            .offset = offset,
                            .operation = describe_operation(follower_.history()),
                            .operation_index = follower_.history().operation().index,
                            .query = query,
                            .stack = options_.kind == FaultKind::kMedia ? media_.stack() : outcome.stack});
    }
    if (answer.effect > worst.effect) worst = answer;
  };
  const UndecidedMemory::Mark start = executor_.memory().mark();
  Decisions decisions;
  buffer_.clear();
  executor_.reads().begin(start.arena);
  ++tally.executions;
  const Outcome outcome = executor_.run_recovery(&decisions, nullptr, [&] { oracle_.recover(&buffer_); });
  weigh(weigh_recovery(outcome, buffer_.view()), "open", outcome);
  if (outcome.returned() && oracle_.usable()) {
    const UndecidedMemory::Mark leaf = executor_.memory().mark();
    // A recovery that did not meet the damage left what it left without it, so only readers of the damage can tell.
    const bool all =
        recovery_reads && !(oracle_.opened() == opened_ && executor_.memory().globals_signature() == globals_);
    const auto ask = [&](QueryId query) {
      Decisions none;
      buffer_.clear();
      ++tally.query_runs;
      const Outcome ended = executor_.run(&none, [&] { oracle_.run(query, &buffer_); });
      if (!ended.returned()) oracle_.ended(query, ended, &buffer_);
      const FaultAnswer answer = weigh_query(follower_.history(), loaded_.traits, query, ended, buffer_.view());
      if (kind_of(query) == QueryKind::kVerify && answer.effect == FaultEffect::kDetected) seen_by_verify = true;
      weigh(answer, describe_query(follower_.history(), query), ended);
      executor_.memory().undo(leaf);
    };
    if (all) {
      for (QueryId query : all_queries(&oracle_)) {
        if (!wrong_.contains(query)) ask(query);
      }
    } else {
      for (const Known& known : known_) {
        if (reads(known) || (recovery_reads && differs(known))) ask(known.query);
      }
    }
  }
  executor_.memory().undo(start);
  report_->add_case(worst, seen_by_verify);
}

}  // namespace powercut
