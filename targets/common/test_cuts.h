// For a test that cuts the power at the marks of a protocol. One file of the program includes it.
#ifndef POWERCUT_TARGETS_COMMON_TEST_CUTS_H_
#define POWERCUT_TARGETS_COMMON_TEST_CUTS_H_

#include <mutex>
#include <random>
#include <set>
#include <string>

namespace powercut::test {

struct Cut {};

// State of this program's powercut_mark: the marks seen, and the countdown to a cut.
inline struct {
  std::set<std::string> seen;
  int until_cut = -1;  // marks to pass before the cut; negative: none
} marks;

// Runs an operation that is cut after `until_cut` marks (negative: never). At a cut it opens the table again, by
// `recover`, which is cut once in two times within its first `recovery_marks` marks. Returns whether the operation
// ended.
template <typename Operate, typename Recover>
bool EndsUncut(int until_cut, std::mt19937_64* random, int recovery_marks, Operate operate, Recover recover) {
  bool ended = true;
  marks.until_cut = until_cut;
  try {
    operate();
  } catch (const Cut&) {
    ended = false;
    marks.until_cut = (*random)() % 2 == 0 ? static_cast<int>((*random)() % recovery_marks) : -1;
    try {
      recover();
    } catch (const Cut&) {
      recover();
    }
  }
  marks.until_cut = -1;
  return ended;
}

}  // namespace powercut::test

extern "C" void powercut_mark(const char* name) {
  using powercut::test::marks;
  static std::mutex mutex;  // threads meet marks side by side
  const std::lock_guard lock(mutex);
  marks.seen.insert(name);
  if (marks.until_cut == 0) {
    marks.until_cut = -1;
    throw powercut::test::Cut();
  }
  if (marks.until_cut > 0) --marks.until_cut;
}

#endif  // POWERCUT_TARGETS_COMMON_TEST_CUTS_H_
