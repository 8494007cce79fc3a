#include "checker/exploration/walks/limits.h"

namespace powercut {
namespace {

// Seconds that may go into runs that do not end, if that is more than so many of them.
constexpr double kMostWaited = 20;
constexpr uint64_t kLeastTimeouts = 3;

}  // namespace

double Limits::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

bool Limits::stopped() {
  if (listener_.interrupted()) out_->interrupted = true;
  if (listener_.useless()) out_->useless = true;
  if (late()) out_->out_of_time = true;
  if (options_.budget_found > 0 && !out_->findings.empty() && seconds() >= options_.budget_found)
    out_->out_of_time = true;
  if (options_.budget_executions > 0 && out_->executions >= options_.budget_executions) out_->out_of_executions = true;
  const double waited = static_cast<double>(out_->timeouts) * (options_.timeout + second_timeout(options_.timeout));
  if (out_->timeouts >= kLeastTimeouts && waited >= kMostWaited) out_->hung = true;
  return out_->functional || out_->interrupted || out_->out_of_time || out_->out_of_executions || out_->hung ||
         out_->useless || !out_->troubles.empty();
}

bool Limits::ended_by(const EngineError& error) {
  out_->came_apart = out_->came_apart || workers_->came_apart();
  out_->interrupted = out_->interrupted || listener_.interrupted();
  out_->out_of_time = out_->out_of_time || late();
  if (out_->came_apart || !(out_->interrupted || out_->out_of_time)) out_->troubles.push_back(error.message());
  return false;
}

}  // namespace powercut
