/* Makes a program of a map: create, run, check and dump. PMDK_MAP names the map.
 *
 * Only `run` is to be recorded: `create` draws the pool's random identifier, so that runs on copies of one pool write
 * the same bytes. `check` and `dump` are what a restart after a power cut does. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "powercut/mark.h"
#include "powercut/target.h"
#include "targets/pmdk/map.h"
#include "targets/pmdk/workload.h"

enum { kClean = 0, kBroken = 1, kUsage = 2 };

static const struct pmdk_map* const map = &PMDK_MAP;

struct arguments {
  const char* command;
  const char* pool;
  const char* ops;
  uint64_t seed;
  unsigned bug;
};

static int usage(void) {
  fprintf(stderr,
          "usage: %s create POOL    make a pool with an empty map, or the map in a pool that pmempool has made\n"
          "       %s run POOL [--ops N|FILE] [--seed N] [--bug NAME]    run a workload (16 operations if not said)\n"
          "       %s check POOL     recover, verify every invariant; exit 1 with one sentence where one is broken\n"
          "       %s dump POOL      recover, print the items as key=value, by ascending key\n",
          map->name, map->name, map->name, map->name);
  fprintf(stderr, "bugs of --bug:\n");
  for (size_t i = 0; i < map->bug_count; ++i) fprintf(stderr, "  %-26s %s\n", map->bugs[i].name, map->bugs[i].summary);
  return kUsage;
}

static bool parse(int argc, char** argv, struct arguments* arguments) {
  if (argc < 3) return false;
  *arguments = (struct arguments){.command = argv[1], .pool = argv[2], .ops = "16", .seed = 1};
  for (int i = 3; i < argc; i += 2) {
    if (i + 1 == argc || strcmp(arguments->command, "run") != 0) return false;
    const char* value = argv[i + 1];
    if (strcmp(argv[i], "--ops") == 0) {
      arguments->ops = value;
    } else if (strcmp(argv[i], "--seed") == 0) {
      char* end;
      arguments->seed = strtoull(value, &end, 10);
      if (end == value || *end) return false;
    } else if (strcmp(argv[i], "--bug") == 0) {
      for (size_t bug = 0; bug < map->bug_count; ++bug)
        if (strcmp(map->bugs[bug].name, value) == 0) arguments->bug = (unsigned)bug + 1;
      if (!arguments->bug) return false;
    } else {
      return false;
    }
  }
  return true;
}

static int broken(const char* sentence) {
  fprintf(stderr, "%s: %s\n", map->name, sentence);
  return kBroken;
}

/* Opens the pool and recovers the map. Says what failed. */
static bool open_map(const struct arguments* arguments, struct pmdk_session* session) {
  *session = (struct pmdk_session){.pool = pmemobj_open(arguments->pool, map->layout)};
  if (!session->pool) {
    broken(pmemobj_errormsg());
    return false;
  }
  if (map->recover(session)) {
    session->bug = arguments->bug;  // a misuse is one of the run, never of its recovery
    return true;
  }
  broken(pmemobj_errormsg());
  pmemobj_close(session->pool);
  return false;
}

static int create(const struct arguments* arguments) {
  if (access(arguments->pool, F_OK) != 0) {
    PMEMobjpool* pool = pmemobj_create(arguments->pool, map->layout, PMEMOBJ_MIN_POOL, 0644);
    if (!pool) return broken(pmemobj_errormsg());
    pmemobj_close(pool);
  }
  struct pmdk_session session;
  if (!open_map(arguments, &session)) return kBroken;
  pmemobj_close(session.pool);
  return kClean;
}

static enum pmdk_status apply(struct pmdk_session* session, const struct op* op, uint64_t* found) {
  switch (op->kind) {
    case kInsert:
      return map->insert(session, op->key, op->value);
    case kUpdate:
      return map->update(session, op->key, op->value);
    case kErase:
      return map->erase(session, op->key);
    case kLookup:
      return map->lookup(session, op->key, found);
    case kRehash:
      return map->rehash(session);
  }
  abort();
}

