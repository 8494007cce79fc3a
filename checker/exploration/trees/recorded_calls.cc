#include "checker/exploration/trees/recorded_calls.h"

#include <algorithm>
#include <utility>

#include "base/user_file.h"
#include "replayer/media/files/trace_effects.h"
#include "replayer/media/open_trace.h"

namespace powercut {
namespace {

RecordedCall sync_of(uint64_t inode, uint64_t number) {
  RecordedCall sync;
  sync.effect.kind = files::EffectKind::kSync;
  sync.effect.inode = inode;
  sync.number = number;
  return sync;
}

}  // namespace

Result<RecordedCalls> RecordedCalls::load(const std::string& trace) {
  auto opened = open_trace(trace);
  if (!opened) return opened.error();
  TraceReader* const reader = opened->get();
  reader->take_tree_calls();
  RecordedCalls out;
  std::optional<KeptEvent> at_hand;
  files::TraceEffects effects([&](const files::Effect& effect, uint64_t number) {
    const bool mark = effect.kind == files::EffectKind::kBegin || effect.kind == files::EffectKind::kEnd;
    out.calls_.push_back({effect, number, mark ? at_hand : std::nullopt});
  });
  Event event;
  while (reader->next(&event)) {
    if (event.kind == EventKind::kOpBegin || event.kind == EventKind::kOpEnd) at_hand.emplace(event);
    if (event.kind == kTreeCall && static_cast<TreeCall>(event.code) == TreeCall::kNote &&
        static_cast<TreeNote>(event.flags) != TreeNote::kTold) {
      out.missed_.emplace_back(event.value.begin(), event.value.end());
    }
    effects.take(event);
  }
  effects.end();
  if (reader->error()) return usage_error(*reader->error());
  if (!effects.started()) {
    return usage_error("this is no recording of a folder", trace, "Record one with 'powercut record --files'.");
  }
  out.events_ = reader->total_events();
  out.metadata_ = parse_json(reader->metadata());
  out.modules_ = reader->modules();
  return out;
}

RecordedCalls::Place RecordedCalls::before(uint64_t number) {
  return std::ranges::find_if(calls_, [&](const RecordedCall& call) { return !call.mark && call.number == number; });
}

RecordedCalls::Place RecordedCalls::behind(uint64_t number) {
  const auto last = std::find_if(calls_.rbegin(), calls_.rend(),
                                 [&](const RecordedCall& call) { return !call.mark && call.number == number; });
  return last.base();
}

bool RecordedCalls::go_through(uint64_t first, uint64_t last, uint64_t folder, const std::string& name) {
  using enum files::EffectKind;
  const Place emptied = before(first);
  if (emptied == calls_.end() || emptied->effect.kind != kSize || emptied->effect.size != 0 || last < first ||
      before(last) == calls_.end()) {
    return false;
  }
  const uint64_t old = emptied->effect.inode;
  uint64_t highest = 0;
  for (const RecordedCall& call : calls_) highest = std::max(highest, call.effect.inode);
  const uint64_t other = highest + 1;
  for (Place call = emptied; call != calls_.end(); ++call) {
    if (!call->mark && call->effect.inode == old) call->effect.inode = other;
  }
  files::Effect created;
  created.kind = kCreate;
  created.inode = other;
  created.folder = folder;
  created.name = name + ".powercut-new";
  files::Effect renamed = created;
  renamed.kind = kRename;
  renamed.inode = 0;
  renamed.to_folder = folder;
  renamed.to_name = name;
  emptied->effect = created;
  const RecordedCall then[] = {sync_of(other, last), {renamed, last, std::nullopt}, sync_of(folder, last)};
  calls_.insert(behind(last), std::begin(then), std::end(then));
  return true;
}

std::optional<EngineError> RecordedCalls::edit(const Json& edits, const std::string& where) {
  const auto wrong = [&](const std::string& what) {
    return usage_error(what, where,
                       "Give a list of {\"before\", \"sync\", \"inode\"}, {\"move\", \"before\"} and {\"through\", "
                       "\"last\", \"folder\", \"name\"}.");
  };
  if (!edits.is_array()) return wrong("the edits are no list");
  try {
    for (const Json& raw : edits) {
      const JsonField edit(raw, "edit");
      if (edit.has("move")) {
        const uint64_t number = edit["move"].number();
        const auto from = before(number);
        if (from == calls_.end()) return wrong("there is no call " + std::to_string(number));
        const RecordedCall moved = *from;
        calls_.erase(from);
        const auto to = before(edit["before"].number());
        if (to == calls_.end()) return wrong("there is no such call to move behind");
        calls_.insert(to, moved);
        continue;
      }
      if (edit.has("through")) {
        const uint64_t number = edit["through"].number();
        if (!go_through(number, edit["last"].number(), edit["folder"].number(), edit["name"].text())) {
          return wrong("call " + std::to_string(number) + " empties no file");
        }
        continue;
      }
      const std::string kind = edit["sync"].text();
      const bool after = edit.has("after"), all = kind == "all";
      RecordedCall sync = sync_of(all ? 0 : edit["inode"].number(), edit[after ? "after" : "before"].number());
      if (all) sync.effect.kind = files::EffectKind::kSyncAll;
      sync.effect.sync = kind == "data" ? files::SyncKind::kData : files::SyncKind::kFile;
      const auto place = after ? behind(sync.number) : before(sync.number);
      const bool found = after ? place != calls_.begin() : place != calls_.end();
      if (!found) return wrong("there is no call " + std::to_string(sync.number));
      calls_.insert(place, sync);
    }
  } catch (const Malformed& malformed) {
    return wrong(malformed.at + ": " + malformed.what);
  }
  return std::nullopt;
}

CallWalk::CallWalk(const RecordedCalls& calls, std::vector<files::Disk*> disks, Operations* operations, At at)
    : calls_(calls), disks_(std::move(disks)), operations_(operations) {
  for (size_t disk = 0; disk < disks_.size(); ++disk) {
    crash_points_.emplace_back(disks_[disk], [at, disk](files::Side side, uint64_t call) { at(disk, side, call); });
  }
}

std::optional<uint64_t> CallWalk::walk(const std::function<bool()>& goes_on) {
  for (const RecordedCall& call : calls_.calls()) {
    if (!goes_on()) return std::nullopt;
    // An end counts at the crash point behind it, a begin does not count at the one before it.
    const bool end = call.effect.kind == files::EffectKind::kEnd;
    if (end) take_mark(call);
    if (!call.mark && !call.effect.is_sync() && operations_->in_flight().empty()) changed_outside_ = true;
    for (files::CrashPoints& crash_points : crash_points_) {
      if (!crash_points.take(call.effect, call.number)) return call.number;
    }
    if (!end && call.mark) take_mark(call);
  }
  for (files::CrashPoints& crash_points : crash_points_) crash_points.end();
  return std::nullopt;
}

void CallWalk::take_mark(const RecordedCall& call) {
  operations_->apply(call.mark->view());
  if (operations_->in_flight().empty()) changed_outside_ = false;
}

}  // namespace powercut
