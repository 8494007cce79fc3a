// Which operation a thread takes up next, where the workload leaves that open (`any`, scenarios/SCHEMA.md). The threads
// with what they have taken up in the end are a *client*; a search over all choices and all schedules judges all
// clients at once, and clients that begin alike have their common states once.
//
// Not every choice is followed:
//   - Of threads that are *alike*, two clients are the same if they differ by the order of the threads. So of two
//     threads that have taken up the same, and may take up the same from here on, the one with the lower number takes
//     up no operation with a higher number than the other one's: exchanged, they are a client that is followed.
//   - Where the target does not check whether the key of an insert is present (traits.checks_exists), a client breaks
//     the target's rule if in some order of its operations an insert meets its key. So does every client that begins
//     like it, for that order may be the beginning of one of theirs: a choice is left out as soon as it breaks the
//     rule.
// A choice is offered only if some client has it. Else a thread would stand before an operation and have none.
#ifndef POWERCUT_CHECKER_SCHEDULES_CLIENT_CHOICES_H_
#define POWERCUT_CHECKER_SCHEDULES_CLIENT_CHOICES_H_

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "checker/schedules/thread_work.h"

namespace powercut {

class ClientChoices {
 public:
  // What one thread has taken up: a byte for each operation from the lowest on, its number and one.
  using Taken = uint64_t;

  // Throws std::runtime_error with the reason where no client is left, or there are more operations than can be told.
  explicit ClientChoices(const ThreadWork& work);

  bool open() const { return open_; }
  // Of the alternatives of the thread's next operation, those that a client has, as bits; at least one.
  uint64_t ways(std::span<const Taken> taken, uint32_t thread) const;
  Taken take(Taken taken, uint32_t thread, uint32_t way) const;
  // Of all that is taken, what the choices to come depend on.
  uint64_t digest(std::span<const Taken> taken) const;
  // All of them.
  uint64_t clients() const;

 private:
  using Effects = std::vector<std::string>;  // of each thread on one key, in order: inserts 'i' and erases 'e'

  bool may_be_taken(std::span<const Taken> taken, uint32_t thread, Taken with) const;
  // Whether the first may be that of the thread with the lower number, as far as both are known.
  bool in_order(uint32_t lower, Taken of_lower, uint32_t higher, Taken of_higher) const;
  // Whether some client begins like this.
  bool has_client(std::vector<Taken>* taken) const;
  bool breaks_rule(std::span<const Taken> taken) const;
  bool may_meet(const Effects& threads, bool present) const;
  uint64_t count(std::vector<Taken>* taken, uint32_t thread) const;

  struct Operation {
    OpKind kind{};
    uint64_t id = 0;
    std::string text;
    std::vector<uint8_t> difference;  // of an increment
    auto operator<=>(const Operation&) const = default;
  };
  std::vector<Operation> operations_;                       // by number
  std::vector<std::vector<std::vector<uint8_t>>> threads_;  // the numbers of each operation's alternatives
  bool open_ = false, alike_ = false, checks_exists_ = true;
  // Of a lower and a higher thread: from which operation on they have the same alternatives.
  std::vector<std::vector<size_t>> same_from_;
  std::set<uint64_t> present_;  // keys that may be there when the threads begin
  mutable std::map<std::pair<Effects, bool>, bool> known_;
  mutable absl::flat_hash_map<std::vector<Taken>, uint64_t> ways_;  // by what all have taken, and the thread
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SCHEDULES_CLIENT_CHOICES_H_
