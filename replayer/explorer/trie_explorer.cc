// The explorer that executes only what no execution of the run has shown yet: recoveries through the trie
// (recovery_trie.h), queries through views (leaf_queries.h). The arguments: EXPLORER.md.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/container/btree_map.h"
#include "replayer/explorer/convergence.h"
#include "replayer/explorer/explorer.h"
#include "replayer/explorer/leaf_queries.h"
#include "replayer/explorer/life_walk.h"
#include "replayer/explorer/second_run.h"
#include "replayer/search/recovery_trie.h"
#include "tracer/world/virtual_world.h"
#include "xxhash.h"

namespace powercut {
namespace {

// Enters an execution of recovery into the trie, and stops the execution where another one has been.
class Execution final : public PathListener {
 public:
  struct Parts {
    RecoveryTrie* trie;
    Executor* executor;
    const ResultBuffer* answer;
    Convergence* convergence;  // null: recovery is followed to its end
    int depth;
  };
  Execution(const Parts& parts, const UndecidedMemory::Mark& start)
      : parts_(parts),
        recorder_(parts.trie),
        nested_(parts.executor->options().policy, *parts.executor->options().persistency),
        digests_(parts.executor, start, parts.answer) {}

  RecoveryTrie::Recorder& recorder() { return recorder_; }
  bool met() const { return met_; }

  void read(uint64_t word, uint8_t bytes, uint64_t value) override {
    recorder_.read(word, bytes, value);
    if (parts_.convergence != nullptr) done_->reads.emplace_back(word, bytes);
  }
  void store(uint64_t offset, std::span<const uint8_t> bytes, uint32_t flags, CodePlace place) override {
    recorder_.store(offset, bytes, flags, place);
    if (parts_.convergence == nullptr) return;
    ++done_->stores;
    nested_.store(StoreTraits::of((flags & POWERCUT_STORE_NT) != 0, flags), offset, bytes, {}, [] {});
  }
  void flush(uint64_t offset, FlushKind kind) override {
    recorder_.flush(offset, kind);
    ++done_->flushes;
    nested_.flush(offset, kind, [] {});
  }
  void fence() override {
    recorder_.fence();
    ++done_->fences;
    nested_.fence([] {});
  }
  bool behind_fence(LiveState live) override {
    if (parts_.convergence == nullptr || recorder_.is_known()) return true;
    const std::optional<Signature> machine = digests_.at(live);
    if (!machine) return true;
    recorder_.state(*machine);
    met_ = nested_.all_durable() && parts_.convergence->meets(*machine, parts_.depth, done_);
    return !met_;
  }

 private:
  const Parts parts_;
  RecoveryTrie::Recorder recorder_;
  NestedCuts nested_;
  MachineDigests digests_;
  std::shared_ptr<Convergence::Done> done_ = std::make_shared<Convergence::Done>();
  bool met_ = false;
};

class TrieExplorer final : public MemoExplorer {
 public:
  TrieExplorer(Executor* executor, Subject* subject, const Options& options)
      : executor_(executor),
        subject_(subject),
        options_(options),
        leaf_queries_(executor, subject, &counts_, &stopwatch_,
                      {.all_definite = options.visible_only,
                       .keep_answers = options.keep_answers,
                       .merge_after = options.merge_after},
                      [this] { return image(); }),
        life_queries_(executor, subject, &counts_, &stopwatch_, {.merge_after = options.merge_after},
                      [this] { return image(); }),
        lives_(executor, subject),
        convergence_(executor),
        converges_(options.merge_after != QuerySearch::kNever && !options.visible_only && !subject->wants_all() &&
                   !executor->options().list_sites) {
    cuts_.push({}, {});
  }

