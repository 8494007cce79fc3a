#include "targets/common/cuckoo/fidelity/bench_table.h"

#include <sys/mman.h>

#include <cstdio>
#include <exception>
#include <stdexcept>

// In a program without the tracer's runtime the weak powercut_mark of pmem.h is this one.
extern "C" void powercut_mark(const char* name) { ++powercut::cuckoo::fidelity::Marks()[name]; }

namespace powercut::cuckoo::fidelity {
namespace {

constexpr uint64_t kPool = 64u << 20;

}  // namespace

std::map<std::string_view, uint64_t>& Marks() {
  static std::map<std::string_view, uint64_t> marks;
  return marks;
}

BenchTable::BenchTable(Settings settings) {
  settings.emplace_back("auto_expand", "off");
  std::vector<powercut_option> options;
  for (const auto& [key, value] : settings) options.push_back({key.c_str(), value.c_str()});
  char error[256] = "";
  const powercut_config config{"hardened", options.data(), options.size(), 16, 15, error, sizeof error};
  Options parsed;
  if (ParseOptions(config, &parsed) != POWERCUT_OK) throw std::runtime_error(error);
  pool_.size = kPool;
  void* at = mmap(nullptr, kPool, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("mmap of the pool failed");
  pool_.base = static_cast<uint8_t*>(at);
  if (Table::Format(pool_, parsed) != POWERCUT_OK || Table::Open(pool_, parsed, &table_) != POWERCUT_OK) {
    munmap(pool_.base, pool_.size);
    throw std::runtime_error("the pool is too small for the table");
  }
}

BenchTable::~BenchTable() {
  delete table_;
  munmap(pool_.base, pool_.size);
}

bool BenchTable::InsertNext() {
  ++next_key_;
  const uint64_t words[4] = {Mix(next_key_), Mix(next_key_ + 0x9e3779b97f4a7c15), next_key_, 0};
  uint8_t bytes[sizeof words];
  std::memcpy(bytes, words, sizeof words);
  if (table_->Insert(bytes, bytes + 16) != POWERCUT_OK) return false;
  ++items_;
  return true;
}

void BenchTable::FillUp() {
  while (InsertNext()) {
  }
}

double BenchTable::FailuresUntil(double load) {
  uint64_t failed = 0;
  while (this->load() < load) failed += InsertNext() ? 0 : 1;
  return static_cast<double>(failed) / static_cast<double>(next_key_);
}

double MaximumLoad(BenchTable::Settings settings) {
  BenchTable bench(std::move(settings));
  bench.FillUp();
  return bench.load();
}

nlohmann::json Row(std::string figure, nlohmann::json paper, nlohmann::json measured, std::string unit, bool reproduced,
                   std::string note) {
  return {{"scheme", kScheme.name},          {"figure", std::move(figure)}, {"paper", std::move(paper)},
          {"measured", std::move(measured)}, {"unit", std::move(unit)},     {"reproduced", reproduced},
          {"note", std::move(note)}};
}

std::string Join(const std::vector<double>& values) {
  std::string text;
  for (double value : values) {
    char number[32];
    std::snprintf(number, sizeof number, "%s%.3f", text.empty() ? "" : ", ", value);
    text += number;
  }
  return text;
}

int Print(void (*add)(nlohmann::json* rows)) {
  try {
    nlohmann::json rows = nlohmann::json::array();
    add(&rows);
    std::puts(nlohmann::json({{"figures", rows}}).dump(1).c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "powercut-fidelity-%s: %s\n", kScheme.name, error.what());
    return 3;
  }
}

}  // namespace powercut::cuckoo::fidelity
