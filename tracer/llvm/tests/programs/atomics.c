// flags: -mcx16
// cpu: cx16
// C11 atomics of every size. A locked instruction is a fence, wherever its memory lies.
#include <stdatomic.h>

#include "pool.h"

void run(char* pool) {
  _Atomic long* word = (_Atomic long*)pool;
  static _Atomic int elsewhere;

  atomic_fetch_add((_Atomic char*)(pool + 64), 1);
  atomic_fetch_sub((_Atomic short*)(pool + 66), 1);
  atomic_fetch_or((_Atomic int*)(pool + 68), 6);
  atomic_fetch_and(word, 0);
  atomic_fetch_xor_explicit(word, 3, memory_order_relaxed);
  atomic_exchange(word, 5);
  BARRIER();
  long expected = 5;
  atomic_compare_exchange_strong(word, &expected, 6);
  BARRIER();
  expected = 100;
  atomic_compare_exchange_strong(word, &expected, 7);  // fails: a fence and no store
  BARRIER();
  expected = 6;
  atomic_compare_exchange_weak_explicit(word, &expected, 8, memory_order_relaxed, memory_order_relaxed);
  BARRIER();
  atomic_store(word, 9);  // an xchg
  atomic_store_explicit(word, 10, memory_order_release);
  atomic_store_explicit(word, 11, memory_order_relaxed);
  BARRIER();
  atomic_fetch_add(&elsewhere, 1);
  BARRIER();
  __int128 wide = 0;
  __sync_val_compare_and_swap((__int128*)(pool + 128), wide, (__int128)1 << 64);
}
