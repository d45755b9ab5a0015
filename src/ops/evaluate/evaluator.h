// The reference evaluator's state: arrays of values, symbols that are known, requirements that were tested. Its parts are
// evaluate.cc (values and sizes), evaluate_node.cc (operators) and evaluate_control.cc (regions and calls).
#pragma once
#include <unordered_map>

#include "graph/control.h"
#include "ops/op.h"

namespace pliant::ops {

using expr::Scalar;
using graph::Function;
using graph::kNoValue;
using graph::Node;
using graph::ShapeConstraint;
using te::Array;
using te::ArrayView;

inline ArrayView view(const Array& a) { return {a.dtype, a.shape, a.data.data()}; }
// An element of an integer or bool array.
int64_t element_of(const ArrayView& a, size_t element);
// The message with each key replaced by its number.
std::string fill(std::string message, const std::vector<std::pair<std::string, int64_t>>& values);

class Evaluator {
 public:
  Evaluator(const Function& f, expr::Context& ctx, std::unordered_map<expr::SymbolId, int64_t> symbols,
            const graph::Module* module)
      : f_(f), ctx_(ctx), module_(module), symbols_(std::move(symbols)) {}
  Result<std::vector<Array>> run(const std::vector<ArrayView>& inputs);
  Result<std::vector<Datum>> run_data(std::vector<Datum> inputs);

 private:
  Status run_body();
  // A value of any type, and its symbols bound when it is a tensor. A list given for a tensor stands for its only element:
  // what an optional tensor holds.
  Status set_datum(ValueId v, Datum d);
  Datum datum_of(ValueId v) const;
  ArrayView value(ValueId v) const { return v == kNoValue ? ArrayView{} : views_.at(v); }
  Array copy_of(ValueId v) const;
  std::vector<Datum> data_of(const std::vector<ValueId>& values) const;
  void bind(expr::SymbolId s, int64_t v);
  // Forgets the symbols that a region has defined.
  void unbind(size_t mark);
  void set(ValueId v, Array a);
  std::optional<int64_t> known(Dim d) const;
  // A size with arithmetic that is no polynomial (too many terms, for one), over known symbols.
  std::optional<int64_t> computed(Dim d) const;
  bool all_bound(Dim d) const;
  // Binds plain symbols of the declared type and checks the sizes that are known.
  Status bind_shape(ValueId v, const std::vector<int64_t>& shape);
  void bind_input_elements();
  Status check_constraints();
  // False where a symbol of it is not known yet.
  Result<bool> check(const ShapeConstraint& o);
  Status run_nodes(const std::vector<Node>& nodes);
  Status run_node(const Node& n);
  int64_t number(Dim d) const;
  Status run_if(const Node& n);
  // One iteration: the next condition, the next carried values, the scan values.
  Result<std::vector<Datum>> run_iteration(const graph::LoopParts& loop, int64_t iteration, std::vector<Datum> carried);
  Status run_loop(const Node& n);
  // Sizes that only an iteration would have told are 0.
  void make_empty_scans(std::vector<Array>& scans, const graph::LoopParts& loop, const Node& n) const;
  Status run_call(const Node& n);
  // A core.kernel, node by node.
  Status run_kernel_region(const Node& n);
  Status read_dims(const Node& n);
  te::Bindings bindings() const;
  std::vector<std::pair<expr::TensorId, ArrayView>> arguments(const Node& n, const Defined& d) const;
  Status run_defined(const Node& n);
  Status test(const DataCheck& c, te::Builder& builder, const std::vector<std::pair<expr::TensorId, ArrayView>>& args,
              const LocPtr& loc);
  Status run_kernel(const OpDef& op, const Node& n);
  Status run_list(const OpDef& op, const Node& n);
  Result<Attrs> bound_attrs(const OpDef& op, const Node& n) const;
  AttrValue bind_dims(const AttrValue& v) const;
  Status run_expansion(const OpDef& op, const Node& n);
  Status set_data(const Node& n, std::vector<Datum> outs);
  Status set_outputs(const Node& n, std::vector<Array> outs);

  const Function& f_;
  expr::Context& ctx_;
  const graph::Module* module_;
  std::unordered_map<expr::SymbolId, int64_t> symbols_;
  std::vector<expr::SymbolId> bound_;  // in the order in which they became known
  std::unordered_map<ValueId, Array> values_;
  std::unordered_map<ValueId, ArrayView> views_;
  std::unordered_map<ValueId, std::shared_ptr<const ListValue>> lists_;
  std::vector<bool> tested_;
};

}  // namespace pliant::ops
