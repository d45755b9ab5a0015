// A node's computation as a short list of stages: what is left of its tensor expressions after inlining.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "lower/lower.h"
#include "lower/nest.h"

namespace pliant::lower {

// One tensor that gets memory, or a value of a row: a te::TensorDef whose bodies read only other stages and the inputs.
struct Stage {
  te::Tensor tensor;
  Scalar body;              // inlined
  Scalar base;              // Scatter
  std::vector<Dim> target;  // Scatter
  bool is_output = false;
};
struct StageList {
  std::vector<Stage> stages;                     // in order
  ShapeTable shapes;                             // of every input and stage
  std::map<expr::TensorId, te::Tensor> tensors;  // likewise
  void add(const te::Tensor& t) {
    shapes[t->id] = t->shape;
    tensors[t->id] = t;
  }
};
// Inlines Maps that are cheap, or that one other stage reads element by element (All: every Map); outputs are always stages.
enum class Inline : uint8_t { Worthwhile, All };
StageList make_stages(const Problem& p, Inline policy = Inline::Worthwhile);
// The tensors that a stage loads, in id order.
std::vector<expr::TensorId> reads_of(const Stage& s);

// `acc op= value` of a reduction, and the value it starts from.
loop::StoreKind store_kind_of(te::Combiner c);
Scalar identity_of(expr::Context& ctx, te::Combiner c, DType t);
bool is_arg(te::Combiner c);
// Memory of one scalar or a few, in registers.
loop::Buffer make_local(expr::Context& ctx, const std::string& name, DType t, int64_t elements);

// A body of the form select(guard, value, neutral) or select(guard, value, 0) * other, where leaving the term out of the
// reduction when the guard is false is the same: the guard (null when there is none) and the body without it.
struct Guarded {
  Scalar guard;
  Scalar body;
};
Guarded split_guard(expr::Context& ctx, Scalar body, te::Combiner c, DType accumulate);

// Adds a function parameter for each tensor that `stages` read and write, and the argument that binds it.
class Signature {
 public:
  Signature(const Problem& p, const StageList& list, KernelBuilder& builder,
            const std::map<expr::TensorId, int32_t>& temporaries)
      : p_(p), list_(list), builder_(builder), temporaries_(temporaries) {}
  // Tensors in `inner` are the kernel's own and get no parameter.
  void add_reads(Scalar flat_body, const std::set<expr::TensorId>& inner);
  void add_read(expr::TensorId id);
  void add_write(const te::Tensor& t);
  // Writes output `t` from element `first` on: the parameter starts there.
  void add_write_from(const te::Tensor& t, Dim first, Dim count);
  void add_constant(expr::TensorId id, const std::string& name, graph::ConstantPtr packed);
  std::vector<KernelArg> take_args() { return std::move(args_); }

 private:
  void add_arg(expr::TensorId id, KernelArg arg);
  // Of an output or a temporary.
  KernelArg memory_of(const te::TensorDef& t) const;
  void add_written(const te::TensorDef& t, const std::vector<Dim>& shape);
  const Problem& p_;
  const StageList& list_;
  KernelBuilder& builder_;
  const std::map<expr::TensorId, int32_t>& temporaries_;
  std::vector<KernelArg> args_;
  std::set<expr::TensorId> seen_;
};
Dim element_count(expr::Context& ctx, const std::vector<Dim>& shape);
// The value of an input that is a constant; null for all other tensors.
graph::ConstantPtr constant_of(const Problem& p, expr::TensorId id);
// Whether `s` reads nothing but such.
bool reads_constants(const Problem& p, Scalar s);

}  // namespace pliant::lower
