#include "checker/subjects/library/table_drawing.h"

#include <algorithm>
#include <cstring>

#include "tracer/runtime/hooks.h"
#include "tracer/world/pool_memory.h"

namespace powercut {
namespace {

constexpr size_t kMostBuckets = 64, kLeastBuckets = 8;

// A row of the picture: the cells of one bucket, before and after, each pair under one name.
struct Row {
  struct Pair {
    const DrawnCells::Cell* before = nullptr;
    const DrawnCells::Cell* after = nullptr;
  };
  uint32_t group = 0;
  uint64_t bucket = 0;
  std::vector<std::pair<std::string, Pair>> cells;  // words by their label, slots by "#" and their number

  Pair& cell(const DrawnCells::Cell& drawn) {
    const std::string name = drawn.kind == POWERCUT_CELL_WORD ? drawn.label : "#" + std::to_string(drawn.slot);
    for (auto& [known, pair] : cells) {
      if (known == name) return pair;
    }
    return cells.emplace_back(name, Pair{}).second;
  }
};

bool same(const DrawnCells::Cell* a, const DrawnCells::Cell* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->kind == b->kind && a->text == b->text && a->key == b->key && a->value == b->value;
}

// The rows of both drawings. Groups and cells are in the order in which they were drawn; a group or cell that only the
// second drawing has comes after the others.
class Table {
 public:
  void add(const std::vector<DrawnCells::Cell>& cells, bool after) {
    for (const DrawnCells::Cell& cell : cells) {
      const auto [group, fresh] = groups_.try_emplace(cell.group, static_cast<uint32_t>(names_.size()));
      if (fresh) names_.push_back(cell.group);
      const auto [at, added] = places_.try_emplace({group->second, cell.bucket}, rows_.size());
      if (added) rows_.push_back({group->second, cell.bucket, {}});
      Row::Pair& pair = rows_[at->second].cell(cell);
      (after ? pair.after : pair.before) = &cell;
    }
  }
  // Group by group, bucket by bucket.
  std::vector<const Row*> rows() const {
    std::vector<const Row*> out;
    for (const auto& [place, index] : places_) out.push_back(&rows_[index]);
    return out;
  }
  const std::string& name(uint32_t group) const { return names_[group]; }

 private:
  std::map<std::string, uint32_t> groups_;
  std::vector<std::string> names_;
  std::map<std::pair<uint32_t, uint64_t>, size_t> places_;
  std::vector<Row> rows_;
};

Json cell_json(const DrawnCells::Cell* cell, const History& history) {
  if (cell == nullptr) return nullptr;
  static constexpr const char* kKinds[] = {"empty", "item", "word"};
  Json out = {{"kind", kKinds[std::min<uint32_t>(cell->kind, 2)]}, {"offset", cell->offset}, {"size", cell->size}};
  if (!cell->text.empty()) out["text"] = cell->text;
  if (cell->kind != POWERCUT_CELL_ITEM && cell->key.empty()) return out;
  const std::optional<uint32_t> found = history.find(cell->key);
  out["key"] = found ? name_of(history.keys()[*found]) : describe_value(cell->key);
  if (history.counts() && cell->value.size() == sizeof(int64_t)) {  // a part of the sum: nobody wrote it as it is
    int64_t count;
    std::memcpy(&count, cell->value.data(), sizeof count);
    out["count"] = count;
    return out;
  }
  out["value"] = describe_value(cell->value);
  // The last time that this value was written to this key, from 1; 0: nobody wrote it.
  uint64_t write = 0;
  if (found) {
    const std::vector<std::string>& written = history.keys()[*found].written;
    const auto at = std::find(written.rbegin(), written.rend(), cell->value);
    write = static_cast<uint64_t>(written.rend() - at);
  }
  out["write"] = write;
  return out;
}

// How much a row matters: 0 differs, 1 was touched by the cut or holds the key, 2 nothing of its own.
int rank(const Row& row, bool compared, const DrawingFocus& focus) {
  int best = 2;
  for (const auto& [name, pair] : row.cells) {
    if (compared && !same(pair.before, pair.after)) return 0;
    for (const DrawnCells::Cell* cell : {pair.before, pair.after}) {
      if (cell == nullptr) continue;
      const auto line = focus.lines.lower_bound(cell->offset / kLineSize);
      const bool touched = line != focus.lines.end() && *line * kLineSize < cell->offset + cell->size;
      if (touched || (focus.key && cell->key == *focus.key)) best = 1;
    }
  }
  return best;
}

// Returns which rows are shown: the rows with the highest rank first, then their neighbours. A small table is shown
// whole.
std::vector<bool> chosen(const std::vector<const Row*>& rows, const std::vector<int>& ranks) {
  std::vector<bool> out(rows.size());
  size_t count = 0;
  const auto take = [&](size_t i) {
    if (out[i] || count == kMostBuckets) return;
    out[i] = true;
    ++count;
  };
  for (int rank : {0, 1}) {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (ranks[i] == rank) take(i);
    }
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (ranks[i] == 2) continue;
    if (i > 0 && rows[i - 1]->group == rows[i]->group) take(i - 1);
    if (i + 1 < rows.size() && rows[i + 1]->group == rows[i]->group) take(i + 1);
  }
  // Nothing tells anything, or little is left: the beginning of the table, which may be the whole of it.
  for (size_t i = 0; i < rows.size() && count < kLeastBuckets; ++i) take(i);
  return out;
}

// The target's pointer may lead into the pool. A drawing decides nothing: it shows the bytes that memory holds.
const void* place_of(const void* address) {
  const uint64_t offset = reinterpret_cast<uint64_t>(address) - kPoolBase;
  return offset < __powercut_alias.span ? pool_bytes() + offset : address;
}

void put_text(ResultBuffer* out, const char* text) {
  const size_t size = text == nullptr ? 0 : std::strlen(static_cast<const char*>(place_of(text)));
  out->put_u32(static_cast<uint32_t>(size));
  out->put(place_of(text), size);
}

void put_bytes(ResultBuffer* out, powercut_bytes bytes) {
  out->put_u32(static_cast<uint32_t>(bytes.size));
  out->put(place_of(bytes.data), bytes.size);
}

}  // namespace

