// C++: constructors in the pool, stores around and inside exceptions, calls that can throw.
#include <cstring>
#include <new>
#include <stdexcept>

#include "pool.h"

namespace {

struct Node {
  explicit Node(long key) : key(key), next(nullptr) {}
  volatile long key;
  Node* next;
};

[[gnu::noinline]] void store_and_throw(char* pool, int value) {
  *AT(int, 64) = value;
  if (value > 0) throw std::runtime_error("expected");
}

struct Guard {
  char* pool;
  ~Guard() { *AT(int, 72) = 9; }
};

}  // namespace

void run(char* pool) {
  Node* node = new (pool) Node(5);
  BARRIER();
  node->key = 6;
  try {
    Guard guard{pool};
    store_and_throw(pool, 0);
    store_and_throw(pool, 1);
    *AT(int, 80) = 1;  // never
  } catch (const std::runtime_error& error) {
    std::strcpy(pool + 128, error.what());
  }
}
