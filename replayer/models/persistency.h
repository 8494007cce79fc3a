// The rules of one persistency model: which earlier stores an event makes durable. The model of a trace (model.h) and
// the cuts inside recovery (replayer/undecided/nested_cuts.h) both ask here, so each rule stands once.
#ifndef POWERCUT_REPLAYER_MODELS_PERSISTENCY_H_
#define POWERCUT_REPLAYER_MODELS_PERSISTENCY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replayer/models/line_log.h"
#include "tracer/format/trace.h"

namespace powercut {

class Model;

enum class Durable : uint8_t {
  kNothing,
  kWithFence,  // a flush: the line's chain of stores, at the next fence of the same thread
  kOfThread,   // a fence: the chains that its thread has flushed, and its thread's stores around the cache
  kLine,       // a flush: the line's chain of stores
  kWord,       // a flush: the last store to the word, and the stores below it
  kAll,        // a fence: all that was stored
};

class Persistency {
 public:
  virtual ~Persistency() = default;
  // Returns the model's name, as --model takes it.
  virtual std::string_view name() const = 0;

  virtual Durable by_flush(FlushKind kind) const = 0;
  // Returns whether the medium has fences of this kind; other fences order nothing.
  virtual bool has_fence(FenceKind kind) const = 0;
  // Returns which stores a fence that the medium has makes durable.
  virtual Durable by_fence() const = 0;
  // Returns whether a cacheable store is durable once it is visible.
  virtual bool stores_at_once() const { return false; }
  // Returns the traits that the medium gives a store which was made with the traits `made`.
  virtual StoreTraits taken(const StoreTraits& made) const { return made; }
  // Returns whether it matters which thread stores, flushes and fences.
  virtual bool by_threads() const { return true; }
  // Returns how stores are torn, if the medium alone decides it; else nothing.
  virtual std::optional<AtomPolicy> own_policy() const { return std::nullopt; }

  // Returns the assumptions about the machine on which a verdict under these rules rests: one sentence each.
  virtual std::vector<std::string> assumptions(std::string_view atoms, bool store_buffers) const = 0;

  AtomPolicy policy(AtomPolicy wanted) const { return own_policy().value_or(wanted); }
  // Returns a RaisingModel, unless the rules need another model. Precondition: these rules outlive the model.
  virtual std::unique_ptr<Model> model(AtomPolicy wanted, uint64_t pool_size) const;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MODELS_PERSISTENCY_H_
