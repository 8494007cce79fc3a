#include "checker/program/operations.h"

#include <algorithm>

namespace powercut {

void Operations::apply(const Event& event) {
  if (event.kind == EventKind::kCut) {
    unsettled_ = unsettled_ || !in_flight_.empty();
    in_flight_.clear();
    begun_since_settled_ = 0;
    return;
  }
  if (event.kind == EventKind::kOpBegin) {
    MarkedOperation operation = {begun_++, static_cast<OpKind>(event.code),
                                 std::string(reinterpret_cast<const char*>(event.key.data()), event.key.size()),
                                 std::string(event.text), event.thread};
    current_ = operation;
    in_flight_.push_back(std::move(operation));
    ++begun_since_settled_;
    return;
  }
  if (event.kind != EventKind::kOpEnd) return;
  // The thread's innermost one.
  const auto ended = std::find_if(in_flight_.rbegin(), in_flight_.rend(),
                                  [&](const MarkedOperation& operation) { return operation.thread == event.thread; });
  if (ended == in_flight_.rend()) return;
  current_ = *ended;
  in_flight_.erase(std::next(ended).base());
  if (in_flight_.empty()) {
    settled_by_ = current_->index;
    begun_since_settled_ = 0;
    unsettled_ = false;
  } else {
    current_ = in_flight_.back();
  }
}

}  // namespace powercut
