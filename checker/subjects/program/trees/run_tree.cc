#include "checker/subjects/program/trees/run_tree.h"

#include <linux/falloc.h>
#include <linux/fs.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace powercut {
namespace {

constexpr size_t kLongestName = 255;

timespec now() {
  timespec out{};
  clock_gettime(CLOCK_REALTIME, &out);
  return out;
}

files::Allocation allocation_of(uint32_t mode) {
  const bool keep = (mode & FALLOC_FL_KEEP_SIZE) != 0;
  if ((mode & FALLOC_FL_PUNCH_HOLE) != 0) return files::Allocation::kPunch;
  if ((mode & FALLOC_FL_ZERO_RANGE) != 0) return keep ? files::Allocation::kZeroKeep : files::Allocation::kZero;
  return keep ? files::Allocation::kKeep : files::Allocation::kExtend;
}

}  // namespace

bool RunTree::Node::told() const {
  if (own || kind() == InodeKind::kFolder) return true;
  return links_known && (kind() == InodeKind::kLink || size || size_known);
}

RunTree::RunTree(const ImageTree& tree, bool keep_changes, uint64_t first_new)
    : tree_(tree), keep_changes_(keep_changes), next_new_(first_new) {
  of_image(kTreeRoot, nullptr);
}

RunTree::Node& RunTree::add(uint64_t inode, bool own, ImageNode image) {
  Node& out = nodes_.emplace_back();
  out.index = nodes_.size() - 1;
  out.inode = inode;
  out.own = own;
  out.image = std::move(image);
  by_inode_[inode] = &out;
  return out;
}

RunTree::Node& RunTree::of_image(uint64_t inode, Node* parent) {
  const auto found = by_inode_.find(inode);
  if (found != by_inode_.end()) return *found->second;
  Node& out = add(inode, false, tree_.node(inode));
  out.parent = parent;
  return out;
}

RunTree::Node* RunTree::find(Node& folder, std::string_view name, bool* bad) {
  *bad = false;
  if (const auto own = folder.names.find(name); own != folder.names.end()) return own->second;
  if (folder.own) return nullptr;
  auto known = folder.looked_up.find(name);
  if (known == folder.looked_up.end()) {
    const uint64_t inode = tree_.look_up(folder.inode, name);
    known = folder.looked_up.emplace(name, inode).first;
    // A list of all names has told of each name that is not there.
    if (inode != 0 || !folder.names_known) {
      tell({.kind = Observation::Kind::kName, .inode = folder.inode, .name = std::string(name)});
    }
  }
  if (known->second == 0) return nullptr;
  const auto met = by_inode_.find(known->second);
  if (met != by_inode_.end()) return met->second;
  if (tree_.node(known->second).bad) {
    *bad = true;
    return nullptr;
  }
  return &of_image(known->second, &folder);
}

int RunTree::look_up(Node& folder, std::string_view name, Node** found) {
  if (name.size() > kLongestName) return ENAMETOOLONG;
  bool bad = false;
  *found = find(folder, name, &bad);
  return bad ? EIO : *found == nullptr ? ENOENT : 0;
}

std::map<std::string, std::pair<uint64_t, InodeKind>> RunTree::names_now(const Node& folder) const {
  std::map<std::string, std::pair<uint64_t, InodeKind>> out;
  if (!folder.own) {
    for (auto& [name, inode] : tree_.names(folder.inode)) out[name] = {inode, tree_.node(inode).kind};
  }
  for (const auto& [name, node] : folder.names) {
    if (node == nullptr) {
      out.erase(name);
    } else {
      out[name] = {node->inode, node->kind()};
    }
  }
  return out;
}

std::vector<RunTree::Named> RunTree::list(Node& folder) {
  if (!folder.own && !std::exchange(folder.names_known, true)) {
    tell({.kind = Observation::Kind::kNames, .inode = folder.inode});
  }
  std::vector<Named> out;
  for (const auto& [name, at] : names_now(folder)) out.push_back({name, at.first, at.second});
  return out;
}

void RunTree::tell_size(Node& file) {
  if (file.own || file.size || file.kind() != InodeKind::kFile || std::exchange(file.size_known, true)) return;
  file.end_known = true;
  tell({.kind = Observation::Kind::kSize, .inode = file.inode});
}

void RunTree::ask(Node& node) {
  if (node.own || node.kind() == InodeKind::kFolder) return;
  tell_size(node);
  if (!std::exchange(node.links_known, true)) tell({.kind = Observation::Kind::kLinks, .inode = node.inode});
}

void RunTree::ask_opened() {
  for (Node& node : nodes_) {
    if (node.opened) tell_size(node);
  }
}

