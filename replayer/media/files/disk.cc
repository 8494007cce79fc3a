#include "replayer/media/files/disk.h"

#include <algorithm>
#include <utility>

namespace powercut::files {
namespace {

constexpr uint64_t kMostSectors = 1 << 22;  // of one truncation or allocation

uint64_t up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit; }

}  // namespace

void Replacement::raise_to(const Replacement& other) {
  size = std::max(size, other.size);
  for (const auto& [sector, version] : other.sectors) sectors[sector] = std::max(sectors[sector], version);
}

Disk::Disk(const Switches& switches, Units units, Contents* contents)
    : switches_(switches), units_(units), contents_(contents) {
  inodes_[kTreeRoot].kind = InodeKind::kFolder;
}

bool Disk::may_be_bad(uint64_t inode) const {
  return switches_.new_inode == NewInode::kApart && !inodes_.at(inode).there;
}

const std::set<const NamedEntry*>& Disk::holders(uint64_t inode) const {
  static const std::set<const NamedEntry*> none;
  const auto found = holders_.find(inode);
  return found == holders_.end() ? none : found->second;
}

bool Disk::apply(const Effect& effect) {
  switch (effect.kind) {
    case EffectKind::kInode:
      return take_inode(effect);
    case EffectKind::kContent: {
      Inode* inode = file(effect.inode);
      return inode != nullptr && take_content(*inode, effect.offset, effect.data, effect.size);
    }
    case EffectKind::kEntry: {
      const auto found = inodes_.find(effect.inode);
      if (found == inodes_.end()) return false;
      NamedEntry* name = entry(effect.folder, effect.name);
      name->second.base = effect.inode;
      holders_[effect.inode].insert(name);
      found->second.there = true;
      changed(effect.inode, found->second);
      return true;
    }
    case EffectKind::kCreate: {
      Inode& inode = inodes_[effect.inode];
      inode = Inode();
      inode.kind = effect.inode_kind;
      inode.target = effect.target;
      inode.is_new = true;
      inode.there = false;
      operate({{entry(effect.folder, effect.name), effect.inode, effect.inode}});
      inode.resized = static_cast<uint32_t>(operations_.size());
      changed(effect.inode, inode);
      return true;
    }
    case EffectKind::kLink:
      if (!inodes_.contains(effect.inode)) return false;
      operate({{entry(effect.folder, effect.name), effect.inode, effect.inode}});
      may_overtake(effect.inode, 0);
      return true;
    case EffectKind::kUnlink: {
      const uint64_t inode = at(effect.folder, effect.name);
      if (inode == 0) return false;
      operate({{entry(effect.folder, effect.name), 0, inode}});
      return true;
    }
    case EffectKind::kRename:
      return rename(effect);
    case EffectKind::kWrite:
    case EffectKind::kSize:
    case EffectKind::kAllocate: {
      Inode* inode = file(effect.inode);
      if (inode == nullptr) return false;
      if (effect.kind == EffectKind::kWrite) write(*inode, effect.offset, effect.data);
      if (effect.kind == EffectKind::kSize) resize(effect.inode, *inode, effect.size);
      if (effect.kind == EffectKind::kAllocate) allocate(effect.inode, *inode, effect);
      changed(effect.inode, *inode);
      return true;
    }
    case EffectKind::kSync:
      return inodes_.contains(effect.inode);
    case EffectKind::kSyncAll:
    case EffectKind::kAttributes:
    case EffectKind::kBegin:
    case EffectKind::kEnd:
      return true;
  }
  return false;
}

// Notes that an inode may have more states, or fewer.
void Disk::changed(uint64_t number, Inode& inode) {
  inode.stamp = ++changes_;
  const bool open = !inode.open.empty() || inode.newest_size() > inode.size_floor || may_be_bad(number);
  if (open) {
    open_inodes_.insert(number);
  } else {
    open_inodes_.erase(number);
  }
}

// -- names -------------------------------------------------------------------------------------------------------

bool Disk::take_inode(const Effect& effect) {
  Inode& inode = inodes_[effect.inode];
  inode = Inode();
  inode.kind = effect.inode_kind;
  inode.target = effect.target;
  inode.there = false;
  inode.changed = inode.resized = static_cast<uint32_t>(operations_.size());
  changed(effect.inode, inode);
  return effect.data.empty() || take_content(inode, 0, effect.data, effect.data.size());
}

