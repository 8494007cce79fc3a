// The listener of contents that get named (powercut/contents.h), and the forgetting of such names.
//
// A recorder listens, because its trace says which bytes a name means. An engine forgets, because it damages contents
// for as long as it runs.
#ifndef POWERCUT_TRACER_RUNTIME_CONTENT_LISTENER_H_
#define POWERCUT_TRACER_RUNTIME_CONTENT_LISTENER_H_

#include <cstddef>
#include <cstdint>

extern "C" {
// `bytes` stay valid until powercut_forget_contents() forgets the name; for ever if the name is kept.
typedef void powercut_content_listener(void* self, uint64_t name, const void* bytes, size_t size);
// Installs the listener, which is called whenever a content is named, for the first time or again. Null: nobody
// listens.
void powercut_hear_contents(powercut_content_listener* listener, void* self);
// Contents that are first named after this call may be forgotten: nobody uses their names or bytes beyond the next
// powercut_forget_contents().
void powercut_keep_contents(void);
// Forgets all contents first named since powercut_keep_contents(), if they hold more than `more_than` bytes.
void powercut_forget_contents(size_t more_than);
}

#endif  // POWERCUT_TRACER_RUNTIME_CONTENT_LISTENER_H_
