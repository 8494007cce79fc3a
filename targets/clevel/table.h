// Clevel hashing (Chen, Hua, Ding, Zuo: "Lock-free Concurrent Level Hashing for Persistent Memory", USENIX ATC 2020).
// README.md maps functions to sections of the paper.
//
// One thread calls; what the paper's other threads do happens in steps between the operations (auto_rehash, maintain)
// or at chosen places inside them (interleave). The handle is volatile: everything in it is rebuilt by Open.
#ifndef POWERCUT_TARGETS_CLEVEL_TABLE_H_
#define POWERCUT_TARGETS_CLEVEL_TABLE_H_

#include <cstdint>
#include <cstring>

#include "powercut/target.h"
#include "targets/clevel/allocator.h"
#include "targets/clevel/layout.h"
#include "targets/clevel/options.h"

namespace powercut {
class Drawing;
}

namespace powercut::clevel {

class Table {
 public:
  using Options = clevel::Options;
  static powercut_status ParseOptions(const powercut_config& config, Options* out);      // target.cc
  static void Traits(const Options& options, powercut_traits* out);                      // target.cc
  static powercut_status Format(powercut_pool pool, const Options& options);             // recover.cc
  static powercut_status Open(powercut_pool pool, const Options& options, Table** out);  // recover.cc

  powercut_status Insert(const uint8_t* key, const uint8_t* value);     // insert.cc
  powercut_status Update(const uint8_t* key, const uint8_t* value);     // update.cc
  powercut_status Erase(const uint8_t* key);                            // erase.cc
  powercut_status Lookup(const uint8_t* key, uint8_t* value);           // search.cc
  powercut_status Maintain(const char* command);                        // expand.cc
  powercut_status Verify(uint64_t region, char* message, size_t size);  // verify.cc
  bool Reaches(uint64_t offset);                                        // verify.cc
  void Draw(Drawing* to);                                               // draw.cc

  // Regions: 0 is the root, then every bucket of every level, last level first.
  uint64_t regions();                                                                         // verify.cc
  const uint64_t* RegionBucket(uint64_t region, const Level** level, uint64_t* index) const;  // verify.cc

  template <typename Visit>
  void ForEachCopy(const uint8_t* key, Visit visit) {
    ForEachMatch(Load(&worker_, /*writes=*/false), key, Probe(key, options_.key_size),
                 [&](const Place& place) { return visit(KeyOf(place.word), ValueOf(place.word)); });
  }
  template <typename Visit>
  void Walk(uint64_t region, Visit visit) const {
    const Level* level = nullptr;
    uint64_t index = 0;
    const uint64_t* bucket = RegionBucket(region, &level, &index);
    for (uint32_t i = 0; bucket != nullptr && i < options_.slots; ++i) {
      const uint64_t word = pmem::atomic_load(&bucket[i]);
      if (word != 0 && visit(KeyOf(word), ValueOf(word))) return;
    }
  }

  const Options& options() const { return options_; }
  Allocator& allocator() { return allocator_; }
  const View& view() { return Load(&worker_, /*writes=*/false); }

 private:
  Table(powercut_pool pool, const Options& options) : pool_(pool), options_(options), allocator_(pool, sizeof(Root)) {}

  template <typename T>
  T* At(uint64_t offset) const {
    return reinterpret_cast<T*>(pool_.base + offset);
  }
  Root* root() const { return At<Root>(0); }
  Buffer& buffer(const Thread& thread) const { return root()->buffers[thread.id]; }
  bool Has(Bug bug) const { return options_.bug == bug; }
  // `hardened` keeps the name of an item that it is about to free; the paper speaks of allocations only.
  bool RetiresItems() const { return options_.hardened; }
  uint64_t GeometryWord() const {
    return uint64_t{options_.slots} | uint64_t{options_.key_size} << 8 | uint64_t{options_.value_size} << 32;
  }

  // items.cc
  const uint8_t* KeyOf(uint64_t word) const { return At<uint8_t>(OffsetIn(word)) + sizeof(ItemHeader); }
  const uint8_t* ValueOf(uint64_t word) const { return KeyOf(word) + options_.key_size; }
  uint64_t ItemBytes() const { return sizeof(ItemHeader) + options_.key_size + options_.value_size; }
  bool KeyEquals(uint64_t word, const uint8_t* key) const;
  // The new item is durable, and named by the thread's buffer; 0: no room.
  uint64_t NewItem(const Thread& thread, const uint8_t* key, const uint8_t* value, Bug unordered);
  void PersistItem(uint64_t offset) const;
  void Retire(const Thread& thread, uint64_t item);
  void ForgetItems(const Thread& thread);