  BigInt crash_point(const Frontier& frontier, const std::vector<Frontier::Change>& changes, uint64_t) override {
    frontier_ = &frontier;
    stopwatch_.start();
    if (fresh_) {
      executor_->memory().clear_base();
      for (const LineSet* set : frontier.sets()) set_base(set->line);
      fresh_ = false;
    } else {
      if (options_.visible_only) follow_visible(changes);
      for (const Frontier::Change& change : changes) {
        if (options_.visible_only) break;
        steady_ = steady_ && !concerns_steady(change);
        set_base(change.line);
        leaf_queries_.trace_changed(change);
        if (options_.lives > 1) life_queries_.trace_changed(change);
        convergence_.trace_changed(frontier, change);
      }
    }
    if (trie_.bytes() > options_.trie_bytes) {
      trie_.clear();
      convergence_.clear();
      steady_ = false;
    }
    leaf_queries_.begin_crash_point(frontier);
    // Situations are forgotten if obligations or keys have changed: queries behind them were not asked of new keys, and
    // not under today's obligations. A recovery that was right to refuse the pool may be wrong by now.
    const uint32_t keys = std::exchange(keys_, subject_->groups().keys);
    const bool refused = std::exchange(refused_, false);
    if (options_.before_search) options_.before_search();
    life_begins_ = options_.lives > 1 ? subject_->life_begins() : nullptr;
    // A second life may be wrong where obligations have only widened, too, and its operations may be others.
    const uint64_t plan = life_begins_ == nullptr ? 0 : life_begins_->obligations ^ life_begins_->continuation;
    const bool other_life = std::exchange(life_plan_, plan) != plan;
    if (!converges_ || leaf_queries_.is_obliged() || keys != keys_ || refused || other_life) convergence_.clear();
    if (converges_ && !convergence_.begins(0, /*each_depth=*/false)) {
      // The medium is the same as at an earlier crash point, under the same obligations: nothing is to be done.
    } else if (steady_ && life_begins_ == nullptr) {
      // The steady leaf was found good when it was reached, and a legal result of recovery itself never becomes
      // illegal.
      const UndecidedMemory::Mark start = executor_->memory().mark();
      if (subject_->wants_all()) subject_->recovered(0, steady_leaf_->outcome, steady_leaf_->result);
      reach(*steady_leaf_);
      leaf_queries_.visit(0, steady_leaf_, /*untouched=*/true);
      executor_->memory().undo(start);
    } else {
      search(0);
    }
    stopwatch_.lap(Stopwatch::kUndo);
    return options_.visible_only ? BigInt(1) : frontier.states();
  }

  void forget() override {
    asking_ways_ = 0;
    life_plan_ = 0;
    trie_.clear();
    leaf_queries_.forget();
    life_queries_.forget();
    begun_.clear();
    convergence_.forget();
    steady_ = false;
    fresh_ = true;
  }

  std::shared_ptr<const RecoveredState> recall(const LineSets& image) override {
    executor_->memory().install(image);
    RecoveryTrie::Place place;
    RecoveryTrie::Step step;
    bool may_have_met = false;  // the way of this image may have been left at a known situation
    for (; (step = trie_.step(place)).kind != RecoveryTrie::Kind::kNothing;) {
      if (step.kind == RecoveryTrie::Kind::kLeaf) break;
      if (step.kind == RecoveryTrie::Kind::kStore) executor_->memory().replay_store(step.at, step.stored);
      may_have_met = may_have_met || step.kind == RecoveryTrie::Kind::kState;
      const bool read = step.kind == RecoveryTrie::Kind::kRead;
      place = trie_.after(place, read ? executor_->memory().peek(step.at, step.bytes) : 0);
    }
    executor_->memory().uninstall();
    if (step.leaf != nullptr) return *step.leaf;
    return may_have_met ? run_whole(image) : nullptr;
  }
  const std::vector<std::string>& answers(QueryId query) const override { return leaf_queries_.answers(query); }

