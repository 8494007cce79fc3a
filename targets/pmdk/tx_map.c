/* A hash map with chains, every change of which is one transaction of libpmemobj.
 *
 * The library's undo log makes a transaction atomic for whatever was added to it before it was modified; an object that
 * the transaction itself allocates needs no TX_ADD, the commit flushes it as a whole. Each seeded misuse breaks one of
 * these rules in one place. */

#include <inttypes.h>
#include <stdio.h>

#include "targets/pmdk/map.h"
#include "targets/pmdk/objects.h"

enum bug {
  kCountNotAdded = 1,
  kHeadAddedLate,
  kNextNotAdded,
  kValueNotFlushed,
  kFreeAtOnce,
  kRehashNextNotAdded,
  kPersistDropped,
};

static const struct pmdk_bug kBugs[] = {
    {"count-not-added", "insert changes the number of items without TX_ADD"},
    {"head-added-late", "insert adds the head of the chain after it has changed it"},
    {"next-not-added", "erase unlinks an entry from its predecessor without TX_ADD"},
    {"value-not-flushed", "update adds the value with POBJ_XADD_NO_FLUSH and never flushes it"},
    {"free-at-once", "erase frees the entry with POBJ_FREE, which no abort takes back"},
    {"rehash-next-not-added", "rehash relinks the entries without TX_ADD"},
    {"persist-dropped", "update stores the value outside a transaction, without pmemobj_persist"},
};

struct root;
struct table;
struct entry;
TOID_DECLARE_ROOT(struct root);
TOID_DECLARE(struct table, 1);
TOID_DECLARE(struct entry, 2);

struct root {
  TOID(struct table) table;
  uint64_t count;
};

struct table {
  uint64_t bucket_count;        /* a power of two */
  TOID(struct entry) buckets[]; /* the first entry of each chain */
};

struct entry {
  uint64_t key;
  uint64_t value;
  TOID(struct entry) next;
};

static struct root* root_of(struct pmdk_session* session) {
  return pmemobj_direct(pmemobj_root(session->pool, sizeof(struct root)));
}

static struct table* table_of(struct pmdk_session* session) { return D_RW(root_of(session)->table); }

static size_t table_size(uint64_t bucket_count) {
  return sizeof(struct table) + bucket_count * sizeof(TOID(struct entry));
}

static TOID(struct entry) * bucket_of(struct table* table, uint64_t key) {
  return &table->buckets[bucket_index(key, table->bucket_count)];
}

/* The pointer that leads to the entry of `key`, or the null pointer at the end of its chain. */
static TOID(struct entry) * find(struct pmdk_session* session, uint64_t key) {
  TOID(struct entry)* link = bucket_of(table_of(session), key);
  while (!TOID_IS_NULL(*link) && D_RO(*link)->key != key) link = &D_RW(*link)->next;
  return link;
}

static bool recover(struct pmdk_session* session) {
  struct root* root = root_of(session);
  if (!root) return false;
  if (!TOID_IS_NULL(root->table)) return true;  // pmemobj_open has already rolled back what was not committed
  volatile bool done = false;                   // volatile: an abort comes back through longjmp
  TX_BEGIN(session->pool) {
    TX_ADD_DIRECT(root);
    root->table = TX_ZALLOC(struct table, table_size(kFirstBuckets));
    D_RW(root->table)->bucket_count = kFirstBuckets;
    root->count = 0;
  }
  TX_ONCOMMIT { done = true; }
  TX_END
  return done;
}

/* Moves every entry to a table of twice the size; all of it in one transaction. */
static enum pmdk_status rehash(struct pmdk_session* session) {
  struct root* root = root_of(session);
  volatile enum pmdk_status status = kFailed;
  TX_BEGIN(session->pool) {
    const struct table* old = D_RO(root->table);
    TOID(struct table) grown = TX_ZALLOC(struct table, table_size(old->bucket_count * 2));
    struct table* table = D_RW(grown);
    table->bucket_count = old->bucket_count * 2;
    for (uint64_t i = 0; i < old->bucket_count; ++i) {
      for (TOID(struct entry) entry = old->buckets[i]; !TOID_IS_NULL(entry);) {
        TOID(struct entry) next = D_RO(entry)->next;
        TOID(struct entry)* head = bucket_of(table, D_RO(entry)->key);
        if (session->bug != kRehashNextNotAdded) TX_ADD_FIELD(entry, next);
        D_RW(entry)->next = *head;
        *head = entry;
        entry = next;
      }
    }
    TX_FREE(root->table);
    TX_ADD_FIELD_DIRECT(root, table);
    root->table = grown;
  }
  TX_ONCOMMIT { status = kDone; }
  TX_END
  return status;
}

static enum pmdk_status insert(struct pmdk_session* session, uint64_t key, uint64_t value) {
  if (!TOID_IS_NULL(*find(session, key))) return kExists;
  struct root* root = root_of(session);
  struct table* table = table_of(session);
  TOID(struct entry)* head = bucket_of(table, key);
  volatile enum pmdk_status status = kFailed;
  TX_BEGIN(session->pool) {
    if (session->bug != kHeadAddedLate) TX_ADD_DIRECT(head);
    TOID(struct entry) entry = TX_NEW(struct entry);
    D_RW(entry)->key = key;
    D_RW(entry)->value = value;
    D_RW(entry)->next = *head;
    *head = entry;
    if (session->bug == kHeadAddedLate) TX_ADD_DIRECT(head);
    if (session->bug != kCountNotAdded) TX_ADD_FIELD_DIRECT(root, count);
    root->count += 1;
  }
  TX_ONCOMMIT { status = kDone; }
  TX_END
  // A map that could not grow is still a map.
  if (status == kDone && root->count > table->bucket_count) rehash(session);
  return status;
}

