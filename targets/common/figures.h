// The output of a fidelity program: the paper's figures beside ours.
#ifndef POWERCUT_TARGETS_COMMON_FIGURES_H_
#define POWERCUT_TARGETS_COMMON_FIGURES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace powercut::fidelity {

// "0.934, 0.981": three digits each.
std::string Join(const std::vector<double>& values);

// A number, a text or a truth.
class Value {
 public:
  template <typename Number>
    requires(std::is_arithmetic_v<Number>)
  Value(Number number) {
    if constexpr (std::is_same_v<Number, bool>) {
      value_ = number;
    } else if constexpr (std::is_floating_point_v<Number>) {
      value_ = static_cast<double>(number);
    } else {
      value_ = static_cast<int64_t>(number);
    }
  }
  Value(std::string text) : value_(std::move(text)) {}
  Value(const char* text) : value_(std::string(text)) {}

  // Returns the value as JSON writes it, but a text without quotes.
  const std::variant<bool, int64_t, double, std::string>& value() const { return value_; }
  std::string Text() const;

 private:
  std::variant<bool, int64_t, double, std::string> value_;
};

// The table of figures of one scheme.
class Figures {
 public:
  Figures(std::string scheme, bool paper_size);
  ~Figures();

  // Returns whether tables are as large as the paper's. Otherwise the tables that would take minutes are smaller.
  bool paper_size() const { return paper_size_; }

  // Adds a figure that a paper prints, beside ours. The bound for `reproduced` comes from the paper, or was fixed
  // before the first measurement.
  void Add(std::string figure, Value paper, Value measured, std::string unit, bool reproduced, std::string note);
  // Adds a figure of ours that no paper prints, or that no bound of a paper judges: there is nothing to reproduce.
  void AddOurs(std::string figure, Value measured, std::string unit, std::string note);
  // Adds a figure that depends on the size of the table. A filling ends with the first unlucky key, so a larger table
  // is less full. A paper's maximum has a verdict only at the paper's table size.
  void AddAtItsSize(std::string figure, Value paper, Value measured, std::string unit, bool reproduced,
                    std::string note);
  // To stdout.
  void Print() const;

 private:
  struct Rows;
  void AddRow(std::string figure, std::optional<Value> paper, Value measured, std::string unit,
              std::optional<bool> reproduced, std::string note);

  std::string scheme_;
  bool paper_size_;
  std::unique_ptr<Rows> rows_;
};

// main() of a fidelity program; its one argument is --paper-size.
int Run(int argc, char** argv, const char* scheme, const std::function<void(Figures*)>& measure);

}  // namespace powercut::fidelity
#endif  // POWERCUT_TARGETS_COMMON_FIGURES_H_
