#include "targets/common/figures.h"

#include <cstdio>
#include <exception>
#include <string_view>
#include <utility>

#include "nlohmann/json.hpp"

namespace powercut::fidelity {
namespace {

using Json = nlohmann::json;

Json JsonOf(const Value& value) {
  return std::visit([](const auto& held) { return Json(held); }, value.value());
}

template <typename T>
Json JsonOf(const std::optional<T>& value) {
  return value ? Json(JsonOf(Value(*value))) : Json(nullptr);
}

}  // namespace

struct Figures::Rows {
  Json list = Json::array();
};

std::string Join(const std::vector<double>& values) {
  std::string text;
  for (double value : values) {
    char number[32];
    std::snprintf(number, sizeof number, "%s%.3f", text.empty() ? "" : ", ", value);
    text += number;
  }
  return text;
}

std::string Value::Text() const {
  const auto* text = std::get_if<std::string>(&value_);
  return text != nullptr ? *text : JsonOf(*this).dump();
}

Figures::Figures(std::string scheme, bool paper_size)
    : scheme_(std::move(scheme)), paper_size_(paper_size), rows_(std::make_unique<Rows>()) {}
Figures::~Figures() = default;

void Figures::Add(std::string figure, Value paper, Value measured, std::string unit, bool reproduced,
                  std::string note) {
  AddRow(std::move(figure), std::move(paper), std::move(measured), std::move(unit), reproduced, std::move(note));
}

void Figures::AddOurs(std::string figure, Value measured, std::string unit, std::string note) {
  AddRow(std::move(figure), std::nullopt, std::move(measured), std::move(unit), std::nullopt, std::move(note));
}

void Figures::AddAtItsSize(std::string figure, Value paper, Value measured, std::string unit, bool reproduced,
                           std::string note) {
  if (paper_size_) {
    Add(std::move(figure), std::move(paper), std::move(measured), std::move(unit), reproduced,
        note + "; the paper's size");
  } else {
    AddOurs(std::move(figure), std::move(measured), std::move(unit),
            note + "; smaller than the paper's table, which has " + paper.Text() + ": --paper-size judges that");
  }
  rows_->list.back()["depends_on_size"] = true;
}

void Figures::Print() const { std::puts(Json({{"figures", rows_->list}}).dump(1).c_str()); }

void Figures::AddRow(std::string figure, std::optional<Value> paper, Value measured, std::string unit,
                     std::optional<bool> reproduced, std::string note) {
  rows_->list.push_back({{"scheme", scheme_},
                         {"figure", std::move(figure)},
                         {"paper", JsonOf(paper)},
                         {"measured", JsonOf(measured)},
                         {"unit", std::move(unit)},
                         {"reproduced", JsonOf(reproduced)},
                         {"note", std::move(note)}});
}

int Run(int argc, char** argv, const char* scheme, const std::function<void(Figures*)>& measure) {
  const bool paper_size = argc == 2 && std::string_view(argv[1]) == "--paper-size";
  if (argc > 1 && !paper_size) {
    std::fprintf(stderr, "usage: powercut-fidelity-%s [--paper-size]\n", scheme);
    return 2;
  }
  try {
    Figures figures(scheme, paper_size);
    measure(&figures);
    figures.Print();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "powercut-fidelity-%s: %s\n", scheme, error.what());
    return 3;
  }
}

}  // namespace powercut::fidelity
