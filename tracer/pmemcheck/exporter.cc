#include "tracer/pmemcheck/exporter.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/json_field.h"
#include "base/user_file.h"
#include "tracer/format/event_groups.h"
#include "tracer/format/reader.h"
#include "tracer/pmemcheck/frames.h"
#include "tracer/pmemcheck/log_writer.h"
#include "tracer/pmemcheck/pool_images.h"
#include "tracer/pmemcheck/sections.h"

namespace powercut::pmemcheck {

namespace {

// Hardware keeps an aligned word whole and nothing larger; pmemcheck splits wide stores into words, too.
constexpr uint64_t kWord = 8;

const char* name_of(OpKind kind) {
  constexpr const char* kNames[] = {"",      "format", "open",     "insert", "update",
                                    "erase", "lookup", "maintain", "close",  "increment"};
  return kNames[static_cast<uint8_t>(kind)];
}

bool is_store(const Event& event) { return event.kind == EventKind::kStore || event.kind == EventKind::kNtStore; }

// Returns the pools in the metadata: the files of a program trace; for a trace of a target, one pool without a path.
std::vector<PoolFile> pools_in(const JsonField& metadata) {
  std::vector<PoolFile> pools;
  if (!metadata.has("program")) {
    const JsonField pool = metadata["pool"];
    return {{.size = pool["size"].number(), .address = pool["base"].number()}};
  }
  for (const JsonField& pool : metadata["program"]["pools"].items()) {
    pools.push_back({.path = pool["path"].text(),
                     .offset = pool["offset"].number(),
                     .size = pool["size"].number(),
                     .address = pool["address"].number()});
  }
  return pools;
}

std::variant<std::vector<PoolFile>, TraceError> pools_of(const TraceReader& reader, const std::string& trace) {
  const Json metadata = parse_json(reader.metadata());
  std::vector<PoolFile> pools;
  try {
    pools = pools_in({metadata, ""});
  } catch (const Malformed& malformed) {
    return TraceError{"the trace does not say where its pools lie: " + malformed.at + ": " + malformed.what, trace,
                      "Record it again with this version of powercut."};
  }
  for (const PoolFile& pool : pools) {
    if (pool.size == 0 || std::max({pool.size, pool.offset, pool.address}) > kMaxAddress) {
      return TraceError{"the trace says that a pool of " + std::to_string(pool.size) + " bytes lies where none can",
                        trace, "Record it again with this version of powercut."};
    }
  }
  return pools;
}

// Gives each pool addresses of its own, since in a log only addresses tell pools apart. A pool that was never mapped,
// or that lies where another pool had been mapped before, gets addresses behind the others.
void separate(std::vector<PoolFile>* pools) {
  uint64_t end = 0;
  for (const PoolFile& pool : *pools) end = std::max(end, pool.address + pool.size);
  for (size_t i = 0; i < pools->size(); ++i) {
    PoolFile& pool = (*pools)[i];
    const bool taken =
        std::any_of(pools->begin(), pools->begin() + static_cast<ptrdiff_t>(i), [&](const PoolFile& other) {
          return pool.address < other.address + other.size && other.address < pool.address + pool.size;
        });
    if (pool.address != 0 && !taken) continue;
    pool.address = (end + kPage - 1) / kPage * kPage;
    end = pool.address + pool.size;
  }
}

class Export {
 public:
  Export(const ExportOptions& asked, const TraceReader& reader, LogWriter* log, ExportResult* result)
      : asked_(asked), reader_(reader), log_(log), result_(result) {}

  void begin() {
    log_->add("START");
    for (const PoolFile& pool : result_->pools) {
      add(absl::StrCat("|REGISTER_FILE;", pool.path, ";0x", absl::Hex(pool.address), ";0x", absl::Hex(pool.size),
                       ";0x0"));
    }
  }

