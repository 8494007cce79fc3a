#include "base/json_field.h"

#include <algorithm>

namespace powercut {

bool JsonField::has(const std::string& name) const {
  return json_->is_object() && json_->contains(name) && !(*json_)[name].is_null();
}

JsonField JsonField::operator[](const std::string& name) const {
  const std::string at = at_.empty() ? name : at_ + "." + name;
  if (!json_->is_object() || !json_->contains(name)) throw Malformed{at, "this field is missing"};
  return {(*json_)[name], at};
}

void JsonField::only(std::initializer_list<const char*> names) const {
  if (!json_->is_object()) throw wrong("an object");
  for (const auto& [name, value] : json_->items()) {
    const auto same = [&name = name](const char* known) { return name == known; };
    if (std::none_of(names.begin(), names.end(), same)) {
      throw Malformed{at_.empty() ? name : at_ + "." + name, "there is no such field"};
    }
  }
}

std::vector<JsonField> JsonField::items() const {
  if (!json_->is_array()) throw wrong("a list");
  std::vector<JsonField> out;
  out.reserve(json_->size());
  for (size_t i = 0; i < json_->size(); ++i) out.emplace_back((*json_)[i], at_ + "[" + std::to_string(i) + "]");
  return out;
}

std::vector<JsonField> JsonField::items_of(const std::string& name) const {
  return has(name) ? (*this)[name].items() : std::vector<JsonField>{};
}

std::string JsonField::text() const {
  if (!json_->is_string()) throw wrong("a text");
  return json_->get<std::string>();
}

uint64_t JsonField::number() const {
  if (!json_->is_number_unsigned()) throw wrong("a natural number");
  return json_->get<uint64_t>();
}

bool JsonField::flag() const {
  if (!json_->is_boolean()) throw wrong("true or false");
  return json_->get<bool>();
}

Malformed JsonField::wrong(const std::string& wanted) const {
  return {at_.empty() ? "the whole file" : at_, "this must be " + wanted};
}

}  // namespace powercut
