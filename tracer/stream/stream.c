#include "tracer/stream/stream.h"

#define POWERCUT_MARK_NUMBERS_ONLY
#include "powercut/mark.h"

enum { kLine = 64 };

static void put_bytes(powercut_stream* stream, const void* bytes, size_t size) {
  const uint8_t* from = (const uint8_t*)bytes;
  while (size != 0) {
    size_t room = stream->capacity - stream->used;
    if (room == 0) {
      powercut_stream_flush(stream);
      room = stream->capacity;
    }
    const size_t piece = size < room ? size : room;
    for (size_t i = 0; i < piece; ++i) stream->buffer[stream->used + i] = from[i];
    stream->used += piece;
    from += piece;
    size -= piece;
  }
}

static void put32(powercut_stream* stream, uint32_t value) {
  uint8_t bytes[4];
  for (int i = 0; i < 4; ++i) bytes[i] = (uint8_t)(value >> (8 * i));
  put_bytes(stream, bytes, sizeof bytes);
}

static void put64(powercut_stream* stream, uint64_t value) {
  put32(stream, (uint32_t)value);
  put32(stream, (uint32_t)(value >> 32));
}

static void put_site(powercut_stream* stream, powercut_site site) {
  put32(stream, site.thread);
  put32(stream, site.stack);
}

static void put_pool(powercut_stream* stream, uint32_t pool) {
  put32(stream, pool);
  put32(stream, 0);
}

static void begin_record(powercut_stream* stream, uint32_t type, uint32_t code, uint32_t flags, uint64_t payload) {
  const uint8_t header[4] = {(uint8_t)type, (uint8_t)code, (uint8_t)flags, (uint8_t)(flags >> 8)};
  put_bytes(stream, header, sizeof header);
  put32(stream, (uint32_t)payload);
}

static uint64_t length_of(const char* text) {
  uint64_t length = 0;
  while (text[length] != '\0' && length < kPowercutMostText) ++length;
  return length;
}

void powercut_stream_flush(powercut_stream* stream) {
  if (stream->used != 0 && !stream->failed && stream->write(stream->context, stream->buffer, stream->used) != 0) {
    stream->failed = 1;
  }
  stream->used = 0;
}

void powercut_stream_begin(powercut_stream* stream) {
  stream->used = 0;
  stream->failed = 0;
  put_bytes(stream, POWERCUT_STREAM_MAGIC, 8);
  put32(stream, POWERCUT_STREAM_VERSION);
  put32(stream, 0);
}

void powercut_stream_pool(powercut_stream* stream, uint32_t kind, const char* path, uint64_t size) {
  const uint64_t length = length_of(path);
  begin_record(stream, kPowercutPool, kind, 0, 8 + length);
  put64(stream, size);
  put_bytes(stream, path, length);
}

void powercut_stream_content(powercut_stream* stream, uint32_t pool, uint64_t offset, const void* bytes,
                             uint32_t size) {
  begin_record(stream, kPowercutContent, 0, 0, 16 + (uint64_t)size);
  put_pool(stream, pool);
  put64(stream, offset);
  put_bytes(stream, bytes, size);
}

void powercut_stream_map(powercut_stream* stream, uint32_t pool, uint64_t address, uint64_t length, uint64_t offset) {
  begin_record(stream, kPowercutMap, 0, 0, 32);
  put_pool(stream, pool);
  put64(stream, address);
  put64(stream, length);
  put64(stream, offset);
}

void powercut_stream_unmap(powercut_stream* stream, uint32_t kind, uint64_t address, uint64_t length) {
  begin_record(stream, kPowercutUnmap, kind, 0, 16);
  put64(stream, address);
  put64(stream, length);
}

void powercut_stream_store(powercut_stream* stream, powercut_site site, uint32_t flags, uint64_t address,
                           const void* bytes, uint64_t size) {
  const uint8_t* from = (const uint8_t*)bytes;
  while (size != 0) {
    uint64_t piece = size;
    if (piece > kPowercutMostStore) piece = kPowercutMostStore - address % kLine;
    begin_record(stream, kPowercutStore, 0, flags, 16 + piece);
    put_site(stream, site);
    put64(stream, address);
    put_bytes(stream, from, piece);
    flags |= kPowercutStoreContinues;
    address += piece;
    from += piece;
    size -= piece;
  }
}

void powercut_stream_flush_line(powercut_stream* stream, powercut_site site, uint32_t kind, uint64_t address) {
  begin_record(stream, kPowercutFlush, kind, 0, 16);
  put_site(stream, site);
  put64(stream, address);
}

void powercut_stream_fence(powercut_stream* stream, powercut_site site, uint32_t kind) {
  begin_record(stream, kPowercutFence, kind, 0, 8);
  put_site(stream, site);
}

void powercut_stream_load(powercut_stream* stream, powercut_site site, uint64_t address, uint64_t size) {
  begin_record(stream, kPowercutLoad, 0, 0, 24);
  put_site(stream, site);
  put64(stream, address);
  put64(stream, size);
}

