// What a program has made of a file that is a block device, as events of the trace: a write of sectors is a store of
// their contents' names (STREAM.md, "Devices").
#ifndef POWERCUT_TRACER_STREAM_DEVICE_FILE_H_
#define POWERCUT_TRACER_STREAM_DEVICE_FILE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "tracer/stream/device_layout.h"

namespace powercut {

class DeviceFile {
 public:
  // Where events go. Offsets are those of the device's window.
  struct Sink {
    std::function<void(std::span<const uint8_t> bytes)> content;
    std::function<void(uint64_t offset, std::span<const uint8_t> names)> store;
    std::function<void(uint64_t offset)> force;
    std::function<void(bool explored)> phase;
  };

  DeviceFile(DeviceLayout layout, Sink sink) : layout_(layout), sink_(std::move(sink)) {}

  // The file grows where `bytes` end behind it. Of a sector that is written in part the rest is what was there: it is
  // one write of the whole sector, as by the page cache.
  void write(uint64_t offset, std::span<const uint8_t> bytes);
  void resize(uint64_t size);
  // What was written to the range is durable.
  void force(uint64_t offset, uint64_t length);
  // Everything is durable by an event of the caller's.
  void flushed() { unsynced_.clear(); }

 private:
  using Sector = std::vector<uint8_t>;

  void set_size(uint64_t size);
  void shrink(uint64_t size);
  Sector& at(uint64_t sector);
  // One write of sectors of one unit, whose contents are in place.
  void store(uint64_t first, uint64_t end);

  const DeviceLayout layout_;
  const Sink sink_;
  uint64_t size_ = 0;
  std::map<uint64_t, Sector> sectors_;  // that were written; others are zeroes
  std::set<uint64_t> unsynced_;
  std::set<uint64_t> named_;  // contents that the trace has
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_STREAM_DEVICE_FILE_H_
