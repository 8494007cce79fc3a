// `powercut-engine files-image`: the commands on one tree of a recorded folder: that of a finding, or the folder as the
// program left it at its end.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/user_file.h"
#include "checker/exploration/trees/tree_explorer.h"
#include "checker/subjects/program/outputs/finding.h"
#include "checker/subjects/program/trees/loaded_folder.h"
#include "engine/commands.h"
#include "engine/folder_options.h"
#include "engine/image_runs.h"

namespace powercut {
namespace {

struct FilesImageOptions {
  FolderOptions folder;
  std::string finding, out;
  int runs = 1;
};

void add_options(CommandLine& command, FilesImageOptions& options) {
  add_folder_options(&command, &options.folder);
  command.add_option("--finding", options.finding, "Finding whose tree it is (default: the folder at the end)");
  command.add_option("--runs", options.runs, "Times that the commands are run, each on the same tree")->range(1, 100);
  command.add_option("--out", options.out, "Folder, new or empty, to which the tree is copied");
}

// Copies the tree into a folder that is new or empty. Inodes that never reached the disk are left out.
std::optional<EngineError> copy_out(const ImageTree& tree, const std::string& out, Json* files) {
  std::error_code wrong;
  const auto refused = [&](const std::string& what, const std::string& where) {
    return usage_error(what, where, "Name another folder with --out.");
  };
  std::filesystem::create_directories(out, wrong);
  if (wrong) return refused("cannot be made (" + wrong.message() + ")", out);
  if (!std::filesystem::is_empty(out, wrong)) return refused("is not empty", out);
  std::optional<EngineError> failed;
  const std::function<void(uint64_t, const std::string&)> walk = [&](uint64_t folder, const std::string& path) {
    for (const auto& [name, inode] : tree.names(folder)) {
      const ImageNode node = tree.node(inode);
      const std::string to = path + "/" + name;
      if (node.bad || failed) continue;
      if (node.kind == InodeKind::kFolder) {
        std::filesystem::create_directory(to, wrong);
        walk(inode, to);
      } else if (node.kind == InodeKind::kLink) {
        std::filesystem::create_symlink(node.target, to, wrong);
      } else {
        std::vector<uint8_t> bytes(node.size);
        tree.read(inode, 0, bytes);
        std::ofstream file(to, std::ios::binary);
        file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        if (!file.flush()) failed = refused("cannot be written", to);
      }
      if (wrong) failed = refused("cannot be made (" + wrong.message() + ")", to);
      files->push_back(to);
    }
  };
  walk(kTreeRoot, out);
  return failed;
}

Result<TreeChoice> choice_of_finding(const std::string& file, files::Contents* contents) {
  const Result<std::string> text = read_user_file(file, "Name a finding of a recorded folder.");
  if (!text) return text.error();
  try {
    return choice_of(JsonField(parse_json(*text), "finding")["files"]["choice"], contents);
  } catch (const Malformed& malformed) {
    return usage_error(malformed.at + ": " + malformed.what, file, "Name a finding of a recorded folder.");
  }
}

Result<Json> run_image(const FilesImageOptions& options, const EventStream& events) {
  auto profiles = read_profiles(options.folder.profiles);
  if (!profiles) return profiles.error();
  auto calls = RecordedCalls::load(options.folder.program.trace);
  if (!calls) return calls.error();
  auto opened = LoadedFolder::open(options.folder.program, options.folder.folder);
  if (!opened) return opened.error();
  const LoadedFolder& loaded = **opened;
  events.end_when_unheard();
  auto workers = loaded.workers(1, nullptr);
  if (!workers) return workers.error();
  TreeWorker& worker = *(*workers)[0];
  Outcomes outcomes;
  TreeOptions usual;
  usual.units = units_of(options.folder);
  files::Contents contents(usual.units.sector);
  const ModeOf mode = [&loaded](const std::string& path, InodeKind kind) { return loaded.mode(path, kind); };
  TreeRuns runs(&*workers, options.folder.program.ordered, &mode, &outcomes);
  const bool continues = loaded.commands().continuation.has_value();
  TreeRuns continued = runs.continued();
  const TreeListener listener = {
      .found = [](const Json&) {}, .progressed = [](const TreesExplored&) {}, .interrupted = [] { return false; }};
  TreeExplorer explorer(usual, loaded.commands(), *calls, std::move(*profiles), &runs, continues ? &continued : nullptr,
                        &outcomes, &contents, listener);
  Json event = {{"event", "imaged"}, {"files", Json::array()}, {"unseen", calls->missed()}};
  std::optional<TreeChoice> choice;
  const auto use = [&](files::TreeWorld* world, const files::ChosenTree& tree) -> std::optional<EngineError> {
    const ServedTree served(world, tree, &mode);
    if (!options.out.empty()) {
      if (auto wrong = copy_out(served, options.out, &event["files"])) return wrong;
    }
    std::vector<ProgramOutcome> ends;
    const auto run = [&](bool with_continuation) -> std::optional<EngineError> {
      ends.clear();
      for (int i = 0; i < options.runs; ++i) {
        auto ran = worker.run(served, {.elsewhere = i > 0, .continued = with_continuation});
        if (!ran) return ran.error();
        ends.push_back(std::move(ran->outcome));
      }
      return std::nullopt;
    };
    if (auto wrong = run(choice && choice->continued)) return wrong;
    // At the end of the recording the continuation must end well, too.
    if (!choice && continues && std::ranges::all_of(ends, &ProgramOutcome::ok)) {
      if (auto wrong = run(true)) return wrong;
    }
    if (!options.finding.empty()) {
      const auto wrong = explorer.wrong_here(ends.front());
      event["violation"] = wrong ? Json{{"invariant", wrong->invariant},
                                        {"query", query_text(wrong->step, loaded.commands())},
                                        {"message", wrong->message}}
                                 : Json(nullptr);
    }
    event.update(runs_json(std::move(ends), options.folder.program.ordered));
    return std::nullopt;
  };
  std::optional<EngineError> wrong;
  if (options.finding.empty()) {
    wrong = explorer.at_the_end(use);
  } else {
    auto read = choice_of_finding(options.finding, &contents);
    if (!read) return read.error();
    choice = std::move(*read);
    if (auto failed = explorer.observe()) return *failed;
    wrong = explorer.at_choice(*choice, options.finding, use);
  }
  if (wrong) return *wrong;
  for (const std::string& sentence : loaded.files().troubles()) event["unseen"].push_back(sentence);
  return event;
}

int image(const FilesImageOptions& options, EventStream& events) {
  events.hello("files-image");
  return events.answer(run_image(options, events));
}

}  // namespace

void add_files_image_command(CommandLine& app, int& exit_code) {
  add_command<FilesImageOptions>(app, exit_code, "files-image", "Run a program's recovery on one tree of its folder",
                                 add_options, image, Addresses::kFixed);
}

}  // namespace powercut
