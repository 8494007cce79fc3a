"""Break the engine on purpose and see a test fail.

Each mutant is one string of one source file replaced. Only that file is compiled again, with the command of a build
that compiles each file on its own (build/by-file). It is linked in front of that build's libraries into programs of its
own: nothing in the build folders or in the sources changes. A mutant that every suite passes is a gap in the tests.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from powercut.base import paths
from tests.house import files_mutants, nor_mutants, oracle_mutants, recorder_mutants
from tests.house.mutant import ALL_SUITES, PROGRAMS, Mutant, detected_by, make, run
from tests.real_engine import require_engine

MUTANTS = (
    Mutant(
        name="overlap-closure-forgotten",
        file="replayer/models/line_log.cc",
        old="if ((store.atoms[a].mask() & bytes) != 0) atoms |= uint64_t{1} << a;",
        new="",
    ),
    Mutant(
        name="fence-makes-later-stores-durable",
        file="replayer/models/line_log.cc",
        old="stores_[first].event <= remembered_[i].event) ++first;",
        new="stores_[first].event <= remembered_[i].event + 1) ++first;",
    ),
    Mutant(
        name="torn-stores-only-ascending",
        file="replayer/models/line_log.cc",
        old="policy_ != AtomPolicy::kAscending || store.non_temporal || atom == 0 ||",
        new="store.non_temporal || atom == 0 ||",
    ),
    Mutant(
        name="no-crash-point-before-clflush",
        file="replayer/models/raising_model.cc",
        old="if (!pending_.raised_by_clflush(event.addr)) return false;",
        new="return false;",
    ),
    Mutant(
        name="frontier-does-not-tell-of-growth",
        file="replayer/crash_points/frontier.cc",
        old="changes_.push_back({.line = set.line, .grew = true,",
        new="if (false) changes_.push_back({.line = set.line, .grew = true,",
    ),
    Mutant(
        name="store-does-not-hide-the-medium",
        file="replayer/undecided/undecided_lines.cc",
        old="entry.diff &= ~mask;",
        new="",
    ),
    Mutant(
        name="deciding-overwrites-what-was-stored",
        file="replayer/undecided/undecided_memory.cc",
        old="lines_.alive_content(entry, 0), ~entry.written);",
        new="lines_.alive_content(entry, 0), ~uint64_t{0});",
    ),
    Mutant(
        name="merged-states-forget-own-stores",
        file="replayer/search/merged_search.cc",
        old="numbers.insert(numbers.end(), {word.address, word.value, word.bytes});",
        new="",
    ),
    Mutant(
        name="merged-states-forget-their-heap",
        file="replayer/search/merged_search.cc",
        old="add(state.changes.fresh, &numbers);",
        new="",
    ),
    Mutant(
        name="merged-states-forget-their-answer",
        file="replayer/search/merged_search.cc",
        old="add(state.answer, &numbers);",
        new="",
    ),
    Mutant(
        name="merged-ways-differ-in-two-lines",
        file="replayer/search/merged_search.cc",
        old="if (differ > 1) return false;",
        new="if (differ > 2) return false;",
    ),
    Mutant(
        name="merged-way-keeps-one-sides-candidates",
        file="replayer/search/merged_search.cc",
        old="known.left = state.left = std::move(both);",
        new="",
    ),
    Mutant(
        name="more-candidates-count-as-covered",
        file="replayer/search/merged_search.cc",
        old="return at != small.end() && at->set == line.set && has_all(line.alive, at->alive);",
        new="return true;",
    ),
    Mutant(
        name="circles-of-merged-states-are-believed",
        file="replayer/search/merged_search.cc",
        old="if (seen[next] == kOpen) return true;",
        new="if (seen[next] == kOpen) continue;",
    ),
    Mutant(
        name="recoveries-meet-on-another-medium",
        file="replayer/explorer/convergence.cc",
        old="both = {machine.low, machine.high, here.low, here.high};",
        new="both = {machine.low, machine.high, 0, 0};",
    ),
    Mutant(
        name="recoveries-meet-elsewhere-in-their-code",
        file="replayer/explorer/convergence.cc",
        old="const Signature words = signature_of(machine.words.data(), machine.words.size() * sizeof(uint64_t));",
        new="const Signature words;",
    ),
    Mutant(
        name="recoveries-meet-with-another-heap",
        file="replayer/explorer/convergence.cc",
        old="const Signature heap = signature_of(fresh.data(), fresh.size());",
        new="const Signature heap;",
    ),
    Mutant(
        name="recoveries-meet-with-other-globals",
        file="replayer/explorer/convergence.cc",
        old="if (word[1] != before) add(",
        new="if (false) add(",
    ),
    Mutant(
        name="recoveries-meet-with-another-result",
        file="replayer/explorer/convergence.cc",
        old="const Signature answer = signature_of(answer_->view().data(), answer_->view().size());",
        new="const Signature answer;",
    ),
    Mutant(
        name="recoveries-meet-whatever-the-cuts",
        file="replayer/explorer/convergence.cc",
        old="if (!added && known.depth <= depth && known.stores",
        new="if (!added && known.stores",
    ),
    Mutant(
        name="a-line-of-the-medium-keeps-what-it-held",
        file="replayer/explorer/convergence.cc",
        old="take(&total_, of_contents(change.line, change.before.contents));",
        new="",
    ),
    Mutant(
        name="a-recovery-that-does-more-meets-one-that-does-less",
        file="replayer/explorer/convergence.cc",
        old="known.stores >= done->stores && known.flushes",
        new="known.flushes",
    ),
    Mutant(
        name="recoveries-meet-while-stores-are-pending",
        file="replayer/undecided/nested_cuts.cc",
        old="return open_.empty();",
        new="return true;",
    ),
    Mutant(
        name="recoveries-meet-after-an-obligation-was-tightened",
        file="replayer/explorer/trie_explorer.cc",
        old="if (!converges_ || leaf_queries_.is_obliged() || keys",
        new="if (!converges_ || keys",
    ),
    Mutant(
        name="recoveries-meet-though-a-key-is-new",
        file="replayer/explorer/trie_explorer.cc",
        old="leaf_queries_.is_obliged() || keys != keys_ || refused || other_life)",
        new="leaf_queries_.is_obliged() || refused || other_life)",
    ),
    Mutant(
        name="a-medium-whose-line-may-hold-more-is-taken-for-known",
        file="replayer/explorer/convergence.cc",
        old="add(&total_, of_contents(change.line, Contents(now->contents).subspan(change.old_count)));",
        new="",
    ),
    Mutant(
        name="a-refusal-that-was-right-stays-right",
        file="replayer/explorer/trie_explorer.cc",
        old="keys != keys_ || refused || other_life) convergence_.clear();",
        new="keys != keys_ || other_life) convergence_.clear();",
    ),
    Mutant(
        name="a-state-goes-on-without-its-stores",
        file="replayer/undecided/undecided_memory.cc",
        old="set_word(word.address, (old & ~wide) | (word.value & wide));",
        new="set_word(word.address, old);",
    ),
    Mutant(
        name="a-store-of-a-state-does-not-hide-the-medium",
        file="replayer/undecided/undecided_memory.cc",
        old="if (offset < options_.pool_size) "
        "lines_.hide(offset / kLineSize, uint64_t{word.bytes} << (offset % kLineSize));",
        new="",
    ),
    Mutant(
        name="undo-keeps-decisions",
        file="replayer/undecided/undecided_lines.cc",
        old="entries_[decided_.back().index] = decided_.back().old;",
        new="",
    ),
    Mutant(
        name="journal-not-undone",
        file="replayer/undecided/journaled_memory.cc",
        old="std::memcpy(reinterpret_cast<void*>(words_.back().address), &words_.back().old, 8);",
        new="",
    ),
    Mutant(
        name="choice-keeps-all-candidates",
        file="replayer/undecided/undecided_memory.cc",
        old="== value) alive.push_back(index);",
        new="== value || true) alive.push_back(index);",
    ),
    Mutant(
        name="narrowing-keeps-all-candidates",
        file="replayer/undecided/undecided_lines.cc",
        old="if (std::binary_search(keep.begin(), keep.end(), alive_at(entry, i))) "
        "alive.push_back(alive_at(entry, i));",
        new="alive.push_back(alive_at(entry, i));",
    ),
    Mutant(
        name="narrowing-keeps-the-old-contents",
        file="replayer/undecided/undecided_lines.cc",
        old="if (std::binary_search(keep.begin(), keep.end(), alive_at(entry, i)))",
        new="if (!std::binary_search(keep.begin(), keep.end(), alive_at(entry, i)))",
    ),
    Mutant(
        name="heap-of-a-leaf-not-restored",
        file="replayer/undecided/journaled_memory.cc",
        old="std::memcpy(reinterpret_cast<void*>(arena.begin), heap.data(), heap.size());",
        new="",
    ),
    Mutant(
        name="stores-count-as-reads-of-the-medium",
        file="replayer/executor/recovery_follower.cc",
        old="[this](uint64_t line, uint64_t mask) { first_seen(line, mask); });",
        new="[](uint64_t, uint64_t) {});",
    ),
    Mutant(
        name="trie-ignores-values",
        file="replayer/search/recovery_trie.cc",
        old="if (!place.branch || node.child == 0 || node.value == place.value) return node.child;",
        new="return node.child;",
    ),
    Mutant(
        name="contradiction-not-noticed",
        file="replayer/search/recovery_trie.cc",
        old="(kind == Kind::kStore && node.extra != extra);",
        new="(kind == Kind::kStore && node.extra != extra);\n    contradicted_ = false;",
    ),
    Mutant(
        name="trie-does-not-replay-stores",
        file="replayer/explorer/trie_explorer.cc",
        old="        executor_->memory().replay_store(step.at, step.stored);\n        ++way->done->stores;",
        new="        ++way->done->stores;",
    ),
    Mutant(
        name="trie-forgets-flushes",
        file="replayer/explorer/trie_explorer.cc",
        old="way->nested.flush(step.at, step.flush, cut);",
        new="",
    ),
    Mutant(
        name="no-cut-before-a-fence",
        file="replayer/undecided/nested_cuts.cc",
        old="!pending_.raised_by_fence(0).empty()) at_crash_point();",
        new="!pending_.raised_by_fence(0).empty()) {}",
    ),
    Mutant(
        name="no-cut-after-recovery",
        file="replayer/explorer/trie_explorer.cc",
        old="if (after) way.cuts.push_back(std::move(*after));",
        new="",
    ),
    Mutant(
        name="every-cut-taken-for-known",
        file="replayer/explorer/convergence.cc",
        old="if (!added && at->second.depth <= depth) return false;",
        new="if (!added) return false;",
    ),
    Mutant(
        name="media-of-cuts-not-told-apart",
        file="replayer/explorer/convergence.cc",
        old="const Signature now = of_contents(set->line, set->contents);",
        new="const Signature now = of_contents(set->line, Contents(set->contents).first(1));",
    ),
    Mutant(
        name="globals-of-a-leaf-not-restored",
        file="replayer/explorer/trie_explorer.cc",
        old="for (const auto& [address, value] : state.globals) executor_->memory().set_word(address, value);",
        new="",
    ),
    Mutant(
        name="steady-never-cleared",
        file="replayer/explorer/trie_explorer.cc",
        old="steady_ = steady_ && !concerns_steady(change);",
        new="",
    ),
    Mutant(
        name="steady-in-spite-of-branches",
        file="replayer/explorer/trie_explorer.cc",
        old="steady_ = usable && !way.branched &&",
        new="steady_ = usable &&",
    ),
    Mutant(
        name="trace-changes-not-told-to-views",
        file="replayer/explorer/trie_explorer.cc",
        old="        leaf_queries_.trace_changed(change);",
        new="",
    ),
    Mutant(
        name="a-second-change-forgets-the-first",
        file="replayer/explorer/leaf_views.cc",
        old="    if (added) {\n      if (change.grew) {",
        new="    since = {};\n    if (true) {\n      if (change.grew) {",
    ),
    Mutant(
        name="prefix-of-a-line-not-kept",
        file="replayer/explorer/leaf_views.cc",
        old="since.contents.assign(old.begin(), old.begin() + since.prefix);",
        new="since.contents.assign(old.begin(), old.end());",
    ),
    Mutant(
        name="own-lines-not-compared",
        file="replayer/explorer/leaf_views.cc",
        old="for (const auto& [line, contents] : own_) compare(line);",
        new="",
    ),
    Mutant(
        name="own-lines-of-the-view-not-compared",
        file="replayer/explorer/leaf_views.cc",
        old="for (const auto& [line, contents] : view.own) compare(line);",
        new="",
    ),
    Mutant(
        name="narrowing-two-lines-at-once",
        file="replayer/explorer/leaf_views.cc",
        old="      state.narrow = false;\n    }\n  };",
        new="    }\n  };",
    ),
    Mutant(
        name="tightened-obligations-ignored",
        file="replayer/explorer/leaf_queries.cc",
        old="if (first_leaf_) whole.insert(obliged_.begin(), obliged_.end());",
        new="",
    ),
    Mutant(
        name="views-kept-in-spite-of-obligations",
        file="replayer/explorer/leaf_views.cc",
        old="if (obliged) views_.resize(1);",
        new="",
    ),
    Mutant(
        name="obligations-do-not-wait-for-a-leaf",
        file="replayer/explorer/leaf_queries.cc",
        old="if (!first_leaf_) obliged_.clear();",
        new="obliged_.clear();",
    ),
    Mutant(
        name="new-groups-not-asked",
        file="replayer/explorer/leaf_views.cc",
        old="for (uint32_t i = view.groups[kind]; i < count_[kind]; ++i) {",
        new="for (uint32_t i = count_[kind]; i < count_[kind]; ++i) {",
    ),
    Mutant(
        name="changed-heap-not-noticed",
        file="replayer/explorer/leaf_views.cc",
        old="if (view.state != state_ && was != is && !heap_followed_) {",
        new="if (false) {",
    ),
    Mutant(
        name="changed-globals-not-noticed",
        file="replayer/explorer/leaf_views.cc",
        old=" || view.state->globals != state_->globals) {",
        new=") {",
    ),
    Mutant(
        name="views-that-only-look-alike",
        file="replayer/explorer/leaf_views.cc",
        old="    lines += XXH3",
        new="    if (line > 0) continue;\n    lines += XXH3",
    ),
    Mutant(
        name="novelty-ignores-the-mask",
        file="replayer/undecided/novelty.cc",
        old="if ((any_ & mask) == 0) return false;",
        new="if (any_ == 0 || (mask & 1) == 0) return false;",
    ),
    Mutant(
        name="novelty-compares-with-one-content",
        file="replayer/undecided/novelty.cc",
        old="if (!fresh) break;\n",
        new="break;\n",
    ),
    Mutant(
        name="novelty-passes-over-what-is-gone",
        file="replayer/undecided/novelty.cc",
        old="if (both) compare(now, before);",
        new="",
    ),
    Mutant(
        name="read-index-keeps-the-first-mask",
        file="replayer/search/read_index.cc",
        old="reader.low = static_cast<uint32_t>(*known);",
        new="",
    ),
    Mutant(
        name="read-index-drops-readers",
        file="replayer/search/read_index.cc",
        old="readers.any |= mask;\n  if (readers.everyone) return;",
        new="readers.any |= mask;\n  if (readers.everyone || readers.groups.size() > 1) return;",
    ),
    Mutant(
        name="everyone-is-nobody",
        file="replayer/search/read_index.cc",
        old="readers.everyone = true;",
        new="",
    ),
    Mutant(
        name="exhaustive-skips-the-last-content",
        file="replayer/strategies/exhaustive.cc",
        old="++digits[i] == pending[i]->contents.size()",
        new="++digits[i] + 1 >= pending[i]->contents.size()",
    ),
    Mutant(
        name="truncated-set-is-complete",
        file="checker/exploration/chunks/exploration.cc",
        old="follower_->frontier().truncated() || executor_.memory().truncated()",
        new="false",
    ),
    Mutant(
        name="truncated-set-of-a-nested-cut-is-complete",
        file="replayer/undecided/undecided_memory.cc",
        old="truncated_ = truncated_ || set.truncated;\n    if (set.contents.size() == 1",
        new="if (set.contents.size() == 1",
    ),
    Mutant(
        name="intruder-has-no-wake",
        file="replayer/explorer/query_runs.cc",
        old="if (wake != nullptr) wake->add(executor_->writes().left(leaf_));",
        new="",
    ),
    Mutant(
        name="wake-only-of-what-changed",
        file="replayer/executor/write_log.cc",
        old="if (const uint64_t kept = mask & (changed | ~loaded))",
        new="if (const uint64_t kept = mask & changed)",
    ),
    Mutant(
        name="wake-of-the-view-forgotten-when-narrowed",
        file="replayer/explorer/bystanders.cc",
        old="all->add(*left);",
        new="*all = *left;",
    ),
    Mutant(
        name="bystanders-only-when-the-intruder-is-asked",
        file="replayer/explorer/bystanders.cc",
        old="in_either(here, in_both(all, hits[i].keys))",
        new="here",
    ),
    Mutant(
        name="bystanders-only-when-their-key-is-hit",
        file="replayer/explorer/bystanders.cc",
        old="if (hits[i].intruder) here =",
        new="if (false) here =",
    ),
    Mutant(
        name="lookups-that-write-disturb-nobody",
        file="replayer/explorer/bystanders.cc",
        old="if (!left.empty()) restless_.insert(key);",
        new="",
    ),
    Mutant(
        name="a-functional-bug-in-the-middle-of-an-operation",
        file="checker/subjects/library/functional_check.cc",
        old="if (follower_->history().in_flight()) {",
        new="if (false) {",
    ),
    Mutant(
        name="judge-takes-any-bytes",
        file="replayer/executor/level_contents.cc",
        old="std::find(contents.begin(), contents.end(), content) == contents.end()",
        new="false",
    ),
    Mutant(
        name="judge-takes-the-floor-for-visible",
        file="replayer/executor/level_contents.cc",
        old="set.contents[take == Take::kVisible ? set.visible : 0]",
        new="set.contents[0]",
    ),
    Mutant(
        name="judge-ends-a-range-early",
        file="checker/replay/judge_requests.cc",
        old="here <= request->last",
        new="here < request->last",
    ),
    Mutant(
        name="judge-takes-a-nested-cut-for-a-first",
        file="checker/replay/library_images.cc",
        old="violations(recovered, !request->image.nested.empty())",
        new="violations(recovered, false)",
    ),
    Mutant(
        name="a-reader-and-a-writer-do-not-race",
        file="checker/schedules/shared_places.cc",
        old="other.place == place && (changes || other.changes)",
        new="other.place == place && changes && other.changes",
    ),
    Mutant(
        name="a-threads-place-forgets-its-registers",
        file="checker/schedules/machine_hooks.cc",
        old="registers = XXH3_64bits(live_, kLiveRegisters * sizeof live_[0]);",
        new="registers = 0;",
    ),
    Mutant(
        name="a-threads-place-forgets-its-stack",
        file="checker/schedules/machine_hooks.cc",
        old="stack_end(current_) - stack, registers) | 2;",
        new="0, registers) | 2;",
    ),
    Mutant(
        name="no-saturated-cut-before-a-fence",
        file="checker/schedules/target_machine.cc",
        old="      return lines_.drains(thread + 1);",
        new="      return false;",
    ),
    Mutant(
        name="schedules-forget-what-may-be-answered",
        file="checker/schedules/target_machine.cc",
        old="  add(answers_.digest());",
        new="",
    ),
    Mutant(
        name="cuts-beyond-the-bound-are-left-out",
        file="replayer/schedules/bounded.cc",
        old="      saturate(last);",
        new="",
    ),
    Mutant(
        name="a-choice-of-two-is-made-once",
        file="replayer/schedules/bounded.cc",
        old="ways != 0; ways &= ways - 1)",
        new="ways != 0; ways = 0)",
    ),
    Mutant(
        name="a-state-known-with-fewer-preemptions-left-counts-as-known",
        file="replayer/schedules/bounded.cc",
        old="if (!is_new && (!bounded || at->second >= left)) {",
        new="if (!is_new) {",
    ),
    Mutant(
        name="a-load-does-not-race-with-a-store",
        file="checker/schedules/shared_places.cc",
        old="races |= other.place == place && (changes || other.changes);",
        new="races |= other.place == place && changes && other.changes;",
    ),
    *oracle_mutants.MUTANTS,
    *recorder_mutants.MUTANTS,
    *files_mutants.MUTANTS,
    *nor_mutants.MUTANTS,
)


def test_every_mutant_has_its_place_and_every_room_its_tests() -> None:
    """Else the long tests below would tell nothing of them, and nobody would know before they ran."""
    made = {
        mutant.name: (paths.home() / mutant.file).read_text(encoding="utf-8").count(mutant.old) for mutant in MUTANTS
    }
    assert {name for name, count in made.items() if count != 1} == set()
    assert [mutant.file for mutant in MUTANTS if not mutant.file.endswith(".cc")] == []
    require_engine()
    assert [program for program in PROGRAMS if not (paths.build_dir() / program).is_file()] == []


@pytest.fixture(scope="session")
def build() -> Path:
    require_engine()  # the suites look for all else in the build
    folder = paths.build_dir() / "by-file"
    run(["cmake", "-S", str(paths.home()), "-B", str(folder), "-G", "Ninja", "-DPOWERCUT_UNITY=OFF"])
    run(["ninja", "-C", str(folder), *PROGRAMS])
    return folder


@pytest.mark.long
def test_unbroken_engine_passes_every_suite(build: Path, tmp_path: Path) -> None:
    """Otherwise the suites would detect anything."""
    (tmp_path / "bin").mkdir()
    for program in PROGRAMS:
        shutil.copy2(build / program, tmp_path / program)
    (tmp_path / "lib").symlink_to(build / "lib")
    assert detected_by(tmp_path, ALL_SUITES) is None


@pytest.mark.long
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_detected(mutant: Mutant, build: Path, tmp_path: Path) -> None:
    make(mutant, build, tmp_path)
    by = detected_by(tmp_path, mutant.suites)
    print(f"\n{mutant.name}: {by or 'SURVIVED'}")
    assert by is not None, f"every test passes with {mutant.file} changed: {mutant.old!r} -> {mutant.new!r}"
