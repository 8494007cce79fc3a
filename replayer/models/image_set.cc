#include "replayer/models/image_set.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>

namespace powercut {
namespace {

using boost::multiprecision::cpp_int;

Choices common(const Choices& a, const Choices& b) {
  Choices out;
  std::ranges::set_intersection(a, b, std::back_inserter(out));
  return out;
}

Choices minus(const Choices& a, const Choices& b) {
  Choices out;
  std::ranges::set_difference(a, b, std::back_inserter(out));
  return out;
}

bool has(const Choices& choices, uint32_t content) { return std::ranges::binary_search(choices, content); }

// Removes the contents that an edge forbids whatever other lines hold, and the edges that can no longer forbid
// anything. Returns false if no image is left.
bool settle(Product* product) {
  std::vector<Choices>& lines = product->lines;
  if (std::ranges::any_of(lines, &Choices::empty)) return false;
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<Edge> kept;
    for (Edge& edge : product->edges) {
      Choices asking = common(lines[edge.from], edge.when), met = common(lines[edge.to], edge.then);
      if (asking.empty() || met.size() == lines[edge.to].size()) continue;
      if (asking.size() == lines[edge.from].size()) {
        if (met.empty()) return false;
        lines[edge.to] = std::move(met);
        changed = true;
      } else if (met.empty()) {
        lines[edge.from] = minus(lines[edge.from], edge.when);
        changed = true;
      } else {
        kept.push_back(std::move(edge));
      }
    }
    product->edges = std::move(kept);
  }
  return true;
}

// Calls `visit(part)` for disjoint products until `visit` returns false. Together the parts have the images of
// `product` that are in none of `others`. Parts may be empty.
template <typename Visit>
bool each_part(Product product, std::span<const Product> others, const Visit& visit) {
  if (!settle(&product)) return true;
  if (others.empty()) return visit(std::move(product));
  const Product& other = others.front();
  const auto outside = [&](Product part) { return each_part(std::move(part), others.subspan(1), visit); };
  for (size_t line = 0; line < product.lines.size(); ++line) {
    Choices inside = common(product.lines[line], other.lines[line]);
    if (inside.size() == product.lines[line].size()) continue;
    Product part = product;
    part.lines[line] = minus(product.lines[line], inside);
    if (!outside(std::move(part))) return false;
    if (inside.empty()) return true;
    product.lines[line] = std::move(inside);
  }
  // All lines are as the other product allows: an image that is not in the other product breaks one of its edges.
  for (const Edge& edge : other.edges) {
    Product part = product;
    part.lines[edge.from] = common(part.lines[edge.from], edge.when);
    part.lines[edge.to] = minus(part.lines[edge.to], edge.then);
    if (!outside(std::move(part))) return false;
    product.edges.push_back(edge);
  }
  return true;
}

// Lines that edges connect, with these edges.
struct Component {
  std::vector<uint32_t> lines;
  std::vector<Edge> edges;
};

std::vector<Component> components(const Product& product, const std::vector<uint32_t>& among) {
  std::vector<uint32_t> root(product.lines.size());
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](uint32_t line) {
    while (root[line] != line) line = root[line] = root[root[line]];
    return line;
  };
  for (const Edge& edge : product.edges) root[find(edge.from)] = find(edge.to);
  std::vector<Component> out;
  std::vector<size_t> number(product.lines.size(), SIZE_MAX);
  for (const uint32_t line : among) {
    size_t& at = number[find(line)];
    if (at == SIZE_MAX) {
      at = out.size();
      out.emplace_back();
    }
    out[at].lines.push_back(line);
  }
  for (const Edge& edge : product.edges) out[number[find(edge.from)]].edges.push_back(edge);
  return out;
}

// Returns a line with the most edges, and contents of this line that some edge tells from its other contents.
std::pair<uint32_t, Choices> split_of(const Product& product) {
  std::vector<size_t> edges(product.lines.size());
  for (const Edge& edge : product.edges) {
    ++edges[edge.from];
    ++edges[edge.to];
  }
  const auto line = static_cast<uint32_t>(std::ranges::max_element(edges) - edges.begin());
  const auto touches = [line](const Edge& edge) { return edge.from == line || edge.to == line; };
  const Edge& edge = *std::ranges::find_if(product.edges, touches);
  return {line, common(product.lines[line], edge.from == line ? edge.when : edge.then)};
}