std::string RunTree::bytes_now(const Node& file, uint64_t offset, uint64_t size) const {
  const uint64_t end = file.size_now();
  std::string out(offset < end ? std::min(size, end - offset) : 0, '\0');
  const std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(out.data()), out.size());
  if (!file.own && offset < file.cut) {
    tree_.read(file.inode, offset, bytes.first(std::min(bytes.size(), file.cut - offset)));
  }
  file.bytes.lay_over(offset, bytes);
  return out;
}

std::string RunTree::read(Node& file, uint64_t offset, uint64_t size, bool by_page) {
  // A mapping shows where the file ends, since an access behind the end ends the program.
  if (by_page) tell_size(file);
  if (!file.own) {
    uint64_t reach = std::min(offset + size, file.cut);
    if (file.size) {
      reach = std::min(reach, *file.size);
    } else if (file.end_known) {
      reach = std::min(reach, file.image.size);
    }
    // Behind what the run has written, zeros of its own still show whether the file reaches there.
    const uint64_t sure = file.size || file.end_known ? reach : std::min(reach, file.grown);
    std::vector<FileRange> parts = file.bytes.missing(offset, sure);
    parts.emplace_back(std::max(offset, sure), reach);
    for (const auto& [first, last] : parts) {
      for (const auto& [begin, end] : file.known.missing(first, last)) {
        tell({.kind = Observation::Kind::kBytes, .inode = file.inode, .offset = begin, .size = end - begin});
        file.known.add(begin, end);
        file.end_known = file.end_known || end > file.image.size;
      }
    }
  }
  return bytes_now(file, offset, size);
}

void RunTree::note(files::EffectKind kind, uint64_t inode, const std::function<void(files::Effect&)>& fill) {
  if (!keep_changes_) return;
  files::Effect& effect = changes_.emplace_back();
  effect.kind = kind;
  effect.inode = inode;
  fill(effect);
}

void RunTree::touch(Node& node) { node.written = node.changed = now(); }

void RunTree::write(Node& file, uint64_t offset, std::span<const uint8_t> bytes, bool appends, files::Through through) {
  if (appends) {
    tell_size(file);
    offset = file.size_now();
  }
  file.bytes.write(offset, bytes);
  const uint64_t end = offset + bytes.size();
  if (file.size) {
    file.size = std::max(*file.size, end);
  } else {
    file.grown = std::max(file.grown, end);
  }
  touch(file);
  note(files::EffectKind::kWrite, file.inode, [&](files::Effect& effect) {
    effect.offset = offset;
    effect.data.assign(bytes.begin(), bytes.end());
    effect.through = through;
  });
}

void RunTree::resize(Node& file, uint64_t size) {
  file.cut = std::min(file.cut, size);
  file.bytes.cut(size);
  file.size = size;
  touch(file);
  note(files::EffectKind::kSize, file.inode, [&](files::Effect& effect) { effect.size = size; });
}

