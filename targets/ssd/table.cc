// Format, open and the operations.
#include "targets/ssd/table.h"

#include <memory>
#include <new>

namespace powercut::ssd {
namespace {

powercut_status StatusOf(ftl::Status status) {
  switch (status) {
    case ftl::Status::kOk:
      return POWERCUT_OK;
    case ftl::Status::kAbsent:
      return POWERCUT_NOT_FOUND;
    case ftl::Status::kFull:
      return POWERCUT_FULL;
    case ftl::Status::kUnformatted:
      return POWERCUT_NOT_FORMATTED;
    case ftl::Status::kDamaged:
      break;
  }
  return POWERCUT_CORRUPT;
}

}  // namespace

Table::Table(powercut_pool pool, const Options& options)
    : pool_(pool), options_(options), ssd_(pool, DeviceOf(options)), keys_(options.logical, 0), page_(options.page) {}

powercut_status Table::Format(powercut_pool pool, const Options& options) {
  try {
    Table table(pool, options);
    return table.ssd_.nand().Fits() ? StatusOf(table.ssd_.Format()) : POWERCUT_FULL;
  } catch (const std::bad_alloc&) {
    return POWERCUT_FULL;
  }
}

powercut_status Table::Open(powercut_pool pool, const Options& options, Table** out) {
  try {
    std::unique_ptr<Table> table(new Table(pool, options));
    if (!table->ssd_.nand().Fits()) return POWERCUT_BAD_CONFIG;
    const ftl::Status status = table->ssd_.Open();
    if (status != ftl::Status::kOk) return StatusOf(status);
    for (uint32_t page = 0; page < options.logical; ++page) {
      if (!table->ssd_.Has(page)) continue;
      if (!table->ReadPage(page)) return POWERCUT_CORRUPT;
      std::memcpy(&table->keys_[page], table->page_.data(), kKey);
    }
    *out = table.release();
    return POWERCUT_OK;
  } catch (const std::bad_alloc&) {
    return POWERCUT_FULL;
  }
}

uint32_t Table::Find(const uint8_t* key) const {
  uint64_t word;
  std::memcpy(&word, key, kKey);
  for (uint32_t page = 0; page < options_.logical; ++page) {
    if (keys_[page] == word && ssd_.Has(page)) return page;
  }
  return ftl::kNone;
}

powercut_status Table::WritePage(uint32_t page, const uint8_t* key, const uint8_t* value) {
  std::memset(page_.data(), 0, page_.size());
  std::memcpy(page_.data(), key, kKey);
  std::memcpy(page_.data() + kKey, value, options_.value_size);
  const ftl::Status status = ssd_.Write(page, page_.data());
  if (status == ftl::Status::kOk) std::memcpy(&keys_[page], key, kKey);
  return StatusOf(status);
}

powercut_status Table::Insert(const uint8_t* key, const uint8_t* value) {
  for (uint32_t page = 0; page < options_.logical; ++page) {
    if (!ssd_.Has(page)) return WritePage(page, key, value);
  }
  return POWERCUT_FULL;
}

powercut_status Table::Update(const uint8_t* key, const uint8_t* value) {
  const uint32_t page = Find(key);
  return page == ftl::kNone ? POWERCUT_NOT_FOUND : WritePage(page, key, value);
}

powercut_status Table::Erase(const uint8_t* key) {
  const uint32_t page = Find(key);
  return page == ftl::kNone ? POWERCUT_NOT_FOUND : StatusOf(ssd_.Trim(page));
}

powercut_status Table::Lookup(const uint8_t* key, uint8_t* value) {
  const uint32_t page = Find(key);
  if (page == ftl::kNone) return POWERCUT_NOT_FOUND;
  if (!ReadPage(page)) return POWERCUT_CORRUPT;
  std::memcpy(value, page_.data() + kKey, options_.value_size);
  return POWERCUT_OK;
}

}  // namespace powercut::ssd
