#include "replayer/media/files/legal_trees.h"

#include <algorithm>
#include <numeric>

namespace powercut::files {

std::optional<Count> LegalTrees::count(uint64_t most_effort) {
  if (disk_.too_large()) return std::nullopt;
  effort_ = {most_effort};
  views_.clear();
  counts_.clear();
  const Choices choices(disk_, Choices::Parts::kApart, &effort_);
  if (effort_.exceeded()) return std::nullopt;
  Count all = 1;
  for (const uint64_t number : choices.apart()) {
    KeptCount& kept = kept_[number];
    if (kept.stamp != disk_.inode(number).stamp) {
      const Count states = count_one(shown(number, false, choices.any()));
      if (effort_.exceeded()) return std::nullopt;
      kept = {disk_.inode(number).stamp, states};
    }
    all *= kept.count;
  }
  // Parts below a folder come before the part that has the folder's name.
  std::map<uint64_t, Count> below;
  std::vector<const ChoicePart*> left;
  for (const ChoicePart& part : choices.parts()) left.push_back(&part);
  const auto depth = [&](uint64_t folder) {
    size_t out = 0;
    for (; folder != kTreeRoot && choices.holds_parts(folder); ++out) {
      folder = (*disk_.holders(folder).begin())->first.folder;
    }
    return out;
  };
  std::ranges::sort(left, std::greater(), [&](const ChoicePart* part) { return depth(part->folder); });
  for (const ChoicePart* part : left) {
    const Count trees = count(*part, choices, below);
    if (effort_.exceeded()) return std::nullopt;
    if (part->folder == kTreeRoot) {
      all *= trees;
    } else {
      below.try_emplace(part->folder, 1).first->second *= trees;
    }
  }
  return all;
}

Count LegalTrees::count(const ChoicePart& part, const Choices& choices, const std::map<uint64_t, Count>& below) {
  Count all = 0;
  for (const Group& group : groups_of(part, choices)) {
    Count trees = count(group);
    for (const uint64_t folder : group.folders) {
      if (const auto found = below.find(folder); found != below.end()) trees *= found->second;
    }
    all += trees;
  }
  return all;
}

Count LegalTrees::count(const Group& group) {
  Alternatives every(group.shown.size());
  std::iota(every.begin(), every.end(), 0);
  std::map<Alternatives, Count> alive{{every, 1}};
  for (const Cluster& cluster : clusters_of(group)) {
    std::map<Alternatives, Count> next;
    std::optional<Readings> readings;
    for (const auto& [alternatives, count] : alive) {
      const std::vector<Shown>& first = cluster.shown[alternatives.front()];
      const bool same = std::ranges::all_of(alternatives, [&](uint32_t each) { return cluster.shown[each] == first; });
      if (same && first.size() == 1) {
        next[alternatives] += count * count_one(first[0]);
        continue;
      }
      if (!readings) readings.emplace(disk_, cluster.shown, &effort_);
      for (const auto& [some, found] : readings->count(alternatives)) next[some] += count * found;
      if (effort_.exceeded()) return 0;
    }
    alive = std::move(next);
  }
  Count all = 0;
  for (const auto& [alternatives, count] : alive) all += count;
  return all;
}

// Returns the number of states of what one path leads to.
Count LegalTrees::count_one(const Shown& shown) {
  Count files = 1;
  if (shown.file != nullptr) {
    const auto found = counts_.find(shown.file);
    if (found != counts_.end()) {
      files = found->second;
    } else {
      Shown whole = shown;
      whole.may_be_bad = false;
      files = 0;
      for (const auto& [alternatives, count] : Readings(disk_, {{whole}}, &effort_).count({0})) files += count;
      counts_.emplace(shown.file, files);
    }
  }
  return shown.may_be_bad ? files + 1 : files;
}

std::vector<LegalTrees::Group> LegalTrees::groups_of(const ChoicePart& part, const Choices& choices) {
  std::map<std::vector<std::pair<std::string, bool>>, Group> groups;
  for (const Alternative& alternative : part.alternatives) {
    std::vector<std::pair<std::string, bool>> key;
    std::vector<Shown> every;
    std::vector<uint64_t> folders;
    for (const Place& place : alternative.places) {
      const bool folder = disk_.inode(place.inode).kind == InodeKind::kFolder;
      key.emplace_back(place.path, folder && !place.bad);
      every.push_back(shown(place.inode, place.bad, alternative.on_disk));
      if (folder && !place.bad && choices.holds_parts(place.inode)) folders.push_back(place.inode);
    }
    effort_.follow(every.size());
    if (effort_.exceeded()) return {};
    Group& group = groups[key];
    if (group.shown.empty()) {
      for (const Place& place : alternative.places) group.paths.push_back(place.path);
      group.folders = std::move(folders);
    }
    // Neighbours are often equal.
    if (group.shown.empty() || group.shown.back() != every) group.shown.push_back(std::move(every));
  }
  std::vector<Group> out;
  for (auto& [key, group] : groups) out.push_back(std::move(group));
  return out;
}

std::vector<LegalTrees::Cluster> LegalTrees::clusters_of(const Group& group) {
  std::vector<size_t> top(group.paths.size());
  std::iota(top.begin(), top.end(), 0);
  const auto find = [&](size_t path) {
    while (top[path] != path) path = top[path] = top[top[path]];
    return path;
  };
  for (const std::vector<Shown>& paths : group.shown) {
    std::map<uint64_t, size_t> first;
    for (size_t path = 0; path < paths.size(); ++path) {
      top[find(path)] = find(first.try_emplace(paths[path].inode, path).first->second);
    }
  }
  std::map<size_t, Cluster> clusters;
  for (size_t path = 0; path < top.size(); ++path) clusters[find(path)].paths.push_back(path);
  std::vector<Cluster> out;
  for (auto& [number, cluster] : clusters) {
    for (const std::vector<Shown>& paths : group.shown) {
      std::vector<Shown>& some = cluster.shown.emplace_back();
      for (const size_t path : cluster.paths) some.push_back(paths[path]);
    }
    out.push_back(std::move(cluster));
  }
  return out;
}

Shown LegalTrees::shown(uint64_t number, bool bad, const OnDisk& on_disk) {
  const Inode& inode = disk_.inode(number);
  const bool folder = inode.kind == InodeKind::kFolder;
  return {.inode = number,
          .file = inode.kind == InodeKind::kFile ? views_.of(number, on_disk) : nullptr,
          .bad = bad,
          .may_be_bad = !folder && disk_.may_be_bad(number)};
}

bool LegalTrees::each(uint64_t most_effort, const std::function<void(const Tree&)>& use) {
  effort_ = {most_effort};
  views_.clear();
  counts_.clear();
  const Choices choices(disk_, Choices::Parts::kWhole, &effort_);
  for (const ChoicePart& part : choices.parts()) {
    for (const Group& group : groups_of(part, choices)) {
      Alternatives every(group.shown.size());
      std::iota(every.begin(), every.end(), 0);
      Tree tree;
      for (const std::string& path : group.paths) tree.push_back({path, {}});
      each(clusters_of(group), 0, every, &tree, use);
    }
  }
  return !effort_.exceeded();
}

void LegalTrees::each(const std::vector<Cluster>& clusters, size_t place, const Alternatives& alive, Tree* tree,
                      const std::function<void(const Tree&)>& use) {
  if (place == clusters.size()) {
    use(*tree);
    return;
  }
  const Cluster& cluster = clusters[place];
  Readings(disk_, cluster.shown, &effort_).each(alive, [&](const auto& letters, const Alternatives& some) {
    for (size_t path = 0; path < cluster.paths.size(); ++path) (*tree)[cluster.paths[path]].letters = letters[path];
    each(clusters, place + 1, some, tree, use);
  });
}

}  // namespace powercut::files
