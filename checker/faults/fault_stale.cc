#include "checker/faults/fault_stale.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "checker/exploration/chunks/exploration.h"
#include "checker/oracle/new_keys.h"
#include "checker/oracle/queries.h"
#include "tracer/format/trace_names.h"
#include "tracer/record/key_bytes.h"

namespace powercut {
namespace {

constexpr size_t kRecoveries = 128;  // operations after which recovery and queries are compared, at most

std::string shown_answer(const Outcome& outcome, std::string_view bytes, powercut_status status) {
  if (!outcome.returned()) return ending_of(outcome);
  return bytes.empty() ? status_name(status) : absl::StrCat(status_name(status), " ", describe_value(bytes));
}

// `found`: the answer in the words of a violation, where it is one.
std::string shown_result(QueryKind kind, const Outcome& outcome, const std::string& found, std::string_view bytes) {
  if (!outcome.returned()) return ending_of(outcome);
  if (!found.empty()) return found;
  if (kind == QueryKind::kProbe || kind == QueryKind::kEraseProbe) return parse_probe(bytes).text;
  if (kind == QueryKind::kInsertProbe || kind == QueryKind::kNewKey) return parse_insert_probe(bytes).text;
  if (kind == QueryKind::kBystander) return "undisturbed";  // else it is a violation
  const Answer answer = parse_answer(kind, bytes);
  if (kind == QueryKind::kVerify) return absl::StrCat(status_name(answer.status), " ", std::string(answer.rest));
  return shown_answer(outcome, answer.rest, answer.status);
}

}  // namespace

StaleFaults::StaleFaults(const LoadedTrace& loaded, const FaultOptions& options, FaultReport* report,
                         Progress* progress)
    : loaded_(loaded),
      options_(options),
      report_(report),
      progress_(progress),
      executor_(executor_options(loaded, loaded.own_model(), AtomPolicy::kAny, options.step_budget)) {
  if (loaded.device.medium != POWERCUT_MEMORY) cells_.emplace(loaded.device, executor_.pool_size());
}

std::optional<EngineError> StaleFaults::run() {
  Result<std::vector<RecordedOperation>> operations = operations_of(loaded_);
  if (!operations) return operations.error();
  operations_ = std::move(*operations);
  FaultTally& tally = report_->tally;
  // Erase blocks hold nothing themselves.
  const uint64_t lines = executor_.pool_size() / kLineSize - (cells_ ? cells_->blocks() : 0);

  const Ran zeroes = attempt({}, std::nullopt, nullptr);
  Unwritten unwritten = zeroes.unwritten;
  tally.points_of = options_.noises;
  std::optional<std::pair<uint64_t, Entry>> unexplained;  // a difference that all noise together makes
  for (uint64_t noise = 0; noise < options_.noises; ++noise) {
    const Ran ran = attempt({}, noise, &zeroes.entries);
    ++tally.points;
    for (const auto& [line, first] : ran.unwritten) unwritten.try_emplace(line, first);
    const size_t last = ran.entries.size() - 1;
    if (!unexplained && !(ran.entries[last] == zeroes.entries[last])) unexplained = {noise, ran.entries[last]};
  }
  std::vector<uint64_t> suspects;
  for (const auto& [line, first] : unwritten) {
    if (!cells_ || !cells_->in(line, ~uint64_t{0}).empty()) suspects.push_back(line);
  }
  tally.cases_of = lines;
  tally.cases = tally.not_read = lines - suspects.size();
  tally.effects[static_cast<size_t>(FaultEffect::kHarmless)] += tally.not_read;
  uint64_t chosen = suspects.size();
  if (options_.budget > 0) chosen = std::min(chosen, options_.budget / std::max<uint64_t>(1, options_.noises));
  for (uint64_t i = 0; i < chosen; ++i) judge_line(suspects[i * suspects.size() / chosen], zeroes.entries);

  const uint64_t bad = tally.cases - tally.effects[static_cast<size_t>(FaultEffect::kHarmless)];
  if (unexplained && bad == 0 && chosen == suspects.size()) {
    const auto& [noise, entry] = *unexplained;
    const auto at = std::find_if(zeroes.entries.begin(), zeroes.entries.end(), [&](const Entry& zero) {
      return zero.index == entry.index && zero.query == entry.query;
    });
    const FaultAnswer answer = weigh("the whole pool", at == zeroes.entries.end() ? entry : *at, entry);
    ++tally.cases_of;
    report_->add_case(answer, false);
    if (loaded_.traits.needs_zeroed_pool == 0) {
      report_->add_finding({.violation = answer.violation,
                            .subject = "the whole pool",
                            .offset = std::nullopt,
                            .operation = entry.operation,
                            .operation_index = entry.index,
                            .query = entry.query,
                            .stack = unwritten.empty() ? std::vector<uint64_t>{} : unwritten.begin()->second.stack});
    }
  }
  return std::nullopt;
}

void StaleFaults::judge_line(uint64_t line, const std::vector<Entry>& zeroes) {
  std::optional<uint64_t> offset;
  std::string subject;
  if (cells_) {
    const std::vector<uint64_t> cells = cells_->in(line, ~uint64_t{0});
    subject = cells_->describe(cells.front(), cells.back());
  } else {
    offset = line * kLineSize;
    subject = absl::StrCat("the line at offset ", *offset);
  }
  FaultAnswer worst;
  for (uint64_t noise = 0; noise < options_.noises; ++noise) {
    const Ran ran = attempt({&line, 1}, noise, &zeroes);
    const Entry& last = ran.entries.back();
    const Entry& zero = zeroes[ran.entries.size() - 1];
    if (last == zero) continue;
    const FaultAnswer answer = weigh(subject, zero, last);
    if (answer.effect > worst.effect) worst = answer;
    if (loaded_.traits.needs_zeroed_pool != 0) continue;
    const auto first = ran.unwritten.find(line);
    report_->add_finding({.violation = answer.violation,
                          .subject = subject,
                          .offset = offset,
                          .operation = last.operation,
                          .operation_index = last.index,
                          .query = last.query,
                          .stack = first == ran.unwritten.end() ? std::vector<uint64_t>{} : first->second.stack});
  }
  report_->add_case(worst, false);
}

// An answer that differs is never harmless, even where it would be legal: what was there before must not matter.
FaultAnswer StaleFaults::weigh(const std::string& subject, const Entry& zero, const Entry& noise) const {
  FaultAnswer out = noise.weighed;
  if (out.effect == FaultEffect::kHarmless) out.effect = FaultEffect::kSilent;
  if (out.effect == FaultEffect::kDetected && out.how.empty()) out.how = noise.shown;
  const std::string what = noise.query.empty() ? noise.operation : noise.query;
  out.violation = {"stale-contents",
                   absl::StrCat(what, " answers differently when ", subject, " holds noise before format."),
                   {zero.shown},
                   noise.shown};
  return out;
}

StaleFaults::Ran StaleFaults::attempt(std::span<const uint64_t> lines, std::optional<uint64_t> noise,
                                      const std::vector<Entry>* zeroes) {
  const std::span<uint8_t> pool{executor_.pool(), executor_.pool_size()};
  const auto fill = [&](bool with_noise) {
    const auto put = [&](uint64_t line, uint64_t seed) {
      const std::span<uint8_t> bytes = pool.subspan(line * kLineSize, kLineSize);
      if (!with_noise) {
        std::memset(bytes.data(), 0, bytes.size());
      } else if (cells_) {
        cells_->fill_line(pool.data(), line, seed);
      } else {
        fill_noise(bytes, seed);
      }
    };
    // All ones, or noise that is the same for a line whether it is filled alone or with the others.
    const uint64_t seed = *noise == 0 ? 0 : options_.seed * 1000 + *noise;
    const auto line_seed = [&](uint64_t line) { return seed == 0 ? 0 : seed + (line << 32); };
    if (!lines.empty()) {
      for (uint64_t line : lines) put(line, line_seed(line));
      return;
    }
    for (uint64_t line = 0; line < pool.size() / kLineSize; ++line) put(line, line_seed(line));
  };
  if (noise) fill(true);
  const UndecidedMemory::Mark start = executor_.memory().mark();
  Ran ran;
  {
    UnwrittenLoads loads({kPoolBase, kPoolBase + pool.size()});
    FaultReplay replay(loaded_, &executor_);
    History history;
    Oracle oracle(loaded_.library->target(), *loaded_.config, loaded_.traits, {executor_.pool_address(), pool.size()},
                  &history, [](const Exposure&) {});
    oracle.set_background(loaded_.library->background());
    ++report_->tally.executions;
    const size_t every = (operations_.size() + kRecoveries - 1) / kRecoveries;
    const auto differs = [&] {
      return zeroes != nullptr &&
             (ran.entries.size() > zeroes->size() || !(ran.entries.back() == (*zeroes)[ran.entries.size() - 1]));
    };
    for (size_t i = 0; i < operations_.size(); ++i) {
      const RecordedOperation& operation = operations_[i];
      if (operation.kind != OpKind::kFormat && operation.kind != OpKind::kOpen && !replay.has_table()) break;
      Event event;
      event.kind = EventKind::kOpBegin;
      event.code = static_cast<uint8_t>(operation.kind);
      const auto bytes = [](const std::string& text) {
        return std::span{reinterpret_cast<const uint8_t*>(text.data()), text.size()};
      };
      event.key = bytes(operation.key);
      event.value = bytes(operation.value);
      event.text = operation.text;
      history.apply(event);
      progress_->start(describe_operation(history), loaded_.library->path());
      const FaultReplay::Done done = replay.run(operation);
      Entry& entry = ran.entries.emplace_back();
      entry.operation = describe_operation(history);
      entry.index = history.operation().index;
      entry.shown = shown_answer(done.outcome, done.value, done.status);
      entry.answer = absl::StrCat(entry.shown, "/", done.value, "/", done.cut);
      if (!done.outcome.returned()) {
        entry.weighed = weigh_query(history, loaded_.traits, kRecoveryQuery, done.outcome, "");
      } else if (done.status != POWERCUT_OK && done.status != POWERCUT_NOT_FOUND) {
        entry.weighed = {FaultEffect::kDetected, absl::StrCat(name_of(operation.kind), " answers ", entry.shown), {}};
      }
      event = {};
      event.kind = done.cut ? EventKind::kCut : EventKind::kOpEnd;
      event.code = static_cast<uint8_t>(done.status);
      event.value = bytes(done.value);
      history.apply(event);
      if (differs() || !done.outcome.returned()) break;
      if (i % every != 0 && i + 1 != operations_.size()) continue;
      const size_t before = ran.entries.size();
      recover(history, &oracle, &loads, &ran.entries);
      // Entry by entry: a difference is told as the first one.
      for (size_t n = before; zeroes != nullptr && n < ran.entries.size(); ++n) {
        if (n >= zeroes->size() || !(ran.entries[n] == (*zeroes)[n])) {
          ran.entries.resize(std::min(n, zeroes->size() - 1) + 1);
          break;
        }
      }
      if (differs()) break;
    }
    ran.unwritten = loads.lines();
  }
  executor_.memory().undo(start);
  if (noise) fill(false);
  return ran;
}

void StaleFaults::recover(const History& history, Oracle* oracle, UnwrittenLoads* loads, std::vector<Entry>* out) {
  const auto add = [&](QueryKind kind, const std::string& query, const Outcome& outcome, FaultAnswer weighed) {
    Entry& entry = out->emplace_back();
    entry.operation = describe_operation(history);
    entry.index = history.operation().index;
    entry.query = query;
    entry.weighed = std::move(weighed);
    const std::string_view bytes = buffer_.view();
    entry.answer = absl::StrCat(query, "/", hex({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}));
    entry.shown = shown_result(kind, outcome, entry.weighed.violation.found, bytes);
  };
  loads->begin_undone();
  const UndecidedMemory::Mark mark = executor_.memory().mark();
  Decisions decisions;
  buffer_.clear();
  const Outcome opened = executor_.run_recovery(&decisions, nullptr, [&] { oracle->recover(&buffer_); });
  if (!opened.returned()) put_failure(opened, &buffer_);
  add(QueryKind::kRecovery, "open", opened, weigh_recovery(opened, buffer_.view()));
  if (opened.returned() && oracle->usable()) {
    const UndecidedMemory::Mark leaf = executor_.memory().mark();
    for (QueryId query : all_queries(oracle)) {
      Decisions none;
      buffer_.clear();
      ++report_->tally.query_runs;
      const Outcome ended = executor_.run(&none, [&] { oracle->run(query, &buffer_); });
      if (!ended.returned()) oracle->ended(query, ended, &buffer_);
      FaultAnswer weighed = weigh_query(history, loaded_.traits, query, ended, buffer_.view());
      add(kind_of(query), describe_query(history, query), ended, std::move(weighed));
      executor_.memory().undo(leaf);
    }
  }
  executor_.memory().undo(mark);
  loads->end_undone();
}

}  // namespace powercut
