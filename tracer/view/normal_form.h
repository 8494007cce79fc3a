// The normal form of a trace, on which all tracers must agree, however many instructions a copy became. At every fence
// and operation boundary it lists the lines whose visible or durable bytes changed since the last boundary. Only
// content and durability are compared: no stacks, no split of stores, no addresses of code.
//
//   op-begin t0 insert key 0a0b… value …
//     line 0x40 visible 00…ff floor 00…00
//   fence t0
//     line …
//
// The floor here is per byte the newest store that is certainly durable under `adr` (flushed and fenced, clflushed, or
// non-temporal and fenced; POPL 2020, section 3; POPL 2022 for non-temporal stores). This is enough to compare tracers;
// the candidates of a line are the persistency models' business. A fence that follows another one without any change in
// between adds nothing and is dropped.
#ifndef POWERCUT_TRACER_VIEW_NORMAL_FORM_H_
#define POWERCUT_TRACER_VIEW_NORMAL_FORM_H_

#include <absl/container/flat_hash_map.h>

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tracer/format/trace.h"

namespace powercut {

class NormalForm {
 public:
  // Returns the text that `event` adds; it is often empty.
  std::string add(const Event& event);

 private:
  // `order` is the number of the store that wrote a byte; 0 is the zeroed pool.
  struct Byte {
    uint64_t order = 0;
    uint8_t value = 0;
  };
  using Content = std::array<Byte, kLineSize>;
  struct Line {
    Content visible, cached, floor;  // cached: visible without non-temporal stores, which no flush covers
  };
  struct Thread {
    std::map<uint64_t, Content> flushed;              // line -> what the last clwb or clflushopt saw
    std::vector<std::pair<uint64_t, Byte>> streamed;  // non-temporal bytes since the last fence
  };

  void store(const Event& event);
  void flush(const Event& event);
  void fence(uint32_t thread);
  void raise(uint64_t line, const Content& content);
  void raise(uint64_t addr, const Byte& byte);
  // Returns the text of the changed lines, and forgets the changes.
  std::string changes();

  std::map<uint64_t, Line> lines_;
  std::map<uint32_t, Thread> threads_;
  std::set<uint64_t> changed_;
  uint64_t order_ = 0;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_VIEW_NORMAL_FORM_H_
