// Which page of an erase block shares its cells with another one.
#ifndef POWERCUT_CHECKER_FAULTS_DAMAGE_PAIRED_PAGE_H_
#define POWERCUT_CHECKER_FAULTS_DAMAGE_PAIRED_PAGE_H_

#include <cstdint>
#include <vector>

namespace powercut {

// The pages, of the `pages` of a block, that a program of this one may destroy. All are programmed before it.
std::vector<uint64_t> paired_with(uint64_t page, uint64_t pages);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_FAULTS_DAMAGE_PAIRED_PAGE_H_
