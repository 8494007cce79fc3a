// Clevel hashing (Chen, Hua, Ding, Zuo: "Lock-free Concurrent Level Hashing for Persistent Memory", USENIX ATC 2020).
// README.md maps functions to sections of the paper.
//
// concurrency=single: one thread calls. The work of the paper's other threads is done in steps between the operations
// (auto_rehash, maintain) or at chosen places inside the operations (interleave). concurrency=concurrent: many threads
// call, and rehashing threads work beside them (Work). `published` runs the same code then, with the paper's checks;
// `hardened` has a protocol of its own, in concurrent/. The handle is volatile: Open rebuilds all its members.
#ifndef POWERCUT_TARGETS_CLEVEL_TABLE_H_
#define POWERCUT_TARGETS_CLEVEL_TABLE_H_

#include <cstdint>
#include <cstring>
#include <memory>

#include "targets/clevel/allocator.h"
#include "targets/clevel/concurrent/threads.h"
#include "targets/clevel/layout.h"
#include "targets/clevel/options.h"
#include "targets/common/planted_bugs.h"
#include "targets/common/scheme_table.h"

namespace powercut::clevel {

class Table {
 public:
  // The geometry word has eight bits for the size of the longest key.
  static constexpr ItemSizes kSizes = {.most_key = 255, .most_value = 65536};
  POWERCUT_MIXED_SCHEME_TABLE(clevel::Options);  // session.cc: each operation has a thread's record to itself
  powercut_status Maintain(const char* command);
  // Work() does one batch of rehashing thread `number`; only this thread calls Work() with its number. workers()
  // returns the number of rehashing threads.
  powercut_status Work(uint32_t number);
  uint32_t workers() const { return options_.concurrent ? options_.rehash_threads : 0; }

  bool Reaches(uint64_t offset);  // verify.cc
  void Draw(Drawing* to);         // draw.cc

  // Regions: 0 is the root, then every bucket of every level, last level first.
  uint64_t regions();                                                                         // verify.cc
  const uint64_t* RegionBucket(uint64_t region, const Level** level, uint64_t* index) const;  // verify.cc

  template <typename Visit>
  void ForEachCopy(Bytes key, Visit visit) {
    ForEachMatch(Load(&worker_, /*writes=*/false), key, Probe(key),
                 [&](const Place& place) { return visit(KeyOf(place.word), ValueOf(place.word)); });
  }
  template <typename Visit>
  void Walk(uint64_t region, Visit visit) const {
    const Level* level = nullptr;
    uint64_t index = 0;
    const uint64_t* bucket = RegionBucket(region, &level, &index);
    for (uint32_t i = 0; bucket != nullptr && i < options_.slots; ++i) {
      const uint64_t word = pmem::atomic_load(&bucket[i]);
      if (IsLive(word) && visit(KeyOf(word), ValueOf(word))) return;
    }
  }

  Allocator& allocator() { return allocator_; }
  const View& view() { return Load(&worker_, /*writes=*/false); }

 private:
  class Session;
  enum class Published : uint8_t { kYes, kOvertaken, kNoRoom };
  enum class Decision : uint8_t { kCommitted, kRefused, kEvicted };

  Table(powercut_pool pool, const Options& options)
      : pool_(pool), options_(options), allocator_(pool, RootBytes(options), options.concurrent ? kAllThreads : 1) {}
  static uint64_t RootBytes(const Options& options) {
    return sizeof(Root) + (options.concurrent ? kAllThreads * sizeof(ThreadLines) : 0);
  }

