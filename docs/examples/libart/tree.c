/* Keys in the adaptive radix tree of PMDK's examples (libart), which is built as it is.
 *
 *   tree put FILE KEY...      puts each key, with itself as the value; makes FILE if there is none
 *   tree check FILE KEY...    opens FILE as a restart does, goes on with three new keys, and looks for the KEYs */
#include <libpmemobj.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "art.h"

static PMEMobjpool* pool;

static void put(const char* key) {
  const int size = (int)strlen(key) + 1;
  art_insert(pool, (const unsigned char*)key, size, (void*)key, size);
}

static int has(const char* key) {
  const TOID(var_string) value = art_search(pool, (const unsigned char*)key, (int)strlen(key) + 1);
  return !TOID_IS_NULL(value) && strcmp((const char*)D_RO(value)->s, key) == 0;
}

int main(int argc, char** argv) {
  const char* verb = argc > 2 ? argv[1] : "";
  const int puts = strcmp(verb, "put") == 0;
  if (!puts && strcmp(verb, "check") != 0) {
    fprintf(stderr, "usage: tree put FILE KEY... | check FILE KEY...\n");
    return 2;
  }
  int fresh = access(argv[2], F_OK) != 0;
  pool = fresh ? pmemobj_create(argv[2], POBJ_LAYOUT_NAME(arttree_tx), PMEMOBJ_MIN_POOL, 0644)
               : pmemobj_open(argv[2], POBJ_LAYOUT_NAME(arttree_tx));
  if (pool == NULL || art_tree_init(pool, &fresh) != 0) {
    printf("%s\n", pmemobj_errormsg());
    return 1;
  }
  static const char* const kNew[] = {"x1", "x2", "x3"};
  for (int i = 0; !puts && i < 3; ++i) put(kNew[i]);
  for (int i = 3; i < argc; ++i) {
    if (puts) put(argv[i]);
    if (has(argv[i])) continue;
    printf("%s is lost.\n", argv[i]);
    return 1;
  }
  pmemobj_close(pool);
  return 0;
}
