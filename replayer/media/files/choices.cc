#include "replayer/media/files/choices.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace powercut::files {
namespace {

// Which steps are on disk, as far as that is decided.
class Decided {
 public:
  explicit Decided(const Disk& disk) : disk_(disk) {}

  std::optional<bool> of(StepNumber step) const {
    if (disk_.step(step).sure) return true;
    const auto found = steps_.find(key(step));
    return found == steps_.end() ? std::nullopt : std::optional(found->second);
  }

  // Decides a step, and those that go with it ("rename" in PROFILES.md). Returns false for a contradiction.
  bool decide(StepNumber step, bool on_disk) {
    if (const auto decided = of(step)) return *decided == on_disk;
    steps_[key(step)] = on_disk;
    if (disk_.switches().rename != Rename::kNewFirst) return true;
    const Operation& operation = disk_.operations()[step.operation];
    for (uint8_t place = 0; place < operation.steps.size(); ++place) {
      const bool follows = on_disk ? operation.needs_first(step.place) : operation.needs_first(place);
      if (place != step.place && follows && !decide({step.operation, place}, on_disk)) return false;
    }
    return true;
  }

 private:
  StepNumber key(StepNumber step) const {
    return disk_.switches().rename == Rename::kAtomic ? StepNumber{step.operation, 0} : step;
  }

  const Disk& disk_;
  std::map<StepNumber, bool> steps_;
};

}  // namespace

Choices::Choices(const Disk& disk, Parts parts, Effort* effort) : disk_(disk), kind_(parts), effort_(effort) {
  const bool ordered = disk_.switches().order != Order::kAny;
  if (ordered) any_.prefix = prefixes().back();
  collect();
  if (ordered || kind_ == Parts::kWhole) {
    Entries all;
    for (const auto& [entry, top] : known_) {
      all.push_back(entry);
      join(entry, known_.begin()->first);
    }
    if (ordered) {
      find_by_order(all);
    } else {
      find_by_operations(all, kTreeRoot);
    }
  } else {
    join_coupled();
    while (join_folders()) {
    }
    for (const auto& [top, entries] : joined()) {
      const uint64_t folder = entries.front()->first.folder;
      const bool below = !stays(folder) && may_hold_parts(folder);
      if (below) holders_of_parts_.insert(folder);
    }
    for (const auto& [top, entries] : joined()) {
      const uint64_t folder = entries.front()->first.folder;
      const bool below = holders_of_parts_.contains(folder) &&
                         std::ranges::all_of(entries, [&](auto* each) { return each->first.folder == folder; });
      find_by_operations(entries, below ? folder : kTreeRoot);
    }
  }
  for (const uint64_t inode : disk_.open_inodes()) {
    if (disk_.inode(inode).kind == InodeKind::kFolder || coupled_.contains(inode)) continue;
    if (has_staying_name(inode)) apart_.push_back(inode);
  }
}

// -- entries that do not stay ------------------------------------------------------------------------------------

bool Choices::stays(uint64_t folder) {
  if (folder == kTreeRoot) return true;
  if (kind_ == Parts::kWhole) return false;
  if (const auto found = stays_.find(folder); found != stays_.end()) return found->second;
  stays_[folder] = false;
  bool stay = false;
  if (!disk_.may_be_bad(folder)) {
    for (const NamedEntry* holder : disk_.holders(folder)) {
      stay = stay || (holder->second.later.empty() && holder->second.base == folder && stays(holder->first.folder));
    }
  }
  return stays_[folder] = stay;
}

bool Choices::stays(const NamedEntry* entry) {
  const uint64_t inode = entry->second.base;
  if (kind_ == Parts::kWhole || !entry->second.later.empty() || !stays(entry->first.folder)) return false;
  return inode == 0 || disk_.inode(inode).kind != InodeKind::kFolder || !disk_.may_be_bad(inode);
}

bool Choices::has_staying_name(uint64_t inode) {
  return std::ranges::any_of(disk_.holders(inode), [&](const NamedEntry* holder) {
    return !known_.contains(holder) && holder->second.base == inode && stays(holder);
  });
}

std::vector<uint64_t> Choices::may_lead_to(const NamedEntry* entry) const {
  std::vector<uint64_t> out;
  if (entry->second.base != 0) out.push_back(entry->second.base);
  for (const StepNumber step : entry->second.later) {
    if (disk_.step(step).leads_to != 0) out.push_back(disk_.step(step).leads_to);
  }
  return out;
}

