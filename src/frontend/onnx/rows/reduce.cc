// Reductions. Their axes were an attribute first and are an input since opset 13 (ReduceSum) or 18.
#include "frontend/onnx/data_axes.h"
#include "frontend/onnx/fold.h"
#include "frontend/onnx/rows/direct.h"

namespace pliant::frontend::onnx {
namespace {

// How many axes are named where the type of `axes` does not tell. None are all of them, or none.
SizeCount axes_to_reduce(Conversion& c, bool keeps) {
  SizeCount out{.most = c.rank(0)};
  const std::optional<int64_t> declared = keeps ? std::nullopt : c.declared_rank(0);
  if (declared && *declared > 0 && *declared < c.rank(0)) out.expected = c.rank(0) - *declared;
  return out;
}

template <OpName op>
Result<Values> reduce(Conversion& c) {
  AxesArgument axes = axes_argument(c);
  const bool none_is_none = c.bool_attr("noop_with_empty_axes", false);
  if (!axes.is_known && c.rank(0) == 0) c.require_equal(c.count(c.shape(1)), c.num(0), "{a} axes to reduce of none");
  if (!axes.is_known && c.rank(0) > 0) {
    if (c.bool_attr("keepdims", true))
      return Values{TRY(reduced_at_run_time(c, op.text, 1, c.count(c.shape(1)), none_is_none))};
    const int64_t count = TRY(c.size_count(1, "the axes to reduce", axes_to_reduce(c, false)));
    if (count > 0) {
      if (count > c.rank(0)) return c.fail("wrong-count", "more axes are reduced than there are");
      const ValueId kept = TRY(reduced_at_run_time(c, op.text, 1, c.num(count), none_is_none));
      return Values{TRY(c.reshape(kept, TRY(squeezed_at_run_time(c, 1, count))))};
    }
  }
  std::vector<int64_t> list = TRY(c.axes(axes.given.value_or(std::vector<int64_t>{}), c.rank(0)));
  // With noop_with_empty_axes, no axes means that each element is its own group.
  if (list.empty() && !none_is_none) {
    for (int64_t i = 0; i < c.rank(0); ++i) list.push_back(i);
  }
  Attrs attrs{{"axes", list}, {"keepdims", c.bool_attr("keepdims", true)}};
  return Values{TRY(c.append(op.text, std::move(attrs), {c.in(0)}))};
}

template <OpName op>
Result<Values> arg(Conversion& c) {
  Attrs attrs{{"axis", c.int_attr("axis", 0)},
              {"keepdims", c.bool_attr("keepdims", true)},
              {"select_last", c.bool_attr("select_last_index", false)}};
  return Values{TRY(c.append(op.text, std::move(attrs), {c.in(0)}))};
}

template <OpName op>
Folded fold_all(Conversion& c) {
  return fold_reduce(c, op.text);
}

}  // namespace

Rows reduce_rows() {
  return {
      {"ReduceSum", 1, 1, &reduce<"reduce.sum">, kFrom1, &fold_all<"reduce.sum">},
      {"ReduceMean", 1, 1, &reduce<"reduce.mean">, kFrom1},
      {"ReduceMax", 1, 1, &reduce<"reduce.max">, kFrom1, &fold_all<"reduce.max">},
      {"ReduceMin", 1, 1, &reduce<"reduce.min">, kFrom1, &fold_all<"reduce.min">},
      {"ReduceProd", 1, 1, &reduce<"reduce.prod">, kFrom1, &fold_all<"reduce.prod">},
      {"ReduceL1", 1, 1, &reduce<"reduce.l1">, kFrom1},
      {"ReduceL2", 1, 1, &reduce<"reduce.l2">, kFrom1},
      {"ReduceSumSquare", 1, 1, &reduce<"reduce.sum_square">, kFrom1},
      {"ReduceLogSum", 1, 1, &reduce<"reduce.log_sum">, kFrom1},
      {"ReduceLogSumExp", 1, 1, &reduce<"reduce.log_sum_exp">, kFrom1},
      {"ArgMax", 1, 1, &arg<"reduce.arg_max">},
      {"ArgMin", 1, 1, &arg<"reduce.arg_min">},
  };
}

}  // namespace pliant::frontend::onnx
