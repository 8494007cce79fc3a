// Which images of a box with many images are run: all images, the image that has lost least, or a sample. The sample
// has the floor, the visible image and every single line lost or persisted, and then draws from a seed.
#ifndef POWERCUT_CHECKER_EXPLORATION_WALKS_CHOICES_H_
#define POWERCUT_CHECKER_EXPLORATION_WALKS_CHOICES_H_

#include <cstdint>
#include <vector>

#include "checker/subjects/program/reads/behaviours.h"
#include "checker/subjects/program/workers/image_workers.h"

namespace powercut {

// Every choice of the box, in the order of its contents.
std::vector<Choice> all_choices(const Box& box);
// The member of the box with as little lost as possible.
Choice least_lost(const LineSets& sets, const Box& box);
// Distinct choices of the box, as many as `most` at most.
std::vector<Choice> sample_of(const Box& box, const LineSets& sets, uint64_t most, uint64_t seed);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_WALKS_CHOICES_H_
