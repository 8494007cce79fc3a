#include "engine/fuzz/trace_mutant.h"

#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "base/user_file.h"
#include "tracer/format/decoder.h"
#include "tracer/format/encoder.h"
#include "tracer/format/layout.h"
#include "tracer/format/reader.h"

namespace powercut::fuzz {
namespace {

// Room for what mutation adds: one frame holds all.
constexpr size_t kMostPayload = layout::kMaxFrameRaw / 2;

std::string text_of(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

template <typename Int>
void append(std::string* out, Int value) {
  uint8_t bytes[sizeof(Int)];
  layout::put<Int>(bytes, value);
  out->append(reinterpret_cast<const char*>(bytes), sizeof bytes);
}

void append_checksum(std::string* out, size_t from) {
  append<uint64_t>(out, XXH3_64bits(out->data() + from, out->size() - from));
}

void change_text(Draw* draw, std::string* text, size_t most) {
  mutate_bytes(draw, text);
  if (draw->once_in(8)) text->assign(draw->below(most + 1), static_cast<char>(draw->below(256)));
  if (text->size() > most) text->resize(most);
}

}  // namespace

Event TraceSeed::Kept::view() const {
  Event out = event;
  out.value = bytes_of(value);
  out.key = bytes_of(key);
  out.text = text;
  const bool store = event.kind == EventKind::kStore || event.kind == EventKind::kNtStore;
  if (store) out.size = value.size();
  return out;
}

TraceSeed::TraceSeed(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  file_.assign(std::istreambuf_iterator<char>(file), {});
  TraceError error;
  const auto reader = TraceReader::open_bytes(bytes_of(file_), path, &error);
  if (reader == nullptr) throw std::runtime_error(error.message());
  metadata_ = reader->metadata();
  parsed_metadata_ = parse_json(metadata_);
  uint32_t stacks = 0;
  for (Event event; reader->next(&event);) {
    Kept& kept = events_.emplace_back(Kept{event, text_of(event.value), text_of(event.key), std::string(event.text)});
    kept.event.value = kept.event.key = {};
    kept.event.text = {};
    stacks = std::max(stacks, event.stack);
  }
  if (reader->error()) throw std::runtime_error(reader->error()->message());
  modules_ = reader->modules();
  for (uint32_t id = 1; id <= stacks; ++id) {
    const auto frames = reader->stack(id);
    stacks_.emplace_back(frames.begin(), frames.end());
  }
  if (payload_of(events_).empty()) throw std::runtime_error(path + ": longer than one frame");
}

std::string TraceSeed::mutant(Draw* draw) const {
  switch (draw->below(10)) {
    case 0: {  // the file as it lies there: what the checksums are for
      std::string file = file_;
      mutate_bytes(draw, &file);
      return file;
    }
    case 1:
    case 2: {
      std::string payload = payload_of(events_);
      mutate_bytes(draw, &payload);
      if (payload.empty()) payload.push_back(0);
      return wrap(metadata_, payload.substr(0, layout::kMaxFrameRaw));
    }
    case 3:
    case 4: {
      Json metadata = parsed_metadata_;
      mutate_json(draw, &metadata);
      std::string text = metadata.dump(-1, ' ', false, Json::error_handler_t::replace);
      if (draw->once_in(8)) mutate_bytes(draw, &text);
      return wrap(text, payload_of(events_));
    }
    default: {
      std::vector<Kept> events = events_;
      change_events(draw, &events);
      const std::string payload = payload_of(events);
      return wrap(metadata_, payload.empty() ? payload_of(events_) : payload);
    }
  }
}

void TraceSeed::change_events(Draw* draw, std::vector<Kept>* events) const {
  for (uint64_t changes = 1 + draw->below(4); changes > 0 && !events->empty(); --changes) {
    const size_t at = draw->below(events->size());
    Kept& kept = (*events)[at];
    Event& event = kept.event;
    const bool store = event.kind == EventKind::kStore || event.kind == EventKind::kNtStore;
    switch (draw->below(11)) {
      case 0:
        event.addr = draw->number();
        break;
      case 1:
        event.addr += draw->below(256) - 128;
        break;
      case 2:
        event.size = draw->number();
        if (store) kept.value.assign(1 + draw->below(layout::kMaxStoreBytes), static_cast<char>(draw->below(256)));
        break;
      case 3:
        change_text(draw, &kept.value, store ? layout::kMaxStoreBytes : 512);
        break;
      case 4:
        change_text(draw, &kept.key, 512);
        break;
      case 5:
        change_text(draw, &kept.text, 512);
        break;
      case 6:
        event.thread = static_cast<uint32_t>(draw->once_in(2) ? draw->below(3) : draw->number());
        break;
      case 7:
        event.stack = static_cast<uint32_t>(draw->once_in(4) ? draw->number() : draw->below(stacks_.size() + 1));
        break;
      case 8:  // another kind, with a code that this kind has
        event.kind = static_cast<EventKind>(1 + draw->below(13));
        event.code = static_cast<uint8_t>(1 + draw->below(event.kind == EventKind::kOpBegin ? 8 : 3));
        if (event.kind == EventKind::kPhase) event.code &= 1;
        break;
      case 9:
        events->erase(events->begin() + static_cast<ptrdiff_t>(at),
                      events->begin() + static_cast<ptrdiff_t>(std::min(events->size(), at + 1 + draw->below(4))));
        break;
      default: {
        const Kept copy = kept;
        events->insert(events->begin() + static_cast<ptrdiff_t>(draw->below(events->size())), copy);
      }
    }
  }
  // The encoder's own preconditions: what it cannot write is no file, either.
  for (Kept& kept : *events) {
    const bool store = kept.event.kind == EventKind::kStore || kept.event.kind == EventKind::kNtStore;
    if (store && kept.value.empty()) kept.value = "x";
    if (store && kept.value.size() > layout::kMaxStoreBytes) kept.value.resize(layout::kMaxStoreBytes);
  }
}

// Empty when it is too long for one frame.
std::string TraceSeed::payload_of(const std::vector<Kept>& events) const {
  std::string out(layout::kMaxFrameRaw, '\0');
  RecordEncoder encoder;
  encoder.start_frame(reinterpret_cast<uint8_t*>(out.data()));
  const auto room = [&] { return encoder.size() + layout::kMaxRecord < kMostPayload; };
  for (const TraceModule& module : modules_) encoder.module(module);
  for (const std::vector<Frame>& stack : stacks_) {
    if (!room()) return "";
    encoder.stack(stack);
  }
  for (const Kept& kept : events) {
    if (!room()) return "";
    encoder.event(kept.view());
  }
  out.resize(encoder.size());
  return out;
}

std::string TraceSeed::wrap(const std::string& metadata, const std::string& payload) {
  // Totals as the decoder counts them; of a payload that does not decode any will do.
  Definitions definitions;
  RecordDecoder decoder(&definitions);
  decoder.start_frame(bytes_of(payload), 0);
  for (Event event; decoder.next(&event);) {
  }
  std::string out(reinterpret_cast<const char*>(layout::kMagic.data()), layout::kMagic.size());
  append<uint32_t>(&out, kTraceVersion);
  append<uint32_t>(&out, layout::kEndianMark);
  append<uint64_t>(&out, metadata.size());
  append<uint64_t>(&out, XXH3_64bits(metadata.data(), metadata.size()));
  append_checksum(&out, 0);
  out += metadata;

  std::string packed(ZSTD_compressBound(payload.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), payload.data(), payload.size(), 1));
  const uint64_t checksum = XXH3_64bits(payload.data(), payload.size());
  const size_t frame = out.size();
  append<uint32_t>(&out, layout::kFrameMagic);
  append<uint32_t>(&out, static_cast<uint32_t>(packed.size()));
  append<uint32_t>(&out, static_cast<uint32_t>(payload.size()));
  append<uint32_t>(&out, static_cast<uint32_t>(decoder.records()));
  append<uint64_t>(&out, 0);
  append<uint64_t>(&out, checksum);
  append_checksum(&out, frame);
  out += packed;

  const size_t footer = out.size();
  out.append(reinterpret_cast<const char*>(layout::kFooterMagic.data()), layout::kFooterMagic.size());
  append<uint64_t>(&out, decoder.next_event());
  append<uint64_t>(&out, decoder.records());
  append<uint64_t>(&out, 1);
  append<uint32_t>(&out, static_cast<uint32_t>(definitions.modules_read()));
  append<uint32_t>(&out, static_cast<uint32_t>(definitions.stacks_read()));
  append<uint64_t>(&out, payload.size());
  append<uint64_t>(&out, layout::chain_checksum(0, checksum));
  append<uint64_t>(&out, footer + layout::kFooterSize);
  append_checksum(&out, footer);
  return out;
}

}  // namespace powercut::fuzz
