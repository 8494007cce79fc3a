#include "tracer/record/recording.h"

#include <algorithm>
#include <exception>

#include "base/engine_version.h"
#include "tracer/format/layout.h"
#include "tracer/format/trace_names.h"
#include "tracer/record/key_bytes.h"
#include "tracer/runtime/content_listener.h"
#include "tracer/runtime/recording/module_map.h"
#include "tracer/world/arena.h"
#include "tracer/world/pool_traps.h"
#include "tracer/world/virtual_world.h"

namespace powercut {

namespace {

// Room beyond the value's size, so that a value that is too long shows as one in the trace.
constexpr size_t kLookupSlack = 64;

powercut_bytes view(const std::vector<uint8_t>& bytes) { return {bytes.data(), bytes.size()}; }

// The build id of the library that holds the target's code: a trace belongs to the very binary it came from.
std::string build_id_of(const powercut_target& target) {
  ModuleMap modules;
  std::optional<ModuleMap::Place> place = modules.find(reinterpret_cast<uint64_t>(target.open));
  return place ? place->module->build_id : "";
}

}  // namespace

Json trace_metadata(const Plan& plan, const TargetLibrary& library, const powercut_traits& traits, const Pool& pool) {
  return {{"plan", plan.json},
          {"target",
           {{"name", library.target().name},
            {"variant", plan.target.variant},
            {"path", library.resolved_path()},
            {"build_id", build_id_of(library.target())},
            {"traits", traits_json(traits)}}},
          {"pool", {{"base", reinterpret_cast<uint64_t>(pool.base())}, {"size", pool.size()}}},
          {"seed", plan.seed},
          {"engine", engine_version()}};
}

Recording::Recording(const Plan& plan, const TargetLibrary& library, const TargetConfig& config, bool checks_exists,
                     const Pool& pool, const Capture* capture, Progress& progress, Announcer* announcer,
                     PhaseOfThreads* threads)
    : plan_(plan),
      target_(library.target()),
      config_(config),
      pool_(pool),
      capture_(capture),
      announcer_(announcer),
      threads_(threads),
      progress_(progress),
      workload_(plan.scenario, plan.seed, checks_exists),
      lookup_buffer_(plan.scenario.data.value.most + kLookupSlack) {
  sink_.self = this;
  sink_.mark = [](void* self, const char* name) { static_cast<Recording*>(self)->on_mark(name); };
  if (capture != nullptr) {
    sink_.store = [](void* self, uint64_t addr, uint64_t size, uint32_t flags, const void* value, const void* pc,
                     const void* frame) { recorder_of(self).store(addr, size, flags, value, pc, frame); };
    sink_.rmw_begin = [](void* self, uint64_t addr, uint64_t size, const void* pc, const void* frame) {
      recorder_of(self).rmw_begin(addr, size, pc, frame);
    };
    sink_.rmw_end = [](void* self, uint64_t addr, uint64_t size, uint32_t stored, const void* pc, const void* frame) {
      recorder_of(self).rmw_end(addr, size, stored, pc, frame);
    };
    sink_.flush = [](void* self, uint64_t addr, uint32_t kind, const void* pc, const void* frame) {
      recorder_of(self).flush(addr, kind, pc, frame);
    };
    sink_.fence = [](void* self, uint32_t kind, const void* pc, const void* frame) {
      recorder_of(self).fence(kind, pc, frame);
    };
  }
  if (capture != nullptr && capture->loads != nullptr) {
    sink_.load = [](void* self, uint64_t addr, uint64_t size) { loads_of(self).load(addr, size); };
    sink_.store = [](void* self, uint64_t addr, uint64_t size, uint32_t flags, const void* value, const void* pc,
                     const void* frame) {
      loads_of(self).store(addr, size);
      recorder_of(self).store(addr, size, flags, value, pc, frame);
    };
    sink_.rmw_begin = [](void* self, uint64_t addr, uint64_t size, const void* pc, const void* frame) {
      loads_of(self).load(addr, size);
      recorder_of(self).rmw_begin(addr, size, pc, frame);
    };
  }
  powercut_set_sink(&sink_);
  if (capture != nullptr) {
    const auto named = [](void* self, uint64_t name, const void* bytes, size_t size) {
      recorder_of(self).content(name, {static_cast<const uint8_t*>(bytes), size});
    };
    powercut_hear_contents(named, this);
  }
  if (capture != nullptr) __powercut_store_window = capture->recorder.store_window();
  __powercut_load_window = {0, 0};
  const bool hears_loads = capture != nullptr && capture->loads != nullptr;
  if (hears_loads) __powercut_load_window = capture->recorder.store_window();
  // Where the pool's own address cannot be accessed, a load must go through its hook as well.
  if (pool.watched()) {
    if (!hears_loads) __powercut_load_window = {kPoolBase, pool.size()};
    watched = this;
    watch_traps(pool.size(), {.running = in_a_call, .cannot_follow = give_up, .blocked = hang});
  }
  __powercut_real_flush = 0;
  __powercut_steps = INT64_MAX;
}

Recording::~Recording() {
  __powercut_store_window = {0, 0};
  __powercut_load_window = {0, 0};
  powercut_set_sink(nullptr);
  powercut_hear_contents(nullptr, nullptr);
  watched = nullptr;
}

bool Recording::in_a_call(uint64_t) { return watched != nullptr && watched->in_call_; }

void Recording::give_up(const std::string& what, const void*, const void*) {
  watched->unfollowed_ = what;
  siglongjmp(watched->leave_, kUnfollowed);
}

void Recording::hang(const void*, const void*) {
  watched->unfollowed_ = "it waits for a lock in the pool that is taken";
  siglongjmp(watched->leave_, kUnfollowed);
}

Recorder& Recording::recorder_of(void* self) { return static_cast<Recording*>(self)->capture_->recorder; }

LoadCounter& Recording::loads_of(void* self) { return *static_cast<Recording*>(self)->capture_->loads; }

void Recording::append(EventKind kind, uint8_t code, const Call* call, std::span<const uint8_t> value,
                       std::string_view text) {
  if (capture_ == nullptr && announcer_ == nullptr) return;
  Event event;
  event.kind = kind;
  event.code = code;
  event.value = value;
  event.text = text;
  if (call != nullptr) event.key = call->key;
  if (capture_ != nullptr) capture_->writer.append(event);
  if (announcer_ != nullptr) announcer_->append(event);
}

void Recording::on_mark(const char* name) {
  if (capture_ != nullptr) capture_->recorder.mark(std::string_view(name).substr(0, layout::kMaxText));
  if (announcer_ != nullptr) {
    Event event;
    event.kind = EventKind::kMarker;
    event.text = name;
    announcer_->append(event);
  }
  if (phase_ != nullptr && phase_->explore) {
    auto mark = marks_.find(std::string_view(name));
    if (mark == marks_.end()) mark = marks_.emplace(name, 0).first;
    ++mark->second;
  }
  workload_.mark(name);
  if (in_call_ && cut_pending_ && phase_->cut_at == name) {
    cut_pending_ = false;
    // Leaves the target's frames as a power cut would: nothing of them runs any more.
    siglongjmp(leave_, 1);
  }
}

template <typename Body>
Recording::Outcome Recording::call(const Call& call, std::string_view description, Body&& body) {
  progress_.start(description, workload_.place());
  append(EventKind::kOpBegin, static_cast<uint8_t>(call.kind), &call, call.value, call.text);
  LoadCounter* loads = capture_ == nullptr ? nullptr : capture_->loads;
  if (loads != nullptr) loads->begin();
  result_.clear();
  // Call stacks end here: the engine's own frames say nothing about the program.
  constexpr size_t kDeepest = size_t{4} << 20;
  const auto* here = static_cast<const char*>(__builtin_frame_address(0));
  powercut_stack_range(here - kDeepest, here);
  in_call_ = true;
  // Memory that threads may free must be memory that an undone schedule can give back.
  const bool own_heap = threads_ != nullptr;
  arena_active = own_heap;
  const RecordedCode in_the_virtual_world;  // it has no destructor to miss: a jump comes back to this frame
  if (const int left = sigsetjmp(leave_, 0); left != 0) {
    in_call_ = arena_active = false;
    return left == kUnfollowed ? Outcome::kThrew : Outcome::kCut;
  }
  powercut_status status = POWERCUT_OK;
  try {
    status = body();
  } catch (const std::exception& exception) {
    in_call_ = arena_active = false;
    exception_ = exception.what();
    return Outcome::kThrew;
  } catch (...) {
    in_call_ = arena_active = false;
    exception_ = "of a type of its own";
    return Outcome::kThrew;
  }
  in_call_ = arena_active = false;
  if (loads != nullptr) loads->end(name_of(call.kind), phase_ != nullptr && phase_->explore);
  append(EventKind::kOpEnd, static_cast<uint8_t>(status), nullptr, result_, {});
  return Outcome::kReturned;
}

EngineError Recording::threw(std::string_view description) const {
  if (!unfollowed_.empty()) {
    return harness_error(std::string(description) + " cannot be recorded: " + unfollowed_, workload_.place(),
                         "Compile that code with 'powercut cc' or 'powercut c++', or take it out of the path.");
  }
  return harness_error(std::string(description) + " threw an exception (" + exception_ + "), without a power cut",
                       workload_.place(),
                       "The target is broken by itself: correct it before looking for crash states.");
}

std::optional<EngineError> Recording::open(const char* when) {
  powercut_status status = POWERCUT_OK;
  table_ = nullptr;
  Call now{.kind = OpKind::kOpen, .key = {}, .value = {}, .text = {}};
  std::string description = std::string("open ") + when;
  Outcome outcome = call(now, description, [&] { return status = target_.open(pool_.view(), config_.get(), &table_); });
  if (outcome == Outcome::kThrew) return threw(description);
  if (status == POWERCUT_BAD_CONFIG) {
    return usage_error("open refuses the configuration: " + config_.problem(), workload_.place(),
                       "Correct [config] of the scenario.");
  }
  if (status != POWERCUT_OK || table_ == nullptr) {
    return harness_error(
        description + " answered " + (status == POWERCUT_OK ? "OK without a table" : status_name(status)) +
            ", with every store durable",
        workload_.place(), "The target is broken by itself: correct it before looking for crash states.");
  }
  return std::nullopt;
}

std::optional<EngineError> Recording::begin() {
  powercut_status status = POWERCUT_OK;
  Call now{.kind = OpKind::kFormat, .key = {}, .value = {}, .text = {}};
  Outcome outcome = call(now, "format", [&] { return status = target_.format(pool_.view(), config_.get()); });
  if (outcome == Outcome::kThrew) return threw("format");
  if (status == POWERCUT_BAD_CONFIG) {
    return usage_error("format refuses the configuration: " + config_.problem(), workload_.place(),
                       "Correct [config] of the scenario.");
  }
  if (status == POWERCUT_FULL) {
    EngineError error =
        usage_error("the pool is too small for an empty table", workload_.place(), "Make [pool] size larger.");
    error.needs = "a larger pool";
    return error;
  }
  if (status != POWERCUT_OK) {
    return harness_error(std::string("format answered ") + status_name(status), workload_.place(),
                         "The target is broken by itself: correct it before looking for crash states.");
  }
  return open("of the fresh pool");
}

Recording::Outcome Recording::lookup(uint64_t key, powercut_status* status) {
  Call now{.kind = OpKind::kLookup, .key = plan_.scenario.data.key_of(key), .value = {}, .text = {}};
  describe(Operation{.kind = OpKind::kLookup, .key = key}, &description_);
  return call(now, description_, [&] {
    size_t size = 0;
    *status = target_.lookup(table_, view(now.key), lookup_buffer_.data(), lookup_buffer_.size(), &size);
    if (*status == POWERCUT_OK) {
      size_t most = std::min({size, lookup_buffer_.size(), layout::kMaxOperationBytes});
      result_.assign(lookup_buffer_.begin(), lookup_buffer_.begin() + static_cast<ptrdiff_t>(most));
    }
    return *status;
  });
}

std::optional<EngineError> Recording::cut(const Operation& operation) {
  append(EventKind::kCut, 0, nullptr, {}, {});
  if (auto error = open(("after the cut in " + describe(operation)).c_str())) return error;
  // Whether the interrupted operation happened is the table's to say.
  bool present = workload_.live().contains(operation.key);
  if (operation.kind != OpKind::kMaintain && operation.kind != OpKind::kLookup) {
    powercut_status status = POWERCUT_OK;
    if (lookup(operation.key, &status) == Outcome::kThrew) return threw("lookup after the cut");
    if (status != POWERCUT_OK && status != POWERCUT_NOT_FOUND) {
      return harness_error("the lookup after the cut in " + describe(operation) + " answered " + status_name(status),
                           workload_.place(),
                           "The target is broken by itself: correct it before looking for crash states.");
    }
    present = status == POWERCUT_OK;
  }
  workload_.interrupted(present);
  return std::nullopt;
}

std::optional<EngineError> Recording::run_operation(const Operation& operation) {
  Call now{.kind = operation.kind, .key = {}, .value = {}, .text = operation.text};
  if (operation.key != 0) now.key = plan_.scenario.data.key_of(operation.key);
  if (operation.serial != 0) now.value = plan_.scenario.data.value_of(operation.serial, operation.value_size);
  if (operation.kind == OpKind::kIncrement) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&operation.delta);
    now.value.assign(bytes, bytes + sizeof operation.delta);
  }
  powercut_status status = POWERCUT_OK;
  Outcome outcome = Outcome::kReturned;
  if (operation.kind == OpKind::kLookup) {
    outcome = lookup(operation.key, &status);
  } else {
    describe(operation, &description_);
    outcome = call(now, description_, [&] {
      // A step's whole text: it ends with a zero byte.
      return status =
                 call_change(target_, table_, operation.kind, view(now.key), view(now.value), operation.text.data());
    });
  }
  if (outcome == Outcome::kThrew) return threw(describe(operation));
  if (outcome == Outcome::kCut) return cut(operation);
  return workload_.completed(status);
}

