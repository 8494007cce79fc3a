#include "tracer/calls/code_places.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <tuple>
#include <vector>

#include "tracer/calls/own_descriptor.h"
#include "tracer/format/build_id.h"

namespace powercut {
namespace {

// Returns the address that the file itself gives to its byte at `offset`, by which symbols are looked up.
uint64_t own_address(const std::string& path, uint64_t offset) {
  const OwnDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  Elf64_Ehdr header{};
  if (pread(file.number(), &header, sizeof header, 0) != sizeof header) return offset;
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  const auto size = static_cast<ssize_t>(segments.size() * sizeof(Elf64_Phdr));
  if (pread(file.number(), segments.data(), static_cast<size_t>(size), static_cast<off_t>(header.e_phoff)) != size) {
    return offset;
  }
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && offset >= segment.p_offset && offset - segment.p_offset < segment.p_filesz) {
      return offset - segment.p_offset + segment.p_vaddr;
    }
  }
  return offset;
}

}  // namespace

void CodePlaces::read(pid_t process, Process& out) {
  const std::string path = "/proc/" + std::to_string(process) + "/maps";
  std::FILE* const maps = std::fopen(path.c_str(), "re");
  if (maps == nullptr) return;
  out.mappings.clear();
  char line[8192];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    uint64_t from = 0, to = 0, offset = 0;
    char permissions[5] = "";
    int name = 0;
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &from, &to, permissions, &offset,
                    &name) != 4 ||
        line[name] != '/' || permissions[2] != 'x') {
      continue;
    }
    std::string file = line + name;
    if (file.ends_with('\n')) file.pop_back();
    out.mappings[from] = {to, offset, file};
  }
  std::fclose(maps);
}

uint32_t CodePlaces::stack(pid_t process, uint64_t address) {
  Process& known = processes_[process];
  if (const auto found = known.stacks.find(address); found != known.stacks.end()) return found->second;
  const auto mapping_of = [&]() -> std::pair<uint64_t, const Mapping*> {
    auto found = known.mappings.upper_bound(address);
    if (found == known.mappings.begin() || address >= (--found)->second.end) return {0, nullptr};
    return {found->first, &found->second};
  };
  auto [begin, mapping] = mapping_of();
  if (mapping == nullptr) {
    read(process, known);
    std::tie(begin, mapping) = mapping_of();
  }
  uint32_t stack = 0;
  if (mapping != nullptr) {
    const auto [module, added] = modules_.try_emplace(mapping->path, 0);
    if (added) module->second = trace_.module({mapping->path, file_build_id(mapping->path)});
    const Frame frame{module->second, own_address(mapping->path, address - begin + mapping->offset)};
    stack = trace_.stack({&frame, 1});
  }
  known.stacks[address] = stack;
  return stack;
}

}  // namespace powercut