Choices::Entries Choices::names_in(uint64_t folder) const {
  Entries out;
  for (auto at = disk_.entries().lower_bound({folder, ""}); at != disk_.entries().end(); ++at) {
    if (at->first.folder != folder) break;
    out.push_back(&*at);
  }
  return out;
}

void Choices::collect() {
  if (kind_ == Parts::kWhole) {
    for (const auto& entry : disk_.entries()) take(&entry);
    return;
  }
  for (const auto& [name, entry] : disk_.undecided()) {
    if (stays(name.folder)) take(entry);
  }
  for (const uint64_t inode : disk_.open_inodes()) {
    if (disk_.inode(inode).kind != InodeKind::kFolder) continue;
    for (const NamedEntry* holder : disk_.holders(inode)) {
      if (stays(holder->first.folder) && !stays(holder)) take(holder);
    }
  }
}

void Choices::take(const NamedEntry* entry) {
  if (!known_.emplace(entry, entry).second) return;
  for (const uint64_t inode : may_lead_to(entry)) {
    if (disk_.inode(inode).kind != InodeKind::kFolder) continue;
    for (const NamedEntry* name : names_in(inode)) take(name);
  }
}

// -- parts -------------------------------------------------------------------------------------------------------

const NamedEntry* Choices::top(const NamedEntry* entry) {
  const NamedEntry* above = known_.at(entry);
  if (above == entry) return entry;
  above = top(above);
  known_[entry] = above;
  return above;
}

// Returns whether the two were in different parts.
bool Choices::join(const NamedEntry* one, const NamedEntry* other) {
  const NamedEntry* const first = top(one);
  const NamedEntry* const second = top(other);
  known_[first] = second;
  return first != second;
}

// Entries that may lead to one inode are in one part. Both entries of a rename are among them: they may lead to the
// moved inode.
void Choices::join_coupled() {
  std::map<uint64_t, const NamedEntry*> leads_to;
  Entries entries;
  for (const auto& [entry, top] : known_) entries.push_back(entry);
  for (const NamedEntry* entry : entries) {
    for (const uint64_t inode : may_lead_to(entry)) join(entry, leads_to.try_emplace(inode, entry).first->second);
  }
}

std::map<const NamedEntry*, Choices::Entries> Choices::joined() {
  Entries entries;
  for (const auto& [entry, top] : known_) entries.push_back(entry);
  std::map<const NamedEntry*, Entries> out;
  for (const NamedEntry* entry : entries) out[top(entry)].push_back(entry);
  return out;
}

// A folder that has one name, which leads to no other inode, in a folder that stays or is such a folder itself: a path
// leads to it in all trees that have it.
bool Choices::may_hold_parts(uint64_t folder) {
  const auto& holders = disk_.holders(folder);
  if (holders.size() != 1 || !known_.contains(*holders.begin())) return false;
  const NamedEntry* const holder = *holders.begin();
  for (const uint64_t inode : may_lead_to(holder)) {
    if (inode != folder) return false;
  }
  return stays(holder->first.folder) || may_hold_parts(holder->first.folder);
}

// A part in one folder that may hold parts is a part below the folder. Others belong to the parts of their folders'
// names: so does a part that has a file with another name elsewhere, which is there without the folder. Returns whether
// parts were joined.
bool Choices::join_folders() {
  bool some = false;
  for (const auto& [top, entries] : joined()) {
    std::set<uint64_t> folders;
    for (const NamedEntry* entry : entries) folders.insert(entry->first.folder);
    const bool below = folders.size() == 1 && !stays(*folders.begin()) && may_hold_parts(*folders.begin());
    if (below && staying_inodes(entries).empty()) continue;
    for (const uint64_t folder : folders) {
      for (const NamedEntry* holder : disk_.holders(folder)) {
        if (known_.contains(holder) && join(holder, top)) some = true;
      }
    }
  }
  return some;
}

// -- alternatives ------------------------------------------------------------------------------------------------

// Returns the lengths of the prefix that differ in something: of lengths with the same operations that matter, the
// largest, which has every late size that the others have.
std::vector<uint32_t> Choices::prefixes() const {
  std::vector<uint32_t> out;
  for (const uint32_t operation : disk_.live()) {
    if (operation >= disk_.prefix()) out.push_back(operation);
  }
  out.push_back(static_cast<uint32_t>(disk_.operations().size()));
  return out;
}