int RunTree::allocate(Node& file, uint64_t offset, uint64_t size, uint32_t mode) {
  const bool keep = (mode & FALLOC_FL_KEEP_SIZE) != 0;
  if ((mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0) file.bytes.zero(offset, offset + size);
  if (!keep && file.size) file.size = std::max(*file.size, offset + size);
  if (!keep && !file.size) file.grown = std::max(file.grown, offset + size);
  touch(file);
  note(files::EffectKind::kAllocate, file.inode, [&](files::Effect& effect) {
    effect.offset = offset;
    effect.size = size;
    effect.allocation = allocation_of(mode);
  });
  return 0;
}

void RunTree::set_name(Node& folder, std::string_view name, Node* node) {
  folder.names.insert_or_assign(std::string(name), node);
  if (node != nullptr) node->parent = &folder;
  touch(folder);
}

// Takes one name of the inode away.
void RunTree::drop(Node& node) {
  --node.more_links;
  node.changed = now();
}

int RunTree::make(Node& folder, std::string_view name, const ImageNode& what, Node** made) {
  if (name.size() > kLongestName) return ENAMETOOLONG;
  bool bad = false;
  if (!name.empty() && (find(folder, name, &bad) != nullptr || bad)) return EEXIST;
  Node& node = add(next_new_++, true, what);
  node.size = what.size;
  node.accessed = now();
  touch(node);
  if (!name.empty()) set_name(folder, name, &node);
  if (name.empty()) node.more_links = -1;
  const auto kind = name.empty() ? files::EffectKind::kInode : files::EffectKind::kCreate;
  note(kind, node.inode, [&](files::Effect& effect) {
    if (!name.empty()) effect.folder = folder.inode;
    effect.name = name;
    effect.inode_kind = what.kind;
    effect.target = what.target;
  });
  *made = &node;
  return 0;
}

int RunTree::link(Node& node, Node& folder, std::string_view name) {
  if (name.size() > kLongestName) return ENAMETOOLONG;
  bool bad = false;
  if (find(folder, name, &bad) != nullptr || bad) return EEXIST;
  set_name(folder, name, &node);
  ++node.more_links;
  node.changed = now();
  note(files::EffectKind::kLink, node.inode, [&](files::Effect& effect) {
    effect.folder = folder.inode;
    effect.name = name;
  });
  return 0;
}

int RunTree::unlink(Node& folder, std::string_view name) {
  Node* node = nullptr;
  if (const int wrong = look_up(folder, name, &node)) return wrong;
  set_name(folder, name, nullptr);
  drop(*node);
  note(files::EffectKind::kUnlink, node->inode, [&](files::Effect& effect) {
    effect.folder = folder.inode;
    effect.name = name;
  });
  return 0;
}

int RunTree::remove_folder(Node& folder, std::string_view name) {
  Node* node = nullptr;
  if (const int wrong = look_up(folder, name, &node)) return wrong;
  return list(*node).empty() ? unlink(folder, name) : ENOTEMPTY;
}

int RunTree::rename(Node& folder, std::string_view name, Node& to_folder, std::string_view to_name, uint32_t flags) {
  if ((flags & ~static_cast<uint32_t>(RENAME_NOREPLACE | RENAME_EXCHANGE)) != 0) return EINVAL;
  if (to_name.size() > kLongestName) return ENAMETOOLONG;
  Node *node = nullptr, *over = nullptr;
  if (const int wrong = look_up(folder, name, &node)) return wrong;
  const int there = look_up(to_folder, to_name, &over);
  if (there != 0 && there != ENOENT) return there;
  const bool exchange = (flags & RENAME_EXCHANGE) != 0;
  if (exchange && over == nullptr) return ENOENT;
  if ((flags & RENAME_NOREPLACE) != 0 && over != nullptr) return EEXIST;
  if (node == over) return 0;
  if (!exchange && over != nullptr && over->kind() == InodeKind::kFolder && !list(*over).empty()) return ENOTEMPTY;
  set_name(folder, name, exchange ? over : nullptr);
  set_name(to_folder, to_name, node);
  node->changed = now();
  if (exchange) over->changed = now();
  if (!exchange && over != nullptr) drop(*over);
  note(files::EffectKind::kRename, node->inode, [&](files::Effect& effect) {
    effect.folder = folder.inode;
    effect.name = name;
    effect.to_folder = to_folder.inode;
    effect.to_name = to_name;
    effect.exchange = exchange;
  });
  return 0;
}

void RunTree::sync(Node& node, files::SyncKind kind) {
  note(files::EffectKind::kSync, node.inode, [&](files::Effect& effect) { effect.sync = kind; });
}

void RunTree::attributes(Node& node) {
  node.changed = now();
  note(files::EffectKind::kAttributes, node.inode, [](files::Effect&) {});
}

// Inodes that the run has not met are as the tree has them.
class LeftTree : public ImageTree {
 public:
  explicit LeftTree(std::shared_ptr<RunTree> run) : run_(std::move(run)) {}

  ImageNode node(uint64_t inode) const override {
    const RunTree::Node* met = find(inode);
    if (met == nullptr) return run_->tree_.node(inode);
    ImageNode out = met->image;
    out.size = met->size_now();
    out.mode = met->mode_now();
    out.links = met->links_now();
    return out;
  }
  uint64_t look_up(uint64_t folder, std::string_view name) const override {
    const RunTree::Node* met = find(folder);
    if (met == nullptr) return run_->tree_.look_up(folder, name);
    if (const auto own = met->names.find(name); own != met->names.end()) {
      return own->second == nullptr ? 0 : own->second->inode;
    }
    return met->own ? 0 : run_->tree_.look_up(folder, name);
  }
  std::vector<std::pair<std::string, uint64_t>> names(uint64_t folder) const override {
    const RunTree::Node* met = find(folder);
    if (met == nullptr) return run_->tree_.names(folder);
    std::vector<std::pair<std::string, uint64_t>> out;
    for (const auto& [name, at] : run_->names_now(*met)) out.emplace_back(name, at.first);
    return out;
  }
  void read(uint64_t inode, uint64_t offset, std::span<uint8_t> out) const override {
    const RunTree::Node* met = find(inode);
    if (met == nullptr) return run_->tree_.read(inode, offset, out);
    const std::string bytes = run_->bytes_now(*met, offset, out.size());
    std::ranges::fill(std::ranges::copy(bytes, out.begin()).out, out.end(), uint8_t{0});
  }

 private:
  const RunTree::Node* find(uint64_t inode) const {
    const auto found = run_->by_inode_.find(inode);
    return found == run_->by_inode_.end() ? nullptr : found->second;
  }
  const std::shared_ptr<RunTree> run_;
};

std::unique_ptr<ImageTree> RunTree::left(std::shared_ptr<RunTree> run) {
  return std::make_unique<LeftTree>(std::move(run));
}

}  // namespace powercut