static void mark_begin(const struct op* op) {
  static const enum powercut_mark_kind kKinds[] = {[kInsert] = POWERCUT_MARK_INSERT,
                                                   [kUpdate] = POWERCUT_MARK_UPDATE,
                                                   [kErase] = POWERCUT_MARK_ERASE,
                                                   [kLookup] = POWERCUT_MARK_LOOKUP,
                                                   [kRehash] = POWERCUT_MARK_MAINTAIN};
  const bool writes = op->kind == kInsert || op->kind == kUpdate;
  if (op->kind == kRehash)
    powercut_mark_begin(kKinds[op->kind], NULL, 0, "rehash", strlen("rehash"));
  else
    powercut_mark_begin(kKinds[op->kind], &op->key, sizeof(op->key), writes ? &op->value : NULL,
                        writes ? sizeof(op->value) : 0);
}

static void mark_end(const struct op* op, enum pmdk_status status, const uint64_t* found) {
  static const powercut_status kAnswers[] = {
      [kDone] = POWERCUT_OK, [kExists] = POWERCUT_EXISTS, [kAbsent] = POWERCUT_NOT_FOUND, [kFailed] = POWERCUT_FULL};
  const bool read = op->kind == kLookup && status == kDone;
  powercut_mark_end(kAnswers[status], read ? found : NULL, read ? sizeof(*found) : 0);
}

static int run(const struct arguments* arguments) {
  struct workload workload;
  if (strspn(arguments->ops, "0123456789") == strlen(arguments->ops))
    workload = workload_generate(strtoull(arguments->ops, NULL, 10), arguments->seed);
  else if (!workload_read(arguments->ops, &workload))
    return kUsage;
  struct pmdk_session session;
  if (!open_map(arguments, &session)) return kBroken;
  int exit_code = kClean;
  for (size_t i = 0; i < workload.count && exit_code == kClean; ++i) {
    const struct op* op = &workload.ops[i];
    uint64_t found = 0;
    mark_begin(op);
    const enum pmdk_status status = apply(&session, op, &found);
    mark_end(op, status, &found);
    if (status == kFailed) exit_code = broken(pmemobj_errormsg());
  }
  pmemobj_close(session.pool);
  workload_free(&workload);
  return exit_code;
}

static int check(const struct arguments* arguments) {
  struct pmdk_session session;
  if (!open_map(arguments, &session)) return kBroken;
  char reason[kReasonSize];
  const bool valid = verify_map(map, &session, reason);
  const uint64_t count = map->count(&session);
  pmemobj_close(session.pool);
  if (!valid) return broken(reason);
  printf("%" PRIu64 " items, every invariant holds\n", count);
  return kClean;
}

struct item {
  uint64_t key;
  uint64_t value;
};

struct items {
  struct item* items;
  size_t count;
  size_t room;
};

static void collect(uint64_t key, uint64_t value, void* context) {
  struct items* items = context;
  if (items->count == items->room) {
    items->room = items->room ? items->room * 2 : 64;
    struct item* grown = realloc(items->items, items->room * sizeof(*grown));
    if (!grown) {
      perror("realloc");
      exit(kUsage);
    }
    items->items = grown;
  }
  items->items[items->count++] = (struct item){key, value};
}

static int by_key(const void* left, const void* right) {
  const uint64_t a = ((const struct item*)left)->key;
  const uint64_t b = ((const struct item*)right)->key;
  return (a > b) - (a < b);
}

static int dump(const struct arguments* arguments) {
  struct pmdk_session session;
  if (!open_map(arguments, &session)) return kBroken;
  struct items items = {0};
  map->walk(&session, collect, &items);
  pmemobj_close(session.pool);
  if (items.count) qsort(items.items, items.count, sizeof(*items.items), by_key);
  for (size_t i = 0; i < items.count; ++i)
    printf("%" PRIu64 "=%" PRIu64 "\n", items.items[i].key, items.items[i].value);
  free(items.items);
  return kClean;
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    int (*main)(const struct arguments* arguments);
  } kCommands[] = {{"create", create}, {"run", run}, {"check", check}, {"dump", dump}};
  struct arguments arguments;
  if (!parse(argc, argv, &arguments)) return usage();
  for (size_t i = 0; i < sizeof(kCommands) / sizeof(*kCommands); ++i)
    if (strcmp(kCommands[i].name, arguments.command) == 0) return kCommands[i].main(&arguments);
  return usage();
}
