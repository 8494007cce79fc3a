// Writes the seed corpus of powercut_trace_fuzz into a folder: a small file, and its frame's raw payload.
#include <zstd.h>

#include <cstdio>
#include <fstream>

#include "tracer/format/layout.h"
#include "tracer/format/test_traces.h"
#include "tracer/format/tree_calls.h"

namespace {

void write_seed(const std::string& path, char choice, std::span<const uint8_t> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.put(choice);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

int main(int argc, char** argv) {
  using namespace powercut;
  if (argc != 2) {
    std::fputs("usage: powercut_fuzz_corpus FOLDER\n", stderr);
    return 2;
  }
  std::string folder = argv[1];
  std::filesystem::create_directories(folder);
  testing::TemporaryFile file;
  TraceError error;
  auto writer = TraceWriter::create(file.path(), "{}", &error);
  if (writer == nullptr) return 3;
  Frame frame{writer->module({"/lib/target.so", "00ff"}), 0x1234};
  std::vector<uint8_t> bytes(16, 5);
  Event event;
  event.stack = writer->stack({&frame, 1});
  event.addr = 4096;
  event.value = event.key = bytes;
  event.text = "move.copied";
  for (int kind = 1; kind <= 13; ++kind) {
    event.kind = static_cast<EventKind>(kind);
    event.code = event.kind == EventKind::kThreadEnd ? 0 : 1;
    event.thread = static_cast<uint32_t>(kind) / 4;
    writer->append(event);
    if (event.kind > EventKind::kNtStore) continue;
    event.flags = kStoreContinues;
    writer->append(event);
    event.flags = 0;
  }
  for (uint8_t call = 0; call <= static_cast<uint8_t>(kLastTreeCall); ++call) {
    event.kind = kTreeCall;
    event.code = call;
    event.size = event.value.size();
    writer->append(event);
  }
  if (writer->finish()) return 3;
  std::vector<uint8_t> trace = testing::bytes_of(file.path());
  write_seed(folder + "/file", 0, trace);
  const uint8_t* header = &trace[layout::kHeaderSize + 2];
  std::vector<uint8_t> raw(layout::get<uint32_t>(header + 8));
  ZSTD_decompress(raw.data(), raw.size(), header + layout::kFrameHeaderSize, layout::get<uint32_t>(header + 4));
  write_seed(folder + "/payload", 1, raw);
  return 0;
}
