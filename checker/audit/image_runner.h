// Runs a target on crash images, each in a fresh process, with nothing of the engine's exploration around it: no
// hooks, no memo, no undecided bytes, no undo of single stores.
//
// A template process is forked before anything is explored, and before the instrumented library is loaded. It loads
// the plain library of the target and keeps the pool as the caller tells it. For each image it forks once more; that
// process runs recovery and then every query, each on the memory that recovery left (audit_execution.h).
//
//   audit ── start ──▶ template: plain library, pool ── fork ──▶ image: recovery, queries ──▶ answers (shared memory)
#ifndef POWERCUT_CHECKER_AUDIT_IMAGE_RUNNER_H_
#define POWERCUT_CHECKER_AUDIT_IMAGE_RUNNER_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checker/oracle/queries.h"
#include "tracer/record/plan.h"

namespace powercut {

struct LineContent {
  uint64_t line = 0;
  Content content;
};
using LineContents = std::vector<LineContent>;

// The answers of one image's process. The first answer is recovery's (kRecoveryQuery).
struct ImageAnswers {
  std::vector<std::pair<QueryId, std::string_view>> answers;  // valid until the next run()
  uint64_t can_be_asked = 0;                                  // queries that the recovered table has
  // The process ended by itself in the middle of `during`: "left with exit status 7", "died of signal 9".
  std::string died;
  QueryId during = kRecoveryQuery;
};

class ImageRunner {
 public:
  // Forks the template, which loads `library` and configures the target as the plan says. To be called before the
  // process has loaded a target or mapped a pool.
  static Result<std::unique_ptr<ImageRunner>> start(const Plan& plan, const std::string& library);
  ~ImageRunner();
  ImageRunner(const ImageRunner&) = delete;
  ImageRunner& operator=(const ImageRunner&) = delete;

  // Whether the library was compiled through the pass, so that its hooks are there, and are off.
  bool instrumented() const { return instrumented_; }

  // Sets the contents of the pool under every image from now on. Lines never told are zero.
  void set_lines(const LineContents& lines);
  // Keys that queries may ask about, in the order of the history.
  void add_keys(const std::vector<KeyHistory>& keys, size_t from);
  // Runs recovery on an image and those of the queries that the recovered table has. An error means that the template
  // is lost.
  Result<ImageAnswers> run(const LineContents& image, const std::vector<QueryId>& queries);

 private:
  ImageRunner() = default;

  pid_t template_ = -1;
  int socket_ = -1;
  bool instrumented_ = false;
  struct Answers* shared_ = nullptr;
  std::string request_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_AUDIT_IMAGE_RUNNER_H_
