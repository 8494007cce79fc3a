// powercut-mutants KIND SEED: changes a valid input again and again and gives every mutant to the engine. An engine may
// end with exit code 0 to 3. A mutant that ends it in another way, or with an error that calls itself internal, is kept
// and reported.
//
// Refusals of a command that reads its input happen in this process. A batch of mutants is a forked child, so that a
// mutant which kills it is known by its number. Accepted mutants run the whole command in another forked child.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "base/command_line.h"
#include "base/packet.h"
#include "base/repeatable_process.h"
#include "base/user_file.h"
#include "checker/edit/trace_edits.h"
#include "checker/findings/finding_record.h"
#include "checker/replay/judge_requests.h"
#include "checker/trace/loaded_trace.h"
#include "engine/engine_main.h"
#include "engine/fuzz/trace_mutant.h"
#include "tracer/record/plan.h"
#include "tracer/view/operation_meter.h"

namespace powercut::fuzz {
namespace {

constexpr uint64_t kBatch = 256;
// Every so many mutants the whole command runs although its input was refused here: the two must agree.
constexpr uint64_t kWholeEvery = 64;
constexpr unsigned kSecondsOfOne = 120;

struct Options {
  std::string kind, seed_file, trace, keep = "mutants";
  uint64_t count = 1000, seed = 1;
};

// Shared with the children.
struct Tally {
  uint64_t at;                         // number of the mutant at hand
  uint64_t accepted, whole, codes[4];  // of whole commands: their exit codes
  uint64_t failures;
};

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// An exploration that ends soon, whatever the trace holds. One mutant in a hundred would branch for seconds; the others
// need that time.
std::vector<std::string> briefly(const std::string& command, const std::string& trace) {
  // clang-format off
  return {command, "--trace", trace, "--jobs", "1", "--nested", "1",
          "--budget-executions", "30", "--budget-seconds", "0.2", "--crash-point-seconds", "0.1",
          "--watchdog-seconds", "5", "--step-budget", "20000"};
  // clang-format on
}

class Fuzzer {
 public:
  explicit Fuzzer(const Options& options) : options_(options) {
    void* shared = mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) throw std::runtime_error("no shared memory");
    tally_ = static_cast<Tally*>(shared);
    folder_ = (std::filesystem::temp_directory_path() / ("powercut-mutants-" + std::to_string(getpid()))).string();
    std::filesystem::create_directories(folder_);
    if (options.kind == "trace") {
      trace_ = std::make_unique<TraceSeed>(options.seed_file);
      // Held open, so that a mutant that is refused does not load and unload it.
      auto opened = load_trace(options.seed_file);
      if (!opened) throw std::runtime_error(opened.error().message());
      held_ = std::move(*opened);
    } else {
      text_ = content_of(options.seed_file);
      json_ = parse_json(text_);
    }
  }
  ~Fuzzer() { std::filesystem::remove_all(folder_); }

  int run() {
    while (tally_->at < options_.count) {
      std::fflush(nullptr);
      const pid_t child = fork();
      if (child == 0) {
        batch(std::min(options_.count, tally_->at + kBatch));
        _exit(0);
      }
      int status = 0;
      waitpid(child, &status, 0);
      if (status != 0) {
        fail(tally_->at, "reading it ended the process", status);
        ++tally_->at;
      }
      if (tally_->failures > 20) break;
    }
    std::printf(
        "%s: %llu mutants, %llu accepted, %llu whole commands (exit 0: %llu, 1: %llu, 2: %llu, 3: %llu), %llu "
        "failures\n",
        options_.kind.c_str(), of(tally_->at), of(tally_->accepted), of(tally_->whole), of(tally_->codes[0]),
        of(tally_->codes[1]), of(tally_->codes[2]), of(tally_->codes[3]), of(tally_->failures));
    return tally_->failures == 0 ? 0 : 1;
  }

 private:
  static unsigned long long of(uint64_t number) { return number; }

