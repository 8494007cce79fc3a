#include "checker/program/expected_outputs.h"

#include <cstring>

#include "absl/container/flat_hash_map.h"

namespace powercut {
namespace {

// The memory that the program sees, as the lines that stores have reached.
class Visible {
 public:
  explicit Visible(uint64_t space) : space_(space) {}

  void apply(const Event& event) {
    if (event.kind != EventKind::kStore && event.kind != EventKind::kNtStore) return;
    for (size_t i = 0; i < event.value.size();) {
      const uint64_t at = event.addr + i;
      if (at >= space_) return;
      const uint64_t within = at % kLineSize;
      const size_t size = std::min<size_t>(kLineSize - within, event.value.size() - i);
      Line& line = lines_[at / kLineSize];
      std::memcpy(line.content.bytes.data() + within, event.value.data() + i, size);
      if (!line.changed) changed_.push_back(at / kLineSize);
      line.changed = true;
      i += size;
    }
  }

  std::vector<std::pair<uint64_t, Content>> take_changed() {
    std::vector<std::pair<uint64_t, Content>> out;
    for (const uint64_t number : changed_) {
      Line& line = lines_[number];
      line.changed = false;
      out.emplace_back(number, line.content);
    }
    changed_.clear();
    return out;
  }

 private:
  struct Line {
    Content content;
    bool changed = false;
  };
  uint64_t space_;
  absl::flat_hash_map<uint64_t, Line> lines_;
  std::vector<uint64_t> changed_;
};

}  // namespace

Result<ExpectedOutputs> ExpectedOutputs::take(TraceReader* reader, uint64_t space, const Observe& observe) {
  ExpectedOutputs out;
  Operations operations;
  Visible visible(space);
  int timeouts = 0;
  const auto look = [&](uint64_t prefix) -> std::optional<EngineError> {
    // Commands that block are waited for twice, not once for each operation.
    if (timeouts > 1) return std::nullopt;
    auto outcome = observe(visible.take_changed());
    if (!outcome) return outcome.error();
    // Where recovery fails on what was all persisted there is no output; exploring that image says so.
    if (outcome->kind == ProgramOutcome::Kind::kTimeout) ++timeouts;
    (outcome->ok() ? out.after_ : out.failed_).emplace(prefix, std::move(*outcome));
    return std::nullopt;
  };
  Event event;
  while (reader->next(&event)) {
    if (event.kind == EventKind::kOpBegin && operations.begun() == 0) {
      if (auto wrong = look(0)) return *wrong;
    }
    operations.apply(event);
    visible.apply(event);
    if (event.kind != EventKind::kOpEnd || !operations.in_flight().empty()) continue;
    if (auto wrong = look(*operations.settled_by() + 1)) return *wrong;
  }
  if (reader->error()) return usage_error(*reader->error());
  // An operation that never ended may have happened: the end of the trace is all that is known of it.
  if (operations.in_flight().size() == 1 && operations.begun_since_settled() == 1) {
    if (auto wrong = look(operations.in_flight()[0].index + 1)) return *wrong;
  }
  return out;
}

std::vector<const ProgramOutcome*> ExpectedOutputs::legal(const Operations& operations) const {
  if (operations.begun() == 0 || operations.unsettled() || operations.in_flight().size() > 1) return {};
  if (operations.begun_since_settled() != operations.in_flight().size()) return {};
  std::vector<uint64_t> prefixes = {operations.settled_by() ? *operations.settled_by() + 1 : 0};
  if (!operations.in_flight().empty()) prefixes.push_back(operations.in_flight()[0].index + 1);
  std::vector<const ProgramOutcome*> out;
  for (const uint64_t prefix : prefixes) {
    const auto at = after_.find(prefix);
    // Of two legal outputs one that is not known may be any.
    if (at == after_.end()) return {};
    out.push_back(&at->second);
  }
  return out;
}

bool ExpectedOutputs::failed_after(uint64_t index, const ProgramOutcome& outcome) const {
  const auto at = failed_.find(index + 1);
  return at != failed_.end() && at->second.same(outcome);
}

bool ExpectedOutputs::fails_at_the_end(const Operations& operations, const ProgramOutcome& outcome) const {
  if (operations.unsettled() || operations.in_flight().size() != 1) return false;
  return failed_after(operations.in_flight()[0].index, outcome);
}

bool ExpectedOutputs::failed_before(const Operations& operations, const ProgramOutcome& outcome) const {
  return !operations.unsettled() && operations.settled_by() && failed_after(*operations.settled_by(), outcome);
}

std::optional<uint64_t> ExpectedOutputs::earlier(const Operations& operations, const ProgramOutcome& outcome,
                                                 bool ordered) const {
  const uint64_t first_legal = operations.settled_by() ? *operations.settled_by() + 1 : 0;
  for (auto at = after_.lower_bound(first_legal); at != after_.begin();) {
    --at;
    if (at->second.alike(outcome, ordered)) return at->first;
  }
  return std::nullopt;
}

}  // namespace powercut
