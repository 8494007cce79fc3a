#include "engine/commands/nor_programs.h"

#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "boost/multiprecision/cpp_int.hpp"
#include "replayer/crash_points/crash_points.h"
#include "replayer/media/medium.h"

namespace powercut {
namespace {

// The pool of the device at work, and who takes the events that the functions of nor.h make.
struct Work {
  std::vector<uint8_t> pool;
  std::function<void(Event)> take;
};
Work* g_work = nullptr;

void store_to_nor(void* to, const void* from, size_t size) {
  Event event;
  event.kind = EventKind::kStore;
  event.addr = static_cast<uint64_t>(static_cast<uint8_t*>(to) - g_work->pool.data());
  event.size = size;
  event.value = {static_cast<const uint8_t*>(from), size};
  g_work->take(event);
  std::memcpy(to, from, size);
}

void flush_nor() {
  Event event;
  event.kind = EventKind::kFence;
  event.code = static_cast<uint8_t>(FenceKind::kDevice);
  g_work->take(event);
}

}  // namespace
}  // namespace powercut

#define POWERCUT_NOR_STORE(to, from, size) powercut::store_to_nor(to, from, size)
#define POWERCUT_NOR_DURABLE() powercut::flush_nor()
#include "powercut/nor.h"

namespace powercut {
namespace {

using nlohmann::json;

constexpr size_t kMostImages = 1 << 16;

powercut_nor_part part_of(const json& parameters) {
  powercut_nor_part part = powercut_nor_default();
  for (const auto& [name, value] : parameters.items()) {
    if (powercut_nor_set(&part, name.c_str(), value.get<std::string>().c_str()) == 0) {
      throw std::invalid_argument("no part of NOR flash has " + name + " = " + value.get<std::string>());
    }
  }
  if (part.sector % part.unit != 0) throw std::invalid_argument("a sector is of whole units");
  return part;
}

// Returns the bytes of the device, two digits each; of a byte that cannot be read, "xx".
std::string image_of(powercut_nor device, std::vector<uint8_t>* pool) {
  device.lines = pool->data();
  std::string out;
  for (uint64_t at = 0; at < powercut_nor_size(&device); ++at) {
    uint8_t byte = 0;
    const bool readable = powercut_nor_byte(&device, at, &byte) == POWERCUT_NOR_OK;
    out += readable ? absl::BytesToHexString({reinterpret_cast<const char*>(&byte), 1}) : "xx";
  }
  return out;
}

json describe(const powercut_nor& device, const Model& model, const char* side, size_t step) {
  std::vector<std::vector<uint8_t>> pools(1);
  boost::multiprecision::cpp_int states = 1;
  for (uint64_t line = 0; line < g_work->pool.size() / kLineSize; ++line) {
    const CandidateSet set = model.candidates(line);
    states *= set.contents.size();
    std::vector<std::vector<uint8_t>> next;
    for (const std::vector<uint8_t>& pool : pools) {
      for (const Content& content : set.contents) {
        next.push_back(pool);
        next.back().insert(next.back().end(), content.bytes.begin(), content.bytes.end());
      }
    }
    pools = std::move(next);
    if (pools.size() > kMostImages) throw std::invalid_argument("the program leaves too many images to list");
  }
  std::set<std::string> images;
  for (std::vector<uint8_t>& pool : pools) images.insert(image_of(device, &pool));
  return {{side, step}, {"states", states.str()}, {"images", images}};
}

}  // namespace

json answer_of_nor(const json& request) {
  const powercut_nor_part part = part_of(request.at("part"));
  const uint64_t sectors = request.value("pool_size", uint64_t{part.sector}) / part.sector;
  Work work{std::vector<uint8_t>(powercut_nor_pool(&part, sectors)), {}};
  g_work = &work;
  const powercut_nor device = powercut_nor_in({.base = work.pool.data(), .size = work.pool.size()}, part);
  const auto model = make_model(request.at("model").get<std::string>(), AtomPolicy::kAny, work.pool.size());
  if (model == nullptr) throw std::invalid_argument("unknown model");
  json points = json::array(), refused = json::array();
  CrashPoints walk(model.get());
  size_t step = 0;
  uint64_t index = 0;
  const auto take = [&](const Event* event) {
    while (walk.next(event)) points.push_back(describe(device, *model, walk.at().before ? "during" : "after", step));
  };
  work.take = [&](Event event) {
    event.index = index++;
    take(&event);
  };
  const json& steps = request.at("events");
  for (step = 0; step < steps.size(); ++step) {
    const std::string op = steps[step].at("op");
    const auto at = steps[step].value("addr", uint64_t{0});
    powercut_nor_status status = POWERCUT_NOR_OK;
    if (op == "program") {
      const std::string bytes = absl::HexStringToBytes(steps[step].at("bytes").get<std::string>());
      status = powercut_nor_program(&device, at, bytes.data(), bytes.size());
    } else if (op == "erase") {
      status = powercut_nor_erase(&device, at / part.sector);
    } else if (op == "end") {
      Event end;
      end.kind = EventKind::kOpEnd;
      work.take(end);
    } else {
      throw std::invalid_argument("unknown op '" + op + "'");
    }
    if (status != POWERCUT_NOR_OK) refused.push_back(step);
  }
  if (step > 0) --step;
  take(nullptr);
  return {{"crash_points", points}, {"refused", refused}};
}

}  // namespace powercut
