#include "checker/subjects/program/outputs/expected_outputs.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "tracer/format/event_groups.h"
#include "tracer/format/kept_event.h"
#include "xxhash.h"

namespace powercut {
namespace {

// The memory that the program sees, as the lines that stores have reached.
class Visible {
 public:
  explicit Visible(uint64_t space) : space_(space) {}

  void apply(const Event& event) {
    if (event.kind == EventKind::kFork) root_ = lines_;
    if (event.kind == EventKind::kBack) go_back();
    if (event.kind != EventKind::kStore && event.kind != EventKind::kNtStore) return;
    for (size_t i = 0; i < event.value.size();) {
      const uint64_t at = event.addr + i;
      if (at >= space_) return;
      const uint64_t within = at % kLineSize;
      const size_t size = std::min<size_t>(kLineSize - within, event.value.size() - i);
      Content& line = lines_[at / kLineSize];
      digest_ -= term(at / kLineSize, line);
      std::memcpy(line.bytes.data() + within, event.value.data() + i, size);
      digest_ += term(at / kLineSize, line);
      changed_.insert(at / kLineSize);
      i += size;
    }
  }

  // Equal contents have equal digests.
  uint64_t digest() const { return digest_; }
  std::vector<std::pair<uint64_t, Content>> take_changed() {
    std::vector<std::pair<uint64_t, Content>> out;
    for (const uint64_t number : changed_) out.emplace_back(number, lines_[number]);
    changed_.clear();
    return out;
  }

 private:
  static uint64_t term(uint64_t number, const Content& line) {
    static const Content kZeros{};
    const auto hash = [number](const Content& content) {
      return XXH3_64bits_withSeed(content.bytes.data(), kLineSize, number);
    };
    return hash(line) - hash(kZeros);
  }
  void go_back() {
    for (auto& [number, line] : lines_) {
      const auto at = root_.find(number);
      const Content before = at == root_.end() ? Content{} : at->second;
      if (before.bytes == line.bytes) continue;
      digest_ += term(number, before) - term(number, line);
      line = before;
      changed_.insert(number);
    }
  }

