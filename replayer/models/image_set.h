// A set of crash images that is no plain product of lines: a sum of products, each with edges.
//
// A product gives each line the contents that it may hold. An edge says "this needs that": where one line holds one of
// some contents, another line holds one of some others (an entry of a directory needs its inode). A sum is a union:
// where a journal keeps its operations in order, each length of its durable prefix gives a product, with its own
// floors.
//
// Products of one sum may share images. Every answer here is about the distinct images of the union. An answer costs
// little where edges form chains, trees or a few stars; the worst case grows exponentially with how densely they are
// woven.
#ifndef POWERCUT_REPLAYER_MODELS_IMAGE_SET_H_
#define POWERCUT_REPLAYER_MODELS_IMAGE_SET_H_

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <optional>
#include <vector>

namespace powercut {

// Contents of a line by their numbers, ascending, each once.
using Choices = std::vector<uint32_t>;
// The content of every line.
using Choice = std::vector<uint32_t>;

struct Edge {
  uint32_t from = 0;
  Choices when;  // the line `from` holding one of these ...
  uint32_t to = 0;
  Choices then;  // ... needs the line `to` to hold one of these
};

struct Product {
  std::vector<Choices> lines;
  std::vector<Edge> edges = {};

  bool contains(const Choice& image) const;
};

class ImageSet {
 public:
  // Precondition: all products have equally many lines, and their edges name no others.
  explicit ImageSet(std::vector<Product> products = {}) : products_(std::move(products)) {}

  const std::vector<Product>& products() const { return products_; }
  bool contains(const Choice& image) const;
  boost::multiprecision::cpp_int count() const;
  bool covered_by(const ImageSet& others) const;
  // The images that are not in `others`, in disjoint products, none of them empty.
  ImageSet without(const ImageSet& others) const;
  // The image in which the fewest lines hold another content than in `full`; of several such images, the first one in
  // the order of the numbers. Nothing where the set is empty.
  std::optional<Choice> least(const Choice& full) const;

 private:
  std::vector<Product> products_;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MODELS_IMAGE_SET_H_
