#include "checker/oracle/invariants.h"

#include <string.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "checker/oracle/new_keys.h"
#include "tracer/format/trace_names.h"

namespace powercut {
namespace {

constexpr int32_t kNoState = kAbsent - 1;

std::string describe_sum(int64_t sum) { return absl::StrCat("sum ", sum); }

std::string describe_state(const KeyHistory& key, int32_t state) {
  if (!key.sums.empty()) return describe_sum(key.sum(state));
  return state == kAbsent ? "absent" : "value " + describe_value(key.written[state]);
}

std::string failure_text(const Answer& answer) { return ending_text(answer.kind, answer.signal); }

Violation failed_query(const std::string& what, const Answer& answer) {
  const bool wild = answer.kind == Outcome::Kind::kWildStore;
  return {wild ? "wild-store" : "unusable",
          absl::StrCat(what, " after recovery ", failure_text(answer), "."),
          {"an answer"},
          failure_text(answer)};
}

// The key's state that these bytes stand for; nothing when nobody wrote them to the key.
std::optional<int32_t> state_of(const KeyHistory& key, std::string_view value) {
  for (size_t i = key.written.size(); i-- > 0;) {
    if (key.written[i] == value) return static_cast<int32_t>(i);
  }
  return std::nullopt;
}

bool only_absent(const KeyHistory& key) {
  const std::vector<int32_t> legal = key.all_legal();
  return std::all_of(legal.begin(), legal.end(), [](int32_t state) { return state == kAbsent; });
}

// The answer of a lookup binds, unless the target says that it need not.
bool is_legal(const KeyHistory& key, const powercut_traits& traits, int32_t state) {
  return key.legal(state) || (traits.read_uncommitted != 0 && key.only_read(state));
}

// A value found under a key, wherever; nothing when it is legal.
std::optional<Violation> judge_value(const KeyHistory& key, const powercut_traits& traits, std::string_view value) {
  const auto state = state_of(key, value);
  if (state && is_legal(key, traits, *state)) return std::nullopt;
  Violation v{"", "", legal_states(key), "value " + describe_value(value)};
  if (state && key.only_read(*state)) {
    v.invariant = "unpersisted-read";
    v.message = absl::StrCat("A lookup of key ", name_of(key), " returned what the power cut took away.");
    return v;
  }
  if (only_absent(key)) {
    v.invariant = "phantom-item";
    v.message = key.written.empty() ? absl::StrCat("Key ", name_of(key), " is there, but was never inserted.")
                                    : absl::StrCat("Key ", name_of(key), " is there, but must be absent.");
  } else if (state) {
    v.invariant = "stale-value";
    v.message = absl::StrCat("Key ", name_of(key), " has an older value than the acknowledged one.");
  } else {
    v.invariant = "torn-value";
    v.message = absl::StrCat("Key ", name_of(key), " has a value that nobody wrote to it.");
  }
  return v;
}

// A counter's sum that is not legal counts too little or too much: against the legal one that is nearest.
std::optional<Violation> judge_sum(const KeyHistory& key, const powercut_traits& traits, int64_t sum) {
  const auto known = key.sums.find(sum);
  const int32_t state = sum == 0 ? kAbsent : known == key.sums.end() ? kNoState : known->second;
  if (is_legal(key, traits, state)) return std::nullopt;
  Violation v{"", "", legal_states(key), describe_sum(sum)};
  if (key.only_read(state)) {
    v.invariant = "unpersisted-read";
    v.message = absl::StrCat("A lookup of key ", name_of(key), " returned what the power cut took away.");
    return v;
  }
  if (key.sums.empty()) {
    v.invariant = "phantom-item";
    v.message = absl::StrCat("Key ", name_of(key), " is there, but was never incremented.");
    return v;
  }
  const auto distance = [sum](int64_t legal) {
    return sum < legal ? static_cast<uint64_t>(legal) - static_cast<uint64_t>(sum)
                       : static_cast<uint64_t>(sum) - static_cast<uint64_t>(legal);
  };
  int64_t nearest = 0;
  bool first = true;
  for (const int32_t state : key.all_legal()) {
    const int64_t legal = key.sum(state);
    if (first || distance(legal) < distance(nearest)) nearest = legal;
    first = false;
  }
  const bool too_much = nearest == 0 || (nearest > 0 ? sum > nearest : sum < nearest);
  v.invariant = too_much ? "double-count" : "lost-increment";
  v.message = too_much ? absl::StrCat("Key ", name_of(key), " counts more than was added to it.")
                       : absl::StrCat("Key ", name_of(key), " has lost what was acknowledged.");
  return v;
}

std::optional<Violation> judge_counter(const KeyHistory& key, const powercut_traits& traits, const Answer& answer) {
  if (answer.status == POWERCUT_NOT_FOUND) return judge_sum(key, traits, 0);
  const std::optional<int64_t> sum = sum_of(answer.rest);
  if (answer.status == POWERCUT_OK && sum && *sum != 0) return judge_sum(key, traits, *sum);
  if (answer.status == POWERCUT_OK) {
    return Violation{"torn-value",
                     absl::StrCat("lookup(", name_of(key), ") answers OK with ",
                                  sum ? "a sum of 0, which is NOT_FOUND." : "a value that is no sum."),
                     legal_states(key), "value " + describe_value(answer.rest)};
  }
  return Violation{"unusable", absl::StrCat("lookup(", name_of(key), ") answers ", status_name(answer.status), "."),
                   legal_states(key), status_name(answer.status)};
}

std::optional<Violation> judge_lookup(const KeyHistory& key, const powercut_traits& traits, const Answer& answer) {
  if (traits.counts != 0) return judge_counter(key, traits, answer);
  if (answer.status == POWERCUT_OK) return judge_value(key, traits, answer.rest);
  if (answer.status == POWERCUT_NOT_FOUND) {
    if (is_legal(key, traits, kAbsent)) return std::nullopt;
    if (key.only_read(kAbsent)) {
      return Violation{"unpersisted-read",
                       absl::StrCat("A lookup of key ", name_of(key), " returned what the power cut took away."),
                       legal_states(key), "absent"};
    }
    return Violation{"lost-item", absl::StrCat("Key ", name_of(key), " was acknowledged and is gone."),
                     legal_states(key), "absent"};
  }
  return Violation{"unusable", absl::StrCat("lookup(", name_of(key), ") answers ", status_name(answer.status), "."),
                   legal_states(key), status_name(answer.status)};
}

// A key that a lookup has found as it may be, and that is another one when others were inserted. Also where both states
// are legal, since what a lookup has returned has happened.
std::optional<Violation> judge_bystander(const KeyHistory& key, const powercut_traits& traits,
                                         std::string_view result) {
  const auto noticed = parse_bystander(result);
  if (!noticed) return std::nullopt;
  const Answer before = parse_answer(QueryKind::kLookup, noticed->before);
  const Answer after = parse_answer(QueryKind::kLookup, noticed->after);
  if (judge_lookup(key, traits, before)) return std::nullopt;  // the lookup tells of it
  const auto shown = [](const Answer& answer) {
    return answer.status == POWERCUT_OK          ? "value " + describe_value(answer.rest)
           : answer.status == POWERCUT_NOT_FOUND ? std::string("absent")
                                                 : std::string(status_name(answer.status));
  };
  const char* invariant = "torn-value";
  const char* what = "has another value";
  if (after.status == POWERCUT_NOT_FOUND) {
    invariant = "lost-item", what = "is gone";
  } else if (after.status != POWERCUT_OK) {
    invariant = "unusable", what = "cannot be looked up";
  } else if (before.status == POWERCUT_NOT_FOUND) {
    invariant = "phantom-item", what = "is there";
  } else if (state_of(key, after.rest)) {
    invariant = "stale-value";
  }
  return Violation{invariant,
                   absl::StrCat("Key ", name_of(key), " ", what, " as soon as new keys are inserted after recovery."),
                   {shown(before)},
                   shown(after)};
}

std::optional<Violation> judge_copies(const KeyHistory& key, const powercut_traits& traits, const Answer& answer) {
  const std::vector<Item> copies = parse_items(answer.rest);
  if (copies.size() > traits.copy_bound) {
    return Violation{"duplicate-bound",
                     absl::StrCat("Key ", name_of(key), " has ", copies.size(), " valid copies."),
                     {absl::StrCat("at most ", traits.copy_bound)},
                     absl::StrCat(copies.size(), " copies")};
  }
  for (const Item& copy : copies) {
    if (!state_of(key, copy.value)) return judge_value(key, traits, copy.value);
    if (traits.copies_may_differ == 0 && copy.value != copies[0].value) {
      return Violation{"duplicate-bound",
                       absl::StrCat("The valid copies of key ", name_of(key), " differ."),
                       {"equal copies"},
                       absl::StrCat(describe_value(copies[0].value), " and ", describe_value(copy.value))};
    }
  }
  return std::nullopt;
}

// Each key may be as it is, but not all of them at once: no beginning of the operations leaves these contents.
std::optional<Violation> judge_dump(const History& history, const powercut_traits& traits, const Answer& answer) {
  if (!history.legal_tables()) return std::nullopt;
  const std::vector<Answer> lookups = parse_dump(answer.rest);
  Prefixes::Table table;
  std::string text;
  for (uint32_t number = 0; number < lookups.size(); ++number) {
    const KeyHistory& key = history.keys()[number];
    if (judge_lookup(key, traits, lookups[number])) return std::nullopt;  // the lookup tells of it
    const int32_t state =
        lookups[number].status == POWERCUT_OK ? state_of(key, lookups[number].rest).value_or(kAbsent) : kAbsent;
    table.push_back(state);
    absl::StrAppend(&text, text.empty() ? "" : ", ", "key ", name_of(key), ": ", describe_state(key, state));
  }
  const auto holds = [&table](const Prefixes::Table& legal) {
    for (uint32_t number = 0; number < table.size(); ++number) {
      if (Prefixes::state_in(legal, number) != table[number]) return false;
    }
    return true;
  };
  if (std::any_of(history.legal_tables()->begin(), history.legal_tables()->end(), holds)) return std::nullopt;
  return Violation{
      "not-a-prefix",
      "Each key may be as it is, but not together: what came earlier is lost, and what came later is there.",
      {"what a beginning of the operations leaves"},
      text};
}

std::optional<Violation> judge_walk(const History& history, const powercut_traits& traits, const Answer& answer) {
  for (const Item& item : parse_items(answer.rest)) {
    const auto index = history.find(item.key);
    if (!index) {
      return Violation{"phantom-item",
                       "The table holds a key that was never inserted.",
                       {"keys of the history"},
                       "key " + describe_value(item.key)};
    }
    if (traits.counts != 0) continue;  // a part of the sum
    // A lost update of this key is judged by lookup; a walk shows items that no lookup reaches.
    if (auto violation = judge_value(history.keys()[*index], traits, item.value)) {
      violation->key = index;
      return violation;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string ending_text(Outcome::Kind kind, int signal) {
  switch (kind) {
    case Outcome::Kind::kSignal: {
      const char* name = sigabbrev_np(signal);
      return absl::StrCat("died of SIG", name == nullptr ? "?" : name);
    }
    case Outcome::Kind::kAbort:
      return "aborted";
    case Outcome::Kind::kException:
      return "threw an exception";
    case Outcome::Kind::kSteps:
      return "never ends: it repeats itself";
    case Outcome::Kind::kWildStore:
      return "tried to store outside pool, heap, stack and globals";
    case Outcome::Kind::kUnknown:
      return "could not be followed to its end";
    case Outcome::Kind::kReturned:
      break;
  }
  return "returned";
}

std::vector<std::string> legal_states(const KeyHistory& key) {
  constexpr size_t kShown = 16;  // a counter may have many
  std::vector<std::string> out;
  for (const int32_t state : key.all_legal()) {
    if (out.size() == kShown) {
      out.push_back(absl::StrCat("or one of ", key.all_legal().size() - kShown, " more"));
      break;
    }
    out.push_back(describe_state(key, state));
  }
  return out;
}

std::string describe_query(const History& history, QueryId query) {
  const uint64_t argument = argument_of(query);
  switch (kind_of(query)) {
    case QueryKind::kRecovery:
      return "recovery";
    case QueryKind::kBlocks:
    case QueryKind::kInsertProbe:
    case QueryKind::kNewKey:
    case QueryKind::kDump:
      return name_of(kind_of(query));
    case QueryKind::kWalk:
    case QueryKind::kVerify:
      return absl::StrCat(name_of(kind_of(query)), "(region ", argument, ")");
    case QueryKind::kLookup:
    case QueryKind::kCopies:
    case QueryKind::kProbe:
    case QueryKind::kEraseProbe:
    case QueryKind::kBystander:
      break;
  }
  return absl::StrCat(name_of(kind_of(query)), "(", name_of(history.keys()[argument]), ")");
}

// ABI.md, "Calls": a call that answers CORRUPT after a crash says itself that data was damaged. The reports of copies,
// walk and blocks are judged only where the call ended well; `verify` has a message of its own.
std::optional<Violation> refused_inspection(const History& history, QueryId query, const Answer& answer) {
  const QueryKind kind = kind_of(query);
  const bool reports = kind == QueryKind::kCopies || kind == QueryKind::kWalk || kind == QueryKind::kBlocks;
  if (!reports || answer.status == POWERCUT_OK || answer.status == POWERCUT_UNSUPPORTED) return std::nullopt;
  return Violation{"unusable",
                   absl::StrCat(describe_query(history, query), " answers ", status_name(answer.status), "."),
                   {"OK"},
                   status_name(answer.status)};
}

std::optional<Violation> judge_recovery(const History& history, const Answer& answer, const std::string& detail) {
  // Neither good nor bad: the executor has noted why the verdict is `unknown`.
  if (answer.unknown()) return std::nullopt;
  if (answer.failed) {
    const char* invariant = answer.kind == Outcome::Kind::kSteps       ? "recovery-hang"
                            : answer.kind == Outcome::Kind::kWildStore ? "wild-store"
                                                                       : "recovery-failed";
    return Violation{invariant,
                     absl::StrCat("Recovery ", failure_text(answer), detail.empty() ? "" : ": ", detail, "."),
                     {"recovery ends"},
                     failure_text(answer)};
  }
  if (answer.status == POWERCUT_OK) return std::nullopt;
  if (answer.status == POWERCUT_NOT_FORMATTED && !history.formatted()) return std::nullopt;
  return Violation{"recovery-failed",
                   absl::StrCat("open answers ", status_name(answer.status), "."),
                   {"OK"},
                   status_name(answer.status)};
}

std::optional<Violation> judge_query(const History& history, const powercut_traits& traits, QueryId query,
                                     std::string_view result) {
  const QueryKind kind = kind_of(query);
  const Answer answer = parse_answer(kind, result);
  if (answer.unknown()) return std::nullopt;
  if (answer.failed) return failed_query(describe_query(history, query), answer);
  if (auto refused = refused_inspection(history, query, answer)) return refused;
  switch (kind) {
    case QueryKind::kRecovery:
      return std::nullopt;
    case QueryKind::kLookup:
      return judge_lookup(history.keys()[argument_of(query)], traits, answer);
    case QueryKind::kCopies:
      return judge_copies(history.keys()[argument_of(query)], traits, answer);
    case QueryKind::kWalk:
      return judge_walk(history, traits, answer);
    case QueryKind::kDump:
      return judge_dump(history, traits, answer);
    case QueryKind::kVerify:
      if (answer.status == POWERCUT_OK || answer.status == POWERCUT_UNSUPPORTED) return std::nullopt;
      return Violation{"structure",
                       absl::StrCat("The scheme's own check of region ", argument_of(query), " fails: ",
                                    answer.rest.empty() ? std::string("no message") : std::string(answer.rest), "."),
                       {"OK"},
                       std::string(answer.rest)};
    case QueryKind::kBlocks: {
      const size_t count = answer.rest.size() / 16;
      if (count <= traits.leak_bound) return std::nullopt;
      uint64_t offset = 0;
      std::memcpy(&offset, answer.rest.data(), 8);
      return Violation{"leak",
                       absl::StrCat(count, " allocated block", count == 1 ? " is" : "s are",
                                    " reached by nothing; the first lies at offset ", offset, "."),
                       {absl::StrCat("at most ", traits.leak_bound)},
                       absl::StrCat(count, " blocks")};
    }
    case QueryKind::kBystander:
      return judge_bystander(history.keys()[argument_of(query)], traits, result);
    case QueryKind::kInsertProbe:
    case QueryKind::kNewKey: {
      if (parse_insert_probe(result, /*with_text=*/false).good) return std::nullopt;
      const ProbeResult probe = parse_insert_probe(result);
      return Violation{"unusable", absl::StrCat(probe.wrong, "."), {"each step as asked"}, probe.text};
    }
    case QueryKind::kProbe:
    case QueryKind::kEraseProbe: {
      if (parse_probe(result, /*with_text=*/false).good) return std::nullopt;
      const ProbeResult probe = parse_probe(result);
      return Violation{"unusable",
                       absl::StrCat("Key ", name_of(history.keys()[argument_of(query)]), probe.wrong, "."),
                       {"each step as asked"},
                       probe.text};
    }
  }
  return std::nullopt;
}

}  // namespace powercut
