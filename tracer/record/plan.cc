#include "tracer/record/plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <set>

#include "base/user_file.h"
#include "tracer/format/layout.h"
#include "tracer/record/key_bytes.h"
#include "tracer/world/memory_range.h"

namespace powercut {

namespace {

constexpr int kPlanVersion = 1;
constexpr const char* kNext = "scenarios/SCHEMA.md describes the plan.";
constexpr uint64_t kMaxPool = 1ull << 40;
constexpr size_t kFewestThreads = 2, kMostThreads = 4;
constexpr uint64_t kMostPreemptions = 1000;
constexpr uint64_t kMostSchedules = 1000ull * 1000 * 1000 * 1000;

// Thrown by the readers below and caught by parse_plan(): parsing descends too deep for results to be
// handed up by hand at every field.
struct PlanProblem {
  std::string at, what;
};

// One JSON object: fields are taken by name, and what was not taken is unknown.
class Object {
 public:
  Object(const Json& json, std::string at) : json_(json), at_(std::move(at)) {
    if (!json.is_object()) throw PlanProblem{at_.empty() ? "plan" : at_, "this must be an object"};
  }

  std::string path(const std::string& key) const { return at_.empty() ? key : at_ + "." + key; }
  bool has(const std::string& key) const { return json_.contains(key) && !json_[key].is_null(); }

  const Json& take(const std::string& key) {
    taken_.insert(key);
    if (!json_.contains(key)) throw PlanProblem{path(key), "this field is missing"};
    return json_[key];
  }
  std::string text(const std::string& key) {
    const Json& value = take(key);
    if (!value.is_string()) throw PlanProblem{path(key), "this must be a text"};
    // Names travel on as C strings and as texts of trace records.
    const std::string& result = value.get_ref<const std::string&>();
    if (result.find('\0') != std::string::npos) throw PlanProblem{path(key), "this text holds a zero byte"};
    if (result.size() > layout::kMaxText) throw PlanProblem{path(key), "this text is longer than 4096 bytes"};
    return result;
  }
  uint64_t number(const std::string& key, uint64_t least, uint64_t most) {
    return number_of(take(key), path(key), least, most);
  }
  double real(const std::string& key, double least, double most) {
    const Json& value = take(key);
    if (!value.is_number()) throw PlanProblem{path(key), "this must be a number"};
    double result = value.get<double>();
    if (!(result >= least && result <= most)) {
      throw PlanProblem{path(key), "this must be between " + Json(least).dump() + " and " + Json(most).dump()};
    }
    return result;
  }
  int64_t integer(const std::string& key) {
    const Json& value = take(key);
    if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX)) {
      throw PlanProblem{path(key), "this must be a whole number of 64 bits"};
    }
    return value.get<int64_t>();
  }
  bool boolean(const std::string& key) {
    const Json& value = take(key);
    if (!value.is_boolean()) throw PlanProblem{path(key), "this must be true or false"};
    return value.get<bool>();
  }
  const Json& array(const std::string& key, bool may_be_empty) {
    const Json& value = take(key);
    if (!value.is_array()) throw PlanProblem{path(key), "this must be a list"};
    if (value.empty() && !may_be_empty) throw PlanProblem{path(key), "this list must not be empty"};
    return value;
  }
  Object object(const std::string& key) { return Object(take(key), path(key)); }

  // Called last.
  void nothing_else() const {
    for (const auto& [key, value] : json_.items()) {
      if (!taken_.contains(key)) throw PlanProblem{path(key), "unknown key"};
    }
  }
  void allow(const std::string& key) { taken_.insert(key); }

  static uint64_t number_of(const Json& value, const std::string& at, uint64_t least, uint64_t most) {
    if (!value.is_number_integer()) throw PlanProblem{at, "this must be a whole number"};
    bool negative = !value.is_number_unsigned() && value.get<int64_t>() < 0;
    uint64_t result = negative ? 0 : value.get<uint64_t>();
    if (negative || result < least || result > most) {
      throw PlanProblem{at, "this must be between " + std::to_string(least) + " and " + std::to_string(most)};
    }
    return result;
  }

 private:
  const Json& json_;
  std::string at_;
  std::set<std::string> taken_;
};

std::vector<std::string> texts(Object& object, const std::string& key) {
  std::vector<std::string> result;
  for (const Json& value : object.array(key, true)) {
    if (!value.is_string()) throw PlanProblem{object.path(key), "every element must be a text"};
    result.push_back(value.get<std::string>());
  }
  return result;
}