  // Adds an event. Returns a text when the event lies outside every pool.
  std::optional<std::string> add(const Event& event) {
    threads_.insert(event.thread);
    switch (event.kind) {
      case EventKind::kStore:
      case EventKind::kNtStore:
        return store(event);
      case EventKind::kFlush:
        return flush(event.addr / kLineSize * kLineSize, static_cast<FlushKind>(event.code) == FlushKind::kClflush);
      case EventKind::kFence:
        add("|FENCE");
        return std::nullopt;
      case EventKind::kContent:
        return absl::StrCat("event ", event.index, " is of a device, of which a log of pmemcheck knows nothing");
      case EventKind::kOpBegin:
        operations_[event.thread] = name_of(static_cast<OpKind>(event.code));
        write(sections_.begin(operations_[event.thread]));
        return std::nullopt;
      case EventKind::kOpEnd:
        write(sections_.end(operations_[event.thread]));
        return std::nullopt;
      case EventKind::kMarker:
        write(sections_.marker(event.text));
        return std::nullopt;
      case EventKind::kCut:
        return cut();
      case POWERCUT_PROCESS_EVENTS:
      case EventKind::kPhase:
      case POWERCUT_TREE_EVENTS:
        return std::nullopt;
    }
    return std::nullopt;
  }

  std::optional<TraceError> finish() {
    log_->add("|STOP\n");
    result_->threads = threads_.size();
    return log_->finish();
  }

 private:
  void add(std::string_view entry) {
    log_->add(entry);
    ++result_->entries;
  }

  void write(const std::string& entries) {
    if (entries.empty()) return;
    log_->add(entries);
    result_->entries += static_cast<uint64_t>(std::count(entries.begin(), entries.end(), '|'));
  }

  const PoolFile* pool_at(uint64_t offset, uint64_t size) const {
    for (const PoolFile& pool : result_->pools) {
      if (offset >= pool.offset && offset - pool.offset < pool.size && size <= pool.size - (offset - pool.offset)) {
        return &pool;
      }
    }
    return nullptr;
  }

  std::optional<std::string> store(const Event& event) {
    const PoolFile* pool = pool_at(event.addr, event.value.size());
    if (pool == nullptr) {
      return absl::StrCat("event ", event.index, " stores ", event.value.size(), " bytes at offset 0x",
                          absl::Hex(event.addr), ", outside every pool");
    }
    const std::string& stack = asked_.stacks ? stack_text(event.stack) : no_stack_;
    const uint64_t base = pool->address - pool->offset;
    const uint64_t size = event.value.size();
    for (uint64_t done = 0; done < size;) {
      const uint64_t addr = event.addr + done;
      const uint64_t piece = std::min(size - done, kWord - addr % kWord);
      uint64_t value = 0;
      for (uint64_t i = piece; i-- > 0;) value = value << 8 | event.value[done + i];
      add(absl::StrCat("|STORE;0x", absl::Hex(base + addr), ";0x", absl::Hex(value), ";0x", absl::Hex(piece), stack));
      done += piece;
    }
    for (uint64_t line = event.addr / kLineSize; line <= (event.addr + size - 1) / kLineSize; ++line)
      unsaved_.insert(line);
    // A non-temporal store needs no flush, but a log has no other way to say that the next fence makes the store
    // durable.
    if (event.kind == EventKind::kNtStore) {
      add(absl::StrCat("|FLUSH;0x", absl::Hex(base + event.addr), ";0x", absl::Hex(size)));
    }
    return std::nullopt;
  }

  std::optional<std::string> flush(uint64_t offset, bool at_once) {
    const PoolFile* pool = pool_at(offset, 1);
    if (pool == nullptr) return absl::StrCat("a flush at offset 0x", absl::Hex(offset), ", outside every pool");
    add(absl::StrCat("|FLUSH;0x", absl::Hex(pool->address + (offset - pool->offset)), ";0x", absl::Hex(kLineSize)));
    // pmemcheck logs clflush with a fence, since clflush waits for none.
    if (at_once) add("|FENCE");
    return std::nullopt;
  }

  // Makes everything visible durable.
  std::optional<std::string> cut() {
    for (uint64_t line : unsaved_) {
      if (std::optional<std::string> wrong = flush(line * kLineSize, false)) return wrong;
    }
    if (!unsaved_.empty()) add("|FENCE");
    unsaved_.clear();
    return std::nullopt;
  }

  const std::string& stack_text(uint32_t id) {
    auto [found, fresh] = stacks_.try_emplace(id);
    if (!fresh) return found->second;
    for (const Frame& frame : reader_.stack(id)) {
      auto text = asked_.texts.find({frame.module, frame.offset});
      if (text == asked_.texts.end()) {
        absl::StrAppend(&found->second, ";",
                        field_text(frame_text(reader_.modules()[frame.module].path, frame.offset)));
        continue;
      }
      for (const std::string& line : text->second) {
        absl::StrAppend(&found->second, ";", field_text(absl::StrCat("0x", absl::Hex(frame.offset), ": ", line)));
      }
    }
    return found->second;
  }

