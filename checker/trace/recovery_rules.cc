#include "checker/trace/recovery_rules.h"

#include <algorithm>
#include <limits>

namespace powercut {

RecoveryRule recovery_rule_of(const JsonField& rule) {
  RecoveryRule out;
  for (const JsonField& frame : rule["frames"].items()) {
    const std::vector<JsonField> parts = frame.items();
    if (parts.size() != 2 || parts[0].number() > std::numeric_limits<uint32_t>::max()) {
      throw frame.wrong("[module, offset]");
    }
    out.frames.push_back({static_cast<uint32_t>(parts[0].number()), parts[1].number()});
  }
  if (out.frames.empty()) throw rule["frames"].wrong("at least one frame");
  const std::string what = rule["do"].text();
  if (what == "drop") {
    rule.only({"frames", "do"});
    out.drop = true;
  } else if (what == "insert-after") {
    rule.only({"frames", "do", "flush", "fence"});
    out.flush = rule.has("flush") && rule["flush"].flag();
    out.fence = rule.has("fence") && rule["fence"].flag();
    if (!out.flush && !out.fence) throw rule["do"].wrong("with 'flush' or 'fence', or both: it changes nothing");
  } else {
    throw rule["do"].wrong("\"drop\" or \"insert-after\"");
  }
  return out;
}

Json json_of(const RecoveryRule& rule) {
  Json frames = Json::array();
  for (const Frame& frame : rule.frames) frames.push_back(Json::array({frame.module, frame.offset}));
  if (rule.drop) return {{"frames", frames}, {"do", "drop"}};
  return {{"frames", frames}, {"do", "insert-after"}, {"flush", rule.flush}, {"fence", rule.fence}};
}

Result<std::vector<RecoveryRule>> recovery_rules(const Json& metadata, const std::string& trace) {
  std::vector<RecoveryRule> out;
  if (!metadata.is_object() || !metadata.contains("edits")) return out;
  try {
    for (const JsonField& rule : JsonField(metadata, "")["edits"].items_of("recovery")) {
      out.push_back(recovery_rule_of(rule));
    }
  } catch (const Malformed& malformed) {
    return usage_error("the trace's metadata is no edit of this version: " + malformed.at + ": " + malformed.what,
                       trace, "Record the trace again, and repeat what has edited it.");
  }
  return out;
}

Result<std::vector<CodeEdit>> code_edits(const std::vector<RecoveryRule>& rules,
                                         const std::vector<TraceModule>& modules,
                                         const std::vector<ProcessModule>& loaded, const std::string& trace) {
  std::vector<CodeEdit> out;
  for (const RecoveryRule& rule : rules) {
    CodeEdit& edit = out.emplace_back(CodeEdit{{}, rule.drop, rule.flush, rule.fence});
    for (const Frame& frame : rule.frames) {
      const auto here = std::find_if(loaded.begin(), loaded.end(), [&](const ProcessModule& module) {
        return frame.module < modules.size() && module.module.path == modules[frame.module].path &&
               module.module.build_id == modules[frame.module].build_id;
      });
      // Who calls recovery differs from command to command, and says nothing about the program.
      if (here == loaded.begin()) break;
      if (here == loaded.end()) {
        return usage_error("an edit of recovery names module " + std::to_string(frame.module) +
                               " of the trace, which is not loaded here",
                           trace, "Edit the trace again, with call stacks of this build of the target.");
      }
      // A frame is the call; the hooks have the address that it returns to (FrameResolver).
      edit.stack.push_back(frame.offset + here->bias + 1);
    }
    if (edit.stack.empty() || edit.stack.size() > CodeEdit::kMostFrames) {
      return usage_error("an edit of recovery names no code of the target", trace,
                         "Edit the trace again, with call stacks of recovery.");
    }
  }
  return out;
}

}  // namespace powercut
