// `powercut-bench-trees`: how many runs on a served folder a core makes a second, all reads told, as one JSON object.
//
// The command reads two small files and writes a third one. `forked` runs come from the fork server, `started` ones are
// executed anew. The server of the folder and the runs share one core, and each second is one of the clock.
#include <cstdio>
#include <filesystem>
#include <string>

#include "base/clock.h"
#include "checker/subjects/program/trees/tree_worker.h"

namespace powercut {
namespace {

// A folder with two files of 4,096 bytes, whose first byte tells one tree from another.
class TwoFiles : public ImageTree {
 public:
  ImageNode node(uint64_t inode) const override {
    ImageNode out;
    out.kind = inode == kTreeRoot ? InodeKind::kFolder : InodeKind::kFile;
    out.size = inode == kTreeRoot ? 0 : 4096;
    out.mode = inode == kTreeRoot ? 0755 : 0644;
    return out;
  }
  uint64_t look_up(uint64_t, std::string_view name) const override { return name == "a" ? 2 : name == "b" ? 3 : 0; }
  std::vector<std::pair<std::string, uint64_t>> names(uint64_t) const override { return {{"a", 2}, {"b", 3}}; }
  void read(uint64_t, uint64_t, std::span<uint8_t> out) const override { std::fill(out.begin(), out.end(), byte); }
  uint8_t byte = 0;
};

Result<double> runs_a_second(bool plain, uint64_t runs) {
  auto guardian = Guardian::start("/dev/shm");
  if (!guardian) return guardian.error();
  const std::string folder = (*guardian)->folder() + "/data";
  std::filesystem::create_directory(folder);
  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().string() + "/powercut-bench-tree-check";
  ProgramCommands commands;
  auto recover = parse_folder_command(Json({program, "{image}"}).dump(), "recovery", folder);
  if (!recover) return recover.error();
  commands.recover = std::move(*recover);
  if (plain) commands.recover.kind = ProgramKind::kPlain;
  auto worker = TreeWorker::create((*guardian)->folder() + "/0", folder, commands, guardian->get(), nullptr);
  if (!worker) return worker.error();
  TwoFiles tree;
  double start = 0;
  for (uint64_t i = 0; i <= runs; ++i) {
    tree.byte = static_cast<uint8_t>(i);
    auto ran = (*worker)->run(tree);
    if (!ran) return ran.error();
    if (!ran->outcome.ok()) return harness_error(ran->outcome.said, program, "Run 'make build' again.");
    if (i == 0) start = seconds_now();
  }
  return static_cast<double>(runs) / (seconds_now() - start);
}

int measure_trees() {
  Json out = Json::object();
  for (const bool plain : {false, true}) {
    auto rate = runs_a_second(plain, 2000);
    if (!rate) {
      std::fprintf(stderr, "powercut-bench-trees: %s\n", rate.error().message().c_str());
      return rate.error().exit_code();
    }
    out[plain ? "started" : "forked"] = *rate;
  }
  std::printf("%s\n", out.dump().c_str());
  return kExitOk;
}

}  // namespace
}  // namespace powercut

int main() { return powercut::measure_trees(); }
