// Who hears what devices hold as it is named: a recorder, whose trace says what a name means.
#ifndef POWERCUT_TRACER_RUNTIME_CONTENT_LISTENER_H_
#define POWERCUT_TRACER_RUNTIME_CONTENT_LISTENER_H_

#include <cstddef>
#include <cstdint>

extern "C" {
// `bytes` is good for ever.
typedef void powercut_content_listener(void* self, uint64_t name, const void* bytes, size_t size);
// Called whenever a content is named, for the first time or again. Null: nobody.
void powercut_hear_contents(powercut_content_listener* listener, void* self);
}

#endif  // POWERCUT_TRACER_RUNTIME_CONTENT_LISTENER_H_