TargetSpec parse_target(Object object) {
  TargetSpec target;
  target.library = object.text("library");
  target.name = object.text("name");
  target.variant = object.text("variant");
  const Json& options = object.take("options");
  if (!options.is_object()) throw PlanProblem{object.path("options"), "this must be an object of texts"};
  for (const auto& [key, value] : options.items()) {
    if (!value.is_string()) throw PlanProblem{object.path("options") + "." + key, "this must be a text"};
    target.options.emplace_back(key, value.get<std::string>());
  }
  object.nothing_else();
  return target;
}

uint64_t parse_key(const Json& key, const std::string& at) {
  if (!key.is_string()) return Object::number_of(key, at, 1, kMaxNumberedKey);
  const std::optional<uint64_t> named = named_key(key.get_ref<const std::string&>());
  if (!named) throw PlanProblem{at, "unknown key '" + key.get<std::string>() + "'; a number, \"zeros\" or \"ones\""};
  return *named;
}

void parse_keys(Object& object, Step& step) {
  if (object.has("keys")) {
    const Json& keys = object.array("keys", false);
    for (size_t i = 0; i < keys.size(); ++i) {
      step.keys.push_back(parse_key(keys[i], object.path("keys") + "[" + std::to_string(i) + "]"));
    }
    if (object.has("from") || object.has("to")) {
      throw PlanProblem{object.path("keys"), "name the keys once: either by 'keys' or by 'from' and 'to'"};
    }
    return;
  }
  step.from = object.number("from", 1, kMaxNumberedKey);
  step.to = object.number("to", step.from, kMaxNumberedKey);
}

Mix parse_mix(Object& object) {
  Mix mix;
  mix.operations = object.number("operations", 1, 1ull << 40);
  for (auto [key, share] : {std::pair{"read", &mix.read},
                            {"update", &mix.update},
                            {"insert", &mix.insert},
                            {"increment", &mix.increment},
                            {"erase", &mix.erase},
                            {"rmw", &mix.rmw}}) {
    if (object.has(key)) *share = object.real(key, 0, 1);
  }
  double total = mix.read + mix.update + mix.insert + mix.increment + mix.erase + mix.rmw;
  if (std::abs(total - 1) > 1e-6) {
    throw PlanProblem{object.path("read"), "the shares read, update, insert, increment, erase and rmw add up to " +
                                               Json(total).dump() + ", not 1"};
  }
  if (object.has("distribution")) {
    std::string name = object.text("distribution");
    if (name == "uniform") {
      mix.distribution = Distribution::kUniform;
    } else if (name == "latest") {
      mix.distribution = Distribution::kLatest;
    } else if (name != "zipfian") {
      throw PlanProblem{object.path("distribution"), "unknown distribution '" + name + "'; zipfian, uniform, latest"};
    }
  }
  if (object.has("theta")) {
    mix.theta = object.real("theta", 0, 1);
    // Gray's formula divides by 1 - theta.
    if (mix.theta <= 0 || mix.theta >= 1) throw PlanProblem{object.path("theta"), "this must lie between 0 and 1"};
  }
  return mix;
}

Step parse_step(Object object) {
  Step step;
  std::string op = object.text("op");
  if (op == "insert" || op == "update" || op == "erase" || op == "lookup" || op == "increment") {
    step.kind = op == "insert"   ? StepKind::kInsert
                : op == "update" ? StepKind::kUpdate
                : op == "erase"  ? StepKind::kErase
                : op == "lookup" ? StepKind::kLookup
                                 : StepKind::kIncrement;
    if (step.kind == StepKind::kIncrement && object.has("by")) step.by = object.integer("by");
    const bool writes = step.kind == StepKind::kInsert || step.kind == StepKind::kUpdate;
    if (writes && object.has("value_size")) {
      step.value_size = static_cast<uint32_t>(object.number("value_size", 1, layout::kMaxOperationBytes));
    }
    for (const char* key : {"keys", "from", "to"}) object.allow(key);
    parse_keys(object, step);
  } else if (op == "maintain") {
    step.kind = StepKind::kMaintain;
    step.text = object.text("command");
  } else if (op == "fill") {
    step.kind = StepKind::kFill;
    step.limit = object.number("limit", 1, kMaxNumberedKey);
  } else if (op == "until") {
    step.kind = StepKind::kUntil;
    step.text = object.text("mark");
    step.limit = object.number("limit", 1, kMaxNumberedKey);
  } else if (op == "mix") {
    step.kind = StepKind::kMix;
    for (const char* key : {"read", "update", "insert", "increment", "erase", "rmw", "distribution", "theta"}) {
      object.allow(key);
    }
    step.mix = parse_mix(object);
  } else {
    throw PlanProblem{object.path("op"),
                      "unknown op '" + op + "'; insert, update, erase, lookup, increment, maintain, fill, until, mix"};
  }
  object.nothing_else();
  return step;
}

