// `powercut-engine model`: the persistency models alone, for the litmus suite and the reference comparison.
// Reads small programs as JSON lines on stdin and answers, one line each: of one interleaving ("events") with every
// crash point's legal contents, of threads ("threads") with what the power cuts of all schedules may leave.
// Format: replayer/LITMUS.md.
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/escaping.h"
#include "boost/multiprecision/cpp_int.hpp"
#include "engine/commands.h"
#include "engine/commands/nor_programs.h"
#include "replayer/crash_points/crash_points.h"
#include "replayer/media/medium.h"
#include "replayer/schedules/program_machine.h"
#include "replayer/schedules/search.h"
#include "tracer/format/trace_names.h"

namespace powercut {
namespace {

using nlohmann::json;

uint8_t flags_of_store(const json& step) {
  uint8_t flags = step.value("memcall", false) ? kStoreMemcall : 0;
  if (step.value("continues", false)) flags |= kStoreContinues;
  if (step.value("direct", false)) flags |= kStoreAtomic;
  return flags;
}

uint8_t code_of_flush(const json& step) {
  static const std::map<std::string, FlushKind> kinds = {{"clwb", FlushKind::kClwb},
                                                         {"clflushopt", FlushKind::kClflushopt},
                                                         {"clflush", FlushKind::kClflush},
                                                         {"force", FlushKind::kForce}};
  return static_cast<uint8_t>(kinds.at(step.at("kind").get<std::string>()));
}

// One program step as trace events; a locked read-modify-write is its fence and then its store.
std::vector<Event> events_of(const json& step, uint64_t index, std::string* bytes) {
  const std::string op = step.at("op");
  Event event;
  event.index = index;
  event.thread = step.value("thread", 0u);
  event.addr = step.value("addr", uint64_t{0});
  if (step.contains("bytes")) {
    *bytes = absl::HexStringToBytes(step.at("bytes").get<std::string>());
    event.value = {reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size()};
    event.size = bytes->size();
  }
  Event fence = event;
  fence.kind = EventKind::kFence;
  if (op == "store" || op == "ntstore") {
    event.kind = op == "store" ? EventKind::kStore : EventKind::kNtStore;
    event.flags = flags_of_store(step);
    return {event};
  }
  if (op == "rmw") {
    fence.code = static_cast<uint8_t>(FenceKind::kRmw);
    event.kind = EventKind::kStore;
    event.flags = kStoreRmw;
    return {fence, event};
  }
  if (op == "cas-fail" || op == "fence") {
    const bool device = op == "fence" && step.value("kind", "") == "device";
    fence.code = static_cast<uint8_t>(device          ? FenceKind::kDevice
                                      : op == "fence" ? FenceKind::kSfence
                                                      : FenceKind::kRmw);
    return {fence};
  }
  if (op == "flush") {
    event.kind = EventKind::kFlush;
    event.code = code_of_flush(step);
    return {event};
  }
  if (op == "begin" || op == "end") {
    event.kind = op == "begin" ? EventKind::kOpBegin : EventKind::kOpEnd;
    return {event};
  }
  throw std::invalid_argument("unknown op '" + op + "'");
}

json describe(const Model& model, const CrashPoint& point) {
  boost::multiprecision::cpp_int states = 1;
  json lines = json::object();
  for (const auto& [line, log] : model.pending().lines()) {
    const CandidateSet set = model.candidates(line);
    if (set.contents.size() < 2) continue;
    states *= set.contents.size();
    std::vector<std::string> contents;
    for (const Content& content : set.contents) contents.push_back(hex(content.bytes));
    std::sort(contents.begin(), contents.end());
    lines[std::to_string(line * kLineSize)] = contents;
  }
  return {{point.before ? "before" : "after", point.event}, {"states", states.str()}, {"lines", lines}};
}

using schedules::MadeEvent;
using schedules::ProgramMachine;
using schedules::ThreadProgram;
using schedules::ThreadStep;
using schedules::Visibility;

// The locks of a program by their names; numbered as they are met.
using Locks = std::map<std::string, uint64_t>;

std::vector<uint8_t> bytes_of(const json& step, const char* key) {
  const std::string bytes = absl::HexStringToBytes(step.at(key).get<std::string>());
  return {bytes.begin(), bytes.end()};
}

ThreadStep thread_step_of(const json& step, Locks* locks, uint64_t pool_size) {
  using schedules::StepKind;
  static const std::map<std::string, StepKind> kinds = {{"store", StepKind::kStore},
                                                        {"ntstore", StepKind::kNtStore},
                                                        {"rmw", StepKind::kRmw},
                                                        {"cas", StepKind::kCas},
                                                        {"add", StepKind::kAdd},
                                                        {"cas-fail", StepKind::kFence},
                                                        {"fence", StepKind::kFence},
                                                        {"flush", StepKind::kFlush},
                                                        {"load", StepKind::kLoad},
                                                        {"wait", StepKind::kWait},
                                                        {"store-loaded", StepKind::kStoreLoaded},
                                                        {"lock", StepKind::kLock},
                                                        {"unlock", StepKind::kUnlock},
                                                        {"begin", StepKind::kBegin},
                                                        {"end", StepKind::kEnd}};
  const std::string op = step.at("op");
  const auto kind = kinds.find(op);
  if (kind == kinds.end()) throw std::invalid_argument("unknown op '" + op + "'");
  ThreadStep out;
  out.kind = kind->second;
  out.addr = step.value("addr", uint64_t{0});
  out.size = step.value("size", uint64_t{0});
  if (step.contains("bytes")) out.value = bytes_of(step, "bytes");
  if (step.contains("expected")) out.expected = bytes_of(step, "expected");
  switch (out.kind) {
    case StepKind::kStore:
    case StepKind::kNtStore:
      out.flags = flags_of_store(step);
      if ((out.flags & kStoreContinues) != 0) throw std::invalid_argument("a store of threads has one piece");
      break;
    case StepKind::kFence:
      out.code = static_cast<uint8_t>(op != "fence"                              ? FenceKind::kRmw
                                      : step.value("kind", "sfence") == "sfence" ? FenceKind::kSfence
                                                                                 : FenceKind::kMfence);
      break;
    case StepKind::kFlush:
      out.code = code_of_flush(step);
      break;
    case StepKind::kLock:
    case StepKind::kUnlock:
      out.addr = locks->emplace(step.at("lock").get<std::string>(), locks->size()).first->second;
      return out;
    case StepKind::kRmw:
    case StepKind::kCas:
    case StepKind::kAdd:
    case StepKind::kLoad:
    case StepKind::kStoreLoaded:
    case StepKind::kWait:
    case StepKind::kBegin:
    case StepKind::kEnd:
      break;
  }
  if (out.addr + std::max({out.size, out.value.size(), out.expected.size()}) > pool_size) {
    throw std::invalid_argument(op + " outside the pool");
  }
  return out;
}

ThreadProgram threads_of(const json& threads, uint64_t pool_size) {
  using schedules::StepKind;
  ThreadProgram out;
  Locks locks;
  for (const json& steps : threads) {
    out.emplace_back();
    std::set<uint64_t> held;
    uint64_t loaded = 0;
    for (const json& step : steps) {
      const ThreadStep& added = out.back().emplace_back(thread_step_of(step, &locks, pool_size));
      if (added.kind == StepKind::kLoad) loaded = added.size;
      if (added.kind == StepKind::kStoreLoaded && (loaded == 0 || added.size != loaded)) {
        throw std::invalid_argument("store-loaded: the thread has loaded " + std::to_string(loaded) + " bytes");
      }
      if ((added.kind == StepKind::kLock && !held.insert(added.addr).second) ||
          (added.kind == StepKind::kUnlock && held.erase(added.addr) == 0)) {
        throw std::invalid_argument("a thread locks a lock that it holds, or unlocks a lock that it does not hold");
      }
    }
  }
  return out;
}

// Describes the crash states where the machine stands: the contents of every line, by the model led there from the
// beginning, and the operations begun and ended.
json describe(const ProgramMachine& machine, const std::string& model_name, AtomPolicy policy, uint64_t pool_size) {
  const auto model = make_model(model_name, policy, pool_size);
  json history = json::array(), lines = json::object();
  uint64_t index = 0;
  for (const MadeEvent& made : machine.made()) {
    model->apply(made.event(index++));
    if (made.kind == EventKind::kOpBegin) history.push_back({"begin", made.thread});
    if (made.kind == EventKind::kOpEnd) history.push_back({"end", made.thread});
  }
  for (uint64_t line = 0; line < pool_size / kLineSize; ++line) {
    std::vector<std::string> contents;
    for (const Content& content : model->candidates(line).contents) contents.push_back(hex(content.bytes));
    std::sort(contents.begin(), contents.end());
    lines[std::to_string(line * kLineSize)] = contents;
  }
  return {{"history", history}, {"lines", lines}};
}

Visibility visibility_of(const json& request, const ThreadProgram& program, AtomPolicy policy) {
  using schedules::StepKind;
  const std::string name = request.value("visibility", "sc");
  if (name == "sc") return Visibility::kAtOnce;
  if (name != "tso") throw std::invalid_argument("unknown visibility '" + name + "'; sc, tso");
  for (const std::vector<ThreadStep>& steps : program) {
    for (const ThreadStep& step : steps) {
      if (step.kind == StepKind::kNtStore) throw std::invalid_argument("tso has no non-temporal stores");
    }
  }
  if (policy != AtomPolicy::kAny) throw std::invalid_argument("tso is for the atom policy any");
  if (ProgramMachine::actors(program) > ProgramMachine::kMostActors) {
    throw std::invalid_argument("more steps than store buffers are followed for");
  }
  return Visibility::kBuffered;
}

json frontiers_of(const ThreadProgram& program, const std::string& model, AtomPolicy policy, uint64_t pool_size,
                  Visibility visibility) {
  ProgramMachine machine(program, pool_size, policy, persistency_of(model)->stores_at_once(), visibility);
  json frontiers = json::array();
  const auto search = make_search(
      "bounded", &machine, {}, [&] { frontiers.push_back(describe(machine, model, policy, pool_size)); },
      [](const SearchCounts&) { return std::nullopt; });
  search->run();
  return {{"frontiers", frontiers}};
}

json answer(const json& request) {
  if (request.contains("part")) return answer_of_nor(request);
  const std::string atoms = request.value("atoms", "any");
  const AtomPolicy policy = atoms == "ascending" ? AtomPolicy::kAscending
                            : atoms == "byte"    ? AtomPolicy::kByte
                                                 : AtomPolicy::kAny;
  const std::string name = request.at("model");
  const uint64_t size = request.value("pool_size", uint64_t{256});
  auto model = make_model(name, policy, size);
  if (model == nullptr) throw std::invalid_argument("unknown model");
  if (request.contains("threads")) {
    const uint64_t lines = (size + kLineSize - 1) / kLineSize;
    const ThreadProgram program = threads_of(request.at("threads"), size);
    return frontiers_of(program, name, policy, lines * kLineSize, visibility_of(request, program, policy));
  }
  json points = json::array();
  CrashPoints crash_points(model.get());
  const auto show = [&](const Event* event) {
    while (crash_points.next(event)) points.push_back(describe(*model, crash_points.at()));
  };
  uint64_t index = 0;
  for (const json& program_step : request.at("events")) {
    std::string bytes;
    for (const Event& event : events_of(program_step, index, &bytes)) {
      if (event.addr + event.size > size) throw std::invalid_argument("store outside the pool");
      show(&event);
    }
    ++index;
  }
  show(nullptr);
  return {{"crash_points", points}};
}

}  // namespace

void add_model_command(CommandLine& app, int& exit_code) {
  CommandLine* command = app.add_subcommand("model", "Answer what each line may hold, for programs on stdin");
  command->callback([&exit_code] {
    std::string line;
    while (std::getline(std::cin, line)) {
      if (line.empty()) continue;
      json out;
      try {
        out = answer(json::parse(line));
      } catch (const std::exception& error) {
        out = {{"error", error.what()}};
        exit_code = 2;
      }
      std::cout << out.dump() << '\n';
    }
    std::cout.flush();
  });
}

}  // namespace powercut
