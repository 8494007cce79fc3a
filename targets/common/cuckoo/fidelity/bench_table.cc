#include "targets/common/cuckoo/fidelity/bench_table.h"

#include "targets/common/config.h"

POWERCUT_COUNT_MARKS

namespace powercut::cuckoo::fidelity {
namespace {

Options Parsed(BenchTable::Settings settings) {
  settings.emplace_back("auto_expand", "off");
  std::vector<powercut_option> options;
  for (const auto& [key, value] : settings) options.push_back({key.c_str(), value.c_str()});
  char error[256] = "";
  const powercut_config config = ConfigOf("hardened", options.data(), options.size(), 16, 15, error, sizeof error);
  Options parsed;
  if (Table::ParseOptions(config, &parsed) != POWERCUT_OK) throw std::runtime_error(error);
  return parsed;
}

}  // namespace

BenchTable::BenchTable(Settings settings, uint64_t pool_size) : FreshTable(Parsed(std::move(settings)), pool_size) {}

bool BenchTable::InsertNext() {
  ++next_key_;
  const uint64_t words[4] = {Mix(next_key_), Mix(next_key_ + 0x9e3779b97f4a7c15), next_key_, 0};
  uint8_t bytes[sizeof words];
  std::memcpy(bytes, words, sizeof words);
  if (table().Insert(bytes, bytes + 16) != POWERCUT_OK) return false;
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

double MaximumLoad(BenchTable::Settings settings, uint64_t pool_size) {
  BenchTable bench(std::move(settings), pool_size);
  bench.FillUp();
  return bench.load();
}

}  // namespace powercut::cuckoo::fidelity

int main(int argc, char** argv) {
  return powercut::fidelity::Run(argc, argv, powercut::cuckoo::kScheme.name, powercut::cuckoo::fidelity::Measure);
}
