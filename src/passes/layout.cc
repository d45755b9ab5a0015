// Runs contractions over channels, and what lies between them, channels-last: a 1×1 convolution is then a plain matrix
// product and every kernel has the channels innermost. Transposes appear where the two parts meet: at the model's inputs and
// results and at operators that have no channels-last form. Transposes of the model between the two forms disappear the same
// way.
//
//   %2 = nn.conv(%0, %1) : f32[n, 8, h, w]     →     %2 = array.transpose(%0) {perm=[0, 2, 3, 1]} : f32[n, h, w, 3]
//   %3 = nn.relu(%2) : f32[n, 8, h, w]               %3 = nn.conv(%2, %1) {layout="NHWC"} : f32[n, h, w, 8]
//   return %3 "out"                                  %4 = nn.relu(%3) : f32[n, h, w, 8]
//                                                    %5 = array.transpose(%4) {perm=[0, 3, 1, 2]} : f32[n, 8, h, w]
//                                                    return %5 "out"
#include <unordered_map>

#include "ops/op.h"
#include "passes/layouts/assign.h"
#include "passes/pass.h"
#include "passes/rewrite/constants.h"
#include "passes/rewrite/liveness.h"

namespace pliant::passes {
namespace {

class LayoutRewriter {
 public:
  LayoutRewriter(const Function& f, expr::Context& ctx, Assignment assignment)
      : f_(f), ctx_(ctx), assignment_(std::move(assignment)), builder_(graph::FunctionBuilder::rewriting(f)) {}

  Result<FunctionPtr> run() {
    for (ValueId v : f_.params) held_[v].as_is = v;
    TRY(walk(f_.nodes));
    std::vector<ValueId> results;
    for (ValueId v : f_.results) {
      ValueId result = TRY(as_is(v, nullptr));
      PLIANT_CHECK(builder_.peek().values[result].type == f_.values[v].type)
          << "the layout pass changes a result's type to " << print(builder_.peek().values[result].type);
      if (builder_.peek().values[result].name.empty()) builder_.set_name(result, f_.values[v].name);
      results.push_back(result);
    }
    builder_.set_results(std::move(results), f_.result_names);
    return builder_.finish();
  }

 private:
  // The values of the new function that hold one value of the old, in each form that was needed so far.
  struct Held {
    ValueId as_is = kNoValue, last = kNoValue, full = kNoValue;
    LocPtr loc;
    ConstantPtr constant;
  };

  const TensorType& type(ValueId v) const { return f_.tensor_type(v); }

  Result<ValueId> transpose(ValueId v, const std::vector<int64_t>& perm, bool moves_nothing, const LocPtr& loc) {
    LocPtr derived = Loc::make_derived(loc, "layout");
    if (!moves_nothing)
      return TRY(ops::append_node(builder_, ctx_, "array.transpose", {{"perm", perm}}, {v}, 1, derived))[0];
    const Shape& from = builder_.peek().tensor_type(v).shape;
    std::vector<Dim> shape;
    for (int64_t axis : perm) shape.push_back(from[static_cast<size_t>(axis)]);
    return TRY(ops::append_node(builder_, ctx_, "array.reshape", {{"shape", shape}}, {v}, 1, derived))[0];
  }

  Result<ValueId> as_is(ValueId v, const LocPtr& user) {
    if (v == kNoValue) return v;
    auto held = held_.find(v);
    PLIANT_CHECK(held != held_.end()) << "value " << v << " is used before it is made";
    if (held->second.as_is != kNoValue) return held->second.as_is;
    const TensorType& t = type(v);
    ValueId out = TRY(transpose(held->second.last, to_first(t.shape.size()), is_free_to_move(t),
                                held->second.loc ? held->second.loc : user));
    return held_[v].as_is = out;
  }

  Result<ValueId> last(ValueId v, const LocPtr& user) {
    if (v == kNoValue) return v;
    Held& held = held_[v];
    if (held.last != kNoValue) return held.last;
    const TensorType& t = type(v);
    if (held.constant) return held.last = builder_.append_const(permute(*held.constant, to_last(t.shape.size())), held.loc);
    ValueId out = TRY(transpose(TRY(as_is(v, user)), to_last(t.shape.size()), is_free_to_move(t), user));
    return held_[v].last = out;
  }

