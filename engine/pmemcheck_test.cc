// trace → pmemcheck log → trace: the normal form, which all tracers agree on, stays what it was.
#include <gtest/gtest.h>

#include <random>

#include "base/test_support.h"
#include "tracer/format/reader.h"
#include "tracer/format/writer.h"
#include "tracer/pmemcheck/exporter.h"
#include "tracer/pmemcheck/importer.h"
#include "tracer/view/normal_form.h"

namespace powercut {
namespace {

using testing::TemporaryFolder;

constexpr uint64_t kSizes[] = {8192, 1000};  // of two pools; the second ends within a page

std::string normal_form(const std::string& trace) {
  TraceError error;
  auto reader = TraceReader::open(trace, &error);
  if (reader == nullptr) return error.message();
  NormalForm form;
  std::string text;
  Event event;
  while (reader->next(&event)) text += form.add(event);
  return text;
}

// A program trace with what a log can say: contents from before the run, stores of any size, flushes that wait for a
// fence, fences, markers of every form, one thread.
void write_trace(const std::string& path, const std::string& folder, std::mt19937_64& random) {
  TraceError error;
  const Json pools = {{{"path", folder + "/one"}, {"offset", 0}, {"size", kSizes[0]}, {"address", 0x7f0000000000}},
                      {{"path", folder + "/two"}, {"offset", 8192}, {"size", kSizes[1]}, {"address", 0x7f0000100000}}};
  const Json metadata = {{"program", {{"pools", pools}}}, {"pool", {{"base", 0x7f0000000000}, {"size", 12288}}}};
  auto writer = TraceWriter::create(path, metadata.dump(), &error);
  ASSERT_NE(writer, nullptr) << error.message();
  const uint32_t module = writer->module({"/bin/prog", "abcd"});
  auto store = [&](uint64_t most) {
    const bool second = random() % 4 == 0;
    std::vector<uint8_t> bytes(1 + random() % most);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    Event event;
    event.kind = EventKind::kStore;
    event.addr = (second ? 8192 : 0) + random() % ((second ? kSizes[1] : 600) - bytes.size());
    event.value = bytes;
    const Frame frames[] = {{module, random() % 8}, {module, 100 + random() % 8}};
    event.stack = writer->stack(frames);
    writer->append(event);
  };
  // Contents from before the run are whole pages in every trace of a program, the last as long as its file.
  for (const uint64_t window : {0, 8192}) {
    if (random() % 2 == 0) continue;
    std::vector<uint8_t> page(window == 0 ? 4096 : kSizes[1]);
    for (uint8_t& byte : page) byte = static_cast<uint8_t>(random());
    Event event;
    event.kind = EventKind::kStore;
    event.addr = window;
    event.value = page;
    writer->append(event);
  }
  Event cut;
  cut.kind = EventKind::kCut;
  writer->append(cut);
  Event phase;
  phase.kind = EventKind::kPhase;
  phase.code = 1;
  phase.text = "run";
  writer->append(phase);
  const std::string_view names[] = {"here", "a.BEGIN", "a.END", "b.BEGIN", "b.END", "FREORDER", "powercut:odd.BEGIN"};
  for (int left = 150; left > 0; --left) {
    Event event;
    switch (random() % 8) {
      case 0:
      case 1:
      case 2:
        store(random() % 3 == 0 ? 200 : 8);
        continue;
      case 3:
      case 4:
        event.kind = EventKind::kFlush;
        event.code = static_cast<uint8_t>(random() % 2 == 0 ? FlushKind::kClwb : FlushKind::kClflushopt);
        event.addr = (random() % 4 == 0 ? 8192 : 0) + random() % 600;
        break;
      case 5:
      case 6:
        event.kind = EventKind::kFence;
        event.code = static_cast<uint8_t>(1 + random() % 4);
        break;
      default:
        event.kind = EventKind::kMarker;
        event.text = names[random() % std::size(names)];
    }
    writer->append(event);
  }
  ASSERT_FALSE(writer->finish());
}

TEST(Pmemcheck, TraceToLogToTraceKeepsTheNormalForm) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 40; ++round) {
    const TemporaryFolder folder;
    const std::string trace = folder.file("trace"), back = folder.file("back");
    write_trace(trace, folder.path(), random);
    const std::string expected = normal_form(trace);
    ASSERT_NE(expected.find("fence t0"), std::string::npos);
    const bool stacks = round % 2 == 0;
    TraceError error;
    const auto reader = TraceReader::open(trace, &error);
    const auto written = pmemcheck::export_log(
        {.trace = trace, .log = folder.file("log"), .stacks = stacks, .pool_folder = folder.file("pools")},
        reader.get());
    ASSERT_TRUE(std::holds_alternative<pmemcheck::ExportResult>(written)) << std::get<TraceError>(written).message();
    pmemcheck::ImportOptions options{.log = folder.file("log"), .trace = back};
    for (const pmemcheck::PoolFile& pool : std::get<pmemcheck::ExportResult>(written).pools) {
      options.snapshots.emplace_back(pool.path, pool.path);
    }
    const auto read = pmemcheck::import_log(options);
    ASSERT_TRUE(std::holds_alternative<pmemcheck::ImportResult>(read)) << std::get<TraceError>(read).message();
    ASSERT_EQ(normal_form(back), expected) << "round " << round;
  }
}

}  // namespace
}  // namespace powercut