std::vector<Step> parse_steps(const Json& steps, const std::string& at, Step (*parse)(Object) = parse_step) {
  if (!steps.is_array()) throw PlanProblem{at, "this must be a list"};
  if (steps.empty()) throw PlanProblem{at, "this list must not be empty"};
  std::vector<Step> result;
  for (size_t i = 0; i < steps.size(); ++i) {
    result.push_back(parse(Object(steps[i], at + "[" + std::to_string(i) + "]")));
  }
  return result;
}

// The operations of `fill`, `until` and `mix` depend on earlier operations, and so on the schedule.
void refuse_open_steps(const std::vector<Step>& steps, const std::string& at) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const StepKind kind = steps[i].kind;
    if (kind == StepKind::kFill || kind == StepKind::kUntil || kind == StepKind::kMix) {
      throw PlanProblem{at + "[" + std::to_string(i) + "].op",
                        "in and after threads there are insert, update, erase, lookup, increment and maintain"};
    }
  }
}

// A step that is one of several operations; the explorer chooses which.
Step parse_any(Object object) {
  Step step;
  step.kind = StepKind::kAny;
  const std::string at = object.path("any");
  step.any = parse_steps(object.take("any"), at);
  refuse_open_steps(step.any, at);
  if (step.any.size() > kMostAlternatives) {
    throw PlanProblem{at, "there may be " + std::to_string(kMostAlternatives) + " alternatives at most"};
  }
  for (size_t i = 0; i < step.any.size(); ++i) {
    const Step& one = step.any[i];
    const bool several = one.keys.empty() ? one.from != one.to : one.keys.size() != 1;
    if (one.kind != StepKind::kMaintain && several) {
      throw PlanProblem{at + "[" + std::to_string(i) + "]", "an alternative is one operation, of one key"};
    }
  }
  object.nothing_else();
  return step;
}

Step parse_thread_step(Object object) {
  return object.has("any") ? parse_any(std::move(object)) : parse_step(std::move(object));
}

// Where one thread has a choice, what each has taken up is followed.
void check_choices(const std::vector<std::vector<Step>>& threads, const std::string& at) {
  const auto chooses = [](const Step& step) { return step.kind == StepKind::kAny; };
  if (std::none_of(threads.begin(), threads.end(),
                   [&](const auto& steps) { return std::any_of(steps.begin(), steps.end(), chooses); })) {
    return;
  }
  for (size_t i = 0; i < threads.size(); ++i) {
    uint64_t operations = 0;
    for (const Step& step : threads[i]) {
      const bool keys = !chooses(step) && step.kind != StepKind::kMaintain;
      operations += keys ? std::max<uint64_t>(step.keys.size(), step.to - step.from + 1) : 1;
    }
    if (operations <= kMostChoosing) continue;
    throw PlanProblem{at + "[" + std::to_string(i) + "]",
                      "where threads have a choice, each has " + std::to_string(kMostChoosing) + " operations at most"};
  }
}

void parse_threads(Object& object, Phase& phase) {
  const Json& threads = object.array("threads", false);
  const std::string at = object.path("threads");
  if (threads.size() < kFewestThreads || threads.size() > kMostThreads) {
    throw PlanProblem{at, "there may be 2 to 4 threads, not " + std::to_string(threads.size())};
  }
  if (object.has("steps")) throw PlanProblem{at, "a phase has 'steps' or 'threads', not both"};
  if (!phase.cut_at.empty()) throw PlanProblem{object.path("cut_at"), "threads are not cut at a mark"};
  if (!phase.explore) throw PlanProblem{object.path("explore"), "threads are always explored"};
  for (size_t i = 0; i < threads.size(); ++i) {
    const std::string thread = at + "[" + std::to_string(i) + "]";
    phase.threads.push_back(parse_steps(threads[i], thread, parse_thread_step));
    refuse_open_steps(phase.threads.back(), thread);
  }
  check_choices(phase.threads, at);
  if (object.has("alike")) phase.alike = object.boolean("alike");
}

