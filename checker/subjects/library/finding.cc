#include "checker/subjects/library/finding.h"

#include "checker/findings/finding_parts.h"
#include "tracer/format/trace_names.h"
#include "tracer/record/key_bytes.h"

namespace powercut {
namespace {

std::vector<Finding::Nested> nested_of(const Image& image, FrameResolver* frames) {
  std::vector<Finding::Nested> out;
  for (size_t depth = 1; depth < image.levels.size(); ++depth) {
    const Image::Nested& nested = image.nested[depth - 1];
    Finding::Nested& cut = out.emplace_back();
    cut.after_return = nested.after_return;
    for (const NestedStore& store : nested.stores) {
      cut.stores.push_back({store.offset, store.size, frames->resolve(store.stack)});
    }
    cut.lines = image.levels[depth];
  }
  return out;
}

// The sentence that a finding without a power cut adds to its message.
std::string without_cut(const History& history) {
  const OperationInfo& operation = history.operation();
  const std::string argument = operation.has_key ? name_of(history.keys()[operation.key]) : operation.text;
  return std::string("No power cut needed: with every store durable, it is the same after ") + name_of(operation.kind) +
         (argument.empty() ? "" : "(" + argument + ")") + ".";
}

// "lookup(1)".
std::string operation_text(const Event& begin) {
  const auto kind = static_cast<OpKind>(begin.code);
  if (begin.key.empty())
    return name_of(kind) + (begin.text.empty() ? std::string() : " '" + std::string(begin.text) + "'");
  KeyHistory key;
  key.bytes = text_of(begin.key);
  if (begin.key.size() >= kMinIdentityBytes) key.id = key_id(begin.key);
  return name_of(kind) + ("(" + name_of(key)) + ")";
}

// "In a second life: behind recovery came lookup(3) and update(1), and within the latter the power failed again."
std::string second_life_of(const Life& life) {
  const std::vector<std::string>& operations = life.operations();
  std::string list;
  for (size_t i = 0; i < operations.size(); ++i) {
    if (i > 0) list += i + 1 == operations.size() ? " and " : ", ";
    list += operations[i];
  }
  return "In a second life: behind recovery came " + list + ", and " +
         (life.in_flight() ? "within the last of them" : "behind the last of them") + " the power failed again.";
}

}  // namespace

Finding finding_of(const Exposure& exposure, const TraceFollower& follower, FrameResolver* frames) {
  const OperationInfo& operation = follower.history().operation();
  const History& history = exposure.life != nullptr ? exposure.life->history() : follower.history();
  const QueryKind kind = kind_of(exposure.query);
  const bool by_region = kind == QueryKind::kWalk || kind == QueryKind::kVerify;
  const std::vector<Frame> fault = frames->resolve(exposure.outcome.stack);

  Finding out;
  out.key = exposure.violation.invariant + "/" + exposure.underlying + "/" +
            std::to_string(static_cast<int>(operation.kind)) + operation.text + "/" + name_of(kind);
  if (!exposure.needs_power_cut) out.key += "/functional";
  if (!fault.empty()) out.key_end = "/" + std::to_string(fault[0].module) + ":" + std::to_string(fault[0].offset);
  out.invariant = exposure.violation.invariant;
  out.underlying = exposure.underlying;
  out.message = exposure.violation.message;
  if (!exposure.needs_power_cut && exposure.asked) out.message += " " + without_cut(history);
  out.needs_power_cut = exposure.needs_power_cut;
  out.operation = {.index = operation.index,
                   .kind = name_of(operation.kind),
                   .text = operation.text,
                   .in_flight = follower.history().in_flight()};
  if (exposure.life != nullptr) {
    out.key += "/second life";
    out.message += " " + second_life_of(*exposure.life);
  }
  if (operation.has_key) out.operation.key = name_of(history.keys()[operation.key]);
  out.query.kind = exposure.asked ? name_of(kind) : "schedule";
  out.query.text = exposure.asked ? describe_query(history, exposure.query) : "the schedule of its threads";
  if (by_region) out.query.region = argument_of(exposure.query);
  out.expected = exposure.violation.expected;
  out.found = exposure.violation.found;
  if (!exposure.image.nested.empty()) out.nested_event = exposure.image.nested.back().stores_seen;
  if (!exposure.outcome.returned()) {
    out.fault = {exposure.outcome.signal, exposure.outcome.address, exposure.outcome.text, fault};
  }
  out.image = exposure.image.levels[0];
  out.nested = nested_of(exposure.image, frames);
  if (asks_key(kind)) {
    const KeyHistory& key = history.keys()[argument_of(exposure.query)];
    out.query.key = name_of(key);
    for (const std::string& state : legal_states(key)) out.legal.emplace_back(name_of(key), state);
    out.actual = {{name_of(key), out.found}};
  } else {
    for (const std::string& state : out.expected) out.legal.emplace_back(out.query.text, state);
    out.actual = {{out.query.text, out.found}};
  }
  if (follower.last_store() != 0) out.last_store = follower.last_store();
  out.operation_name = operation_text;
  return out;
}

Exposure exposure_of(const TraceFollower::FoundTrouble& trouble) {
  Exposure out;
  out.violation = {trouble.kind == Trouble::kDied ? "unusable" : name_of(trouble.kind),
                   trouble.text,
                   {"answers that an order of the operations explains"},
                   name_of(trouble.kind)};
  out.image.levels.emplace_back();
  out.asked = out.needs_power_cut = false;
  return out;
}

}  // namespace powercut
