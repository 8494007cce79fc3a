#include "checker/exploration/trees/tree_choice.h"

#include <absl/strings/escaping.h>

#include <algorithm>

namespace powercut {

using files::FileAnswers;
using files::Letter;

namespace {

Json json_of(const files::ChosenTree& tree, const files::Contents& contents) {
  Json files = Json::array();
  for (const auto& [inode, file] : tree.files) {
    Json sectors = Json::array();
    for (const auto& [sector, content] : file.sectors) {
      const bool garbage = content == files::kGarbage;
      sectors.push_back({{"sector", sector},
                         {"bytes", garbage ? "" : absl::BytesToHexString(std::string(contents[content]))},
                         {"garbage", garbage}});
    }
    files.push_back({{"inode", inode}, {"bad", file.bad}, {"size", file.size}, {"sectors", sectors}});
  }
  return {{"alternatives", tree.alternatives}, {"files", files}};
}

files::ChosenTree tree_of(const JsonField& json, files::Contents* contents) {
  files::ChosenTree out;
  for (const JsonField& each : json.items_of("alternatives")) {
    out.alternatives.push_back(static_cast<uint32_t>(each.number()));
  }
  for (const JsonField& each : json.items_of("files")) {
    files::FileContents& file = out.files[each["inode"].number()];
    file.bad = each["bad"].flag();
    file.size = each["size"].number();
    for (const JsonField& sector : each.items_of("sectors")) {
      const std::string bytes = absl::HexStringToBytes(sector["bytes"].text());
      file.sectors[sector["sector"].number()] = sector["garbage"].flag() ? files::kGarbage : contents->of(bytes);
    }
  }
  return out;
}

}  // namespace

Json choice_json(const TreeChoice& choice, const files::Contents& contents) {
  Json out = json_of(choice.tree, contents);
  out["profile"] = choice.profile;
  out["ordinal"] = choice.ordinal;
  if (choice.continued) out["continued"] = true;
  if (choice.inner) {
    out["inner"] = json_of(choice.inner->tree, contents);
    out["inner"]["of_life"] = choice.inner->of_life;
    out["inner"]["side"] = static_cast<int>(choice.inner->side);
    out["inner"]["call"] = choice.inner->call;
  }
  return out;
}

TreeChoice choice_of(const JsonField& json, files::Contents* contents) {
  TreeChoice out{json["profile"].text(), json["ordinal"].number(), tree_of(json, contents)};
  out.continued = json.has("continued") && json["continued"].flag();
  if (json.has("inner")) {
    const JsonField inner = json["inner"];
    const auto side = static_cast<files::Side>(inner["side"].number());
    out.inner = {inner["of_life"].flag(), side, inner["call"].number(), tree_of(inner, contents)};
  }
  return out;
}

bool is_legal(files::TreeWorld* world, const files::ChosenTree& tree) {
  const files::Disk& disk = world->disk();
  if (tree.alternatives.size() != world->parts()) return false;
  for (uint32_t part = 0; part < world->parts(); ++part) {
    if (!std::ranges::binary_search(world->possible(part), tree.alternatives[part])) return false;
  }
  for (const auto& [number, file] : tree.files) {
    if (!disk.open_inodes().contains(number) || (file.bad && !disk.may_be_bad(number))) return false;
    if (disk.inode(number).kind != InodeKind::kFile) continue;
    const auto* const view = world->view(number, tree.alternatives);
    if (!files::FileReader(disk, *view, world->effort()).agrees(files::answers_of(file, disk))) return false;
  }
  return true;
}

}  // namespace powercut
