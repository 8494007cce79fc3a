// powercut-engine: the native half of powercut. Python starts it and reads its event stream
// (reports/EVENTS.md); people may run it by hand.
#include "engine/engine_main.h"

int main(int argc, char** argv) { return powercut::engine_main(argc, argv); }