// Returns the answer for one product. Lines that no edge connects are independent: their answers are multiplied. If
// edges connect lines, the answers of two disjoint parts are added. `Algebra` defines the answers, their product and
// their sum.
template <typename Algebra>
typename Algebra::Value solved(const Algebra& algebra, Product product, const std::vector<uint32_t>& among) {
  if (!settle(&product)) return algebra.nothing();
  typename Algebra::Value out = algebra.unit();
  for (Component& component : components(product, among)) {
    if (component.edges.empty()) {
      const uint32_t line = component.lines.front();
      out = algebra.multiplied(std::move(out), algebra.line(line, product.lines[line]));
      continue;
    }
    Product part = product;
    part.edges = std::move(component.edges);
    const auto [line, choices] = split_of(part);
    Product rest = part;
    rest.lines[line] = minus(part.lines[line], choices);
    part.lines[line] = choices;
    out = algebra.multiplied(std::move(out), algebra.added(solved(algebra, std::move(part), component.lines),
                                                           solved(algebra, std::move(rest), component.lines)));
  }
  return out;
}

template <typename Algebra>
typename Algebra::Value solved(const Algebra& algebra, const Product& product) {
  std::vector<uint32_t> all(product.lines.size());
  std::iota(all.begin(), all.end(), 0);
  return solved(algebra, product, all);
}

struct Counted {
  using Value = cpp_int;
  Value nothing() const { return 0; }
  Value unit() const { return 1; }
  Value line(uint32_t, const Choices& choices) const { return choices.size(); }
  Value multiplied(const Value& a, const Value& b) const { return a * b; }
  Value added(const Value& a, const Value& b) const { return a + b; }
};

struct Possible {
  using Value = bool;
  Value nothing() const { return false; }
  Value unit() const { return true; }
  Value line(uint32_t, const Choices&) const { return true; }
  Value multiplied(Value a, Value b) const { return a && b; }
  Value added(Value a, Value b) const { return a || b; }
};

struct Least {
  struct Some {
    size_t others = 0;                                     // lines that do not hold what `full` holds
    std::vector<std::pair<uint32_t, uint32_t>> held = {};  // line and content, ascending
    auto operator<=>(const Some&) const = default;
  };
  using Value = std::optional<Some>;
  const Choice& full;

  Value nothing() const { return std::nullopt; }
  Value unit() const { return Some{}; }
  Value line(uint32_t line, const Choices& choices) const {
    const bool as_full = has(choices, full[line]);
    return Some{as_full ? size_t{0} : 1, {{line, as_full ? full[line] : choices.front()}}};
  }
  Value multiplied(const Value& a, const Value& b) const {
    if (!a || !b) return std::nullopt;
    Some both{.others = a->others + b->others};
    std::ranges::merge(a->held, b->held, std::back_inserter(both.held));
    return both;
  }
  Value added(const Value& a, const Value& b) const { return !b || (a && *a <= *b) ? a : b; }
};

}  // namespace

bool Product::contains(const Choice& image) const {
  for (size_t line = 0; line < lines.size(); ++line) {
    if (!has(lines[line], image[line])) return false;
  }
  return std::ranges::none_of(
      edges, [&](const Edge& edge) { return has(edge.when, image[edge.from]) && !has(edge.then, image[edge.to]); });
}

bool ImageSet::contains(const Choice& image) const {
  return std::ranges::any_of(products_, [&](const Product& product) { return product.contains(image); });
}

cpp_int ImageSet::count() const {
  cpp_int out = 0;
  for (size_t i = 0; i < products_.size(); ++i) {
    each_part(products_[i], std::span(products_).first(i), [&](const Product& part) {
      out += solved(Counted{}, part);
      return true;
    });
  }
  return out;
}

bool ImageSet::covered_by(const ImageSet& others) const {
  const auto empty = [](const Product& part) { return !solved(Possible{}, part); };
  return std::ranges::all_of(products_,
                             [&](const Product& product) { return each_part(product, others.products_, empty); });
}

ImageSet ImageSet::without(const ImageSet& others) const {
  ImageSet out;
  std::vector<Product> taken = others.products_;
  for (const Product& product : products_) {
    each_part(product, taken, [&](Product part) {
      if (solved(Possible{}, part)) out.products_.push_back(std::move(part));
      return true;
    });
    taken.push_back(product);
  }
  return out;
}

std::optional<Choice> ImageSet::least(const Choice& full) const {
  const Least algebra{full};
  Least::Value best;
  for (const Product& product : products_) best = algebra.added(best, solved(algebra, product));
  if (!best) return std::nullopt;
  Choice out;
  for (const auto& [line, content] : best->held) out.push_back(content);
  return out;
}

}  // namespace powercut