  template <typename T>
  T* At(uint64_t offset) const {
    return reinterpret_cast<T*>(pool_.base + offset);
  }
  Root* root() const { return At<Root>(0); }
  ThreadLines& lines(uint32_t id) const { return At<ThreadLines>(sizeof(Root))[id]; }
  Buffer& buffer(const Thread& thread) const {
    return options_.concurrent ? lines(thread.id).buffer : root()->buffers[thread.id];
  }
  uint32_t ArenaOf(const Thread& thread) const { return options_.concurrent ? thread.id : 0; }
  bool Has(Bug bug) const { return options_.bug == bug; }
  // Slots change in the marked steps of concurrent/.
  bool MarksSlots() const { return options_.concurrent && options_.hardened; }
  uint64_t OffsetIn(uint64_t word) const { return word & kCountMask & ~(MarksSlots() ? kMarkMask : 0); }
  bool IsLive(uint64_t word) const { return word != 0 && (!MarksSlots() || (word & kAbsentMarks) == 0); }
  // `hardened` keeps the name of an item that it is about to free; the paper speaks of allocations only.
  bool RetiresItems() const { return options_.hardened; }
  uint64_t GeometryWord() const {
    const uint64_t threads = options_.concurrent ? 1u + options_.rehash_threads : 0u;
    return uint64_t{options_.slots} | uint64_t{options_.key_size} << 8 | threads << 16 |
           uint64_t{options_.value_size} << 32;
  }

  // items.cc
  // Each item has sizes of its own.
  const ItemHeader* HeaderOf(uint64_t word) const { return At<ItemHeader>(OffsetIn(word)); }
  Bytes KeyOf(uint64_t word) const { return HeaderOf(word)->key(); }
  Bytes ValueOf(uint64_t word) const { return HeaderOf(word)->value(); }
  // Whether an allocated block is large enough for the item that its header describes.
  bool HoldsItem(uint64_t offset) const {
    const uint64_t bytes = allocator_.BytesOf(offset);
    return bytes >= sizeof(ItemHeader) && bytes >= HeaderOf(offset)->bytes();
  }
  // The new item is durable, and named by the thread's buffer; 0: no room.
  uint64_t NewItem(const Thread& thread, Bytes key, Bytes value, Bug unordered);
  void PersistItem(uint64_t offset) const;
  bool GrowInPlace(uint64_t item, Bytes value) const;
  bool ShrinkInPlace(uint64_t item, Bytes value) const;
  void SetValueSize(uint64_t item, uint32_t size) const;
  void SetValue(uint64_t item, Bytes value) const;
  void Retire(const Thread& thread, uint64_t item);
  void ForgetItems(const Thread& thread);

  // concurrent/session.cc
  // Frees an item that nothing reaches any more: at once, or when nobody can be reading it. Precondition of the latter:
  // it is named already.
  void FreeItem(Thread* thread, uint64_t item);
  // The thread is about to unlink the block: the i-th that it will hold back then. Durable after the next fence.
  void NameRetired(const Thread& thread, uint32_t i, uint64_t block);
  void FreeRetired(Thread* thread, uint32_t count);
  void Reclaim(Thread* thread);
  bool CanRetire(const Thread& thread, uint32_t blocks) const {
    return !options_.concurrent || thread.retired + blocks <= kRetired;
  }
  bool IsRetired(uint64_t offset) const;
  bool IsRehasherDone(uint32_t number) const;
  // Precondition: the caller has the record of rehashing thread `number`.
  powercut_status RehashNext(Thread* thread, uint32_t number);

  // context.cc
  // The thread's view of the global context, brought up to date. A writer makes the pointer durable before it acts on
  // it (3.3: "persists dependent metadata, e.g., the global context pointer, after the load").
  const View& Load(Thread* thread, bool writes = true);
  bool Moved(const View& view) const { return pmem::atomic_load(&root()->context) != view.context; }
  bool Attach(uint64_t context, View* view) const;
  bool AttachLevel(uint64_t offset, Level* level) const;
  // Copy-on-write and CAS. kOvertaken: another context than the thread's is the global one. `paused`: the thread loses
  // the CPU between its CAS and its flush.
  Published Publish(Thread* thread, const Context& next, uint64_t old_level, bool paused = false);
  // The bug kContextInPlace.
  Published PublishInPlace(Thread* thread, const Context& next, uint64_t old_level);
  void ChangeInPlace(const Context& next);
  void EndPublication(Thread* thread, uint64_t old_context, uint64_t old_level);

