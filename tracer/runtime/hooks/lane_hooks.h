// Hooks that only the pass and the runtime know: accesses whose extent is dynamic (lanes under a mask, memory
// operations of unknown length). The runtime breaks each access into plain `store` and `load` calls of the sink, so a
// listener never sees these hooks. Each hook checks the windows itself, and returns the address at which the access is
// to be made (hooks.h has the rest of the contract).
#ifndef POWERCUT_TRACER_RUNTIME_HOOKS_LANE_HOOKS_H_
#define POWERCUT_TRACER_RUNTIME_HOOKS_LANE_HOOKS_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Both hooks announce a memory operation over [addr, addr + size), of any size, anywhere.
void* __powercut_range_store(void* addr, uint64_t size, uint32_t flags, const void* value);
void* __powercut_range_load(const void* addr, uint64_t size);

// `mask` holds one byte for each lane, non-zero when the lane is active. Lanes are `element` bytes wide. Contiguous
// active lanes are announced as one store or load; lanes behind a gap continue the store.
void* __powercut_masked_store(void* addr, uint64_t element, uint32_t lanes, uint32_t flags, const void* values,
                              const uint8_t* mask);
void* __powercut_masked_load(const void* addr, uint64_t element, uint32_t lanes, const uint8_t* mask);
// Lane i lies at addresses[i]. Lanes are announced in their order: a scatter writes overlapping lanes in that order.
// Returns the number to add to every address. If only some of the active lanes lie in a pool that has an alias, nothing
// is announced and 0 is returned: the access faults and is seen then.
uint64_t __powercut_scatter(void* const* addresses, uint64_t element, uint32_t lanes, uint32_t flags,
                            const void* values, const uint8_t* mask);
uint64_t __powercut_gather(void* const* addresses, uint64_t element, uint32_t lanes, const uint8_t* mask);
// Both hooks announce the active lanes, packed, from `addr` on.
void* __powercut_compress_store(void* addr, uint64_t element, uint32_t lanes, uint32_t flags, const void* values,
                                const uint8_t* mask);
void* __powercut_expand_load(const void* addr, uint64_t element, uint32_t lanes, const uint8_t* mask);

// Tells the names (demangled) of the functions that an instrumented module defines. Calls between instrumented modules
// are checked, so powercut_externals() leaves these names out of the functions that other modules reported.
void __powercut_defines(const char* const* names, uint32_t count);

#ifdef __cplusplus
}
#endif
#endif  // POWERCUT_TRACER_RUNTIME_HOOKS_LANE_HOOKS_H_
