#include "checker/subjects/program/schedules/schedule_tree.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "replayer/media/medium.h"
#include "tracer/format/event_groups.h"
#include "tracer/runtime/hooks.h"
#include "xxhash.h"

namespace powercut {
namespace {

uint64_t hash_of(std::span<const uint8_t> bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

bool same(const Event& a, const Event& b) {
  return a.kind == b.kind && a.code == b.code && a.flags == b.flags && a.thread == b.thread && a.stack == b.stack &&
         a.addr == b.addr && a.size == b.size && std::ranges::equal(a.value, b.value) &&
         std::ranges::equal(a.key, b.key) && a.text == b.text;
}

bool same(const std::vector<KeptEvent>& a, const std::vector<KeptEvent>& b) {
  return std::ranges::equal(a, b, [](const KeptEvent& x, const KeptEvent& y) { return same(x.view(), y.view()); });
}

bool is_store(const Event& event) { return event.kind == EventKind::kStore || event.kind == EventKind::kNtStore; }

}  // namespace

ScheduleTree::ScheduleTree(uint64_t space, const std::string& model)
    : every_store_(persistency_of(model)->stores_at_once()),
      space_(space),
      model_(make_model(model, AtomPolicy::kAny, space)) {}

ScheduleTree::~ScheduleTree() {
  if (pool_ != nullptr) munmap(pool_, space_);
}

Result<std::unique_ptr<ScheduleTree>> ScheduleTree::create(const std::string& path, const std::string& metadata,
                                                           uint64_t space, const std::string& model) {
  std::unique_ptr<ScheduleTree> out(new ScheduleTree(space, model));
  void* pool = mmap(nullptr, space, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pool == MAP_FAILED) return harness_error(std::strerror(errno), path, "Free some memory.");
  out->pool_ = static_cast<uint8_t*>(pool);
  TraceError error;
  out->writer_ = TraceWriter::create(path, metadata, &error);
  if (out->writer_ == nullptr) return usage_error(error);
  return out;
}

uint32_t ScheduleTree::stack_of(const TraceReader& reader, uint32_t id) {
  Stack stack;
  for (const Frame& frame : reader.stack(id)) {
    const TraceModule& module = reader.modules()[frame.module];
    build_ids_.emplace(module.path, module.build_id);
    stack.emplace_back(module.path, frame.offset);
  }
  if (stack.empty()) return 0;
  const auto [at, added] = stacks_.emplace(stack, static_cast<uint32_t>(by_number_.size() + 1));
  if (added) by_number_.push_back(std::move(stack));
  return at->second;
}

RunEvents ScheduleTree::read(TraceReader* reader) {
  RunEvents out;
  std::map<uint32_t, uint32_t> numbers;
  bool forked = false;
  Event event;
  while (reader->next(&event)) {
    if (event.stack != 0) {
      const auto [at, added] = numbers.try_emplace(event.stack);
      if (added) at->second = stack_of(*reader, event.stack);
      event.stack = at->second;
    }
    // Threads are numbered from 1 on; what the recording itself has put in front is of none.
    forked = forked || (event.kind == EventKind::kThreadStart && event.thread > 1);
    (forked ? out.after : out.before).emplace_back(event);
  }
  return out;
}

void ScheduleTree::append(const Event& event) {
  Event copy = event;
  if (event.stack != 0) {
    const auto [at, added] = written_stacks_.try_emplace(event.stack);
    if (added) {
      std::vector<Frame> frames;
      for (const auto& [path, offset] : by_number_[event.stack - 1]) {
        frames.push_back({writer_->module({path, build_ids_[path]}), offset});
      }
      at->second = writer_->stack(frames);
    }
    copy.stack = at->second;
  }
  writer_->append(copy);
}

void ScheduleTree::store(const Event& event) {
  if (event.addr > space_ || event.value.size() > space_ - event.addr) return;
  uint8_t* to = pool_ + event.addr;
  const std::span before(to, event.value.size());
  if (root_) journal_.emplace_back(event.addr, std::vector<uint8_t>(before.begin(), before.end()));
  for (size_t i = 0; i < event.value.size(); ++i) {
    const auto term = [&](uint8_t byte) { return hash_of(std::span(&byte, 1), event.addr + i); };
    memory_ += term(event.value[i]) - term(to[i]);
    to[i] = event.value[i];
  }
}

void ScheduleTree::begin(const RunEvents& run, uint32_t threads) {
  before_ = run.before;
  uint64_t index = 0;
  for (const KeptEvent& kept : before_) {
    Event event = kept.view();
    append(event);
    event.index = index++;
    model_->apply(event);
    if (is_store(event)) store(event);
    marked_.apply(event);
  }
  Event fork;
  fork.kind = EventKind::kFork;
  fork.code = static_cast<uint8_t>(threads);
  append(fork);
  first_ = index + 1;
  root_.emplace(AtomPolicy::kAny, every_store_, pool_);
  root_->begin(*model_);
  root_obligations_ = memory_;
  marked_.apply(fork);
  root_marked_ = marked_;
}

bool ScheduleTree::raises(const Event& event) const {
  switch (event.kind) {
    case EventKind::kOpBegin:
    case EventKind::kOpEnd:
    case EventKind::kFence:
      return true;
    case EventKind::kFlush:
      return every_store_ || event.code == static_cast<uint8_t>(FlushKind::kClflush);
    case EventKind::kStore:
    case EventKind::kNtStore:
    case POWERCUT_PROCESS_EVENTS:
    case POWERCUT_NAME_EVENTS:
    case EventKind::kCut:
    case POWERCUT_TREE_EVENTS:
    case EventKind::kContent:
      break;
  }
  // eadr: a store is in flight until the next event.
  return every_store_;
}

uint64_t ScheduleTree::frontier() const { return lines_->frontier(); }

bool ScheduleTree::add(const RunEvents& run) {
  if (!same(run.before, before_)) return false;
  lines_ = root_;
  marked_ = root_marked_;
  obligations_ = root_obligations_;
  const uint64_t memory = memory_;
  const auto look = [&](size_t count) {
    ++cuts_;
    if (!frontiers_.emplace(frontier(), obligations_).second) return;
    if (marked_.history() != nullptr && !marked_.serial()) {
      overlapping_.try_emplace(marked_.history_name(), *marked_.history());
    }
    lead_to(run.after, count);
    Event event;
    event.kind = EventKind::kCrashPoint;
    append(event);
  };
  std::map<uint32_t, size_t> begun;
  for (size_t i = 0; i < run.after.size(); ++i) {
    Event event = run.after[i].view();
    event.index = first_ + i;
    // There is no instant between the pieces of one store.
    if (raises(event) && (event.flags & kStoreContinues) == 0) look(i);
    lines_->apply(event);
    if (is_store(event)) store(event);
    marked_.apply(event);
    if (event.kind == EventKind::kOpBegin || event.kind == EventKind::kOpEnd) {
      obligations_ = XXH3_64bits_withSeed(event.text.data(), event.text.size(), obligations_ + event.thread);
      obligations_ = hash_of(event.key, obligations_ + static_cast<uint64_t>(event.kind) * 256 + event.code);
      obligations_ = hash_of(event.value, obligations_);
      if (marked_.in_flight().empty()) obligations_ += memory_;
    }
    if (event.kind == EventKind::kOpBegin) operations_ = std::max(operations_, ++begun[event.thread]);
  }
  look(run.after.size());
  // The first schedule stands whole: its end is the state that the program leaves.
  if (steps_ == 0) lead_to(run.after, run.after.size());
  steps_ += run.after.size();
  for (size_t i = journal_.size(); i-- > 0;) {
    std::memcpy(pool_ + journal_[i].first, journal_[i].second.data(), journal_[i].second.size());
  }
  journal_.clear();
  memory_ = memory;
  last_ = run.after;
  return true;
}

bool ScheduleTree::add_order(const RunEvents& run) {
  if (!same(run.before, before_)) return false;
  lead_to(run.after, run.after.size());
  marked_ = root_marked_;
  for (const KeptEvent& kept : run.after) {
    const Event event = kept.view();
    marked_.apply(event);
    const bool quiet = event.kind == EventKind::kOpEnd && marked_.in_flight().empty();
    if (quiet && marked_.history() != nullptr && marked_.serial()) orders_.add(*marked_.history());
  }
  return true;
}

void ScheduleTree::lead_to(const std::vector<KeptEvent>& run, size_t count) {
  size_t common = 0;
  while (common < std::min(count, written_.size()) && same(run[common].view(), written_[common].view())) ++common;
  if (common < written_.size()) {
    Event back;
    back.kind = EventKind::kBack;
    back.size = common;
    append(back);
    written_.resize(common);
  }
  for (size_t i = common; i < count; ++i) {
    append(run[i].view());
    written_.push_back(run[i]);
  }
}

void ScheduleTree::add_trouble(Trouble kind, const std::string& text) {
  // Two schedules have one trouble if equal threads wait at equal places, whatever led there.
  std::map<uint32_t, uint32_t> places;
  for (const KeptEvent& kept : last_) {
    const Event event = kept.view();
    if (event.stack != 0) places[event.thread] = event.stack;
  }
  std::string key = std::to_string(static_cast<int>(kind)) + text;
  for (const auto& [thread, stack] : places) key += "/" + std::to_string(thread) + ":" + std::to_string(stack);
  if (!troubles_.insert(key).second) return;
  lead_to(last_, last_.size());
  Event event;
  event.kind = EventKind::kTrouble;
  event.code = static_cast<uint8_t>(kind);
  event.text = text;
  append(event);
}

std::optional<TraceError> ScheduleTree::finish(const std::string& searched) {
  Event event;
  event.kind = EventKind::kSearched;
  event.text = searched;
  append(event);
  return writer_->finish();
}

}  // namespace powercut