  void batch(uint64_t end) {
    for (; tally_->at < end; ++tally_->at) {
      // Each has a seed of its own: a failure is made again from its number.
      Draw draw(options_.seed * 1'000'003 + tally_->at);
      const std::string path = folder_ + "/mutant";
      std::ofstream(path, std::ios::binary | std::ios::trunc) << mutant(&draw);
      alarm(kSecondsOfOne);
      const bool taken = accepts(path);
      alarm(0);
      if (taken) ++tally_->accepted;
      if (taken || tally_->at % kWholeEvery == 0) command(&draw, path, taken);
    }
  }

  std::string mutant(Draw* draw) {
    if (trace_ != nullptr) return trace_->mutant(draw);
    std::string out = text_;
    if (options_.kind == "checkpoint" && !draw->once_in(3)) return checkpoint(draw);
    if (!json_.is_structured() || draw->once_in(4)) {
      mutate_bytes(draw, &out);
      return out;
    }
    Json value = json_;
    mutate_json(draw, &value);
    out = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (draw->once_in(8)) mutate_bytes(draw, &out);
    return out;
  }

  // With the checksums of its packets made anew.
  std::string checkpoint(Draw* draw) {
    PacketParser parser;
    parser.feed(text_);
    std::string out;
    while (auto packet = parser.next()) {
      std::string payload = packet->payload;
      const size_t end = std::min(payload.size(), payload.find('\n'));
      Json head = parse_json(std::string_view(payload).substr(0, end));
      if (head.is_structured() && draw->once_in(2)) {
        mutate_json(draw, &head);
        payload = head.dump(-1, ' ', false, Json::error_handler_t::replace) + payload.substr(end);
      }
      if (draw->once_in(4)) mutate_bytes(draw, &payload);
      out += pack(packet->kind, payload);
    }
    return out;
  }

  // Whether the command would go on to work with it.
  bool accepts(const std::string& path) {
    if (options_.kind == "trace") return load_trace(path).ok();
    if (options_.kind == "plan") return read_plan(path).ok();
    if (options_.kind == "finding") return read_finding(path).ok();
    if (options_.kind == "requests") return read_requests(path).ok();
    if (options_.kind == "edits") return read_edits(path).ok();
    if (options_.kind == "measure") return parse_measure_request(path).ok();
    return true;
  }

  std::vector<std::string> words(Draw* draw, const std::string& path) const {
    const std::string& kind = options_.kind;
    const std::string out = folder_ + "/out";
    if (kind == "finding") return {"reproduce", "--trace", options_.trace, "--finding", path, "--step-budget", "20000"};
    if (kind == "requests") return {"judge", "--trace", options_.trace, "--requests", path, "--step-budget", "20000"};
    if (kind == "edits") return {"edit", "--trace", options_.trace, "--edits", path, "--out", out};
    if (kind == "measure") return {"measure", "--trace", options_.trace, "--request", path};
    if (kind == "stream") return {"convert", "--stream", path, "--trace", out};
    if (kind == "log") return {"import-pmemcheck", "--log", path, "--trace", out};
    if (kind == "checkpoint") {
      std::vector<std::string> all = briefly("explore", options_.trace);
      all.insert(all.end(), {"--checkpoint", path, "--resume"});
      return all;
    }
    switch (draw->below(16)) {
      case 0:
        return {"dump", "--trace", path};
      case 1:
        return {"dump", "--trace", path, "--normal"};
      case 2:
        return {"dump", "--trace", path, "--format", "json"};
      case 3:
        return {"stats", "--trace", path};
      case 4:
        return {"export-pmemcheck", "--trace", path, "--log", out};
      case 5:
      case 6:
        // Without memo: what is predicted with it explores every crash point, and audit has no budget.
        return {"audit", "--trace", path, "--images", "4", "--queries", "8", "--step-budget", "20000", "--memo-free"};
      default: {
        std::vector<std::string> all = briefly("explore", path);
        if (draw->once_in(4)) all.insert(all.end(), {"--model", "eadr"});
        if (draw->once_in(4)) all.insert(all.end(), {"--strategy", draw->once_in(2) ? "prefix" : "random"});
        return all;
      }
    }
  }

