// Which operation a thread takes up next, where the workload leaves the choice open (`any`, scenarios/SCHEMA.md). The
// threads with the operations that they have taken up in the end are a *client*. A search over all choices and all
// schedules judges all clients at once, and clients that begin alike have their common states once.
//
// Not every choice is followed:
//   - If threads are *alike*, two clients are the same when they differ by the order of the threads. Take two threads
//     that have taken up the same operations and may take up the same from here on. The thread with the lower number
//     takes up no operation with a higher number than the other thread's: with the two exchanged, the client is one
//     that is followed.
//   - If the target does not check whether the key of an insert is present (traits.checks_exists), clients have a rule
//     to keep. A client breaks the rule if in some order of its operations an insert meets its key. Every client that
//     begins alike breaks the rule as well, for that order may be the beginning of one of its own orders. A choice is
//     left out as soon as it breaks the rule.
// A choice is offered only if some client has it. Otherwise a thread would stand before an operation and have
// no choice.
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
  // The operations that one thread has taken up: one byte for each, from the lowest byte on, which holds its number
  // plus one.
  using Taken = uint64_t;

  // Throws std::runtime_error with the reason where no client is left, or where there are more operations than Taken
  // has room for.
  explicit ClientChoices(const ThreadWork& work);

  bool open() const { return open_; }
  // Returns, as bits, which alternatives of the thread's next operation some client has; at least one.
  uint64_t ways(std::span<const Taken> taken, uint32_t thread) const;
  Taken take(Taken taken, uint32_t thread, uint32_t way) const;
  // Returns a digest of everything in `taken` that the choices to come depend on.
  uint64_t digest(std::span<const Taken> taken) const;
  // Returns the number of all clients.
  uint64_t clients() const;

 private:
  using Effects = std::vector<std::string>;  // of each thread on one key, in order: inserts 'i' and erases 'e'

  bool may_be_taken(std::span<const Taken> taken, uint32_t thread, Taken with) const;
  // Whether the thread with the lower number may have taken up `of_lower`, as far as both threads' operations are
  // known.
  bool in_order(uint32_t lower, Taken of_lower, uint32_t higher, Taken of_higher) const;
  // Whether some client begins with `taken`.
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
  // The operation from which on a lower and a higher thread have the same alternatives.
  std::vector<std::vector<size_t>> same_from_;
  std::set<uint64_t> present_;  // keys that may be there when the threads begin
  mutable std::map<std::pair<Effects, bool>, bool> known_;
  mutable absl::flat_hash_map<std::vector<Taken>, uint64_t> ways_;  // by all `taken`, with the thread
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SCHEDULES_CLIENT_CHOICES_H_
