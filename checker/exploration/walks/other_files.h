// Sentences on files beside the pools that the recorded program has changed: no image holds them.
#ifndef POWERCUT_CHECKER_EXPLORATION_WALKS_OTHER_FILES_H_
#define POWERCUT_CHECKER_EXPLORATION_WALKS_OTHER_FILES_H_

#include <string>
#include <vector>

#include "checker/subjects/program/images/trace_pools.h"

namespace powercut {

// "a, b and 3 more"
std::string some_of(const std::vector<std::string>& files);

// Returns a sentence about changed files that the commands have looked at; empty without such files. The commands'
// outcomes depend on more than the images then.
std::string other_files_met(const std::vector<std::string>& met);

// Returns what a report says of the changed files that the commands have looked at, where there are some: why there is
// no verdict, and how the files are judged together with the pools.
std::string note_of_met(const TracePools& pools, const std::vector<std::string>& met);

// Returns what a report says of the changed files that no command has looked at, those of `added` left out; empty
// without such files.
std::string note_of_unmet(const TracePools& pools, const std::vector<std::string>& met,
                          const std::vector<std::string>& added);

// Returns the option and the folder that judge the files together with the pools, such as "--files /srv/data". Where no
// folder holds all of them without `working`, in which the commands run, DIR stands for one that the user makes.
std::string files_option(const TracePools& pools, const std::vector<std::string>& files, const std::string& working);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_WALKS_OTHER_FILES_H_
