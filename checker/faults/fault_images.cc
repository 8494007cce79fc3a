#include "checker/faults/fault_images.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "checker/exploration/chunks/exploration.h"
#include "checker/faults/damage/device_cells.h"
#include "checker/oracle/queries.h"
#include "tracer/runtime/content_listener.h"

namespace powercut {
namespace {

// Every image is asked all its queries once before anything is damaged: a budget goes to as many images as this pays.
constexpr uint64_t kLeastForAnImage = 64;
// Bytes that damaged sectors, and the target's contents made of them, may take before they are forgotten.
constexpr size_t kMostContents = size_t{64} << 20;

// Before format has ended there is nothing that a fault could harm.
unsigned images_at(const TraceFollower& at, const Damages& damages) {
  return at.history().formatted() ? damages.images(at) : 0;
}

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
      progress_(progress),
      damages_(make_damages(options.kind, loaded)) {
  oracle_.set_background(loaded.library->background());
  report_->tally.points_of = points;
}

Result<uint64_t> ImageFaults::count_points(const LoadedTrace& loaded, FaultKind kind) {
  auto reader = open_trace(loaded.trace);
  if (!reader) return reader.error();
  TraceFollower follower(loaded, loaded.own_model(), AtomPolicy::kAny, std::move(*reader), nullptr);
  const std::unique_ptr<Damages> damages = make_damages(kind, loaded);
  uint64_t count = 0;
  while (follower.next()) count += images_at(follower, *damages);
  if (const auto error = follower.error()) return usage_error(*error);
  return count;
}

std::optional<EngineError> ImageFaults::run() {
  while (follower_.next([this](const Event& event) { damages_->saw(event, follower_); })) {
    const unsigned images = images_at(follower_, *damages_);
    for (unsigned i = 0; i < images; ++i) visit(i == 0);
  }
  if (const auto error = follower_.error()) return usage_error(*error);
  return std::nullopt;
}

void ImageFaults::visit(bool visible) {
  FaultTally& tally = report_->tally;
  follower_.follow();
  const uint64_t passed = passed_++;
  uint64_t allowed = ~uint64_t{0};
  if (options_.budget > 0) {
    const uint64_t images = std::clamp<uint64_t>(options_.budget / kLeastForAnImage, 1, points_);
    if ((passed + 1) * images / points_ == passed * images / points_) return;
    // Budget that earlier images did not spend is left for this image and those after it.
    const uint64_t rest = options_.budget - std::min(options_.budget, tally.executions);
    allowed = rest / (images - std::min(images - 1, tally.points));
    if (allowed == 0) return;
  }
  std::vector<LineSet> decided;
  for (const LineSet* set : follower_.frontier().sets()) {
    decided.push_back(definite_line(set->line, set->contents[visible ? set->visible : 0]));
  }
  executor_.memory().install(sets_of(decided));
  ++tally.points;
  if (learn()) {
    damages_->look({follower_, executor_.pool(), [this](uint64_t line) {
                      const auto at = read_.find(line);
                      return at == read_.end() ? 0 : at->second;
                    }});
    tally.cases_of += damages_->unread() + damages_->count();
    tally.cases += damages_->unread();
    tally.not_read += damages_->unread();
    tally.effects[static_cast<size_t>(FaultEffect::kHarmless)] += damages_->unread();
    powercut_keep_contents();
    // Evenly spread over all of them when the budget is too small.
    const uint64_t chosen = std::min(allowed, damages_->count());
    for (uint64_t i = 0; i < chosen; ++i) {
      inflict(damages_->at(i * damages_->count() / chosen));
      powercut_forget_contents(kMostContents);
    }
  }
  executor_.memory().uninstall();
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

void ImageFaults::inflict(const Damage& damage) {
  std::vector<Damaged> damaged;
  LineSets sets;
  for (const LineSet& set : damage.lines) {
    damaged.push_back({set.line, changed_bytes(executor_.pool(), set)});
    sets.push_back(&set);
  }
  const MemoryRange& poison = damage.poison;
  if (poison.begin != poison.end) {
    for_each_line(poison.begin - kPoolBase, poison.end - kPoolBase,
                  [&](uint64_t line, uint64_t mask) { damaged.push_back({line, mask}); });
    media_.poison(poison);
  }
  executor_.memory().install(sets);
  judge(damage, damaged);
  executor_.memory().uninstall();
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

// An unreadable place must end in an error; in memory, if the target has survived the signal. A flipped bit need not be
// noticed, unless the target says that it is.
bool ImageFaults::is_finding() const {
  const bool died_of_it =
      options_.kind == FaultKind::kMedia && loaded_.device.medium == POWERCUT_MEMORY && media_.hits() == 0;
  return is_claimed(options_.kind, loaded_.traits) && !died_of_it;
}

void ImageFaults::judge(const Damage& damage, std::span<const Damaged> damaged) {
  FaultTally& tally = report_->tally;
  progress_->start(damage.subject, loaded_.library->path());
  FaultAnswer worst;
  bool seen_by_verify = false;
  const bool recovery_reads = std::any_of(damaged.begin(), damaged.end(), [&](const Damaged& bytes) {
    const auto at = read_by_recovery_.find(bytes.line);
    return at != read_by_recovery_.end() && (at->second & bytes.mask) != 0;
  });
  const auto reads = [&](const Known& known) {
    return std::any_of(known.lines.begin(), known.lines.end(), [&](const Known::Bytes& loaded) {
      return std::any_of(damaged.begin(), damaged.end(), [&](const Damaged& bytes) {
        return bytes.line == loaded.line && (bytes.mask & loaded.mask) != 0;
      });
    });
  };
  const auto weigh = [&](const FaultAnswer& answer, const std::string& query, const Outcome& outcome) {
    if (answer.effect == FaultEffect::kSilent || answer.effect == FaultEffect::kCrashed) {
      const FaultFinding finding{.violation = answer.violation,
                                 .subject = damage.subject,
                                 .offset = damage.offset,
                                 .operation = describe_operation(follower_.history()),
                                 .operation_index = follower_.history().operation().index,
                                 .query = query,
                                 .stack = media_.hits() > 0 ? media_.stack() : outcome.stack};
      if (is_finding()) {
        report_->add_finding(finding);
      } else {
        report_->add_example(finding, answer.effect);
      }
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
  if (heard_) heard_({executor_.pool(), executor_.pool_size()}, worst.effect);
}

}  // namespace powercut
