#include "checker/subjects/program/trees/own_bytes.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace powercut {
namespace {

constexpr uint64_t kEnd = std::numeric_limits<uint64_t>::max();
// A piece to whose end a run adds grows up to so many bytes.
constexpr size_t kGrown = 1 << 20;

}  // namespace

void FileRanges::add(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  auto at = ranges_.upper_bound(begin);
  if (at != ranges_.begin() && std::prev(at)->second >= begin) --at;
  while (at != ranges_.end() && at->first <= end) {
    begin = std::min(begin, at->first);
    end = std::max(end, at->second);
    at = ranges_.erase(at);
  }
  ranges_[begin] = end;
}

std::vector<FileRange> FileRanges::missing(uint64_t begin, uint64_t end) const {
  std::vector<FileRange> out;
  auto at = ranges_.upper_bound(begin);
  if (at != ranges_.begin()) begin = std::max(begin, std::prev(at)->second);
  for (; begin < end; ++at) {
    const uint64_t next = at == ranges_.end() ? end : std::min(end, at->first);
    if (begin < next) out.emplace_back(begin, next);
    if (at == ranges_.end()) break;
    begin = at->second;
  }
  return out;
}

OwnBytes::Pieces::const_iterator OwnBytes::ends_behind(uint64_t offset) const {
  auto at = pieces_.upper_bound(offset);
  if (at == pieces_.begin()) return at;
  const auto before = std::prev(at);
  return before->first + before->second.size > offset ? before : at;
}

void OwnBytes::take_out(uint64_t begin, uint64_t end) {
  while (begin < end) {
    const auto at = ends_behind(begin);
    if (at == pieces_.end() || at->first >= end) return;
    const uint64_t first = at->first, last = first + at->second.size;
    Piece piece = std::move(pieces_.extract(at).mapped());
    const auto put = [&](uint64_t from, uint64_t to) {
      if (from >= to) return;
      pieces_[from] = {to - from, piece.bytes.empty() ? "" : piece.bytes.substr(from - first, to - from)};
    };
    put(first, std::min(begin, last));
    put(std::max(end, first), last);
    begin = last;
  }
}

void OwnBytes::write(uint64_t offset, std::span<const uint8_t> bytes) {
  if (bytes.empty()) return;
  const uint64_t end = offset + bytes.size();
  const auto within = ends_behind(offset);
  if (within != pieces_.end() && within->first <= offset && end <= within->first + within->second.size &&
      !within->second.bytes.empty()) {
    std::memcpy(pieces_.find(within->first)->second.bytes.data() + (offset - within->first), bytes.data(),
                bytes.size());
    return;
  }
  take_out(offset, end);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto next = pieces_.upper_bound(offset);
  if (next != pieces_.begin()) {
    auto& [first, before] = *std::prev(next);
    if (first + before.size == offset && !before.bytes.empty() && before.size + bytes.size() <= kGrown) {
      before.bytes += text;
      before.size += bytes.size();
      return;
    }
  }
  pieces_[offset] = {bytes.size(), std::string(text)};
}

void OwnBytes::zero(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  take_out(begin, end);
  pieces_[begin] = {end - begin, ""};
}

void OwnBytes::cut(uint64_t end) { take_out(end, kEnd); }

std::vector<FileRange> OwnBytes::missing(uint64_t begin, uint64_t end) const {
  std::vector<FileRange> out;
  for (auto at = ends_behind(begin); begin < end; ++at) {
    const uint64_t next = at == pieces_.end() ? end : std::min(end, at->first);
    if (begin < next) out.emplace_back(begin, next);
    if (at == pieces_.end()) break;
    begin = at->first + at->second.size;
  }
  return out;
}

void OwnBytes::lay_over(uint64_t offset, std::span<uint8_t> bytes) const {
  const uint64_t end = offset + bytes.size();
  for (auto at = ends_behind(offset); at != pieces_.end() && at->first < end; ++at) {
    const uint64_t from = std::max(offset, at->first), to = std::min(end, at->first + at->second.size);
    uint8_t* const out = bytes.data() + (from - offset);
    if (at->second.bytes.empty()) {
      std::memset(out, 0, to - from);
    } else {
      std::memcpy(out, at->second.bytes.data() + (from - at->first), to - from);
    }
  }
}

}  // namespace powercut