// Whether what the file may hold depends on the length of the prefix, if it is `least` at least.
bool Choices::depends_on_order(const Inode& inode, uint32_t least) const {
  if (!inode.replacements.empty() && disk_.switches().replace != Replace::kNothing) return true;
  if (inode.sizes.back().at > least) return true;
  return std::ranges::any_of(inode.open, [&](uint64_t sector) {
    return std::ranges::any_of(inode.sectors.at(sector).versions,
                               [&](const SectorVersion& version) { return version.bound && version.at > least; });
  });
}

// Returns the inodes that stay where they are and may have another name in the part.
std::set<uint64_t> Choices::staying_inodes(const Entries& entries) {
  std::set<uint64_t> out;
  for (const NamedEntry* entry : entries) {
    for (const uint64_t inode : may_lead_to(entry)) {
      if (disk_.inode(inode).kind != InodeKind::kFolder && has_staying_name(inode)) out.insert(inode);
    }
  }
  return out;
}

// Returns the unions of some of the sets of steps that may be on disk by themselves.
std::set<std::set<StepNumber>> Choices::overtaking() {
  std::set<std::set<StepNumber>> out{{}};
  for (const std::vector<StepNumber>& each : disk_.overtaking()) {
    std::set<StepNumber> open;
    for (const StepNumber step : each) {
      if (!disk_.step(step).sure) open.insert(step);
    }
    if (open.empty()) continue;
    const std::vector<std::set<StepNumber>> before(out.begin(), out.end());
    for (const std::set<StepNumber>& other : before) {
      effort_->made += open.size() + other.size();
      if (effort_->exceeded()) return out;
      std::set<StepNumber> both = other;
      both.insert(open.begin(), open.end());
      out.insert(std::move(both));
    }
  }
  return out;
}

void Choices::find_by_order(const Entries& entries) {
  const std::vector<uint32_t> lengths = prefixes();
  std::set<uint64_t> staying = staying_inodes(entries);
  for (const uint64_t inode : disk_.open_inodes()) {
    if (disk_.inode(inode).kind != InodeKind::kFile || !has_staying_name(inode)) continue;
    if (depends_on_order(disk_.inode(inode), lengths.front())) staying.insert(inode);
  }
  coupled_.insert(staying.begin(), staying.end());
  if (entries.empty() && staying.empty() && kind_ == Parts::kApart) return;
  ChoicePart part;
  const std::set<std::set<StepNumber>> overtaking = this->overtaking();
  for (const uint32_t length : lengths) {
    std::set<std::set<StepNumber>> beyond;  // steps on disk behind the prefix
    for (std::set<StepNumber> steps : overtaking) {
      std::erase_if(steps, [&](StepNumber step) { return step.operation < length; });
      beyond.insert(std::move(steps));
    }
    for (const std::set<StepNumber>& steps : beyond) {
      Shows shows;
      for (const NamedEntry* entry : entries) {
        uint64_t& inode = shows[entry] = entry->second.base;
        for (const StepNumber step : entry->second.later) {
          if (step.operation < length || steps.contains(step)) inode = disk_.step(step).leads_to;
        }
      }
      OnDisk on_disk{.prefix = length, .replacing = {}};
      for (const StepNumber step : steps) {
        if (step.place == 0) on_disk.replacing.push_back(step.operation);
      }
      effort_->follow(entries.size());
      if (effort_->exceeded()) return;
      add_alternatives(entries, shows, on_disk, staying, &part);
    }
  }
  parts_.push_back(std::move(part));
}