bool Disk::take_content(Inode& inode, uint64_t offset, std::string_view data, uint64_t size) {
  inode.start_size = inode.sizes[0].size = std::max(inode.start_size, size);
  for (uint64_t number = offset / units_.sector; number * units_.sector < offset + data.size(); ++number) {
    Sector& sector = sector_of(inode, number);
    std::string content((*contents_)[sector.versions[0].value]);
    overlay(&content, number, offset, data);
    sector.versions[0].value = contents_->of(content);
  }
  return true;
}

// Puts the bytes of `data` that lie in the sector into its content.
void Disk::overlay(std::string* content, uint64_t number, uint64_t offset, std::string_view data) const {
  const uint64_t begin = number * units_.sector;
  const uint64_t from = std::max(offset, begin), to = std::min(offset + data.size(), begin + units_.sector);
  content->replace(from - begin, to - from, data.substr(from - offset, to - from));
}

uint64_t Disk::at(uint64_t folder, const std::string& name) const {
  const auto found = entries_.find({folder, name});
  return found == entries_.end() ? 0 : now(found->second);
}

bool Disk::rename(const Effect& effect) {
  const uint64_t moved = at(effect.folder, effect.name), other = at(effect.to_folder, effect.to_name);
  if (moved == 0) return false;
  if (moved == other) return true;  // two names of one inode: rename does nothing
  NamedEntry* const from = entry(effect.folder, effect.name);
  NamedEntry* const to = entry(effect.to_folder, effect.to_name);
  if (effect.exchange) {
    if (other == 0) return false;
    operate({{to, moved, moved}, {from, other, other}});
    may_overtake(moved, effect.folder);
    may_overtake(other, effect.to_folder);
    return true;
  }
  Inode& inode = inodes_.at(moved);
  if (other != 0 && inode.kind == InodeKind::kFile) {
    Replacement replacement{inode.newest_size(), {}};
    for (const uint64_t sector : inode.open) replacement.sectors[sector] = inode.sectors.at(sector).newest();
    operate({{to, moved, moved}, {from, 0, moved}}, moved, std::move(replacement));
    changed(moved, inode);
  } else {
    operate({{to, moved, moved}, {from, 0, moved}});
  }
  if (other != 0) inodes_.at(other).changed = static_cast<uint32_t>(operations_.size());
  may_overtake(moved, effect.folder);
  return true;
}

// A new name of an inode that was synced, or that comes from a folder that was, may be on disk by itself.
void Disk::may_overtake(uint64_t number, uint64_t old_folder) {
  if (switches_.new_name != NewName::kOvertakes) return;
  if (!inodes_.at(number).synced && (old_folder == 0 || !inodes_.at(old_folder).synced)) return;
  Raise with;
  raise_names(number, &with);
  overtaking_.emplace_back(with.steps.begin(), with.steps.end());
}

void Disk::operate(std::vector<Step> steps, uint64_t replaces, Replacement replacement) {
  const auto number = static_cast<uint32_t>(operations_.size());
  Operation& operation = add_operation();
  operation.replaces = replaces;
  if (replaces != 0) inodes_.at(replaces).replacements[number] = std::move(replacement);
  for (uint8_t place = 0; place < steps.size(); ++place) {
    const Step& step = operation.steps.emplace_back(steps[place]);
    step.entry->second.later.push_back({number, place});
    undecided_[step.entry->first] = step.entry;
    if (step.leads_to != 0) {
      holders_[step.leads_to].insert(step.entry);
      first_name_.try_emplace(step.leads_to, StepNumber{number, place});
    }
    if (switches_.order != Order::kOne) {
      in_folder_[step.entry->first.folder].push_back({number, place});
      concerning_[step.concerns].push_back({number, place});
    }
    for (const uint64_t inode : {step.entry->first.folder, step.concerns}) inodes_.at(inode).changed = number + 1;
  }
  if (switches_.order != Order::kAny) live_.insert(number);
}

// -- contents ----------------------------------------------------------------------------------------------------

Inode* Disk::file(uint64_t number) {
  const auto found = inodes_.find(number);
  return found == inodes_.end() || found->second.kind != InodeKind::kFile ? nullptr : &found->second;
}

