// For a test that cuts the power at the marks of a protocol. One file of the program includes it.
#ifndef POWERCUT_TARGETS_COMMON_TEST_CUTS_H_
#define POWERCUT_TARGETS_COMMON_TEST_CUTS_H_

#include <mutex>
#include <set>
#include <string>

namespace powercut::test {

struct Cut {};

// State of this program's powercut_mark: the marks seen, and the countdown to a cut.
inline struct {
  std::set<std::string> seen;
  int until_cut = -1;  // marks to pass before the cut; negative: none
} marks;

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
