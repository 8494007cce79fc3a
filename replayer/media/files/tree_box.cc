#include "replayer/media/files/tree_box.h"

#include <algorithm>
#include <set>

namespace powercut::files {
namespace {

constexpr size_t kMostListings = 4096;

using Kind = Answer::Kind;

Answer answer(const Letter& letter) {
  if (letter.kind == Letter::Kind::kEnd) return {Kind::kEnd};
  return {letter.kind == Letter::Kind::kCut ? Kind::kCut : Kind::kSector, letter.size, letter.content};
}

Letter letter(const Answer& answer) {
  if (answer.kind == Kind::kEnd) return {Letter::Kind::kEnd};
  const auto content = static_cast<ContentId>(answer.value);
  return {answer.kind == Kind::kCut ? Letter::Kind::kCut : Letter::Kind::kSector, answer.extra, content};
}

// A listing as the bytes of an answer: names in their order. A folder holds the kind of an inode beside its name.
ContentId content_of(Contents& contents, const std::map<std::string, InodeKind>& listing) {
  std::string out;
  for (const auto& [name, kind] : listing) out += name + '/' + static_cast<char>('0' + static_cast<int>(kind)) + '/';
  return contents.of(out);
}

std::map<std::string, InodeKind> listing_of(std::string_view text) {
  std::map<std::string, InodeKind> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('/', at);
    out.emplace(text.substr(at, end - at), static_cast<InodeKind>(text[end + 1] - '0'));
    at = end + 3;
  }
  return out;
}

}  // namespace

TreeBox::TreeBox(TreeWorld* world) : world_(*world) {
  for (uint32_t part = 0; part < world_.parts(); ++part) alive_.push_back(world_.possible(part));
}

const TreeBox::Alive& TreeBox::alive(uint32_t part) const {
  static const Alive one{0};
  return part == kSettled ? one : alive_[part];
}

void TreeBox::leave(uint32_t part, const std::function<bool(uint32_t)>& stays) {
  if (part == kSettled) return;
  Alive left;
  for (const uint32_t each : alive_[part]) {
    if (stays(each)) left.push_back(each);
  }
  if (left.size() == alive_[part].size()) return;
  undo_alive_.emplace_back(part, std::exchange(alive_[part], std::move(left)));
}

void TreeBox::tell(PathId path, FileAnswers answers) {
  const auto [found, fresh] = files_.try_emplace(path);
  undo_files_.emplace_back(path, fresh ? std::nullopt : std::optional(found->second));
  if (fresh) asked_.push_back(path);
  found->second = std::move(answers);
}

void TreeBox::undo(Mark mark) {
  for (; undo_alive_.size() > mark.first; undo_alive_.pop_back()) {
    alive_[undo_alive_.back().first] = std::move(undo_alive_.back().second);
  }
  for (; undo_files_.size() > mark.second; undo_files_.pop_back()) {
    auto& [path, before] = undo_files_.back();
    if (before) {
      files_[path] = std::move(*before);
    } else {
      files_.erase(path);
      asked_.pop_back();
    }
  }
}

std::optional<FileAnswers> TreeBox::told_of(PathId path, uint32_t part, uint32_t alternative, const FileAnswers& more) {
  FileAnswers out = more;
  if (const auto found = files_.find(path); found != files_.end() && !out.add(found->second)) return std::nullopt;
  const uint64_t inode = world_.resolve(path).by[alternative].inode;
  if (!world_.may_be_linked(inode)) return out;
  for (const auto& [other, answers] : files_) {
    if (other == path) continue;
    const Resolved& resolved = world_.resolve(other);
    if (resolved.part != part || resolved.by[alternative].inode != inode) continue;
    if (!out.add(answers)) return std::nullopt;
  }
  return out;
}

FileReader TreeBox::reader(PathId path, uint32_t part, uint32_t alternative) {
  const uint64_t inode = world_.resolve(path).by[alternative].inode;
  return {world_.disk(), *world_.view(inode, part, alternative), world_.effort()};
}

bool TreeBox::agrees(PathId path, uint32_t part, uint32_t alternative, const FileAnswers& more) {
  const auto told = told_of(path, part, alternative, more);
  if (!told) return false;
  const uint64_t inode = world_.resolve(path).by[alternative].inode;
  if (world_.disk().inode(inode).kind != InodeKind::kFile) return true;
  return reader(path, part, alternative).agrees(*told);
}

