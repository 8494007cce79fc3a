// Draws a table as figures 1 and 2 of the paper do: the RAM buffer, the change segment, the data segment and the
// overflow region. A row is a page, or a slot of the RAM buffer.
#include <algorithm>
#include <string>
#include <utility>

#include "targets/common/counting/table.h"
#include "targets/common/drawing.h"

namespace powercut::counting {
namespace {

using Counted = unsigned long long;

// "0, 2-4" of ascending ranges.
class Ranges {
 public:
  void Add(uint32_t first, uint32_t last) {
    if (!ranges_.empty() && first <= ranges_.back().second + 1) {
      ranges_.back().second = std::max(ranges_.back().second, last);
    } else {
      ranges_.emplace_back(first, last);
    }
  }
  bool empty() const { return ranges_.empty(); }
  std::string Text() const {
    std::string text;
    for (const auto& [first, last] : ranges_) {
      text += (text.empty() ? "" : ", ") + std::to_string(first) + (first == last ? "" : "-" + std::to_string(last));
    }
    return text.empty() ? "none" : text;
  }

 private:
  std::vector<std::pair<uint32_t, uint32_t>> ranges_;
};

const uint8_t* BytesOf(const uint64_t& key) { return reinterpret_cast<const uint8_t*>(&key); }
const uint8_t* BytesOf(const int64_t& count) { return reinterpret_cast<const uint8_t*>(&count); }

}  // namespace

class Table::Sketch {
 public:
  Sketch(Table* table, Drawing* to) : table_(*table), to_(to) {
    for (uint32_t slot = 0; slot < table_.options_.blocks; ++slot) {
      const std::vector<Part> parts = table_.PartsOf(slot);
      parts_.insert(parts_.end(), parts.begin(), parts.end());
      Image image(table_.geometry_.block_entries);
      table_.Load(slot, &image);
      for (uint32_t i = 0; i < image.pages.size(); ++i) {
        const bool last = i + 1 == image.pages.size();
        chains_.push_back({image.pages[i], slot, i, last ? "none" : std::to_string(image.pages[i + 1])});
      }
    }
  }

  // The RAM buffer lies in the program's own memory: after a power cut it has the contents that open has made.
  void RamBuffer() {
    to_->Group("RAM buffer");
    for (uint32_t slot = 0; slot < table_.options_.blocks && to_->Wants(); ++slot) {
      to_->Bucket(slot);
      uint32_t i = 0;
      for (const Change& change : table_.buffer_.slot(slot)) {
        if (change.delta == 0) {
          to_->Dead(i++, BytesOf(change.key), BytesOf(change.delta), nullptr, 0, "erased");
        } else {
          to_->Item(i++, BytesOf(change.key), BytesOf(change.delta), nullptr, 0, Erased(change.erased));
        }
      }
      if (i == 0) to_->Empty(0, nullptr, 0);
      if (kMember.scheme != Scheme::kLinear) continue;
      Ranges pages;
      for (const Range& range : table_.ranges_[slot]) pages.Add(range.first, range.last);
      to_->Word("change pages", nullptr, 0, "%s", pages.Text().c_str());
    }
  }

  void ChangeSegment() {
    for (uint32_t log = 0; log < table_.geometry_.logs && to_->Wants(); ++log) {
      if (kMember.scheme == Scheme::kLinear) {
        to_->Group("change segment");
      } else {
        const uint32_t first = log * table_.geometry_.log_slots;
        to_->Group("change block of slots %u-%u", first, first + table_.logs_[log].slots - 1);
      }
      for (uint32_t p = 0; p < table_.geometry_.log_pages && to_->Wants(); ++p) ChangePage(table_.logs_[log], p);
    }
  }

  // `hardened` has a place more than blocks, and a block is written to the free one.
  void DataSegment() {
    const bool moves = table_.geometry_.places != table_.options_.blocks;
    for (uint32_t place = 0; place < table_.geometry_.places && to_->Wants(); ++place) {
      to_->Group(moves ? "data segment, place %u" : "data block %u", place);
      for (uint32_t p = 0; p < table_.options_.pages; ++p) DataPage(place, p);
    }
  }

  void OverflowRegion() {
    to_->Group("overflow region");
    for (uint32_t p = 0; p < table_.geometry_.overflow_pages && to_->Wants(); ++p) {
      const Page page = Read(table_.geometry_.overflow + p, p);
      const auto link = std::find_if(chains_.begin(), chains_.end(), [p](const Link& one) { return one.page == p; });
      if (link != chains_.end()) {
        to_->Word("chain of block", At(), Device::kPlaceSize, "%u", link->slot);
        to_->Word("link", At(), Device::kPlaceSize, "%u", link->index);
        to_->Word("next page", At(), Device::kPlaceSize, "%s", link->next.c_str());
      } else if (!page.IsZero()) {
        State("in no chain");
      }
      Entries(page, "in no chain");
    }
  }

 private:
  struct Link {
    uint32_t page, slot, index;
    std::string next;
  };