 private:
  struct Choice {
    uint64_t word;
    uint8_t bytes;
    uint64_t value;
  };
  // One way through recovery: its choices and effects so far.
  struct Way {
    std::vector<Choice> choices;
    NestedCuts nested;
    std::vector<Cut> cuts;
    std::vector<LifeCut> life_cuts = {};
    std::shared_ptr<Convergence::Done> done = std::make_shared<Convergence::Done>();
    bool branched = false;
    std::shared_ptr<const RecoveredState> leaf = nullptr;
    bool met = false;  // the way was left: another one goes on from here
  };

  Way new_way() const { return {{}, NestedCuts(executor_->options().policy, *executor_->options().persistency), {}}; }

  // ---- the first cut -----------------------------------------------------------------------------
  void set_base(uint64_t line) {
    const LineSet* set = frontier_->find(line);
    if (!options_.visible_only) {
      executor_->memory().set_base(line, set);
      return;
    }
    shown_.erase(line);
    if (set == nullptr) return;  // the pool holds it
    const Content& visible = set->contents[set->visible];
    shown_.emplace(line, visible);
    std::memcpy(executor_->pool() + line * kLineSize, visible.bytes.data(), kLineSize);
  }

  // With visible_only a line always has one content, the visible one. All open lines are looked at. The frontier puts
  // floors into the pool, and reports no change of a set of which only the visible content has changed.
  void follow_visible(const std::vector<Frontier::Change>& changes) {
    absl::btree_map<uint64_t, Content> before;
    for (const Frontier::Change& change : changes) {
      before.emplace(change.line, change.grew ? frontier_->find(change.line)->contents[0] : change.before.contents[0]);
    }
    for (const auto& [line, content] : shown_) before.insert_or_assign(line, content);
    for (const auto& [line, content] : before) {
      set_base(line);
      const auto* now = reinterpret_cast<const Content*>(executor_->pool() + line * kLineSize);
      const auto read = steady_reads_.find(line);
      const uint64_t difference = differing_bytes(content, *now);
      if (difference == 0) continue;
      steady_ = steady_ && (read == steady_reads_.end() || (difference & read->second) == 0);
      Frontier::Change mine{.line = line, .grew = false, .old_count = 0, .before = {}};
      mine.before.contents = {content};
      leaf_queries_.trace_changed(mine);
    }
  }

  // A crash point at which recovery has one behaviour, which stores nothing and observes no undecided byte, is
  // *steady*: as long as the bytes that it reads stay as they are, the next crash point has the same one.
  bool concerns_steady(const Frontier::Change& change) const {
    const auto read = steady_reads_.find(change.line);
    if (read == steady_reads_.end()) return false;
    const LineSet* now = frontier_->find(change.line);
    const Content* was = change.grew ? now->contents.data() : change.before.contents.data();
    if (now == nullptr) {
      const auto* held = reinterpret_cast<const Content*>(executor_->pool() + change.line * kLineSize);
      return (differing_bytes(*was, *held) & read->second) != 0;
    }
    const size_t first = change.grew ? change.old_count : 0;
    return std::any_of(now->contents.begin() + static_cast<ptrdiff_t>(first), now->contents.end(),
                       [&](const Content& content) { return (differing_bytes(*was, content) & read->second) != 0; });
  }

  // ---- recovery ----------------------------------------------------------------------------------
  void search(int depth) {
    Decisions decisions;
    const UndecidedMemory::Mark start = executor_->memory().mark();
    const uint64_t before = options_.paranoid ? executor_->memory().digest() : 0;
    do {
      ++ways_;
      std::optional<Way> followed = follow(depth, start, &decisions);
      if (!followed) return;
      Way& way = *followed;
      if (way.met) {
        ++counts_.met;
        stopwatch_.lap(Stopwatch::kFollow);
        if (depth == 0) steady_ = false;
      } else {
        visit(depth, start, way);
      }
      executor_->memory().undo(start);
      if (options_.paranoid) check_reset(*executor_, before, "the queries");
      for (const Cut& cut : way.cuts) {
        if (!distrust_.empty() || executor_->stopped()) return;
        descend(depth, cut, way.nested.stores());
      }
      for (const LifeCut& cut : way.life_cuts) {
        if (!distrust_.empty() || executor_->stopped()) return;
        descend_life(cut);
      }
      if (!distrust_.empty() || executor_->stopped()) return;
    } while (decisions.advance());
  }

