// `powercut-engine trees`: how many trees a power cut may leave of a recorded folder, under each profile
// (replayer/media/files/PROFILES.md). No recovery runs.
//
//     powercut-engine trees --trace=FILE --profiles=FILE [--effort=STEPS]
//     powercut-engine trees --programs < PROGRAMS
//
// The profiles are JSON: {name: {switch: value}}. Each profile has one event: its crash points, in order, with the call
// that each is before, during or after, and the number of trees; null where counting takes more steps than --effort.
//
// Programs are JSON lines, for the comparison with the brute force beside the model: {"switches", "sector", "page",
// "calls"}, answered by a line each with every crash point's floors and trees; "listed": false leaves these two out.
#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>

#include <iostream>
#include <memory>

#include "base/json_field.h"
#include "base/user_file.h"
#include "engine/commands.h"
#include "replayer/media/files/crash_points.h"
#include "replayer/media/files/legal_trees.h"
#include "replayer/media/files/scripted_reader.h"
#include "replayer/media/files/trace_effects.h"
#include "replayer/media/open_trace.h"
#include "tracer/format/trace_names.h"

namespace powercut {
namespace {

using files::CrashPoints;
using files::Disk;
using files::Effect;
using files::LegalTrees;
using files::Letter;
using files::Side;

struct TreesOptions {
  std::string trace, profiles;
  bool programs = false;
  uint64_t effort = 400'000;
};

void add_options(CommandLine& command, TreesOptions& options) {
  command.add_option("--trace", options.trace, "Trace of a folder");
  command.add_option("--profiles", options.profiles, "JSON: the switches of each profile by its name");
  command.add_option("--effort", options.effort, "Steps that counting the trees of one crash point may take");
  command.add_flag("--programs", options.programs, "Answer programs on standard input");
}

const char* name_of(Side side) { return side == Side::kBefore ? "before" : side == Side::kDuring ? "during" : "after"; }

// -- traces ------------------------------------------------------------------------------------------------------

// The disk under a profile, and the crash points so far.
class Counting {
 public:
  Counting(std::string name, const files::Switches& switches, files::Contents* contents, uint64_t effort)
      : name_(std::move(name)),
        disk_(switches, {}, contents),
        trees_(disk_),
        crash_points_(&disk_, [this, effort](Side side, uint64_t call) {
          const auto count = given_up_ < kMostGivenUp ? trees_.count(effort) : std::nullopt;
          if (!count) ++given_up_;
          points_.push_back({{"side", name_of(side)}, {"call", call}, {"trees", count ? Json(count->str()) : Json()}});
        }) {}

  bool take(const Effect& effect, uint64_t number) { return crash_points_.take(effect, number); }
  Json end() {
    crash_points_.end();
    return {{"event", "trees"}, {"profile", name_}, {"crash_points", points_}};
  }

