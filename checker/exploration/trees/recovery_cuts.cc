#include "checker/exploration/trees/recovery_cuts.h"

#include <algorithm>
#include <deque>
#include <set>

namespace powercut {
namespace {

using files::ChosenTree;
using files::Effect;
using files::EffectKind;
using files::PathId;
using files::Question;

constexpr uint64_t kPiece = 1 << 20;

// Makes the tree on the disk, durable as the start of a recording.
void start_with(const ImageTree& tree, files::Disk* disk) {
  std::set<uint64_t> made{kTreeRoot};
  const std::function<void(uint64_t)> walk = [&](uint64_t folder) {
    for (const auto& [name, number] : tree.names(folder)) {
      const ImageNode node = tree.node(number);
      if (node.bad) continue;
      const bool fresh = made.insert(number).second;
      if (fresh) {
        Effect inode;
        inode.kind = EffectKind::kInode;
        inode.inode = number;
        inode.inode_kind = node.kind;
        inode.target = node.target;
        disk->apply(inode);
        for (uint64_t at = 0; node.kind == InodeKind::kFile && at < node.size; at += kPiece) {
          Effect content;
          content.kind = EffectKind::kContent;
          content.inode = number;
          content.offset = at;
          content.data.resize(std::min(kPiece, node.size - at));
          content.size = at + content.data.size();
          tree.read(number, at, {reinterpret_cast<uint8_t*>(content.data.data()), content.data.size()});
          disk->apply(content);
        }
      }
      Effect entry;
      entry.kind = EffectKind::kEntry;
      entry.folder = folder;
      entry.name = name;
      entry.inode = number;
      disk->apply(entry);
      if (fresh && node.kind == InodeKind::kFolder) walk(number);
    }
  };
  walk(kTreeRoot);
}

// Returns a path that leads to the inode on the tree; nothing if there is none.
std::optional<PathId> path_of(files::TreeWorld* world, const ChosenTree& tree, uint64_t inode) {
  const auto names = world->names_to(tree, inode);
  if (!names) return std::nullopt;
  PathId out = files::kRootPath;
  for (auto name = names->rbegin(); name != names->rend(); ++name) out = world->paths().of(out, *name);
  return out;
}

}  // namespace

namespace {

// Shows the disk at the crash points of what was made on a tree of `outer`, until `at` says no. False: recovery made a
// call that no program can have made.
bool each_second_cut(files::TreeWorld* outer, const ChosenTree& tree, const ModeOf* mode, const RecoveryMade& made,
                     const std::function<bool(files::Side, uint64_t call, const files::Disk&)>& at) {
  files::Disk disk(outer->disk().switches(), outer->disk().units(), &outer->disk().contents());
  start_with(ServedTree(outer, tree, mode), &disk);
  bool going = true;
  files::CrashPoints crash_points(&disk,
                                  [&](files::Side side, uint64_t call) { going = going && at(side, call, disk); });
  uint64_t number = 0;
  for (const Effect& effect : made.calls) {
    if (!crash_points.take(effect, ++number)) return false;
  }
  crash_points.end();
  return true;
}

}  // namespace

bool with_second_cut(files::TreeWorld* outer, const ChosenTree& tree, const ModeOf* mode, const RecoveryMade& made,
                     files::Side side, uint64_t call, const std::function<void(files::TreeWorld*)>& use) {
  bool there = false;
  each_second_cut(outer, tree, mode, made, [&](files::Side its_side, uint64_t its_call, const files::Disk& disk) {
    there = its_side == side && its_call == call;
    if (!there) return true;
    files::TreeWorld world(disk, &outer->paths(), outer->effort()->most);
    use(&world);
    return false;
  });
  return there;
}

// Notes the questions about inodes of the outer tree, each behind those about the names that lead there.
void FolderRecoveryCuts::note(const std::vector<AskedQuestion>& path, files::TreeWorld* inner, const ChosenTree& tree,
                              std::vector<Question>* asked) {
  std::set<Question> seen(asked->begin(), asked->end());
  const auto add = [&](const Question& question) {
    if (seen.insert(question).second) asked->push_back(question);
  };
  const ChosenTree& outer = *outer_tree_;
  for (const AskedQuestion& each : path) {
    const bool name = each.question.kind == Question::Kind::kName;
    const PathId of = name ? inner->paths().folder(each.question.path) : each.question.path;
    const uint64_t inode = inner->at(tree, of).inode;
    if (inode == 0 || inode >= kFirstNew) continue;
    const auto there = path_of(&outer_, outer, inode);
    if (!there) continue;
    std::vector<PathId> above;
    for (PathId each_path = *there; each_path != files::kRootPath; each_path = outer_.paths().folder(each_path)) {
      above.push_back(each_path);
    }
    for (auto at = above.rbegin(); at != above.rend(); ++at) add({Question::Kind::kName, *at});
    Question question = each.question;
    question.path = name ? outer_.paths().of(*there, inner->paths().name(each.question.path)) : *there;
    add(question);
  }
}

Result<bool> FolderRecoveryCuts::cut(const ChosenTree& tree, const RecoveryMade& recovery, uint64_t most_runs,
                                     const std::function<bool()>& goes_on, std::vector<Question>* asked) {
  outer_tree_ = &tree;
  std::optional<EngineError> wrong;
  bool all = true, going = true;
  const auto at = [&](files::Side side, uint64_t call, const files::Disk& disk) {
    const uint64_t made = side == files::Side::kAfter ? call : call - 1;
    if (of_.of_life && made < recovery.of_recovery) return true;
    files::TreeWorld world(disk, &outer_.paths(), outer_.effort()->most);
    if (!world.known()) {
      all = false;
      return true;
    }
    PointExplorer point(&world, of_.root, of_.runs);
    struct Met {
      Outcomes::Id outcome;
      ChosenTree tree;
    };
    std::vector<Met> met;
    std::set<Outcomes::Id> seen;
    const auto covered = point.explore(
        most_runs, goes_on,
        [&](Outcomes::Id outcome, const ReadNode*, const std::vector<AskedQuestion>& path, const ChosenTree& inner) {
          note(path, &world, inner, asked);
          if (seen.insert(outcome).second) met.push_back({outcome, inner});
        });
    if (!covered) {
      wrong = covered.error();
      return false;
    }
    all = all && *covered;
    for (const Met& each : met) {
      going = going && reached_(each.outcome, {tree, recovery.calls, recovery.of_recovery, of_.of_life, side, call,
                                               &world, &point, each.tree});
    }
    return going;
  };
  if (!each_second_cut(&outer_, tree, of_.runs->mode(), recovery, at)) {
    return harness_error("a call of recovery names a file that is not there", "cuts inside recovery",
                         "Report this as a bug of powercut.");
  }
  if (wrong) return *wrong;
  return all && going;
}

Result<bool> FolderRecoveryCuts::cut(const std::vector<AskedQuestion>& path, uint64_t most_runs,
                                     const std::function<bool()>& goes_on) {
  files::TreeBox box(&outer_);
  for (const AskedQuestion& each : path) box.narrow(each.question, each.answer);
  auto known = known_.calls.find(path);
  if (known == known_.calls.end()) {
    auto calls = of_.first->changes_of(&outer_, box.newest(), kFirstNew);
    if (!calls) return calls.error();
    known = known_.calls.emplace(path, std::move(*calls)).first;
  }
  const RecoveryMade& recovery = known->second;
  if (recovery.calls.size() == (of_.of_life ? recovery.of_recovery : 0)) return true;
  bool all = true;
  std::deque<std::vector<AskedQuestion>> parts{{}};
  while (!parts.empty()) {
    if (!goes_on()) return false;
    const std::vector<AskedQuestion> part = std::move(parts.front());
    parts.pop_front();
    const auto mark = box.mark();
    for (const AskedQuestion& each : part) box.narrow(each.question, each.answer);
    const ChosenTree tree = box.newest();
    ++known_.begun;
    std::vector<SecondCuts::Asked> none;
    std::vector<SecondCuts::Asked>* alike = &none;
    if (of_.measure) {
      SecondCuts::Asked common = path;
      common.insert(common.end(), part.begin(), part.end());
      alike = &known_.covered[{*of_.measure, std::move(common)}];
    }
    const auto before = std::ranges::find_if(*alike, [&](const SecondCuts::Asked& asked) {
      return std::ranges::all_of(asked, [&](const AskedQuestion& each) {
        return answer_of(&outer_, tree, box.asked(), each.question) == each.answer;
      });
    });
    SecondCuts::Asked asked;
    if (before != alike->end()) {
      asked = *before;
    } else {
      ++known_.fresh;
      std::vector<Question> questions;
      const auto covered = cut(tree, recovery, most_runs, goes_on, &questions);
      if (!covered) return covered.error();
      for (const Question& question : questions) {
        asked.push_back({question, answer_of(&outer_, tree, box.asked(), question)});
      }
      if (*covered) alike->push_back(asked);
      all = all && *covered;
    }
    std::vector<AskedQuestion> same = part;
    for (const auto& [question, own] : asked) {
      const auto answers = box.answers(question);
      if (answers.size() < 2) continue;
      for (const files::Answer& answer : answers) {
        if (answer == own) continue;
        parts.push_back(same);
        parts.back().push_back({question, answer});
      }
      box.narrow(question, own);
      same.push_back({question, own});
    }
    box.undo(mark);
  }
  return all && outer_.known();
}

}  // namespace powercut
