#include "checker/oracle/queries.h"

#include <cstring>

#include "checker/oracle/value_room.h"
#include "checker/oracle/wrong_step.h"

namespace powercut {
namespace {

// Keys and values that the target hands over may lie in the pool, where nothing has read them yet: the engine's
// own reading is announced like the target's.
const void* announce(powercut_bytes bytes) {
  const auto address = reinterpret_cast<uint64_t>(bytes.data);
  if (bytes.size > 0 && address - __powercut_load_window.base < __powercut_load_window.span) {
    return __powercut_load(bytes.data, bytes.size);
  }
  return bytes.data;
}

void put_sized(ResultBuffer* out, powercut_bytes bytes) {
  const void* place = announce(bytes);
  out->put_u32(static_cast<uint32_t>(bytes.size));
  out->put(place, bytes.size);
}

int put_copy(void* context, powercut_bytes, powercut_bytes value) {
  put_sized(static_cast<ResultBuffer*>(context), {nullptr, 0});
  put_sized(static_cast<ResultBuffer*>(context), value);
  return 0;
}

int put_item(void* context, powercut_bytes key, powercut_bytes value) {
  put_sized(static_cast<ResultBuffer*>(context), key);
  put_sized(static_cast<ResultBuffer*>(context), value);
  return 0;
}

// The status of a walk is known after its items, so it is written last.
void put_status(ResultBuffer* out, powercut_status status) { out->put_byte(static_cast<uint8_t>(status)); }

// One step of a probe: its letter, its status, and for lookups which value came back.
enum class Seen : uint8_t { kNothing = 0, kFirst = 1, kSecond = 2, kOther = 3 };

struct Prober {
  const powercut_target& target;
  powercut_table* table;
  std::string_view key, one, two;
  ResultBuffer* out;

  powercut_status put_step(char step, powercut_status status, Seen seen = Seen::kNothing) {
    out->put_byte(static_cast<uint8_t>(step));
    out->put_byte(static_cast<uint8_t>(status));
    out->put_byte(static_cast<uint8_t>(seen));
    return status;
  }
  powercut_status lookup() {
    return with_value_room(one.size(), [this](std::span<char> room) {
      size_t size = 0;
      const powercut_status status = target.lookup(table, bytes_of(key), room.data(), room.size(), &size);
      const std::string_view found(room.data(), status == POWERCUT_OK ? std::min(size, room.size()) : 0);
      return put_step('l', status,
                      status != POWERCUT_OK ? Seen::kNothing
                      : found == one        ? Seen::kFirst
                      : found == two        ? Seen::kSecond
                                            : Seen::kOther);
    });
  }

