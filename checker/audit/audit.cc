#include "checker/audit/audit.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "absl/strings/str_cat.h"
#include "checker/audit/audit_draw.h"
#include "checker/exploration/survey.h"
#include "checker/oracle/invariants.h"
#include "checker/oracle/new_keys.h"
#include "tracer/record/random.h"

namespace powercut {
namespace {

// Distinct images between two calls of progressed().
constexpr uint64_t kProgressStep = 256;

std::string hex_of(std::string_view bytes) {
  return hex({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

class Audit {
 public:
  Audit(const AuditOptions& options, const LoadedTrace& loaded, ImageRunner* runner, Predictor* predictor,
        std::unique_ptr<TraceReader> reader, std::vector<Draw> draws, const AuditListener& listener)
      : runner_(runner),
        predictor_(predictor),
        listener_(listener),
        draws_(std::move(draws)),
        limit_(options.queries),
        random_(options.seed),
        follower_(loaded, options.model, *atom_policy(options.atoms), std::move(reader), predictor->pool()) {
    report_.instrumented = runner->instrumented();
    for (const Draw& draw : draws_) report_.images += draw.times;
  }

  Result<AuditReport> run() {
    while (!error_ && follower_.next()) visit(follower_.instant());
    if (error_) return *error_;
    if (const auto error = follower_.error()) return usage_error(*error);
    report_.crash_points = follower_.crash_points();
    return report_;
  }

 private:
  void visit(const Instant& instant) {
    if (follower_.trouble()) return;  // of a schedule that went wrong by itself nobody looks at images
    const std::vector<Frontier::Change>& changes = follower_.follow();
    const Frontier& frontier = follower_.frontier();
    for (const Frontier::Change& change : changes) changed_.insert(change.line);
    predictor_->pass(instant, frontier, changes, follower_.history());
    report_.left_out = report_.left_out || frontier.truncated();
    const BigInt first = report_.crash_states;
    report_.crash_states += frontier.states();
    if (next_ < draws_.size() && draws_[next_].state < report_.crash_states) sample(instant, frontier.sets(), first);
  }

  // All images that were drawn from this crash point, whose first crash state has the number `first`.
  void sample(const Instant& instant, const LineSets& sets, const BigInt& first) {
    const History& history = follower_.history();
    const std::vector<uint64_t> changed(changed_.begin(), changed_.end());
    changed_.clear();
    LineContents definite;
    for (uint64_t line : changed) {
      LineContent& one = definite.emplace_back();
      one.line = line;
      std::memcpy(one.content.bytes.data(), predictor_->pool() + line * kLineSize, kLineSize);
    }
    runner_->set_lines(definite);
    runner_->add_keys(history.keys(), keys_sent_);
    keys_sent_ = history.keys().size();
    predictor_->at({instant, sets, history});

    for (; !error_ && next_ < draws_.size() && draws_[next_].state < report_.crash_states; ++next_) {
      try_image(instant, sets, contents_of(draws_[next_].state - first, sets));
      drawn_ += draws_[next_].times;
      if (++report_.distinct % kProgressStep == 0 && listener_.progressed) {
        listener_.progressed(drawn_, report_.distinct, report_.differences);
      }
    }
  }

  void try_image(const Instant& instant, const LineSets& sets, const std::vector<uint32_t>& contents) {
    predictor_->image(contents);
    ask(instant, sets, contents);
    predictor_->done();
  }

  void ask(const Instant& instant, const LineSets& sets, const std::vector<uint32_t>& contents) {
    if (predictor_->stops(kRecoveryQuery)) {
      ++report_.not_compared;
      return;
    }
    std::vector<QueryId> queries = sample_queries(predictor_->asked());
    const size_t chosen = queries.size();
    std::erase_if(queries, [this](QueryId query) { return predictor_->stops(query); });
    report_.not_compared += chosen - queries.size();
    LineContents image;
    for (size_t i = 0; i < sets.size(); ++i) image.push_back({sets[i]->line, sets[i]->contents[contents[i]]});
    const Result<ImageAnswers> ran = runner_->run(image, queries);
    if (!ran) {
      error_ = ran.error();
      return;
    }
    compare(instant, image, *ran);
  }

  // All of them, or as many as an image is asked, drawn without replacement (selection sampling: Knuth, The Art of
  // Computer Programming, volume 2, 3.4.2, algorithm S).
  std::vector<QueryId> sample_queries(const std::vector<QueryId>& all) {
    if (limit_ == 0 || all.size() <= limit_) return all;
    std::vector<QueryId> out;
    for (size_t i = 0; out.size() < limit_; ++i) {
      if (random_.below(all.size() - i) < limit_ - out.size()) out.push_back(all[i]);
    }
    return out;
  }

  void compare(const Instant& instant, const LineContents& image, const ImageAnswers& ran) {
    report_.answers += ran.answers.size();
    for (const auto& [query, result] : ran.answers) {
      if (predictor_->allows(query, result)) continue;
      differ(instant, image, query, predictor_->predicted(query), text_of_result(query, result));
    }
    if (!ran.died.empty()) {
      differ(instant, image, ran.during, predictor_->predicted(ran.during), "the process " + ran.died);
      return;
    }
    if (ran.can_be_asked == predictor_->asked().size()) return;
    differ(instant, image, kRecoveryQuery, {}, absl::StrCat("a table that can be asked ", ran.can_be_asked, " queries"),
           absl::StrCat("a table that can be asked ", predictor_->asked().size(), " queries"));
  }

  void differ(const Instant& instant, const LineContents& image, QueryId query,
              const std::vector<std::string>& predicted, std::string actual, std::string predicted_text = "") {
    if (++report_.differences > kAuditCases || !listener_.found) return;
    AuditCase one{instant, image, query, describe_query(follower_.history(), query), {}, std::move(actual)};
    for (const std::string& result : predicted) one.predicted.push_back(text_of_result(query, result));
    if (!predicted_text.empty()) one.predicted.push_back(std::move(predicted_text));
    listener_.found(one);
  }

  ImageRunner* runner_;
  Predictor* predictor_;
  const AuditListener& listener_;
  const std::vector<Draw> draws_;
  const uint64_t limit_;
  Random random_;  // which queries
  TraceFollower follower_;

  size_t next_ = 0;             // index into draws_
  uint64_t drawn_ = 0;          // images of the draws before it
  size_t keys_sent_ = 0;        // of the history
  std::set<uint64_t> changed_;  // lines, since the last crash point with images
  AuditReport report_;
  std::optional<EngineError> error_;
};

}  // namespace

std::string plain_library(const std::string& library) {
  const std::filesystem::path path(library);
  const std::filesystem::path twin = path.parent_path() / "plain" / path.filename();
  std::error_code ignored;
  return std::filesystem::is_regular_file(twin, ignored) ? twin.string() : "";
}

std::string text_of_result(QueryId query, std::string_view result) {
  const QueryKind kind = kind_of(query);
  const Answer answer = parse_answer(kind, result);
  if (answer.failed) {
    switch (answer.kind) {
      case Outcome::Kind::kSignal:
        return absl::StrCat("signal ", answer.signal);
      case Outcome::Kind::kAbort:
        return "abort";
      case Outcome::Kind::kException:
        return "exception";
      case Outcome::Kind::kSteps:
        return "no end";
      case Outcome::Kind::kWildStore:
        return "wild store";
      case Outcome::Kind::kUnknown:
        return "not followed";
      case Outcome::Kind::kReturned:
        break;
    }
  }
  if (kind == QueryKind::kProbe || kind == QueryKind::kEraseProbe) return parse_probe(result).text;
  if (kind == QueryKind::kInsertProbe || kind == QueryKind::kNewKey) return parse_insert_probe(result).text;
  if (kind == QueryKind::kBystander) {
    const auto noticed = parse_bystander(result);
    if (!noticed) return "undisturbed";
    return absl::StrCat(text_of_result(query_id(QueryKind::kLookup, 0), noticed->before), ", then ",
                        text_of_result(query_id(QueryKind::kLookup, 0), noticed->after));
  }
  const std::string status = status_name(answer.status);
  return answer.rest.empty() ? status : absl::StrCat(status, " ", hex_of(answer.rest));
}

Result<AuditReport> audit(const AuditOptions& asked, const PredictorFactory& make_predictor,
                          const AuditListener& listener) {
  AuditOptions options = asked;
  // The plan alone, first: the template process must not have the instrumented library.
  auto header = open_trace(options.trace);
  if (!header) return header.error();
  const Result<Plan> plan = plan_of_trace((*header)->metadata(), options.trace);
  if (!plan) return plan.error();
  pass_over(header->get());
  if ((*header)->error()) return usage_error(*(*header)->error());
  const std::string twin = plain_library(plan->target.library);
  auto runner = ImageRunner::start(*plan, !options.plain.empty() ? options.plain
                                          : !twin.empty()        ? twin
                                                                 : plan->target.library);
  if (!runner) return runner.error();

  auto opened = load_trace(options.trace);
  if (!opened) return opened.error();
  const LoadedTrace& loaded = **opened;
  options.model = loaded.model_for(asked.model);
  if (auto wrong = check_search(loaded, options.model, options.atoms)) return *wrong;
  ExploreOptions counting;
  counting.trace = options.trace;
  counting.model = options.model;
  counting.atoms = options.atoms;
  const Result<Survey> surveyed = survey(loaded, counting);
  if (!surveyed) return surveyed.error();
  if (surveyed->crash_states == 0) {
    return usage_error("the trace has no crash point", options.trace, "Explore at least one phase of the scenario.");
  }
  auto reader = open_trace(options.trace);
  if (!reader) return reader.error();
  const std::unique_ptr<Predictor> predictor = make_predictor(loaded);
  return Audit(options, loaded, runner->get(), predictor.get(), std::move(*reader),
               draw_states(surveyed->crash_states, options.images, options.seed), listener)
      .run();
}

}  // namespace powercut
