// The image of a file that is a block device: the first line has the size of the file, every other line names the
// contents of its sectors (tracer/stream/STREAM.md, "Devices").
#include <algorithm>
#include <array>
#include <cstring>

#include "powercut/contents.h"
#include "replayer/media/block/block.h"
#include "replayer/media/image_writer.h"

namespace powercut {
namespace {

constexpr uint64_t kMostSector = 4096;

class BlockImages final : public ImageWriter {
 public:
  uint64_t space(const PoolFile& file) const override { return file.device->space(file.size); }
  bool in_place() const override { return false; }
  bool by_calls() const override { return true; }
  std::optional<uint64_t> size_word(const PoolFile& file) const override { return file.offset; }

  void write(const PoolFile& file, uint64_t line, const Content& content, ImageFile* out) const override {
    if (line == 0) {
      uint64_t size = 0;
      std::memcpy(&size, content.bytes.data(), sizeof size);
      return out->resize(std::min(size, file.size));
    }
    const uint64_t sector_size = file.device->sector_size;
    file.device->each_sector(line * kLineSize, names(file, content), [&](uint64_t sector, uint64_t name) {
      static constexpr std::array<uint8_t, kMostSector> kZeros{};
      const uint64_t at = sector * sector_size;
      if (at >= file.size) return;
      const void* bytes = name == 0 ? kZeros.data() : powercut_content(name, sector_size);
      if (bytes == nullptr) return out->lacks_content("a sector of the device");
      out->put(at, {static_cast<const uint8_t*>(bytes), sector_size});
    });
  }

  // A line of the file lies in one sector.
  LineBytes seen_by(const PoolFile& file, const LineBytes& read) const override {
    const uint64_t word = file.offset + file.device->word(read.line * kLineSize / file.device->sector_size);
    return {word / kLineSize, uint64_t{0xFF} << (word % kLineSize)};
  }

  void each_content(const PoolFile& file, uint64_t line, const Content& content, const Visit& visit) const override {
    if (line == 0) return;
    const uint64_t sector_size = file.device->sector_size;
    file.device->each_sector(line * kLineSize, names(file, content), [&](uint64_t, uint64_t name) {
      const auto* bytes = static_cast<const uint8_t*>(powercut_content(name, sector_size));
      if (name != 0 && bytes != nullptr) visit({bytes, sector_size});
    });
  }

 private:
  static std::span<const uint8_t> names(const PoolFile& file, const Content& content) {
    return std::span(content.bytes).first(file.device->unit * DeviceLayout::kWord);
  }
};

}  // namespace

const ImageWriter& block_images() {
  static const BlockImages writer;
  return writer;
}

}  // namespace powercut
