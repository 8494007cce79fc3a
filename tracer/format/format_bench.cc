// Throughput of writer and reader in raw bytes a second, on inserts as YCSB makes them.
#include <benchmark/benchmark.h>

#include <random>

#include "tracer/format/test_traces.h"

namespace powercut {
namespace {

constexpr uint64_t kOperations = 100000;

void write_inserts(const std::string& path) {
  TraceError error;
  auto writer = TraceWriter::create(path, "{}", &error);
  Frame frame{writer->module({"/lib/target.so", "00ff"}), 0x1234};
  uint32_t stack = writer->stack({&frame, 1});
  std::mt19937_64 random(1);
  for (uint64_t i = 0; i < kOperations; ++i) {
    uint64_t words[4] = {random(), random(), random(), random()};
    std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(words), sizeof words);
    uint64_t bucket = random() % 65536 * 128;
    auto add = [&](EventKind kind, uint8_t code, uint64_t addr, std::span<const uint8_t> value,
                   std::span<const uint8_t> key = {}) {
      Event event;
      event.kind = kind;
      event.code = code;
      event.addr = addr;
      event.value = value;
      event.key = key;
      event.stack = kind <= EventKind::kFence ? stack : 0;
      writer->append(event);
    };
    add(EventKind::kOpBegin, 3, 0, bytes.last(15), bytes.first(16));
    add(EventKind::kStore, 0, bucket + 8, bytes.first(16));
    add(EventKind::kStore, 0, bucket + 24, bytes.last(15));
    add(EventKind::kFlush, 1, bucket, {});
    add(EventKind::kFence, 1, 0, {});
    add(EventKind::kStore, 0, bucket, bytes.first(1));
    add(EventKind::kFlush, 1, bucket, {});
    add(EventKind::kFence, 1, 0, {});
    add(EventKind::kOpEnd, 0, 0, {});
  }
  if (auto wrong = writer->finish()) std::abort();
}

void BM_Write(benchmark::State& state) {
  testing::TemporaryFile file;
  for (auto _ : state) write_inserts(file.path());
  TraceError error;
  auto reader = TraceReader::open(file.path(), &error);
  state.SetBytesProcessed(static_cast<int64_t>(reader->raw_bytes() * state.iterations()));
  state.SetItemsProcessed(static_cast<int64_t>(reader->total_events() * state.iterations()));
}
BENCHMARK(BM_Write)->Unit(benchmark::kMillisecond);

void BM_Read(benchmark::State& state) {
  testing::TemporaryFile file;
  write_inserts(file.path());
  TraceError error;
  auto reader = TraceReader::open(file.path(), &error);
  for (auto _ : state) {
    Event event;
    while (reader->next(&event)) benchmark::DoNotOptimize(event);
    reader->rewind();
  }
  state.SetBytesProcessed(static_cast<int64_t>(reader->raw_bytes() * state.iterations()));
  state.SetItemsProcessed(static_cast<int64_t>(reader->total_events() * state.iterations()));
}
BENCHMARK(BM_Read)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace powercut

BENCHMARK_MAIN();
