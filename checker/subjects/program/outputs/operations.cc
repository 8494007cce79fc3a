#include "checker/subjects/program/outputs/operations.h"

#include <algorithm>

#include "checker/edit/schedule_trace.h"
#include "checker/subjects/program/outputs/finding.h"
#include "xxhash.h"

namespace powercut {
namespace {

uint64_t with(uint64_t digest, const Event& event) {
  const uint64_t fields[] = {static_cast<uint64_t>(event.kind), event.thread, event.code, event.addr};
  digest = XXH3_64bits_withSeed(fields, sizeof fields, digest);
  digest = XXH3_64bits_withSeed(event.text.data(), event.text.size(), digest);
  digest = XXH3_64bits_withSeed(event.key.data(), event.key.size(), digest);
  return XXH3_64bits_withSeed(event.value.data(), event.value.size(), digest);
}

// Digests of an operation's question and of its answer. Neither the instant counts nor the thread.
uint64_t asked_by(const Event& event) {
  uint64_t out = XXH3_64bits_withSeed(event.key.data(), event.key.size(), event.code);
  out = XXH3_64bits_withSeed(event.value.data(), event.value.size(), out + 1);
  return XXH3_64bits_withSeed(event.text.data(), event.text.size(), out + 1);
}
uint64_t answered_by(const Event& event) {
  return XXH3_64bits_withSeed(event.value.data(), event.value.size(), event.code);
}

}  // namespace

void Operations::apply(const Event& event) {
  if (event.kind == EventKind::kMarker && event.text == kScheduleBegins) {
    forked_ = true;
    ordered_ = in_flight_.empty();
    return;
  }
  if (event.kind == EventKind::kFork) {
    forked_ = true;
    ordered_ = in_flight_.empty();
    root_ = std::make_shared<const Operations>(*this);
    return;
  }
  if (event.kind == EventKind::kBack) {
    const auto root = root_;
    *this = Operations(*root);
    root_ = root;
    return;
  }
  if (root_ != nullptr && (event.kind == EventKind::kStore || event.kind == EventKind::kNtStore ||
                           event.kind == EventKind::kOpBegin || event.kind == EventKind::kOpEnd)) {
    path_ = with(path_, event);
  }
  if (event.kind == EventKind::kCut) {
    ordered_ = false;
    unsettled_ = unsettled_ || !in_flight_.empty();
    in_flight_.clear();
    begun_since_settled_ = 0;
    return;
  }
  if (event.kind == EventKind::kOpBegin) {
    note_begin(event);
    MarkedOperation operation = {begun_++, static_cast<OpKind>(event.code),
                                 std::string(reinterpret_cast<const char*>(event.key.data()), event.key.size()),
                                 std::string(event.text), event.thread};
    operation.prefix = root_ == nullptr ? operation.index + 1 : path_;
    current_ = operation;
    in_flight_.push_back(std::move(operation));
    ++begun_since_settled_;
    return;
  }
  if (event.kind != EventKind::kOpEnd) return;
  // The end belongs to the thread's innermost operation.
  const auto ended = std::find_if(in_flight_.rbegin(), in_flight_.rend(),
                                  [&](const MarkedOperation& operation) { return operation.thread == event.thread; });
  if (ended == in_flight_.rend()) return;
  note_end(event);
  current_ = *ended;
  in_flight_.erase(std::next(ended).base());
  if (in_flight_.empty()) {
    // All operations that have begun have ended, whichever was the last.
    settled_by_ = begun_ - 1;
    settled_.push_back({root_ == nullptr ? begun_ : path_, begun_});
    begun_since_settled_ = 0;
    unsettled_ = false;
  } else {
    current_ = in_flight_.back();
  }
}

void Operations::note_begin(const Event& event) {
  if (!forked_) return;
  const auto of_thread = [&](const MarkedOperation& operation) { return operation.thread == event.thread; };
  if (std::ranges::any_of(in_flight_, of_thread)) ordered_ = false;
  serial_ = serial_ && in_flight_.empty();
  HistoryOperation operation;
  operation.thread = event.thread;
  operation.asked = asked_by(event);
  operation.began = ++instants_;
  operation.reads = static_cast<OpKind>(event.code) == OpKind::kLookup;
  operation.text = operation_name(event);
  history_.push_back(std::move(operation));
  history_name_ = with(history_name_, event);
}

void Operations::note_end(const Event& event) {
  if (!forked_) return;
  const auto pending = [&](const HistoryOperation& operation) {
    return operation.thread == event.thread && !operation.answered;
  };
  const auto operation = std::find_if(history_.rbegin(), history_.rend(), pending);
  if (operation == history_.rend()) return;
  operation->ended = ++instants_;
  operation->answered = answered_by(event);
  history_name_ = with(history_name_, event);
}

}  // namespace powercut
