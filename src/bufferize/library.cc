#include <algorithm>

#include "bufferize/bufferizer.h"

namespace pliant::bufferize {

Status Bufferizer::bufferize_library(const Node& n, const ops::OpDef& op) {
  host::Library call;
  artifact::LibraryCallDesc& x = call.call;
  x.symbol = op.kernel.symbol;
  x.where = describe(n.loc);
  const DType first = n.inputs.empty() ? DType::F32 : f_.tensor_type(n.inputs[0]).dtype;
  te::Builder builder(ctx_);
  std::vector<te::Tensor> inputs;
  for (ValueId v : n.inputs) {
    if (v == kNoValue) {
      inputs.push_back(nullptr);
      continue;
    }
    inputs.push_back(builder.input("in", f_.tensor_type(v).dtype, f_.tensor_type(v).shape));
  }
  graph::Attrs attrs = TRY(ops::normalise_attrs(op, n.attrs, ctx_, n.loc));
  ops::DefineContext define(builder, attrs, inputs, n.outputs.size(), n.loc);
  if (op.kernel.ints)
    for (Dim d : op.kernel.ints(define)) x.ints.push_back(slots_.of(d));
  // Sizes that the function finds out are symbols that nothing has defined before.
  std::vector<expr::SymbolId> fresh;
  std::vector<std::pair<ValueId, Dim>> bounded;
  for (ValueId v : n.outputs) {
    std::vector<Dim> shape = f_.tensor_type(v).shape;
    bool data_dependent = false;
    for (Dim& d : shape)
      for (expr::SymbolId s : expr::symbols_of(d)) {
        if (slots_.knows(s) && std::find(fresh.begin(), fresh.end(), s) == fresh.end()) continue;
        data_dependent = true;
        if (std::find(fresh.begin(), fresh.end(), s) == fresh.end()) fresh.push_back(s);
        PLIANT_CHECK(ctx_.info(s).upper) << "the size " << ctx_.info(s).name << " of " << x.symbol << " has no bound";
        d = expr::substitute(d, {{s, *ctx_.info(s).upper}});
      }
    if (data_dependent && is_output_sized_by_call(v, fresh))
      storage_[v] = direct_.at(v);
    else if (data_dependent)
      storage_[v] = new_buffer(bytes_of(f_.tensor_type(v).dtype, shape));
    else
      define_value(v, true);
  }
  for (ValueId v : n.inputs) {
    if (v == kNoValue) {
      Storage none = new_buffer(ctx_.constant(0));
      x.inputs.push_back(arg_of(none));
      x.input_shapes.push_back({artifact::imm(0)});
      x.input_dtypes.push_back(first);
      continue;
    }
    const TensorType& t = f_.tensor_type(v);
    x.inputs.push_back(arg_of_value(v));
    std::vector<artifact::Int> shape;
    for (Dim d : t.shape) shape.push_back(slots_.size_of(d));
    x.input_shapes.push_back(shape);
    x.input_dtypes.push_back(t.dtype);
  }
  for (ValueId v : n.outputs) {
    x.outputs.push_back(arg_of(storage_[v]));
    x.output_dtypes.push_back(f_.tensor_type(v).dtype);
  }
  const uint32_t next = fresh.empty() ? epoch_ : new_epoch();
  for (expr::SymbolId s : fresh) x.result_slots.push_back(slots_.add_symbol(s, next));
  add(std::move(call));
  if (!fresh.empty()) start_epoch(next);
  return ok();
}

bool Bufferizer::is_output_sized_by_call(ValueId v, const std::vector<expr::SymbolId>& found) const {
  const auto it = direct_.find(v);
  if (it == direct_.end() || it->second.kind != Arg::Kind::Output || f_.results[it->second.index] != v) return false;
  const std::vector<Dim>& shape = f_.tensor_type(v).shape;
  return std::all_of(shape.begin(), shape.end(), [&](Dim d) {
    const auto symbol = d.as_symbol();
    return (symbol && std::find(found.begin(), found.end(), *symbol) != found.end()) || all_known(d);
  });
}

}  // namespace pliant::bufferize
