// What was asked of the table and what it acknowledged, up to an instant of the trace: durable linearizability
// for a map (Izraelevitz, Mendes & Scott, DISC 2016), which splits by key.
#ifndef POWERCUT_CHECKER_ORACLE_HISTORY_H_
#define POWERCUT_CHECKER_ORACLE_HISTORY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tracer/format/trace.h"

namespace powercut {

inline constexpr int32_t kAbsent = -1;

struct KeyHistory {
  std::string bytes;
  std::optional<uint64_t> id;        // the scenario's key id, when the bytes are one's
  std::vector<std::string> written;  // every value ever written to this key, in order
  int32_t acknowledged = kAbsent;    // index into `written`, or kAbsent
  // An operation that has not returned, or whose end the power cut of a scenario took: its state is legal as well.
  std::optional<int32_t> possible;
  uint64_t version = 0;      // grows with every change of what is legal, by the end of an operation or its beginning
  uint64_t tightenings = 0;  // of these, those by which a state that was legal no longer is

  bool legal(int32_t state) const { return state == acknowledged || (possible && state == *possible); }
};

struct OperationInfo {
  uint64_t index = 0;  // 0-based among the trace's operations
  OpKind kind{};
  uint32_t key = 0;  // index of the key; meaningful when has_key
  bool has_key = false;
  std::string text;  // command of kMaintain
};

class History {
 public:
  void apply(const Event& event);

  const std::vector<KeyHistory>& keys() const { return keys_; }
  // Keys (by index) of which a state that was legal no longer is, in the order in which that came to be. Grows only.
  const std::vector<uint32_t>& tightened() const { return tightened_; }
  std::optional<uint32_t> find(std::string_view key) const;
  bool formatted() const { return formatted_; }
  // The operation in flight, else the one that ended last.
  const OperationInfo& operation() const { return operation_; }
  bool in_flight() const { return in_flight_; }
  uint64_t operations() const { return operations_; }

 private:
  uint32_t key_of(const Event& event);
  void begin(const Event& event);
  void end(const Event& event);

  std::vector<KeyHistory> keys_;
  std::vector<uint32_t> tightened_;
  absl::flat_hash_map<std::string, uint32_t> index_;
  OperationInfo operation_;
  bool in_flight_ = false;
  bool formatted_ = false;
  uint64_t operations_ = 0;
};

std::string name_of(const KeyHistory& key);          // "17", "zeros", "ones", or its bytes
std::string describe_value(std::string_view bytes);  // "0x2a…", at most 16 bytes

}  // namespace powercut
#endif  // POWERCUT_CHECKER_ORACLE_HISTORY_H_
