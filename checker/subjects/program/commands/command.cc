#include "checker/subjects/program/commands/command.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/user_file.h"

namespace powercut {
namespace {

constexpr std::string_view kImage = "{image";

// The file that the shell would run; empty when there is none.
std::string find_program(const std::string& word) {
  const auto runs = [](const std::string& path) {
    struct stat status{};
    return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
  };
  if (word.find('/') != std::string::npos) return runs(word) ? std::filesystem::absolute(word).string() : "";
  const char* path = getenv("PATH");
  for (const absl::string_view folder : absl::StrSplit(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    const std::string file = std::string(folder.empty() ? "." : folder) + "/" + word;
    if (runs(file)) return std::filesystem::absolute(file).string();
  }
  return "";
}

// One placeholder at the start of `text`: its size, and the number of the image; nothing for any other text.
struct Placeholder {
  size_t size;
  size_t image;
};
std::optional<Placeholder> placeholder(std::string_view text) {
  if (!text.starts_with(kImage)) return std::nullopt;
  std::string_view rest = text.substr(kImage.size());
  if (rest.starts_with("}")) return Placeholder{kImage.size() + 1, 0};
  if (!rest.starts_with(":")) return std::nullopt;
  const size_t end = rest.find('}');
  if (end == std::string_view::npos) return std::nullopt;
  size_t number = 0;
  const auto [at, wrong] = std::from_chars(rest.data() + 1, rest.data() + end, number);
  if (wrong != std::errc() || at != rest.data() + end) return std::nullopt;
  return Placeholder{kImage.size() + end + 1, number};
}

std::string absolute_path(const std::string& word) {
  return std::filesystem::absolute(word).lexically_normal().string();
}

std::string real_path(const std::string& word) {
  std::error_code wrong;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(word, wrong), wrong).string();
}

bool is_script(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return file.get() == '#' && file.get() == '!';
}

bool names_pool(const std::string& word, const PoolWindow& pool) {
  return !word.empty() && (word == pool.path || absolute_path(word) == pool.path);
}

void make_plain(Command* command, const std::string& because, bool preloads) {
  command->kind = ProgramKind::kPlain;
  command->plain_because = because;
  command->preloads = preloads;
}

// Dynamically linked programs ask for their loader in a segment of type PT_INTERP.
bool has_loader(std::ifstream& file, const Elf64_Ehdr& header) {
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + uint64_t{i} * header.e_phentsize));
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return false;
    if (segment.p_type == PT_INTERP) return true;
  }
  return false;
}

}  // namespace

std::optional<Command> look_at_program(const std::string& path) {
  Command out;
  std::ifstream file(path, std::ios::binary);
  std::array<char, 4> magic{};
  file.read(magic.data(), magic.size());
  if (magic[0] == '#' && magic[1] == '!') {
    // The runs would be copies of the shell, which opens nothing itself: programs that the shell starts open the image.
    make_plain(&out, "is a script", true);
    return out;
  }
  if (!file || std::memcmp(magic.data(), ELFMAG, SELFMAG) != 0) return std::nullopt;
  Elf64_Ehdr header{};
  file.seekg(0);
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64) {
    make_plain(&out, "is not a 64-bit x86 program", false);
    return out;
  }
  struct stat status{};
  const bool capable = getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
  if (stat(path.c_str(), &status) == 0 && ((status.st_mode & (S_ISUID | S_ISGID)) != 0 || capable)) {
    make_plain(&out, "runs with the rights of another user (set-uid, set-gid or file capabilities)", false);
    return out;
  }
  if (!file || !has_loader(file, header)) make_plain(&out, "is statically linked", false);
  return out;
}

namespace {

// Reads the words and looks at the program, whatever files the command works on.
Result<Command> read_command(const std::string& json, const std::string& option) {
  const char* shape = "Give a JSON list of words, such as '[\"./prog\", \"check\", \"{image}\"]'.";
  const Json words = parse_json(json);
  if (!words.is_array() || words.empty()) return usage_error("this is not a command: " + json, option, shape);
  std::vector<std::string> texts;
  for (const Json& word : words) {
    if (!word.is_string()) return usage_error("a word of the command is not a text: " + word.dump(), option, shape);
    texts.push_back(word.get<std::string>());
    if (texts.back().find('\0') != std::string::npos) return usage_error("a word has a zero byte", option, shape);
  }
  const std::string program = find_program(texts[0]);
  if (program.empty()) {
    return usage_error("there is no program '" + texts[0] + "' that may be executed", option,
                       "Give the path of an executable file, or a name that PATH leads to.");
  }
  std::optional<Command> looked_at = look_at_program(program);
  if (!looked_at) {
    return usage_error("'" + program + "' is neither an ELF program nor a script that begins with '#!'", option,
                       "Name the program itself, or put its interpreter in front of it.");
  }
  Command out = std::move(*looked_at);
  out.given = texts[0];
  out.option = option;
  out.words = std::move(texts);
  out.words[0] = program;
  return out;
}

}  // namespace

