#include "tracer/pmemcheck/importer.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <memory>
#include <set>

#include "tracer/format/writer.h"
#include "tracer/pmemcheck/frames.h"
#include "tracer/pmemcheck/log.h"
#include "tracer/pmemcheck/mapped_file.h"

namespace powercut::pmemcheck {

namespace {

// A flush of more lines than this ("persist the whole pool") becomes a clwb of the lines that were stored to: the other
// lines have nothing to write back.
constexpr uint64_t kManyLines = 4096;

struct Snapshot {
  size_t pool = 0;
  std::unique_ptr<MappedFile> file;
};

// The second pass: every entry is known to be well-formed.
class Import {
 public:
  Import(TraceWriter* writer, const PoolTable& table, ImportResult* result)
      : writer_(writer), stacks_(writer), table_(table), result_(result) {}

  void content(const Snapshot& snapshot) {
    const uint64_t window = table_.pools()[snapshot.pool].offset;
    const std::string_view bytes = snapshot.file->bytes();
    for (uint64_t at = 0; at < bytes.size(); at += kPage) {
      std::string_view page = bytes.substr(at, kPage);
      // The trace's memory begins as zeros. Lines of zeros behind the contents, which pad a file for pmreorder, are
      // therefore left out.
      const size_t last = page.find_last_not_of('\0');
      if (last == std::string_view::npos) continue;
      page = page.substr(0, (last / kLineSize + 1) * kLineSize);
      Event event;
      event.kind = EventKind::kStore;
      event.addr = window + at;
      event.value = {reinterpret_cast<const uint8_t*>(page.data()), page.size()};
      writer_->append(event);
    }
  }

  // Contents from before the program are durable; from here on crashes are explored.
  void begin() {
    Event event;
    event.kind = EventKind::kCut;
    writer_->append(event);
    event.kind = EventKind::kPhase;
    event.code = 1;
    event.text = "run";
    writer_->append(event);
  }

  void add(const Entry& entry) {
    Event event;
    switch (entry.kind) {
      case EntryKind::kRegisterFile:
        space_.map(entry.address, entry.size, table_.pools()[table_.index_of(entry.text)].offset + entry.offset);
        return;
      case EntryKind::kStore:
        store(entry);
        return;
      case EntryKind::kFlush:
        flush(entry);
        return;
      case EntryKind::kFence:
        event.kind = EventKind::kFence;
        event.code = static_cast<uint8_t>(FenceKind::kSfence);
        writer_->append(event);
        return;
      case EntryKind::kMarker:
        marker(entry);
        return;
    }
  }

  void finish() { result_->unnamed_frames = stacks_.unnamed(); }

 private:
  void store(const Entry& entry) {
    Event event;
    event.kind = EventKind::kStore;
    event.stack = stacks_.id_of(entry.stack);
    bool inside = false;
    for (uint64_t done = 0; done < entry.size;) {
      const AddressSpace::Piece piece = space_.piece(entry.address + done, entry.size - done);
      if (piece.offset) {
        inside = true;
        event.addr = *piece.offset;
        event.value = std::span(entry.value).subspan(done, piece.size);
        writer_->append(event);
        for (uint64_t line = event.addr / kLineSize; line <= (event.addr + piece.size - 1) / kLineSize; ++line) {
          stored_.insert(line);
        }
      }
      done += piece.size;
    }
    if (!inside) ++result_->stores_outside;
  }

  void flush(const Entry& entry) {
    bool inside = false;
    // A range that runs over the end of the address space ends there.
    const uint64_t size = std::min(entry.size, ~entry.address);
    for (uint64_t done = 0; done < size;) {
      const AddressSpace::Piece piece = space_.piece(entry.address + done, size - done);
      if (piece.offset) {
        inside = true;
        lines(*piece.offset / kLineSize, (*piece.offset + piece.size - 1) / kLineSize);
      }
      done += piece.size;
    }
    if (!inside && size != 0) ++result_->flushes_outside;
  }

  void lines(uint64_t first, uint64_t last) {
    if (last - first < kManyLines) {
      for (uint64_t line = first; line <= last; ++line) clwb(line);
    } else {
      for (auto line = stored_.lower_bound(first); line != stored_.end() && *line <= last; ++line) clwb(*line);
    }
  }

  void clwb(uint64_t line) {
    Event event;
    event.kind = EventKind::kFlush;
    event.code = static_cast<uint8_t>(FlushKind::kClwb);
    event.addr = line * kLineSize;
    writer_->append(event);
  }