  void command(Draw* draw, const std::string& path, bool accepted) {
    if (options_.kind == "plan") return;  // an accepted plan is a workload, perhaps of a year
    const std::vector<std::string> all = words(draw, path);
    const int said = memfd_create("said", 0);
    const pid_t child = fork();
    if (child == 0) {
      dup2(said, STDOUT_FILENO);
      dup2(said, STDERR_FILENO);
      alarm(kSecondsOfOne);
      std::vector<const char*> argv = {"powercut-engine"};
      for (const std::string& word : all) argv.push_back(word.c_str());
      const int code = engine_main(static_cast<int>(argv.size()), argv.data());
      std::fflush(nullptr);
      _exit(code);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::string text(static_cast<size_t>(std::max<off_t>(0, lseek(said, 0, SEEK_END))), '\0');
    [[maybe_unused]] const ssize_t got = pread(said, text.data(), text.size(), 0);
    close(said);
    ++tally_->whole;
    const bool ended = WIFEXITED(status) && WEXITSTATUS(status) <= 3;
    if (ended) ++tally_->codes[WEXITSTATUS(status)];
    const size_t internal_at =
        std::min({text.find("internal error"), text.find("Sanitizer"), text.find("runtime error:")});
    const bool internal = internal_at != std::string::npos;
    // Whoever refuses while reading must refuse as a command, too.
    const bool agrees = accepted || !ended || WEXITSTATUS(status) >= 2 || all[0] == "dump" || all[0] == "stats" ||
                        all[0] == "export-pmemcheck";
    if (ended && !internal && agrees) return;
    std::string line;
    for (const std::string& word : all) line += " " + word;
    fail(tally_->at, !ended ? line : (agrees ? "internal:" : "refused here, accepted by:") + line, status);
    const size_t from = internal ? internal_at - std::min<size_t>(internal_at, 200) : 0;
    std::fprintf(stderr, "%s\n", text.substr(from, 3000).c_str());
  }

  void fail(uint64_t number, const std::string& what, int status) {
    ++tally_->failures;
    std::filesystem::create_directories(options_.keep);
    const std::string to = options_.keep + "/" + options_.kind + "-" + std::to_string(number);
    std::error_code ignored;
    std::filesystem::copy_file(folder_ + "/mutant", to, std::filesystem::copy_options::overwrite_existing, ignored);
    const std::string how = WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                                : "exit " + std::to_string(WEXITSTATUS(status));
    std::fprintf(stderr, "FAILURE %s (%s): %s\n", to.c_str(), how.c_str(), what.c_str());
  }

  const Options& options_;
  Tally* tally_ = nullptr;
  std::string folder_, text_;
  Json json_;
  std::unique_ptr<TraceSeed> trace_;
  std::unique_ptr<LoadedTrace> held_;
};

}  // namespace
}  // namespace powercut::fuzz

int main(int argc, char** argv) {
  powercut::make_repeatable();
  powercut::fuzz::Options options;
  powercut::CommandLine app("Gives mutants of a valid input to the engine.", "powercut-mutants");
  app.add_option("kind", options.kind)
      ->required()
      ->one_of({"trace", "plan", "finding", "requests", "edits", "measure", "checkpoint", "stream", "log"});
  app.add_option("seed-file", options.seed_file, "A valid input of this kind")->required();
  app.add_option("--trace", options.trace, "The valid trace that the command takes beside it");
  app.add_option("--count", options.count, "Mutants");
  app.add_option("--seed", options.seed, "Seed of the mutants: equal seeds give equal mutants");
  app.add_option("--keep", options.keep, "Folder for the mutants that fail")->capture_default_str();
  if (const auto ended = app.parse(argc, argv)) return ended->exit_code;
  // A mutant may ask for all memory; the limit is of what is touched, not of what is mapped.
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  try {
    return powercut::fuzz::Fuzzer(options).run();
  } catch (const std::exception& wrong) {
    std::fprintf(stderr, "powercut-mutants: %s\n", wrong.what());
    return 2;
  }
}
