#include "replayer/media/files/views.h"

#include <algorithm>
#include <iterator>

namespace powercut::files {

const FileView* Views::of(uint64_t number, const OnDisk& on_disk) {
  const Inode& inode = disk_.inode(number);
  OnDisk same;
  if (on_disk.prefix) {
    auto found = thresholds_.find(number);
    if (found == thresholds_.end()) {
      std::vector<uint32_t> at{0};
      for (const SizeVersion& version : inode.sizes) at.push_back(version.at);
      for (const uint64_t sector : inode.open) {
        for (const SectorVersion& version : inode.sectors.at(sector).versions) {
          if (version.bound) at.push_back(version.at);
        }
      }
      for (const auto& [operation, replacement] : inode.replacements) at.push_back(operation + 1);
      std::ranges::sort(at);
      at.erase(std::ranges::unique(at).begin(), at.end());
      found = thresholds_.emplace(number, std::move(at)).first;
    }
    same.prefix = *std::prev(std::ranges::upper_bound(found->second, *on_disk.prefix));
  }
  for (const uint32_t operation : on_disk.replacing) {
    if (inode.replacements.contains(operation)) same.replacing.push_back(operation);
  }
  auto& view = views_[{number, same.prefix, same.replacing}];
  if (!view) view = std::make_unique<FileView>(disk_, inode, same);
  return view.get();
}

void Views::clear() {
  views_.clear();
  thresholds_.clear();
}

}  // namespace powercut::files