Sector& Disk::sector_of(Inode& inode, uint64_t number) {
  Sector& sector = inode.sectors[number];
  if (!sector.versions.empty()) return sector;
  sector.versions.push_back({contents_->zeroes(), 0, 0, false});
  sector.written = number * units_.sector < inode.start_size;
  return sector;
}

void Disk::add(Inode& inode, uint64_t number, Sector& sector, SectorVersion version) {
  version.by = call_;
  sector.versions.push_back(version);
  inode.open.insert(number);
}

void Disk::add_size(Inode& inode, SizeVersion version) {
  version.by = call_;
  inode.sizes.push_back(std::move(version));
}

Operation& Disk::add_operation() {
  operations_.emplace_back().by = call_;
  return operations_.back();
}

// Whether the page has a block with data. A block has the size of a page.
bool Disk::has_block(const Inode& inode, uint64_t page) const {
  const uint64_t begin = page * units_.page / units_.sector, end = begin + units_.page / units_.sector;
  for (uint64_t number = begin; number < end; ++number) {
    const auto found = inode.sectors.find(number);
    if (found == inode.sectors.end() ? number * units_.sector < inode.start_size : found->second.written) return true;
  }
  return false;
}

// "Versions": one version of each sector, and a size for each page end behind the old end.
void Disk::write(Inode& inode, uint64_t offset, std::string_view data) {
  ++calls_;
  if (data.empty()) return;
  const auto now = static_cast<uint32_t>(operations_.size());
  const uint64_t end = offset + data.size(), old = inode.size();
  const uint64_t first = offset / units_.sector, behind = up(end, units_.sector);
  bool blocks = end > old;
  for (uint64_t page = offset / units_.page; page < up(end, units_.page); ++page) {
    blocks = blocks || !has_block(inode, page);
  }
  for (uint64_t number = first; number < behind; ++number) {
    Sector& sector = sector_of(inode, number);
    std::string content((*contents_)[sector.versions.back().value]);
    if (!sector.written && !sector.allocated && switches_.stale == Stale::kGarbage) {
      add(inode, number, sector, {kGarbage, now, 0, false});
    }
    overlay(&content, number, offset, data);
    add(inode, number, sector, {contents_->of(content), now, calls_, false});
    sector.written = true;
  }
  if (blocks) inode.changed = inode.resized = now;
  if (end <= old) return;
  // "Sizes": a size needs the last sector below it, or all that was brought. A needed sector is named once in a chain.
  uint64_t needed = std::max(offset, old) / units_.sector;
  const auto grow = [&](uint64_t size) {
    SizeVersion version{size, now, calls_, false, switches_.size == SizeNeeds::kAll, {}};
    const uint64_t last = (size - 1) / units_.sector;
    if (switches_.size == SizeNeeds::kLast) version.own.push_back({last, sector_of(inode, last).newest()});
    if (switches_.size == SizeNeeds::kAll) {
      for (; needed <= last; ++needed) version.own.push_back({needed, sector_of(inode, needed).newest()});
    }
    add_size(inode, std::move(version));
  };
  // The tail of the old last page is zeroed, and the page is written back by itself.
  const uint64_t page_end = up(old, units_.page) * units_.page;
  if (page_end > old && page_end <= offset) grow(page_end);
  for (uint64_t size = std::max(old, offset) / units_.page * units_.page + units_.page; size < end;
       size += units_.page) {
    grow(size);
  }
  grow(end);
}

void Disk::begin_resizing(uint64_t number, Inode& inode) {
  add_operation().resizes = number;
  inode.changed = inode.resized = static_cast<uint32_t>(operations_.size());
}

// The newest operation brings a bound version.
void Disk::bring(Inode& inode) {
  const auto number = static_cast<uint32_t>(operations_.size()) - 1;
  if (switches_.order == Order::kAny || !live_.insert(number).second) return;
  inode.bound_operations.push_back(number);
}

// "Truncation": a size in its place. Blocks that are cut off go with it; the page's tail is data.
void Disk::resize(uint64_t number, Inode& inode, uint64_t size) {
  const uint64_t old = inode.size();
  if (size == old) return;  // times change, as by an overwrite
  begin_resizing(number, inode);
  zero(inode, size, old, up(size, units_.page) * units_.page);
  add_size(inode, {size, static_cast<uint32_t>(operations_.size()), 0, true, false, {}});
  bring(inode);
}

