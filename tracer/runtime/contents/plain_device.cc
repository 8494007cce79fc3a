// What a device asks of the runtime, where there is none: nothing watches, so nothing is to be told.
#include "powercut/block.h"

extern "C" {
void powercut_device_flush(void) {}
void powercut_device_force(const void*) {}
}
