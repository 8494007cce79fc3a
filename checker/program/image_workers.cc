#include "checker/program/image_workers.h"

#include <algorithm>

namespace powercut {

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

void ImageWorkers::base(uint64_t line, const Content& content) {
  lines_.insert(line);
  for (auto& member : members_) member->behind.emplace_back(line, content);
}

bool ImageWorkers::report() const {
  return std::ranges::all_of(members_, [](const auto& member) { return member->worker->reports(); });
}

bool ImageWorkers::distrust_reports(const std::string& why) {
  bool any = false;
  for (auto& member : members_) any = member->worker->distrust_reports(why) || any;
  return any;
}

void ImageWorkers::clear() {
  for (auto& member : members_) {
    member->behind.clear();
    for (const uint64_t line : lines_) member->behind.emplace_back(line, Content{});
  }
}

std::optional<EngineError> ImageWorkers::each(const LineSets& sets, std::span<const Choice> choices, const Job& job) {
  std::unique_lock lock(mutex_);
  sets_ = &sets;
  choices_ = choices;
  job_ = &job;
  next_ = finished_ = 0;
  failed_ = false;
  errors_.assign(choices.size(), std::nullopt);
  if (choices.size() > 1) given_.notify_all();
  take_images(members_.front().get(), &lock);
  done_.wait(lock, [&] { return finished_ == next_; });
  choices_ = {};
  // Images are begun in order: one that was left out stands behind the error that is why.
  for (auto& error : errors_) {
    if (error) return error;
  }
  return std::nullopt;
}

Result<std::vector<ProgramOutcome>> ImageWorkers::run(const LineSets& sets, std::span<const Choice> choices,
                                                      bool elsewhere) {
  std::vector<ProgramOutcome> out(choices.size());
  const auto wrong = each(sets, choices, [&](ImageWorker& worker, size_t number) -> std::optional<EngineError> {
    auto outcome = worker.run(elsewhere);
    if (!outcome) return outcome.error();
    out[number] = std::move(*outcome);
    return std::nullopt;
  });
  if (wrong) return *wrong;
  return out;
}

Result<std::vector<ImageWorker::Traced>> ImageWorkers::trace(const LineSets& sets, std::span<const Choice> choices) {
  std::vector<ImageWorker::Traced> out(choices.size());
  const auto wrong = each(sets, choices, [&](ImageWorker& worker, size_t number) -> std::optional<EngineError> {
    auto traced = worker.trace();
    if (!traced) return traced.error();
    out[number] = std::move(*traced);
    return std::nullopt;
  });
  if (wrong) return *wrong;
  return out;
}

void ImageWorkers::place(Member* member, const LineSets& sets, const Choice& choice) {
  ImageFiles& files = member->worker->files();
  for (const auto& [line, content] : member->behind) files.put(line, content);
  member->behind.clear();
  for (size_t i = 0; i < sets.size(); ++i) files.put(sets[i]->line, sets[i]->contents[choice[i]]);
}

void ImageWorkers::take_images(Member* member, std::unique_lock<std::mutex>* lock) {
  while (next_ < choices_.size() && !failed_) {
    const size_t index = next_++;
    lock->unlock();
    place(member, *sets_, choices_[index]);
    auto error = (*job_)(*member->worker, index);
    lock->lock();
    failed_ = failed_ || error;
    errors_[index] = std::move(error);
    ++finished_;
  }
}

void ImageWorkers::work(Member* member) {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    take_images(member, &lock);
    if (finished_ == next_) done_.notify_all();
    given_.wait(lock, [&] { return ending_ || (next_ < choices_.size() && !failed_); });
  }
}

}  // namespace powercut