  // context.cc
  // The thread's view of the global context, brought up to date. A writer makes the pointer durable before it acts on
  // it (3.3: "persists dependent metadata, e.g., the global context pointer, after the load").
  const View& Load(Thread* thread, bool writes = true);
  bool Moved(const View& view) const { return pmem::atomic_load(&root()->context) != view.context; }
  bool Attach(uint64_t context, View* view) const;
  bool AttachLevel(uint64_t offset, Level* level) const;
  // Copy-on-write and CAS. False: no room. `paused`: the thread loses the CPU between its CAS and its flush.
  bool Publish(Thread* thread, const Context& next, uint64_t old_level, bool paused = false);
  void ChangeInPlace(const Context& next);
  void EndPublication(const Thread& thread, uint64_t old_context, uint64_t old_level);

  // search.cc
  // visit(place) for every match of the key, from the last level to the first, until it returns true.
  template <typename Visit>
  void ForEachMatch(const View& view, const uint8_t* key, const Probe& probe, Visit visit, int from_level = 0) const {
    for (int i = from_level; i < view.count; ++i) {
      const Level& level = view.levels[i];
      for (int h = 0; h < 2; ++h) {
        const uint64_t index = probe.hash[h] & level.mask;
        if (h == 1 && index == (probe.hash[0] & level.mask)) break;
        uint64_t* bucket = level.slots + index * options_.slots;
        for (uint32_t s = 0; s < options_.slots; ++s) {
          const uint64_t word = pmem::atomic_load(&bucket[s]);
          if (word == 0 || word >> kOffsetBits != probe.tag() || !KeyEquals(word, key)) continue;
          if (visit(Place{&bucket[s], word, i, index})) return;
        }
      }
    }
  }
  Place Find(const View& view, const uint8_t* key, const Probe& probe, int from_level = 0) const;
  // 3.2.3: after it, at most one slot names an item with the key.
  Place FindOne(const View& view, const uint8_t* key, const Probe& probe);
  void Merge(const Thread& thread, const Place& lower, const Place& upper);
  // 3.2.3, the three constraints.
  bool RehashedMeanwhile(const View& view, const Place& place, uint64_t rehashed_before) const;
  void ClearSlot(uint64_t* slot) const;

  // insert.cc
  Place FindVacancy(const View& view, const Probe& probe, int lowest) const;
  bool NeedsRedo(const View& view, const Place& place) const;
  powercut_status GiveUp(uint64_t item, const Place& published);

  // expand.cc
  powercut_status Expand(Thread* thread, bool paused = false);
  uint64_t AppendLevel(const Thread& thread, const View& view);
  void InitialiseSlots(uint64_t level) const;
  uint64_t LevelBytes(uint64_t log2) const { return sizeof(LevelHeader) + (uint64_t{options_.slots} << log2) * 8; }

  // rehash.cc
  powercut_status RehashBucket();
  powercut_status RehashItem(uint64_t* slot, uint64_t word);
  bool IsCopied(const View& view, uint64_t word) const;
  powercut_status EndBucket(uint64_t index);
  bool RemoveLast();
  void StoreRehashed(uint64_t count);
  void AutoRehash();
  // The steps between operations run on the caller's thread: there is one copy of the context pointer then.
  void ShareView(const Thread& from, Thread* to) {
    if (to->view.context != from.view.context || !to->view.is_durable) to->view = from.view;
  }

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

  // verify.cc
  bool ReachesLevel(uint64_t offset) const;
  bool ReachesItem(uint64_t offset) const;
  powercut_status VerifyRoot(char* message, size_t size) const;

  powercut_pool pool_;
  Options options_;
  Allocator allocator_;
  Thread worker_{0, {}};
  Thread rehasher_{1, {}};
  uint64_t* paused_slot_ = nullptr;  // interleave: its item is copied, or (paused_word_) read, and the rest to come
  uint64_t paused_word_ = 0;
  uint64_t paused_context_ = 0;  // interleave: replaced by a CAS whose flush is still to come
};

}  // namespace powercut::clevel
#endif  // POWERCUT_TARGETS_CLEVEL_TABLE_H_