  const ExportOptions& asked_;
  const TraceReader& reader_;
  LogWriter* log_;
  ExportResult* result_;
  Sections sections_;
  std::map<uint32_t, std::string> operations_;  // by thread: the operation that runs or ran last
  std::map<uint32_t, std::string> stacks_;
  std::set<uint64_t> unsaved_;  // lines stored to since the last cut
  std::set<uint32_t> threads_;
  const std::string no_stack_;
};

// Returns the number of events up to the first power cut, the cut included, if all before it are stores: the pools'
// contents before the run. Returns 0 otherwise.
uint64_t content_events(TraceReader* reader) {
  uint64_t count = 0;
  Event event;
  while (reader->next(&event) && is_store(event)) ++count;
  const bool content = !reader->error() && count < reader->total_events() && event.kind == EventKind::kCut;
  reader->rewind();
  return content ? count + 1 : 0;
}

std::optional<TraceError> check_paths(const std::vector<PoolFile>& pools, const std::string& trace) {
  for (const PoolFile& pool : pools) {
    if (pool.path.empty()) {
      return TraceError{"the trace's pool is no file, so a log cannot name it", trace,
                        "Name a folder for it with --pools."};
    }
    // pmreorder takes the last entry with START in it for the beginning of the log, wherever the entry stands.
    if (pool.path.find_first_of("|;\n") != std::string::npos || pool.path.find("START") != std::string::npos) {
      return TraceError{"the pool's path has a character or word (| ; START) that ends an entry for pmreorder",
                        pool.path, "Name a folder for its pools with --pools, or record with another path."};
    }
  }
  return std::nullopt;
}

}  // namespace

std::variant<ExportResult, TraceError> export_log(const ExportOptions& asked, TraceReader* reader) {
  TraceError error;
  ExportResult result;
  std::variant<std::vector<PoolFile>, TraceError> pools = pools_of(*reader, asked.trace);
  if (std::holds_alternative<TraceError>(pools)) return std::get<TraceError>(pools);
  result.pools = std::get<std::vector<PoolFile>>(std::move(pools));
  separate(&result.pools);
  const uint64_t content = content_events(reader);

  PoolImages images;
  if (!asked.pool_folder.empty()) {
    if (std::optional<TraceError> problem = images.create(asked.pool_folder, &result.pools)) return *problem;
  }
  if (std::optional<TraceError> problem = check_paths(result.pools, asked.trace)) return *problem;
  const std::unique_ptr<LogWriter> log = LogWriter::create(asked.log, &error);
  if (log == nullptr) return error;
  Export out(asked, *reader, log.get(), &result);
  out.begin();
  Event event;
  while (reader->next(&event)) {
    if (event.index >= content) {
      if (std::optional<std::string> wrong = out.add(event)) {
        return TraceError{*wrong, asked.trace, "Record it again with this version of powercut."};
      }
      continue;
    }
    if (!is_store(event)) continue;
    result.content_bytes += event.value.size();
    if (asked.pool_folder.empty()) continue;
    for (size_t i = 0; i < result.pools.size(); ++i) {
      const PoolFile& pool = result.pools[i];
      if (event.addr < pool.offset || event.addr - pool.offset >= pool.size) continue;
      const uint64_t at = event.addr - pool.offset;
      // The last page of a window may reach beyond its file.
      const uint64_t size = std::min<uint64_t>(event.value.size(), pool.size - at);
      if (std::optional<TraceError> problem = images.write(i, at, event.value.first(size))) return *problem;
    }
  }
  if (reader->error()) return *reader->error();
  if (std::optional<TraceError> problem = out.finish()) return *problem;
  images.keep();
  return result;
}

std::variant<StoreFrames, TraceError> store_frames(TraceReader* reader) {
  std::set<uint32_t> stacks;
  std::set<std::pair<uint32_t, uint64_t>> seen;
  StoreFrames found;
  Event event;
  while (reader->next(&event)) {
    if (!is_store(event) || !stacks.insert(event.stack).second) continue;
    for (const Frame& frame : reader->stack(event.stack)) {
      if (seen.insert({frame.module, frame.offset}).second) found.frames.push_back(frame);
    }
  }
  if (reader->error()) return *reader->error();
  found.modules = reader->modules();
  return found;
}

}  // namespace powercut::pmemcheck