  // Follows the trie with the decisions' values, and runs recovery where nobody has been. On return the executor is
  // where recovery ends, or meets another one; nothing when this process is not to be trusted any more.
  std::optional<Way> follow(int depth, const UndecidedMemory::Mark& start, Decisions* decisions) {
    using Kind = RecoveryTrie::Kind;
    for (;;) {
      decisions->restart();
      Way way = new_way();
      convergence_.begin(*frontier_, start, ways_);
      RecoveryTrie::Place place;
      for (;;) {
        const RecoveryTrie::Step step = trie_.step(place);
        if (step.kind == Kind::kNothing) break;
        if (step.kind == Kind::kLeaf) {
          way.leaf = *step.leaf;
          return way;
        }
        uint64_t value = 0;
        if (step.kind == Kind::kRead) {
          value = decide(step, decisions, &way);
        } else if (step.kind == Kind::kState) {
          way.met = converges() && decisions->fresh() && way.nested.all_durable() &&
                    convergence_.meets(step.state, depth, way.done);
          if (way.met) return way;
        } else {
          replay(step, depth, *decisions, start, &way);
        }
        place = trie_.after(place, value);
      }
      executor_->memory().undo(start);
      execute(way.choices, depth, start);
      if (!distrust_.empty()) return std::nullopt;
    }
  }

  uint64_t decide(const RecoveryTrie::Step& step, Decisions* decisions, Way* way) {
    way->done->reads.emplace_back(step.at, step.bytes);
    if (executor_->memory().definite(step.at, step.bytes)) return executor_->memory().peek(step.at, step.bytes);
    executor_->memory().values(step.at, step.bytes, &values_);
    const uint64_t value =
        values_.size() == 1 ? values_[0] : values_[decisions->choose(static_cast<uint32_t>(values_.size()))];
    way->branched = true;
    executor_->memory().choose(step.at, step.bytes, value);
    way->choices.push_back({step.at, step.bytes, value});
    return value;
  }

  // Repeats a step that recovery did between its reads, and collects the power cuts there.
  void replay(const RecoveryTrie::Step& step, int depth, const Decisions& decisions, const UndecidedMemory::Mark& start,
              Way* way) {
    const auto cut = [&] {
      if (!cuts_recovery(depth) || !decisions.fresh()) return;
      way->cuts.push_back(way->nested.cut(executor_->memory().narrowed(start.decided)));
    };
    switch (step.kind) {
      case RecoveryTrie::Kind::kStore: {
        const StoreTraits traits = StoreTraits::of((step.flags & POWERCUT_STORE_NT) != 0, step.flags);
        executor_->memory().replay_store(step.at, step.stored);
        ++way->done->stores;
        way->nested.store(traits, step.at, step.stored, trie_.stack(step.stack), cut);
        return;
      }
      case RecoveryTrie::Kind::kFlush:
        ++way->done->flushes;
        way->nested.flush(step.at, step.flush, cut);
        return;
      case RecoveryTrie::Kind::kFence:
        ++way->done->fences;
        way->nested.fence(cut);
        return;
      case RecoveryTrie::Kind::kNothing:
      case RecoveryTrie::Kind::kRead:
      case RecoveryTrie::Kind::kState:
      case RecoveryTrie::Kind::kLeaf:
        return;
    }
  }

