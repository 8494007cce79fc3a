#include "checker/exploration/trees/least_tree.h"

#include <algorithm>

namespace powercut {

using files::ChosenTree;
using files::FileAnswers;
using files::FileContents;
using files::FileReader;

namespace {

constexpr size_t kMostLengths = 40;   // prefixes that are tried, each with more names than the one before
constexpr size_t kMostDecisive = 24;  // calls on disk that are tried without, the last ones

}  // namespace

std::optional<ChosenTree> LeastTree::fitted(const std::vector<uint32_t>& alternatives, const Wishes& wishes) {
  world_.effort()->begin();
  for (uint32_t part = 0; part < alternatives.size(); ++part) {
    if (!std::ranges::binary_search(world_.possible(part), alternatives[part])) return std::nullopt;
  }
  const files::Disk& disk = world_.disk();
  ChosenTree out{alternatives, {}};
  for (const uint64_t number : disk.open_inodes()) {
    const InodeKind kind = disk.inode(number).kind;
    if (kind == InodeKind::kFolder) continue;
    const auto wish = wishes.find(number);
    if (kind == InodeKind::kLink) {
      out.files[number].bad = wish != wishes.end() && wish->second.bad;
      continue;
    }
    const auto* const view = world_.view(number, alternatives);
    const FileReader reader(disk, *view, world_.effort());
    FileAnswers answers;
    if (wish != wishes.end()) {
      answers = answers_of(wish->second, disk);
      if (!reader.agrees(answers)) {
        // A longer prefix makes some contents illegal: these are given back.
        std::erase_if(answers.sectors, [&](const auto& each) {
          FileAnswers one;
          one.sectors.insert(each);
          return !reader.agrees(one);
        });
        if (!reader.agrees(answers)) answers.size.reset();
        if (!reader.agrees(answers)) answers = {};
      }
    }
    if (!reader.agrees(answers)) return std::nullopt;
    out.files[number] = reader.newest(answers);
    out.files[number].bad = wish != wishes.end() && wish->second.bad && disk.may_be_bad(number);
  }
  return out;
}

bool LeastTree::take(const std::optional<ChosenTree>& tried, ChosenTree* tree) {
  if (!tried || *tried == *tree || shows_(*tried) != Shown::kWrong) return false;
  *tree = *tried;
  return true;
}

bool LeastTree::give_back_names(ChosenTree* tree) {
  bool some = false;
  for (uint32_t part = 0; part < world_.parts(); ++part) {
    // From the alternative that has lost least on, up to the one at hand.
    size_t tried = 0;
    for (const uint32_t each : world_.newest_first(world_.possible(part))) {
      if (each == tree->alternatives[part] || ++tried > kMostLengths) break;
      std::vector<uint32_t> alternatives = tree->alternatives;
      alternatives[part] = each;
      if (!take(fitted(alternatives, tree->files), tree)) continue;
      some = true;
      break;
    }
  }
  return some;
}

void LeastTree::give_back_sectors(uint64_t inode, const std::vector<uint64_t>& sectors, ChosenTree* tree) {
  if (sectors.empty()) return;
  const ChosenTree all = *fitted(tree->alternatives, {});
  Wishes wishes = tree->files;
  for (const uint64_t sector : sectors) wishes[inode].sectors[sector] = all.files.at(inode).sectors.at(sector);
  if (take(fitted(tree->alternatives, wishes), tree) || sectors.size() == 1) return;
  const auto half = sectors.begin() + static_cast<ptrdiff_t>(sectors.size() / 2);
  give_back_sectors(inode, {sectors.begin(), half}, tree);
  give_back_sectors(inode, {half, sectors.end()}, tree);
}

bool LeastTree::give_back_contents(ChosenTree* tree) {
  const ChosenTree before = *tree;
  const auto newest = fitted(tree->alternatives, {});
  if (!newest || take(newest, tree)) return *tree != before;
  for (const auto& [inode, contents] : before.files) {
    const FileContents& all = newest->files.at(inode);
    if (contents == all) continue;
    Wishes wishes = tree->files;
    wishes.erase(inode);
    if (take(fitted(tree->alternatives, wishes), tree)) continue;
    wishes = tree->files;
    wishes[inode].bad = false;
    take(fitted(tree->alternatives, wishes), tree);
    wishes = tree->files;
    wishes[inode].size = all.size;
    take(fitted(tree->alternatives, wishes), tree);
    std::vector<uint64_t> lost;
    for (const auto& [sector, content] : tree->files.at(inode).sectors) {
      if (content != all.sectors.at(sector)) lost.push_back(sector);
    }
    give_back_sectors(inode, lost, tree);
  }
  return *tree != before;
}

ChosenTree LeastTree::find(ChosenTree tree) {
  if (take(files::TreeBox(&world_).newest(), &tree)) return tree;
  for (int round = 0; round < 3; ++round) {
    const bool names = give_back_names(&tree);
    if (!give_back_contents(&tree) && !names) break;
  }
  return tree;
}

std::optional<ChosenTree> LeastTree::without(uint32_t call, const ChosenTree& tree) {
  const auto loses = [&](const ChosenTree& tried) {
    const files::CallFates fates = fates_of(&world_, tried);
    const auto found = fates.find(call);
    return found != fates.end() && found->second.on_disk == 0;
  };
  // Contents first: other names may take more calls with them.
  for (const bool later : {false, true}) {
    const auto made = fitted(tree.alternatives, contents_without(call, later, tree));
    if (made && loses(*made)) return made;
  }
  for (uint32_t part = 0; part < world_.parts(); ++part) {
    size_t tried = 0;
    for (const uint32_t each : world_.newest_first(world_.possible(part))) {
      if (++tried > 4 * kMostLengths) break;
      std::vector<uint32_t> alternatives = tree.alternatives;
      alternatives[part] = each;
      const auto made = fitted(alternatives, tree.files);
      if (made && loses(*made)) return made;
    }
  }
  return std::nullopt;
}

LeastTree::Wishes LeastTree::contents_without(uint32_t call, bool later, const ChosenTree& tree) {
  Wishes wishes = tree.files;
  const files::Disk& disk = world_.disk();
  for (auto& [number, contents] : wishes) {
    const files::Inode& inode = disk.inode(number);
    if (inode.kind != InodeKind::kFile) continue;
    bool shown = false;  // a version of the call or, with `later`, one that may be a later call's
    for (uint32_t each = inode.newest_size(); each > inode.size_floor; --each) {
      shown = contents.size == inode.size_at(each).size || (shown && later);
      if (shown && inode.size_at(each).by == call) contents.size = inode.size_at(each - 1).size;
    }
    for (auto& [place, content] : contents.sectors) {
      const files::Sector& sector = inode.sectors.at(place);
      shown = false;
      for (uint32_t each = sector.newest(); each > std::max(sector.floor, sector.first); --each) {
        shown = content == sector[each].value || (shown && later);
        if (shown && sector[each].by == call) content = sector[each - 1].value;
      }
    }
  }
  return wishes;
}

std::set<uint32_t> LeastTree::decisive(const ChosenTree& least) {
  std::set<uint32_t> lost, out;
  std::vector<uint32_t> on_disk;
  for (const auto& [call, fate] : fates_of(&world_, least)) {
    if (fate.lost > 0) lost.insert(call);
    if (fate.on_disk > 0) on_disk.push_back(call);
  }
  // The last calls first. A call that cannot be lost without one that is known to be needed tells nothing by itself.
  const uint32_t earliest = lost.empty() ? 0 : *lost.begin();
  const size_t first = on_disk.size() - std::min(on_disk.size(), kMostDecisive);
  for (size_t i = on_disk.size(); i-- > first;) {
    const auto tried = without(on_disk[i], least);
    if (!tried) continue;
    const bool alone = std::ranges::none_of(
        fates_of(&world_, *tried), [&](const auto& each) { return each.second.lost > 0 && out.contains(each.first); });
    if (!alone) continue;
    const Shown shown = shows_(*tried);
    if (shown == Shown::kRight || (shown == Shown::kOther && on_disk[i] > earliest)) out.insert(on_disk[i]);
  }
  out.insert(lost.begin(), lost.end());
  return out;
}

}  // namespace powercut