  // Ones in front up to `rank` axes, then channels-last.
  Result<ValueId> full(ValueId v, size_t rank, const LocPtr& user) {
    const TensorType& t = type(v);
    Held& held = held_[v];
    if (held.full != kNoValue && builder_.peek().tensor_type(held.full).shape.size() == rank) return held.full;
    if (held.constant) {
      std::vector<int64_t> shape(rank - t.shape.size(), 1);
      shape.insert(shape.end(), held.constant->shape.begin(), held.constant->shape.end());
      return held.full = builder_.append_const(permute(*with_shape(held.constant, shape), to_last(rank)), held.loc);
    }
    std::vector<Dim> shape(rank - t.shape.size(), ctx_.constant(1));
    shape.insert(shape.end(), t.shape.begin(), t.shape.end());
    ValueId from = TRY(as_is(v, user));
    ValueId extended = TRY(ops::append_node(builder_, ctx_, "array.reshape", {{"shape", shape}}, {from}, 1,
                                            Loc::make_derived(user, "layout")))[0];
    ValueId out = TRY(transpose(extended, to_last(rank), is_free_to_move({t.dtype, shape}), user));
    return held_[v].full = out;
  }

  Status walk(const std::vector<Node>& nodes) {
    for (const Node& n : nodes) {
      if (assignment_.transposes.count(&n)) {
        TRY(name_form(n, assignment_.transposes.at(&n)));
      } else if (auto form = assignment_.last.find(&n); form != assignment_.last.end()) {
        TRY(append_last(n, form->second));
      } else {
        TRY(append_as_is(n));
      }
    }
    return ok();
  }

  // A transpose of the model: its result is a form of its input.
  Status name_form(const Node& n, ModelTranspose direction) {
    Held& out = held_[n.outputs[0]];
    out.loc = n.loc;
    if (direction == ModelTranspose::ToLast) {
      ValueId v = TRY(last(n.inputs[0], n.loc));
      held_[n.outputs[0]].as_is = v;
    } else {
      ValueId v = TRY(as_is(n.inputs[0], n.loc));
      held_[n.outputs[0]].last = v;
    }
    return ok();
  }

  Status append_last(const Node& n, const ChannelsLast& form) {
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      ValueId v = n.inputs[i];
      if (v == kNoValue || form.inputs[i] == Form::AsIs)
        inputs.push_back(TRY(as_is(v, n.loc)));
      else if (form.inputs[i] == Form::Last)
        inputs.push_back(TRY(last(v, n.loc)));
      else
        inputs.push_back(TRY(full(v, form.rank, n.loc)));
    }
    auto outputs = TRY(ops::append_node(builder_, ctx_, n.op, form.attrs, std::move(inputs), n.outputs.size(), n.loc));
    for (size_t i = 0; i < outputs.size(); ++i) {
      Held& held = held_[n.outputs[i]];
      held.loc = n.loc;
      (form.outputs[i] == Form::Last ? held.last : held.as_is) = outputs[i];
      builder_.set_name(outputs[i], f_.values[n.outputs[i]].name);
    }
    return ok();
  }

  Status append_as_is(const Node& n) {
    Node copy = n;
    for (ValueId& v : copy.inputs) v = TRY(as_is(v, n.loc));
    for (auto& region : copy.regions) {
      // What a region moves is not there after it.
      auto outside = held_;
      for (ValueId v : region->params) held_[v].as_is = v;
      builder_.begin_region(region->params);
      TRY(walk(region->nodes));
      std::vector<ValueId> results;
      for (ValueId v : region->results) results.push_back(TRY(as_is(v, n.loc)));
      region = builder_.end_region(std::move(results));
      held_ = std::move(outside);
    }
    for (ValueId v : copy.outputs) {
      Held& held = held_[v];
      held.as_is = v;
      held.loc = n.loc;
      if (n.op == "core.const") held.constant = n.attrs.constant("value");
    }
    builder_.append(std::move(copy));
    return ok();
  }

  const Function& f_;
  expr::Context& ctx_;
  Assignment assignment_;
  FunctionBuilder builder_;
  std::unordered_map<ValueId, Held> held_;
};

}  // namespace

PassDef pass_layout() {
  return {.name = "layout",
          .summary = "runs convolutions and what lies between them channels-last",
          .run = [](const FunctionPtr& f, PassContext& c) -> Result<FunctionPtr> {
            Assignment assignment = TRY(assign_layouts(*f, c.ctx));
            if (assignment.last.empty()) return f;
            FunctionPtr out = TRY(LayoutRewriter(*f, c.ctx, std::move(assignment)).run());
            return without_dead_nodes(out, c.ctx);
          }};
}

}  // namespace pliant::passes
