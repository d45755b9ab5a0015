// One node as tensor expressions: a compute operator, a small constant, or a kernel that is a group of those.
#include <cstring>
#include <unordered_map>

#include "graph/kernel.h"
#include "ops/op.h"

namespace pliant::ops {

using graph::Function;
using graph::kNoValue;
using graph::Node;

namespace {

constexpr int64_t kMaxInlineElements = 16;

uint64_t bits_at(const graph::ConstantData& c, int64_t element) {
  size_t size = static_cast<size_t>(byte_size(c.dtype));
  uint64_t bits = 0;
  std::memcpy(&bits, c.data + static_cast<size_t>(element) * size, size);
  if (is_signed_int(c.dtype) && size < 8) {
    unsigned shift = static_cast<unsigned>(64 - 8 * size);
    bits = static_cast<uint64_t>(static_cast<int64_t>(bits << shift) >> shift);
  }
  return bits;
}

// A Map that selects among the elements by the flat position.
te::Tensor inline_constant(te::Builder& b, const graph::ConstantData& c) {
  int64_t count = graph::element_count(c);
  PLIANT_CHECK(count <= kMaxInlineElements) << "a constant of " << count << " elements cannot be part of an expression";
  std::vector<Dim> shape;
  for (int64_t d : c.shape) shape.push_back(b.ctx().constant(d));
  return b.map("const", std::move(shape), [&](const te::Index& i) {
    Dim flat = b.ctx().constant(0);
    for (size_t k = 0; k < i.size(); ++k) flat = flat * c.shape[k] + i[k];
    if (count == 0) return expr::make_const_bits(b.ctx(), c.dtype, 0);
    expr::Scalar out = expr::make_const_bits(b.ctx(), c.dtype, bits_at(c, count - 1));
    for (int64_t e = count - 2; e >= 0; --e)
      out = expr::make_select(expr::equal(flat, b.ctx().constant(e)), expr::make_const_bits(b.ctx(), c.dtype, bits_at(c, e)),
                              out);
    return out;
  });
}

struct Definer {
  const Function& f;
  te::Builder& builder;
  Defined& out;
  std::unordered_map<ValueId, te::Tensor> values;

  Result<std::vector<te::Tensor>> compute(const Node& node) {
    if (node.op == "core.const") return std::vector<te::Tensor>{inline_constant(builder, *node.attrs.constant("value"))};
    const OpDef* op = find_op(node.op);
    PLIANT_CHECK(op != nullptr && op->compute != nullptr) << node.op << " has no tensor expressions";
    Attrs attrs = TRY(normalise_attrs(*op, node.attrs, builder.ctx(), node.loc));
    std::vector<te::Tensor> inputs;
    for (ValueId v : node.inputs) inputs.push_back(v == kNoValue ? nullptr : values.at(v));
    DefineContext c(builder, attrs, std::move(inputs), node.outputs.size(), node.loc);
    std::vector<te::Tensor> tensors = TRY(op->compute(c));
    out.constraints.insert(out.constraints.end(), c.constraints().begin(), c.constraints().end());
    out.checks.insert(out.checks.end(), c.checks().begin(), c.checks().end());
    tensors.resize(node.outputs.size());
    return tensors;
  }

  Status region(const Node& kernel) {
    PLIANT_CHECK(kernel.regions.size() == 1) << "a kernel has one region";
    const graph::Region& r = *kernel.regions[0];
    PLIANT_CHECK(r.params.size() == kernel.inputs.size()) << "a kernel has a param for each input";
    for (size_t i = 0; i < r.params.size(); ++i) values[r.params[i]] = out.inputs[i];
    for (const Node& n : r.nodes) {
      std::vector<te::Tensor> tensors = TRY(compute(n));
      for (size_t i = 0; i < n.outputs.size(); ++i)
        if (n.outputs[i] != kNoValue) values[n.outputs[i]] = tensors[i];
    }
    for (ValueId v : r.results) {
      auto at = values.find(v);
      PLIANT_CHECK(at != values.end()) << "a result of a kernel is not defined in its region";
      out.outputs.push_back(at->second);
    }
    return ok();
  }
};

}  // namespace

Result<Defined> define(const Function& f, const Node& node, te::Builder& builder) {
  Defined out;
  Definer definer{f, builder, out, {}};
  for (ValueId v : node.inputs) {
    if (v == kNoValue) {
      out.inputs.push_back(nullptr);
      continue;
    }
    te::Tensor& known = definer.values[v];
    const TensorType& type = f.tensor_type(v);
    std::string name = f.value(v).name.empty() ? "v" + std::to_string(v) : f.value(v).name;
    if (known == nullptr) known = builder.input(std::move(name), type.dtype, type.shape);
    out.inputs.push_back(known);
  }
  if (graph::is_kernel(node)) {
    TRY(definer.region(node));
  } else {
    out.outputs = TRY(definer.compute(node));
  }
  return out;
}

}  // namespace pliant::ops
