/* A hash map without transactions: chains are atomic lists of libpmemobj, and one 8-byte store updates a value. The
 * allocator publishes a larger table, and one 8-byte store then makes the larger table current.
 *
 * The number of items cannot change together with a list. It is therefore marked as uncertain while a list changes, and
 * counted again when the program finds that mark. There are two tables at most: the current one and, while the map
 * grows, a larger one. Each seeded misuse breaks one of these steps. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "targets/pmdk/map.h"
#include "targets/pmdk/objects.h"

enum bug {
  kPersistDropped = 1,
  kDrainDropped,
  kConstructorNotPersisted,
  kRemovedThenFreed,
  kMarkNotPersisted,
  kTableSwappedByHand,
  kCurrentBeforeMoved,
};

static const struct pmdk_bug kBugs[] = {
    {"persist-dropped", "update stores the value without pmemobj_persist"},
    {"drain-dropped", "update flushes the value without pmemobj_drain"},
    {"constructor-not-persisted", "the constructor of an entry does not persist what it has written"},
    {"removed-then-freed", "erase takes the entry out of its list and frees it in a second step"},
    {"mark-not-persisted", "the mark that the number of items is uncertain is not persisted"},
    {"table-swapped-by-hand", "rehash swaps the two tables with several stores instead of one"},
    {"current-before-moved", "rehash makes the larger table current before the entries are in it"},
};

struct root;
struct table;
struct entry;
TOID_DECLARE_ROOT(struct root);
TOID_DECLARE(struct table, 1);
TOID_DECLARE(struct entry, 2);

struct root {
  uint64_t current; /* which of the two tables */
  TOID(struct table) tables[2];
  uint64_t count;
  uint64_t count_uncertain;
};

POBJ_LIST_HEAD(bucket, struct entry);

struct table {
  uint64_t bucket_count; /* a power of two */
  struct bucket buckets[];
};

enum { kLabelSize = 24 };

struct entry {
  uint64_t key;
  uint64_t value;
  POBJ_LIST_ENTRY(struct entry) link;
  char label[kLabelSize]; /* "key 1f". In a line of its own, which nothing but the constructor flushes */
};

static struct root* root_of(struct pmdk_session* session) {
  return pmemobj_direct(pmemobj_root(session->pool, sizeof(struct root)));
}

static struct table* table_of(struct pmdk_session* session) {
  struct root* root = root_of(session);
  return D_RW(root->tables[root->current]);
}

static size_t table_size(uint64_t bucket_count) { return sizeof(struct table) + bucket_count * sizeof(struct bucket); }

static struct bucket* bucket_of(struct table* table, uint64_t key) {
  return &table->buckets[bucket_index(key, table->bucket_count)];
}

static void set(struct pmdk_session* session, uint64_t* field, uint64_t value) {
  *field = value;
  pmemobj_persist(session->pool, field, sizeof(*field));
}

static TOID(struct entry) find(struct pmdk_session* session, uint64_t key) {
  struct bucket* bucket = bucket_of(table_of(session), key);
  TOID(struct entry) entry;
  POBJ_LIST_FOREACH(entry, bucket, link) {
    if (D_RO(entry)->key == key) break;
  }
  return entry;
}

static int construct_table(PMEMobjpool* pool, void* memory, void* argument) {
  struct table* table = memory;
  const uint64_t bucket_count = *(const uint64_t*)argument;
  pmemobj_memset_persist(pool, table, 0, table_size(bucket_count));
  table->bucket_count = bucket_count;
  pmemobj_persist(pool, &table->bucket_count, sizeof(table->bucket_count));
  return 0;
}

/* The allocator writes the pointer together with its own log, after the constructor has returned. */
static bool allocate_table(struct pmdk_session* session, TOID(struct table) * destination, uint64_t bucket_count) {
  return POBJ_ALLOC(session->pool, destination, struct table, table_size(bucket_count), construct_table,
                    &bucket_count) == 0;
}

/* Moves every entry that is still in the smaller table and gives that table back. Runs from any point at which a power
 * cut may have stopped it. */
static bool finish_rehash(struct pmdk_session* session) {
  struct root* root = root_of(session);
  const uint64_t current = root->current;
  struct table* old = D_RW(root->tables[current]);
  struct table* grown = D_RW(root->tables[1 - current]);
  if (session->bug == kCurrentBeforeMoved) set(session, &root->current, 1 - current);
  for (uint64_t i = 0; i < old->bucket_count; ++i) {
    struct bucket* bucket = &old->buckets[i];
    while (!POBJ_LIST_EMPTY(bucket)) {
      TOID(struct entry) entry = POBJ_LIST_FIRST(bucket);
      struct bucket* target = bucket_of(grown, D_RO(entry)->key);
      if (POBJ_LIST_MOVE_ELEMENT_HEAD(session->pool, bucket, target, entry, link, link)) return false;
    }
  }
  if (session->bug == kTableSwappedByHand) {
    TOID(struct table) unused = root->tables[current];
    root->tables[current] = root->tables[1 - current];
    root->tables[1 - current] = TOID_NULL(struct table);
    pmemobj_persist(session->pool, root->tables, sizeof(root->tables));
    POBJ_FREE(&unused);
    return true;
  }
  set(session, &root->current, 1 - current);
  POBJ_FREE(&root->tables[current]);
  return true;
}

