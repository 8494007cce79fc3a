#include "tracer/format/build_id.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <vector>

namespace powercut {
namespace {

constexpr uint64_t kMostNotes = 1 << 20;

template <typename T>
bool read_at(std::ifstream& file, uint64_t offset, T* out) {
  return static_cast<bool>(
      file.seekg(static_cast<std::streamoff>(offset)).read(reinterpret_cast<char*>(out), sizeof(T)));
}

std::string hex(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

}  // namespace

std::string build_id_in_notes(std::span<const uint8_t> notes) {
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr header;
    std::memcpy(&header, notes.data(), sizeof header);
    notes = notes.subspan(sizeof header);
    const uint64_t name = (uint64_t{header.n_namesz} + 3) & ~uint64_t{3};
    const uint64_t value = (uint64_t{header.n_descsz} + 3) & ~uint64_t{3};
    if (name + value > notes.size()) return {};
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && std::memcmp(notes.data(), "GNU", 4) == 0) {
      return hex(notes.subspan(name, header.n_descsz));
    }
    notes = notes.subspan(name + value);
  }
  return {};
}

std::string file_build_id(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header{};
  if (!read_at(file, 0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64) {
    return {};
  }
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!read_at(file, header.e_phoff + uint64_t{i} * sizeof segment, &segment)) return {};
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMostNotes) continue;
    std::vector<uint8_t> notes(segment.p_filesz);
    if (!file.seekg(static_cast<std::streamoff>(segment.p_offset))
             .read(reinterpret_cast<char*>(notes.data()), static_cast<std::streamsize>(notes.size()))) {
      return {};
    }
    if (std::string id = build_id_in_notes(notes); !id.empty()) return id;
  }
  return {};
}

}  // namespace powercut
