// The options that tables of both kinds of slots have, as lines of an OptionTable (common/options.h).
#ifndef POWERCUT_TARGETS_LEVEL_OPTION_LINES_H_
#define POWERCUT_TARGETS_LEVEL_OPTION_LINES_H_

#include "targets/common/options.h"
#include "targets/level/options.h"

#define POWERCUT_LEVEL_OPTION_LINES                                                                                   \
  {"top=4|2|8|16|...: initial number of top-level buckets, a power of two", Log2<&Options::top_log2>(2, 1 << 28)},    \
      {"slots=4|8|16: slots of a bucket", Number<&Options::slots>()},                                                 \
      {"auto_expand=on|off: an insert that finds no place expands the table and tries again (off: FULL)",             \
       Switch<&Options::auto_expand>()},                                                                              \
      {"opportunistic=on|off: update without a log where the bucket has an empty slot",                               \
       Switch<&Options::opportunistic>()},                                                                            \
      {"resize=inplace|traditional: rehash one level of three, or the whole table into a new one (Level-Trad)",       \
       Flag<&Options::traditional, "traditional">()},                                                                 \
      {"b2t=on|off: bottom-to-top movement", Switch<&Options::b2t>()},                                                \
      {"search=dynamic|static: probe the fuller level first, or always the top level",                                \
       Flag<&Options::dynamic_search, "dynamic">()},                                                                  \
      {"movement=eager|late: try to move before going down a level (the paper's text), or once both levels are full", \
       Flag<&Options::late_movement, "late">()},                                                                      \
  {                                                                                                                   \
    "hashes=whole|halves: both hash functions address all buckets of a level (the paper's text), or each its half",   \
        Flag<&Options::halves, "halves">()                                                                            \
  }

#endif  // POWERCUT_TARGETS_LEVEL_OPTION_LINES_H_
