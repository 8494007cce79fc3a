// A set of crash images that is no plain product of lines: a sum of products, each with edges.
//
// A product gives each line the contents that it may hold. An edge says "this needs that": if one line has one of some
// contents, another line has one of some others (an entry of a directory needs its inode). A sum is a union: if a
// journal keeps its operations in order, each length of its durable prefix gives a product, with its own floors.
//
// Products of one sum may share images. Every answer here is about the distinct images of the union. An answer costs
// little if edges form chains, trees or a few stars; the worst case grows exponentially with the density of the edges.
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
  Choices when;  // if the line `from` has one of these contents, ...
  uint32_t to = 0;
  Choices then;  // ... the line `to` must have one of these
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
  // Returns the images that are not in `others`, as disjoint products, none of them empty.
  ImageSet without(const ImageSet& others) const;
  // Returns the image that differs from `full` in the fewest lines; among several such images, the first in the order
  // of the numbers. Returns nothing if the set is empty.
  std::optional<Choice> least(const Choice& full) const;

 private:
  std::vector<Product> products_;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MODELS_IMAGE_SET_H_
