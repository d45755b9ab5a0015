#include "passes/layouts/channels_last.h"

#include <algorithm>
#include <functional>
#include <map>

#include "passes/rewrite/known.h"
#include "passes/rewrite/region_facts.h"

namespace pliant::passes {
namespace {

// Where an axis (in [-rank, rank)) of [N, C, spatial…] stands in the channels-last form.
int64_t axis_in_last(int64_t axis, size_t rank) {
  auto r = static_cast<int64_t>(rank);
  if (axis < 0) axis += r;
  return axis == 0 ? 0 : axis == 1 ? r - 1 : axis - 1;
}

using Answer = std::optional<ChannelsLast>;

bool has_channels(const TensorType* t) { return t != nullptr && t->shape.size() >= 3 && t->shape.size() <= 5; }

struct Query {
  const Function& f;
  const Node& node;
  expr::Context& ctx;
  const TensorType* in(size_t i) const {
    return i < node.inputs.size() && node.inputs[i] != kNoValue ? f.value(node.inputs[i]).type.tensor() : nullptr;
  }
  const TensorType* out(size_t i) const { return f.value(node.outputs[i]).type.tensor(); }
  // Input 0 and every output channels-last, the rest as they are.
  ChannelsLast first_input() const {
    ChannelsLast c;
    c.inputs.assign(node.inputs.size(), Form::AsIs);
    c.inputs[0] = Form::Last;
    c.outputs.assign(node.outputs.size(), Form::Last);
    c.attrs = node.attrs;
    return c;
  }
};

// numpy broadcasting: every operand in the layout of the result.
ChannelsLast broadcasting(const Query& q) {
  ChannelsLast c = q.first_input();
  c.rank = q.out(0)->shape.size();
  for (size_t i = 0; i < q.node.inputs.size(); ++i) {
    const TensorType* t = q.in(i);
    if (t == nullptr || t->shape.empty())
      c.inputs[i] = Form::AsIs;
    else
      c.inputs[i] = t->shape.size() == c.rank ? Form::Last : Form::Full;
  }
  return c;
}

Answer with_axis(const Query& q) {
  auto axis = known_int(q.node.attrs, "axis");
  if (!has_channels(q.in(0)) || !axis) return std::nullopt;
  ChannelsLast c = q.first_input();
  c.attrs.set("axis", axis_in_last(*axis, q.in(0)->shape.size()));
  return c;
}

Answer concat(const Query& q) {
  Answer c = with_axis(q);
  if (c) c->inputs.assign(q.node.inputs.size(), Form::Last);
  return c;
}

// The default axis is the last one, which is not a default any more.
Answer along_last_axis_by_default(const Query& q) {
  if (!has_channels(q.in(0))) return std::nullopt;
  ChannelsLast c = q.first_input();
  c.attrs.set("axis", axis_in_last(ops::attrs_of(q.node).as_int("axis"), q.in(0)->shape.size()));
  return c;
}

// Every axis of `axes`, or of all where the attribute is absent.
Answer with_axes(const Query& q) {
  if (!has_channels(q.in(0))) return std::nullopt;
  size_t rank = q.in(0)->shape.size();
  std::vector<int64_t> axes(rank);
  for (size_t k = 0; k < rank; ++k) axes[k] = static_cast<int64_t>(k);
  if (q.node.attrs.has("axes")) {
    auto listed = known_ints(q.node.attrs, "axes");
    if (!listed) return std::nullopt;
    axes = *listed;
  }
  for (int64_t& axis : axes) axis = axis_in_last(axis, rank);
  ChannelsLast c = q.first_input();
  c.attrs.set("axes", std::move(axes));
  return c;
}

// Axes that stay keep their order, channels last when they and the batch stay and something is left between them.
Answer reduction(const Query& q) {
  Answer c = with_axes(q);
  if (!c || ops::attrs_of(q.node).as_bool("keepdims")) return c;
  size_t rank = q.in(0)->shape.size(), rank_left = q.out(0)->shape.size();
  std::vector<bool> reduced(rank, false);
  for (int64_t axis : known_ints(q.node.attrs, "axes").value_or(std::vector<int64_t>{}))
    reduced[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis)] = true;
  if (reduced[1] || rank_left <= 1 || (rank_left == 2 && !reduced[0])) {
    c->outputs[0] = Form::AsIs;
    return c;
  }
  if (reduced[0]) return std::nullopt;
  return c;
}

Answer arg_reduction(const Query& q) {
  if (!ops::attrs_of(q.node).as_bool("keepdims") || !has_channels(q.in(0))) return std::nullopt;
  ChannelsLast c = q.first_input();
  c.attrs.set("axis", axis_in_last(ops::attrs_of(q.node).as_int("axis"), q.in(0)->shape.size()));
  return c;
}

std::vector<Dim> reordered(const std::vector<Dim>& per_axis, size_t rank, size_t offset) {
  std::vector<Dim> out;
  for (int64_t axis : to_last(rank)) out.push_back(per_axis[offset + static_cast<size_t>(axis)]);
  return out;
}

// Lists of one size an axis: tile, expand.
Answer with_sizes(const Query& q, const char* name) {
  size_t rank = has_channels(q.in(0)) ? q.in(0)->shape.size() : 0;
  std::vector<Dim> sizes = dims_of(q.node.attrs, name, q.ctx);
  if (rank == 0 || sizes.size() != rank) return std::nullopt;
  ChannelsLast c = q.first_input();
  c.attrs.set(name, reordered(sizes, rank, 0));
  return c;
}

Answer pad(const Query& q) {
  size_t rank = has_channels(q.in(0)) ? q.in(0)->shape.size() : 0;
  std::vector<Dim> pads = dims_of(q.node.attrs, "pads", q.ctx);
  if (rank == 0 || pads.size() != 2 * rank) return std::nullopt;
  std::vector<Dim> begins = reordered(pads, rank, 0), ends = reordered(pads, rank, rank);
  begins.insert(begins.end(), ends.begin(), ends.end());
  ChannelsLast c = q.first_input();
  c.attrs.set("pads", std::move(begins));
  return c;
}

// Indices of rank 1 keep the rank.
Answer gather(const Query& q) {
  if (!has_channels(q.in(0)) || q.in(1) == nullptr || q.in(1)->shape.size() != 1) return std::nullopt;
  ChannelsLast c = q.first_input();
  c.attrs.set("axis", axis_in_last(ops::attrs_of(q.node).as_int("axis"), q.in(0)->shape.size()));
  return c;
}

// Spatial axes may be merged, split, dropped and added without moving an element, channels-last or not.
Answer reshape(const Query& q) {
  const TensorType *x = q.in(0), *y = q.out(0);
  if (!has_channels(x) || y == nullptr || y->shape.size() < 2 || y->shape.size() > 5) return std::nullopt;
  if (x->shape[0] != y->shape[0] || x->shape[1] != y->shape[1]) return std::nullopt;
  ChannelsLast c = q.first_input();
  if (y->shape.size() == 2) c.outputs[0] = Form::AsIs;
  c.attrs.set("shape", reordered(y->shape, y->shape.size(), 0));
  return c;
}

// One scale for all, or one for each position of an axis.
Answer quantisation(const Query& q) {
  if (!has_channels(q.in(0)) || q.in(1) == nullptr || q.in(1)->shape.size() > 1 ||
      ops::attrs_of(q.node).as_int("block_size") != 0)
    return std::nullopt;
  ChannelsLast c = q.first_input();
  if (q.in(1)->shape.size() == 1)
    c.attrs.set("axis", axis_in_last(ops::attrs_of(q.node).as_int("axis"), q.in(0)->shape.size()));
  return c;
}

Answer dynamic_quantisation(const Query& q) {
  if (!has_channels(q.in(0))) return std::nullopt;
  ChannelsLast c = q.first_input();
  c.outputs = {Form::Last, Form::AsIs, Form::AsIs};
  return c;
}

// Operators with an attribute `layout`; flat positions of a max pool are those of NCHW.
Answer with_layout(const Query& q) {
  if (!has_channels(q.in(0)) || ops::attrs_of(q.node).as_string("layout") != "NCHW" || q.node.outputs.size() != 1)
    return std::nullopt;
  ChannelsLast c = q.first_input();
  c.attrs.set("layout", std::string("NHWC"));
  return c;
}

// Whether the node sums over channels (axis 1) of input 0: with one channel a group, planes do as well as channels for the
// vectors.
Result<bool> sums_over_channels(const Query& q) {
  te::Builder builder(q.ctx);
  const ops::Defined d = TRY(ops::define(q.f, q.node, builder));
  const std::vector<te::Tensor> stages = te::stages_of(d.outputs);
  return std::any_of(stages.begin(), stages.end(), [&](const te::Tensor& t) {
    if (t->kind != te::Kind::Reduce || t->combiner != te::Combiner::Sum) return false;
    const std::vector<expr::Scalar> loads = expr::loads_of(t->body);
    return std::any_of(loads.begin(), loads.end(), [&](expr::Scalar load) {
      if (load->tensor != d.inputs[0]->id) return false;
      for (size_t r = 0; r < t->reduce_index.size(); ++r)
        if (!t->reduce_extent[r].is_const(1) && expr::uses_symbol(load->index[1], t->reduce_index[r])) return true;
      return false;
    });
  });
}

using Rule = std::function<Answer(const Query&)>;

// Named rules. An operator is here because its definition does not say what its attributes mean: `axis` is one axis of input
// 0 for these, but where normalisation begins for nn.layer_norm and an axis of the output for array.one_hot; `axes` are
// axes that array.slice and array.resize list with sizes in the same order; `pads`, `shape` and `repeats` are per axis. A
// reshape has its rule because it moves nothing in either layout, which its flat indices do not show, and quantisation
// because a scale for each position of an axis is broadcast along it. Which operators are elementwise, reductions, or know
// layouts is read off their definitions.
const std::map<std::string, Rule>& named_rules() {
  static const std::map<std::string, Rule> table = [] {
    std::map<std::string, Rule> t;
    auto add = [&](const Rule& rule, std::initializer_list<const char*> names) {
      for (const char* name : names) t[name] = rule;
    };
    add(concat, {"array.concat"});
    add(with_axis, {"array.split", "array.cumsum", "array.cumprod"});
    add(along_last_axis_by_default, {"nn.softmax", "nn.log_softmax", "nn.hardmax", "nn.lp_norm", "array.top_k"});
    add(with_axes, {"array.slice", "array.resize"});
    add([](const Query& q) { return with_sizes(q, "repeats"); }, {"array.tile"});
    add([](const Query& q) { return with_sizes(q, "shape"); }, {"array.expand"});
    add(pad, {"array.pad"});
    add(gather, {"array.gather"});
    add(reshape, {"array.reshape"});
    add(quantisation, {"quant.quantize", "quant.dequantize"});
    add(dynamic_quantisation, {"quant.dynamic_quantize"});
    return t;
  }();
  return table;
}

}  // namespace