static bool recover(struct pmdk_session* session) {
  struct root* root = root_of(session);
  if (!root) return false;
  TOID(struct table)* spare = &root->tables[1 - root->current];
  if (TOID_IS_NULL(root->tables[root->current])) return allocate_table(session, &root->tables[0], kFirstBuckets);
  if (!TOID_IS_NULL(*spare)) {
    // The map only grows: a spare table that is not larger is the one that was left, and it is empty.
    if (D_RO(*spare)->bucket_count <= table_of(session)->bucket_count)
      POBJ_FREE(spare);
    else if (!finish_rehash(session))
      return false;
  }
  if (root->count_uncertain) {
    uint64_t count = 0;
    struct table* table = table_of(session);
    for (uint64_t i = 0; i < table->bucket_count; ++i) {
      TOID(struct entry) entry;
      POBJ_LIST_FOREACH(entry, &table->buckets[i], link)++ count;
    }
    set(session, &root->count, count);
    set(session, &root->count_uncertain, 0);
  }
  return true;
}

static enum pmdk_status rehash(struct pmdk_session* session) {
  struct root* root = root_of(session);
  const uint64_t bucket_count = table_of(session)->bucket_count * 2;
  if (!allocate_table(session, &root->tables[1 - root->current], bucket_count)) return kFailed;
  return finish_rehash(session) ? kDone : kFailed;
}

/* To be called before and after a list changes. */
static void begin_count(struct pmdk_session* session) {
  struct root* root = root_of(session);
  root->count_uncertain = 1;
  if (session->bug != kMarkNotPersisted) pmemobj_persist(session->pool, &root->count_uncertain, sizeof(uint64_t));
}

static void end_count(struct pmdk_session* session, uint64_t count) {
  struct root* root = root_of(session);
  set(session, &root->count, count);
  set(session, &root->count_uncertain, 0);
}

static void label_of(uint64_t key, char label[kLabelSize]) {
  memset(label, 0, kLabelSize);
  snprintf(label, kLabelSize, "key %" PRIx64, key);
}

struct new_entry {
  struct pmdk_session* session;
  uint64_t key;
  uint64_t value;
};

static int construct_entry(PMEMobjpool* pool, void* memory, void* argument) {
  struct entry* entry = memory;
  const struct new_entry* given = argument;
  entry->key = given->key;
  entry->value = given->value;
  char label[kLabelSize];
  label_of(given->key, label);
  memcpy(entry->label, label, sizeof(label));
  if (given->session->bug != kConstructorNotPersisted) pmemobj_persist(pool, entry, sizeof(*entry));
  return 0;
}

static enum pmdk_status insert(struct pmdk_session* session, uint64_t key, uint64_t value) {
  if (!TOID_IS_NULL(find(session, key))) return kExists;
  const uint64_t count = root_of(session)->count;
  struct new_entry given = {session, key, value};
  begin_count(session);
  const PMEMoid made = POBJ_LIST_INSERT_NEW_HEAD(session->pool, bucket_of(table_of(session), key), link,
                                                 sizeof(struct entry), construct_entry, &given);
  end_count(session, OID_IS_NULL(made) ? count : count + 1);
  if (OID_IS_NULL(made)) return kFailed;
  // A map that could not grow is still a map.
  if (count + 1 > table_of(session)->bucket_count) rehash(session);
  return kDone;
}

static enum pmdk_status update(struct pmdk_session* session, uint64_t key, uint64_t value) {
  TOID(struct entry) entry = find(session, key);
  if (TOID_IS_NULL(entry)) return kAbsent;
  uint64_t* field = &D_RW(entry)->value;
  *field = value;
  if (session->bug == kDrainDropped)
    pmemobj_flush(session->pool, field, sizeof(*field));
  else if (session->bug != kPersistDropped)
    pmemobj_persist(session->pool, field, sizeof(*field));
  return kDone;
}

static enum pmdk_status erase(struct pmdk_session* session, uint64_t key) {
  TOID(struct entry) entry = find(session, key);
  if (TOID_IS_NULL(entry)) return kAbsent;
  const uint64_t count = root_of(session)->count;
  struct bucket* bucket = bucket_of(table_of(session), key);
  begin_count(session);
  int failed;
  if (session->bug == kRemovedThenFreed) {
    failed = POBJ_LIST_REMOVE(session->pool, bucket, entry, link);
    if (!failed) POBJ_FREE(&entry);
  } else {
    failed = POBJ_LIST_REMOVE_FREE(session->pool, bucket, entry, link);
  }
  end_count(session, failed ? count : count - 1);
  return failed ? kFailed : kDone;
}

