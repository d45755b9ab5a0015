// Tensor expressions: what an operator computes, as pure functions of indices. Shapes, reference results, loop nests,
// fusion classes and costs of operators are all derived from these definitions.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "expr/expr.h"

namespace pliant::te {

using expr::Dim;
using expr::Scalar;
using expr::SymbolId;
using expr::TensorId;

enum class Kind : uint8_t {
  Input,    // a placeholder
  Map,      // out[i] = body
  Reduce,   // out[i] = post(combine over r of body); see Combiner
  Scan,     // out[i] = combine of body over the positions up to i along scan_axis
  Scatter,  // out = base everywhere, then for each update point u in order: out[target(u)] = combine(old, body(u))
};
// ArgMax and ArgMin give the i64 position along the single reduce axis of the first best value, or the last with the Last
// forms. NaN wins over numbers in Max, Min and their Arg forms. Set replaces (Scatter only).
enum class Combiner : uint8_t { Sum, Prod, Max, Min, And, Or, ArgMax, ArgMin, ArgMaxLast, ArgMinLast, Set };
const char* name_of(Kind k);
const char* name_of(Combiner c);

struct TensorDef;
using Tensor = std::shared_ptr<const TensorDef>;
using Index = std::vector<Dim>;

struct TensorDef {
  expr::Context* ctx = nullptr;
  TensorId id = 0;
  std::string name;
  DType dtype = DType::F32;
  std::vector<Dim> shape;
  Kind kind = Kind::Input;
  std::vector<SymbolId> index;         // one an axis of `shape`; Scatter: the axes of `base`
  Scalar body;                         // over index and reduce_index (Scatter: over reduce_index only)
  std::vector<SymbolId> reduce_index;  // Reduce: the reduced axes; Scatter: the axes of the update points
  std::vector<Dim> reduce_extent;
  Combiner combiner = Combiner::Sum;
  DType accumulate = DType::F32;            // Reduce, Scan: dtype of the running value; rounded to dtype at the end
  int64_t scan_axis = 0;                    // Scan; the body is over `index`
  bool exclusive = false, reverse = false;  // Scan
  Scalar base;                              // Scatter: the initial value over `index`
  std::vector<Dim> target;                  // Scatter: over reduce_index; a Value atom where data-dependent
  std::vector<Tensor> reads;                // the tensors that body, base and target load, each once
  Scalar operator()(const Index& i) const;  // a Load of this tensor
  size_t rank() const { return shape.size(); }
};

// Makes tensors in one expr::Context and remembers them in order.
class Builder {
 public:
  explicit Builder(expr::Context& ctx) : ctx_(ctx) {}
  expr::Context& ctx() { return ctx_; }
  Tensor input(std::string name, DType t, std::vector<Dim> shape);
  Tensor map(std::string name, std::vector<Dim> shape, const std::function<Scalar(const Index&)>& body);
  // body gets the output index and the reduce index. `accumulate` defaults to: f32 for halves, the dtype itself otherwise.
  Tensor reduce(std::string name, std::vector<Dim> shape, std::vector<Dim> reduce_extent, Combiner c,
                const std::function<Scalar(const Index&, const Index&)>& body);
  Tensor scan(std::string name, std::vector<Dim> shape, int64_t axis, Combiner c, bool exclusive, bool reverse,
              const std::function<Scalar(const Index&)>& body);
  Tensor scatter(std::string name, std::vector<Dim> shape, const std::function<Scalar(const Index&)>& base,
                 std::vector<Dim> update_extent, const std::function<std::vector<Dim>(const Index&)>& target, Combiner c,
                 const std::function<Scalar(const Index&)>& body);
  Tensor find(TensorId id) const;
  const std::vector<Tensor>& all() const { return tensors_; }

 private:
  Tensor add(TensorDef def);
  expr::Context& ctx_;
  std::vector<Tensor> tensors_;
};

// Reference evaluation of `outputs` from the inputs' memory: contiguous, row-major. `symbols` binds every symbol in shapes
// and bodies.
struct Array {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;
};
struct ArrayView {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  const std::byte* data = nullptr;
};
using Bindings = std::vector<std::pair<SymbolId, int64_t>>;
Result<std::vector<Array>> evaluate(const std::vector<Tensor>& outputs,
                                    const std::vector<std::pair<TensorId, ArrayView>>& inputs, const Bindings& symbols);

// The stages that `outputs` need, in order, inputs left out.
std::vector<Tensor> stages_of(const std::vector<Tensor>& outputs);
std::string print(const std::vector<Tensor>& outputs, expr::Context& ctx);

}  // namespace pliant::te
