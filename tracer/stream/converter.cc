#include "tracer/stream/converter.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "tracer/format/build_id.h"
#include "tracer/format/layout.h"
#include "tracer/stream/pools.h"
#include "tracer/stream/stream_reader.h"

namespace powercut {
namespace {

constexpr uint64_t kPage = 4096;

uint64_t pages(uint64_t size) { return (size + kPage - 1) & ~(kPage - 1); }

class Converter {
 public:
  Converter(const StreamSurvey& survey, const std::string& driver, TraceWriter& writer,
            std::span<const Acknowledgement> lines)
      : survey_(survey), driver_(driver), writer_(writer), ranges_(std::make_unique<powercut_ranges>()) {
    if (!lines.empty()) operations_ = operations_of(lines);
    stacks_.push_back(0);
    for (const StreamPool& pool : survey.pools) sizes_.push_back(pool.device ? 0 : pool.size);
  }

  // The contents of the pools before the program, which stand anywhere in the stream, are the trace's first events.
  void content(const StreamRecord& record) {
    if (!survey_.pools[record.pool].used) return;
    if (survey_.pools[record.pool].device) return write(record, PoolCall::kContent);
    // By lines, those of zeros left out: the pool is zeroed.
    for (size_t at = 0; at < record.bytes.size(); at += kLineSize) {
      const std::span<const uint8_t> line = record.bytes.subspan(at, std::min(kLineSize, record.bytes.size() - at));
      if (std::ranges::all_of(line, [](uint8_t byte) { return byte == 0; })) continue;
      store_at(record.pool, record.address + at, line, {}, 0);
    }
  }
  void begin_run() {
    for (uint32_t pool = 0; pool < sizes_.size(); ++pool) {
      if (survey_.pools[pool].device && survey_.pools[pool].used) resize(pool, survey_.pools[pool].first_size, {});
    }
    if (survey_.has_phases) return;
    plain(EventKind::kCut, {});
    phase("run", true);
    runs_ = true;
  }
  void add(const StreamRecord& record);
  void finish() {
    write_piece();
    if (operations_) operations_->finish();
  }

 private:
  Event event_of(EventKind kind, powercut_site site) const {
    Event event;
    event.kind = kind;
    event.thread = site.thread;
    event.stack = stacks_[site.stack];
    return event;
  }
  void phase(std::string_view name, bool explored) {
    Event event;
    event.kind = EventKind::kPhase;
    event.code = explored ? 1 : 0;
    event.text = name;
    append(event);
  }
  void plain(EventKind kind, powercut_site site) { append(event_of(kind, site)); }
  void text(EventKind kind, const StreamRecord& record) {
    Event event = event_of(kind, record.site);
    event.code = record.code;
    event.text = record.text;
    append(event);
  }

  // The bytes as events of at most a line each, unless they are a single short store: pieces of one.
  void store(uint64_t at, std::span<const uint8_t> bytes, powercut_site site, uint16_t flags);
  void store_at(uint32_t pool, uint64_t offset, std::span<const uint8_t> bytes, powercut_site site, uint16_t flags) {
    store(survey_.pools[pool].offset + offset, bytes, site, flags);
  }
  void append_store(uint64_t at, std::span<const uint8_t> bytes, powercut_site site, uint16_t flags);
  void flush_at(uint64_t at, powercut_site site, uint8_t kind);
  void fence(powercut_site site, uint8_t kind);
  // Calls on the file of a pool.
  Event call_of(PoolCall kind, uint32_t pool, powercut_site site) const;
  void write(const StreamRecord& record, PoolCall kind);
  void resize(uint32_t pool, uint64_t size, powercut_site site);
  void sync(const StreamRecord& record);

  std::unique_ptr<AcknowledgedOperations> operations_of(std::span<const Acknowledgement> lines);

  // Rounds of a string instruction are gathered until something else happens: where its moves are cut is a matter of
  // the whole store's size. False: the round does not adjoin those that were gathered.
  bool gather(uint64_t at, const StreamRecord& round);
  void append(const Event& event) {
    last_ = event.kind;
    last_thread_ = event.thread;
    writer_.append(event);
  }
  void write_piece();

