// An SSD on raw NAND, with the layer that a run chooses.
#ifndef POWERCUT_TARGETS_COMMON_FTL_SSD_H_
#define POWERCUT_TARGETS_COMMON_FTL_SSD_H_

#include <variant>

#include "targets/common/ftl/block_mapped.h"
#include "targets/common/ftl/page_mapped.h"
#include "targets/common/ftl/raw_nand.h"

namespace powercut::ftl {

class Ssd {
  using ByPage = PageMapped<RawNand>;
  using ByBlock = BlockMapped<RawNand>;

  template <typename Visit>
  decltype(auto) On(Visit visit) {
    if (ByBlock* layer = std::get_if<ByBlock>(&layer_)) return visit(*layer);
    return visit(*std::get_if<ByPage>(&layer_));
  }
  template <typename Visit>
  decltype(auto) On(Visit visit) const {
    if (const ByBlock* layer = std::get_if<ByBlock>(&layer_)) return visit(*layer);
    return visit(*std::get_if<ByPage>(&layer_));
  }

 public:
  struct Options {
    bool block_mapped;
    uint32_t pages_per_block, page_size;
    Settings settings;
  };

  // Whether the blocks have room for as many logical pages.
  static bool Fits(const Options& options) {
    const Geometry geometry = GeometryOf(options);
    return options.block_mapped ? ByBlock::Fits(geometry, options.settings) : ByPage::Fits(geometry, options.settings);
  }
  static Geometry GeometryOf(const Options& options) {
    const auto of = options.block_mapped ? ByBlock::GeometryOf : ByPage::GeometryOf;
    return of(options.settings, options.pages_per_block, options.page_size);
  }
  // Describes the flash of the SSD for the engine.
  static powercut_device DeviceOf(const Options& options) {
    return {.medium = POWERCUT_FLASH,
            .bytes = options.page_size + static_cast<uint32_t>(sizeof(Spare)),
            .unit = options.pages_per_block};
  }

  Ssd(powercut_pool pool, const Options& options)
      : nand_(pool, GeometryOf(options)), logical_(options.settings.logical) {
    if (options.block_mapped) layer_.emplace<ByBlock>(&nand_, options.settings);
    if (!options.block_mapped) layer_.emplace<ByPage>(&nand_, options.settings);
  }
  Ssd(const Ssd&) = delete;
  Ssd& operator=(const Ssd&) = delete;

  RawNand& nand() { return nand_; }
  const RawNand& nand() const { return nand_; }
  uint32_t logical() const { return logical_; }

  Status Format() {
    return On([](auto& layer) { return layer.Format(); });
  }
  Status Open() {
    return On([](auto& layer) { return layer.Open(); });
  }
  Status Read(uint32_t page, void* data) {
    return On([&](auto& layer) { return layer.Read(page, data); });
  }
  Status Look(uint32_t page, const uint8_t** data) {
    return On([&](auto& layer) { return layer.Look(page, data); });
  }
  Status Write(uint32_t page, const void* data) {
    return On([&](auto& layer) { return layer.Write(page, data); });
  }
  Status Trim(uint32_t page) {
    return On([&](auto& layer) { return layer.Trim(page); });
  }
  bool Has(uint32_t page) const {
    return On([&](const auto& layer) { return layer.Has(page); });
  }
  uint64_t PageOf(uint32_t page) const {
    return On([&](const auto& layer) { return layer.PageOf(page); });
  }
  const Counts& counts() const {
    return On([](const auto& layer) -> const Counts& { return layer.counts(); });
  }
  uint32_t first_block() const {
    return On([](const auto& layer) { return layer.first_block(); });
  }
  uint32_t erases(uint32_t block) const {
    return On([&](const auto& layer) { return layer.erases(block); });
  }
  bool IsUsed(uint32_t block) const {
    return On([&](const auto& layer) { return layer.IsUsed(block); });
  }
  bool Reaches(uint32_t block) const {
    return On([&](const auto& layer) { return layer.Reaches(block); });
  }

 private:
  RawNand nand_;
  const uint32_t logical_;
  std::variant<std::monostate, ByPage, ByBlock> layer_;
};

}  // namespace powercut::ftl
#endif  // POWERCUT_TARGETS_COMMON_FTL_SSD_H_
