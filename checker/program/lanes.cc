#include "checker/program/lanes.h"

namespace powercut {

Lanes::Lanes(std::vector<std::unique_ptr<Lane>> lanes) {
  for (auto& lane : lanes) {
    lanes_.push_back(std::make_unique<Worker>());
    lanes_.back()->lane = std::move(lane);
  }
  for (size_t i = 1; i < lanes_.size(); ++i) threads_.emplace_back([this, i] { work(lanes_[i].get()); });
}

Lanes::~Lanes() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  given_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Lanes::base(uint64_t line, const Content& content) {
  for (auto& worker : lanes_) worker->behind.emplace_back(line, content);
}

Result<std::vector<ProgramOutcome>> Lanes::run(const LineSets& sets, std::span<const Choice> choices, bool elsewhere) {
  std::unique_lock lock(mutex_);
  sets_ = &sets;
  choices_ = choices;
  elsewhere_ = elsewhere;
  next_ = finished_ = 0;
  failed_ = false;
  outcomes_.assign(choices.size(), std::nullopt);
  if (choices.size() > 1) given_.notify_all();
  take_images(lanes_.front().get(), &lock);
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

void Lanes::place(Worker* worker, const LineSets& sets, const Choice& choice) {
  ImageFiles& files = worker->lane->files();
  for (const auto& [line, content] : worker->behind) files.put(line, content);
  worker->behind.clear();
  for (size_t i = 0; i < sets.size(); ++i) files.put(sets[i]->line, sets[i]->contents[choice[i]]);
}

Result<Lane::Traced> Lanes::trace(const LineSets& sets, const Choice& choice) {
  place(lanes_.front().get(), sets, choice);
  return lanes_.front()->lane->trace();
}

void Lanes::take_images(Worker* worker, std::unique_lock<std::mutex>* lock) {
  while (next_ < choices_.size() && !failed_) {
    const size_t index = next_++;
    lock->unlock();
    place(worker, *sets_, choices_[index]);
    auto outcome = worker->lane->run(elsewhere_);
    lock->lock();
    failed_ = failed_ || !outcome.ok();
    outcomes_[index].emplace(std::move(outcome));
    ++finished_;
  }
}

void Lanes::work(Worker* worker) {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    take_images(worker, &lock);
    if (finished_ == next_) done_.notify_all();
    given_.wait(lock, [&] { return ending_ || (next_ < choices_.size() && !failed_); });
  }
}

}  // namespace powercut