std::optional<EngineError> Recording::missing_marks() const {
  for (const std::string& mark : plan_.scenario.expect_marks) {
    if (marks_.contains(mark)) continue;
    return usage_error("the explored phases never reach the mark '" + mark + "', which the scenario expects",
                       "scenario " + plan_.scenario.name,
                       "Change its steps until they reach the mark, or take it out of expect_marks.");
  }
  return std::nullopt;
}

EngineError Recording::missing_cut() const {
  return usage_error("the phase '" + phase_->name + "' never reaches the mark '" + phase_->cut_at + "' of its cut_at",
                     "scenario " + plan_.scenario.name,
                     "Change its steps until they reach the mark, or remove cut_at.");
}

std::optional<EngineError> Recording::run() {
  if (auto error = begin()) return error;
  while (true) {
    Result<Workload::Item> item = workload_.next();
    if (!item) return item.error();
    if (item->phase != nullptr || !item->operation) {
      if (cut_pending_) return missing_cut();
    }
    if (item->phase != nullptr) {
      phase_ = item->phase;
      cut_pending_ = !phase_->cut_at.empty();
      append(EventKind::kPhase, phase_->explore ? 1 : 0, nullptr, {}, phase_->name);
      if (phase_->threads.empty()) continue;
      progress_.start("the schedules of its threads", workload_.place());
      if (auto error = threads_->run(*phase_, table_, [this](const char* name) { ++marks_[name]; }, &progress_)) {
        return error;
      }
      return missing_marks();
    }
    if (!item->operation) break;
    if (auto error = run_operation(*item->operation)) return error;
  }
  Call now{.kind = OpKind::kClose, .key = {}, .value = {}, .text = {}};
  Outcome outcome = call(now, "close", [&] {
    target_.close(table_);
    return POWERCUT_OK;
  });
  if (outcome == Outcome::kThrew) return threw("close");
  return missing_marks();
}

}  // namespace powercut