// Zeroes of [begin, end): below `stays` the block stays and the zeroes are data; else the block goes.
void Disk::zero(Inode& inode, uint64_t begin, uint64_t end, uint64_t stays) {
  if (begin >= end) return;
  if ((end - begin) / units_.sector > kMostSectors) {
    too_large_ = true;
    return;
  }
  for (uint64_t number = begin / units_.sector; number < up(end, units_.sector); ++number) {
    Sector& sector = sector_of(inode, number);
    const uint64_t low = number * units_.sector;
    std::string content((*contents_)[sector.versions.back().value]);
    const uint64_t from = std::max(begin, low) - low, to = std::min(end - low, units_.sector);
    std::fill(content.begin() + static_cast<ptrdiff_t>(from), content.begin() + static_cast<ptrdiff_t>(to), '\0');
    const bool cut = low >= stays;
    add(inode, number, sector, {contents_->of(content), static_cast<uint32_t>(operations_.size()), 0, cut});
    if (!cut) continue;
    sector.written = sector.allocated = false;
    bring(inode);
  }
}

// "Truncation" names the modes of fallocate.
void Disk::allocate(uint64_t number, Inode& inode, const Effect& effect) {
  const uint64_t end = effect.offset + effect.size, size = inode.size();
  begin_resizing(number, inode);
  const Allocation mode = effect.allocation;
  const bool zeroes = mode == Allocation::kZero || mode == Allocation::kZeroKeep;
  if (mode == Allocation::kPunch || zeroes) {
    uint64_t low = up(effect.offset, units_.page) * units_.page, high = end / units_.page * units_.page;
    if (low >= high) low = high = end;  // only whole pages lose their blocks
    zero(inode, effect.offset, std::min(low, size), end);
    // Nothing shows zeroes behind the end but a size that came before, and cutting it has left zeroes there.
    zero(inode, low, std::min(high, up(size, units_.page) * units_.page), 0);
    zero(inode, high, std::min(end, size), end);
  }
  // Blocks that were allocated show no other file's data.
  if (mode != Allocation::kPunch && switches_.stale == Stale::kGarbage) {
    if (effect.size / units_.sector > kMostSectors) too_large_ = true;
    if (too_large_) return;
    for (uint64_t each = effect.offset / units_.sector; each < up(end, units_.sector); ++each) {
      Sector& sector = sector_of(inode, each);
      if (!sector.written) sector.allocated = true;
    }
  }
  if ((mode == Allocation::kExtend || mode == Allocation::kZero) && end > size) {
    add_size(inode, {end, static_cast<uint32_t>(operations_.size()), 0, true, false, {}});
    bring(inode);
  }
}

// -- syncs -------------------------------------------------------------------------------------------------------

Raise Disk::raise_of(const Effect& sync) const {
  Raise raise;
  if (sync.kind == EffectKind::kSyncAll) {
    if (switches_.sync == Sync::kNothing) return raise;
    raise.all = true;
    raise_prefix(static_cast<uint32_t>(operations_.size()), &raise);
    for (uint32_t number = switches_.order == Order::kAny ? 0 : prefix_; number < operations_.size(); ++number) {
      for (uint8_t place = 0; place < operations_[number].steps.size(); ++place) raise_step({number, place}, &raise);
    }
    for (const auto& [number, inode] : inodes_) raise_inode(number, &raise);
    for (const uint64_t number : open_inodes_) {
      const Inode& inode = inodes_.at(number);
      if (switches_.sync == Sync::kNames) {
        if (inode.newest_size() > inode.size_floor) raise.sizes.emplace_back(number, inode.newest_size());
      } else if (!inode.open.empty() || inode.newest_size() > inode.size_floor) {
        raise.whole.push_back(number);
      }
    }
    return raise;
  }
  if (sync.sync == SyncKind::kStarted) return raise;
  raise.synced = sync.inode;
  const Inode& inode = inodes_.at(sync.inode);
  raise_inode(sync.inode, &raise);
  if (inode.kind == InodeKind::kFolder) {
    if (switches_.fsync_folder == FsyncFolder::kJournal) {
      raise_prefix(inode.changed, &raise);
    } else if (const auto found = in_folder_.find(sync.inode); found != in_folder_.end()) {
      for (const StepNumber step : found->second) raise_step(step, &raise);
    }
    return raise;
  }
  raise_file(sync, inode, &raise);
  return raise;
}

