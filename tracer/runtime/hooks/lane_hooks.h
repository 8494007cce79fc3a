// Hooks that only the pass and the runtime know: accesses whose extent is dynamic (lanes under a mask,
// memory operations of unknown length). The runtime breaks each into plain `store` and `load` calls of the
// sink, so a listener never sees these. Each checks the windows itself, and returns the address at which the access is
// to be made (hooks.h, which is the rest of the contract).
#ifndef POWERCUT_TRACER_RUNTIME_HOOKS_LANE_HOOKS_H_
#define POWERCUT_TRACER_RUNTIME_HOOKS_LANE_HOOKS_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// A memory operation over [addr, addr + size), any size, anywhere.
void* __powercut_range_store(void* addr, uint64_t size, uint32_t flags, const void* value);
void* __powercut_range_load(const void* addr, uint64_t size);

// `mask` holds one byte for each lane, non-zero when the lane is active. Lanes are `element` bytes wide.
// Contiguous active lanes are announced as one store or load; those behind a gap continue the store.
void* __powercut_masked_store(void* addr, uint64_t element, uint32_t lanes, uint32_t flags, const void* values,
                              const uint8_t* mask);
void* __powercut_masked_load(const void* addr, uint64_t element, uint32_t lanes, const uint8_t* mask);
// Lane i at addresses[i], in lane order: a scatter writes overlapping lanes in that order. Returned is what is to be
// added to every address. Where only some of the active lanes lie in a pool that has an alias, nothing is announced and
// it is 0: the access faults and is seen then.
uint64_t __powercut_scatter(void* const* addresses, uint64_t element, uint32_t lanes, uint32_t flags,
                            const void* values, const uint8_t* mask);
uint64_t __powercut_gather(void* const* addresses, uint64_t element, uint32_t lanes, const uint8_t* mask);
// The active lanes, packed, at `addr`.
void* __powercut_compress_store(void* addr, uint64_t element, uint32_t lanes, uint32_t flags, const void* values,
                                const uint8_t* mask);
void* __powercut_expand_load(const void* addr, uint64_t element, uint32_t lanes, const uint8_t* mask);

// Names (demangled) of the functions that an instrumented module defines: powercut_externals leaves them out
// of what other modules reported, since calls between instrumented modules are checked.
void __powercut_defines(const char* const* names, uint32_t count);

#ifdef __cplusplus
}
#endif
#endif  // POWERCUT_TRACER_RUNTIME_HOOKS_LANE_HOOKS_H_
