// A file of a program in a crash image: how its medium writes it, and what a read of the file sees of the trace. Each
// medium whose pools are files has one writer, which keeps nothing of its own: the caller keeps the files.
#ifndef POWERCUT_REPLAYER_MEDIA_IMAGE_WRITER_H_
#define POWERCUT_REPLAYER_MEDIA_IMAGE_WRITER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "replayer/media/pool_calls.h"
#include "replayer/models/line_log.h"

namespace powercut {

// The file that a writer fills.
class ImageFile {
 public:
  // Sets bytes of one page. Bytes behind the end are kept for the day that the file grows.
  virtual void put(uint64_t at, std::span<const uint8_t> bytes) = 0;
  virtual void resize(uint64_t size) = 0;
  // Notes that the trace does not have all bytes of the image. `what`: whose bytes, as a sentence has it.
  virtual void lacks_content(std::string_view what) = 0;

 protected:
  ~ImageFile() = default;
};

// Bytes of a line: bit i of the mask is byte i.
struct LineBytes {
  uint64_t line = 0, mask = 0;
};

class ImageWriter {
 public:
  virtual ~ImageWriter() = default;
  // Returns how many bytes of the trace's offset space the file has.
  virtual uint64_t space(const PoolFile& file) const = 0;
  // Returns whether the bytes of the lines are those of the file, in their place.
  virtual bool in_place() const = 0;
  // Returns whether calls alone change the file. Their tracer records what the file held before the first of them.
  virtual bool by_calls() const = 0;
  // Returns the place of the word that holds the file's size, if there is one. Until the word is written, the file is
  // empty; without such a word the file keeps its greatest size.
  virtual std::optional<uint64_t> size_word(const PoolFile&) const { return std::nullopt; }
  // Puts a line of the image into the file. Lines are numbered from the beginning of the file's window.
  virtual void write(const PoolFile& file, uint64_t line, const Content& content, ImageFile* out) const = 0;
  // Returns which bytes of the trace decide what a read of some bytes of the file gives.
  virtual LineBytes seen_by(const PoolFile& file, const LineBytes& read) const = 0;
  // Calls `visit` with each content that the line names and that this process knows.
  using Visit = std::function<void(std::span<const uint8_t>)>;
  virtual void each_content(const PoolFile&, uint64_t /*line*/, const Content&, const Visit&) const {}
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MEDIA_IMAGE_WRITER_H_
