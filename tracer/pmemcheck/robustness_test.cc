// Logs that nobody meant to write: every log is imported or refused with a message, and nothing is left behind.
#include <gtest/gtest.h>

#include <random>

#include "tracer/pmemcheck/log.h"
#include "tracer/pmemcheck/test_logs.h"

namespace powercut::pmemcheck {
namespace {

using testing::Folder;
using testing::import_text;

constexpr char kSeed[] =
    "==7== pmemcheck-1.0\nSTART|REGISTER_FILE;/mnt/pool;0x5400000;0x2000;0x0|STORE;0x5400040;0x7;0x8;0x4011a6: "
    "main (a.c:9);0x1: f (b.c:2)0x1: g (c.c:3)|FLUSH;0x5400040;0x40\n==7== note\n|FENCE|a.BEGIN|STORE;0x5400ff8;"
    "0x1122334455667788;0x8|REGISTER_FILE;/mnt/pool;0x5401000;0x1000;0x1000|FLUSH;0x5400000;0x2000|a.END|STOP\n==7==\n";

// Reads the log to its end, or to an error that has a place, a text and a next step.
void read(const std::string& log) {
  LogReader reader(log, "log");
  uint64_t place = 0;
  for (Entry entry; reader.next(&entry);) {
    ASSERT_GE(entry.line << 32 | entry.column, place) << log;
    place = entry.line << 32 | entry.column;
    ASSERT_LE(entry.value.size(), kMaxStore);
  }
  if (const std::optional<TraceError>& error = reader.error()) {
    ASSERT_FALSE(error->what.empty() || error->where.empty() || error->next.empty()) << log;
  }
}

// Imports through files: a refused log leaves nothing behind; the trace of an accepted log can be written and read
// again.
void import(const Folder& folder, const std::string& log) {
  const auto done = import_text(folder, log);
  if (const TraceError* error = std::get_if<TraceError>(&done)) {
    ASSERT_FALSE(error->what.empty() || error->where.empty() || error->next.empty()) << log;
    ASSERT_EQ(folder.files(), 1u) << log;
    return;
  }
  const std::string again = testing::exported(folder);
  if (again.starts_with("START")) {
    ASSERT_TRUE(std::holds_alternative<ImportResult>(import_text(folder, again))) << again;
  }
  std::filesystem::remove(folder.file("trace"));
  std::filesystem::remove(folder.file("exported"));
}

TEST(Robustness, EveryBeginningOfALog) {
  const Folder folder;
  const std::string log = kSeed;
  for (size_t size = 0; size < log.size(); ++size) {
    read(log.substr(0, size));
    if (size % 8 == 0) import(folder, log.substr(0, size));
  }
}

TEST(Robustness, ChangedBytes) {
  const Folder folder;
  std::mt19937_64 random(1);
  const std::string interesting = "|;=-*\n0x\\STORAPFENCE9f\xff\x01 ";
  for (int round = 0; round < 20000; ++round) {
    std::string log = kSeed;
    for (uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
      const size_t at = random() % log.size();
      switch (random() % 4) {
        case 0:
          log[at] = interesting[random() % interesting.size()];
          break;
        case 1:
          log.erase(at, 1 + random() % 8);
          break;
        case 2:
          log.insert(at, log.substr(random() % log.size(), random() % 32));
          break;
        default:
          log.insert(at, 1, static_cast<char>(random()));
      }
    }
    read(log);
    if (round % 100 == 0) import(folder, log);
  }
}

TEST(Robustness, Noise) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 20000; ++round) {
    std::string log = "START|";
    for (uint64_t size = random() % 200; size > 0; --size) log.push_back(static_cast<char>(random()));
    read(log);
  }
}

// A gigabyte without a line break costs no gigabyte of memory: an entry ends at its limit.
TEST(Robustness, EndlessLines) {
  const Folder folder;
  testing::write(folder.file("log"), "START|STORE;");
  std::filesystem::resize_file(folder.file("log"), uint64_t{1} << 30);
  const auto done = import_log({.log = folder.file("log"), .trace = folder.file("trace")});
  ASSERT_TRUE(std::holds_alternative<TraceError>(done));
  EXPECT_NE(std::get<TraceError>(done).what.find("an entry of more than 1048576 bytes"), std::string::npos);
}

TEST(Robustness, WhatIsNoFile) {
  const Folder folder;
  for (const std::string& name : {folder.file(""), folder.file("absent"), std::string("/dev/zero")}) {
    const auto done = import_log({.log = name, .trace = folder.file("trace")});
    ASSERT_TRUE(std::holds_alternative<TraceError>(done)) << name;
    EXPECT_EQ(std::get<TraceError>(done).where, name);
  }
}

}  // namespace
}  // namespace powercut::pmemcheck
