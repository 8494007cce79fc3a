#include "replayer/media/files/tree_world.h"

#include <algorithm>

namespace powercut::files {

PathId Paths::of(PathId folder, std::string_view name) {
  const auto [found, fresh] = numbers_.try_emplace({folder, std::string(name)}, paths_.size() + 1);
  if (fresh) paths_.emplace_back(folder, name);
  return found->second;
}

std::string Paths::text(PathId path) const {
  std::string out;
  for (; path != kRootPath; path = folder(path)) out = out.empty() ? name(path) : name(path) + "/" + out;
  return out;
}

TreeWorld::TreeWorld(const Disk& disk, Paths* paths, uint64_t most_effort)
    : disk_(disk), paths_(paths), effort_{most_effort}, choices_(disk, Choices::Parts::kApart, &effort_), views_(disk) {
  if (!known()) return;
  for (uint32_t part = 0; part < parts(); ++part) {
    own(part);
    possible_.push_back(possible_of(part));
  }
  resolved_[kRootPath] = {kSettled, {{kTreeRoot}}};
}

// Takes the names of a part's alternatives apart. Places are paths below the root, below "/FOLDER", or "/INODE" for a
// file that stays where it is.
void TreeWorld::own(uint32_t part) {
  const auto& alternatives = choices_.parts()[part].alternatives;
  for (uint32_t number = 0; number < alternatives.size(); ++number) {
    absl::flat_hash_map<std::string_view, uint64_t> folders;
    for (const Place& place : alternatives[number].places) {
      const std::string_view path = place.path;
      const size_t slash = path.rfind('/');
      if (disk_.inode(place.inode).kind != InodeKind::kFolder) part_of_[place.inode] = part;
      if (slash == 0) continue;
      folders[path] = place.inode;
      uint64_t folder = kTreeRoot;
      if (slash != std::string_view::npos) {
        const std::string_view above = path.substr(0, slash);
        const auto found = folders.find(above);
        folder = found != folders.end() ? found->second : std::stoull(std::string(above.substr(1)));
      }
      const std::string_view name = path.substr(slash == std::string_view::npos ? 0 : slash + 1);
      Owned& owned = owned_[{folder, std::string(name)}];
      owned.part = part;
      owned.by.resize(alternatives.size());
      owned.by[number] = {place.inode, place.bad};
    }
  }
}

// Without an order all versions are possible, so a part below a folder never rules the folder out.
std::vector<uint32_t> TreeWorld::possible_of(uint32_t part) {
  std::vector<uint32_t> out;
  absl::flat_hash_map<const FileView*, bool> known;
  for (uint32_t number = 0; number < alternatives(part); ++number) {
    const bool possible =
        std::ranges::all_of(choices_.parts()[part].alternatives[number].places, [&](const Place& place) {
          const bool open = disk_.open_inodes().contains(place.inode);
          if (!open || disk_.inode(place.inode).kind != InodeKind::kFile) return true;
          const FileView* const view = this->view(place.inode, part, number);
          const auto [found, fresh] = known.try_emplace(view);
          if (fresh) found->second = FileReader(disk_, *view, &effort_).agrees({});
          return found->second;
        });
    if (possible) out.push_back(number);
  }
  return out;
}

const TreeWorld::Owned* TreeWorld::owner(uint64_t folder, std::string_view name) const {
  const auto found = owned_.find(std::pair(folder, std::string(name)));
  return found == owned_.end() ? nullptr : &found->second;
}

uint32_t TreeWorld::part_of(uint64_t inode) const {
  const auto found = part_of_.find(inode);
  return found == part_of_.end() ? kSettled : found->second;
}

const TreeWorld::Resolved& TreeWorld::resolve(PathId path) {
  const auto found = resolved_.find(path);
  if (found != resolved_.end()) return found->second;
  Resolved made = resolved(path);
  return resolved_[path] = std::move(made);
}

TreeWorld::Resolved TreeWorld::resolved(PathId path) {
  const Resolved above = resolve(paths_->folder(path));
  const std::string& name = paths_->name(path);
  // Names in a folder belong to the part of the folder's own name. Some folders hold parts: no other path leads there,
  // and the names in the folder have parts of their own.
  Resolved out{above.part, {}};
  for (const Where& where : above.by) {
    Where& here = out.by.emplace_back();
    if (where.inode == 0 || where.bad || disk_.inode(where.inode).kind != InodeKind::kFolder) continue;
    if (const Owned* const owned = owner(where.inode, name)) {
      if (owned->part != above.part) return {owned->part, owned->by};
      here = owned->by[out.by.size() - 1];
    } else if (const auto entry = disk_.entries().find({where.inode, name}); entry != disk_.entries().end()) {
      here = {entry->second.base};
    }
  }
  if (out.part != kSettled || out.by[0].inode == 0) return out;
  // The contents of a file that stays may depend on the alternatives of a part.
  const uint32_t part = part_of(out.by[0].inode);
  if (part != kSettled) out = {part, std::vector<Where>(alternatives(part), out.by[0])};
  return out;
}

std::vector<uint32_t> TreeWorld::newest_first(std::vector<uint32_t> some) const {
  // In one order the longest prefix comes last; without an order all steps come first.
  if (disk_.switches().order != Order::kAny) std::ranges::reverse(some);
  return some;
}

const OnDisk& TreeWorld::on_disk(uint32_t part, uint32_t alternative) const {
  return part == kSettled ? choices_.any() : choices_.parts()[part].alternatives[alternative].on_disk;
}

const FileView* TreeWorld::view(uint64_t inode, uint32_t part, uint32_t alternative) {
  return views_.of(inode, on_disk(part, alternative));
}

bool TreeWorld::may_be_linked(uint64_t inode) {
  if (inode == kTreeRoot) return false;
  const auto [found, fresh] = may_be_linked_.try_emplace(inode, false);  // a folder may be within itself
  if (!fresh) return found->second;
  const auto& holders = disk_.holders(inode);
  const bool linked = holders.size() > 1 || std::ranges::any_of(holders, [&](const NamedEntry* holder) {
                        return may_be_linked(holder->first.folder);
                      });
  return may_be_linked_[inode] = linked;
}

const FileView* TreeWorld::view(uint64_t inode, const std::vector<uint32_t>& alternatives) {
  const uint32_t part = part_of(inode);
  return view(inode, part, part == kSettled ? 0 : alternatives[part]);
}

Where TreeWorld::at(const std::vector<uint32_t>& alternatives, uint64_t folder, std::string_view name) const {
  if (const Owned* const owned = owner(folder, name)) return owned->by[alternatives[owned->part]];
  const auto entry = disk_.entries().find({folder, std::string(name)});
  return {entry == disk_.entries().end() ? 0 : entry->second.base};
}

Where TreeWorld::at(const ChosenTree& tree, PathId path) {
  const Resolved& resolved = resolve(path);
  return resolved.by[resolved.part == kSettled ? 0 : tree.alternatives[resolved.part]];
}

std::optional<std::vector<std::string_view>> TreeWorld::names_to(const ChosenTree& tree, uint64_t inode) const {
  constexpr size_t kDeepest = 256;  // a folder may be within itself
  std::vector<std::string_view> names;
  while (inode != kTreeRoot) {
    const auto& holders = disk_.holders(inode);
    const auto holder = std::ranges::find_if(holders, [&](const NamedEntry* each) {
      return at(tree.alternatives, each->first.folder, each->first.name).inode == inode;
    });
    if (holder == holders.end() || names.size() > kDeepest) return std::nullopt;
    names.push_back((*holder)->first.name);
    inode = (*holder)->first.folder;
  }
  return names;
}

uint64_t TreeWorld::size(const ChosenTree& tree, uint64_t inode) const {
  const auto chosen = tree.files.find(inode);
  return chosen == tree.files.end() ? disk_.inode(inode).size() : chosen->second.size;
}

ContentId TreeWorld::content(const ChosenTree& tree, uint64_t inode, uint64_t sector) const {
  if (const auto chosen = tree.files.find(inode); chosen != tree.files.end()) {
    const auto found = chosen->second.sectors.find(sector);
    if (found != chosen->second.sectors.end()) return found->second;
  }
  return disk_.settled(disk_.inode(inode), sector);
}

uint32_t TreeWorld::links(const std::vector<uint32_t>& alternatives, uint64_t inode) const {
  uint32_t out = 0;
  for (const NamedEntry* holder : disk_.holders(inode)) {
    if (at(alternatives, holder->first.folder, holder->first.name).inode == inode) ++out;
  }
  return out;
}

}  // namespace powercut::files