Result<Command> parse_command(const std::string& json, const std::string& option, const TracePools& pools) {
  auto read = read_command(json, option);
  if (!read) return read.error();
  Command out = std::move(*read);
  for (size_t i = 1; i < out.words.size(); ++i) {
    const std::string& word = out.words[i];
    for (size_t at = 0; (at = word.find(kImage, at)) != std::string::npos; ++at) {
      const auto found = placeholder(std::string_view(word).substr(at));
      if (found && found->image >= pools.windows.size()) {
        return usage_error("'" + word + "': the trace has " + std::to_string(pools.windows.size()) + " pool(s)", option,
                           "Pools are numbered from 0, in the order in which they were mapped.");
      }
      out.named = out.named || found.has_value();
    }
    for (const PoolWindow& pool : pools.windows) out.named = out.named || names_pool(word, pool);
  }
  if (!out.named && !out.preloads) {
    return usage_error(
        "'" + out.given + "' " + out.plain_because + ", so it cannot be led from the recorded path to the crash images",
        option, "Put {image} where the command takes the path of its pool.");
  }
  return out;
}

Result<Command> parse_folder_command(const std::string& json, const std::string& option, const std::string& folder) {
  auto read = read_command(json, option);
  if (!read) return read.error();
  Command out = std::move(*read);
  const std::string below = real_path(folder) + "/";
  for (size_t i = 0; i < out.words.size(); ++i) {
    std::string& word = out.words[i];
    if (i > 0) word = absl::StrReplaceAll(word, {{"{image}", folder}});
    if (!(real_path(word) + "/").starts_with(below) || (i > 0 && !is_script(word))) continue;
    return usage_error("'" + word + "' lies in the folder that is judged, and a crash image need not have it", option,
                       "Put the command's programs and scripts into another folder.");
  }
  out.named = true;
  return out;
}

std::string Command::text() const {
  std::string out = given;
  for (size_t i = 1; i < words.size(); ++i) out += " " + words[i];
  return out;
}

std::vector<std::string> Command::words_for(const TracePools& pools, const std::vector<std::string>& images) const {
  std::vector<std::string> out = {words[0]};
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    std::string made;
    for (size_t at = 0; at < word.size();) {
      if (const auto found = placeholder(std::string_view(word).substr(at))) {
        made += images[found->image];
        at += found->size;
      } else {
        made += word[at++];
      }
    }
    for (size_t p = 0; p < images.size(); ++p) {
      if (names_pool(word, pools.windows[p])) made = images[p];
    }
    out.push_back(std::move(made));
  }
  return out;
}

Result<TracePrefix> parse_trace_prefix(const std::string& json, const std::string& option) {
  const EngineError wrong =
      usage_error("this is no tracer: " + json, option,
                  R"(Give a JSON object such as {"command": ["valgrind", "--stream={stream}"], "environment": {}}.)");
  const Json given = parse_json(json);
  if (!given.is_object() || !given.contains("command") || !given["command"].is_array() || given["command"].empty()) {
    return wrong;
  }
  TracePrefix out;
  for (const Json& word : given["command"]) {
    if (!word.is_string()) return wrong;
    out.words.push_back(word.get<std::string>());
  }
  const Json environment = given.value("environment", Json::object());
  if (!environment.is_object()) return wrong;
  for (const auto& [name, value] : environment.items()) {
    if (!value.is_string()) return wrong;
    out.environment.push_back(name + "=" + value.get<std::string>());
  }
  const std::string program = find_program(out.words[0]);
  if (program.empty()) {
    return usage_error("there is no program '" + out.words[0] + "' that may be executed", option,
                       "Install it ('make setup' does), or leave out the option.");
  }
  out.words[0] = program;
  return out;
}

std::vector<std::string> TracePrefix::words_for(const std::string& stream,
                                                const std::vector<std::string>& images) const {
  std::vector<std::string> out;
  for (const std::string& word : words) {
    const std::string made = absl::StrReplaceAll(word, {{"{stream}", stream}});
    if (made.find("{image}") == std::string::npos) {
      out.push_back(made);
      continue;
    }
    for (const std::string& image : images) out.push_back(absl::StrReplaceAll(made, {{"{image}", image}}));
  }
  return out;
}

}  // namespace powercut
