#include "tracer/calls/code_places.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <utility>

#include "tracer/calls/own_descriptor.h"
#include "tracer/format/build_id.h"

namespace powercut {
namespace {

// Walks that are kept of one place.
constexpr size_t kMostKnown = 8;
// The name of a module that is the text of its frame (tracer/FORMAT.md).
const std::string kTextModule = "pmemcheck:";
// Places of a process that are kept: a program that never comes back to one must not fill the memory.
constexpr size_t kMostPlaces = 1u << 14;

// Returns what loading added to the addresses that the file itself gives, by which symbols are looked up. `offset` is
// the place in the file of the code that lies in [begin, end).
uint64_t bias_of(const std::string& path, uint64_t begin, uint64_t end, uint64_t offset) {
  const OwnDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  Elf64_Ehdr header{};
  if (pread(file.number(), &header, sizeof header, 0) != sizeof header) return begin - offset;
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  const auto size = static_cast<ssize_t>(segments.size() * sizeof(Elf64_Phdr));
  if (pread(file.number(), segments.data(), static_cast<size_t>(size), static_cast<off_t>(header.e_phoff)) != size) {
    return begin - offset;
  }
  for (const Elf64_Phdr& segment : segments) {
    // A mapping begins at a page, a segment at any byte: pages at its ends show parts of its neighbours.
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 && segment.p_offset < offset + (end - begin) &&
        segment.p_offset + segment.p_filesz > offset) {
      return begin - offset + segment.p_offset - segment.p_vaddr;
    }
  }
  return begin - offset;
}

}  // namespace

CodePlaces::Mappings CodePlaces::mappings_of(pid_t process) {
  Mappings out;
  const std::string path = "/proc/" + std::to_string(process) + "/maps";
  std::FILE* const maps = std::fopen(path.c_str(), "re");
  if (maps == nullptr) return out;
  char line[8192];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    uint64_t from = 0, to = 0, offset = 0;
    char permissions[5] = "";
    int name = 0;
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &from, &to, permissions, &offset,
                    &name) != 4 ||
        permissions[2] != 'x') {
      continue;
    }
    std::string file = line[name] == '/' ? line + name : "";
    if (file.ends_with('\n')) file.pop_back();
    Mapping& mapping = out[from];
    mapping.end = to;
    mapping.offset = offset;
    mapping.path = file;
  }
  std::fclose(maps);
  return out;
}

CodePlaces::Shared& CodePlaces::space_of(pid_t process) {
  Shared& space = processes_[process];
  if (space != nullptr) return space;
  Mappings mappings = mappings_of(process);
  // A child of fork() has the code of its parent.
  for (const auto& [other, shared] : processes_) {
    if (shared != nullptr && shared->mappings == mappings) return space = shared;
  }
  space = std::make_shared<Space>();
  space->mappings = std::move(mappings);
  return space;
}

bool CodePlaces::read_again(pid_t process) {
  Shared& space = processes_[process];
  Mappings mappings = mappings_of(process);
  if (mappings == space->mappings) return false;
  if (space.use_count() > 1) {
    space = std::make_shared<Space>();
    space->mappings = std::move(mappings);
    return true;
  }
  for (auto& [begin, mapping] : mappings) {
    const auto old = space->mappings.find(begin);
    if (old != space->mappings.end() && old->second == mapping) mapping = old->second;
  }
  space->mappings = std::move(mappings);
  return true;
}

CodePlaces::Mapping* CodePlaces::mapping_at(Space& space, uint64_t address) {
  const auto next = space.mappings.upper_bound(address);
  if (next == space.mappings.begin()) return nullptr;
  Mapping& mapping = std::prev(next)->second;
  return address < mapping.end ? &mapping : nullptr;
}

void CodePlaces::add(Mapping& mapping, uint64_t begin, Space& space) {
  mapping.added = true;
  mapping.bias = bias_of(mapping.path, begin, mapping.end, mapping.offset);
  const auto [module, is_new] = modules_.try_emplace(mapping.path, 0);
  if (is_new) module->second = trace_.module({mapping.path, file_build_id(mapping.path)});
  mapping.module = module->second;
  space.unwinder.add(mapping.path, mapping.bias);
}

StackWalk CodePlaces::walk(pid_t process, pid_t thread, const user_regs_struct& registers) {
  bool looked = false;
  for (;;) {
    Space& space = *space_of(process);
    uint64_t stops_at = registers.rip;
    const auto goes_on = [&](uint64_t counter) {
      stops_at = counter;
      const Mapping* const mapping = mapping_at(space, counter - 1);
      return mapping != nullptr && (mapping->path.empty() || mapping->added);
    };
    StackWalk out = space.unwinder.walk(thread, registers, goes_on);
    stops_at = out.counters.back();
    Mapping* const mapping = mapping_at(space, stops_at - 1);
    if (mapping != nullptr && !mapping->path.empty() && !mapping->added) {
      add(*mapping, std::prev(space.mappings.upper_bound(stops_at - 1))->first, space);
    } else if (mapping != nullptr || looked || !read_again(process)) {
      return out;
    } else {
      looked = true;
    }
  }
}

// Frames of code that was not looked at are left out.
uint32_t CodePlaces::placed(pid_t process, std::span<const uint64_t> counters) {
  Space& space = *space_of(process);
  std::vector<Frame> frames;
  for (const uint64_t counter : counters) {
    const Mapping* const mapping = mapping_at(space, counter - 1);
    if (mapping == nullptr) continue;
    if (mapping->added) frames.push_back({mapping->module, counter - mapping->bias});
    if (!mapping->path.empty()) continue;
    const std::string& function =
        perf_maps_.try_emplace(process, process, begun_).first->second.function_at(counter - 1);
    if (!function.empty()) frames.push_back({trace_.module({kTextModule + function, ""}), counter});
  }
  return frames.empty() ? 0 : trace_.stack(frames);
}

uint32_t CodePlaces::stack_of(pid_t process, std::span<const uint64_t> counters) {
  for (const uint64_t counter : counters) {
    Mapping* mapping = mapping_at(*space_of(process), counter - 1);
    if (mapping == nullptr && read_again(process)) mapping = mapping_at(*space_of(process), counter - 1);
    if (mapping == nullptr || mapping->path.empty() || mapping->added) continue;
    add(*mapping, std::prev(space_of(process)->mappings.upper_bound(counter - 1))->first, *space_of(process));
  }
  return placed(process, counters);
}

uint32_t CodePlaces::stack(pid_t process, pid_t thread, uint64_t counter, uint64_t stack_pointer) {
  const auto frame = static_cast<uint64_t>(ptrace(PTRACE_PEEKUSER, thread, offsetof(user, regs.rbp), nullptr));
  const Place place = {counter, stack_pointer, frame};
  for (const Known& known : space_of(process)->known[place]) {
    if (known.words.stand_in(thread)) return known.stack;
  }
  user_regs_struct registers{};
  if (ptrace(PTRACE_GETREGS, thread, nullptr, &registers) != 0) return 0;
  StackWalk walked = walk(process, thread, registers);
  Space& space = *space_of(process);
  const uint32_t stack = placed(process, walked.counters);
  if (space.known.size() > kMostPlaces) space.known.clear();
  std::vector<Known>& known = space.known[place];
  if (known.size() == kMostKnown) known.erase(known.begin());
  known.push_back({StackWords(std::move(walked.words)), stack});
  return stack;
}

}  // namespace powercut