 private:
  const std::string name_;
  Disk disk_;
  LegalTrees trees_;
  CrashPoints crash_points_;
  int given_up_ = 0;  // crash points whose trees take too long to count; behind the last of so many none is counted
  static constexpr int kMostGivenUp = 20;
  Json points_ = Json::array();
};

int count_trace(const TreesOptions& options, EventStream& events) {
  events.hello("trees");
  const auto wrong = [&](const std::string& what) {
    return events.error(usage_error(what, options.profiles, "Give {name: {switch: value}} as JSON."));
  };
  const Result<std::string> text = read_user_file(options.profiles, "Name a file that exists and may be read.");
  if (!text) return events.error(text.error());
  const Json profiles = parse_json(*text);
  if (!profiles.is_object()) return wrong("the profiles cannot be read");
  files::Contents contents(files::Units{}.sector);
  std::vector<std::unique_ptr<Counting>> every;
  try {
    for (const auto& [name, switches] : profiles.items()) {
      every.push_back(
          std::make_unique<Counting>(name, files::switches_of(JsonField(switches, name)), &contents, options.effort));
    }
  } catch (const Malformed& malformed) {
    return wrong(absl::StrCat(malformed.at, ": ", malformed.what));
  }
  auto opened = open_trace(options.trace);
  if (!opened) return events.error(opened.error());
  TraceReader* reader = opened->get();
  reader->take_tree_calls();
  std::optional<uint64_t> impossible;
  files::TraceEffects effects([&](const Effect& effect, uint64_t number) {
    for (const auto& counting : every) {
      if (!impossible && !counting->take(effect, number)) impossible = number;
    }
  });
  Event event;
  while (!impossible && reader->next(&event)) effects.take(event);
  effects.end();
  if (reader->error()) return events.error(usage_error(*reader->error()));
  if (impossible) {
    return events.error(usage_error(absl::StrCat("call ", *impossible, " names a file that is not there"),
                                    options.trace, "Record the program again."));
  }
  if (!effects.started()) {
    return events.error(
        usage_error("this is no recording of a folder", options.trace, "Record one with 'powercut record --files'."));
  }
  for (const auto& counting : every) events.emit(counting->end());
  return events.end(kExitOk);
}

// -- programs ----------------------------------------------------------------------------------------------------

std::string hex_of(const Disk& disk, files::ContentId content, uint64_t size) {
  return content == files::kGarbage ? std::string(size, '?')
                                    : absl::BytesToHexString(std::string(disk.contents()[content]));
}

// In the form of `floors_of` (reference.py).
Json floors_of(const Disk& disk) {
  Json entries = Json::array(), inodes = Json::array(), sizes = Json::array(), sectors = Json::array();
  for (const files::Operation& operation : disk.operations()) {
    for (const files::Step& step : operation.steps) {
      if (step.sure) entries.push_back({step.entry->first.folder, step.entry->first.name, step.leads_to});
    }
  }
  for (const auto& [number, inode] : disk.inodes()) {
    if (inode.there && inode.is_new) inodes.push_back(number);
    if (inode.size_floor > 0) sizes.push_back({number, inode.size_at(inode.size_floor).size});
    for (const auto& [place, sector] : inode.sectors) {
      if (sector.floor == 0) continue;
      sectors.push_back({number, place, hex_of(disk, sector[sector.floor].value, disk.units().sector)});
    }
  }
  const bool ordered = disk.switches().order != files::Order::kAny;
  return {{"prefix", ordered ? disk.prefix() : 0},
          {"entries", entries},
          {"inodes", inodes},
          {"sizes", sizes},
          {"sectors", sectors}};
}

// Returns [path, kind, target, [content of a sector in hex]].
Json path_of(const Disk& disk, const files::ShownPath& shown) {
  Json sectors = Json::array();
  const char* kind = "bad";
  std::string target;
  for (const Letter& letter : shown.letters) {
    switch (letter.kind) {
      case Letter::Kind::kFile:
        kind = "file";
        break;
      case Letter::Kind::kFolder:
        kind = "folder";
        break;
      case Letter::Kind::kLink:
        kind = "link";
        target = disk.contents()[letter.content];
        break;
      case Letter::Kind::kSector:
      case Letter::Kind::kCut:
        sectors.push_back(
            hex_of(disk, letter.content, letter.kind == Letter::Kind::kCut ? letter.size : disk.units().sector));
        break;
      case Letter::Kind::kBad:
      case Letter::Kind::kEnd:
      case Letter::Kind::kEnded:
        break;
    }
  }
  return {shown.path, kind, target, sectors};
}

Json answer(const Json& request, uint64_t effort) {
  const JsonField json(request, "program");
  files::Contents contents(json["sector"].number());
  Disk disk(files::switches_of(json["switches"]), {json["sector"].number(), json["page"].number()}, &contents);
  LegalTrees trees(disk);
  const bool listed = !json.has("listed") || json["listed"].flag();
  std::optional<files::ScriptedReader> reader;
  if (json.has("reader")) {
    const JsonField script = json["reader"];
    reader = {script["seed"].number(), static_cast<uint32_t>(script["questions"].number()), {}};
    for (const JsonField& path : script.items_of("paths")) reader->paths.push_back(path.text());
  }
  Json points = Json::array();
  CrashPoints crash_points(&disk, [&](Side side, uint64_t call) {
    const auto count = trees.count(effort);
    points.push_back({{name_of(side), call}, {"states", count ? Json(count->str()) : Json()}});
    if (reader) {
      const auto found = files::transcripts(disk, *reader, effort);
      points.back()["transcripts"] = found ? Json(*found) : Json();
    }
    if (!listed) return;
    points.back()["floors"] = floors_of(disk);
    Json& every = points.back()["trees"] = Json::array();
    trees.each(effort, [&](const files::Tree& tree) {
      Json paths = Json::array();
      for (const files::ShownPath& shown : tree) paths.push_back(path_of(disk, shown));
      every.push_back(std::move(paths));
    });
  });
  uint64_t number = 0;
  for (const JsonField& call : json.items_of("calls")) {
    if (!crash_points.take(files::effect_of(call), number++)) throw call.wrong("a call that a program can make");
  }
  crash_points.end();
  return {{"crash_points", points}};
}

int answer_programs(uint64_t effort) {
  for (std::string line; std::getline(std::cin, line);) {
    Json out;
    try {
      out = answer(Json::parse(line), effort);
    } catch (const Malformed& malformed) {
      out = {{"error", absl::StrCat(malformed.at, ": ", malformed.what)}};
    } catch (const Json::exception& error) {
      out = {{"error", error.what()}};
    }
    std::cout << out.dump() << std::endl;
  }
  return kExitOk;
}

}  // namespace

void add_trees_command(CommandLine& app, int& exit_code) {
  CommandLine* command = app.add_subcommand("trees", "Count the trees that power cuts may leave of a folder.");
  const auto options = std::make_shared<TreesOptions>();
  add_options(*command, *options);
  command->callback([options, &exit_code] {
    if (options->programs) {
      exit_code = answer_programs(options->effort);
      return;
    }
    EventStream events = EventStream::standard_output();
    exit_code = count_trace(*options, events);
  });
}

}  // namespace powercut
