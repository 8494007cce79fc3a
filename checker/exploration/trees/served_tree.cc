#include "checker/exploration/trees/served_tree.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace powercut {

using files::PathId;

ServedTree::ServedTree(files::TreeWorld* world, files::ChosenTree tree, const ModeOf* mode)
    : world_(*world), disk_(world->disk()), tree_(std::move(tree)), mode_(mode) {}

std::string ServedTree::path(uint64_t inode) const {
  std::string out;
  if (const auto names = world_.names_to(tree_, inode)) {
    for (const std::string_view name : *names) out = std::string(name) + (out.empty() ? "" : "/") + out;
  }
  return out;
}

ImageNode ServedTree::node(uint64_t number) const {
  const files::Inode& inode = disk_.inode(number);
  ImageNode out{.kind = inode.kind, .size = inode.size(), .target = inode.target};
  if (const auto found = tree_.files.find(number); found != tree_.files.end()) {
    out.bad = found->second.bad;
    if (inode.kind == InodeKind::kFile) out.size = found->second.size;
  }
  if (inode.kind == InodeKind::kFolder) {
    out.bad = std::ranges::any_of(disk_.holders(number), [&](const files::NamedEntry* holder) {
      const files::Where where = world_.at(tree_.alternatives, holder->first.folder, holder->first.name);
      return where.inode == number && where.bad;
    });
  } else {
    out.links = world_.links(tree_.alternatives, number);
  }
  out.mode = (*mode_)(path(number), inode.kind);
  return out;
}

uint64_t ServedTree::look_up(uint64_t folder, std::string_view name) const {
  return world_.at(tree_.alternatives, folder, name).inode;
}

std::vector<std::pair<std::string, uint64_t>> ServedTree::names(uint64_t folder) const {
  std::vector<std::pair<std::string, uint64_t>> out;
  world_.each_name(folder, [&](const std::string& name, uint32_t, const auto&) {
    if (const uint64_t inode = look_up(folder, name); inode != 0) out.emplace_back(name, inode);
  });
  return out;
}

void ServedTree::read(uint64_t number, uint64_t offset, std::span<uint8_t> out) const {
  std::ranges::fill(out, uint8_t{0});
  const uint64_t size = world_.size(tree_, number);
  const uint64_t unit = disk_.units().sector;
  for (uint64_t at = offset; at < std::min(offset + out.size(), size);) {
    const uint64_t begin = at / unit * unit, end = std::min({begin + unit, offset + out.size(), size});
    const files::ContentId id = world_.content(tree_, number, begin / unit);
    if (id == files::kGarbage) {
      // Bytes that no program can take for its own data.
      std::ranges::fill(out.subspan(at - offset, end - at), uint8_t{0xA5});
    } else {
      std::memcpy(out.data() + (at - offset), disk_.contents()[id].data() + (at - begin), end - at);
    }
    at = end;
  }
}

std::vector<AskedQuestion> questions_of(const std::vector<Observation>& observations, files::TreeWorld* world,
                                        const files::ChosenTree& tree) {
  std::vector<AskedQuestion> out;
  std::set<files::Question> seen;
  std::map<uint64_t, PathId> paths{{kTreeRoot, files::kRootPath}};
  std::vector<PathId> asked;  // files
  files::Paths& names = world->paths();
  const auto ask = [&](const files::Question& question) {
    const files::Answer answer = answer_of(world, tree, asked, question);
    if (seen.insert(question).second) out.push_back({question, answer});
    return answer;
  };
  for (const Observation& each : observations) {
    const auto known = paths.find(each.inode);
    if (known == paths.end()) continue;  // the run's own inode
    const PathId path = known->second;
    const uint64_t unit = world->disk().units().sector;
    switch (each.kind) {
      case Observation::Kind::kName: {
        const PathId name = names.of(path, each.name);
        const files::Answer answer = ask({files::Question::Kind::kName, name});
        const uint64_t inode = world->at(tree.alternatives, each.inode, each.name).inode;
        if (inode == 0 || answer.kind == files::Answer::Kind::kBad || answer.kind == files::Answer::Kind::kSame) break;
        if (paths.try_emplace(inode, name).second && answer.kind != files::Answer::Kind::kFolder) asked.push_back(name);
        break;
      }
      case Observation::Kind::kNames:
        ask({files::Question::Kind::kNames, path});
        break;
      case Observation::Kind::kLinks:
        ask({files::Question::Kind::kLinks, path});
        break;
      case Observation::Kind::kSize:
        ask({files::Question::Kind::kSize, path});
        break;
      case Observation::Kind::kBytes:
        for (uint64_t sector = each.offset / unit; sector * unit < each.offset + each.size; ++sector) {
          if (ask({files::Question::Kind::kSector, path, sector}).kind != files::Answer::Kind::kSector) break;
        }
        break;
    }
  }
  return out;
}

}  // namespace powercut
