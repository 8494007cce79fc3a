#include "tracer/runtime/recording/unseen_stores.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

namespace powercut::runtime {
namespace {

constexpr uint64_t kPage = PoolShadow::kPage;
constexpr uint64_t kPiece = 16 * kPage;  // read at once
// Up to this many bytes are always compared: some ten microseconds.
constexpr uint64_t kFew = 64 * kPage;
// A look at more bytes takes one part in this many of the time.
constexpr uint64_t kShare = 20;
// How long another thread may take from the announcement of a store to the store.
constexpr int kMostWaits = 1000;
constexpr timespec kWait = {0, 1'000'000};

uint64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

void UnseenStores::store(uint32_t pool, uint64_t offset, std::span<const uint8_t> bytes, uint64_t address) {
  shadow_.store(pool, offset, bytes);
  if (address == 0 || bytes.empty()) return;
  for (uint64_t page = address & ~(kPage - 1); page < address + bytes.size(); page += kPage) stored_.insert(page);
}

bool UnseenStores::affords_all() const { return all_ <= kFew || now() >= next_all_; }

void UnseenStores::add_resident(uint64_t begin, uint64_t end, std::vector<Piece>* pieces) {
  static constexpr uint64_t kPages = 1 << 16;
  std::vector<unsigned char> resident(std::min(kPages, (end - begin) / kPage + 1));
  begin &= ~(kPage - 1);
  while (begin < end) {
    const uint64_t size = std::min(end - begin, resident.size() * kPage);
    if (mincore(reinterpret_cast<void*>(begin), size, resident.data()) != 0) return;
    for (uint64_t at = begin; at < begin + size; at += kPage) {
      if ((resident[(at - begin) / kPage] & 1) == 0) continue;
      if (!pieces->empty() && pieces->back().address + pieces->back().length == at && pieces->back().length < kPiece) {
        pieces->back().length += std::min(kPage, end - at);
      } else {
        pieces->push_back({at, std::min(kPage, end - at)});
      }
    }
    begin += size;
  }
}

UnseenStores::Differences UnseenStores::look(Where where, bool others) {
  std::vector<Piece> pieces;
  const uint64_t start = now();
  if (where == Where::kAll) {
    for (uint32_t i = 0; i < ranges_->count; ++i) {
      add_resident(ranges_->ranges[i].begin, ranges_->ranges[i].end, &pieces);
    }
  } else {
    for (const uint64_t page : stored_) pieces.push_back({page, kPage});
    std::ranges::sort(pieces, {}, &Piece::address);
  }
  stored_.clear();
  Differences out = compare(pieces, others);
  if (where == Where::kAll) {
    next_all_ = now() + (kShare - 1) * (now() - start);
    all_ = 0;
    for (const Piece& piece : pieces) all_ += piece.length;
  }
  return out;
}

UnseenStores::Differences UnseenStores::look_at(uint64_t address, uint64_t length, bool others) {
  std::vector<Piece> pieces;
  const uint64_t end = address + length;
  powercut_range piece;
  while (powercut_ranges_next(ranges_, &address, end, &piece)) add_resident(piece.begin, piece.end, &pieces);
  return compare(pieces, others);
}

UnseenStores::Differences UnseenStores::compare(const std::vector<Piece>& pieces, bool others) {
  Differences out;
  if (pieces.empty()) return out;
  // The bytes are not read through the mapping: the program may have protected it.
  const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  if (memory < 0) return out;
  int waits = others ? kMostWaits : 0;
  std::vector<uint8_t> bytes(kPiece);
  for (const Piece& piece : pieces) {
    uint64_t at = piece.address;
    // A page may be mapped in part, or not any more.
    for (powercut_range mapped; powercut_ranges_next(ranges_, &at, piece.address + piece.length, &mapped);) {
      for (;; --waits) {
        // Behind the end of the file there is nothing to read.
        const ssize_t got = pread(memory, bytes.data(), mapped.end - mapped.begin, static_cast<off_t>(mapped.begin));
        if (got <= 0) break;
        const std::span actual(bytes.data(), static_cast<size_t>(got));
        if (waits > 0 && !shadow_.same(mapped.pool, mapped.offset, actual)) {
          nanosleep(&kWait, nullptr);
          continue;
        }
        PoolDifference difference;
        shadow_.compare(mapped.pool, mapped.offset, actual, &difference);
        if (difference.bytes == 0) break;
        PoolDifference& all = out[mapped.pool];
        if (all.bytes == 0) {
          all = difference;
        } else {
          all.bytes += difference.bytes;
          all.places += difference.places;
        }
        break;
      }
    }
  }
  close(memory);
  return out;
}

}  // namespace powercut::runtime
