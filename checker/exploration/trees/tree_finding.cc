#include "checker/exploration/trees/tree_finding.h"

#include <algorithm>
#include <cctype>

#include "checker/exploration/trees/tree_choice.h"
#include "checker/exploration/trees/tree_listing.h"
#include "checker/findings/finding_parts.h"
#include "checker/subjects/program/outputs/finding.h"
#include "replayer/media/files/call_fates.h"

namespace powercut {
namespace {

// The name of a call's file, without its digits: calls of one place on many files are alike.
std::string name_of_call(const RecordedCall& call, const files::Disk& disk) {
  const files::Effect& effect = call.effect;
  std::string out = std::to_string(static_cast<int>(effect.kind)) + ' ';
  if (!effect.name.empty()) {
    out += effect.name + ' ' + effect.to_name;
  } else if (disk.inodes().contains(effect.inode)) {
    const auto& holders = disk.holders(effect.inode);
    if (!holders.empty()) out += (*holders.begin())->first.name;
  }
  for (char& letter : out) {
    if (std::isdigit(static_cast<unsigned char>(letter)) != 0) letter = '#';
  }
  return out;
}

std::string key_of(const TreeFinding& finding, const files::Disk& disk) {
  std::string out = "files/" + finding.violation.invariant + "/" + finding.violation.kind;
  std::set<std::string> places;
  for (const RecordedCall& call : finding.calls.calls()) {
    if (!call.mark && finding.decisive.contains(static_cast<uint32_t>(call.number))) {
      places.insert(name_of_call(call, disk));
    }
  }
  for (const std::string& place : places) out += "/" + place;
  if (!finding.needs_power_cut) out += "/no power cut";
  if (finding.life > 1) out += "/life 2";
  return finding_key(out);
}

}  // namespace

std::string instant_text(files::Side side, uint64_t call) {
  const char* const when = side == files::Side::kBefore ? "before" : side == files::Side::kDuring ? "during" : "after";
  return std::string(when) + " call " + std::to_string(call);
}

namespace {

// Returns a call of recovery for people.
std::string text_of(const files::Effect& effect, const files::Disk& disk) {
  const auto named = [&](uint64_t inode) {
    if (inode == kTreeRoot) return std::string("the folder");
    const auto& holders = disk.holders(inode);
    return holders.empty() ? std::string("a file without a name") : '"' + (*holders.begin())->first.name + '"';
  };
  using Kind = files::EffectKind;
  switch (effect.kind) {
    case Kind::kCreate:
      return "create \"" + effect.name + '"';
    case Kind::kLink:
      return "link " + named(effect.inode) + " -> \"" + effect.name + '"';
    case Kind::kUnlink:
      return "unlink \"" + effect.name + '"';
    case Kind::kRename:
      return "rename \"" + effect.name + "\" -> \"" + effect.to_name + '"';
    case Kind::kWrite:
      return "write " + named(effect.inode) + ", " + std::to_string(effect.data.size()) + " bytes at " +
             std::to_string(effect.offset);
    case Kind::kSize:
      return "set the size of " + named(effect.inode) + " to " + std::to_string(effect.size);
    case Kind::kAllocate:
      return "fallocate " + named(effect.inode);
    case Kind::kSync:
      return "sync " + named(effect.inode);
    case Kind::kSyncAll:
      return "sync";
    case Kind::kInode:
      return "make a file without a name";
    case Kind::kAttributes:
    case Kind::kContent:
    case Kind::kEntry:
    case Kind::kBegin:
    case Kind::kEnd:
      return "a call on " + named(effect.inode);
  }
  return "";
}

Json inner_json(const InnerCut& cut) {
  const files::CallFates fates = fates_of(cut.inner.world, cut.least);
  Json calls = Json::array();
  for (uint64_t number = 1; number <= std::min<uint64_t>(cut.inner.call, cut.inner.recovery.size()); ++number) {
    const files::Effect& effect = cut.inner.recovery[number - 1];
    const auto fate = fates.find(static_cast<uint32_t>(number));
    const bool ahead = number == cut.inner.call && cut.inner.side == files::Side::kBefore;
    if (effect.kind == files::EffectKind::kAttributes) continue;
    calls.push_back({{"call", number},
                     {"text", text_of(effect, cut.inner.world->disk())},
                     {"fate", ahead                 ? "not yet"
                              : fate == fates.end() ? "durable"
                                                    : fate->second.name()},
                     {"decisive", cut.decisive.contains(static_cast<uint32_t>(number))}});
  }
  const std::string when = instant_text(cut.inner.side, cut.inner.call);
  return {{"side", when.substr(0, when.find(' '))},
          {"call", cut.inner.call},
          {"life", cut.inner.of_life ? 2 : 1},
          {"of_recovery", cut.inner.of_recovery},
          {"calls", calls}};
}

// The name of a call of recovery, for keys.
std::string places_of(const InnerCut& cut) {
  std::set<std::string> places;
  for (const uint32_t call : cut.decisive) {
    std::string text = text_of(cut.inner.recovery[call - 1], cut.inner.world->disk());
    for (char& letter : text) {
      if (std::isdigit(static_cast<unsigned char>(letter)) != 0) letter = '#';
    }
    places.insert(text);
  }
  std::string out = cut.inner.of_life ? "/in life 2" : "/in recovery";
  for (const std::string& place : places) out += "/" + place;
  return out;
}

}  // namespace

Result<Json> finding_event(const TreeFinding& finding, files::TreeWorld* world, const files::ChosenTree& least,
                           const files::ChosenTree& visible, TreeRuns* runs, const std::optional<InnerCut>& cut) {
  const files::Disk& disk = world->disk();
  std::vector<TreeListing> trees(3);
  const auto met_and_left = [&](const ImageTree& met, const ImageTree& left) {
    trees[0] = listing_of(met);
    trees[2] = listing_of(left);
  };
  trees[1] = listing_of(ServedTree(world, visible, runs->mode()));
  const auto wrong =
      cut ? runs->look(cut->inner.world, cut->least, met_and_left) : runs->look(world, least, met_and_left);
  if (wrong) return *wrong;
  const std::vector<Json> listed = differing(trees);
  Json calls = Json::array();
  for (const auto& [call, fate] : fates_of(world, least)) {
    calls.push_back({{"call", call}, {"fate", fate.name()}, {"decisive", finding.decisive.contains(call)}});
  }
  const std::string when = instant_text(finding.side, finding.call);
  TreeChoice choice{finding.profile, finding.ordinal, least, finding.life > 1 && !cut};
  if (cut) choice.inner = {cut->inner.of_life, cut->inner.side, cut->inner.call, cut->least};
  Json event = finding_body(finding_of(finding.violation, finding.outcome, {}, finding.operations, finding.commands,
                                       finding.needs_power_cut, is_acknowledged(finding.calls.metadata())));
  // One bug of recovery shows after many crash points: the program's own calls matter less for its key.
  event["key"] =
      cut ? finding_key("files/" + finding.violation.invariant + "/" + finding.violation.kind + places_of(*cut))
          : key_of(finding, disk);
  event["crash_point"] = {{"index", finding.ordinal},
                          {"event", finding.call},
                          {"when", when},
                          {"depth", cut ? 1 : 0},
                          {"nested_event", cut ? Json(cut->inner.call) : Json()}};
  event["image"] = event["nested_image"] = event["stores"] = Json::array();
  event["timeline"] = {{"crash_event", finding.call}, {"lines", Json::array()}};
  event["files"] = {{"profiles", finding.profiles},
                    {"side", when.substr(0, when.find(' '))},
                    {"call", finding.call},
                    {"life", finding.life},
                    {"calls", calls},
                    {"met", listed[0]},
                    {"visible", listed[1]},
                    {"left", listed[2]},
                    {"choice", choice_json(choice, disk.contents())}};
  if (cut) event["files"]["inner"] = inner_json(*cut);
  return event;
}

std::string fates_text(const InnerTree& inner) {
  const files::CallFates fates = fates_of(inner.world, inner.tree);
  std::string out;
  for (uint64_t number = 1; number <= std::min<uint64_t>(inner.call, inner.recovery.size()); ++number) {
    const auto fate = fates.find(static_cast<uint32_t>(number));
    out += "/" + text_of(inner.recovery[number - 1], inner.world->disk()) + "=" +
           (fate == fates.end() ? "durable" : fate->second.name());
  }
  return out;
}

}  // namespace powercut