int DrawnCells::add(void* context, const powercut_cell* cell) {
  auto* self = static_cast<DrawnCells*>(context);
  const uint64_t offset =
      cell->size == 0 ? 0 : static_cast<uint64_t>(static_cast<const uint8_t*>(cell->at) - self->pool_);
  ResultBuffer& out = self->buffer_;
  out.put_u32(cell->kind);
  out.put_u32(cell->slot);
  for (uint64_t number : {cell->bucket, offset, cell->size}) out.put(&number, sizeof number);
  for (const char* text : {cell->group, cell->label, cell->text}) put_text(&out, text);
  put_bytes(&out, cell->key);
  put_bytes(&out, cell->value);
  return out.overflow() ? 1 : 0;
}

powercut_status DrawnCells::draw(powercut_target_draw_fn draw, powercut_table* table, const uint8_t* pool) {
  pool_ = pool;
  return draw(table, &DrawnCells::add, this);
}

std::vector<DrawnCells::Cell> DrawnCells::cells() const {
  std::vector<Cell> out;
  std::string_view rest = buffer_.view();
  bool whole = true;  // the last one may have been cut short
  const auto take = [&](void* to, size_t size) {
    whole = whole && rest.size() >= size;
    if (!whole) return;
    std::memcpy(to, rest.data(), size);
    rest.remove_prefix(size);
  };
  const auto text = [&] {
    uint32_t size = 0;
    take(&size, sizeof size);
    std::string value(whole && size <= rest.size() ? size : 0, '\0');
    whole = whole && size <= rest.size();
    take(value.data(), value.size());
    return value;
  };
  while (!rest.empty()) {
    Cell cell;
    take(&cell.kind, sizeof cell.kind);
    take(&cell.slot, sizeof cell.slot);
    for (uint64_t* number : {&cell.bucket, &cell.offset, &cell.size}) take(number, sizeof *number);
    for (std::string* part : {&cell.group, &cell.label, &cell.text, &cell.key, &cell.value}) *part = text();
    if (!whole) break;
    out.push_back(std::move(cell));
  }
  return out;
}

Json drawing_json(const std::vector<DrawnCells::Cell>& before, const std::vector<DrawnCells::Cell>* after,
                  const History& history, const DrawingFocus& focus) {
  Table table;
  table.add(before, false);
  if (after != nullptr) table.add(*after, true);
  const std::vector<const Row*> rows = table.rows();
  std::vector<int> ranks;
  for (const Row* row : rows) ranks.push_back(rank(*row, after != nullptr, focus));
  const std::vector<bool> shown = chosen(rows, ranks);

  Json groups = Json::array();
  size_t left_out = 0, differing_left_out = 0;
  const Row* last = nullptr;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = *rows[i];
    if (!shown[i]) {
      ++left_out;
      differing_left_out += ranks[i] == 0 ? 1 : 0;
      continue;
    }
    if (last == nullptr || last->group != row.group) {
      groups.push_back({{"name", table.name(row.group)}, {"buckets", Json::array()}});
    }
    last = &row;
    Json cells = Json::array();
    for (const auto& [name, pair] : row.cells) {
      cells.push_back({{"name", name[0] == '#' ? name.substr(1) : name},
                       {"before", cell_json(pair.before, history)},
                       {"after", cell_json(pair.after, history)}});
    }
    groups.back()["buckets"].push_back({{"bucket", row.bucket}, {"cells", cells}});
  }
  return {{"groups", groups},
          {"after", after != nullptr},
          {"left_out", left_out},
          {"differing_left_out", differing_left_out}};
}

}  // namespace powercut
