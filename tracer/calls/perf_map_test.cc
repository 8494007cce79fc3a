#include "tracer/calls/perf_map.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace powercut {
namespace {

TEST(PerfMap, AFunctionOfAScriptHasItsNameAndLine) {
  EXPECT_EQ(script_function("JS:~save /app/a b/store.js:12:14"), "save (/app/a b/store.js:12)");
  EXPECT_EQ(script_function("JS:*Table.put /app/x.js:3:1"), "Table.put (/app/x.js:3)");
  EXPECT_EQ(script_function("LazyCompile:*f /x.js:1:2"), "f (/x.js:1)");
  EXPECT_EQ(script_function("JS:~ /x.js:1:1"), "(anonymous) (/x.js:1)");
}

TEST(PerfMap, CodeOfTheRuntimeHasNone) {
  for (const char* name : {"JS:~writeFileSync node:fs:2342:23", "Builtin:ArgumentsAdaptor", "JS:~f", "Stub:x /a:1:1",
                           "", ":", "JS:", "JS:~ /x", "py::main:/x.py"}) {
    EXPECT_EQ(script_function(name), "") << name;
  }
}

TEST(PerfMap, CodeIsFoundAsTheFileGrowsAndMoves) {
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  std::ofstream file(path);
  file << "1000 20 JS:~a /x.js:1:1\n1020 10 Builtin:b\n" << std::flush;
  PerfMap map(getpid(), 0);
  EXPECT_EQ(map.function_at(0x1000), "a (/x.js:1)");
  EXPECT_EQ(map.function_at(0x101f), "a (/x.js:1)");
  EXPECT_EQ(map.function_at(0x1020), "");
  EXPECT_EQ(map.function_at(0xfff), "");
  file << "2000 8 JS:~c /x.js:3:1\nbad line\n1010 4 JS:~d /x.js:4:1\n3000 8 JS:~half" << std::flush;
  EXPECT_EQ(map.function_at(0x2000), "c (/x.js:3)");
  EXPECT_EQ(map.function_at(0x1010), "d (/x.js:4)");
  EXPECT_EQ(map.function_at(0x1000), "") << "other code has taken a part of its place";
  EXPECT_EQ(map.function_at(0x3000), "");
  file << " /x.js:5:1\n" << std::flush;
  EXPECT_EQ(map.function_at(0x3000), "half (/x.js:5)");
  PerfMap late(getpid(), std::time(nullptr) + 1000);
  EXPECT_EQ(late.function_at(0x2000), "") << "the file is that of an earlier process";
  unlink(path.c_str());
}

}  // namespace
}  // namespace powercut