  // search.cc
  // visit(place) for every match of the key, from the last level to the first, until it returns true.
  template <typename Visit>
  void ForEachMatch(const View& view, Bytes key, const Probe& probe, Visit visit, int from_level = 0) const {
    ForEachWord(view, key, probe, [&](const Place& place) { return IsLive(place.word) && visit(place); }, from_level);
  }
  // Visits like ForEachMatch, but also words whose marks say that they are no items.
  template <typename Visit>
  void ForEachWord(const View& view, Bytes key, const Probe& probe, Visit visit, int from_level = 0) const {
    for (int i = from_level; i < view.count; ++i) {
      const Level& level = view.levels[i];
      for (int h = 0; h < 2; ++h) {
        const uint64_t index = probe.hash[h] & level.mask;
        if (h == 1 && index == (probe.hash[0] & level.mask)) break;
        uint64_t* bucket = level.slots + index * options_.slots;
        for (uint32_t s = 0; s < options_.slots; ++s) {
          const uint64_t word = pmem::atomic_load(&bucket[s]);
          if (word == 0 || word >> kOffsetBits != probe.tag() || !(KeyOf(word) == key)) continue;
          if (visit(Place{&bucket[s], word, i, index})) return;
        }
      }
    }
  }
  Place Find(const View& view, Bytes key, const Probe& probe, int from_level = 0) const;
  // 3.2.3: after it, at most one slot names an item with the key.
  Place FindOne(Thread* thread, Bytes key, const Probe& probe);
  void Merge(Thread* thread, const Place& lower, const Place& upper);
  powercut_status LookupIn(Thread* thread, Bytes key, ValueRoom* value);
  // 3.2.3, the three constraints.
  struct Progress {
    uint64_t rehashed[kMostRehashers];
  };
  Progress ReadProgress() const;
  bool RehashedMeanwhile(const View& view, const Place& place, const Progress& before) const;
  void ClearSlot(uint64_t* slot) const;
  // Empties the slot, durably; beside other threads by CAS. False: it holds something else.
  bool Unlink(uint64_t* slot, uint64_t word) const;
  static bool Swap(uint64_t* slot, uint64_t expected, uint64_t word) {
    return __atomic_compare_exchange_n(slot, &expected, word, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE);
  }
  static void PersistSlot(const uint64_t* slot) { pmem::persist(slot, sizeof *slot); }

  powercut_status UpdateIn(Thread* thread, Bytes key, Bytes value);  // update.cc
  powercut_status EraseIn(Thread* thread, Bytes key);                // erase.cc

  // insert.cc
  powercut_status InsertIn(Thread* thread, Bytes key, Bytes value);
  Place FindVacancy(const View& view, const Probe& probe, int lowest) const;
  bool NeedsRedo(const View& view, const Place& place) const;
  powercut_status GiveUp(Thread* thread, uint64_t item, const Place& published);

  // expand.cc
  powercut_status MaintainIn(Thread* thread, const char* command);
  powercut_status Expand(Thread* thread, bool paused = false);
  // The offset of the level above the first one, which is this thread's or another one's; 0: no room.
  uint64_t AppendLevel(const Thread& thread, const View& view);
  void InitialiseSlots(uint64_t level) const;
  uint64_t LevelBytes(uint64_t log2) const { return sizeof(LevelHeader) + (uint64_t{options_.slots} << log2) * 8; }

