// Several workers that share the work of one crash point. Which images are run, and what is made of their outcomes,
// does not depend on how many workers there are.
#ifndef POWERCUT_CHECKER_PROGRAM_IMAGE_WORKERS_H_
#define POWERCUT_CHECKER_PROGRAM_IMAGE_WORKERS_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "absl/container/flat_hash_set.h"
#include "checker/program/image_worker.h"

namespace powercut {

// An image: for each set of the crash point's, the content that it takes.
using Choice = std::vector<uint32_t>;

class ImageWorkers {
 public:
  // `workers`: at least one.
  explicit ImageWorkers(std::vector<std::unique_ptr<ImageWorker>> workers);
  ~ImageWorkers();
  ImageWorkers(const ImageWorkers&) = delete;
  ImageWorkers& operator=(const ImageWorkers&) = delete;

  // A line that is definite from now on, or was before and now has this content first.
  void base(uint64_t line, const Content& content);
  // Runs the images of `choices` over `sets`; the outcomes are in their order. The first error in this order wins.
  // `elsewhere`: as of ImageWorker::run().
  Result<std::vector<ProgramOutcome>> run(const LineSets& sets, std::span<const Choice> choices,
                                          bool elsewhere = false);
  // The same with ImageWorker::trace().
  Result<std::vector<ImageWorker::Traced>> trace(const LineSets& sets, std::span<const Choice> choices);
  // All lines are zeros again.
  void clear();
  // Whether traced runs report their reads themselves.
  bool report() const;
  // ImageWorker::distrust_reports() of each. False where it changes nothing.
  bool distrust_reports(const std::string& why);
  const TracePools& pools() const { return members_.front()->worker->pools(); }
  ImageWorker& first() { return *members_.front()->worker; }

 private:
  struct Member {
    std::unique_ptr<ImageWorker> worker;
    std::vector<std::pair<uint64_t, Content>> behind;  // base lines that it has not taken over yet
  };
  // What is done with one image; the outcome's place is its number.
  using Job = std::function<std::optional<EngineError>(ImageWorker& worker, size_t number)>;
  std::optional<EngineError> each(const LineSets& sets, std::span<const Choice> choices, const Job& job);
  void work(Member* member);
  // The image of `choice` becomes the worker's.
  static void place(Member* member, const LineSets& sets, const Choice& choice);
  void take_images(Member* member, std::unique_lock<std::mutex>* lock);

  std::vector<std::unique_ptr<Member>> members_;
  absl::flat_hash_set<uint64_t> lines_;  // that base() had
  std::vector<std::thread> threads_;     // of all workers but the first, which the caller's thread works

  std::mutex mutex_;
  std::condition_variable given_, done_;
  // Of the run at hand.
  const LineSets* sets_ = nullptr;
  std::span<const Choice> choices_;
  const Job* job_ = nullptr;
  size_t next_ = 0, finished_ = 0;
  std::vector<std::optional<EngineError>> errors_;
  bool failed_ = false;  // what has not begun is left out
  bool ending_ = false;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_PROGRAM_IMAGE_WORKERS_H_
