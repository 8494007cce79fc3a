#include "replayer/media/files/scripted_reader.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <map>

#include "replayer/media/files/tree_box.h"

namespace powercut::files {
namespace {

constexpr uint64_t kSectors = 4;

struct Asked {
  Question question, resolved;  // the second one by the first name of its file
  Answer answer;
};

class Reading {
 public:
  Reading(TreeWorld* world, const ScriptedReader& script, std::set<std::string>* out)
      : world_(*world), script_(script), box_(world), out_(*out) {
    for (const std::string& path : script.paths) {
      PathId id = kRootPath;
      for (size_t at = 0; at <= path.size();) {
        const size_t end = std::min(path.find('/', at), path.size());
        id = world_.paths().of(id, path.substr(at, end - at));
        at = end + 1;
      }
      ids_.push_back(id);
    }
  }

  void follow() {
    if (!world_.known()) return;
    const auto next = question();
    if (!next) return end();
    Question resolved = *next;
    resolved.path = first_name(next->path);
    if (const auto known = told_.find(resolved); known != told_.end()) {
      asked_.push_back({*next, resolved, known->second});
      follow();
      asked_.pop_back();
      return;
    }
    for (const Answer& answer : box_.answers(resolved)) {
      const auto mark = box_.mark();
      box_.narrow(resolved, answer);
      asked_.push_back({*next, resolved, answer});
      told_.emplace(resolved, answer);
      follow();
      told_.erase(resolved);
      asked_.pop_back();
      box_.undo(mark);
    }
  }

 private:
  const Answer* answered(Question::Kind kind, PathId path, uint64_t sector = 0) const {
    for (const Asked& each : asked_) {
      if (each.question == Question{kind, path, sector}) return &each.answer;
    }
    return nullptr;
  }

  // Returns the path by which a file was asked for first.
  PathId first_name(PathId path) const {
    const Answer* const answer = answered(Question::Kind::kName, path);
    return answer != nullptr && answer->kind == Answer::Kind::kSame ? static_cast<PathId>(answer->value) : path;
  }

  bool is_folder(PathId path) const {
    if (path == kRootPath) return true;
    const Answer* const answer = answered(Question::Kind::kName, path);
    return answer != nullptr && answer->kind == Answer::Kind::kFolder;
  }

  std::string text_of(const Question& question) const {
    static constexpr const char* kinds[] = {"name", "names", "links", "size", "sector"};
    return absl::StrCat(kinds[static_cast<int>(question.kind)], " ", world_.paths().text(question.path),
                        question.kind == Question::Kind::kSector ? absl::StrCat(" ", question.sector) : "");
  }

  std::string hex(uint64_t content, uint64_t size) const {
    const auto id = static_cast<ContentId>(content);
    return id == kGarbage ? std::string(size, '?') : absl::BytesToHexString(std::string(world_.disk().contents()[id]));
  }

  // Leaves the kinds out: the brute force does not tell the kind of an inode that never reached the disk.
  static std::string names_alone(std::string_view listing) {
    std::string out;
    for (size_t at = 0; at < listing.size(); at = listing.find('/', listing.find('/', at) + 1) + 1) {
      absl::StrAppend(&out, std::string(listing.substr(at, listing.find('/', at) - at)), "/");
    }
    return out;
  }

  std::string text_of(const Answer& answer) const {
    switch (answer.kind) {
      case Answer::Kind::kNothing:
        return "nothing";
      case Answer::Kind::kBad:
        return "bad";
      case Answer::Kind::kFile:
      case Answer::Kind::kSame:
        return "file";
      case Answer::Kind::kFolder:
        return "folder";
      case Answer::Kind::kLink:
        return absl::StrCat("link ", std::string(world_.disk().contents()[static_cast<ContentId>(answer.value)]));
      case Answer::Kind::kNames:
        return names_alone(world_.disk().contents()[static_cast<ContentId>(answer.value)]);
      case Answer::Kind::kLinks:
      case Answer::Kind::kSize:
        return absl::StrCat(answer.value);
      case Answer::Kind::kSector:
        return hex(answer.value, world_.disk().units().sector);
      case Answer::Kind::kCut:
        return hex(answer.value, answer.extra);
      case Answer::Kind::kEnd:
        return "end";
    }
    return "?";
  }

  std::string transcript() const {
    std::string out;
    for (const Asked& each : asked_) absl::StrAppend(&out, text_of(each.question), "=", text_of(each.answer), ";");
    return out;
  }

  // FNV-1a of the transcript so far chooses among the questions that make sense.
  std::optional<Question> question() const {
    if (asked_.size() == script_.questions) return std::nullopt;
    std::vector<Question> choices;
    const auto add = [&](const Question& each) {
      if (answered(each.kind, each.path, each.sector) == nullptr) choices.push_back(each);
    };
    add({Question::Kind::kNames, kRootPath});
    for (const PathId path : ids_) {
      if (is_folder(world_.paths().folder(path))) add({Question::Kind::kName, path});
      const Answer* const answer = answered(Question::Kind::kName, path);
      if (answer == nullptr) continue;
      if (answer->kind == Answer::Kind::kFolder) add({Question::Kind::kNames, path});
      if (answer->kind == Answer::Kind::kFile || answer->kind == Answer::Kind::kSame) {
        add({Question::Kind::kSize, path});
        for (uint64_t sector = 0; sector < kSectors; ++sector) add({Question::Kind::kSector, path, sector});
      }
    }
    if (choices.empty()) return std::nullopt;
    uint64_t hash = 14695981039346656037u + script_.seed;
    for (const char byte : transcript()) hash = (hash ^ static_cast<uint8_t>(byte)) * 1099511628211u;
    return choices[(hash >> 33) % choices.size()];
  }

  void end() {
    std::string text = transcript();
    const ChosenTree tree = box_.newest();
    std::vector<PathId> files;
    for (const Asked& each : asked_) {
      if (answer_of(&world_, tree, files, each.resolved) != each.answer) text += "wrong";
      if (each.answer.kind == Answer::Kind::kFile) files.push_back(each.question.path);
    }
    out_.insert(std::move(text));
  }

  TreeWorld& world_;
  const ScriptedReader& script_;
  TreeBox box_;
  std::set<std::string>& out_;
  std::vector<PathId> ids_;
  std::vector<Asked> asked_;
  std::map<Question, Answer> told_;
};

}  // namespace

std::optional<std::set<std::string>> transcripts(const Disk& disk, const ScriptedReader& reader, uint64_t most_effort) {
  Paths paths;
  TreeWorld world(disk, &paths, most_effort);
  std::set<std::string> out;
  Reading(&world, reader, &out).follow();
  return world.known() ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace powercut::files
