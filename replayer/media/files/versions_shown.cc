#include "replayer/media/files/versions_shown.h"

#include <algorithm>

namespace powercut::files {

bool is_in(const Ranges& ranges, uint32_t number) {
  return std::ranges::any_of(ranges,
                             [&](const auto& range) { return range.first <= number && number <= range.second; });
}

Ranges with(const Ranges& ranges, const Ranges& more) {
  if (more.empty()) return ranges;
  Ranges all = ranges, out;
  all.insert(all.end(), more.begin(), more.end());
  std::ranges::sort(all);
  for (const auto& range : all) {
    if (out.empty() || range.first > out.back().second + 1) {
      out.push_back(range);
    } else {
      out.back().second = std::max(out.back().second, range.second);
    }
  }
  return out;
}

std::optional<uint64_t> largest(const FileView& file, const Ranges& excluded) {
  std::optional<uint64_t> out;
  uint64_t from = file.first_size();
  const auto take = [&](uint64_t behind) {
    if (from < behind)
      out = std::max(out.value_or(0), file.largest(static_cast<uint32_t>(from), static_cast<uint32_t>(behind - 1)));
  };
  for (const auto& range : excluded) {
    take(range.first);
    from = uint64_t{range.second} + 1;
  }
  take(uint64_t{file.last_size()} + 1);
  return out;
}

std::vector<std::pair<uint32_t, Calls>> showing(const FileView& file, bool whole_calls, uint64_t sector,
                                                const Calls& calls) {
  const FileView::Legal* const legal = file.legal(sector);
  std::vector<std::pair<uint32_t, Calls>> out;
  if (!whole_calls) {
    for (uint32_t version = legal->low; version <= legal->high; ++version) out.emplace_back(version, calls);
    return out;
  }
  const Sector& versions = file.inode().sectors.at(sector);
  Calls missing = calls;  // ascending
  for (uint32_t version = legal->high; version > legal->low; --version) {
    const uint32_t call = versions[version].call;
    if (call == 0) {  // by itself
      out.emplace_back(version, missing);
      continue;
    }
    if (file.on_disk(call)) {
      out.emplace_back(version, missing);
      return out;
    }
    if (file.missing(call)) continue;
    const auto place = std::ranges::lower_bound(missing, std::pair(call, false));
    if (place != missing.end() && place->first == call) {
      if (!place->second) continue;
      out.emplace_back(version, missing);
      return out;
    }
    Calls made = missing;
    made.insert(made.begin() + (place - missing.begin()), {call, true});
    out.emplace_back(version, std::move(made));
    missing.insert(place, {call, false});
  }
  out.emplace_back(legal->low, std::move(missing));
  return out;
}

}  // namespace powercut::files