void Disk::raise_inode(uint64_t number, Raise* raise) const {
  if (!inodes_.at(number).there) raise->there.insert(number);
}

void Disk::raise_file(const Effect& sync, const Inode& inode, Raise* raise) const {
  const bool ranged = switches_.range == Range::kRange && (sync.sync == SyncKind::kRange || sync.size > 0);
  if (ranged) {
    const uint64_t low = sync.offset / units_.page * units_.page;
    const uint64_t high = up(sync.offset + sync.size, units_.page) * units_.page;
    for (auto at = inode.open.lower_bound(up(low, units_.sector)); at != inode.open.end(); ++at) {
      if (*at * units_.sector >= high) break;
      raise->sectors.emplace_back(sync.inode, *at);
    }
    const uint32_t floor = size_for(inode, std::min(high, inode.size()));
    if (floor > inode.size_floor) raise->sizes.emplace_back(sync.inode, floor);
  } else if (!inode.open.empty() || inode.newest_size() > inode.size_floor) {
    raise->whole.push_back(sync.inode);
  }
  if (sync.sync == SyncKind::kFile) {
    if (switches_.fsync == Fsync::kJournal) raise_prefix(inode.changed, raise);
    if (switches_.fsync == Fsync::kNames) raise_names(sync.inode, raise);
  } else {
    if (switches_.fdatasync == Fdatasync::kJournal) raise_prefix(inode.resized, raise);
    if (switches_.fdatasync == Fdatasync::kNewName) raise_first_name(sync.inode, raise);
  }
}

void Disk::raise_prefix(uint32_t prefix, Raise* raise) const {
  if (switches_.order != Order::kAny && prefix > prefix_) raise->prefix = prefix;
}

// Returns the first version of the size from the floor on that has all before `end`, as all later ones do.
uint32_t Disk::size_for(const Inode& inode, uint64_t end) const {
  uint32_t needed = inode.size_floor;
  for (uint32_t number = inode.size_floor; number <= inode.newest_size(); ++number) {
    if (inode.size_at(number).size < end) needed = number + 1;
  }
  return needed;
}

void Disk::raise_names(uint64_t number, Raise* raise) const {
  if (const auto found = concerning_.find(number); found != concerning_.end()) {
    for (const StepNumber step : found->second) raise_step(step, raise);
  }
  for (const NamedEntry* entry : holders(number)) {
    if (now(entry->second) == number) raise_first_name(entry->first.folder, raise);
  }
}

// The first name of an inode that the recording made, and those of the folders above.
void Disk::raise_first_name(uint64_t number, Raise* raise) const {
  if (!inodes_.at(number).is_new) return;
  raise_inode(number, raise);
  const auto found = first_name_.find(number);
  if (found == first_name_.end()) return;
  raise_step(found->second, raise);
  raise_first_name(step(found->second).entry->first.folder, raise);
}

// Takes a step, and the steps that cannot be missing then ("Syncs").
void Disk::raise_step(StepNumber number, Raise* raise) const {
  if (step(number).sure || !raise->steps.insert(number).second) return;
  const Operation& operation = operations_[number.operation];
  if (switches_.rename == Rename::kAtomic ||
      (switches_.rename == Rename::kNewFirst && operation.needs_first(number.place))) {
    for (uint8_t place = 0; place < operation.steps.size(); ++place) raise_step({number.operation, place}, raise);
  }
  if (switches_.order != Order::kSynced) return;
  // Earlier steps on the entry; those that the entry does not have any more are durable.
  for (const StepNumber earlier : step(number).entry->second.later) {
    if (earlier.operation < number.operation) raise_step(earlier, raise);
  }
}