  const StreamSurvey& survey_;
  const std::string& driver_;
  TraceWriter& writer_;
  std::unique_ptr<powercut_ranges> ranges_;
  std::vector<uint32_t> modules_, stacks_;              // of the trace, by the stream's numbers
  std::vector<std::string> paths_;                      // of the modules
  std::vector<uint64_t> sizes_;                         // of the pools' files now
  std::unique_ptr<AcknowledgedOperations> operations_;  // null: those that the program has marked
  bool runs_ = false;                                   // the program does, and contents are written

  std::vector<uint8_t> piece_;
  uint64_t piece_at_ = 0;
  powercut_site piece_site_{};
  uint16_t piece_flags_ = 0;
  EventKind last_{};  // the event that was written last
  uint32_t last_thread_ = 0;
};

void Converter::append_store(uint64_t at, std::span<const uint8_t> bytes, powercut_site site, uint16_t flags) {
  if (operations_ && runs_) operations_->stores();  // first: it may part the pieces of a store
  Event event = event_of((flags & kPowercutStoreNt) != 0 ? EventKind::kNtStore : EventKind::kStore, site);
  if ((flags & kPowercutStoreAtomic) != 0) event.flags |= kStoreAtomic;
  if ((flags & kPowercutStoreString) != 0) event.flags |= kStoreMemcall;
  if ((flags & kPowercutStoreRmw) != 0) event.flags |= kStoreRmw;
  const bool goes_on = last_ == event.kind && last_thread_ == event.thread;
  if ((flags & kPowercutStoreContinues) != 0 && goes_on) event.flags |= kStoreContinues;
  event.addr = at;
  event.size = bytes.size();
  event.value = bytes;
  append(event);
}

void Converter::store(uint64_t at, std::span<const uint8_t> bytes, powercut_site site, uint16_t flags) {
  if (bytes.empty()) return;
  // A mem* call's moves are cut by its whole size.
  if (bytes.size() <= kLineSize || (flags & kPowercutStoreString) != 0) {
    append_store(at, bytes, site, flags);
    return;
  }
  while (!bytes.empty()) {
    const size_t piece = std::min<uint64_t>(bytes.size(), kLineSize - at % kLineSize);
    append_store(at, bytes.first(piece), site, flags);
    flags |= kPowercutStoreContinues;
    at += piece;
    bytes = bytes.subspan(piece);
  }
}

bool Converter::gather(uint64_t at, const StreamRecord& round) {
  const bool goes_on = !piece_.empty() && (round.flags & kPowercutStoreContinues) != 0;
  if (!goes_on || round.site.thread != piece_site_.thread) return false;
  const bool behind = at == piece_at_ + piece_.size(), before = at + round.bytes.size() == piece_at_;
  if (!behind && !before) return false;
  piece_.insert(behind ? piece_.end() : piece_.begin(), round.bytes.begin(), round.bytes.end());
  if (before) piece_at_ = at;
  if (piece_.size() <= layout::kMaxStoreBytes) return true;
  // As the trace's writer cuts a longer store: at a line boundary.
  const uint64_t cut = behind ? layout::kMaxStoreBytes - piece_at_ % kLineSize : kLineSize - piece_at_ % kLineSize;
  const auto middle = piece_.begin() + static_cast<std::ptrdiff_t>(cut);
  const std::vector<uint8_t> low(piece_.begin(), middle), high(middle, piece_.end());
  append_store(behind ? piece_at_ : piece_at_ + cut, behind ? low : high, piece_site_, piece_flags_);
  piece_ = behind ? high : low;
  if (behind) piece_at_ += cut;
  piece_flags_ |= kPowercutStoreContinues;
  return true;
}

void Converter::write_piece() {
  if (piece_.empty()) return;
  append_store(piece_at_, std::exchange(piece_, {}), piece_site_, piece_flags_);
}

void Converter::flush_at(uint64_t at, powercut_site site, uint8_t kind) {
  Event event = event_of(EventKind::kFlush, site);
  event.code = kind;
  event.addr = at / kLineSize * kLineSize;
  event.size = kLineSize;
  append(event);
}

void Converter::fence(powercut_site site, uint8_t kind) {
  Event event = event_of(EventKind::kFence, site);
  event.code = kind;
  append(event);
}

std::unique_ptr<AcknowledgedOperations> Converter::operations_of(std::span<const Acknowledgement> lines) {
  const bool at_once =
      std::ranges::any_of(survey_.pools, [](const StreamPool& pool) { return pool.used && pool.first_size > 0; });
  const auto begin = [this](const std::string& text) {
    Event event;
    event.kind = EventKind::kOpBegin;
    event.code = static_cast<uint8_t>(OpKind::kMaintain);
    event.text = text;
    append(event);
  };
  const auto end = [this] { plain(EventKind::kOpEnd, {}); };
  return std::make_unique<AcknowledgedOperations>(acknowledged_together(lines, survey_.outputs), at_once,
                                                  AcknowledgedOperations::Sink{begin, end});
}

Event Converter::call_of(PoolCall kind, uint32_t pool, powercut_site site) const {
  Event event = event_of(kFileCall, site);
  event.code = static_cast<uint8_t>(kind);
  event.pool = survey_.pools[pool].window == 0 ? kNoPool : survey_.pools[pool].offset;
  return event;
}

void Converter::write(const StreamRecord& record, PoolCall kind) {
  if (record.bytes.empty()) return;
  if (operations_ && runs_) operations_->stores();
  sizes_[record.pool] = std::max(sizes_[record.pool], record.address + record.bytes.size());
  Event event = call_of(kind, record.pool, record.site);
  event.addr = record.address;
  event.size = record.bytes.size();
  event.value = record.bytes;
  append(event);
}

void Converter::resize(uint32_t pool, uint64_t size, powercut_site site) {
  const uint64_t before = std::exchange(sizes_[pool], size);
  // An operation begins where something is taken away, or the size is kept by a device.
  if (operations_ && runs_ && (size < before || (survey_.pools[pool].device && size != before))) operations_->stores();
  Event event = call_of(PoolCall::kSize, pool, site);
  event.size = size;
  append(event);
}

void Converter::sync(const StreamRecord& record) {
  const PoolCall kind = record.code == kPowercutWrittenThrough ? PoolCall::kWrittenThrough
                        : record.code == kPowercutMsync        ? PoolCall::kMsync
                                                               : PoolCall::kFsync;
  Event event = call_of(kind, record.pool, record.site);
  event.addr = record.address;
  event.size = record.length;
  append(event);
}

void Converter::add(const StreamRecord& record) {
  // Where an address lies in the trace. Nothing outside of the mapped pools.
  const auto place = [&](uint64_t address) -> std::optional<uint64_t> {
    const powercut_range* range = powercut_ranges_at(ranges_.get(), address);
    if (range == nullptr || range->begin > address) return std::nullopt;
    return survey_.pools[range->pool].offset + range->offset + (address - range->begin);
  };
  if (record.type == kPowercutStore) {
    const std::optional<uint64_t> at = place(record.address);
    if (at && (record.flags & kPowercutStoreRound) != 0) {
      if (gather(*at, record)) return;
      write_piece();
      piece_at_ = *at;
      piece_site_ = record.site;
      piece_flags_ = record.flags;
      piece_.assign(record.bytes.begin(), record.bytes.end());
      return;
    }
    write_piece();
    if (at) store(*at, record.bytes, record.site, record.flags);
    return;
  }
  // Definitions and loads change nothing about what a string instruction does.
  if (record.type == kPowercutLoad) return;
  if (record.type == kPowercutModule) {
    const std::string path(record.text);
    paths_.push_back(path);
    modules_.push_back(writer_.module({path, file_build_id(path)}));
    return;
  }
  if (record.type == kPowercutStack) {
    std::vector<Frame> frames;
    for (const Frame& frame : record.frames) {
      if (paths_[frame.module] == driver_) break;
      frames.push_back({modules_[frame.module], frame.offset});
    }
    stacks_.push_back(frames.empty() ? 0 : writer_.stack(frames));
    return;
  }
  write_piece();
  switch (record.type) {
    case kPowercutMap:
      powercut_ranges_map(ranges_.get(), record.address, record.length, record.pool, record.offset);
      break;
    case kPowercutUnmap:
      powercut_ranges_unmap(ranges_.get(), record.address, record.length);
      break;
    case kPowercutFlush: {
      const uint64_t line = record.address & ~(kLineSize - 1);
      uint64_t begin = 0;
      if (powercut_ranges_clip(ranges_.get(), line, kLineSize, &begin) == 0) break;
      flush_at(*place(begin), record.site, record.code);
      break;
    }
    case kPowercutFence:
      fence(record.site, record.code);
      break;
    case kPowercutThreadStart:
      plain(EventKind::kThreadStart, record.site);
      break;
    case kPowercutThreadEnd:
      plain(EventKind::kThreadEnd, record.site);
      break;
    case kPowercutOpBegin: {
      Event event = event_of(EventKind::kOpBegin, record.site);
      event.code = record.code;
      event.key = record.key;
      event.value = record.bytes;
      event.text = record.text;
      append(event);
      break;
    }
    case kPowercutOpEnd: {
      Event event = event_of(EventKind::kOpEnd, record.site);
      event.code = record.code;
      event.value = record.bytes;
      append(event);
      break;
    }
    case kPowercutMarker:
      text(EventKind::kMarker, record);
      break;
    case kPowercutPhase:
      text(EventKind::kPhase, record);
      break;
    case kPowercutCut:
      plain(EventKind::kCut, record.site);
      break;
    case kPowercutFileWrite:
      write(record, PoolCall::kWrite);
      break;
    case kPowercutFileSize:
      resize(record.pool, record.address, record.site);
      break;
    case kPowercutSync:
      sync(record);
      break;
    case kPowercutOutput:
      if (operations_) operations_->output_grown();
      break;
    case kPowercutPool:
    case kPowercutContent:
    case kPowercutStore:
    case kPowercutLoad:
    case kPowercutModule:
    case kPowercutStack:
    case kPowercutNote:
    case kPowercutEnd:
    case kPowercutFileRead:
      break;  // contents, notes and the end make no events
  }
}

// A range that is mapped again is no longer disowned.
void take_out(std::vector<std::pair<uint64_t, uint64_t>>* ranges, uint64_t begin, uint64_t end) {
  std::vector<std::pair<uint64_t, uint64_t>> left;
  for (const auto& [from, to] : *ranges) {
    if (from < std::min(to, begin)) left.emplace_back(from, std::min(to, begin));
    if (std::max(from, end) < to) left.emplace_back(std::max(from, end), to);
  }
  *ranges = std::move(left);
}

// Whether a record of this type changes the images that a power cut may leave.
bool persists(powercut_record type) {
  return type == kPowercutStore || type == kPowercutFlush || type == kPowercutFence || type == kPowercutFileWrite ||
         type == kPowercutFileSize || type == kPowercutSync;
}

void disown(powercut_ranges* ranges, const StreamRecord& record, StreamSurvey* survey) {
  const std::vector<powercut_range> before(ranges->ranges, ranges->ranges + ranges->count);
  powercut_ranges_unmap(ranges, record.address, record.length);
  const std::span<const powercut_range> rest{ranges->ranges, ranges->count};
  const uint64_t end = record.length > ~record.address ? ~uint64_t{0} : record.address + record.length;
  for (const powercut_range& range : before) {
    const uint64_t from = std::max(range.begin, record.address), to = std::min(range.end, end);
    if (from >= to) continue;
    const uint64_t offset = range.offset + (from - range.begin);
    StreamPool& pool = survey->pools[range.pool];
    pool.disowned.emplace_back(offset, offset + (to - from));
    // Whoever takes leave of all of it is about to unmap it.
    const auto is_of_pool = [&](const powercut_range& other) { return other.pool == range.pool; };
    if (std::ranges::any_of(rest, is_of_pool)) pool.volatile_parts.push_back(pool.disowned.back());
  }
}

}  // namespace

std::optional<StreamSurvey> survey_stream(const std::string& path, const DeviceLayout& layout, TraceError* error) {
  const std::unique_ptr<StreamReader> reader = StreamReader::open(path, error);
  if (reader == nullptr) return std::nullopt;
  StreamSurvey survey;
  survey.layout = layout;
  std::vector<uint64_t> sizes;  // now
  const auto ranges = std::make_unique<powercut_ranges>();
  StreamRecord record;
  const auto grow = [&](uint32_t pool, uint64_t size) {
    survey.pools[pool].window = std::max(survey.pools[pool].window, pages(size));
  };
  while (reader->next(&record)) {
    if (persists(record.type)) survey.outputs_amid = survey.outputs.size();
    switch (record.type) {
      case kPowercutPool:
        survey.pools.push_back({.path = std::string(record.text),
                                .size = record.address,
                                .device = record.code == kPowercutDevice,
                                .first_size = record.address});
        sizes.push_back(record.address);
        grow(static_cast<uint32_t>(sizes.size() - 1), record.address);
        break;
      case kPowercutContent:
        grow(record.pool, record.address + record.bytes.size());
        break;
      case kPowercutMap: {
        StreamPool& pool = survey.pools[record.pool];
        pool.used = true;
        if (!pool.mapped) pool.address = record.address - record.offset;
        pool.mapped = true;
        grow(record.pool, record.offset + record.length);
        if (pool.path.empty()) pool.size = std::max(pool.size, record.offset + record.length);
        powercut_ranges_map(ranges.get(), record.address, record.length, record.pool, record.offset);
        take_out(&pool.disowned, record.offset, record.offset + record.length);
        take_out(&pool.volatile_parts, record.offset, record.offset + record.length);
        break;
      }
      case kPowercutUnmap:
        if (record.code == kPowercutDisowned) disown(ranges.get(), record, &survey);
        powercut_ranges_unmap(ranges.get(), record.address, record.length);
        break;
      case kPowercutFileWrite:
        survey.has_calls = true;
        survey.pools[record.pool].used = true;
        sizes[record.pool] = std::max(sizes[record.pool], record.address + record.bytes.size());
        survey.pools[record.pool].size = std::max(survey.pools[record.pool].size, sizes[record.pool]);
        grow(record.pool, sizes[record.pool]);
        break;
      case kPowercutFileSize:
        survey.has_calls = true;
        survey.has_shrinks |= record.address < sizes[record.pool];
        survey.pools[record.pool].used |= survey.pools[record.pool].device;
        sizes[record.pool] = record.address;
        survey.pools[record.pool].size = std::max(survey.pools[record.pool].size, record.address);
        grow(record.pool, record.address);
        break;
      case kPowercutStore:
        ++survey.stores;
        break;
      case kPowercutPhase:
        survey.has_phases = true;
        break;
      case kPowercutOpBegin:
        survey.has_operations = true;
        break;
      case kPowercutOutput:
        survey.outputs.push_back({record.code, record.address});
        break;
      case kPowercutSync:
        survey.has_calls = true;
        break;
      case kPowercutNote:
        survey.notes.push_back({record.code, std::string(record.text)});
        break;
      case kPowercutEnd:
        survey.end = StreamEnd{record.code == kPowercutSignalled, static_cast<uint32_t>(record.length)};
        break;
      case kPowercutFlush:
      case kPowercutFence:
      case kPowercutLoad:
      case kPowercutThreadStart:
      case kPowercutThreadEnd:
      case kPowercutModule:
      case kPowercutStack:
      case kPowercutOpEnd:
      case kPowercutMarker:
      case kPowercutCut:
      case kPowercutFileRead:
        break;
    }
  }
  if (reader->error()) {
    *error = *reader->error();
    return std::nullopt;
  }
  for (StreamPool& pool : survey.pools) {
    if (pool.device) pool.window = pages(layout.space(pool.size));
    if (!pool.used) pool.window = 0;
    survey.has_calls |= pool.device && pool.used;
    pool.offset = survey.size;
    survey.size += pool.window;
  }
  return survey;
}

std::optional<TraceError> convert_stream(const std::string& path, const StreamSurvey& survey, const std::string& driver,
                                         TraceWriter& writer, std::span<const Acknowledgement> lines) {
  Converter converter(survey, driver, writer, lines);
  for (const bool contents : {true, false}) {
    TraceError error;
    const std::unique_ptr<StreamReader> reader = StreamReader::open(path, &error);
    if (reader == nullptr) return error;
    StreamRecord record;
    while (reader->next(&record)) {
      if (!contents) {
        converter.add(record);
      } else if (record.type == kPowercutContent) {
        converter.content(record);
      }
    }
    if (reader->error()) return reader->error();
    if (contents) converter.begin_run();
  }
  converter.finish();
  return std::nullopt;
}

}  // namespace powercut
