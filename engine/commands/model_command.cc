// `powercut-engine model`: the persistency models alone, for the litmus suite and the reference comparison.
// Reads small programs as JSON lines on stdin and answers, one line each, with every crash point's legal
// contents. Format: replayer/litmus/README.md.
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "boost/multiprecision/cpp_int.hpp"
#include "engine/commands.h"
#include "replayer/crash_points/crash_points.h"
#include "tracer/format/trace_names.h"

namespace powercut {
namespace {

using nlohmann::json;

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
    event.flags = step.value("memcall", false) ? kStoreMemcall : 0;
    if (step.value("continues", false)) event.flags |= kStoreContinues;
    if (step.value("direct", false)) event.flags |= kStoreAtomic;
    return {event};
  }
  if (op == "rmw") {
    fence.code = static_cast<uint8_t>(FenceKind::kRmw);
    event.kind = EventKind::kStore;
    event.flags = kStoreRmw;
    return {fence, event};
  }
  if (op == "cas-fail" || op == "fence") {
    fence.code = static_cast<uint8_t>(op == "fence" ? FenceKind::kSfence : FenceKind::kRmw);
    return {fence};
  }
  if (op == "flush") {
    static const std::map<std::string, FlushKind> kinds = {
        {"clwb", FlushKind::kClwb}, {"clflushopt", FlushKind::kClflushopt}, {"clflush", FlushKind::kClflush}};
    event.kind = EventKind::kFlush;
    event.code = static_cast<uint8_t>(kinds.at(step.at("kind").get<std::string>()));
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

json answer(const json& request) {
  const std::string atoms = request.value("atoms", "any");
  const AtomPolicy policy = atoms == "ascending" ? AtomPolicy::kAscending
                            : atoms == "byte"    ? AtomPolicy::kByte
                                                 : AtomPolicy::kAny;
  const uint64_t size = request.value("pool_size", uint64_t{256});
  auto model = make_model(request.at("model").get<std::string>(), policy, size);
  if (model == nullptr) throw std::invalid_argument("unknown model");
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
