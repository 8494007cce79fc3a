#include "replayer/media/files/switches.h"

#include <initializer_list>
#include <string>
#include <utility>

namespace powercut::files {
namespace {

// Returns the place of the value among `values`, which are in the order of the switch's enumerators.
template <typename Switch>
Switch value_of(const JsonField& json, const char* name, std::initializer_list<const char*> values) {
  const JsonField field = json[name];
  const std::string text = field.text();
  uint8_t place = 0;
  std::string known;
  for (const char* value : values) {
    if (text == value) return static_cast<Switch>(place);
    known += (place++ > 0 ? ", " : "one of ") + std::string(value);
  }
  throw field.wrong(known);
}

}  // namespace

Switches switches_of(const JsonField& json) {
  return {.order = value_of<Order>(json, "order", {"any", "one", "synced"}),
          .rename = value_of<Rename>(json, "rename", {"atomic", "new-first", "split"}),
          .new_inode = value_of<NewInode>(json, "new_inode", {"whole", "apart"}),
          .overwrite = value_of<Overwrite>(json, "overwrite", {"sector", "call"}),
          .size = value_of<SizeNeeds>(json, "size", {"alone", "last", "all"}),
          .stale = value_of<Stale>(json, "stale", {"zeroes", "garbage"}),
          .replace = value_of<Replace>(json, "replace", {"nothing", "size", "data"}),
          .fsync = value_of<Fsync>(json, "fsync", {"file", "names", "journal"}),
          .fdatasync = value_of<Fdatasync>(json, "fdatasync", {"file", "new-name", "journal"}),
          .fsync_folder = value_of<FsyncFolder>(json, "fsync_folder", {"entries", "journal"}),
          .range = value_of<Range>(json, "range", {"range", "file"}),
          .sync = value_of<Sync>(json, "sync", {"all", "names", "nothing"}),
          .new_name = value_of<NewName>(json, "new_name", {"waits", "overtakes"})};
}

}  // namespace powercut::files