void Disk::apply(const Raise& raise) {
  if (raise.synced != 0) inodes_.at(raise.synced).synced = true;
  if (raise.all) {
    for (auto& [number, inode] : inodes_) inode.synced = false;
  }
  for (const uint64_t number : raise.there) {
    inodes_.at(number).there = true;
    changed(number, inodes_.at(number));
  }
  if (raise.prefix > 0) {
    for (uint32_t number = prefix_; number < raise.prefix; ++number) {
      for (uint8_t place = 0; place < operations_[number].steps.size(); ++place) make_sure({number, place});
      live_.erase(number);
    }
    prefix_ = raise.prefix;
  }
  std::set<uint64_t> folders, inodes;
  for (const StepNumber number : raise.steps) {
    const Step& step = operations_[number.operation].steps[number.place];
    make_sure(number);
    folders.insert(step.entry->first.folder);
    inodes.insert(step.concerns);
  }
  const auto forget = [&](auto& steps) { std::erase_if(steps, [&](StepNumber number) { return step(number).sure; }); };
  for (const uint64_t number : folders) forget(in_folder_[number]);
  for (const uint64_t number : inodes) forget(concerning_[number]);
  for (const auto& [number, floor] : raise.sizes) {
    inodes_.at(number).size_floor = floor;
    changed(number, inodes_.at(number));
  }
  for (const auto& [number, sector] : raise.sectors) {
    settle_sector(inodes_.at(number), sector);
    changed(number, inodes_.at(number));
  }
  for (const uint64_t number : raise.whole) settle_whole(number, inodes_.at(number));
  std::erase_if(overtaking_, [&](const std::vector<StepNumber>& steps) {
    return std::ranges::all_of(steps, [&](StepNumber number) { return step(number).sure; });
  });
}

void Disk::settle_whole(uint64_t number, Inode& inode) {
  const std::vector<uint64_t> open(inode.open.begin(), inode.open.end());
  for (const uint64_t sector : open) settle_sector(inode, sector);
  inode.first_size = inode.size_floor = inode.newest_size();
  inode.sizes.erase(inode.sizes.begin(), inode.sizes.end() - 1);
  inode.sizes[0].chained = false;
  inode.sizes[0].own.clear();
  inode.sure_calls.clear();
  inode.replacements.clear();
  inode.replaced = {};
  for (const uint32_t operation : inode.bound_operations) live_.erase(operation);
  inode.bound_operations.clear();
  changed(number, inode);
}

// The newest version becomes the floor.
void Disk::settle_sector(Inode& inode, uint64_t number) {
  Sector& sector = inode.sectors.at(number);
  if (switches_.overwrite == Overwrite::kCall) {
    for (const SectorVersion& version : sector.versions) {
      if (version.call != 0) inode.sure_calls.insert(version.call);
    }
  }
  sector.first = sector.floor = sector.newest();
  sector.versions.erase(sector.versions.begin(), sector.versions.end() - 1);
  inode.open.erase(number);
}

void Disk::make_sure(StepNumber number) {
  Operation& operation = operations_[number.operation];
  Step& step = operation.steps[number.place];
  if (step.sure) return;
  step.sure = true;
  if (operation.replaces != 0 && number.place == 0) {
    Inode& inode = inodes_.at(operation.replaces);
    if (const auto found = inode.replacements.find(number.operation); found != inode.replacements.end()) {
      inode.replaced.raise_to(found->second);
      inode.replacements.erase(found);
      changed(operation.replaces, inode);
    }
  }
  if (std::ranges::all_of(operation.steps, &Step::sure)) live_.erase(number.operation);
  Entry& entry = step.entry->second;
  const auto place = std::ranges::find(entry.later, number);
  if (place == entry.later.end()) return;  // a later step is on disk
  std::vector<uint64_t> before{entry.base};
  for (auto at = entry.later.begin(); at != place; ++at) before.push_back(this->step(*at).leads_to);
  entry.base = step.leads_to;
  entry.later.erase(entry.later.begin(), place + 1);
  if (entry.later.empty()) undecided_.erase(step.entry->first);
  for (const uint64_t inode : before) drop_holder(step.entry, inode);
}

// Forgets that an entry may lead to the inode, unless it still may.
void Disk::drop_holder(const NamedEntry* entry, uint64_t inode) {
  if (inode == 0 || entry->second.base == inode) return;
  for (const StepNumber number : entry->second.later) {
    if (step(number).leads_to == inode) return;
  }
  holders_[inode].erase(entry);
}

}  // namespace powercut::files
