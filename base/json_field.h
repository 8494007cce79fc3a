// One value of a JSON file that people or programs wrote, with its place in it ("nested_image[0].lines[2].bytes"), so
// that a refusal names it. Every reader of such a file is a plain function over fields; what does not fit is thrown as
// Malformed and caught where the file is known.
#ifndef POWERCUT_BASE_JSON_FIELD_H_
#define POWERCUT_BASE_JSON_FIELD_H_

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "base/event_stream.h"

namespace powercut {

struct Malformed {
  std::string at, what;
};

class JsonField {
 public:
  // `json` outlives this.
  JsonField(const Json& json, std::string at) : json_(&json), at_(std::move(at)) {}

  const Json& json() const { return *json_; }
  const std::string& at() const { return at_; }
  // Present, and not null.
  bool has(const std::string& name) const;
  JsonField operator[](const std::string& name) const;
  // Throws when there is any other field.
  void only(std::initializer_list<const char*> names) const;
  // The items of a list; none for a field that is absent or null.
  std::vector<JsonField> items() const;
  std::vector<JsonField> items_of(const std::string& name) const;
  std::string text() const;
  uint64_t number() const;
  bool flag() const;
  // To be thrown: what this field should have been.
  Malformed wrong(const std::string& wanted) const;

 private:
  const Json* json_;
  std::string at_;
};

}  // namespace powercut
#endif  // POWERCUT_BASE_JSON_FIELD_H_
