// The switches of a profile, as the engine takes them: each has one of the values that PROFILES.md beside this names.
// Profiles are files that Python reads (powercut/models/profiles.py); it hands the engine the values alone.
#ifndef POWERCUT_REPLAYER_MEDIA_FILES_SWITCHES_H_
#define POWERCUT_REPLAYER_MEDIA_FILES_SWITCHES_H_

#include <cstdint>

#include "base/json_field.h"

namespace powercut::files {

enum class Order : uint8_t { kAny, kOne, kSynced };
enum class Rename : uint8_t { kAtomic, kNewFirst, kSplit };
enum class NewInode : uint8_t { kWhole, kApart };
enum class Overwrite : uint8_t { kSector, kCall };
enum class SizeNeeds : uint8_t { kAlone, kLast, kAll };
enum class Stale : uint8_t { kZeroes, kGarbage };
enum class Replace : uint8_t { kNothing, kSize, kData };
enum class Fsync : uint8_t { kFile, kNames, kJournal };
enum class Fdatasync : uint8_t { kFile, kNewName, kJournal };
enum class FsyncFolder : uint8_t { kEntries, kJournal };
enum class Range : uint8_t { kRange, kFile };
enum class Sync : uint8_t { kAll, kNames, kNothing };
enum class NewName : uint8_t { kWaits, kOvertakes };

struct Switches {
  Order order{};
  Rename rename{};
  NewInode new_inode{};
  Overwrite overwrite{};
  SizeNeeds size{};
  Stale stale{};
  Replace replace{};
  Fsync fsync{};
  Fdatasync fdatasync{};
  FsyncFolder fsync_folder{};
  Range range{};
  Sync sync{};
  NewName new_name{};
};

// Reads {"order": "one", …}. Throws Malformed for a switch that is missing, and for a value that it does not have.
Switches switches_of(const JsonField& json);

}  // namespace powercut::files
#endif  // POWERCUT_REPLAYER_MEDIA_FILES_SWITCHES_H_
