// The functions that a device calls, for a program without the runtime: nothing watches, so nothing is announced.
#include "powercut/block.h"

extern "C" {
void powercut_device_flush(void) {}
void powercut_device_force(const void*) {}
}