  uint64_t space_;
  absl::flat_hash_map<uint64_t, Content> lines_, root_;
  std::set<uint64_t> changed_;
  uint64_t digest_ = 0;
};

using Shared = std::shared_ptr<const ProgramOutcome>;
void add_once(const Shared& outcome, std::vector<Shared>* there) {
  if (std::ranges::find(*there, outcome) == there->end()) there->push_back(outcome);
}

// Whether both have printed the same up to the output `at`.
bool prints(const ProgramOutcome& once, const ProgramOutcome& outcome, size_t at, bool ordered) {
  if (once.printed.size() <= at) return false;
  return std::equal(once.printed.begin(), once.printed.begin() + static_cast<ptrdiff_t>(at) + 1,
                    outcome.printed.begin(), [&](const auto& a, const auto& b) { return a.alike(b, ordered); });
}

}  // namespace

Result<ExpectedOutputs> ExpectedOutputs::take(TraceReader* reader, uint64_t space, const Observe& observe,
                                              const ExpectedOutputs* tree) {
  ExpectedOutputs out;
  if (tree != nullptr) {
    out.orders_ = tree->orders_;
    out.in_order_ = tree->in_order_;
  }
  return take(std::move(out), reader, space, observe, false);
}

Result<ExpectedOutputs> ExpectedOutputs::take_orders(TraceReader* reader, uint64_t space, const Observe& observe) {
  return take(ExpectedOutputs{}, reader, space, observe, true);
}

Result<ExpectedOutputs> ExpectedOutputs::take(ExpectedOutputs out, TraceReader* reader, uint64_t space,
                                              const Observe& observe, bool orders_alone) {
  Operations operations;
  Visible visible(space);
  int timeouts = 0;
  std::map<uint64_t, std::shared_ptr<const ProgramOutcome>> known;  // by a digest of the visible image
  const auto look = [&](const std::set<uint64_t>& prefixes,
                        std::optional<SerialOrders::Node> node) -> std::optional<EngineError> {
    // Commands that block are waited for twice, not once for each operation.
    if (timeouts > 1 || (orders_alone && !node)) return std::nullopt;
    std::shared_ptr<const ProgramOutcome>& seen = known[visible.digest()];
    if (seen == nullptr) {
      auto outcome = observe(visible.take_changed());
      if (!outcome) return outcome.error();
      seen = std::make_shared<const ProgramOutcome>(std::move(*outcome));
    }
    // If a step fails on an image that has lost nothing, it has no output. The exploration of that image tells of the
    // failure.
    if (seen->kind == ProgramOutcome::Kind::kTimeout) ++timeouts;
    out.add(prefixes, seen);
    if (node && !seen->printed.empty()) add_once(seen, &out.in_order_[*node]);
    return std::nullopt;
  };
  std::vector<KeptEvent> schedule;
  bool in_tree = false;
  const auto apply = [&](const Event& event) -> std::optional<EngineError> {
    if (event.kind == EventKind::kOpBegin && operations.in_flight().empty()) {
      // The root of the tree is the pool before threads began their operations.
      const MarkedHistory* history = operations.history();
      const bool root = history != nullptr && history->empty() && !out.in_order_.contains(SerialOrders::kRoot);
      const bool first = operations.begun() == 0;
      const auto node = root ? std::optional(SerialOrders::kRoot) : std::nullopt;
      if (root || first) {
        if (auto wrong = look(first ? std::set<uint64_t>{0} : std::set<uint64_t>{}, node)) return wrong;
      }
    }
    const uint64_t alone = operations.in_flight().size() == 1 && operations.begun_since_settled() == 1
                               ? operations.in_flight()[0].prefix
                               : 0;
    operations.apply(event);
    visible.apply(event);
    if (event.kind != EventKind::kOpEnd || !operations.in_flight().empty()) return std::nullopt;
    const MarkedHistory* history = operations.history();
    const bool serial = history != nullptr && !history->empty() && operations.serial();
    return look(alone != 0 ? std::set{operations.prefix(), alone} : std::set{operations.prefix()},
                serial ? std::optional(out.orders_.add(*history)) : std::nullopt);
  };
  Event event;
  while (reader->next(&event)) {
    if (auto wrong = apply(event)) return *wrong;
    switch (event.kind) {
      case EventKind::kFork:
        in_tree = true;
        break;
      case EventKind::kBack:
        schedule.resize(event.size);
        for (const KeptEvent& earlier : schedule) {
          if (auto wrong = apply(earlier.view())) return *wrong;
        }
        break;
      case EventKind::kCrashPoint:
      case EventKind::kTrouble:
      case EventKind::kSearched:
        break;
      case POWERCUT_MEMORY_EVENTS:
      case POWERCUT_OPERATION_EVENTS:
      case POWERCUT_PROCESS_EVENTS:
      case POWERCUT_NAME_EVENTS:
      case EventKind::kCut:
      case EventKind::kContent:
        if (in_tree) schedule.emplace_back(event);
    }
  }
  if (reader->error()) return usage_error(*reader->error());
  // An operation that never ended may have happened: the end of the trace is all that is known of it.
  if (operations.in_flight().size() == 1 && operations.begun_since_settled() == 1) {
    if (auto wrong = look({operations.in_flight()[0].prefix}, std::nullopt)) return *wrong;
  }
  return out;
}

void ExpectedOutputs::add(const std::set<uint64_t>& prefixes, const std::shared_ptr<const ProgramOutcome>& outcome) {
  for (const uint64_t prefix : prefixes) {
    if (!outcome->ok()) add_once(outcome, &failed_[prefix]);
    if (!outcome->printed.empty()) add_once(outcome, &after_[prefix]);
  }
}

std::vector<const ProgramOutcome*> ExpectedOutputs::legal(const Operations& operations) const {
  if (operations.begun() == 0 || operations.unsettled()) return {};
  std::vector<const ProgramOutcome*> out;
  if (operations.begun_since_settled() == operations.in_flight().size() && operations.in_flight().size() <= 1) {
    std::vector<uint64_t> prefixes = {operations.prefix()};
    if (!operations.in_flight().empty()) prefixes.push_back(operations.in_flight()[0].prefix);
    for (const uint64_t prefix : prefixes) {
      const auto at = after_.find(prefix);
      // Where one of two legal outputs is not known, any output may be legal.
      if (at == after_.end()) {
        out.clear();
        break;
      }
      for (const auto& outcome : at->second) out.push_back(outcome.get());
    }
    if (!out.empty() && (operations.history() == nullptr || operations.serial())) return out;
  }
  // Overlapping operations may have come to another result than the schedule shows, and nobody has seen which.
  if (operations.history() == nullptr || orders_.empty()) return out;
  const auto [at, fresh] = known_.try_emplace(operations.history_name());
  if (fresh) at->second = in_some_order(operations, nullptr);
  out.insert(out.end(), at->second.begin(), at->second.end());
  return out;
}

std::vector<const ProgramOutcome*> ExpectedOutputs::in_some_order(const Operations& operations,
                                                                  const SerialOrders::Which& any_answer) const {
  const SerialOrders::Explained explained = orders_.explain(*operations.history(), any_answer);
  if (!explained.known()) return {};
  std::vector<const ProgramOutcome*> out;
  for (const SerialOrders::Node node : explained.nodes) {
    const auto at = in_order_.find(node);
    if (at == in_order_.end()) return {};
    for (const auto& outcome : at->second) {
      if (std::ranges::find(out, outcome.get()) == out.end()) out.push_back(outcome.get());
    }
  }
  return out;
}

std::vector<std::string> ExpectedOutputs::reads_of_lost(const Operations& operations, const ProgramOutcome& outcome,
                                                        size_t at, bool ordered) const {
  if (operations.history() == nullptr) return {};
  const MarkedHistory& history = *operations.history();
  const auto explained_by = [&](const SerialOrders::Which& any_answer) {
    return std::ranges::any_of(in_some_order(operations, any_answer),
                               [&](const ProgramOutcome* right) { return prints(*right, outcome, at, ordered); });
  };
  const auto reads = [&](size_t i) { return history[i].reads && history[i].answered; };
  std::vector<std::string> all;
  for (size_t i = 0; i < history.size(); ++i) {
    if (!reads(i)) continue;
    if (explained_by([i](size_t other) { return other == i; })) return {history[i].text};
    all.push_back(history[i].text);
  }
  return !all.empty() && explained_by(reads) ? all : std::vector<std::string>{};
}

std::vector<std::string> ExpectedOutputs::lost(const Operations& operations, const ProgramOutcome& outcome, size_t at,
                                               bool ordered) const {
  if (operations.history() == nullptr) return {};
  const MarkedHistory& history = *operations.history();
  for (const SerialOrders::Partial& partial : orders_.partial(history)) {
    const auto known = in_order_.find(partial.node);
    if (known == in_order_.end()) continue;
    const auto same = [&](const auto& once) { return prints(*once, outcome, at, ordered); };
    if (std::ranges::none_of(known->second, same)) continue;
    std::vector<std::string> out;
    std::map<uint32_t, size_t> left = partial.of_thread;
    for (const HistoryOperation& operation : history) {
      size_t& has = left[operation.thread];
      if (has == 0 && operation.answered && !operation.reads) out.push_back(operation.text);
      if (has > 0) --has;
    }
    if (!out.empty()) return out;
  }
  return {};
}

bool ExpectedOutputs::failed_after(uint64_t prefix, const ProgramOutcome& outcome) const {
  const auto at = failed_.find(prefix);
  if (at == failed_.end()) return false;
  return std::ranges::any_of(at->second, [&](const auto& failed) { return failed->ends_like(outcome); });
}

bool ExpectedOutputs::fails_at_the_end(const Operations& operations, const ProgramOutcome& outcome) const {
  if (operations.unsettled() || operations.in_flight().size() != 1) return false;
  return failed_after(operations.in_flight()[0].prefix, outcome);
}

bool ExpectedOutputs::failed_before(const Operations& operations, const ProgramOutcome& outcome) const {
  return !operations.unsettled() && operations.settled_by() && failed_after(operations.prefix(), outcome);
}

std::optional<uint64_t> ExpectedOutputs::earlier(const Operations& operations, const ProgramOutcome& outcome, size_t at,
                                                 bool ordered) const {
  const auto was = [&](uint64_t prefix) {
    const auto known = after_.find(prefix);
    return known != after_.end() &&
           std::ranges::any_of(known->second, [&](const auto& once) { return prints(*once, outcome, at, ordered); });
  };
  const std::vector<Operations::Settled>& settled = operations.settled();
  for (size_t i = settled.size(); i-- > 0;) {
    // The last prefix is legal.
    if (i + 1 < settled.size() && was(settled[i].prefix)) return settled[i].operations;
  }
  if (!settled.empty() && was(0)) return 0;
  return std::nullopt;
}

}  // namespace powercut