void powercut_stream_plain(powercut_stream* stream, uint32_t type, powercut_site site) {
  begin_record(stream, type, 0, 0, 8);
  put_site(stream, site);
}

void powercut_stream_module(powercut_stream* stream, const char* path) {
  const uint64_t length = length_of(path);
  begin_record(stream, kPowercutModule, 0, 0, length);
  put_bytes(stream, path, length);
}

void powercut_stream_stack(powercut_stream* stream, const powercut_stream_frame* frames, uint32_t count) {
  if (count > kPowercutMostFrames) count = kPowercutMostFrames;
  begin_record(stream, kPowercutStack, 0, 0, 16 * (uint64_t)count);
  for (uint32_t i = 0; i < count; ++i) {
    put_pool(stream, frames[i].module);
    put64(stream, frames[i].offset);
  }
}

void powercut_stream_op_begin(powercut_stream* stream, powercut_site site, uint32_t kind, const void* key,
                              uint64_t key_size, const void* value, uint64_t value_size) {
  const uint8_t* command = (const uint8_t*)value;
  uint64_t length = 0;
  if (kind == POWERCUT_MARK_MAINTAIN) {
    while (length < value_size && length < kPowercutMostText && command[length] != 0) ++length;
    value_size = 0;
  }
  if (key_size > kPowercutMostBytes) key_size = kPowercutMostBytes;
  if (value_size > kPowercutMostBytes) value_size = kPowercutMostBytes;
  begin_record(stream, kPowercutOpBegin, kind, 0, 16 + key_size + value_size + length);
  put_site(stream, site);
  put32(stream, (uint32_t)key_size);
  put32(stream, (uint32_t)value_size);
  put_bytes(stream, key, key_size);
  put_bytes(stream, value, value_size);
  put_bytes(stream, command, length);
}

void powercut_stream_op_end(powercut_stream* stream, powercut_site site, uint32_t status, const void* value,
                            uint64_t size) {
  if (size > kPowercutMostBytes) size = kPowercutMostBytes;
  begin_record(stream, kPowercutOpEnd, status, 0, 8 + size);
  put_site(stream, site);
  put_bytes(stream, value, size);
}

void powercut_stream_marker(powercut_stream* stream, powercut_site site, const char* name) {
  const uint64_t length = length_of(name);
  begin_record(stream, kPowercutMarker, 0, 0, 8 + length);
  put_site(stream, site);
  put_bytes(stream, name, length);
}

void powercut_stream_phase(powercut_stream* stream, powercut_site site, int explored, const char* name) {
  const uint64_t length = length_of(name);
  begin_record(stream, kPowercutPhase, explored ? 1 : 0, 0, 8 + length);
  put_site(stream, site);
  put_bytes(stream, name, length);
}

void powercut_stream_file_write(powercut_stream* stream, powercut_site site, uint32_t pool, uint64_t offset,
                                const void* bytes, uint32_t size) {
  begin_record(stream, kPowercutFileWrite, 0, 0, 24 + (uint64_t)size);
  put_site(stream, site);
  put_pool(stream, pool);
  put64(stream, offset);
  put_bytes(stream, bytes, size);
}

static void file_range(powercut_stream* stream, powercut_site site, uint32_t type, uint32_t kind, uint32_t pool,
                       uint64_t offset, uint64_t length) {
  begin_record(stream, type, kind, 0, 32);
  put_site(stream, site);
  put_pool(stream, pool);
  put64(stream, offset);
  put64(stream, length);
}

void powercut_stream_file_read(powercut_stream* stream, powercut_site site, uint32_t kind, uint32_t pool,
                               uint64_t offset, uint64_t length) {
  file_range(stream, site, kPowercutFileRead, kind, pool, offset, length);
}

void powercut_stream_file_size(powercut_stream* stream, powercut_site site, uint32_t pool, uint64_t size) {
  begin_record(stream, kPowercutFileSize, 0, 0, 24);
  put_site(stream, site);
  put_pool(stream, pool);
  put64(stream, size);
}

void powercut_stream_sync(powercut_stream* stream, powercut_site site, uint32_t kind, uint32_t pool, uint64_t offset,
                          uint64_t length) {
  file_range(stream, site, kPowercutSync, kind, pool, offset, length);
}

void powercut_stream_output(powercut_stream* stream, uint32_t which, uint64_t size) {
  begin_record(stream, kPowercutOutput, which, 0, 8);
  put64(stream, size);
}

void powercut_stream_note(powercut_stream* stream, uint32_t kind, const char* text) {
  const uint64_t length = length_of(text);
  begin_record(stream, kPowercutNote, kind, 0, length);
  put_bytes(stream, text, length);
}

void powercut_stream_end(powercut_stream* stream, uint32_t how, uint32_t status) {
  begin_record(stream, kPowercutEnd, how, 0, 4);
  put32(stream, status);
  powercut_stream_flush(stream);
}