namespace {

// Whether the operator's definition has an attribute of this name.
bool declares(const Node& n, const char* name) {
  const ops::OpDef* op = ops::find_op(n.op);
  return op != nullptr && op->compute &&
         std::any_of(op->attrs.begin(), op->attrs.end(), [&](const ops::AttrSpec& a) { return a.name == name; });
}

}  // namespace

std::vector<int64_t> to_last(size_t rank) {
  std::vector<int64_t> perm{0};
  for (size_t k = 2; k < rank; ++k) perm.push_back(static_cast<int64_t>(k));
  if (rank > 1) perm.push_back(1);
  return perm;
}

std::vector<int64_t> to_first(size_t rank) {
  std::vector<int64_t> perm{0};
  if (rank > 1) perm.push_back(static_cast<int64_t>(rank) - 1);
  for (size_t k = 1; k + 1 < rank; ++k) perm.push_back(static_cast<int64_t>(k));
  return perm;
}

Result<std::optional<ChannelsLast>> channels_last(const Function& f, const Node& n, expr::Context& ctx) {
  const Query query{f, n, ctx};
  if (auto rule = named_rules().find(n.op); rule != named_rules().end()) return rule->second(query);
  if (declares(n, "layout")) {
    Answer c = with_layout(query);
    if (c) c->wanted = TRY(sums_over_channels(query));
    return c;
  }
  if (declares(n, "keepdims")) return declares(n, "axes") ? reduction(query) : arg_reduction(query);
  if (n.inputs.empty() || n.outputs.empty() || !has_channels(query.out(0))) return Answer();
  return TRY(is_elementwise(f, n, ctx)) ? Answer(broadcasting(query)) : Answer();
}

}  // namespace pliant::passes
