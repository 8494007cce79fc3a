// Several workers that share the work of crash points. The choice of images, and the use of their outcomes, do not
// depend on the number of workers.
//
// A worker that would wait takes a run ahead: an image of a crash point that has not come yet. Nobody hears of the run
// until trace() asks for the same image. A run ahead changes when an outcome is known, and never the outcome.
//
// The definite lines of the images are the crash points' in their order, as changes from each to the next. A worker
// that goes from one crash point to another, forwards or back, takes over the changes that lie between.
//
// Two walks tell of the crash points: the explorer's walk by next(), and the walk ahead of it by foresee(). Each crash
// point has its ordinal in the trace and a digest of its changes, in which both walks must agree. Before each run the
// image that the worker has made must have the name that the caller has given. A difference is a defect of powercut,
// and an error: nothing is run afterwards (came_apart()).
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_WORKERS_IMAGE_WORKERS_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_WORKERS_IMAGE_WORKERS_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/container/flat_hash_map.h"
#include "checker/subjects/program/images/image_name.h"
#include "checker/subjects/program/workers/image_worker.h"

namespace powercut {

// An image: for each set of the crash point's, the content that it takes.
using Choice = std::vector<uint32_t>;
// Lines that are definite from a crash point on, or were before and have this content first.
using BaseLines = std::vector<std::pair<uint64_t, Content>>;

class ImageWorkers {
 public:
  // `workers`: at least one.
  explicit ImageWorkers(std::vector<std::unique_ptr<ImageWorker>> workers);
  ~ImageWorkers();
  ImageWorkers(const ImageWorkers&) = delete;
  ImageWorkers& operator=(const ImageWorkers&) = delete;

  // Goes on to the next crash point of the walk. foresee() may have told of its changes before. Returns an error if
  // those were other changes, or belonged to another crash point.
  [[nodiscard]] std::optional<EngineError> next(uint64_t ordinal, const BaseLines& changes);
  // Gives a line, which sets of others' making had changed, the crash point's content again.
  void base(uint64_t line, const Content& content);
  // Runs the images of `choices` over `sets`, which have `names`; the outcomes are in their order. The first error in
  // this order wins. `elsewhere`: as of ImageWorker::run().
  Result<std::vector<ProgramOutcome>> run(const LineSets& sets, std::span<const Choice> choices,
                                          std::span<const ImageName> names, bool elsewhere = false);
  // Does as run(), by ImageWorker::trace().
  Result<std::vector<ImageWorker::Traced>> trace(const LineSets& sets, std::span<const Choice> choices,
                                                 std::span<const ImageName> names);
  // Returns to the start: all lines are zeros, and no crash point has come.
  void clear();
  // Copies the files of an image of the crash point at hand to `to`, or to `to`.0, `to`.1, … where there are several
  // files.
  Result<std::vector<std::string>> copy(const LineSets& sets, const Choice& choice, const ImageName& name,
                                        const std::string& to);

  // Numbers of crash points: now() have come, foreseen() were told of.
  size_t now() const { return now_; }
  size_t foreseen() const { return marks_.size(); }
  // Tells the changes of a crash point that has `before` others before it in the walk. Returns whether nobody has told
  // of this crash point yet; an error as next() does.
  Result<bool> foresee(size_t before, uint64_t ordinal, const BaseLines& changes);
  // Whether the walks differed, or a worker's image had the wrong name. No outcome is to be trusted then.
  bool came_apart() const;
  // Returns how many more runs ahead keep all workers busy, if `traced` images are traced now.
  size_t room(size_t traced) const;
  // Adds an image of the last crash point that was told of, to be traced ahead.
  void trace_ahead(const std::shared_ptr<const std::vector<LineSet>>& sets, const Choice& choice,
                   const ImageName& name);

  // Whether traced runs report their reads themselves.
  bool report() const;
  // Whether any run has asked for the time, as far as known.
  ImageWorker::Clock clock() const;
  // Calls ImageWorker::shift_clock() of each worker. Precondition: no run is under way.
  void shift_clock(int seconds);
  // Calls ImageWorker::distrust_reports() of each worker. Returns false where the calls change nothing.
  bool distrust_reports(const std::string& why);
  const TracePools& pools() const { return members_.front()->worker->pools(); }
  ImageWorker& first() { return *members_.front()->worker; }

 private:
  struct Line {
    uint64_t line;
    Content before, after;
  };
  using Changes = std::vector<Line>;
  struct Member {
    std::unique_ptr<ImageWorker> worker;
    BaseLines behind;  // lines of base() and clear() that the worker has not taken over yet
    size_t at = 0;     // the crash point that its definite lines are of, once `behind` is taken over
  };
  // Identifies a crash point when it comes again.
  struct Mark {
    uint64_t ordinal, digest;  // the latter of its changes
    bool operator==(const Mark&) const = default;
  };
  struct Ahead {
    size_t point;
    ImageName name;
    std::shared_ptr<const std::vector<LineSet>> sets;
    Choice choice;
    bool begun = false, ended = false;
    std::optional<ImageWorker::Traced> traced = {};  // set when the run has ended well
  };
  // The work on one image. `number`: the place of its outcome.
  using Job = std::function<std::optional<EngineError>(ImageWorker& worker, size_t number)>;
  using Lock = std::unique_lock<std::mutex>;
  std::optional<EngineError> each(const LineSets& sets, std::span<const Choice> choices,
                                  std::span<const ImageName> names, const Job& job);
  void work(Member* member);
  // Makes the worker's image that of `choice` at a crash point. False if the image made has another name. `lock` is
  // held before and after.
  bool place(Member* member, size_t point, const LineSets& sets, const Choice& choice, const ImageName& name,
             Lock* lock);
  void move(Member* member, size_t point, Lock* lock);
  void take_images(Member* member, Lock* lock);
  // False when there are no runs ahead to make.
  bool take_ahead(Member* member, Lock* lock);
  // Takes in a crash point that stands behind `at` others. If the crash point is known, compares its ordinal and
  // changes. Returns whether the crash point is new.
  Result<bool> tell(size_t at, uint64_t ordinal, const BaseLines& changes);
  void add_point(const Mark& mark, const BaseLines& changes);
  // Gives up runs ahead for crash points before `point`.
  void forget_ahead(size_t point);
  // Ends all runs ahead: none is under way afterwards, or will be.
  void settle(Lock* lock);

  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::thread> threads_;  // of all workers but the first, which the caller's thread works

  mutable std::mutex mutex_;
  std::condition_variable given_, done_;
  // Members for the run at hand.
  const LineSets* sets_ = nullptr;
  std::span<const Choice> choices_;
  std::span<const ImageName> image_names_;
  const Job* job_ = nullptr;
  size_t next_ = 0, finished_ = 0;
  std::vector<std::optional<EngineError>> errors_;
  bool failed_ = false;  // images that have not begun are left out
  bool ending_ = false;
  // The crash points: their changes, but for the first ones, which all members have taken over.
  std::deque<std::shared_ptr<const Changes>> points_;
  size_t dropped_ = 0, now_ = 0, kept_ = 0;  // kept_: lines in points_
  std::vector<Mark> marks_;                  // of all crash points that were told of
  std::optional<EngineError> apart_;
  absl::flat_hash_map<uint64_t, Content> last_;  // content of each line of told points, behind these points
  absl::flat_hash_map<ImageName, std::shared_ptr<Ahead>> ahead_;
  std::deque<std::shared_ptr<Ahead>> to_begin_;
  size_t under_way_ = 0;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_WORKERS_IMAGE_WORKERS_H_
