// A host for the recorder within the test's own process, and its stream read back as lines of text.
#ifndef POWERCUT_TRACER_PIN_TESTS_PROGRAM_H_
#define POWERCUT_TRACER_PIN_TESTS_PROGRAM_H_

#include <gtest/gtest.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/temporary_folder.h"
#include "tracer/pin/recorder.h"
#include "tracer/stream/stream_reader.h"

namespace powercut::pin {

// Copies as PIN_SafeCopy does: unreadable memory does not end the process.
inline size_t copy_own_memory(void* to, uint64_t from, size_t size) {
  const iovec local = {to, size}, remote = {reinterpret_cast<void*>(from), size};
  const ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
  return got < 0 ? 0 : static_cast<size_t>(got);
}

namespace testing = ::testing;  // before powercut::testing
using Folder = powercut::testing::TemporaryFolder;

inline const Host kOwnProcess = {copy_own_memory, [] { std::this_thread::yield(); }};

inline std::string hex(std::span<const uint8_t> bytes) {
  std::string text;
  char two[3];
  for (const uint8_t byte : bytes) {
    snprintf(two, sizeof two, "%02x", byte);
    text += two;
  }
  return text;
}

template <typename... Parts>
std::string join(const Parts&... parts) {
  std::string text;
  ((text += parts), ...);
  return text;
}

// One line a record; addresses relative to `base`.
inline std::vector<std::string> lines_of(const std::string& path, uint64_t base = 0) {
  TraceError error;
  const std::unique_ptr<StreamReader> reader = StreamReader::open(path, &error);
  EXPECT_NE(reader, nullptr) << error.what;
  std::vector<std::string> lines;
  StreamRecord record;
  while (reader != nullptr && reader->next(&record)) {
    const auto n = [](uint64_t number) { return " " + std::to_string(number); };
    const std::string who = n(record.site.thread);
    const std::string at = n(record.address - base);
    switch (record.type) {
      case kPowercutPool:
        lines.push_back("pool" + n(record.address) + " " + std::filesystem::path(record.text).filename().string());
        break;
      case kPowercutContent:
        lines.push_back("content" + n(record.pool) + n(record.address) + n(record.bytes.size()) + " " +
                        hex(record.bytes.first(1)));
        break;
      case kPowercutMap:
        lines.push_back("map" + n(record.pool) + at + n(record.length) + n(record.offset));
        break;
      case kPowercutUnmap:
        lines.push_back("unmap" + at + n(record.length));
        break;
      case kPowercutStore: {
        std::string flags;
        if (record.flags & kPowercutStoreNt) flags += " nt";
        if (record.flags & kPowercutStoreAtomic) flags += " atomic";
        if (record.flags & kPowercutStoreString) flags += " string";
        if (record.flags & kPowercutStoreRmw) flags += " rmw";
        if (record.flags & kPowercutStoreContinues) flags += " more";
        lines.push_back(join("store", who, at, " ", hex(record.bytes), flags));
        break;
      }
      case kPowercutFlush:
        lines.push_back(join("flush", who, at, n(record.code)));
        break;
      case kPowercutFence:
        lines.push_back("fence" + who + n(record.code));
        break;
      case kPowercutLoad:
        lines.push_back(join("load", who, at, n(record.length)));
        break;
      case kPowercutFileRead:
        lines.push_back(join("read", who, n(record.pool), n(record.address), n(record.length)));
        break;
      case kPowercutThreadStart:
        lines.push_back("start" + who);
        break;
      case kPowercutThreadEnd:
        lines.push_back("end" + who);
        break;
      case kPowercutModule:
        lines.push_back("module " + std::filesystem::path(record.text).filename().string());
        break;
      case kPowercutStack: {
        std::string line = "stack";
        for (const Frame& frame : record.frames) line += n(frame.module) + ":" + std::to_string(frame.offset);
        lines.push_back(line);
        break;
      }
      case kPowercutOpBegin:
        lines.push_back("begin" + who + n(record.code) + " " + hex(record.key) + "=" + hex(record.bytes) + " " +
                        std::string(record.text));
        break;
      case kPowercutOpEnd:
        lines.push_back("done" + who + n(record.code) + " " + hex(record.bytes));
        break;
      case kPowercutMarker:
        lines.push_back("marker " + std::string(record.text));
        break;
      case kPowercutPhase:
        lines.push_back("phase" + n(record.code) + " " + std::string(record.text));
        break;
      case kPowercutCut:
        lines.push_back("cut");
        break;
      case kPowercutFileWrite:
        lines.push_back("write" + n(record.pool) + n(record.address) + n(record.bytes.size()) + " " +
                        hex(record.bytes.first(1)));
        break;
      case kPowercutFileSize:
        lines.push_back("size" + n(record.pool) + n(record.address));
        break;
      case kPowercutSync:
        lines.push_back("sync" + n(record.code) + n(record.pool) + n(record.address) + n(record.length));
        break;
      case kPowercutNote:
        lines.push_back("note" + n(record.code) + " " + std::string(record.text));
        break;
      case kPowercutOutput:
        break;  // Pin does not look
      case kPowercutEnd:
        lines.push_back((record.code == kPowercutExited ? "exit" : "signal") + n(record.length));
        break;
    }
  }
  if (reader != nullptr) {
    EXPECT_FALSE(reader->error()) << reader->error()->what;
  }
  return lines;
}

}  // namespace powercut::pin
#endif  // POWERCUT_TRACER_PIN_TESTS_PROGRAM_H_
