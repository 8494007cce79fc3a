// The interface between explorers and the code that runs on crash images. The explorers know nothing of schemes: a
// Subject opens a table, answers queries, and judges the answers.
#ifndef POWERCUT_REPLAYER_SEARCH_SUBJECT_H_
#define POWERCUT_REPLAYER_SEARCH_SUBJECT_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "replayer/executor/image.h"

namespace powercut {

using QueryId = uint64_t;
// The pseudo-query of recovery itself.
inline constexpr QueryId kRecoveryQuery = 0;

// A group: queries that are asked together, since they read much the same. All are about one key, or about one region.
//
// The *intruder*, number 0 of its kind, does something to the table that no key may notice. A *bystander*, number 1 + k
// of that kind, asks whether key k does: the first query of key k, what the intruder does, and the first query again,
// in one execution.
enum class GroupKind : uint8_t { kKey, kRegion, kTable, kIntrusion };
inline constexpr std::array kGroupKinds = {GroupKind::kKey, GroupKind::kRegion, GroupKind::kTable,
                                           GroupKind::kIntrusion};
struct Group {
  GroupKind kind = GroupKind::kKey;
  uint32_t index = 0;
  bool operator==(const Group&) const = default;
};
inline constexpr Group kIntruderGroup = {GroupKind::kIntrusion, 0};
inline constexpr Group bystander_group(uint32_t key) { return {GroupKind::kIntrusion, 1 + key}; }

// How many groups of each kind there are: none of kIntrusion, or the intruder and a bystander for each key.
struct GroupCounts {
  uint32_t keys = 0, regions = 0, table = 0, intrusion = 0;
  uint32_t operator[](GroupKind kind) const {
    switch (kind) {
      case GroupKind::kKey:
        return keys;
      case GroupKind::kRegion:
        return regions;
      case GroupKind::kTable:
        return table;
      case GroupKind::kIntrusion:
        return intrusion;
    }
    return 0;
  }
};

// The buffer in which target code leaves a result. It is fixed memory, since the target's heap is dropped after each
// execution. Its pages are committed as they are used: a walk may show a region of long values.
class ResultBuffer {
 public:
  explicit ResultBuffer(size_t most = size_t{256} << 20);
  ~ResultBuffer();
  ResultBuffer(const ResultBuffer&) = delete;
  ResultBuffer& operator=(const ResultBuffer&) = delete;
  void clear() { drop(), phase_ = 0; }
  // Drops the bytes that were put, but not the phase.
  void drop() { size_ = 0, overflow_ = false; }
  void put(const void* data, size_t size);
  void put_byte(uint8_t byte) { put(&byte, 1); }
  void put_u32(uint32_t value) { put(&value, 4); }
  // The phase tells how far the execution that puts its answer here has come: 0 in the beginning, and kept if the
  // execution fails. A query keeps its phase here and nowhere else: executions are left, and continued, at any load
  // (merged_search.h).
  void set_phase(uint8_t phase) { phase_ = phase; }
  uint8_t phase() const { return phase_; }
  std::string_view view() const { return {bytes_, size_}; }
  bool overflow() const { return overflow_; }

 private:
  char* bytes_;
  size_t most_, size_ = 0;
  bool overflow_ = false;
  uint8_t phase_ = 0;
};

// Puts the result of an execution that did not return: '!', how it ended, the signal.
void put_failure(const Outcome& outcome, ResultBuffer* buffer);
// Completes the result of an execution. If the execution returned, the result is the buffer's content, if the buffer
// was long enough; otherwise put_failure() is called.
void finish_answer(Executor* executor, Outcome* outcome, ResultBuffer* buffer);

// An instant of a second life: what a subject knows there. Equal obligations: the same answers are wrong.
class LifeInstant {
 public:
  virtual ~LifeInstant() = default;
  uint64_t obligations = 0;   // a digest
  uint64_t continuation = 0;  // a digest of the operations that are to come, as far as the first cut decides them
};

// Calls marked [target] happen inside target code's guard: they may not allocate outside the result buffer.
class Subject {
 public:
  virtual ~Subject() = default;

