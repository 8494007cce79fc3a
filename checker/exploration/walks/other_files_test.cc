#include "checker/exploration/walks/other_files.h"

#include <gtest/gtest.h>

namespace powercut {
namespace {

const char* const kApart = "--files DIR, where DIR is a folder that holds all of them and nothing else";

TracePools pool_at(const std::string& path) {
  TracePools out;
  out.windows.push_back({.path = path});
  return out;
}

TEST(OtherFiles, AFolderHoldsThePoolsAndTheFiles) {
  const TracePools pools = pool_at("/srv/app/data/db");
  EXPECT_EQ(files_option(pools, {"/srv/app/data/db-journal"}, "/srv/app"), "--files /srv/app/data");
  EXPECT_EQ(files_option(pools, {"/srv/app/data/log/1"}, "/srv/app"), "--files /srv/app/data");
  EXPECT_EQ(files_option(pools, {"the names in /srv/app/data"}, "/srv/app"), "--files /srv/app/data");
  EXPECT_EQ(files_option(pools, {"/srv/app/logs/1"}, "/home/me"), "--files /srv/app");
}

TEST(OtherFiles, AFolderThatHoldsTheCommandsIsNoneToJudge) {
  const TracePools pools = pool_at("/srv/app/data/db");
  EXPECT_EQ(files_option(pools, {"/srv/app/log"}, "/srv/app"), kApart);
  EXPECT_EQ(files_option(pools, {"/srv/app/log"}, "/srv/app/below"), kApart);
  EXPECT_EQ(files_option(pools, {"/tmp/log"}, "/home/me"), kApart);
}

TEST(OtherFiles, AFileIsToldOnce) {
  TracePools pools = pool_at("/srv/data/db");
  EXPECT_EQ(note_of_unmet(pools, {}, {}), "");
  pools.other_files = {{"/srv/data/met"}, {"/srv/data/added"}, {"/srv/data/other"}};
  const std::string note = note_of_unmet(pools, {}, {"/srv/data/met", "/srv/data/added"});
  EXPECT_TRUE(
      note.ends_with("looked at: /srv/data/other. If they are data, powercut judges them with --files "
                     "/srv/data, in the place of --pool"))
      << note;
  EXPECT_TRUE(note_of_unmet(pools, {"/srv/data/met"}, {"/srv/data/added"}).ends_with("looked at: /srv/data/other"));
}

}  // namespace
}  // namespace powercut
