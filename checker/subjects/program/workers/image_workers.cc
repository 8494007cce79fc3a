#include "checker/subjects/program/workers/image_workers.h"

#include <algorithm>
#include <filesystem>
#include <ranges>

#include "xxhash.h"

namespace powercut {
namespace {

// Lines of changes that are kept, 136 bytes each, before all members take them over.
constexpr size_t kMostKeptLines = 1 << 18;

uint64_t digest_of(const BaseLines& changes) {
  uint64_t out = changes.size();
  for (const auto& [line, content] : changes) {
    out = XXH3_64bits_withSeed(content.bytes.data(), kLineSize, out * 0x9e3779b97f4a7c15 + line);
  }
  return out;
}

EngineError defect(const std::string& what) {
  return harness_error(
      what, "powercut-engine",
      "This is a defect of powercut, so there is no verdict. Run it again with --jobs 1, and report it.");
}

}  // namespace

ImageWorkers::ImageWorkers(std::vector<std::unique_ptr<ImageWorker>> workers) {
  for (auto& worker : workers) {
    members_.push_back(std::make_unique<Member>());
    members_.back()->worker = std::move(worker);
  }
  for (size_t i = 1; i < members_.size(); ++i) threads_.emplace_back([this, i] { work(members_[i].get()); });
}

ImageWorkers::~ImageWorkers() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  given_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

// ---- crash points -----------------------------------------------------------------------------------

void ImageWorkers::add_point(const Mark& mark, const BaseLines& changes) {
  Changes point;
  point.reserve(changes.size());
  for (const auto& [line, content] : changes) {
    Content& last = last_[line];
    point.push_back({line, last, content});
    last = content;
  }
  kept_ += point.size();
  points_.push_back(std::make_shared<const Changes>(std::move(point)));
  marks_.push_back(mark);
}

Result<bool> ImageWorkers::tell(size_t at, uint64_t ordinal, const BaseLines& changes) {
  if (apart_) return *apart_;
  const Mark mark = {ordinal, digest_of(changes)};
  if (at == marks_.size() && (marks_.empty() || marks_.back().ordinal < ordinal)) {
    add_point(mark, changes);
    return true;
  }
  if (at < marks_.size() && marks_[at] == mark) return false;
  const std::string place =
      "crash point " + std::to_string(ordinal) + " as number " + std::to_string(at + 1) + " of the walk over the trace";
  apart_ = defect(at < marks_.size() && marks_[at].ordinal == ordinal
                      ? "two walks over the trace told different lines of " + place
                  : at < marks_.size() ? "one walk told of " + place + ", and another one of crash point " +
                                             std::to_string(marks_[at].ordinal)
                                       : "a walk told of " + place + ", behind crash point " +
                                             (marks_.empty() ? "none" : std::to_string(marks_.back().ordinal)) +
                                             " as number " + std::to_string(marks_.size()));
  return *apart_;
}

Result<bool> ImageWorkers::foresee(size_t before, uint64_t ordinal, const BaseLines& changes) {
  const std::scoped_lock lock(mutex_);
  return tell(before, ordinal, changes);
}

bool ImageWorkers::came_apart() const {
  const std::scoped_lock lock(mutex_);
  return apart_.has_value();
}

std::optional<EngineError> ImageWorkers::next(uint64_t ordinal, const BaseLines& changes) {
  Lock lock(mutex_);
  if (const auto told = tell(now_, ordinal, changes); !told) return told.error();
  ++now_;
  forget_ahead(now_);
  if (kept_ < kMostKeptLines) return std::nullopt;
  settle(&lock);
  for (auto& member : members_) move(member.get(), now_, &lock);
  for (; dropped_ < now_; ++dropped_) {
    kept_ -= points_.front()->size();
    points_.pop_front();
  }
  return std::nullopt;
}

void ImageWorkers::base(uint64_t line, const Content& content) {
  const std::scoped_lock lock(mutex_);
  last_.try_emplace(line, content);
  for (auto& member : members_) member->behind.emplace_back(line, content);
}

void ImageWorkers::clear() {
  Lock lock(mutex_);
  settle(&lock);
  for (auto& member : members_) {
    member->behind.clear();
    for (const auto& [line, content] : last_) member->behind.emplace_back(line, Content{});
    member->at = 0;
  }
  for (auto& [line, content] : last_) content = {};
  points_.clear();
  marks_.clear();
  dropped_ = now_ = kept_ = 0;
}

void ImageWorkers::move(Member* member, size_t point, Lock* lock) {
  const BaseLines behind = std::exchange(member->behind, {});
  const size_t from = std::exchange(member->at, point);
  std::vector<std::shared_ptr<const Changes>> between;
  for (size_t i = std::min(from, point); i < std::max(from, point); ++i) between.push_back(points_[i - dropped_]);
  lock->unlock();
  ImageFiles& files = member->worker->files();
  for (const auto& [line, content] : behind) files.put(line, content);
  if (from <= point) {
    for (const auto& changes : between) {
      for (const Line& line : *changes) files.put(line.line, line.after);
    }
  } else {
    for (const auto& changes : between | std::views::reverse) {
      for (const Line& line : *changes | std::views::reverse) files.put(line.line, line.before);
    }
  }
  lock->lock();
}

bool ImageWorkers::place(Member* member, size_t point, const LineSets& sets, const Choice& choice,
                         const ImageName& name, Lock* lock) {
  move(member, point, lock);
  lock->unlock();
  ImageFiles& files = member->worker->files();
  for (size_t i = 0; i < sets.size(); ++i) files.put(sets[i]->line, sets[i]->contents[choice[i]]);
  lock->lock();
  if (files.name() == name) return true;
  if (!apart_) {
    apart_ =
        defect("a worker's image of crash point " + (point == 0 ? "none" : std::to_string(marks_[point - 1].ordinal)) +
               " is not the one that was to be run");
  }
  return false;
}

Result<std::vector<std::string>> ImageWorkers::copy(const LineSets& sets, const Choice& choice, const ImageName& name,
                                                    const std::string& to) {
  Lock lock(mutex_);
  if (apart_ || !place(members_.front().get(), now_, sets, choice, name, &lock)) return *apart_;
  const std::vector<std::string>& files = members_.front()->worker->files().paths();
  std::vector<std::string> out;
  for (size_t i = 0; i < files.size(); ++i) {
    out.push_back(files.size() == 1 ? to : to + "." + std::to_string(i));
    std::error_code wrong;
    std::filesystem::copy_file(files[i], out.back(), std::filesystem::copy_options::overwrite_existing, wrong);
    if (wrong) return usage_error("cannot be written (" + wrong.message() + ")", out.back(), "Name another file.");
  }
  return out;
}

// ---- images of the crash point at hand ---------------------------------------------------------------

std::optional<EngineError> ImageWorkers::each(const LineSets& sets, std::span<const Choice> choices,
                                              std::span<const ImageName> names, const Job& job) {
  Lock lock(mutex_);
  if (apart_) return apart_;
  sets_ = &sets;
  choices_ = choices;
  image_names_ = names;
  job_ = &job;
  next_ = finished_ = 0;
  failed_ = false;
  errors_.assign(choices.size(), std::nullopt);
  if (choices.size() > 1) given_.notify_all();
  take_images(members_.front().get(), &lock);
  done_.wait(lock, [&] { return finished_ == next_; });
  choices_ = {};
  image_names_ = {};
  if (apart_) return apart_;
  // Images are begun in order: one that was left out stands behind the error that is why.
  for (auto& error : errors_) {
    if (error) return error;
  }
  return std::nullopt;
}

Result<std::vector<ProgramOutcome>> ImageWorkers::run(const LineSets& sets, std::span<const Choice> choices,
                                                      std::span<const ImageName> names, bool elsewhere) {
  std::vector<ProgramOutcome> out(choices.size());
  const auto wrong = each(sets, choices, names, [&](ImageWorker& worker, size_t number) -> std::optional<EngineError> {
    auto outcome = worker.run(elsewhere);
    if (!outcome) return outcome.error();
    out[number] = std::move(*outcome);
    return std::nullopt;
  });
  if (wrong) return *wrong;
  return out;
}

Result<std::vector<ImageWorker::Traced>> ImageWorkers::trace(const LineSets& sets, std::span<const Choice> choices,
                                                             std::span<const ImageName> names) {
  std::vector<ImageWorker::Traced> out(choices.size());
  std::vector<std::shared_ptr<Ahead>> ahead(choices.size());
  std::vector<size_t> places;
  std::vector<Choice> missing;
  std::vector<ImageName> missing_names;
  const auto miss = [&](size_t place) {
    places.push_back(place);
    missing.push_back(choices[place]);
    missing_names.push_back(names[place]);
  };
  {
    const std::scoped_lock lock(mutex_);
    for (size_t i = 0; i < choices.size(); ++i) {
      const auto known = ahead_.find(names[i]);
      if (known != ahead_.end() && known->second->begun) ahead[i] = known->second;
      if (known != ahead_.end()) {
        std::erase(to_begin_, known->second);
        ahead_.erase(known);
      }
      if (!ahead[i]) miss(i);
    }
  }
  const Job job = [&](ImageWorker& worker, size_t number) -> std::optional<EngineError> {
    auto traced = worker.trace();
    if (!traced) return traced.error();
    out[places[number]] = std::move(*traced);
    return std::nullopt;
  };
  if (const auto wrong = each(sets, missing, missing_names, job)) return *wrong;
  places.clear();
  missing.clear();
  missing_names.clear();
  Lock lock(mutex_);
  for (size_t i = 0; i < choices.size(); ++i) {
    if (!ahead[i]) continue;
    done_.wait(lock, [&] { return ahead[i]->ended; });
    if (ahead[i]->traced) {
      out[i] = std::move(*ahead[i]->traced);
    } else {
      miss(i);
    }
  }
  lock.unlock();
  if (const auto wrong = each(sets, missing, missing_names, job)) return *wrong;
  return out;
}

void ImageWorkers::take_images(Member* member, Lock* lock) {
  while (next_ < choices_.size() && !failed_) {
    const size_t index = next_++;
    std::optional<EngineError> error;
    if (place(member, now_, *sets_, choices_[index], image_names_[index], lock)) {
      lock->unlock();
      error = (*job_)(*member->worker, index);
      lock->lock();
    } else {
      error = apart_;
    }
    failed_ = failed_ || error;
    errors_[index] = std::move(error);
    ++finished_;
  }
}

// ---- runs ahead --------------------------------------------------------------------------------------

size_t ImageWorkers::room(size_t traced) const {
  const std::scoped_lock lock(mutex_);
  // For each thread, one image is traced and another waits.
  const size_t wanted = 2 * threads_.size(), given = traced + to_begin_.size() + under_way_;
  return wanted > given ? wanted - given : 0;
}

void ImageWorkers::trace_ahead(const std::shared_ptr<const std::vector<LineSet>>& sets, const Choice& choice,
                               const ImageName& name) {
  const std::scoped_lock lock(mutex_);
  const auto [at, added] = ahead_.try_emplace(name);
  if (!added) return;
  at->second = std::make_shared<Ahead>(Ahead{marks_.size(), name, sets, choice});
  to_begin_.push_back(at->second);
  given_.notify_one();
}

bool ImageWorkers::take_ahead(Member* member, Lock* lock) {
  if (to_begin_.empty()) return false;
  const std::shared_ptr<Ahead> ahead = std::move(to_begin_.front());
  to_begin_.pop_front();
  ahead->begun = true;
  ++under_way_;
  if (place(member, ahead->point, sets_of(*ahead->sets), ahead->choice, ahead->name, lock)) {
    lock->unlock();
    auto traced = member->worker->trace(false);
    lock->lock();
    if (traced && traced->reads) ahead->traced = std::move(*traced);
  }
  ahead->ended = true;
  --under_way_;
  done_.notify_all();
  return true;
}

void ImageWorkers::forget_ahead(size_t point) {
  const auto passed = [point](const Ahead& ahead) { return ahead.point < point; };
  std::erase_if(to_begin_, [&](const auto& ahead) { return passed(*ahead); });
  absl::erase_if(ahead_, [&](const auto& entry) { return passed(*entry.second); });
}

void ImageWorkers::settle(Lock* lock) {
  to_begin_.clear();
  ahead_.clear();
  done_.wait(*lock, [&] { return under_way_ == 0; });
}

void ImageWorkers::work(Member* member) {
  Lock lock(mutex_);
  while (!ending_) {
    take_images(member, &lock);
    if (finished_ == next_) done_.notify_all();
    if (take_ahead(member, &lock)) continue;
    given_.wait(lock, [&] { return ending_ || (next_ < choices_.size() && !failed_) || !to_begin_.empty(); });
  }
}

// ---- reports -----------------------------------------------------------------------------------------

bool ImageWorkers::report() const {
  return std::ranges::all_of(members_, [](const auto& member) { return member->worker->reports(); });
}

ImageWorker::Clock ImageWorkers::clock() const {
  const auto clock = [](const auto& member) { return member->worker->clock(); };
  return clock(*std::ranges::max_element(members_, {}, clock));
}

void ImageWorkers::shift_clock(int seconds) {
  for (auto& member : members_) member->worker->shift_clock(seconds);
}

bool ImageWorkers::distrust_reports(const std::string& why) {
  {
    Lock lock(mutex_);
    settle(&lock);
  }
  bool any = false;
  for (auto& member : members_) any = member->worker->distrust_reports(why) || any;
  return any;
}

}  // namespace powercut