Phase parse_phase(Object object) {
  Phase phase;
  phase.name = object.text("name");
  phase.explore = object.boolean("explore");
  object.allow("cut_at");
  if (object.has("cut_at")) phase.cut_at = object.text("cut_at");
  if (object.has("threads")) {
    parse_threads(object, phase);
  } else {
    phase.steps = parse_steps(object.take("steps"), object.path("steps"));
  }
  object.nothing_else();
  return phase;
}

Search parse_search(Object object) {
  Search search;
  search.kind = object.text("kind");
  constexpr std::array kKinds = {"bounded", "random", "pct", "recorded"};
  if (std::find(kKinds.begin(), kKinds.end(), search.kind) == kKinds.end()) {
    throw PlanProblem{object.path("kind"), "unknown search '" + search.kind + "'; bounded, random, pct, recorded"};
  }
  object.take("preemptions");
  if (object.has("preemptions")) {
    if (search.kind != "bounded") throw PlanProblem{object.path("preemptions"), "only 'bounded' has such a bound"};
    search.preemptions = static_cast<uint32_t>(object.number("preemptions", 0, kMostPreemptions));
  }
  search.schedules = object.number("schedules", search.kind == "bounded" ? 0 : 1, kMostSchedules);
  search.model = object.text("model");
  object.allow("visibility");
  if (object.has("visibility")) search.visibility = object.text("visibility");
  if (search.visibility != "sc" && search.visibility != "tso") {
    throw PlanProblem{object.path("visibility"), "unknown visibility '" + search.visibility + "'; sc, tso"};
  }
  if (search.visibility == "tso" && (search.kind == "recorded" || search.model != "adr")) {
    throw PlanProblem{object.path("visibility"), "store buffers are for schedules that are searched, and for 'adr'"};
  }
  if (object.has("slow")) search.slow = object.boolean("slow");
  object.nothing_else();
  return search;
}

// One phase with threads at most, and after it only steps that do the same after every schedule.
void check_threads(const std::vector<Phase>& phases, const std::string& at) {
  bool found = false;
  for (size_t i = 0; i < phases.size(); ++i) {
    const std::string phase = at + "[" + std::to_string(i) + "]";
    if (found && !phases[i].threads.empty()) throw PlanProblem{phase + ".threads", "only one phase has threads"};
    if (found && !phases[i].cut_at.empty()) throw PlanProblem{phase + ".cut_at", "nothing after threads is cut"};
    if (found) refuse_open_steps(phases[i].steps, phase + ".steps");
    found = found || !phases[i].threads.empty();
  }
}

// A plan writes a number where all have one size, or else a pair of the least and the most. Eight bytes tell every key,
// and every value, from every other: mix() is a bijection of 64 bits. Shorter values may coincide; only a scenario that
// draws sizes has values so short.
SizeRange parse_sizes(Object& object, const char* key, uint64_t least_drawn) {
  const Json& sizes = object.take(key);
  const auto size = [&](const Json& value, const std::string& at, uint64_t least) {
    return Object::number_of(value, at, least, layout::kMaxOperationBytes);
  };
  const std::string at = object.path(key);
  if (!sizes.is_array()) {
    const uint64_t one = size(sizes, at, kMinIdentityBytes);
    return {one, one};
  }
  if (sizes.size() != 2) throw PlanProblem{at, "this must be a size, or a pair of the least size and the most"};
  const uint64_t least = size(sizes[0], at + "[0]", least_drawn);
  return {least, size(sizes[1], at + "[1]", least)};
}

