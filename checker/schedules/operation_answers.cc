#include "checker/schedules/operation_answers.h"

#include <algorithm>
#include <set>

#include "tracer/record/key_bytes.h"
#include "xxhash.h"

namespace powercut {

struct OperationAnswers::Key {
  Linearizations all, unread;
};

struct OperationAnswers::Keys {
  std::vector<std::pair<uint64_t, Key>> keys;  // by id
  struct Running {
    std::optional<uint32_t> all, unread, prefixes;
  };
  // For a buffered target: the contents of all keys that a power cut may leave, and a digest of them.
  std::optional<Prefixes> prefixes;
  uint64_t prefixes_digest = 0, legal_digest = 0;
  std::vector<Running> running;  // by thread
  uint64_t digest = 0;
};

OperationAnswers::OperationAnswers(const ThreadWork& work, uint32_t threads) : work_(work) {
  auto keys = std::make_shared<Keys>();
  keys->running.resize(threads);
  if (work.history->prefixes()) {
    keys->prefixes = work.history->prefixes();
    keys->prefixes->renumber([this](uint32_t key, int32_t value) {
      return number_of(work_.history->keys()[key].written[static_cast<size_t>(value)]);
    });
    prefixes_changed(keys.get());
  }
  keys->digest = digest_of(*keys);
  keys_ = keys;
}

uint64_t OperationAnswers::digest() const { return keys_->digest; }

uint64_t OperationAnswers::legal() const {
  if (keys_->prefixes) return keys_->legal_digest;
  uint64_t legal = 0;
  for (const auto& [id, key] : keys_->keys) {
    std::vector<uint64_t> part{id};
    const auto add = [&part](const std::set<Linearizations::State>& states) {
      part.push_back(states.size());
      for (const Linearizations::State state : states) part.push_back(static_cast<uint64_t>(state));
    };
    add(key.all.states());
    add(key.unread.states());
    legal += XXH3_64bits(part.data(), part.size() * sizeof(uint64_t));
  }
  return legal;
}

int32_t OperationAnswers::number_of(std::string value) {
  return value_numbers_.try_emplace(std::move(value), static_cast<int32_t>(value_numbers_.size())).first->second;
}

OperationAnswers::Key* OperationAnswers::key_of(Keys* keys, const ThreadOperation& operation) {
  for (auto& [known, key] : keys->keys) {
    if (known == operation.id) return &key;
  }
  const bool counts = work_.history->counts();
  std::set<Linearizations::State> initial;
  const auto index = work_.history->find(text_of(key_bytes(operation.id, static_cast<uint32_t>(operation.key.size()))));
  if (!index) {
    initial.insert(counts ? 0 : kAbsent);
  } else {
    const KeyHistory& history = work_.history->keys()[*index];
    const std::vector<int32_t> legal = history.all_legal();
    const std::set<int32_t> held = work_.history->prefixes() ? work_.history->prefixes()->held(*index)
                                                             : std::set<int32_t>(legal.begin(), legal.end());
    for (const int32_t state : held) {
      initial.insert(counts             ? history.sum(state)
                     : state == kAbsent ? kAbsent
                                        : number_of(history.written[static_cast<size_t>(state)]));
    }
  }
  const Linearizations begun(initial, counts);
  keys->keys.push_back({operation.id, {begun, begun}});
  std::sort(keys->keys.begin(), keys->keys.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return key_of(keys, operation);
}

uint32_t OperationAnswers::number_of_key(const ThreadOperation& operation) {
  if (const auto index = work_.history->find(text_of(operation.key))) return *index;
  const auto next = static_cast<uint32_t>(work_.history->keys().size() + key_numbers_.size());
  return key_numbers_.try_emplace(operation.id, next).first->second;
}

void OperationAnswers::prefixes_changed(Keys* keys) {
  keys->prefixes_digest = keys->prefixes->digest();
  keys->legal_digest = 0;
  const auto tables = keys->prefixes->tables();
  if (!tables) doubt_ = "the operations since the last sync can be told in more ways than are followed";
  for (const Prefixes::Table& table : tables.value_or(std::set<Prefixes::Table>{})) {
    keys->legal_digest += XXH3_64bits(table.data(), table.size() * sizeof(int32_t));
  }
}

uint64_t OperationAnswers::digest_of(const Keys& keys) {
  uint64_t out = keys.prefixes_digest;
  const auto add = [&out](const auto&... parts) {
    const uint64_t words[] = {uint64_t{parts}...};
    out = XXH3_64bits_withSeed(words, sizeof words, out);
  };
  for (const auto& [id, key] : keys.keys) add(id, key.all.digest(), key.unread.digest());
  for (const Keys::Running& running : keys.running) {
    add(running.all.value_or(~0u), running.unread.value_or(~0u), running.prefixes.value_or(~0u));
  }
  return out;
}

void OperationAnswers::begin(uint32_t thread, const ThreadOperation& operation) {
  const bool is_sync = keys_->prefixes && is_sync_command(operation.kind, operation.text);
  if (operation.kind == OpKind::kMaintain && !is_sync) return;
  auto keys = std::make_shared<Keys>(*keys_);
  Keys::Running& running = keys->running[thread];
  const std::string written = text_of(operation.value);
  const Linearizations::State value = operation.kind == OpKind::kIncrement ? sum_of(written).value_or(0)
                                      : written.empty()                    ? kAbsent
                                                                           : number_of(written);
  if (keys->prefixes) {
    running.prefixes =
        is_sync ? keys->prefixes->begin_sync()
                : keys->prefixes->begin(operation.kind, number_of_key(operation), static_cast<int32_t>(value));
    prefixes_changed(keys.get());
  }
  if (!is_sync) {
    Key& key = *key_of(keys.get(), operation);
    running.all = key.all.begin(operation.kind, value);
    if (operation.kind != OpKind::kLookup) running.unread = key.unread.begin(operation.kind, value);
  }
  keys->digest = digest_of(*keys);
  keys_ = std::move(keys);
}

bool OperationAnswers::end(uint32_t thread, const ThreadOperation& operation, powercut_status status,
                           const std::optional<std::string>& found) {
  const Keys::Running ended = keys_->running[thread];
  if (!ended.all && !ended.prefixes) return true;
  bool explained = true;
  auto keys = std::make_shared<Keys>(*keys_);
  keys->running[thread] = {};
  Linearizations::Answer answer{status};
  // Neither a sum of 0 nor a value that is no sum is an answer that goes with OK.
  if (found) answer.found = work_.history->counts() ? sum_of(*found).value_or(0) : number_of(*found);
  if (ended.prefixes) {
    keys->prefixes->end(*ended.prefixes, answer);
    prefixes_changed(keys.get());
  }
  if (ended.all) {
    Key& key = *key_of(keys.get(), operation);
    key.all.end(*ended.all, answer);
    if (ended.unread) key.unread.end(*ended.unread, answer);
    explained = !key.all.states().empty();
  }
  keys->digest = digest_of(*keys);
  keys_ = std::move(keys);
  return explained;
}

}  // namespace powercut