  // [target] Opens the table; the result tells how.
  virtual void recover(ResultBuffer* result) = 0;
  // The part of the subject that recover() leaves, so that queries can be asked of a recovery without running it again.
  struct Opened {
    uint64_t table = 0;  // address of the handle: part of what queries depend on
    uint64_t regions = 0;
    bool usable = false;  // whether queries make sense
    bool operator==(const Opened&) const = default;
  };
  virtual Opened opened() const = 0;
  virtual void reopen(const Opened& opened) = 0;

  // How many groups of each kind there are on the table that is open. The number of keys only grows. The number of
  // regions belongs to the table: if recovery leaves the same, it is the same.
  virtual GroupCounts groups() const = 0;
  // The queries of a group, in the order in which they are asked; valid until the next call.
  virtual std::span<const QueryId> members(Group group) = 0;
  // Returns the groups of which a legal answer may have become illegal since the last call. (An answer that becomes
  // legal needs no second look, unless it was found wrong before.)
  virtual const std::vector<Group>& obliged() = 0;
  // Returns whether answered() wants every query at every leaf, changed or not.
  virtual bool wants_all() const = 0;

  // [target] Runs one query.
  virtual void run(QueryId query, ResultBuffer* result) = 0;
  // Writes down the result of a query's execution that did not return.
  virtual void ended(QueryId, const Outcome& outcome, ResultBuffer* result) { put_failure(outcome, result); }
  // Returns a bystander's answer if its key notices nothing, or if the intruder does not return.
  virtual std::string_view undisturbed() const { return {}; }
  // [target] Makes the bystander's answer from the buffer. Its first `before` bytes are the answer of the key's first
  // query before the intruder; the rest is the query's answer afterwards.
  virtual void noticed(size_t before, ResultBuffer* answers) const {
    if (answers->view().substr(0, before) != answers->view().substr(before)) return;
    answers->clear();
    answers->put(undisturbed().data(), undisturbed().size());
  }

  // ---- second lives (EXPLORER.md): the continuation is the subject's work on the table that recovery has opened -----
  using LifePoint = std::shared_ptr<const LifeInstant>;
  // Returns the instant at which a second life begins at the crash point at hand; null: the subject has no
  // continuation.
  virtual LifePoint life_begins() { return nullptr; }
  // Returns the instant at which the next operation has begun; null: there is no further one.
  virtual LifePoint step_begun(const LifePoint&) { return nullptr; }
  // [target] Runs the operation that has begun.
  virtual void run_step(const LifePoint&, ResultBuffer*) {}
  // Returns the instant at which the operation has ended. Null: the life cannot go on; `trouble` says why, if that is
  // more than a power cut explains.
  virtual LifePoint step_ended(const LifePoint&, const Outcome&, std::string_view, std::string* /*trouble*/) {
    return nullptr;
  }
  // From now on answers are judged, and groups obliged, as at this instant; null: as at the crash point at hand.
  virtual void judge_at(const LifePoint&) {}
  // Returns whether recovery or a query was answered badly at the crash point at hand, or at an earlier one.
  virtual bool has_answered_badly() const { return false; }

  // A subject's judgement of an answer. kExplain: the answer is bad, and the explorer is to pass an image that shows it
  // to explained().
  enum class Judgement : uint8_t { kGood, kBad, kExplain };
  virtual Judgement recovered(int depth, const Outcome& outcome, std::string_view result) = 0;
  virtual Judgement answered(int depth, QueryId query, std::string_view result) = 0;
  // `outcome` is null when the execution returned.
  virtual void explained(int depth, QueryId query, std::string_view result, const Outcome* outcome,
                         const Image& image) = 0;
};

// Returns every query that the open table can be asked, group by group.
std::vector<QueryId> all_queries(Subject* subject);

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_SEARCH_SUBJECT_H_