  void marker(const Entry& entry) {
    // The export wrote a marker that pmreorder would refuse as an empty section (exporter.cc).
    std::string_view name = entry.text;
    if (name.starts_with(kWrappedMarker)) {
      if (name.ends_with(".END")) return;
      name.remove_prefix(kWrappedMarker.size());
      name.remove_suffix(std::string_view(".BEGIN").size());
    }
    Event event;
    event.kind = EventKind::kMarker;
    event.text = name;
    writer_->append(event);
    ++result_->markers;
  }

  TraceWriter* writer_;
  StackTable stacks_;
  const PoolTable& table_;
  ImportResult* result_;
  AddressSpace space_;
  std::set<uint64_t> stored_;  // lines
};

nlohmann::ordered_json metadata(const ImportOptions& asked, const PoolTable& table) {
  nlohmann::ordered_json pools = nlohmann::ordered_json::array();
  for (const PoolFile& pool : table.pools()) {
    pools.push_back({{"path", pool.path}, {"offset", pool.offset}, {"size", pool.size}, {"address", pool.address}});
  }
  nlohmann::ordered_json program = {{"command", nlohmann::ordered_json::array()}, {"tracer", "pmemcheck"}};
  program.update(asked.program);
  program["pools"] = pools;
  return {{"program", program}, {"pool", {{"base", table.pools()[0].address}, {"size", table.space()}}}};
}

}  // namespace

std::variant<ImportResult, TraceError> import_log(const ImportOptions& asked) {
  TraceError error;
  const std::unique_ptr<MappedFile> log = MappedFile::open(asked.log, &error);
  if (log == nullptr) return error;

  // The first pass finds the files, since the trace's metadata comes before its events. The pass also judges the whole
  // log, so that a bad log leaves nothing behind.
  ImportResult result;
  PoolTable table;
  LogReader survey(log->bytes(), asked.log);
  for (Entry entry; survey.next(&entry); ++result.entries) {
    if (entry.kind != EntryKind::kRegisterFile) continue;
    if (std::optional<std::string> wrong = table.add(entry)) {
      return TraceError{*wrong, survey.place(entry), "No file can be mapped so: the log is damaged, record it again."};
    }
  }
  if (survey.error()) return *survey.error();
  if (table.pools().empty()) {
    return TraceError{"no pool file in the log: it has no REGISTER_FILE", asked.log,
                      "libpmem and libpmemobj register their files; other programs do it with "
                      "VALGRIND_PMC_REGISTER_PMEM_FILE. The powercut Valgrind tool needs no registration."};
  }
  std::vector<Snapshot> snapshots;
  for (const auto& [path, name] : asked.snapshots) {
    std::unique_ptr<MappedFile> file = MappedFile::open(name, &error);
    if (file == nullptr) return error;
    if (!table.grow(path, file->bytes().size())) {
      std::string known;
      for (const PoolFile& pool : table.pools()) absl::StrAppend(&known, known.empty() ? "" : ", ", pool.path);
      return TraceError{"the log registers no file '" + path + "'", asked.log, "It registers " + known + "."};
    }
    snapshots.push_back({table.index_of(path), std::move(file)});
  }
  if (std::optional<std::string> wrong = table.place()) {
    return TraceError{*wrong, asked.log, "No trace can hold that: the log is damaged, record it again."};
  }
  std::string text;
  try {
    text = metadata(asked, table).dump();
  } catch (const nlohmann::json::exception&) {
    return TraceError{"a path in the log is not UTF-8", asked.log, "Rename the pool file and record the log again."};
  }

  std::unique_ptr<TraceWriter> writer = TraceWriter::create(asked.trace, text, &error);
  if (writer == nullptr) return error;
  Import import(writer.get(), table, &result);
  for (const Snapshot& snapshot : snapshots) import.content(snapshot);
  import.begin();
  LogReader reader(log->bytes(), asked.log);
  for (Entry entry; reader.next(&entry);) import.add(entry);
  // The first pass saw the same bytes; they can only have changed while the import ran.
  if (reader.error()) return *reader.error();
  import.finish();
  result.events = writer->events();
  result.pools = table.pools();
  if (std::optional<TraceError> problem = writer->finish()) return *problem;
  return result;
}

}  // namespace powercut::pmemcheck