static enum pmdk_status lookup(struct pmdk_session* session, uint64_t key, uint64_t* value) {
  TOID(struct entry) entry = find(session, key);
  if (TOID_IS_NULL(entry)) return kAbsent;
  *value = D_RO(entry)->value;
  return kDone;
}

static uint64_t count(struct pmdk_session* session) { return root_of(session)->count; }

static void walk(struct pmdk_session* session, void (*visit)(uint64_t key, uint64_t value, void* context),
                 void* context) {
  struct table* table = table_of(session);
  for (uint64_t i = 0; i < table->bucket_count; ++i) {
    TOID(struct entry) entry;
    POBJ_LIST_FOREACH(entry, &table->buckets[i], link) visit(D_RO(entry)->key, D_RO(entry)->value, context);
  }
}

static bool key_is_twice(const struct table* table, uint64_t index, TOID(struct entry) last) {
  for (TOID(struct entry) before = table->buckets[index].pe_first; !TOID_EQUALS(before, last);
       before = D_RO(before)->link.pe_next)
    if (D_RO(before)->key == D_RO(last)->key) return true;
  return false;
}

/* Follows one list, which is circular; adds its length to `items`. */
static bool verify_list(const struct table* table, uint64_t index, struct objects* objects, uint64_t* items,
                        char reason[kReasonSize]) {
  TOID(struct entry) first = table->buckets[index].pe_first;
  if (TOID_IS_NULL(first)) return true;
  TOID(struct entry) oid = first;
  for (TOID(struct entry) before = TOID_NULL(struct entry);; before = oid, oid = D_RO(oid)->link.pe_next) {
    if (!TOID_IS_NULL(before)) {
      if (TOID_EQUALS(oid, first)) {
        if (TOID_EQUALS(D_RO(first)->link.pe_prev, before)) return true;
        snprintf(reason, kReasonSize, "The first entry of bucket %" PRIu64 " does not lead back to the last.", index);
        return false;
      }
    }
    if (!objects_reach(objects, oid.oid, TOID_TYPE_NUM(struct entry), sizeof(struct entry), "entry", reason))
      return false;
    const struct entry* entry = D_RO(oid);
    if (entry->key == 0 || entry->value == 0 || bucket_index(entry->key, table->bucket_count) != index) {
      snprintf(reason, kReasonSize, "Bucket %" PRIu64 " of %" PRIu64 " holds key %" PRIu64 " with value %" PRIu64 ".",
               index, table->bucket_count, entry->key, entry->value);
      return false;
    }
    char label[kLabelSize];
    label_of(entry->key, label);
    if (memcmp(label, entry->label, kLabelSize) != 0) {
      snprintf(reason, kReasonSize, "The entry of key %" PRIu64 " has the label '%.*s'.", entry->key, kLabelSize,
               entry->label);
      return false;
    }
    if (!TOID_IS_NULL(before) && !TOID_EQUALS(entry->link.pe_prev, before)) {
      snprintf(reason, kReasonSize, "The entry of key %" PRIu64 " does not lead back to the one before.", entry->key);
      return false;
    }
    if (key_is_twice(table, index, oid)) {
      snprintf(reason, kReasonSize, "Key %" PRIu64 " is there twice.", entry->key);
      return false;
    }
    *items += 1;
  }
}

static bool verify(struct pmdk_session* session, struct objects* objects, char reason[kReasonSize]) {
  const struct root* root = root_of(session);
  if (root->current > 1 || root->count_uncertain || !TOID_IS_NULL(root->tables[1 - root->current])) {
    snprintf(reason, kReasonSize, "The root says that a change is under way after recovery has finished.");
    return false;
  }
  const struct object* object = objects_reach(objects, root->tables[root->current].oid, TOID_TYPE_NUM(struct table),
                                              table_size(kFirstBuckets), "table", reason);
  if (!object) return false;
  const struct table* table = table_of(session);
  const uint64_t bucket_count = table->bucket_count;
  if (bucket_count < kFirstBuckets || (bucket_count & (bucket_count - 1)) ||
      bucket_count > object->size / sizeof(struct bucket) || table_size(bucket_count) > object->size) {
    snprintf(reason, kReasonSize, "The table of %zu bytes counts %" PRIu64 " buckets.", object->size, bucket_count);
    return false;
  }
  uint64_t items = 0;
  for (uint64_t i = 0; i < bucket_count; ++i)
    if (!verify_list(table, i, objects, &items, reason)) return false;
  if (items != root->count) {
    snprintf(reason, kReasonSize, "The map counts %" PRIu64 " items and holds %" PRIu64 ".", root->count, items);
    return false;
  }
  return objects_all_reached(objects, reason);
}

const struct pmdk_map atomic_map = PMDK_DESCRIBE_MAP("pmdk-atomic-map", "powercut-atomic-map");
