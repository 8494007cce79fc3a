#include "tracer/record/workload.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "tracer/record/key_bytes.h"
#include "tracer/record/target_library.h"

namespace powercut {

namespace {

// "insert of key " for a kind that has a key, else all there is to say.
std::string_view verb(OpKind kind) {
  switch (kind) {
    case OpKind::kInsert:
      return "insert of key ";
    case OpKind::kUpdate:
      return "update of key ";
    case OpKind::kErase:
      return "erase of key ";
    case OpKind::kLookup:
      return "lookup of key ";
    case OpKind::kMaintain:
      return "maintain '";
    case OpKind::kFormat:
      return "format";
    case OpKind::kOpen:
      return "open";
    case OpKind::kClose:
      return "close";
    case OpKind::kIncrement:
      return "increment of key ";
  }
  return "unknown operation";
}

// The ability that a scenario with this operation needs of its target.
std::string name_of_need(const Operation& operation) {
  std::string words(verb(operation.kind));
  if (operation.kind == OpKind::kMaintain) return words.append(operation.text).append("'");
  return words.substr(0, words.find(' '));
}

}  // namespace

void describe(const Operation& operation, std::string* out) {
  const std::string_view text = verb(operation.kind);
  out->assign(text);
  if (text.back() == ' ') {
    append_key_name(operation.key, out);
  } else if (operation.kind == OpKind::kMaintain) {
    out->append(operation.text).append("'");
  }
}

std::string describe(const Operation& operation) {
  std::string text;
  describe(operation, &text);
  return text;
}

Workload::Workload(const Scenario& scenario, uint64_t seed, bool checks_exists)
    : scenario_(scenario), checks_exists_(checks_exists), random_(seed) {
  moved();
}

void Workload::moved() {
  place_ = "scenario " + scenario_.name;
  if (phase_ >= scenario_.phases.size()) return;
  place_ += ", phase '" + phase().name + "'";
  if (step_ < phase().steps.size()) place_ += ", step " + std::to_string(step_ + 1);
}

EngineError Workload::misfit(const std::string& what) const {
  return usage_error(what, place(), "Correct the scenario, or give the target a configuration that it fits.");
}

EngineError Workload::lacks(const std::string& what, std::string need) const {
  EngineError error = misfit(what);
  error.needs = std::move(need);
  return error;
}

std::string Workload::sizes_of(const Operation& operation) const {
  std::string text = "its key has " + std::to_string(scenario_.data.key_of(operation.key).size()) + " bytes";
  if (operation.serial == 0) return text;
  const std::vector<uint8_t> value = scenario_.data.value_of(operation.serial, operation.value_size);
  return text + ", its value " + std::to_string(value.size());
}

// The target refused the item's size only now: its traits name no such limit.
EngineError Workload::too_large(const Operation& operation) const {
  EngineError error = lacks(describe(operation) + " answered TOO_LARGE: " + sizes_of(operation), "items of this size");
  error.next =
      "Give [data] smaller sizes, or let the target name the limit in its traits (most_key_size, most_value_size): a "
      "run is then refused before it begins.";
  return error;
}

void Workload::answered(const Operation& operation) {
  kinds_answered_ |= 1u << static_cast<unsigned>(operation.kind);
  if (operation.kind == OpKind::kMaintain) commands_answered_.emplace(operation.text);
}

bool Workload::supports(const Operation& operation) const {
  if (operation.kind == OpKind::kMaintain) return commands_answered_.contains(operation.text);
  return (kinds_answered_ & 1u << static_cast<unsigned>(operation.kind)) != 0;
}

void Workload::next_step() {
  ++step_;
  done_ = 0;
  ended_ = false;
  rmw_key_ = 0;
  moved();
}

Result<Workload::Item> Workload::next() {
  assert(!running_);
  while (phase_ < scenario_.phases.size()) {
    if (!announced_) {
      announced_ = true;
      return Item{.phase = &phase(), .operation = {}};
    }
    if (step_ == phase().steps.size()) {
      ++phase_;
      step_ = 0;
      announced_ = false;
      moved();
      continue;
    }
    Result<std::optional<Operation>> operation = advance();
    if (!operation) return operation.error();
    if (*operation) {
      running_ = **operation;
      return Item{.phase = nullptr, .operation = **operation};
    }
    next_step();
  }
  return Item{};
}

Result<std::optional<Operation>> Workload::advance() {
  if (ended_) return std::optional<Operation>();
  switch (step().kind) {
    case StepKind::kInsert:
    case StepKind::kUpdate:
    case StepKind::kErase:
    case StepKind::kLookup:
    case StepKind::kIncrement:
      return key_operation();
    case StepKind::kMaintain:
      if (done_++ > 0) return std::optional<Operation>();
      return std::optional(Operation{.kind = OpKind::kMaintain, .text = step().text});
    case StepKind::kFill:
      if (done_++ >= step().limit) return std::optional<Operation>();
      return fresh_insert();
    case StepKind::kUntil:
      if (done_++ >= step().limit) {
        return misfit("the mark '" + step().text + "' was not reached within " + std::to_string(step().limit) +
                      " inserts");
      }
      return fresh_insert();
    case StepKind::kMix:
      return mix_operation();
    case StepKind::kAny:  // of threads alone
      break;
  }
  return std::optional<Operation>();
}

Operation Workload::write(OpKind kind, uint64_t key) {
  // Fresh keys go on after the numbers, not after "zeros" and "ones", which have the highest ids.
  if (key <= kMaxNumberedKey) last_key_ = std::max(last_key_, key);
  return {.kind = kind, .key = key, .serial = ++last_serial_, .value_size = step().value_size};
}

Operation Workload::increment(uint64_t key, int64_t delta) {
  if (key <= kMaxNumberedKey) last_key_ = std::max(last_key_, key);
  return {.kind = OpKind::kIncrement, .key = key, .delta = delta};
}

Result<std::optional<Operation>> Workload::fresh_insert() {
  if (last_key_ == kMaxNumberedKey) return misfit("there is no fresh key after the largest number a key can have");
  const bool counts = step().kind == StepKind::kMix && step().mix.increment > 0;
  if (counts) return std::optional(increment(last_key_ + 1, step().by));
  return std::optional(write(OpKind::kInsert, last_key_ + 1));
}

Result<std::optional<Operation>> Workload::key_operation() {
  const Step& now = step();
  uint64_t count = now.keys.empty() ? now.to - now.from + 1 : now.keys.size();
  if (done_ == count) return std::optional<Operation>();
  uint64_t key = now.keys.empty() ? now.from + done_ : now.keys[done_];
  ++done_;
  bool live = live_.contains(key);
  switch (now.kind) {
    case StepKind::kInsert:
      if (live && !checks_exists_) return misfit("insert of key " + key_name(key) + ", which is present");
      return std::optional(write(OpKind::kInsert, key));
    case StepKind::kUpdate:
      if (!live) return misfit("update of key " + key_name(key) + ", which is absent");
      return std::optional(write(OpKind::kUpdate, key));
    case StepKind::kErase:
      if (!live) return misfit("erase of key " + key_name(key) + ", which is absent");
      return std::optional(Operation{.kind = OpKind::kErase, .key = key});
    case StepKind::kIncrement:
      return std::optional(increment(key, now.by));
    case StepKind::kLookup:
      return std::optional(Operation{.kind = OpKind::kLookup, .key = key});
    case StepKind::kMaintain:
    case StepKind::kFill:
    case StepKind::kUntil:
    case StepKind::kMix:
    case StepKind::kAny:
      break;
  }
  return misfit("a step without keys is no operation on a key");
}

Result<std::optional<Operation>> Workload::mix_operation() {
  const Mix& mix = step().mix;
  if (rmw_key_ != 0) return std::optional(write(OpKind::kUpdate, std::exchange(rmw_key_, 0)));
  if (done_ == mix.operations) return std::optional<Operation>();
  ++done_;
  double at = random_.real();
  auto within = [&at](double share) {
    at -= share;
    return at < 0;
  };
  if (within(mix.insert)) return fresh_insert();
  if (live_.size() == 0) {
    // With nothing to act on, the table can only grow.
    if (mix.insert == 0 && mix.increment == 0) return misfit("the mix has no live key to draw and inserts none");
    return fresh_insert();
  }
  uint64_t key = live_.draw(mix.distribution, mix.theta, random_);
  if (within(mix.increment)) return std::optional(increment(key, step().by));
  if (within(mix.update)) return std::optional(write(OpKind::kUpdate, key));
  if (within(mix.erase)) return std::optional(Operation{.kind = OpKind::kErase, .key = key});
  if (within(mix.rmw)) rmw_key_ = key;
  return std::optional(Operation{.kind = OpKind::kLookup, .key = key});
}

std::optional<EngineError> Workload::completed(powercut_status status) {
  assert(running_);
  Operation operation = *std::exchange(running_, std::nullopt);
  if (status != POWERCUT_UNSUPPORTED) answered(operation);
  switch (status) {
    case POWERCUT_OK:
      if (operation.kind == OpKind::kInsert || operation.kind == OpKind::kIncrement) live_.insert(operation.key);
      if (operation.kind == OpKind::kErase) live_.erase(operation.key);
      return std::nullopt;
    case POWERCUT_NOT_FOUND:
    case POWERCUT_EXISTS:
      // Right or wrong, the oracle judges it from the trace. Live keys stay as the workload knows them.
      return std::nullopt;
    case POWERCUT_FULL:
      // A mix goes on with operations that fit; a fill waits for a full table; a step that names its keys needs these
      // keys.
      if (step().kind == StepKind::kFill) ended_ = true;
      if (step().kind == StepKind::kFill || step().kind == StepKind::kMix) return std::nullopt;
      return lacks(describe(operation) + " answered FULL", "more room");
    case POWERCUT_UNSUPPORTED:
      // Once is enough to know that the target has the operation: then this answer is a mistake, and no lack.
      if (supports(operation))
        return misfit("the target does not support " + describe(operation) + ", but has supported one before");
      return lacks("the target does not support " + describe(operation), name_of_need(operation));
    case POWERCUT_TOO_LARGE:
      return too_large(operation);
    case POWERCUT_BAD_CONFIG:
      return misfit(describe(operation) + " answered BAD_CONFIG");
    case POWERCUT_NOT_FORMATTED:
    case POWERCUT_CORRUPT:
      break;
  }
  return harness_error(
      describe(operation) + " answered " + std::string(status_name(status)) + " while recording, without a power cut",
      place(), "The target is broken by itself: correct it before looking for crash states.");
}

void Workload::interrupted(bool present) {
  assert(running_);
  Operation operation = *std::exchange(running_, std::nullopt);
  if (operation.kind != OpKind::kMaintain) {
    if (present) {
      live_.insert(operation.key);
    } else {
      live_.erase(operation.key);
    }
  }
  ended_ = true;
}

void Workload::mark(std::string_view name) {
  if (phase_ < scenario_.phases.size() && step_ < phase().steps.size() && step().kind == StepKind::kUntil &&
      step().text == name) {
    ended_ = true;
  }
}

}  // namespace powercut
