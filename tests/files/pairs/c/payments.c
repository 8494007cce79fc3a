/* A log of payments, of 64 bytes each. */
#include "common.h"

struct payment {
  uint32_t sum;
  uint32_t amount;
  char payee[56];
};

static uint32_t sum(const struct payment *p) { return sum_of(&p->amount, sizeof *p - sizeof p->sum); }

static void pay(uint32_t amount, const char *payee) {
  struct payment p = {.amount = amount};
  strncpy(p.payee, payee, sizeof p.payee - 1);
  p.sum = sum(&p);
  int fd = opened("log", O_WRONLY | O_APPEND | O_CREAT);
  put_all(fd, &p, sizeof p);
  fdatasync(fd);
  close(fd);
  acknowledge(payee);
}

/* Prints the payments, and returns the size of what is usable. */
static off_t payments(int fd, FILE *to) {
  struct payment p;
  off_t size = 0;
  for (; read(fd, &p, sizeof p) == sizeof p; size += sizeof p) {
    if (mended() && sum(&p) != p.sum) break;
    if (to) fprintf(to, "%u to %.56s\n", p.amount, p.payee);
  }
  return size;
}

int main(int words, char **word) {
  const char *verb = enter(words, word);
  if (is(verb, "setup")) pay(10, "Ada");
  if (is(verb, "run")) {
    pay(20, "Grace");
    pay(30, "Barbara");
  }
  if (is(verb, "dump")) payments(opened("log", O_RDONLY), stdout);
  if (is(verb, "check")) {
    int fd = opened("log", O_RDWR);
    need(ftruncate(fd, payments(fd, NULL)) == 0 && fsync(fd) == 0, "log: cannot drop the torn end");
  }
}
