/* Accounts in a mapped file, with an undo log: a transfer logs both balances, validates the log, changes the balances
 * and clears the log. This source is here to build the two binaries; powercut is given the binaries alone.
 *
 *   accounts create POOL    eight accounts with 1000 each
 *   accounts run POOL       five transfers
 *   accounts check POOL     what a restart does: rolls back, then exit 1 if money came or went
 *   accounts dump POOL      rolls back, then prints the balances
 */
#include <fcntl.h>
#include <immintrin.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kAccounts = 8, kStart = 1000 };

struct pool {
  _Alignas(64) uint64_t log_valid;
  _Alignas(64) struct {
    uint64_t account;
    uint64_t balance;
  } log[2];
  _Alignas(64) struct {
    _Alignas(64) uint64_t balance; /* a line each */
  } accounts[kAccounts];
};

static void persist(void* address) {
  _mm_clflushopt(address);
  _mm_sfence();
}

static void roll_back(struct pool* pool) {
  if (!pool->log_valid) return;
  for (int i = 0; i < 2; ++i) {
    uint64_t* balance = &pool->accounts[pool->log[i].account % kAccounts].balance;
    *balance = pool->log[i].balance;
    persist(balance);
  }
  pool->log_valid = 0;
  persist(&pool->log_valid);
}

static void transfer(struct pool* pool, uint64_t from, uint64_t to, uint64_t amount) {
  const uint64_t accounts[2] = {from, to};
  for (int i = 0; i < 2; ++i) {
    pool->log[i].account = accounts[i];
    pool->log[i].balance = pool->accounts[accounts[i]].balance;
  }
  persist(&pool->log); /* both entries are in one line */
  pool->log_valid = 1;
#ifdef BUG
  _mm_clflushopt(&pool->log_valid); /* the balances may now overtake the log */
#else
  persist(&pool->log_valid);
#endif
  pool->accounts[from].balance -= amount;
  _mm_clflushopt(&pool->accounts[from].balance);
  pool->accounts[to].balance += amount;
  persist(&pool->accounts[to].balance);
  pool->log_valid = 0;
  persist(&pool->log_valid);
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s create|run|check|dump POOL\n", argv[0]);
    return 2;
  }
  const int create = strcmp(argv[1], "create") == 0;
  const int file = open(argv[2], create ? O_RDWR | O_CREAT | O_TRUNC : O_RDWR, 0644);
  if (file < 0 || (create && ftruncate(file, sizeof(struct pool)) != 0)) {
    perror(argv[2]);
    return 2;
  }
  struct pool* pool = mmap(NULL, sizeof(*pool), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (pool == MAP_FAILED) {
    perror("mmap");
    return 2;
  }
  if (create) {
    for (int i = 0; i < kAccounts; ++i) pool->accounts[i].balance = kStart;
    return 0;
  }
  roll_back(pool);
  if (strcmp(argv[1], "run") == 0) {
    for (uint64_t i = 0; i < 5; ++i) transfer(pool, i, (3 * i + 1) % kAccounts, 10 * (i + 1));
    return 0;
  }
  uint64_t sum = 0;
  for (int i = 0; i < kAccounts; ++i) {
    sum += pool->accounts[i].balance;
    if (strcmp(argv[1], "dump") == 0) printf("%d=%" PRIu64 "\n", i, pool->accounts[i].balance);
  }
  if (sum == kAccounts * kStart) return 0;
  printf("The accounts hold %" PRIu64 " in all, not %d.\n", sum, kAccounts * kStart);
  return 1;
}
