// Loop nests in flat form: every tensor is one-dimensional, every load carries one linear offset, so that neighbouring loops
// merge wherever all offsets allow it, whatever the shapes are.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "expr/parts.h"
#include "graph/graph.h"
#include "loop/build.h"
#include "target/target.h"
#include "te/cost.h"
#include "te/te.h"

namespace pliant::lower {

using expr::Dim;
using expr::Scalar;
using expr::SymbolId;

using loop::row_major;
// The linear offset of an index.
Dim flat_offset(expr::Context& ctx, const std::vector<Dim>& shape, const std::vector<Dim>& index);
// Each Load of `s` (those inside gathered indices too) with its index made linear by the shape that `shapes` gives for its
// tensor.
using ShapeTable = std::map<expr::TensorId, std::vector<Dim>>;
Scalar flatten_loads(expr::Context& ctx, Scalar s, const ShapeTable& shapes);

struct Loop {
  SymbolId var;
  Dim extent;
};
// A perfectly nested iteration space with everything that is evaluated in it: offsets are the offsets of stores.
struct Nest {
  std::vector<Loop> loops;      // outermost first
  std::vector<Scalar> scalars;  // flat
  std::vector<Dim> offsets;     // flat
};
void substitute(Nest& nest, const expr::DimMap& map);
// Drops loops of extent 1 and merges neighbouring loops (i, j) -> v where every offset that uses them is c * (i * extent(j)
// + j). Loops from `first` on only. The meaning is unchanged: scalars and offsets are rewritten over the new variables.
void collapse(expr::Context& ctx, Nest& nest, size_t first = 0);
// The linear coefficient of `var` in an offset: 0 when it does not occur, nothing when the offset is not affine in it.
std::optional<Dim> stride_in(expr::Context& ctx, Dim offset, SymbolId var);
// Its strides in the loops, where all are constants and so is where it starts.
std::optional<std::vector<int64_t>> const_strides(expr::Context& ctx, Dim offset, const std::vector<Loop>& loops,
                                                  int64_t& start);
// Gives `out`, which is written at `offset`, an axis a loop, so that no loop needs a proof that its iterations write to
// places of their own; where the first of them does not lie at 0, one more axis in front. What the store's index becomes;
// nothing, and no change, where `out` is not written in even steps.
std::optional<std::vector<Dim>> set_axes(expr::Context& ctx, loop::Buffer& out, const std::vector<Loop>& loops, Dim offset);
// Every flat offset of the nest: the index of each load, and the stores'.
std::vector<Dim> all_offsets(const Nest& nest);

// A name for a node's kernels: letters, digits and underscores of the name of the model's node.
std::string symbol_name(const graph::Node& n);
// A constant upper bound of a size where one is provable.
std::optional<int64_t> const_upper(expr::Context& ctx, Dim d);
// The unit of LoweredKernel::work is that of cost_of.
using te::cost_of;
using te::for_each_scalar;
using te::is_costly;

// Lanes of a vector loop over elements of the widest type that `s` computes in.
int64_t lanes_for(int64_t vector_bytes, const std::vector<Scalar>& scalars);
inline int64_t lanes_for(const target::Target& target, const std::vector<Scalar>& scalars) {
  return lanes_for(target.vector_bytes, scalars);
}

// A function under construction: parameters by tensor id, in order of first use. They have one axis each where storage is
// flat.
enum class ParamShape : uint8_t { Flat, OfTensor };
class KernelBuilder {
 public:
  KernelBuilder(expr::Context& ctx, std::string name, LocPtr loc, ParamShape params = ParamShape::Flat);
  // Each tensor once.
  void add_read(expr::TensorId id, const std::string& name, DType t, const std::vector<Dim>& shape,
                bool is_constant = false) {
    f_.params.push_back({id, name, t, axes_of(shape), {}, loop::Scope::Param, false, is_constant});
  }
  void add_write(expr::TensorId id, const std::string& name, DType t, const std::vector<Dim>& shape) {
    f_.params.push_back({id, name, t, axes_of(shape), {}, loop::Scope::Param, true});
  }
  uint32_t add_trap(std::string message, LocPtr loc);
  loop::Function finish(loop::StmtPtr body);

 private:
  std::vector<Dim> axes_of(const std::vector<Dim>& shape) const {
    return params_ == ParamShape::Flat ? std::vector<Dim>{product(ctx_, shape)} : shape;
  }
  expr::Context& ctx_;
  ParamShape params_;
  loop::Function f_;
};

// What follows the last whole vector of a loop: one vector under a mask, or ever smaller vectors, which targets without
// masked memory of small elements take apart less.
enum class Tail { Masked, Halving };
// The better one for storing `scalars`.
Tail tail_for(const target::Target& target, const std::vector<Scalar>& scalars);
// `for v in extent`, as a main part of whole vectors and a tail: body(v) builds the statement for the element index v inside
// a Vector loop, the tail's already under its mask.
loop::StmtPtr make_vector_loop(expr::Context& ctx, Dim extent, int64_t lanes, const std::function<loop::StmtPtr(Dim)>& body,
                               Tail tail = Tail::Masked);
// Loops around `body`, outermost first.
loop::StmtPtr wrap_loops(const std::vector<Loop>& loops, loop::ForKind kind, loop::StmtPtr body);
Dim product_of(expr::Context& ctx, const std::vector<Loop>& loops);

}  // namespace pliant::lower
