// Who hears what devices hold as it is named: a recorder, whose trace says what a name means. And what may be forgotten
// again, of an engine that damages contents for as long as it runs.
#ifndef POWERCUT_TRACER_RUNTIME_CONTENT_LISTENER_H_
#define POWERCUT_TRACER_RUNTIME_CONTENT_LISTENER_H_

#include <cstddef>
#include <cstdint>

extern "C" {
// `bytes` is good for ever.
typedef void powercut_content_listener(void* self, uint64_t name, const void* bytes, size_t size);
// Called whenever a content is named, for the first time or again. Null: nobody.
void powercut_hear_contents(powercut_content_listener* listener, void* self);
// What is named from here on may be forgotten: nobody keeps such a name or its bytes beyond powercut_forget_contents().
void powercut_keep_contents(void);
// Forgets all that was named since, where that is more than so many bytes.
void powercut_forget_contents(size_t more_than);
}

#endif  // POWERCUT_TRACER_RUNTIME_CONTENT_LISTENER_H_
