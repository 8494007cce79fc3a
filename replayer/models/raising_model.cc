#include "replayer/models/raising_model.h"

namespace powercut {

bool RaisingModel::raises(const Event& event) {
  if (event.kind == EventKind::kFence) return fence_raises(event);
  if (event.kind == EventKind::kFlush) return flush_raises(event);
  return event.kind == EventKind::kCut;
}

bool RaisingModel::fence_raises(const Event& event) {
  switch (made_durable(event)) {
    case Durable::kOfThread:
      for (uint64_t line : pending_.raised_by_fence(thread_of(event))) {
        const LineLog& log = *pending_.find(line);
        if (takes_away(line, log, log.durable_by_fence(thread_of(event), pending_.policy()))) return true;
      }
      return false;
    case Durable::kAll:
      for (const auto& [line, log] : pending_.lines()) {
        if (takes_away(line, log, log.all())) return true;
      }
      return false;
    case Durable::kNothing:
    case Durable::kWithFence:
    case Durable::kLine:
    case Durable::kWord:
      break;
  }
  return false;
}

bool RaisingModel::flush_raises(const Event& event) {
  const uint64_t line = event.addr / kLineSize;
  switch (made_durable(event)) {
    case Durable::kLine: {
      if (!pending_.raised_by_clflush(event.addr)) return false;
      const LineLog& log = *pending_.find(line);
      return takes_away(line, log, log.durable_by_settling(pending_.policy()));
    }
    case Durable::kWord: {
      const LineLog* log = pending_.find(line);
      return log != nullptr && log->pending() &&
             takes_away(line, *log, log->durable_by_forcing(static_cast<uint32_t>(event.addr % kLineSize / 8)));
    }
    case Durable::kNothing:
    case Durable::kWithFence:
    case Durable::kOfThread:
    case Durable::kAll:
      break;
  }
  return false;
}

void RaisingModel::flush(const Event& event) {
  switch (made_durable(event)) {
    case Durable::kWithFence:
      pending_.flush(thread_of(event), event.addr, FlushKind::kClwb);
      return;
    case Durable::kLine:
      pending_.flush(thread_of(event), event.addr, FlushKind::kClflush);
      return absorb(event.addr / kLineSize);
    case Durable::kWord:
      pending_.force(event.addr);
      return absorb(event.addr / kLineSize);
    case Durable::kNothing:
    case Durable::kOfThread:
    case Durable::kAll:
      return;
  }
}

void RaisingModel::change(const Event& event) {
  switch (event.kind) {
    case EventKind::kStore:
    case EventKind::kNtStore:
      return store(event);
    case EventKind::kFlush:
      return flush(event);
    case EventKind::kFence:
      return fence(event);
    case EventKind::kCut:
      return cut();
    case EventKind::kOpBegin:
    case EventKind::kOpEnd:
    case EventKind::kThreadStart:
    case EventKind::kThreadEnd:
    case EventKind::kAllocate:
    case EventKind::kFree:
    case EventKind::kMarker:
    case EventKind::kPhase:
    case EventKind::kFork:
    case EventKind::kBack:
    case EventKind::kContent:
    case EventKind::kCrashPoint:
    case EventKind::kSearched:
    case EventKind::kTrouble:
      return;
  }
}

std::unique_ptr<Model> Persistency::model(AtomPolicy wanted, uint64_t pool_size) const {
  return std::make_unique<RaisingModel>(*this, wanted, pool_size);
}

}  // namespace powercut
