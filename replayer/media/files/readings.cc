#include "replayer/media/files/readings.h"

#include <algorithm>

#include "replayer/media/files/versions_shown.h"

namespace powercut::files {
Readings::Readings(const Disk& disk, std::vector<std::vector<Shown>> shown, Effort* effort)
    : disk_(disk), shown_(std::move(shown)), effort_(effort) {
  for (const auto& paths : shown_) {
    auto& first = first_.emplace_back();
    for (uint32_t path = 0; path < paths.size(); ++path) {
      uint32_t same = 0;
      while (paths[same].inode != paths[path].inode) ++same;
      first.push_back(same);
    }
  }
}

std::map<Readings::Word, Readings::State> Readings::choose(
    const State& state,
    const std::function<std::vector<std::pair<Letter, Part>>(const Item&, const Part&)>& choices_of) const {
  std::map<Word, State> out;
  for (const Item& item : state) {
    std::vector<std::pair<Word, Item>> some{{Word(first_[item.alternative].size()), {item.alternative}}};
    for (const Part& part : item.parts) {
      const auto choices = choices_of(item, part);
      std::vector<std::pair<Word, Item>> more;
      for (const auto& [word, begun] : some) {
        for (const auto& [letter, next] : choices) {
          auto& [longer, grown] = more.emplace_back(word, begun);
          for (size_t path = 0; path < longer.size(); ++path) {
            if (first_[item.alternative][path] == part.shown) longer[path] = letter;
          }
          grown.parts.push_back(next);
        }
      }
      some = std::move(more);
    }
    effort_->made += some.size();
    for (auto& [word, grown] : some) out[std::move(word)].push_back(std::move(grown));
  }
  for (auto& [word, items] : out) {
    std::ranges::sort(items);
    items.erase(std::ranges::unique(items).begin(), items.end());
  }
  return out;
}

std::map<Readings::Word, Readings::State> Readings::begin(const Alternatives& of) const {
  State state;
  for (const uint32_t alternative : of) {
    Item& item = state.emplace_back(alternative);
    for (uint32_t path = 0; path < first_[alternative].size(); ++path) {
      if (first_[alternative][path] == path) item.parts.push_back({path});
    }
  }
  return choose(state, [&](const Item& item, const Part& part) {
    const Shown& here = shown(item, part);
    std::vector<std::pair<Letter, Part>> out;
    Part ended = part;
    ended.ended = true;
    if (here.bad || here.may_be_bad) out.emplace_back(Letter{Letter::Kind::kBad}, ended);
    if (here.bad) return out;
    if (here.file != nullptr) {
      out.emplace_back(Letter{Letter::Kind::kFile}, part);
      return out;
    }
    const Inode& inode = disk_.inode(here.inode);
    if (inode.kind == InodeKind::kFolder) {
      out.emplace_back(Letter{Letter::Kind::kFolder}, ended);
    } else {
      out.emplace_back(Letter{Letter::Kind::kLink, 0, disk_.contents().of(inode.target)}, ended);
    }
    return out;
  });
}

std::map<Readings::Word, Readings::State> Readings::read(const State& state, uint64_t sector) const {
  return choose(state, [&](const Item& item, const Part& part) {
    if (part.ended) return std::vector{std::pair(Letter{Letter::Kind::kEnded}, part)};
    return read(*shown(item, part).file, part, sector);
  });
}

std::vector<std::pair<Letter, Readings::Part>> Readings::read(const FileView& file, const Part& part,
                                                              uint64_t sector) const {
  std::vector<std::pair<Letter, Part>> out;
  for (const uint32_t size : file.ending_before(sector)) {
    if (is_in(part.excluded, size)) continue;
    out.emplace_back(Letter{Letter::Kind::kEnd}, Part{part.shown, true});
    break;
  }
  const uint64_t begin = sector * file.sector_size();
  const auto most = largest(file, part.excluded);
  if (!most || *most <= begin) return out;
  if (file.legal(sector) == nullptr) {
    const auto found = file.inode().sectors.find(sector);
    const bool zeroes = found == file.inode().sectors.end();
    cut(file, part, sector, zeroes ? disk_.contents().zeroes() : found->second.versions.back().value, &out);
    return out;
  }
  const bool whole_calls = disk_.switches().overwrite == Overwrite::kCall;
  const Sector& versions = file.inode().sectors.at(sector);
  for (auto& [version, calls] : showing(file, whole_calls, sector, part.calls)) {
    Part next = part;
    next.calls = std::move(calls);
    std::erase_if(next.calls, [&](const auto& call) { return file.last_sector(call.first) <= sector; });
    next.excluded = with(part.excluded, file.excluded_by(sector, version));
    cut(file, std::move(next), sector, versions[version].value, &out);
  }
  return out;
}

// Adds the letters of a sector with this content: the whole sector, and what sizes leave of it.
void Readings::cut(const FileView& file, Part part, uint64_t sector, ContentId content,
                   std::vector<std::pair<Letter, Part>>* out) const {
  const uint64_t begin = sector * file.sector_size(), end = begin + file.sector_size();
  for (const uint32_t number : file.ending_in(sector)) {
    if (is_in(part.excluded, number)) continue;
    const auto size = static_cast<uint32_t>(file.inode().size_at(number).size - begin);
    out->emplace_back(Letter{Letter::Kind::kCut, size, disk_.contents().cut(content, size)}, Part{part.shown, true});
  }
  const auto most = largest(file, part.excluded);
  if (!most || *most < end) return;
  // Only what matters behind this sector tells words apart.
  std::erase_if(part.excluded, [&](const auto& range) { return file.largest(range.first, range.second) < end; });
  out->emplace_back(Letter{Letter::Kind::kSector, 0, content}, std::move(part));
}

std::optional<uint64_t> Readings::next(const State& state, uint64_t sector) const {
  std::optional<uint64_t> out;
  for (const Item& item : state) {
    for (const Part& part : item.parts) {
      if (part.ended) continue;
      // Alternatives that lead to other files differ in any sector.
      const uint64_t inode = shown(item, part).inode;
      for (size_t path = 0; path < first_[item.alternative].size(); ++path) {
        if (first_[item.alternative][path] != part.shown) continue;
        for (const Item& other : state) {
          if (shown_[other.alternative][path].inode != inode) return sector;
        }
      }
      const auto& interesting = shown(item, part).file->interesting();
      const auto found = std::ranges::lower_bound(interesting, sector);
      if (found != interesting.end()) out = std::min(out.value_or(*found), *found);
    }
  }
  return out;
}

std::map<Alternatives, Count> Readings::count(const Alternatives& of) const {
  std::map<Alternatives, Count> out;
  std::map<uint64_t, std::map<State, Count>> at;  // by the sector that is read next
  const auto go_on = [&](const std::map<Word, State>& words, const Count& count, uint64_t sector) {
    for (const auto& [word, state] : words) {
      if (const auto place = next(state, sector)) {
        at[*place][state] += count;
        continue;
      }
      Alternatives alive;
      for (const Item& item : state) {
        if (alive.empty() || alive.back() != item.alternative) alive.push_back(item.alternative);
      }
      out[std::move(alive)] += count;
    }
  };
  go_on(begin(of), 1, 0);
  while (!at.empty() && !effort_->exceeded()) {
    const auto first = at.extract(at.begin());
    for (const auto& [state, count] : first.mapped()) go_on(read(state, first.key()), count, first.key() + 1);
  }
  return out;
}

void Readings::each(
    const Alternatives& of,
    const std::function<void(const std::vector<std::vector<Letter>>&, const Alternatives&)>& use) const {
  std::vector<std::vector<Letter>> found(of.empty() ? 0 : first_[of[0]].size());
  const std::function<void(const std::map<Word, State>&, uint64_t)> go_on = [&](const auto& words, uint64_t sector) {
    for (const auto& [word, state] : words) {
      if (effort_->exceeded()) return;
      for (size_t path = 0; path < word.size(); ++path) found[path].push_back(word[path]);
      const bool ended =
          std::ranges::all_of(state, [](const Item& item) { return std::ranges::all_of(item.parts, &Part::ended); });
      if (ended) {
        Alternatives alive;
        for (const Item& item : state) {
          if (alive.empty() || alive.back() != item.alternative) alive.push_back(item.alternative);
        }
        use(found, alive);
      } else {
        go_on(read(state, sector), sector + 1);
      }
      for (auto& letters : found) letters.pop_back();
    }
  };
  go_on(begin(of), 0);
}

}  // namespace powercut::files
