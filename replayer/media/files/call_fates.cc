#include "replayer/media/files/call_fates.h"

#include <algorithm>

#include "replayer/media/files/versions_shown.h"

namespace powercut::files {
namespace {

class Fates {
 public:
  Fates(TreeWorld* world, const ChosenTree& tree) : world_(*world), disk_(world->disk()), tree_(tree) {}

  CallFates find() {
    for (const auto& [name, entry] : disk_.undecided()) of_entry(*entry);
    for (const auto& [inode, contents] : tree_.files) of_file(inode, contents);
    return std::move(out_);
  }

 private:
  void add(uint32_t call, bool on_disk) { ++(on_disk ? out_[call].on_disk : out_[call].lost); }

  void of_entry(const NamedEntry& entry) {
    const uint64_t shown = world_.at(tree_.alternatives, entry.first.folder, entry.first.name).inode;
    const std::vector<StepNumber>& later = entry.second.later;
    size_t on_disk = later.size();  // so many steps
    while (on_disk > 0 && disk_.step(later[on_disk - 1]).leads_to != shown) --on_disk;
    for (size_t i = 0; i < later.size(); ++i) add(disk_.operations()[later[i].operation].by, i < on_disk);
  }

  // The newest versions that the tree may show: of each sector, and of the size beside them.
  void of_file(uint64_t number, const FileContents& contents) {
    const Inode& inode = disk_.inode(number);
    if (disk_.may_be_bad(number)) {
      for (const NamedEntry* holder : disk_.holders(number)) {
        for (const StepNumber step : holder->second.later) {
          if (disk_.step(step).leads_to == number) return add(disk_.operations()[step.operation].by, !contents.bad);
        }
      }
    }
    const FileView& view = *world_.view(number, tree_.alternatives);
    Ranges excluded;  // sizes that the sectors rule out
    for (const auto& [place, content] : contents.sectors) {
      const Sector& sector = inode.sectors.at(place);
      const bool behind = place * disk_.units().sector >= contents.size;
      const FileView::Legal* const legal = view.legal(place);
      uint32_t shown = legal == nullptr ? sector.newest() : legal->high;
      while (shown > sector.floor && sector[shown].value != content) --shown;
      if (legal != nullptr && !behind) excluded = with(excluded, view.excluded_by(place, shown));
      for (uint32_t each = std::max(sector.floor, sector.first) + 1; each <= sector.newest(); ++each) {
        if (sector[each].by != 0) add(sector[each].by, each <= shown && !behind && !contents.bad);
      }
    }
    uint32_t size = view.last_size();
    const auto shows = [&](uint32_t each) {
      return inode.size_at(each).size == contents.size && !is_in(excluded, each);
    };
    while (size > inode.size_floor && !shows(size)) --size;
    for (uint32_t each = inode.size_floor + 1; each <= inode.newest_size(); ++each) {
      add(inode.size_at(each).by, each <= size && !contents.bad);
    }
  }

  TreeWorld& world_;
  const Disk& disk_;
  const ChosenTree& tree_;
  CallFates out_;
};

}  // namespace

CallFates fates_of(TreeWorld* world, const ChosenTree& tree) { return Fates(world, tree).find(); }

}  // namespace powercut::files
