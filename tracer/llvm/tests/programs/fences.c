// Fences, as intrinsics and as C11's. Only a sequentially consistent one is an instruction on x86.
#include <emmintrin.h>
#include <stdatomic.h>

#include "pool.h"

void run(char* pool) {
  (void)pool;
  _mm_sfence();
  _mm_mfence();
  _mm_lfence();
  atomic_thread_fence(memory_order_seq_cst);
  atomic_thread_fence(memory_order_release);
  atomic_thread_fence(memory_order_acq_rel);
  atomic_signal_fence(memory_order_seq_cst);
  __sync_synchronize();
}