void Choices::find_by_operations(const Entries& entries, uint64_t folder) {
  const std::set<uint64_t> staying = staying_inodes(entries);
  coupled_.insert(staying.begin(), staying.end());
  std::set<uint32_t> replacing;  // renames over other files that need not be on disk
  for (const NamedEntry* entry : entries) {
    for (const StepNumber step : entry->second.later) {
      const bool raises = disk_.switches().replace != Replace::kNothing;
      if (raises && disk_.operations()[step.operation].replaces != 0) replacing.insert(step.operation);
    }
  }
  ChoicePart part{folder};
  std::set<std::pair<std::vector<uint64_t>, std::vector<uint32_t>>> seen;
  Shows shows;
  const auto choose_replacing = [&](auto& self, std::set<uint32_t>::const_iterator at, const Decided& decided,
                                    OnDisk on_disk) -> void {
    if (effort_->exceeded()) return;
    if (at == replacing.end()) {
      ++effort_->made;
      std::vector<uint64_t> inodes;
      for (const auto& [entry, inode] : shows) inodes.push_back(inode);
      if (seen.emplace(std::move(inodes), on_disk.replacing).second) {
        add_alternatives(entries, shows, on_disk, staying, &part);
      }
      return;
    }
    for (const bool chosen : {false, true}) {
      Decided more = decided;
      if (!more.decide({*at, 0}, chosen)) continue;
      OnDisk grown = on_disk;
      if (chosen) grown.replacing.push_back(*at);
      self(self, std::next(at), more, std::move(grown));
    }
  };
  // An entry leads to where its last step says that is on disk.
  const auto choose = [&](auto& self, size_t place, Decided decided) -> void {
    if (effort_->exceeded()) return;
    if (place == entries.size()) {
      choose_replacing(choose_replacing, replacing.begin(), decided, {});
      return;
    }
    ++effort_->made;
    const NamedEntry* const entry = entries[place];
    for (auto step = entry->second.later.rbegin(); step != entry->second.later.rend(); ++step) {
      Decided with = decided;
      if (with.decide(*step, true)) {
        shows[entry] = disk_.step(*step).leads_to;
        self(self, place + 1, std::move(with));
      }
      if (!decided.decide(*step, false)) return;
    }
    shows[entry] = entry->second.base;
    self(self, place + 1, std::move(decided));
  };
  choose(choose, 0, Decided(disk_));
  parts_.push_back(std::move(part));
}

// Adds an alternative for each choice of folders that are bad.
void Choices::add_alternatives(const Entries& entries, const Shows& shows, const OnDisk& on_disk,
                               const std::set<uint64_t>& staying, ChoicePart* part) {
  std::vector<std::set<uint64_t>> choices{{}};
  std::set<std::vector<Place>> seen;
  std::set<std::set<uint64_t>> tried;
  while (!choices.empty() && !effort_->exceeded()) {
    const std::set<uint64_t> bad = std::move(choices.back());
    choices.pop_back();
    if (!tried.insert(bad).second) continue;
    ++effort_->made;
    std::vector<Place> places = places_of(entries, shows, bad, staying, part->folder);
    for (const Place& place : places) {
      if (bad.contains(place.inode) || disk_.inode(place.inode).kind != InodeKind::kFolder) continue;
      if (!disk_.may_be_bad(place.inode)) continue;
      std::set<uint64_t> more = bad;
      more.insert(place.inode);
      choices.push_back(std::move(more));
    }
    if (seen.insert(places).second) part->alternatives.push_back({on_disk, std::move(places)});
  }
}

std::vector<Place> Choices::places_of(const Entries& entries, const Shows& shows, const std::set<uint64_t>& bad,
                                      const std::set<uint64_t>& staying, uint64_t folder) {
  std::vector<Place> out;
  // A folder or a file that stays stands for its path: no name has a '/'.
  for (const uint64_t inode : staying) out.push_back({"/" + std::to_string(inode), inode});
  for (const NamedEntry* entry : entries) {
    const uint64_t above = entry->first.folder;
    if (!stays(above) && above != folder) continue;
    const std::string path = above == kTreeRoot ? "" : "/" + std::to_string(above) + "/";
    std::vector<uint64_t> folders{above};
    walk(shows, bad, entry, path, &folders, &out);
  }
  std::ranges::sort(out);
  return out;
}

// A folder within itself is shown, and not walked again.
void Choices::walk(const Shows& shows, const std::set<uint64_t>& bad, const NamedEntry* entry, std::string path,
                   std::vector<uint64_t>* above, std::vector<Place>* out) const {
  const auto shown = shows.find(entry);
  if (shown == shows.end() || shown->second == 0) return;
  const uint64_t inode = shown->second;
  path += entry->first.name;
  const bool folder = disk_.inode(inode).kind == InodeKind::kFolder;
  out->push_back({path, inode, folder && bad.contains(inode)});
  if (!folder || out->back().bad || std::ranges::find(*above, inode) != above->end()) return;
  above->push_back(inode);
  for (const NamedEntry* name : names_in(inode)) walk(shows, bad, name, path + "/", above, out);
  above->pop_back();
}

}  // namespace powercut::files