uint32_t TreeBox::links(uint32_t part, uint32_t alternative, uint64_t inode) {
  // All names that may lead to an inode are in one part.
  if (!world_.may_be_linked(inode)) return 1;
  std::vector<uint32_t> alternatives(world_.parts(), 0);
  if (part != kSettled) alternatives[part] = alternative;
  return world_.links(alternatives, inode);
}

// -- names -------------------------------------------------------------------------------------------------------

// Returns the first file that was asked for and is this one in the alternative; the path itself if there is none.
PathId TreeBox::same_as(PathId path, uint32_t part, uint32_t alternative) {
  const uint64_t inode = world_.resolve(path).by[alternative].inode;
  if (!world_.may_be_linked(inode)) return path;
  for (const PathId other : asked_) {
    if (other == path) return path;
    const Resolved& resolved = world_.resolve(other);
    if (resolved.part == part && resolved.by[alternative].inode == inode) return other;
  }
  return path;
}

// Returns the answers about a name in one alternative: two if nobody knows whether the inode reached the disk.
std::vector<Answer> TreeBox::names_of(PathId path, uint32_t part, uint32_t alternative) {
  const Where where = world_.resolve(path).by[alternative];
  if (where.inode == 0) return {{Kind::kNothing}};
  if (where.bad) return {{Kind::kBad}};
  const Inode& inode = world_.disk().inode(where.inode);
  if (inode.kind == InodeKind::kFolder) return {{Kind::kFolder}};
  std::vector<Answer> out;
  const auto told = told_of(path, part, alternative, {});
  if (!told || told->bad != true) {
    const PathId same = same_as(path, part, alternative);
    out.push_back(same != path                     ? Answer{Kind::kSame, 0, same}
                  : inode.kind == InodeKind::kFile ? Answer{Kind::kFile}
                                                   : Answer{Kind::kLink, 0, world_.disk().contents().of(inode.target)});
  }
  if (world_.disk().may_be_bad(where.inode) && (!told || told->bad != false)) out.push_back({Kind::kBad});
  return out;
}

std::vector<uint32_t> TreeBox::parts_in(uint64_t folder, uint32_t but) const {
  std::set<uint32_t> out;
  world_.each_name(folder, [&](const std::string&, uint32_t part, const std::vector<Where>&) {
    if (part != kSettled && part != but) out.insert(part);
  });
  return {out.begin(), out.end()};
}

// Returns the names in a folder that one alternative of a part decides on; with kSettled, the others.
TreeBox::Listing TreeBox::listing(uint64_t folder, uint32_t part, uint32_t alternative) const {
  Listing out;
  world_.each_name(folder, [&](const std::string& name, uint32_t of, const std::vector<Where>& by) {
    if (of != part) return;
    const Where where = by[of == kSettled ? 0 : alternative];
    if (where.inode != 0) out.emplace(name, world_.disk().inode(where.inode).kind);
  });
  return out;
}

std::vector<Answer> TreeBox::listings(PathId path) {
  const Resolved& resolved = world_.resolve(path);
  std::set<Listing> out;
  for (const uint32_t alternative : alive(resolved.part)) {
    const uint64_t folder = resolved.by[alternative].inode;
    std::set<Listing> begun{listing(folder, kSettled, 0)};
    const auto multiply = [&](uint32_t part, const Alive& by) {
      std::set<Listing> choices, longer;
      for (const uint32_t each : by) choices.insert(listing(folder, part, each));
      for (const Listing& before : begun) {
        for (Listing one : choices) {
          one.insert(before.begin(), before.end());
          longer.insert(std::move(one));
        }
      }
      begun = std::move(longer);
      world_.effort()->made += begun.size();
      if (begun.size() > kMostListings) world_.effort()->made = world_.effort()->most + 1;
      return !world_.effort()->exceeded();
    };
    if (resolved.part != kSettled && !multiply(resolved.part, {alternative})) return {};
    for (const uint32_t part : parts_in(folder, resolved.part)) {
      if (!multiply(part, alive(part))) return {};
    }
    out.merge(begun);
  }
  std::vector<Answer> answers;
  for (const Listing& one : out) answers.push_back({Kind::kNames, 0, content_of(world_.disk().contents(), one)});
  return answers;
}

