#include "checker/oracle/new_keys.h"

#include <algorithm>
#include <cstring>

#include "checker/oracle/value_room.h"
#include "checker/oracle/wrong_step.h"
#include "tracer/format/trace_names.h"
#include "tracer/record/key_bytes.h"

namespace powercut {
namespace {

// Behind the numbers of all keys and values that a scenario can have (key_bytes.h).
constexpr uint64_t kFirstNewKey = uint64_t{1} << 33, kFirstNewValue = uint64_t{1} << 33;

// A step of the insert probe: a letter, which key, the status, and whether a lookup saw the key's value.
constexpr size_t kStep = 4;

// The execution has come to a bystander's second lookup.
constexpr uint8_t kLookingAgain = 1;

struct Steps {
  const powercut_target& target;
  powercut_table* table;
  const std::array<std::string, NewKeys::kKeys>&keys, &values;
  ResultBuffer* out;  // null: nobody asks how they went

  void put(char step, uint8_t key, powercut_status status, bool same = false) const {
    if (out == nullptr) return;
    out->put_byte(static_cast<uint8_t>(step));
    out->put_byte(key);
    out->put_byte(static_cast<uint8_t>(status));
    out->put_byte(same ? 1 : 0);
  }
  void insert(uint8_t key) const {
    put('i', key, insert_into(target, table, bytes_of(keys[key]), bytes_of(values[key])));
    lookup(key);
  }
  void lookup(uint8_t key) const {
    with_value_room(values[key].size(), [&](std::span<char> room) {
      size_t size = 0;
      const powercut_status status = target.lookup(table, bytes_of(keys[key]), room.data(), room.size(), &size);
      const std::string_view found(room.data(), status == POWERCUT_OK ? std::min(size, room.size()) : 0);
      put('l', key, status, found == values[key]);
    });
  }
  void run() const {
    insert(0);
    insert(1);
    lookup(0);
    if (target.erase != nullptr) {
      put('e', 0, target.erase(table, bytes_of(keys[0])));
      lookup(0);
    }
    insert(2);
    lookup(1);
  }
};

}  // namespace

NewKeys::NewKeys(const DataSizes& sizes) {
  for (size_t i = 0; i < kKeys; ++i) {
    keys_[i] = text_of(sizes.key_of(kFirstNewKey + i));
    values_[i] = text_of(sizes.value_of(kFirstNewValue + i));
  }
}

void NewKeys::run(const powercut_target& target, powercut_table* table, QueryId id, const std::vector<KeyHistory>& keys,
                  ResultBuffer* out) {
  const Steps steps{target, table, keys_, values_, out};
  if (kind_of(id) == QueryKind::kInsertProbe) return steps.run();
  if (kind_of(id) == QueryKind::kNewKey) return steps.insert(0);
  const QueryId lookup = query_id(QueryKind::kLookup, argument_of(id));
  run_query(target, table, lookup, keys, values_[0], values_[1], out);
  const size_t size = out->view().size();
  Steps{target, table, keys_, values_, nullptr}.insert(0);
  out->set_phase(kLookingAgain);
  run_query(target, table, lookup, keys, values_[0], values_[1], out);
  noticed(size, out);
}

void NewKeys::noticed(size_t before, ResultBuffer* answers) {
  if (answers->view().substr(before) != answers->view().substr(0, before)) {
    answers->put_u32(static_cast<uint32_t>(before));
    return;
  }
  answers->clear();
  answers->put(kUndisturbed.data(), kUndisturbed.size());
}

void NewKeys::ended(QueryId id, const Outcome& outcome, ResultBuffer* out) const {
  if (kind_of(id) != QueryKind::kBystander || out->phase() == kLookingAgain) return put_failure(outcome, out);
  out->clear();
  out->put(kUndisturbed.data(), kUndisturbed.size());
}

ProbeResult parse_insert_probe(std::string_view result, bool with_text) {
  ProbeResult out;
  std::array<bool, NewKeys::kKeys> present{};
  std::array<LastStep, NewKeys::kKeys> last;
  last.fill(LastStep::kNeverInserted);
  for (size_t i = 0; i + kStep <= result.size(); i += kStep) {
    const auto key = static_cast<uint8_t>(result[i + 1]);
    if (key >= NewKeys::kKeys) break;
    const auto status = static_cast<powercut_status>(result[i + 2]);
    if (result[i] == 'e' && status == POWERCUT_UNSUPPORTED) continue;
    const char* name = "lookup";
    const bool expected = present[key];
    const LastStep before = last[key];
    bool good = status == (present[key] ? POWERCUT_OK : POWERCUT_NOT_FOUND);
    if (result[i] == 'l') {
      good = good && (!present[key] || result[i + 3] == 1);
    } else if (result[i] == 'e') {
      name = "erase";
      present[key] = false;
      last[key] = LastStep::kErased;
    } else {
      name = "insert";
      // FULL is legal, and then changes nothing.
      good = status == POWERCUT_OK || status == POWERCUT_FULL || status == POWERCUT_UNSUPPORTED;
      present[key] = status == POWERCUT_OK;
      if (present[key]) last[key] = LastStep::kInserted;
    }
    const bool first = !good && out.good;
    out.good = out.good && good;
    if (!with_text) continue;
    const char digit = static_cast<char>('1' + key);
    if (first) out.wrong = std::string("New key ") + digit + wrong_step(result[i], status, expected, before);
    const bool value = result[i] == 'l' && status == POWERCUT_OK;
    if (!out.text.empty()) out.text += ", ";
    out.text.append(name).append("(new ").append(1, digit).append(") ");
    out.text.append(!value ? status_name(status) : result[i + 3] == 1 ? "the value" : "another value");
    if (!good) out.text += " (wrong)";
  }
  return out;
}

std::optional<Noticed> parse_bystander(std::string_view result) {
  uint32_t size = 0;
  if (result == NewKeys::kUndisturbed || result.size() < sizeof size) return std::nullopt;
  std::memcpy(&size, result.data() + result.size() - sizeof size, sizeof size);
  result.remove_suffix(sizeof size);
  if (size > result.size()) return std::nullopt;
  return Noticed{result.substr(0, size), result.substr(size)};
}

bool says_corrupt(QueryKind kind, std::string_view result) {
  const auto any_step = [result](size_t width, size_t status) {
    for (size_t i = 0; i + width <= result.size(); i += width) {
      if (static_cast<powercut_status>(result[i + status]) == POWERCUT_CORRUPT) return true;
    }
    return false;
  };
  if (kind == QueryKind::kProbe || kind == QueryKind::kEraseProbe) return any_step(3, 1);
  if (kind == QueryKind::kInsertProbe || kind == QueryKind::kNewKey) return any_step(kStep, 2);
  const auto noticed = parse_bystander(result);
  return noticed && parse_answer(QueryKind::kLookup, noticed->after).status == POWERCUT_CORRUPT;
}

}  // namespace powercut
