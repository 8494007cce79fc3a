// `powercut-engine edit`: a trace as another program would have left it.
#include "base/event_stream.h"
#include "checker/edit/trace_editor.h"
#include "engine/commands.h"

namespace powercut {
namespace {

struct EditOptions {
  std::string trace, edits, out;
};

void add_options(CommandLine& command, EditOptions& options) {
  command.add_option("--trace", options.trace, "Trace to edit")->required();
  command.add_option("--edits", options.edits, "The changes (checker/EDITS.md)")->required();
  command.add_option("--out", options.out, "Trace to write")->required();
}

int edit(const EditOptions& options, EventStream& events) {
  const Result<TraceEdits> edits = read_edits(options.edits);
  if (!edits) return events.error(edits.error());
  events.hello("edit");
  const Result<EditedTrace> edited = edit_trace(options.trace, *edits, options.out);
  if (!edited) return events.error(edited.error());
  events.emit({{"event", "edited"},
               {"trace", options.out},
               {"events", edited->events},
               {"dropped", edited->dropped},
               {"inserted", edited->inserted},
               {"moved", edited->moved}});
  return events.end(kExitOk);
}

}  // namespace

void add_edit_command(CommandLine& app, int& exit_code) {
  add_command<EditOptions>(app, exit_code, "edit",
                           "Write a trace with flushes, fences and stores dropped, added or moved", add_options, edit);
}

}  // namespace powercut