  void run(bool with_update) {
    if (lookup() == POWERCUT_OK && with_update && target.update != nullptr) {
      put_step('u', target.update(table, bytes_of(key), bytes_of(one)));
      lookup();
    }
    if (target.erase != nullptr) {
      put_step('e', target.erase(table, bytes_of(key)));
      if (lookup() == POWERCUT_OK) return;  // an insert may not meet a present key
    }
    if (put_step('i', insert_into(target, table, bytes_of(key), bytes_of(two))) == POWERCUT_OK) lookup();
  }
};

}  // namespace

const char* name_of(QueryKind kind) {
  switch (kind) {
    case QueryKind::kRecovery:
      return "recovery";
    case QueryKind::kLookup:
      return "lookup";
    case QueryKind::kCopies:
      return "copies";
    case QueryKind::kProbe:
      return "probe";
    case QueryKind::kEraseProbe:
      return "erase-probe";
    case QueryKind::kInsertProbe:
      return "insert-probe";
    case QueryKind::kBystander:
      return "bystander";
    case QueryKind::kNewKey:
      return "new-key";
    case QueryKind::kWalk:
      return "walk";
    case QueryKind::kVerify:
      return "verify";
    case QueryKind::kBlocks:
      return "blocks";
    case QueryKind::kDump:
      return "dump";
  }
  return "?";
}

bool asks_key(QueryKind kind) {
  return kind == QueryKind::kLookup || kind == QueryKind::kCopies || kind == QueryKind::kProbe ||
         kind == QueryKind::kEraseProbe || kind == QueryKind::kBystander;
}

void run_query(const powercut_target& target, powercut_table* table, QueryId id, const std::vector<KeyHistory>& keys,
               std::string_view probe_one, std::string_view probe_two, ResultBuffer* out) {
  const uint64_t argument = argument_of(id);
  switch (kind_of(id)) {
    case QueryKind::kRecovery:
    case QueryKind::kInsertProbe:
    case QueryKind::kBystander:
    case QueryKind::kNewKey:
      return;
    case QueryKind::kLookup:
      return with_value_room(probe_one.size(), [&](std::span<char> room) {
        size_t size = 0;
        const powercut_status status =
            target.lookup(table, bytes_of(keys[argument].bytes), room.data(), room.size(), &size);
        put_status(out, status);
        if (status == POWERCUT_OK) out->put(room.data(), std::min(size, room.size()));
      });
    case QueryKind::kDump:
      for (uint64_t key = 0; key < argument; ++key) {
        with_value_room(probe_one.size(), [&](std::span<char> room) {
          size_t size = 0;
          const powercut_status status =
              target.lookup(table, bytes_of(keys[key].bytes), room.data(), room.size(), &size);
          put_status(out, status);
          put_sized(out, {reinterpret_cast<const uint8_t*>(room.data()),
                          status == POWERCUT_OK ? std::min(size, room.size()) : 0});
        });
      }
      return;
    case QueryKind::kCopies:
      put_status(out, target.copies(table, bytes_of(keys[argument].bytes), put_copy, out));
      return;
    case QueryKind::kProbe:
    case QueryKind::kEraseProbe:
      Prober{target, table, keys[argument].bytes, probe_one, probe_two, out}.run(kind_of(id) == QueryKind::kProbe);
      return;
    case QueryKind::kWalk:
      put_status(out, target.walk(table, argument, put_item, out));
      return;
    case QueryKind::kVerify: {
      char message[256] = "";
      const powercut_status status = target.verify(table, argument, message, sizeof message);
      out->put(message, strnlen(message, sizeof message));
      put_status(out, status);
      return;
    }
    case QueryKind::kBlocks: {
      struct Context {
        const powercut_target& target;
        powercut_table* table;
        ResultBuffer* out;
      } context{target, table, out};
      const powercut_status status = target.blocks(
          table,
          [](void* raw, uint64_t offset, uint64_t size) {
            auto* c = static_cast<Context*>(raw);
            if (c->target.owner(c->table, offset) != 0) return 0;
            c->out->put(&offset, 8);
            c->out->put(&size, 8);
            return 0;
          },
          &context);
      put_status(out, status);
      return;
    }
  }
}

Answer parse_answer(QueryKind kind, std::string_view result) {
  Answer answer;
  if (result.size() == 3 && result[0] == '!') {
    answer.failed = true;
    answer.kind = static_cast<Outcome::Kind>(result[1]);
    answer.signal = result[2];
    return answer;
  }
  if (result.empty() || kind == QueryKind::kProbe || kind == QueryKind::kEraseProbe ||
      kind == QueryKind::kInsertProbe || kind == QueryKind::kNewKey || kind == QueryKind::kBystander ||
      kind == QueryKind::kDump) {
    answer.rest = result;
    return answer;
  }
  const bool first = kind == QueryKind::kLookup || kind == QueryKind::kRecovery;
  answer.status = static_cast<powercut_status>(first ? result.front() : result.back());
  answer.rest = first ? result.substr(1) : result.substr(0, result.size() - 1);
  return answer;
}

std::vector<Item> parse_items(std::string_view rest) {
  std::vector<Item> out;
  const auto take = [&rest]() -> std::string_view {
    uint32_t size = 0;
    if (rest.size() < 4) return {};
    std::memcpy(&size, rest.data(), 4);
    const std::string_view bytes = rest.substr(4, size);
    rest.remove_prefix(std::min<size_t>(rest.size(), 4 + size_t{size}));
    return bytes;
  };
  while (!rest.empty()) {
    const std::string_view key = take();
    out.push_back({key, take()});
  }
  return out;
}

std::vector<Answer> parse_dump(std::string_view rest) {
  std::vector<Answer> out;
  while (rest.size() >= 5) {
    uint32_t size = 0;
    std::memcpy(&size, rest.data() + 1, 4);
    Answer& answer = out.emplace_back();
    answer.status = static_cast<powercut_status>(rest.front());
    answer.rest = rest.substr(5, size);
    rest.remove_prefix(std::min<size_t>(rest.size(), 5 + size_t{size}));
  }
  return out;
}

size_t count_items(std::string_view rest) {
  size_t fields = 0;
  for (; rest.size() >= 4; ++fields) {
    uint32_t size = 0;
    std::memcpy(&size, rest.data(), 4);
    rest.remove_prefix(std::min<size_t>(rest.size(), 4 + size_t{size}));
  }
  return fields / 2;
}

ProbeResult parse_probe(std::string_view result, bool with_text) {
  ProbeResult out;
  enum class State { kUnknown, kPresent, kAbsent } state = State::kUnknown;
  Seen value = Seen::kNothing;
  LastStep last = LastStep::kNothing;
  const auto add = [&](const char* step, powercut_status status, const char* outcome, bool good) {
    if (with_text) {
      if (!good && out.good) out.wrong = wrong_step(*step, status, state == State::kPresent, last);
      if (!out.text.empty()) out.text += ", ";
      out.text.append(step).append(" ").append(outcome).append(good ? "" : " (wrong)");
    }
    out.good = out.good && good;
  };
  for (size_t i = 0; i + 2 < result.size(); i += 3) {
    const auto status = static_cast<powercut_status>(result[i + 1]);
    const auto seen = static_cast<Seen>(result[i + 2]);
    const char* name = status_name(status);
    switch (result[i]) {
      case 'l': {
        bool good = status == POWERCUT_OK || status == POWERCUT_NOT_FOUND;
        if (state == State::kPresent) good = status == POWERCUT_OK && seen == value;
        if (state == State::kAbsent) good = status == POWERCUT_NOT_FOUND;
        if (state == State::kUnknown) {
          state = status == POWERCUT_OK ? State::kPresent : State::kAbsent;
          value = seen;
        }
        const bool the_value = seen == value && state == State::kPresent;
        add("lookup", status, status != POWERCUT_OK ? name : the_value ? "the value" : "a value", good);
        break;
      }
      case 'u':
        // FULL is legal: an out-of-place update may find no room, and then changes nothing.
        add("update", status, name, status == POWERCUT_OK || status == POWERCUT_FULL || status == POWERCUT_UNSUPPORTED);
        if (status == POWERCUT_OK) value = Seen::kFirst, last = LastStep::kUpdated;
        if (status != POWERCUT_OK) value = Seen::kOther;
        break;
      case 'e':
        if (status == POWERCUT_UNSUPPORTED) break;
        add("erase", status, name, status == (state == State::kPresent ? POWERCUT_OK : POWERCUT_NOT_FOUND));
        if (state == State::kPresent) last = LastStep::kErased;
        state = State::kAbsent;
        break;
      case 'i':
        if (status == POWERCUT_UNSUPPORTED) break;
        add("insert", status, name, status == POWERCUT_OK || status == POWERCUT_FULL);
        if (status == POWERCUT_OK) state = State::kPresent, value = Seen::kSecond, last = LastStep::kInserted;
        break;
      default:
        break;
    }
  }
  return out;
}

}  // namespace powercut
