// The maps against std::map, after processes that were killed, and with pools that were damaged on purpose.

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "targets/pmdk/map.h"
#include "targets/pmdk/workload.h"

namespace {

using Contents = std::map<uint64_t, uint64_t>;

// A fresh pool in a folder of its own.
class Pool {
 public:
  explicit Pool(const pmdk_map& map) : map_(map) {
    std::string folder = (std::filesystem::temp_directory_path() / "powercut-pmdk-XXXXXX").string();
    folder_ = mkdtemp(folder.data());
    session_.pool = pmemobj_create(Path().c_str(), map.layout, PMEMOBJ_MIN_POOL, 0600);
    if (session_.pool == nullptr || !map.recover(&session_)) throw std::runtime_error(pmemobj_errormsg());
  }
  ~Pool() {
    Close();
    std::filesystem::remove_all(folder_);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  std::string Path() const { return folder_ + "/pool"; }
  pmdk_session* session() { return &session_; }

  void Close() {
    if (session_.pool != nullptr) pmemobj_close(session_.pool);
    session_.pool = nullptr;
  }

  void Reopen() {
    Close();
    session_.pool = pmemobj_open(Path().c_str(), map_.layout);
    ASSERT_NE(session_.pool, nullptr) << pmemobj_errormsg();
    ASSERT_TRUE(map_.recover(&session_)) << pmemobj_errormsg();
  }

  Contents Walk() {
    Contents contents;
    map_.walk(
        &session_,
        [](uint64_t key, uint64_t value, void* context) { static_cast<Contents*>(context)->emplace(key, value); },
        &contents);
    return contents;
  }

  // Empty if every invariant holds.
  std::string Broken() {
    char reason[kReasonSize] = "";
    return verify_map(&map_, &session_, reason) ? "" : reason;
  }

 private:
  const pmdk_map& map_;
  std::string folder_;
  pmdk_session session_ = {};
};

pmdk_status Apply(const pmdk_map& map, pmdk_session* session, const op& op, uint64_t* found) {
  switch (op.kind) {
    case kInsert:
      return map.insert(session, op.key, op.value);
    case kUpdate:
      return map.update(session, op.key, op.value);
    case kErase:
      return map.erase(session, op.key);
    case kLookup:
      return map.lookup(session, op.key, found);
    case kRehash:
      return map.rehash(session);
  }
  return kFailed;
}

// Applies the operation to `contents`, and returns the right answer.
pmdk_status Expected(Contents* contents, const op& op) {
  const auto item = contents->find(op.key);
  switch (op.kind) {
    case kInsert:
      return contents->emplace(op.key, op.value).second ? kDone : kExists;
    case kUpdate:
      if (item == contents->end()) return kAbsent;
      item->second = op.value;
      return kDone;
    case kErase:
      return contents->erase(op.key) ? kDone : kAbsent;
    case kLookup:
      return item == contents->end() ? kAbsent : kDone;
    case kRehash:
      return kDone;
  }
  return kFailed;
}

// By name, which is what lists of tests show.
class PmdkMap : public testing::TestWithParam<std::string> {
 protected:
  const pmdk_map& map() { return GetParam() == "tx" ? tx_map : atomic_map; }
};

INSTANTIATE_TEST_SUITE_P(Maps, PmdkMap, testing::Values("tx", "atomic"), [](const auto& info) { return info.param; });

TEST_P(PmdkMap, AnswersAsAStandardMapDoes) {
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(seed);
    Pool pool(map());
    Contents contents;
    workload ops = workload_generate(150, seed);
    for (size_t i = 0; i < ops.count; ++i) {
      op op = ops.ops[i];
      if (i % 50 == 40) op = {.kind = kRehash, .key = 0, .value = 0};
      uint64_t found = 0;
      ASSERT_EQ(Apply(map(), pool.session(), op, &found), Expected(&contents, op)) << i;
      if (op.kind == kLookup && contents.contains(op.key)) ASSERT_EQ(found, contents[op.key]) << i;
    }
    workload_free(&ops);
    EXPECT_EQ(pool.Broken(), "");
    pool.Reopen();
    EXPECT_EQ(pool.Broken(), "");
    EXPECT_EQ(map().count(pool.session()), contents.size());
    EXPECT_EQ(pool.Walk(), contents);
  }
}

TEST_P(PmdkMap, BugsAnswerAsWellWhileThePowerIsOn) {
  // Or else they would be found by any test, and not by a power cut.
  for (unsigned bug = 1; bug <= map().bug_count; ++bug) {
    Pool pool(map());
    pool.session()->bug = bug;
    Contents contents;
    workload ops = workload_generate(100, bug);
    for (size_t i = 0; i < ops.count; ++i) {
      uint64_t found = 0;
      EXPECT_EQ(Apply(map(), pool.session(), ops.ops[i], &found), Expected(&contents, ops.ops[i]))
          << map().bugs[bug - 1].name;
    }
    workload_free(&ops);
    EXPECT_EQ(pool.Walk(), contents) << map().bugs[bug - 1].name;
    EXPECT_EQ(pool.Broken(), "") << map().bugs[bug - 1].name;
  }
}

TEST_P(PmdkMap, RecoversFromAProcessThatWasKilled) {
  // Whatever the process had stored is there; recovery meets operations that are not finished, resizes among them.
  Pool pool(map());
  pool.Close();
  for (int round = 0; round < 12; ++round) {
    const pid_t child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) {
      pmdk_session session = {.pool = pmemobj_open(pool.Path().c_str(), map().layout), .bug = 0};
      if (session.pool == nullptr || !map().recover(&session)) _exit(1);
      for (uint64_t step = 0;; ++step) {  // 300 keys come, then they go again
        const uint64_t key = 1 + 300 * round + step % 300;
        const pmdk_status status = step / 300 % 2 == 0 ? map().insert(&session, key, key) : map().erase(&session, key);
        if (status == kFailed) _exit(2);
      }
    }
    usleep(3000 + 1700 * round);
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "left by itself, status " << status;
    pool.Reopen();
    EXPECT_EQ(pool.Broken(), "") << "round " << round;
    pool.Close();
  }
}

