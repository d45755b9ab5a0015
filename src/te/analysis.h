// What a definition does to its data, read off its expressions: the basis of fusion and of the choice of strategies.
#pragma once
#include "te/te.h"

namespace pliant::te {

// Leading axes of a shape that are left when axes of size 1 at the end are dropped.
size_t trimmed_rank(const std::vector<Dim>& shape);
// A sum of products whose factors vary along different output axes: a matrix product or convolution, not a scaled sum.
bool is_contraction(const TensorDef& t);
// A reduction over what follows the leading axes of its output: every load starts with the output's own leading indices.
bool reduces_rows(const TensorDef& t);
// Every load of `from` in `reader` is at the reader's own index, over the same shape.
bool reads_in_place(const TensorDef& reader, const TensorDef& from);
// Every load of `from` has the reader's own index on its first `rank` axes, which have equal sizes.
bool reads_own_rows(const TensorDef& reader, const TensorDef& from, size_t rank);
// A Map whose element is a function of its inputs' elements at its own position, of which its place is no part: axes are
// aligned from the last, and one of size 1, known or not, stands for every position.
bool is_elementwise(const TensorDef& t);
// A Map whose element is an element of what it reads, at a place that no data decide, a constant, or a few cheap operations
// on its position and on tensors of one element.
bool is_placement(const TensorDef& t);
// A Map that only moves: its body is one load, at a permutation of its index. With the permutation as axes of `from`.
struct Permutation {
  Tensor from;
  std::vector<size_t> axes;  // reader axis k is axis axes[k] of `from`
};
std::optional<Permutation> as_permutation(const TensorDef& t);

}  // namespace pliant::te
