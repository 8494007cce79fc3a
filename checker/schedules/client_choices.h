// Which operation a thread takes up next, where the workload leaves that open (`any`, scenarios/SCHEMA.md). The threads
// with what they have taken up in the end are a *client*; a search over all choices and all schedules judges all
// clients at once, and clients that begin alike have their common states once.
//
// Not every choice is followed:
//   - Of threads that are *alike*, two clients are the same if they differ by the order of the threads. Followed is the
//     one in which no thread's operations come, as words of their numbers, before those of a thread with a lower
//     number.
//   - Where the target does not check whether the key of an insert is present (traits.checks_exists), a client breaks
//     the target's rule if in some order of its operations an insert meets its key. So does every client that begins
//     like it, for that order may be the beginning of one of theirs: a choice is left out as soon as it breaks the
//     rule.
#ifndef POWERCUT_CHECKER_SCHEDULES_CLIENT_CHOICES_H_
#define POWERCUT_CHECKER_SCHEDULES_CLIENT_CHOICES_H_

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checker/schedules/thread_work.h"

namespace powercut {

class ClientChoices {
 public:
  // What one thread has taken up: a byte for each operation from the lowest on, its number and one.
  using Taken = uint64_t;

  // Throws std::runtime_error with the reason where the rule for inserts leaves some choice empty.
  explicit ClientChoices(const ThreadWork& work);

  bool open() const { return open_; }
  // Of the alternatives of the thread's next operation, those that may be taken, as bits.
  uint64_t ways(std::span<const Taken> taken, uint32_t thread) const;
  Taken take(Taken taken, uint32_t thread, uint32_t way) const;
  // Of all that is taken, what the choices to come depend on.
  uint64_t digest(std::span<const Taken> taken) const;
  // All of them.
  uint64_t clients() const;

 private:
  using Effects = std::vector<std::string>;  // of each thread on one key, in order: inserts 'i' and erases 'e'

  bool may_be_taken(std::span<const Taken> taken, uint32_t thread, Taken with) const;
  bool breaks_rule(std::span<const Taken> taken) const;
  bool may_meet(const Effects& threads, bool present) const;
  uint64_t count(std::vector<Taken>* taken, uint32_t thread) const;

  struct Operation {
    OpKind kind{};
    uint64_t id = 0;
    std::string text;
    auto operator<=>(const Operation&) const = default;
  };
  std::vector<Operation> operations_;                       // by number
  std::vector<std::vector<std::vector<uint8_t>>> threads_;  // the numbers of each operation's alternatives
  bool open_ = false, alike_ = false, checks_exists_ = true;
  std::set<uint64_t> present_;  // keys that may be there when the threads begin
  mutable std::map<std::pair<Effects, bool>, bool> known_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SCHEDULES_CLIENT_CHOICES_H_