  // Runs recovery on the images that `choices` leave, along one way, and enters that way into the trie: to its end, or
  // to where it meets another one.
  void execute(const std::vector<Choice>& choices, int depth, const UndecidedMemory::Mark& start) {
    const uint64_t before = options_.paranoid ? executor_->memory().digest() : 0;
    stopwatch_.lap(Stopwatch::kFollow);
    for (const Choice& choice : choices) executor_->memory().choose(choice.word, choice.bytes, choice.value);
    Execution execution({&trie_, executor_, &buffer_, converges() ? &convergence_ : nullptr, depth}, start);
    RecoveryTrie::Recorder& recorder = execution.recorder();
    convergence_.begin(*frontier_, start, ways_);
    buffer_.clear();
    executor_->reads().begin(start.arena);
    Outcome outcome = executor_->run_listened(&execution, [this] { subject_->recover(&buffer_); });
    ++counts_.executions;
    const uint32_t sources = std::exchange(virtual_world.used, 0);
    const bool followed = outcome.kind != Outcome::Kind::kUnknown;
    if (!execution.met()) {
      std::shared_ptr<const RecoveredState> leaf = leaf_here(std::move(outcome), start);
      counts_.leaves.insert(leaf->path);
      recorder.finish(std::move(leaf));
    }
    executor_->memory().undo(start);
    stopwatch_.lap(Stopwatch::kExecute);
    if (recorder.contradicted()) {
      distrust_ =
          "recovery read the same twice and did not do the same: it depends on something besides pool, heap and "
          "globals";
    }
    if (options_.paranoid) check_reset(*executor_, before, "recovery");
    if (followed && distrust_.empty()) run_again(choices, start, sources);
    stopwatch_.lap(Stopwatch::kExecute);
  }

  // Returns the result of the execution of recovery that has just ended.
  std::shared_ptr<const RecoveredState> leaf_here(Outcome outcome, const UndecidedMemory::Mark& start) {
    auto state = std::make_shared<RecoveredState>();
    state->outcome = std::move(outcome);
    finish_answer(executor_, &state->outcome, &buffer_);
    state->result = std::string(buffer_.view());
    state->path = executor_->recovery().path();
    if (!state->outcome.returned()) return state;
    state->opened = subject_->opened();
    const std::span<const uint8_t> heap = executor_->memory().heap();
    state->heap.assign(heap.begin(), heap.end());
    state->globals = executor_->memory().changed_globals(start);
    return state;
  }

  // Runs recovery on an image to its end, although it may meet another recovery.
  std::shared_ptr<const RecoveredState> run_whole(const LineSets& image) {
    PathListener nobody;
    executor_->memory().install(image);
    const UndecidedMemory::Mark start = executor_->memory().mark();
    buffer_.clear();
    executor_->reads().begin(start.arena);
    Outcome outcome = executor_->run_listened(&nobody, [this] { subject_->recover(&buffer_); });
    virtual_world.used = 0;
    std::shared_ptr<const RecoveredState> out = leaf_here(std::move(outcome), start);
    executor_->memory().undo(start);
    executor_->memory().uninstall();
    return out;
  }

  // Runs the same way in other worlds (second_run.h): once, and more often if recovery asked for something that a world
  // gives. The first ways of a chunk tell most.
  void run_again(const std::vector<Choice>& choices, const UndecidedMemory::Mark& start, uint32_t sources) {
    const uint64_t first = 1 + asking_ways_ * kManyWorlds;  // no world is tried twice
    const uint64_t worlds = sources == 0 ? 1 : asking_ways_++ < kWaysInManyWorlds ? kManyWorlds : kSomeWorlds;
    for (uint64_t world = first; world < first + worlds; ++world) {
      for (const Choice& choice : choices) executor_->memory().choose(choice.word, choice.bytes, choice.value);
      SecondRun second(&trie_, {executor_->memory().heap_begin(), executor_->memory().heap_begin() + kArenaSize});
      buffer_.clear();
      executor_->runner().set_variant(world);
      executor_->reads().begin(start.arena);
      Outcome outcome = executor_->run_listened(&second, [this] { subject_->recover(&buffer_); });
      executor_->runner().set_variant(0);
      if (!second.stopped()) finish_answer(executor_, &outcome, &buffer_);
      if (!second.stopped() && outcome.kind != Outcome::Kind::kUnknown) second.finish(outcome, buffer_.view());
      executor_->memory().undo(start);
      sources |= std::exchange(virtual_world.used, 0);
      if (second.difference().empty()) continue;
      executor_->runner().doubt(
          "recovery is not a function of the image. It ran twice on the same one, " +
          (sources == 0 ? "with its heap elsewhere and other bytes in memory that it has not initialised"
                        : "with other values of " + names_of_sources(sources)) +
          ", and the second time " + second.difference() + executor_->runner().place_of(second.stack()) +
          ". A crash state has more results than were looked at");
      return;
    }
    if (sources != 0) executor_->runner().note_sources(sources);
  }

