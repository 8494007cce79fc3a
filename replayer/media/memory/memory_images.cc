// The image of a file that the program maps: the lines are the file.
#include "replayer/media/image_writer.h"
#include "replayer/media/memory/memory.h"

namespace powercut {
namespace {

class MemoryImages final : public ImageWriter {
 public:
  uint64_t space(const PoolFile& file) const override { return file.size; }
  bool in_place() const override { return true; }
  bool by_calls() const override { return false; }
  void write(const PoolFile&, uint64_t line, const Content& content, ImageFile* out) const override {
    out->put(line * kLineSize, content.bytes);
  }
  LineBytes seen_by(const PoolFile& file, const LineBytes& read) const override {
    return {file.offset / kLineSize + read.line, read.mask};
  }
};

}  // namespace

const ImageWriter& memory_images() {
  static const MemoryImages writer;
  return writer;
}

}  // namespace powercut
