#include "tracer/pin/recorder.h"

#include <algorithm>

namespace powercut {
namespace pin {
namespace {

constexpr uint64_t kLine = 64;
const Frames kNowhere = {nullptr, 0};

}  // namespace

void add_element(std::vector<Piece>* pieces, uint64_t address, uint64_t size) {
  if (!pieces->empty() && pieces->back().address + pieces->back().size == address) {
    pieces->back().size += size;
  } else {
    pieces->push_back(Piece{address, size});
  }
}

std::vector<Piece> compressed(uint64_t address, uint64_t set, uint64_t size) {
  std::vector<Piece> pieces;
  if (set != 0) pieces.push_back(Piece{address, set * size});
  return pieces;
}

std::vector<Piece> selected_bytes(uint64_t address, const uint8_t* mask, uint32_t size) {
  std::vector<Piece> pieces;
  for (uint32_t i = 0; i < size; ++i) {
    if ((mask[i] & 0x80) != 0) add_element(&pieces, address + i, 1);
  }
  return pieces;
}

Recorder::Recorder(const Host& host, uint32_t patience)
    : host_(host),
      lock_(host.pause),
      turn_(host.pause, patience),
      stacks_(file_.stream()),
      ranges_(new powercut_ranges()),
      threads_(kMostThreads) {}

bool Recorder::open(const char* path) {
  recording_ = file_.open(path);
  return recording_;
}

bool Recorder::touches_pools(uint64_t address, uint64_t size) {
  if (!recording()) return false;
  const Held held(lock_);
  uint64_t begin = 0;
  return powercut_ranges_clip(ranges_.get(), address, size, &begin) != 0;
}

// Returns the thread, with its last store recorded; null when nothing of the thread is to be recorded.
Recorder::Thread* Recorder::settled(uint32_t thread) {
  if (!recording()) return nullptr;
  if (thread >= kMostThreads) {
    if (!__atomic_exchange_n(&said_threads_, true, __ATOMIC_RELAXED)) {
      note(kPowercutNoteOther, "more than 2048 threads at once: some were not recorded");
    }
    return nullptr;
  }
  store_ends(thread, Outcome::kUnknown);
  return &threads_[thread];
}

void Recorder::take_turn(uint32_t thread) {
  if (turn_.take(thread) || __atomic_exchange_n(&said_order_, true, __ATOMIC_RELAXED)) return;
  note(kPowercutNoteOther,
       "a thread was held up within a store to a pool: the order of its store and another thread's is a guess");
}

powercut_site Recorder::site(Thread& thread, const Frames& frames) {
  if (!thread.known) {
    thread.known = true;
    thread.number = births_++;
    const powercut_site born = {thread.number, 0};
    powercut_stream_plain(file_.stream(), kPowercutThreadStart, born);
  }
  const powercut_site made = {thread.number, frames.count == 0 ? 0 : stacks_.number(frames.addresses, frames.count)};
  return made;
}

void Recorder::store_begins(uint32_t number, const Store& store, const Piece* pieces, size_t count,
                            const Frames& frames) {
  Thread* thread = settled(number);
  if (thread == nullptr) return;
  {
    const Held held(lock_);
    thread->pieces.clear();
    for (size_t i = 0; i < count; ++i) {
      each_mapped(*ranges_, pieces[i].address, pieces[i].size, [&](const powercut_range& piece) {
        thread->pieces.push_back(Piece{piece.begin, piece.end - piece.begin});
      });
    }
    if (thread->pieces.empty()) return;
    thread->store = store;
    thread->stack = site(*thread, frames).stack;
  }
  if (store.has_after) take_turn(number);
  thread->before.clear();
  if (store.only_changes || store.compares) {
    for (const Piece& piece : thread->pieces) {
      const size_t at = thread->before.size();
      thread->before.resize(at + piece.size);
      host_.copy(thread->before.data() + at, piece.address, piece.size);
    }
  }
  thread->pending = true;
}

void Recorder::store_ends(uint32_t number, Outcome outcome) {
  if (!has_pending(number)) return;
  Thread& thread = threads_[number];
  {
    const Held held(lock_);
    thread.pending = false;
    if (recording()) {
      const powercut_site at = {thread.number, thread.stack};
      if ((thread.store.flags & kPowercutStoreRmw) != 0) {
        powercut_stream_fence(file_.stream(), at, kPowercutRmwFence);
        thread.unfenced = false;
      }
      const bool changes = thread.store.only_changes || (thread.store.compares && outcome == Outcome::kUnknown);
      size_t offset = 0;
      thread.continues = continues_string(&thread);
      if (outcome != Outcome::kFailed) {
        for (const Piece& piece : thread.pieces) {
          write_piece(thread, piece, changes ? thread.before.data() + offset : nullptr);
          offset += piece.size;
        }
      }
    }
  }
  if (thread.store.has_after) turn_.give(number);
}

// Returns whether a round of a string instruction adjoins the last round of the same place: then both count as one
// instruction's.
bool Recorder::continues_string(Thread* thread) {
  const bool string = (thread->store.flags & kPowercutStoreString) != 0;
  const Piece& first = thread->pieces.front();
  const bool adjoins = string && thread->string_end == first.address && thread->string_stack == thread->stack;
  thread->string_end = string ? thread->pieces.back().address + thread->pieces.back().size : 0;
  thread->string_stack = thread->stack;
  return adjoins;
}

void Recorder::write_piece(Thread& thread, const Piece& piece, const uint8_t* before) {
  const powercut_site at = {thread.number, thread.stack};
  std::vector<uint8_t> bytes(piece.size);
  const uint64_t size = host_.copy(bytes.data(), piece.address, piece.size);
  thread.unfenced = true;
  const auto write = [&](uint64_t from, uint64_t count) {
    if (count == 0) return;
    const uint32_t flags = thread.store.flags | (thread.continues ? uint32_t{kPowercutStoreContinues} : 0);
    powercut_stream_store(file_.stream(), at, flags, piece.address + from, bytes.data() + from, count);
    thread.continues = true;
  };
  if (before == nullptr) return write(0, size);
  for (uint64_t from = 0; from < size;) {
    uint64_t to = from;
    while (to < size && bytes[to] != before[to]) ++to;
    write(from, to - from);
    from = to + 1;
  }
}

void Recorder::interrupted(uint32_t number) {
  if (!has_pending(number)) return;
  threads_[number].pending = false;
  if (threads_[number].store.has_after) turn_.give(number);
}

void Recorder::flush(uint32_t number, uint32_t kind, uint64_t address, const Frames& frames) {
  Thread* thread = settled(number);
  if (thread == nullptr) return;
  Entry entry(*this, number, frames);
  uint64_t begin = 0;
  if (powercut_ranges_clip(ranges_.get(), address & ~(kLine - 1), kLine, &begin) == 0) return;
  thread->unfenced = true;
  thread->string_end = 0;
  powercut_stream_flush_line(file_.stream(), entry.site(), kind, begin);
}

void Recorder::fence(uint32_t number, uint32_t kind, const Frames& frames) {
  Thread* thread = settled(number);
  if (thread == nullptr) return;
  Entry entry(*this, number, frames);
  if (ranges_->count == 0) return;  // start-up code is full of fences
  thread->unfenced = false;
  thread->string_end = 0;
  powercut_stream_fence(file_.stream(), entry.site(), kind);
}

void Recorder::load(uint32_t number, uint64_t address, uint64_t size) {
  if (settled(number) == nullptr) return;
  Entry(*this, number, kNowhere).load(address, size);
}

void Recorder::thread_starts(uint32_t number) {
  if (number >= kMostThreads || !recording()) return;
  const Held held(lock_);
  threads_[number] = Thread();
  site(threads_[number], kNowhere);
}

void Recorder::thread_ends(uint32_t number) {
  Thread* thread = settled(number);
  if (thread == nullptr) return;
  const Held held(lock_);
  if (!thread->known) return;
  const powercut_site at = {thread->number, 0};
  powercut_stream_plain(file_.stream(), kPowercutThreadEnd, at);
  *thread = Thread();
}

void Recorder::module_loaded(const std::string& path, uint64_t begin, uint64_t end, uint64_t bias) {
  if (!recording()) return;
  const Held held(lock_);
  stacks_.load(path, begin, end, bias);
}

void Recorder::module_unloaded(uint64_t begin, uint64_t end) {
  if (!recording()) return;
  const Held held(lock_);
  stacks_.unload(begin, end);
}

void Recorder::note(uint32_t kind, const char* text) {
  if (!recording()) return;
  const Held held(lock_);
  powercut_stream_note(file_.stream(), kind, text);
}

void Recorder::write_out() {
  if (!recording()) return;
  const Held held(lock_);
  powercut_stream_flush(file_.stream());
}

// The function takes no lock, since a thread that does not exist in the child may hold it. All other functions
// therefore ask recording() first.
void Recorder::abandon() {
  if (!recording()) return;
  abandoned_ = true;
  __atomic_store_n(&recording_, false, __ATOMIC_RELAXED);
}

void Recorder::resume() {
  if (!abandoned_) return;
  abandoned_ = false;
  __atomic_store_n(&recording_, true, __ATOMIC_RELAXED);
}

void Recorder::end(uint32_t how, uint32_t status) {
  if (!recording()) return;
  const Held held(lock_);
  powercut_stream_end(file_.stream(), how, status);
  __atomic_store_n(&recording_, false, __ATOMIC_RELAXED);
}

void Recorder::widen(uint64_t begin, uint64_t end) {
  // A flush of any byte of a line touches the line.
  __atomic_store_n(&low_, std::min(low_, begin & ~(kLine - 1)), __ATOMIC_RELAXED);
  __atomic_store_n(&high_, std::max(high_, (end + kLine - 1) & ~(kLine - 1)), __ATOMIC_RELAXED);
}

Recorder::Entry::Entry(Recorder& recorder, uint32_t thread, const Frames& frames)
    : recorder_(recorder), thread_(thread), site_{0, 0} {
  recorder_.settled(thread_);
  recorder_.take_turn(thread_);
  recorder_.lock_.lock();
  if (recording() && thread_ < kMostThreads) site_ = recorder_.site(recorder_.threads_[thread_], frames);
}

Recorder::Entry::~Entry() {
  recorder_.lock_.unlock();
  recorder_.turn_.give(thread_);
}

void Recorder::Entry::map(uint32_t pool, uint64_t address, uint64_t length, uint64_t offset) {
  if (powercut_ranges_map(recorder_.ranges_.get(), address, length, pool, offset) != 0) {
    powercut_stream_note(stream(), kPowercutNoteOther, "more than 4096 mappings of pools: one was not recorded");
    return;
  }
  powercut_stream_map(stream(), pool, address, length, offset);
  recorder_.widen(address, address + length);
}

void Recorder::Entry::unmap(uint64_t address, uint64_t length) {
  if (powercut_ranges_unmap(recorder_.ranges_.get(), address, length) == 0) return;
  powercut_stream_unmap(stream(), kPowercutGone, address, length);
}

void Recorder::Entry::load(uint64_t address, uint64_t size) {
  each_mapped(ranges(), address, size, [&](const powercut_range& piece) {
    powercut_stream_load(stream(), site_, piece.begin, piece.end - piece.begin);
  });
}

void Recorder::Entry::store(uint64_t address, uint64_t size, uint32_t flags) {
  std::vector<uint8_t> bytes;
  if (thread_ >= kMostThreads) return;
  each_mapped(ranges(), address, size, [&](const powercut_range& piece) {
    bytes.resize(piece.end - piece.begin);
    const uint64_t read = recorder_.host_.copy(bytes.data(), piece.begin, bytes.size());
    powercut_stream_store(stream(), site_, flags, piece.begin, bytes.data(), read);
    recorder_.threads_[thread_].unfenced = true;
  });
}

}  // namespace pin
}  // namespace powercut