  void reach(const RecoveredState& state) {
    executor_->memory().set_heap(state.heap);
    for (const auto& [address, value] : state.globals) executor_->memory().set_word(address, value);
    subject_->reopen(state.opened);
  }

  // ---- a leaf ------------------------------------------------------------------------------------
  void visit(int depth, const UndecidedMemory::Mark& start, Way& way) {
    const std::shared_ptr<const RecoveredState>& state = way.leaf;
    const bool usable = state->outcome.returned() && state->opened.usable;
    stopwatch_.lap(Stopwatch::kFollow);
    const Subject::Judgement judgement = subject_->recovered(depth, state->outcome, state->result);
    if (judgement == Subject::Judgement::kExplain) {
      subject_->explained(depth, kRecoveryQuery, state->result, state->outcome.returned() ? nullptr : &state->outcome,
                          image());
    }
    refused_ = refused_ || (!usable && judgement == Subject::Judgement::kGood);
    if (state->outcome.returned()) {
      if (cuts_recovery(depth)) {
        std::optional<Cut> after = way.nested.cut_after(executor_->memory().narrowed(start.decided));
        if (after) way.cuts.push_back(std::move(*after));
      }
      if (usable) {
        reach(*state);
        (in_life_ ? life_queries_ : leaf_queries_).visit(depth, state, /*untouched=*/false);
        if (depth == 0 && life_begins_ != nullptr) live_on(start, &way);
      }
    }
    if (depth > 0) return;
    steady_ = usable && !way.branched && way.nested.stores().empty() && judgement == Subject::Judgement::kGood;
    if (!steady_) return;
    steady_leaf_ = state;
    steady_reads_.clear();
    for (const auto& [word, bytes] : way.done->reads) {
      steady_reads_[word / kLineSize] |= uint64_t{bytes} << (word % kLineSize);
    }
  }

  // ---- second lives ------------------------------------------------------------------------------
  // In a second life recovery is not cut, and each is followed to its end: where two recoveries meet, their obligations
  // may differ.
  bool cuts_recovery(int depth) const { return !in_life_ && depth < options_.nested; }
  bool converges() const { return converges_ && !in_life_; }

  // Walks the second life behind the recovery that has come to its end here. A table that answers badly has none: the
  // first life tells of it.
  void live_on(const UndecidedMemory::Mark& start, Way* way) {
    if (subject_->has_answered_badly()) return;
    ++counts_.lives;
    if (!is_new(convergence_.here(), *life_begins_, life_begins_->continuation ^ way->leaf->path)) return;
    ++counts_.new_lives;
    lives_.walk(life_begins_, start, way->nested, &way->life_cuts);
  }

  void descend_life(const LifeCut& cut) {
    const std::vector<LineSet> lines = executor_->memory().child(cut.cut);
    const LineSets sets = sets_of(lines);
    convergence_.push(*frontier_, sets);
    const Signature medium = convergence_.level();
    convergence_.pop();
    if (!is_new(medium, *cut.at, 0)) return;
    subject_->judge_at(cut.at);
    life_queries_.begin_crash_point(*frontier_);
    in_life_ = true;
    search_below(sets, nested_of(cut.cut, *cut.stores), 1);
    in_life_ = false;
    subject_->judge_at(nullptr);
  }