static enum pmdk_status update(struct pmdk_session* session, uint64_t key, uint64_t value) {
  TOID(struct entry) entry = *find(session, key);
  if (TOID_IS_NULL(entry)) return kAbsent;
  if (session->bug == kPersistDropped) {
    D_RW(entry)->value = value;
    return kDone;
  }
  volatile enum pmdk_status status = kFailed;
  TX_BEGIN(session->pool) {
    TX_XADD_FIELD(entry, value, session->bug == kValueNotFlushed ? POBJ_XADD_NO_FLUSH : 0);
    D_RW(entry)->value = value;
  }
  TX_ONCOMMIT { status = kDone; }
  TX_END
  return status;
}

static enum pmdk_status erase(struct pmdk_session* session, uint64_t key) {
  TOID(struct entry)* link = find(session, key);
  if (TOID_IS_NULL(*link)) return kAbsent;
  struct root* root = root_of(session);
  volatile enum pmdk_status status = kFailed;
  TX_BEGIN(session->pool) {
    TOID(struct entry) gone = *link;
    if (session->bug != kNextNotAdded) TX_ADD_DIRECT(link);
    *link = D_RO(gone)->next;
    TX_ADD_FIELD_DIRECT(root, count);
    root->count -= 1;
    if (session->bug == kFreeAtOnce)
      POBJ_FREE(&gone);
    else
      TX_FREE(gone);
  }
  TX_ONCOMMIT { status = kDone; }
  TX_END
  return status;
}

static enum pmdk_status lookup(struct pmdk_session* session, uint64_t key, uint64_t* value) {
  TOID(struct entry) entry = *find(session, key);
  if (TOID_IS_NULL(entry)) return kAbsent;
  *value = D_RO(entry)->value;
  return kDone;
}

static uint64_t count(struct pmdk_session* session) { return root_of(session)->count; }

static void walk(struct pmdk_session* session, void (*visit)(uint64_t key, uint64_t value, void* context),
                 void* context) {
  const struct table* table = table_of(session);
  for (uint64_t i = 0; i < table->bucket_count; ++i)
    for (TOID(struct entry) entry = table->buckets[i]; !TOID_IS_NULL(entry); entry = D_RO(entry)->next)
      visit(D_RO(entry)->key, D_RO(entry)->value, context);
}

/* Follows one chain; adds its length to `items`. */
static bool verify_chain(const struct table* table, uint64_t index, struct objects* objects, uint64_t* items,
                         char reason[kReasonSize]) {
  for (TOID(struct entry) oid = table->buckets[index]; !TOID_IS_NULL(oid); oid = D_RO(oid)->next) {
    if (!objects_reach(objects, oid.oid, TOID_TYPE_NUM(struct entry), sizeof(struct entry), "entry", reason))
      return false;
    const struct entry* entry = D_RO(oid);
    if (entry->key == 0 || entry->value == 0 || bucket_index(entry->key, table->bucket_count) != index) {
      snprintf(reason, kReasonSize, "Bucket %" PRIu64 " of %" PRIu64 " holds key %" PRIu64 " with value %" PRIu64 ".",
               index, table->bucket_count, entry->key, entry->value);
      return false;
    }
    // Entries of this chain before this one were checked, so that they can be read.
    for (TOID(struct entry) before = table->buckets[index]; !TOID_EQUALS(before, oid); before = D_RO(before)->next) {
      if (D_RO(before)->key == entry->key) {
        snprintf(reason, kReasonSize, "Key %" PRIu64 " is there twice.", entry->key);
        return false;
      }
    }
    *items += 1;
  }
  return true;
}

static bool verify(struct pmdk_session* session, struct objects* objects, char reason[kReasonSize]) {
  const struct root* root = root_of(session);
  const struct object* object =
      objects_reach(objects, root->table.oid, TOID_TYPE_NUM(struct table), table_size(kFirstBuckets), "table", reason);
  if (!object) return false;
  const struct table* table = table_of(session);
  const uint64_t bucket_count = table->bucket_count;
  if (bucket_count < kFirstBuckets || (bucket_count & (bucket_count - 1)) ||
      bucket_count > object->size / sizeof(TOID(struct entry)) || table_size(bucket_count) > object->size) {
    snprintf(reason, kReasonSize, "The table of %zu bytes counts %" PRIu64 " buckets.", object->size, bucket_count);
    return false;
  }
  uint64_t items = 0;
  for (uint64_t i = 0; i < bucket_count; ++i)
    if (!verify_chain(table, i, objects, &items, reason)) return false;
  if (items != root->count) {
    snprintf(reason, kReasonSize, "The map counts %" PRIu64 " items and holds %" PRIu64 ".", root->count, items);
    return false;
  }
  return objects_all_reached(objects, reason);
}

const struct pmdk_map tx_map = PMDK_DESCRIBE_MAP("pmdk-tx-map", "powercut-tx-map");
