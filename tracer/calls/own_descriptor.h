// A descriptor of the recorder's own, closed with its owner.
#ifndef POWERCUT_TRACER_CALLS_OWN_DESCRIPTOR_H_
#define POWERCUT_TRACER_CALLS_OWN_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace powercut {

class OwnDescriptor {
 public:
  OwnDescriptor() = default;
  explicit OwnDescriptor(int number) : number_(number) {}
  OwnDescriptor(OwnDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  OwnDescriptor& operator=(OwnDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~OwnDescriptor() {
    if (number_ >= 0) close(number_);
  }

  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_CALLS_OWN_DESCRIPTOR_H_
