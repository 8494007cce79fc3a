#include "checker/program/image_workers.h"

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
  for (auto& member : members_) member->behind.emplace_back(line, content);
}

Result<std::vector<ProgramOutcome>> ImageWorkers::run(const LineSets& sets, std::span<const Choice> choices,
                                                      bool elsewhere) {
  std::unique_lock lock(mutex_);
  sets_ = &sets;
  choices_ = choices;
  elsewhere_ = elsewhere;
  next_ = finished_ = 0;
  failed_ = false;
  outcomes_.assign(choices.size(), std::nullopt);
  if (choices.size() > 1) given_.notify_all();
  take_images(members_.front().get(), &lock);
  done_.wait(lock, [&] { return finished_ == next_; });
  choices_ = {};
  std::vector<ProgramOutcome> out;
  for (auto& outcome : outcomes_) {
    // Images are begun in order: one that was left out stands behind the error that is why.
    if (!outcome || !outcome->ok()) return outcome->error();
    out.push_back(std::move(**outcome));
  }
  return out;
}

void ImageWorkers::place(Member* member, const LineSets& sets, const Choice& choice) {
  ImageFiles& files = member->worker->files();
  for (const auto& [line, content] : member->behind) files.put(line, content);
  member->behind.clear();
  for (size_t i = 0; i < sets.size(); ++i) files.put(sets[i]->line, sets[i]->contents[choice[i]]);
}

Result<ImageWorker::Traced> ImageWorkers::trace(const LineSets& sets, const Choice& choice) {
  place(members_.front().get(), sets, choice);
  return members_.front()->worker->trace();
}

void ImageWorkers::take_images(Member* member, std::unique_lock<std::mutex>* lock) {
  while (next_ < choices_.size() && !failed_) {
    const size_t index = next_++;
    lock->unlock();
    place(member, *sets_, choices_[index]);
    auto outcome = member->worker->run(elsewhere_);
    lock->lock();
    failed_ = failed_ || !outcome.ok();
    outcomes_[index].emplace(std::move(outcome));
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
