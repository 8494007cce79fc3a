#include "replayer/media/files/file_answers.h"

#include <algorithm>
#include <set>
#include <utility>

namespace powercut::files {

bool FileAnswers::add(const FileAnswers& other) {
  if ((bad && other.bad && *bad != *other.bad) || (size && other.size && *size != *other.size)) return false;
  if (other.bad) bad = other.bad;
  if (other.size) size = other.size;
  return std::ranges::all_of(other.sectors, [&](const auto& each) {
    return sectors.try_emplace(each.first, each.second).first->second == each.second;
  });
}

FileAnswers answers_of(const FileContents& contents, const Disk& disk) {
  FileAnswers out{.bad = contents.bad, .size = contents.size};
  const uint64_t unit = disk.units().sector;
  for (const auto& [sector, content] : contents.sectors) {
    if (sector * unit >= contents.size) continue;
    const uint64_t left = std::min(contents.size - sector * unit, unit);
    const auto size = static_cast<uint32_t>(left);
    out.sectors[sector] = left == unit ? Letter{Letter::Kind::kSector, 0, content}
                                       : Letter{Letter::Kind::kCut, size, disk.contents().cut(content, left)};
  }
  return out;
}

FileReader::FileReader(const Disk& disk, const FileView& file, Effort* effort)
    : disk_(disk), file_(file), effort_(effort), by_calls_(disk.switches().overwrite == Overwrite::kCall) {}

std::optional<FileReader::Limits> FileReader::limits(const FileAnswers& answers) const {
  Limits out;
  if (answers.size) out = {*answers.size, *answers.size};
  for (const auto& [sector, letter] : answers.sectors) {
    const uint64_t begin = sector * file_.sector_size();
    if (letter.kind == Letter::Kind::kEnd) {
      out.high = std::min(out.high, begin);
    } else if (letter.kind == Letter::Kind::kCut) {
      out.low = std::max(out.low, begin + letter.size);
      out.high = std::min(out.high, begin + letter.size);
    } else {
      out.low = std::max(out.low, begin + file_.sector_size());
    }
  }
  return out.low <= out.high ? std::optional(out) : std::nullopt;
}

bool FileReader::matches(const FileAnswers& answers, uint64_t sector, ContentId content) const {
  const auto found = answers.sectors.find(sector);
  if (found == answers.sectors.end() || found->second.kind == Letter::Kind::kEnd) return true;
  const Letter& letter = found->second;
  if (letter.kind == Letter::Kind::kSector) return letter.content == content;
  return letter.content == disk_.contents().cut(content, letter.size);
}

bool FileReader::has_size(const Ranges& excluded, const Limits& limits) const {
  if (limits.high == UINT64_MAX) {
    const auto most = largest(file_, excluded);
    return most && *most >= limits.low;
  }
  effort_->made += (file_.last_size() - file_.first_size()) / 64;
  for (uint32_t number = file_.last_size();; --number) {
    const uint64_t size = file_.inode().size_at(number).size;
    if (limits.low <= size && size <= limits.high && !is_in(excluded, number)) return true;
    if (number == file_.first_size()) return false;
  }
}

std::optional<uint32_t> FileReader::newest_match(const FileAnswers& answers, uint64_t sector) const {
  const FileView::Legal* const legal = file_.legal(sector);
  const Sector& versions = file_.inode().sectors.at(sector);
  for (uint32_t version = legal->high;; --version) {
    if (matches(answers, sector, versions[version].value)) return version;
    if (version == legal->low) return std::nullopt;
  }
}

// Where write calls leave their sectors by themselves, sectors are independent but for the sizes that they exclude. A
// newer version excludes no more sizes than an older one, so each sector shows its newest version that matches.
std::vector<FileReader::End> FileReader::ends(const FileAnswers& answers, std::optional<uint64_t> sector) const {
  if (by_calls_) return ends_by_calls(answers, sector);
  effort_->made += 1 + (answers.sectors.size() + file_.needed().size()) / 64;
  Ranges excluded;
  const auto exclude = [&](uint64_t each, uint32_t version) {
    if (const auto more = file_.excluded_by(each, version); !more.empty()) excluded = with(excluded, more);
  };
  for (const auto& [each, letter] : answers.sectors) {
    if (each == sector) continue;
    if (file_.legal(each) == nullptr) {
      if (!matches(answers, each, disk_.settled(file_.inode(), each))) return {};
    } else if (const auto version = newest_match(answers, each)) {
      exclude(each, *version);
    } else {
      return {};
    }
  }
  for (const uint64_t each : file_.needed()) {
    const FileView::Legal* const legal = file_.legal(each);
    if (legal != nullptr && each != sector && !answers.sectors.contains(each)) exclude(each, legal->high);
  }
  if (!sector) return {{0, std::move(excluded)}};
  if (file_.legal(*sector) == nullptr) {
    const ContentId content = disk_.settled(file_.inode(), *sector);
    return matches(answers, *sector, content) ? std::vector<End>{{content, std::move(excluded)}} : std::vector<End>{};
  }
  std::vector<End> out;
  std::set<ContentId> seen;
  const FileView::Legal legal = *file_.legal(*sector);
  for (uint32_t version = legal.high;; --version) {
    const ContentId content = file_.inode().sectors.at(*sector)[version].value;
    if (seen.insert(content).second && matches(answers, *sector, content)) {
      out.push_back({content, with(excluded, file_.excluded_by(*sector, version))});
    }
    if (version == legal.low) return out;
  }
}

// Goes through all sectors with a choice, with every set of decided calls and excluded sizes.
std::vector<FileReader::End> FileReader::ends_by_calls(const FileAnswers& answers,
                                                       std::optional<uint64_t> sector) const {
  struct State {
    uint32_t version;  // of the sector that is asked for: newer ones come first
    ContentId content;
    Ranges excluded;
    Calls calls;
    auto operator<=>(const State&) const = default;
  };
  const bool whole_calls = disk_.switches().overwrite == Overwrite::kCall;
  std::set<State> states{{0, 0, {}, {}}};
  for (const auto& [each, letter] : answers.sectors) {
    if (file_.legal(each) == nullptr && !matches(answers, each, disk_.settled(file_.inode(), each))) return {};
  }
  for (const uint64_t each : file_.open()) {
    std::set<State> next;
    const Sector& versions = file_.inode().sectors.at(each);
    for (const State& state : states) {
      for (auto& [version, calls] : showing(file_, whole_calls, each, state.calls)) {
        const ContentId content = versions[version].value;
        if (!matches(answers, each, content)) continue;
        State grown = state;
        if (each == sector) grown.version = UINT32_MAX - version, grown.content = content;
        grown.excluded = with(state.excluded, file_.excluded_by(each, version));
        grown.calls = std::move(calls);
        std::erase_if(grown.calls, [&](const auto& call) { return file_.last_sector(call.first) <= each; });
        next.insert(std::move(grown));
      }
    }
    effort_->made += next.size();
    states = std::move(next);
    if (effort_->exceeded()) break;
  }
  std::vector<End> out;
  for (const State& state : states) {
    const bool open = !sector || file_.legal(*sector) != nullptr;
    out.push_back({open ? state.content : disk_.settled(file_.inode(), *sector), state.excluded});
  }
  return out;
}

bool FileReader::agrees(const FileAnswers& answers) const {
  const auto limits = this->limits(answers);
  if (!limits) return false;
  return std::ranges::any_of(ends(answers, std::nullopt),
                             [&](const End& end) { return has_size(end.excluded, *limits); });
}

std::vector<uint64_t> FileReader::sizes(const FileAnswers& answers) const {
  const auto limits = this->limits(answers);
  if (!limits) return {};
  std::set<uint64_t> out;
  for (const End& end : ends(answers, std::nullopt)) {
    for (uint32_t number = file_.first_size(); number <= file_.last_size(); ++number) {
      const uint64_t size = file_.inode().size_at(number).size;
      if (limits->low <= size && size <= limits->high && !is_in(end.excluded, number)) out.insert(size);
    }
  }
  return {out.begin(), out.end()};
}

std::vector<Letter> FileReader::letters(const FileAnswers& answers, uint64_t sector) const {
  const auto limits = this->limits(answers);
  std::vector<Letter> out;
  if (!limits) return out;
  const uint64_t begin = sector * file_.sector_size(), behind = begin + file_.sector_size();
  const auto add = [&](const Letter& letter) {
    if (std::ranges::find(out, letter) == out.end()) out.push_back(letter);
  };
  const std::vector<End> every = ends(answers, sector);
  for (const End& end : every) {
    if (has_size(end.excluded, {std::max(limits->low, behind), limits->high})) {
      add({Letter::Kind::kSector, 0, end.content});
    }
    for (const uint32_t number : file_.ending_in(sector)) {
      const uint64_t size = file_.inode().size_at(number).size;
      if (size < limits->low || size > limits->high || is_in(end.excluded, number)) continue;
      const auto left = static_cast<uint32_t>(size - begin);
      add({Letter::Kind::kCut, left, disk_.contents().cut(end.content, left)});
    }
  }
  for (const End& end : every) {
    if (has_size(end.excluded, {limits->low, std::min(limits->high, begin)})) {
      add({Letter::Kind::kEnd});
      break;
    }
  }
  return out;
}

FileContents FileReader::newest(const FileAnswers& answers) const {
  FileAnswers told = answers;
  FileContents out{.bad = answers.bad.value_or(false)};
  const std::vector<End> every = ends(told, std::nullopt);
  const auto limits = *this->limits(told);
  for (uint32_t number = file_.last_size();; --number) {
    out.size = file_.inode().size_at(number).size;
    const bool agrees = limits.low <= out.size && out.size <= limits.high;
    if (agrees && std::ranges::any_of(every, [&](const End& end) { return !is_in(end.excluded, number); })) break;
    if (number == file_.first_size()) break;
  }
  if (!by_calls_) {
    for (const uint64_t sector : file_.open()) {
      out.sectors[sector] = file_.inode().sectors.at(sector)[*newest_match(told, sector)].value;
    }
    return out;
  }
  // Sector by sector, the newest content that leaves something legal.
  told.size = out.size;
  for (const uint64_t sector : file_.open()) {
    const uint64_t begin = sector * file_.sector_size();
    for (const End& end : ends(told, sector)) {
      if (!has_size(end.excluded, {out.size, out.size})) continue;
      out.sectors[sector] = end.content;
      if (begin < out.size) {
        const uint64_t left = std::min(out.size - begin, file_.sector_size());
        told.sectors[sector] = left < file_.sector_size() ? Letter{Letter::Kind::kCut, static_cast<uint32_t>(left),
                                                                   disk_.contents().cut(end.content, left)}
                                                          : Letter{Letter::Kind::kSector, 0, end.content};
      }
      break;
    }
  }
  return out;
}

}  // namespace powercut::files
