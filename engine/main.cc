// powercut-engine: the native half of powercut. Python starts it and reads its event stream
// (reports/EVENTS.md); people may run it by hand.
#include <string_view>

#include "engine/commands.h"
#include "engine/engine_main.h"

int main(int argc, char** argv) {
  // These look after processes of others, and nothing of what a command does with its own may come in between.
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "watch") return powercut::watch(argc - 2, argv + 2);
  if (command == "record-files") return powercut::record_files(argc - 2, argv + 2);
  if (command == "acknowledge-files") return powercut::acknowledge_files(argc - 2, argv + 2);
  if (command == "put-back") return powercut::put_back(argc - 2, argv + 2);
  return powercut::engine_main(argc, argv);
}
