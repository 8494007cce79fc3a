#include "replayer/media/files/effect.h"

#include <absl/strings/escaping.h>

#include <map>

namespace powercut::files {
namespace {

template <typename Value>
Value word_of(const JsonField& json, const char* name, const std::map<std::string, Value>& words, Value otherwise) {
  if (!json.has(name)) return otherwise;
  const auto found = words.find(json[name].text());
  if (found == words.end()) throw json[name].wrong("a word of calls.py");
  return found->second;
}

uint64_t number_of(const JsonField& json, const char* name) { return json.has(name) ? json[name].number() : 0; }
std::string text_of(const JsonField& json, const char* name) { return json.has(name) ? json[name].text() : ""; }

}  // namespace

Effect effect_of(const JsonField& json) {
  using enum EffectKind;
  static const std::map<std::string, EffectKind> kinds = {
      {"inode", kInode},   {"entry", kEntry},        {"create", kCreate},    {"link", kLink},
      {"unlink", kUnlink}, {"rename", kRename},      {"write", kWrite},      {"size", kSize},
      {"sync", kSync},     {"allocate", kAllocate},  {"sync-all", kSyncAll}, {"attributes", kAttributes},
      {"begin", kBegin},   {"end", EffectKind::kEnd}};
  static const std::map<std::string, InodeKind> inode_kinds = {
      {"file", InodeKind::kFile}, {"folder", InodeKind::kFolder}, {"link", InodeKind::kLink}};
  static const std::map<std::string, Through> ways = {
      {"none", Through::kNone}, {"data", Through::kData}, {"all", Through::kAll}};
  static const std::map<std::string, SyncKind> syncs = {{"file", SyncKind::kFile},
                                                        {"data", SyncKind::kData},
                                                        {"range", SyncKind::kRange},
                                                        {"started", SyncKind::kStarted}};
  static const std::map<std::string, Allocation> modes = {{"extend", Allocation::kExtend},
                                                          {"keep", Allocation::kKeep},
                                                          {"punch", Allocation::kPunch},
                                                          {"zero", Allocation::kZero},
                                                          {"zero-keep", Allocation::kZeroKeep}};
  Effect out;
  if (!kinds.contains(json["op"].text())) throw json["op"].wrong("a call of calls.py");
  out.kind = kinds.at(json["op"].text());
  out.inode = number_of(json, "inode");
  out.folder = number_of(json, "folder");
  out.name = text_of(json, "name");
  out.to_folder = number_of(json, "to_folder");
  out.to_name = text_of(json, "to_name");
  out.exchange = json.has("exchange") && json["exchange"].flag();
  out.inode_kind = word_of(json, "kind", inode_kinds, InodeKind::kFile);
  out.target = text_of(json, "target");
  out.offset = number_of(json, "offset");
  out.size = out.kind == kSize ? number_of(json, "size") : number_of(json, "length");
  out.data = absl::HexStringToBytes(text_of(json, "data"));
  out.through = word_of(json, "through", ways, Through::kNone);
  out.sync = word_of(json, "what", syncs, SyncKind::kFile);
  out.allocation = word_of(json, "mode", modes, Allocation::kExtend);
  return out;
}

}  // namespace powercut::files