  // Returns whether no equal second life has begun from this medium, or no equal cut has left it. `rest`: a digest of
  // all else that decides what follows.
  bool is_new(const Signature& medium, const LifeInstant& at, uint64_t rest) {
    if (!options_.merge_lives || subject_->wants_all()) return true;
    if (begun_.size() >= Convergence::kMostKnown) begun_.clear();
    const std::array<uint64_t, 4> all = {medium.low, medium.high, at.obligations, rest};
    return begun_.insert(XXH3_64bits(all.data(), sizeof all)).second;
  }

  // ---- nested cuts -------------------------------------------------------------------------------
  void descend(int depth, const Cut& cut, const std::vector<NestedStore>& stores) {
    const std::vector<LineSet> lines = executor_->memory().child(cut);
    LineSets sets = sets_of(lines);
    std::vector<LineSet> visible;
    if (options_.visible_only) visible_parts(&sets, &visible);
    // A medium that was explored before is left out: its recoveries and answers are the same.
    convergence_.push(*frontier_, sets);
    if (convergence_.begins(depth + 1, subject_->wants_all())) {
      search_below(sets, nested_of(cut, stores), depth + 1);
    }
    convergence_.pop();
  }

  void search_below(const LineSets& sets, Image::Nested nested, int depth) {
    cuts_.push(sets, std::move(nested));
    executor_->memory().install(sets);
    search(depth);
    executor_->memory().uninstall();
    cuts_.pop();
  }

  static void visible_parts(LineSets* sets, std::vector<LineSet>* out) {
    out->reserve(sets->size());
    for (const LineSet*& set : *sets) {
      LineSet& part = out->emplace_back();
      part.line = set->line;
      part.contents = {set->contents[set->visible]};
      if (!set->base.empty()) part.base = {set->base[set->visible]};
      part.observed = set->observed;
      set = &part;
    }
  }

  Image image() {
    LineSets sets = frontier_->sets();
    std::vector<LineSet> visible;
    if (options_.visible_only) visible_parts(&sets, &visible);
    cuts_.replace_first(sets);
    return cuts_.image(*executor_);
  }

  Executor* executor_;
  Subject* subject_;
  const Options options_;
  const Frontier* frontier_ = nullptr;
  CutLevels cuts_;
  RecoveryTrie trie_;
  LeafQueries leaf_queries_, life_queries_;
  LifeWalk lives_;
  Subject::LifePoint life_begins_;            // at the crash point at hand; null: there is no second life
  uint64_t life_plan_ = 0;                    // a digest of its obligations and operations
  bool in_life_ = false;                      // the search at hand is of a second life
  absl::flat_hash_set<uint64_t> begun_ = {};  // digests of second lives, and of their cuts
  ResultBuffer buffer_;
  bool fresh_ = true;

  absl::flat_hash_map<uint64_t, Content> shown_;  // visible_only: what the pool shows of undecided lines

  // Numbers of worlds for a way through recovery that asked for something of the world: in the first such ways of a
  // chunk, and in later ways.
  static constexpr uint64_t kManyWorlds = 128, kSomeWorlds = 4, kWaysInManyWorlds = 4;
  uint64_t asking_ways_ = 0;

  bool steady_ = false;
  std::shared_ptr<const RecoveredState> steady_leaf_;
  absl::flat_hash_map<uint64_t, uint64_t> steady_reads_;  // line -> bytes

  Convergence convergence_;
  const bool converges_;
  uint64_t ways_ = 0;  // through recovery, in all
  uint32_t keys_ = 0;
  bool refused_ = false;  // at the crash point at hand a recovery was right not to open a table
  std::vector<uint64_t> values_;
};

}  // namespace

std::unique_ptr<MemoExplorer> make_trie_explorer(Executor* executor, Subject* subject,
                                                 const Explorer::Options& options) {
  return std::make_unique<TrieExplorer>(executor, subject, options);
}

}  // namespace powercut