// Names of different parts are different names, so each part is narrowed by the names that it decides on.
void TreeBox::narrow_listing(PathId path, const Answer& answer) {
  const Resolved& resolved = world_.resolve(path);
  const Listing told = listing_of(world_.disk().contents()[static_cast<ContentId>(answer.value)]);
  const auto agrees = [&](uint64_t folder, uint32_t part, uint32_t alternative) {
    bool same = true;
    world_.each_name(folder, [&](const std::string& name, uint32_t of, const std::vector<Where>& by) {
      if (of != part) return;
      const Where where = by[of == kSettled ? 0 : alternative];
      const auto found = told.find(name);
      const bool there = where.inode != 0;
      same =
          same && there == (found != told.end()) && (!there || world_.disk().inode(where.inode).kind == found->second);
    });
    return same;
  };
  // All of them are in this folder, whichever it is.
  const auto holds = [&](uint64_t folder) {
    size_t possible = 0;
    world_.each_name(folder, [&](const std::string& name, uint32_t, const auto&) { possible += told.contains(name); });
    return possible == told.size();
  };
  leave(resolved.part, [&](uint32_t alternative) {
    const uint64_t folder = resolved.by[alternative].inode;
    return holds(folder) && agrees(folder, kSettled, 0) && agrees(folder, resolved.part, alternative);
  });
  const uint64_t folder = resolved.by[alive(resolved.part).front()].inode;
  for (const uint32_t part : parts_in(folder, resolved.part)) {
    leave(part, [&](uint32_t alternative) { return agrees(folder, part, alternative); });
  }
}

// -- files -------------------------------------------------------------------------------------------------------

std::vector<Answer> TreeBox::of_file(const Question& question) {
  const Resolved& resolved = world_.resolve(question.path);
  std::vector<Answer> out;
  std::set<Answer> seen;
  std::set<std::pair<uint64_t, const FileView*>> known;
  for (const uint32_t alternative : world_.newest_first(alive(resolved.part))) {
    const uint64_t inode = resolved.by[alternative].inode;
    const bool linked = world_.may_be_linked(inode);
    const FileView* const view = world_.view(inode, resolved.part, alternative);
    // Answers about other names of the inode make a difference as well.
    if (!linked && !known.emplace(inode, view).second) continue;
    const auto told = told_of(question.path, resolved.part, alternative, {});
    if (!told) continue;
    const FileReader reader = this->reader(question.path, resolved.part, alternative);
    const auto add = [&](const Answer& answer) {
      if (seen.insert(answer).second) out.push_back(answer);
    };
    if (question.kind == Question::Kind::kSize) {
      const std::vector<uint64_t> sizes = reader.sizes(*told);
      for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) add({Kind::kSize, 0, *size});
    } else {
      for (const Letter& each : reader.letters(*told, question.sector)) add(answer(each));
    }
  }
  return out;
}

// -- questions ---------------------------------------------------------------------------------------------------

std::vector<Answer> TreeBox::answers(const Question& question) {
  world_.effort()->begin();
  if (question.kind == Question::Kind::kNames) return listings(question.path);
  if (question.kind == Question::Kind::kSize || question.kind == Question::Kind::kSector) return of_file(question);
  const Resolved& resolved = world_.resolve(question.path);
  std::vector<Answer> out;
  for (const uint32_t alternative : world_.newest_first(alive(resolved.part))) {
    if (question.kind == Question::Kind::kLinks) {
      const Answer links{Kind::kLinks, 0, this->links(resolved.part, alternative, resolved.by[alternative].inode)};
      if (std::ranges::find(out, links) == out.end()) out.push_back(links);
      continue;
    }
    for (const Answer& each : names_of(question.path, resolved.part, alternative)) {
      if (std::ranges::find(out, each) == out.end()) out.push_back(each);
    }
  }
  return out;
}

