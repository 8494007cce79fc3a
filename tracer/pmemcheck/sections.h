// Writes markers as pmreorder accepts them: each ends with .BEGIN or .END, and an END closes the section opened last.
// Otherwise pmreorder stops with "Cannot cross markers". Other markers are wrapped (kWrappedMarker).
#ifndef POWERCUT_TRACER_PMEMCHECK_SECTIONS_H_
#define POWERCUT_TRACER_PMEMCHECK_SECTIONS_H_

#include <string>
#include <string_view>
#include <vector>

namespace powercut::pmemcheck {

class Sections {
 public:
  // All three functions return the text to write, "|…" for each entry.
  std::string marker(std::string_view name);
  // An operation of the program's history is a section, so that `pmreorder -x insert=ReorderFull` can choose the
  // operation. Operations of several threads overlap, and an operation that a power cut ended never ends. An end that
  // would cross another section is not written.
  std::string begin(std::string_view operation);
  std::string end(std::string_view operation);

 private:
  std::vector<std::string> open_;
};

}  // namespace powercut::pmemcheck
#endif  // POWERCUT_TRACER_PMEMCHECK_SECTIONS_H_