// A step's own size of its values is one of the scenario's sizes.
void check_value_sizes(const Scenario& scenario) {
  const SizeRange sizes = scenario.data.value;
  const auto check = [sizes](const std::vector<Step>& steps, const std::string& at) {
    for (size_t i = 0; i < steps.size(); ++i) {
      const uint32_t own = steps[i].value_size;
      if (own == 0 || sizes.has(own)) continue;
      throw PlanProblem{
          at + "[" + std::to_string(i) + "].value_size",
          "the scenario's values have " + std::to_string(sizes.least) + " to " + std::to_string(sizes.most) + " bytes"};
    }
  };
  for (size_t i = 0; i < scenario.phases.size(); ++i) {
    const Phase& phase = scenario.phases[i];
    const std::string at = "scenario.phases[" + std::to_string(i) + "]";
    check(phase.steps, at + ".steps");
    for (size_t thread = 0; thread < phase.threads.size(); ++thread) {
      const std::string steps = at + ".threads[" + std::to_string(thread) + "]";
      check(phase.threads[thread], steps);
      for (size_t j = 0; j < phase.threads[thread].size(); ++j) {
        check(phase.threads[thread][j].any, steps + "[" + std::to_string(j) + "].any");
      }
    }
  }
}

Scenario parse_scenario(Object object) {
  Scenario scenario;
  scenario.name = object.text("name");
  scenario.pool_size = object.number("pool_size", kPageSize, kMaxPool);
  if (scenario.pool_size % kPageSize != 0) {
    throw PlanProblem{object.path("pool_size"), "this must be a multiple of 4096 bytes"};
  }
  scenario.data.key = parse_sizes(object, "key_size", kMinIdentityBytes);
  scenario.data.value = parse_sizes(object, "value_size", 1);
  scenario.expect_marks = texts(object, "expect_marks");
  const Json& phases = object.array("phases", false);
  for (size_t i = 0; i < phases.size(); ++i) {
    scenario.phases.push_back(parse_phase(Object(phases[i], object.path("phases") + "[" + std::to_string(i) + "]")));
  }
  object.nothing_else();
  return scenario;
}

}  // namespace

bool Scenario::has_threads() const {
  return std::any_of(phases.begin(), phases.end(), [](const Phase& phase) { return !phase.threads.empty(); });
}

bool Scenario::has_choice() const {
  for (const Phase& phase : phases) {
    for (const std::vector<Step>& thread : phase.threads) {
      if (std::any_of(thread.begin(), thread.end(), [](const Step& step) { return !step.any.empty(); })) return true;
    }
  }
  return false;
}

Result<Plan> parse_plan(const std::string& text, const std::string& where) {
  Plan plan;
  try {
    plan.json = parse_json(text);
    if (plan.json.is_discarded()) {
      return usage_error("the plan is not well-formed JSON, or nests deeper than 100 levels", where, kNext);
    }
    Object object(plan.json, "");
    object.number("plan", kPlanVersion, kPlanVersion);
    plan.target = parse_target(object.object("target"));
    plan.scenario = parse_scenario(object.object("scenario"));
    check_threads(plan.scenario.phases, "scenario.phases");
    if (plan.scenario.has_threads()) plan.search = parse_search(object.object("search"));
    if (plan.search.kind == "recorded" && plan.scenario.has_choice()) {
      throw PlanProblem{"search.kind", "threads that are recorded have no choice; write their operations out"};
    }
    plan.seed = object.number("seed", 0, UINT64_MAX);
    plan.scenario.data.seed = plan.seed;
    check_value_sizes(plan.scenario);
    object.nothing_else();
  } catch (const PlanProblem& problem) {
    std::string what = problem.at == "plan" && problem.what.starts_with("this must be between")
                           ? "the plan has another version than 1, the one that this build reads"
                           : problem.at + ": " + problem.what;
    return usage_error(what, where, kNext);
  } catch (const Json::exception& wrong) {
    return usage_error(std::string("the plan is not well-formed JSON (") + wrong.what() + ")", where, kNext);
  }
  return plan;
}

Result<Plan> read_plan(const std::string& path) {
  const Result<std::string> text = read_user_file(path, "'powercut record' writes a plan and passes it on.");
  if (!text) return text.error();
  return parse_plan(*text, path);
}

Result<Plan> plan_of_trace(const std::string& metadata, const std::string& trace) {
  const char* next = "Record it again with 'powercut record'.";
  const Json json = parse_json(metadata);
  if (json.is_discarded()) return usage_error("the trace's metadata is not JSON", trace, next);
  if (json.is_object() && json.contains("files")) {
    return usage_error("this is the recording of a folder, and no recovery runs on folders yet", trace,
                       "Look at it with 'powercut view'.");
  }
  if (!json.is_object() || !json.contains("plan")) {
    return usage_error("the trace holds no plan: another tool recorded it", trace, next);
  }
  return parse_plan(json["plan"].dump(), trace);
}

}  // namespace powercut