  // rehash.cc
  // Rehashing thread `number` of `strides()` has the buckets number, number + strides(), ...
  uint32_t strides() const { return options_.concurrent && options_.rehash_threads > 1 ? options_.rehash_threads : 1; }
  uint64_t* RehashedWord(uint32_t number) const {
    DO_IF (Bug::kRehashersShareIndex) number = 0;
    return options_.concurrent ? &lines(kClients + number).rehashed : &root()->rehashed;
  }
  // Buckets of the last level that the thread has done with.
  uint64_t RehashedOf(uint32_t number, const Level& last) const;
  bool IsRehashed(const Level& last, uint64_t bucket) const {
    const auto number = static_cast<uint32_t>(bucket % strides());
    return bucket / strides() < RehashedOf(number, last);
  }
  bool IsDone(uint32_t number, const Level& last) const {
    return number + RehashedOf(number, last) * strides() >= last.buckets();
  }
  bool AreAllDone(const Level& last) const;
  powercut_status RehashBucket(Thread* thread, uint32_t number);
  powercut_status RehashItem(Thread* thread, uint64_t* slot, uint64_t word);
  bool IsCopied(const View& view, uint64_t word) const;
  powercut_status EndBucket(Thread* thread, uint32_t number, uint64_t rehashed);
  bool RemoveLast(Thread* thread);
  void StoreRehashed(uint32_t number, uint64_t count);
  void AutoRehash();
  // The steps between operations run on the caller's thread: there is one copy of the context pointer then.
  void ShareView(const Thread& from, Thread* to) {
    if (to->view.context != from.view.context || !to->view.is_durable) to->view = from.view;
  }

  // concurrent/search.cc
  // The live word of the key that the search from the bottom to the top meets first. A word that the search passes over
  // as erased is durably erased. `answers`: the caller rests his answer on it, and makes nothing durable himself.
  Place FindLive(const View& view, Bytes key, const Probe& probe, bool answers) const;
  powercut_status LookupMarked(Thread* thread, Bytes key, ValueRoom* value);

  // concurrent/insert.cc
  powercut_status InsertMarked(Thread* thread, Bytes key, Bytes value);
  bool IsOvertaken(const View& view, const Place& place) const;
  Decision Commit(Thread* thread, const Probe& probe, uint64_t* slot, uint64_t word);
  void CommitOnce(Thread* thread, const Probe& probe, uint64_t* slot, uint64_t word);
  void Decide(Thread* thread, uint64_t* slot, uint64_t word, bool own);
  void HelpCommit(Thread* thread, uint64_t* stripe, uint64_t ticket);
  void Withdraw(uint64_t* slot, uint64_t word) const;
  powercut_status EndWithout(Thread* thread, uint64_t item, powercut_status status);

  // concurrent/change.cc
  powercut_status UpdateMarked(Thread* thread, Bytes key, Bytes value);
  powercut_status EraseMarked(Thread* thread, Bytes key);
  bool MarkErased(const Place& place) const;

  // concurrent/move.cc
  powercut_status MoveBucket(Thread* thread, uint32_t number);
  powercut_status MoveItem(Thread* thread, uint64_t* slot);
  void FinishMove(Thread* thread, uint64_t* slot, uint64_t word);
  powercut_status EndLevel(Thread* thread, const Level& last);

  // interleave.cc: steps of another thread inside an operation of this one.
  bool IsInterleaved(Interleave step) const { return options_.interleave == step; }
  void ExpandMeanwhile(bool paused);
  void PauseRehash(bool copied);
  void ResumeRehash();
  void ResumePublication();

  // recover.cc
  void ReleaseBuffers();
  void ReleaseBuffer(Buffer* buffer);
  void SettleItem(uint64_t item);

  // concurrent/recover.cc
  void ReleaseLines();
  void SettleBuckets();
  void SettleSlots(uint64_t item);

  // verify.cc
  bool ReachesLevel(uint64_t offset) const;
  bool ReachesItem(uint64_t offset) const;
  powercut_status VerifyRoot(char* message, size_t size) const;
  powercut_status VerifyProgress(char* message, size_t size) const;

  powercut_pool pool_;
  Options options_;
  Allocator allocator_;
  Thread worker_{0, {}};
  Thread rehasher_{1, {}};
  uint64_t* paused_slot_ = nullptr;  // interleave: its item is copied, or (paused_word_) read, and the rest to come
  uint64_t paused_word_ = 0;
  uint64_t paused_context_ = 0;       // interleave: replaced by a CAS whose flush is still to come
  std::unique_ptr<Threads> threads_;  // concurrency=concurrent
};

}  // namespace powercut::clevel
#endif  // POWERCUT_TARGETS_CLEVEL_TABLE_H_