TEST_P(PmdkMap, VerifyNamesAnObjectThatNothingReaches) {
  Pool pool(map());
  PMEMoid lost = OID_NULL;
  ASSERT_EQ(pmemobj_zalloc(pool.session()->pool, &lost, 64, 2), 0);
  EXPECT_NE(pool.Broken().find("is allocated, not reached"), std::string::npos) << pool.Broken();
}

TEST_P(PmdkMap, VerifyNamesAPointerToFreedMemory) {
  Pool pool(map());
  ASSERT_EQ(map().insert(pool.session(), 1, 10), kDone);
  for (PMEMoid oid = pmemobj_first(pool.session()->pool); !OID_IS_NULL(oid); oid = pmemobj_next(oid)) {
    if (pmemobj_type_num(oid) != 2) continue;
    pmemobj_free(&oid);
    break;
  }
  EXPECT_NE(pool.Broken().find("is no allocated object"), std::string::npos) << pool.Broken();
}

TEST_P(PmdkMap, VerifyNamesAKeyInTheWrongBucket) {
  Pool pool(map());
  ASSERT_EQ(map().insert(pool.session(), 1, 10), kDone);
  for (PMEMoid oid = pmemobj_first(pool.session()->pool); !OID_IS_NULL(oid); oid = pmemobj_next(oid))
    if (pmemobj_type_num(oid) == 2) *static_cast<uint64_t*>(pmemobj_direct(oid)) = 2;  // the key comes first
  EXPECT_NE(pool.Broken().find("Bucket 1 of 4 holds key 2"), std::string::npos) << pool.Broken();
}

TEST(PmdkWorkload, TheSameSeedGivesTheSameOperationsAndNoValueTwice) {
  workload first = workload_generate(300, 7), second = workload_generate(300, 7);
  ASSERT_EQ(first.count, 300u);
  std::map<uint64_t, int> written;
  std::map<op_kind, int> kinds;
  for (size_t i = 0; i < first.count; ++i) {
    EXPECT_EQ(first.ops[i].kind, second.ops[i].kind);
    EXPECT_EQ(first.ops[i].key, second.ops[i].key);
    EXPECT_EQ(++written[first.ops[i].value], 1);
    ++kinds[first.ops[i].kind];
  }
  for (const op_kind kind : {kInsert, kUpdate, kErase, kLookup}) EXPECT_GT(kinds[kind], 10) << kind;
  workload_free(&first);
  workload_free(&second);
}

class WorkloadFile : public testing::Test {
 protected:
  bool Read(const std::string& text, workload* ops) {
    const std::string path = testing::TempDir() + "powercut-pmdk-ops-" + std::to_string(getpid());
    std::ofstream(path) << text;
    testing::internal::CaptureStderr();
    const bool good = workload_read(path.c_str(), ops);
    error_ = testing::internal::GetCapturedStderr();
    std::filesystem::remove(path);
    return good;
  }
  std::string error_;
};

TEST_F(WorkloadFile, HoldsOneOperationALine) {
  workload ops;
  ASSERT_TRUE(Read("# two keys\ninsert 1 10\n\n  update 1 11 # again\nerase 1\nlookup 2\nrehash\n", &ops)) << error_;
  ASSERT_EQ(ops.count, 5u);
  EXPECT_EQ(ops.ops[1].kind, kUpdate);
  EXPECT_EQ(ops.ops[1].key, 1u);
  EXPECT_EQ(ops.ops[1].value, 11u);
  EXPECT_EQ(ops.ops[4].kind, kRehash);
  workload_free(&ops);
}

TEST_F(WorkloadFile, IsRefusedWithTheLineThatIsWrong) {
  workload ops;
  for (const char* line : {"insert 1", "insert 1 2 3", "insert 0 1", "insert -1 1", "erase", "lookup x", "rehash 4",
                           "remove 1", "insert 99999999999999999999999 1"}) {
    EXPECT_FALSE(Read(std::string("insert 1 10\n") + line + "\n", &ops)) << line;
    EXPECT_NE(error_.find(":2: '" + std::string(line) + "' is no operation"), std::string::npos) << error_;
  }
}

}  // namespace