void TreeBox::narrow(const Question& question, const Answer& answer, bool only) {
  const bool of_file = question.kind == Question::Kind::kSize || question.kind == Question::Kind::kSector;
  // An answer that all trees give leaves all of them. Answers that are kept make each later one slower.
  if (only && of_file) return;
  world_.effort()->begin();
  const PathId path = question.path;
  if (question.kind == Question::Kind::kNames) return narrow_listing(path, answer);
  const Resolved& resolved = world_.resolve(path);
  if (question.kind == Question::Kind::kLinks) {
    return leave(resolved.part, [&](uint32_t alternative) {
      return links(resolved.part, alternative, resolved.by[alternative].inode) == answer.value;
    });
  }
  if (of_file && this->of_file(question).size() == 1) return;
  FileAnswers more;
  if (question.kind == Question::Kind::kName) {
    const bool of_inode = answer.kind == Kind::kFile || answer.kind == Kind::kLink || answer.kind == Kind::kBad;
    leave(resolved.part, [&](uint32_t alternative) {
      const auto every = names_of(path, resolved.part, alternative);
      return std::ranges::find(every, answer) != every.end();
    });
    // A bad folder is an alternative of its part.
    const Where where = resolved.by[alive(resolved.part).front()];
    const bool folder = where.inode != 0 && world_.disk().inode(where.inode).kind == InodeKind::kFolder;
    if (!of_inode || folder) return;
    more.bad = answer.kind == Kind::kBad;
  } else if (question.kind == Question::Kind::kSize) {
    more.size = answer.value;
  } else {
    more.sectors[question.sector] = letter(answer);
  }
  if (of_file) {
    std::map<std::pair<uint64_t, const FileView*>, bool> known;
    leave(resolved.part, [&](uint32_t alternative) {
      const uint64_t inode = resolved.by[alternative].inode;
      if (world_.may_be_linked(inode)) return agrees(path, resolved.part, alternative, more);
      const auto [found, fresh] = known.try_emplace({inode, world_.view(inode, resolved.part, alternative)});
      if (fresh) found->second = agrees(path, resolved.part, alternative, more);
      return found->second;
    });
  }
  if (const auto found = files_.find(path); found != files_.end()) more.add(found->second);
  tell(path, std::move(more));
}

ChosenTree TreeBox::newest() {
  world_.effort()->begin();
  ChosenTree out;
  for (const Alive& some : alive_) out.alternatives.push_back(world_.newest_first(some).front());
  std::map<uint64_t, FileAnswers> told;
  for (const auto& [path, answers] : files_) {
    const Resolved& resolved = world_.resolve(path);
    const uint32_t alternative = resolved.part == kSettled ? 0 : out.alternatives[resolved.part];
    told[resolved.by[alternative].inode].add(answers);
  }
  for (const uint64_t number : world_.disk().open_inodes()) {
    const InodeKind kind = world_.disk().inode(number).kind;
    if (kind == InodeKind::kFolder) continue;
    const FileAnswers& answers = told[number];
    if (kind == InodeKind::kLink) {
      out.files[number].bad = answers.bad.value_or(false);
      continue;
    }
    const FileView* const view = world_.view(number, out.alternatives);
    out.files[number] = FileReader(world_.disk(), *view, world_.effort()).newest(answers);
  }
  return out;
}

// -- one tree ----------------------------------------------------------------------------------------------------

Answer answer_of(TreeWorld* world, const ChosenTree& tree, const std::vector<PathId>& asked, const Question& question) {
  const Disk& disk = world->disk();
  const Where here = world->at(tree, question.path);
  if (question.kind == Question::Kind::kNames) {
    std::map<std::string, InodeKind> listing;
    world->each_name(here.inode, [&](const std::string& name, uint32_t, const auto&) {
      const Where one = world->at(tree.alternatives, here.inode, name);
      if (one.inode != 0) listing.emplace(name, disk.inode(one.inode).kind);
    });
    return {Kind::kNames, 0, content_of(disk.contents(), listing)};
  }
  if (here.inode == 0) return {Kind::kNothing};
  const Inode& inode = disk.inode(here.inode);
  const auto chosen = tree.files.find(here.inode);
  if (question.kind == Question::Kind::kName) {
    if (here.bad || (chosen != tree.files.end() && chosen->second.bad)) return {Kind::kBad};
    if (inode.kind == InodeKind::kFolder) return {Kind::kFolder};
    for (const PathId other : asked) {
      if (other == question.path) break;
      if (world->at(tree, other).inode == here.inode) return {Kind::kSame, 0, other};
    }
    if (inode.kind == InodeKind::kFile) return {Kind::kFile};
    return {Kind::kLink, 0, disk.contents().of(inode.target)};
  }
  const uint64_t size = world->size(tree, here.inode);
  if (question.kind == Question::Kind::kLinks) {
    return {Kind::kLinks, 0, world->may_be_linked(here.inode) ? world->links(tree.alternatives, here.inode) : 1};
  }
  if (question.kind == Question::Kind::kSize) return {Kind::kSize, 0, size};
  const uint64_t begin = question.sector * disk.units().sector;
  if (size <= begin) return {Kind::kEnd};
  const ContentId content = world->content(tree, here.inode, question.sector);
  if (size - begin >= disk.units().sector) return {Kind::kSector, 0, content};
  const auto left = static_cast<uint32_t>(size - begin);
  return {Kind::kCut, left, disk.contents().cut(content, left)};
}

}  // namespace powercut::files
