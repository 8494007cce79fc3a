// Damage to an image (checker/FAULTS.md): what one case changes, and of each kind of fault the list of its cases.
#ifndef POWERCUT_CHECKER_FAULTS_DAMAGE_DAMAGE_H_
#define POWERCUT_CHECKER_FAULTS_DAMAGE_DAMAGE_H_

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checker/faults/fault.h"
#include "checker/trace/trace_follower.h"

namespace powercut {

struct Damage {
  std::string subject;             // "bit 3 of the byte at offset 424"
  std::optional<uint64_t> offset;  // in the pool; of a device none
  std::vector<LineSet> lines;      // of one content each, in the place of the image's; ascending
  MemoryRange poison;              // addresses of which every load raises SIGBUS
};

// An image without damage.
struct FaultImage {
  const TraceFollower& at;
  const uint8_t* pool;
  std::function<uint64_t(uint64_t line)> read;  // the bytes of a line that recovery or some query loads
};

// The cases of one kind of fault.
class Damages {
 public:
  virtual ~Damages() = default;

  // Hears of every event of the trace, once the follower has applied it.
  virtual void saw(const Event&, const TraceFollower&) {}
  // Number of images at the follower's crash point: none; the image that has lost nothing; or also the image that has
  // lost everything that is pending.
  virtual unsigned images(const TraceFollower& at) const = 0;

  // Finds the cases of an image. The functions below speak of the last image.
  virtual void look(const FaultImage& image) = 0;
  // Number of cases whose damaged bytes nothing loads.
  virtual uint64_t unread() const = 0;
  // Number of all other cases; at() takes a number below it.
  virtual uint64_t count() const = 0;
  virtual Damage at(uint64_t number) = 0;
};

// Makes the damages of a kind that damages images. The file of the kind says what its cases are.
std::unique_ptr<Damages> make_damages(FaultKind kind, const LoadedTrace& loaded);
std::unique_ptr<Damages> make_media_errors(const LoadedTrace& loaded);
std::unique_ptr<Damages> make_bit_flips(const LoadedTrace& loaded);
std::unique_ptr<Damages> make_shorn_writes(const LoadedTrace& loaded);
std::unique_ptr<Damages> make_lost_writes(const LoadedTrace& loaded);
std::unique_ptr<Damages> make_stale_mappings(const LoadedTrace& loaded);
std::unique_ptr<Damages> make_paired_pages(const LoadedTrace& loaded);
std::unique_ptr<Damages> make_unstable_reads(const LoadedTrace& loaded);
std::unique_ptr<Damages> make_stuck_bits(const LoadedTrace& loaded);

// The bytes of a line that a damage changes.
uint64_t changed_bytes(const uint8_t* pool, const LineSet& set);

// At the end of an operation, with nothing lost.
bool ends_operation(const TraceFollower& at);

// A kind with few cases, which it makes in advance.
class ListedDamages : public Damages {
 public:
  void look(const FaultImage& image) final;
  uint64_t unread() const final { return unread_; }
  uint64_t count() const final { return found_.size(); }
  Damage at(uint64_t number) final { return found_[number]; }

 protected:
  virtual void find(const FaultImage& image) = 0;
  // A damage that changes nothing, or leaves the contents of another case, is no case.
  void add(const FaultImage& image, Damage damage);

 private:
  std::vector<Damage> found_;
  std::set<std::string> known_;
  uint64_t unread_ = 0;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_FAULTS_DAMAGE_DAMAGE_H_
