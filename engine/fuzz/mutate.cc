#include "engine/fuzz/mutate.h"

#include <algorithm>
#include <cstring>

namespace powercut::fuzz {
namespace {

// Every value below `root`, and itself.
void collect(Json* root, std::vector<Json*>* out) {
  out->push_back(root);
  if (!root->is_structured()) return;
  for (Json& child : *root) collect(&child, out);
}

Json odd_value(Draw* draw) {
  switch (draw->below(12)) {
    case 0:
      return nullptr;
    case 1:
      return draw->once_in(2);
    case 2:
      return draw->number();
    case 3:
      return -static_cast<int64_t>(draw->number() >> 1);
    case 4:
      return 1e308;
    case 5:
      return "";
    case 6:
      return std::string(draw->below(9000), 'x');
    case 7:
      return "a\"\\\n\t\x01 zero \xc3\xa9";
    case 8:
      return Json::array();
    case 9:
      return Json::object();
    case 10: {
      Json deep = 1;
      for (uint64_t i = draw->below(300); i > 0; --i) deep = Json::array({std::move(deep)});
      return deep;
    }
    default:
      return Json::array({1, "two", nullptr});
  }
}

void mutate_once(Draw* draw, Json* root) {
  std::vector<Json*> all;
  collect(root, &all);
  Json* at = draw->of(all);
  if (at->is_number() && draw->once_in(2)) {
    *at = draw->number();
  } else if (at->is_object() && !at->empty() && draw->once_in(2)) {
    at->erase(std::next(at->begin(), static_cast<ptrdiff_t>(draw->below(at->size()))));
  } else if (at->is_object() && draw->once_in(2)) {
    (*at)[draw->once_in(2) ? "unknown" : std::string(1, static_cast<char>('a' + draw->below(26)))] = odd_value(draw);
  } else if (at->is_array() && !at->empty() && draw->once_in(2)) {
    const size_t index = draw->below(at->size());
    if (draw->once_in(2)) {
      at->erase(index);
    } else {
      at->push_back(Json((*at)[index]));
    }
  } else if (draw->once_in(3)) {
    *at = Json(*draw->of(all));
  } else {
    *at = odd_value(draw);
  }
}

}  // namespace

uint64_t Draw::number() {
  static constexpr uint64_t kEnds[] = {0,
                                       1,
                                       63,
                                       64,
                                       65,
                                       4095,
                                       4096,
                                       4097,
                                       0x7FFFFFFF,
                                       0x80000000,
                                       0xFFFFFFFF,
                                       0x100000000,
                                       UINT64_MAX,
                                       INT64_MAX,
                                       uint64_t{1} << 63,
                                       uint64_t{1} << 40,
                                       uint64_t{1} << 44};
  switch (below(4)) {
    case 0:
      return kEnds[below(std::size(kEnds))];
    case 1:
      return (uint64_t{1} << below(64)) + below(3) - 1;
    case 2:
      return below(1 << 20);
    default:
      return random_() >> below(64);
  }
}

void mutate_bytes(Draw* draw, std::string* bytes) {
  for (uint64_t changes = 1 + draw->below(4); changes > 0; --changes) {
    if (bytes->empty()) {
      bytes->push_back(static_cast<char>(draw->below(256)));
      continue;
    }
    const size_t at = draw->below(bytes->size());
    switch (draw->below(8)) {
      case 0:
        (*bytes)[at] = static_cast<char>((*bytes)[at] ^ (1 << draw->below(8)));
        break;
      case 1:
        (*bytes)[at] = static_cast<char>(draw->below(256));
        break;
      case 2: {
        const uint64_t number = draw->number();
        std::memcpy(bytes->data() + at, &number, std::min(bytes->size() - at, size_t{1} << draw->below(4)));
        break;
      }
      case 3:
        bytes->resize(at);
        break;
      case 4:
        bytes->erase(at, 1 + draw->below(16));
        break;
      case 5:
        bytes->insert(at, bytes->substr(draw->below(bytes->size()), 1 + draw->below(64)));
        break;
      case 6:
        bytes->insert(at, 1 + draw->below(8), static_cast<char>(draw->below(256)));
        break;
      default: {
        const size_t from = draw->below(bytes->size());
        const size_t size = std::min({bytes->size() - at, bytes->size() - from, size_t{1 + draw->below(32)}});
        std::memmove(bytes->data() + at, bytes->data() + from, size);
      }
    }
  }
}

void mutate_json(Draw* draw, Json* value) {
  for (uint64_t changes = 1 + draw->below(3); changes > 0; --changes) mutate_once(draw, value);
}

}  // namespace powercut::fuzz