  static const char* Erased(bool erased) { return erased ? "erased before" : nullptr; }
  const void* At(uint32_t byte = 0) const { return table_.device_.PlaceOf(number_, byte); }
  void State(const char* state) { to_->Word("state", At(), Device::kPlaceSize, "%s", state); }

  // Returns the page. A page that cannot be read is drawn as a page of zeroes.
  Page Read(uint64_t number, uint64_t bucket) {
    const Page page = table_.In(table_.page_);
    number_ = number;
    to_->Bucket(bucket);
    if (!table_.device_.Read(number, table_.page_.data())) page.Clear();
    return page;
  }

  void ChangePage(const Log& log, uint32_t p) {
    const Page page = Read(log.first + p, p);
    const bool hardened = table_.options_.hardened;
    if (!page.IsZero() && (page.header().kind != Kind::kChange || !table_.IsGood(page, Kind::kChange))) {
      State("torn");
      Entries(page, "torn");
      return;
    }
    Ranges slots;
    uint32_t merged = 0, all = 0;
    std::vector<uint32_t> sorted;
    for (; all < std::min(page.header().entries, table_.options_.entries); ++all) {
      const uint32_t slot = table_.PositionOf(page.entry(all).key).slot;
      sorted.push_back(slot);
      merged += hardened && page.header().generation <= table_.merged_[slot] ? 1 : 0;
    }
    std::sort(sorted.begin(), sorted.end());
    for (const uint32_t slot : sorted) slots.Add(slot, slot);
    State(all == 0 ? "free" : merged == all ? "merged" : merged != 0 ? "merged in part" : "staged");
    if (all != 0) to_->Word("slots", At(), Device::kPlaceSize, "%s", slots.Text().c_str());
    if (all != 0 && hardened) {
      to_->Word("number", At(), Device::kPlaceSize, "%llu", static_cast<Counted>(page.header().generation));
    }
    Entries(page, "merged");
  }

  void DataPage(uint32_t place, uint32_t p) {
    const Page page = Read(table_.BlockAt(place) + p, p);
    const bool zero = page.IsZero();
    const PageHeader& header = page.header();
    if (!table_.options_.hardened || !table_.buffered()) {
      Entries(page, "torn");
      return;
    }
    if (zero || !page.IsSealed(Kind::kData) || header.owner >= table_.options_.blocks) {
      State(zero ? "free" : "torn");
      Entries(page, "torn");
      return;
    }
    const bool newest = table_.place_[header.owner] == place;
    State(newest ? "newest" : "not in use");
    to_->Word("block", At(), Device::kPlaceSize, "%u", header.owner);
    to_->Word("generation", At(), Device::kPlaceSize, "%llu", static_cast<Counted>(header.generation));
    if (!table_.logs_.empty()) {
      to_->Word("merged up to", At(), Device::kPlaceSize, "%llu", static_cast<Counted>(header.merged));
    }
    Entries(page, "not in use");
  }

  // `dead`: why an entry of this page does not count, where it is not that it was erased.
  void Entries(const Page& page, const char* dead) {
    for (uint32_t i = 0; i < table_.options_.entries && to_->Wants(); ++i) {
      const Tag tag = page.tag(i);
      const Entry& entry = page.entry(i);
      const void* const at = At(Page::OffsetOf(i));
      const auto part = std::find_if(parts_.begin(), parts_.end(),
                                     [&](const Part& one) { return one.page == number_ && one.index == i; });
      if (tag == Tag::kEmpty) {
        to_->Empty(i, at, Device::kPlaceSize);
      } else if (tag == Tag::kPointer) {
        char text[32];
        std::snprintf(text, sizeof text, "to page %llu", static_cast<Counted>(entry.key));
        to_->Empty(i, at, Device::kPlaceSize, text);
      } else if (part == parts_.end()) {
        to_->Dead(i, BytesOf(entry.key), BytesOf(entry.count), at, Device::kPlaceSize, dead);
      } else if (part->covered || part->count == 0) {
        to_->Dead(i, BytesOf(entry.key), BytesOf(entry.count), at, Device::kPlaceSize, "erased");
      } else {
        to_->Item(i, BytesOf(entry.key), BytesOf(entry.count), at, Device::kPlaceSize, Erased(tag == Tag::kErased));
      }
    }
  }

  Table& table_;
  Drawing* const to_;
  // Vectors: a std::map brings in code without instrumentation, and all memory is compared for that after each
  // execution (replayer/EXPLORER.md, "Blind spots").
  std::vector<Part> parts_;   // of the sums
  std::vector<Link> chains_;  // pages of the overflow region
  uint64_t number_ = 0;       // of the page that was read last
};

void Table::Draw(Drawing* to) {
  Sketch sketch(this, to);
  if (buffered()) sketch.RamBuffer();
  sketch.ChangeSegment();
  sketch.DataSegment();
  sketch.OverflowRegion();
}

}  // namespace powercut::counting

POWERCUT_DRAWS(powercut::counting::Table)
