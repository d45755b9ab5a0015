// Elementwise work on the result of a reduction, done where the result still is in registers.
#pragma once
#include "lower/stages.h"

namespace pliant::lower {

// Every epilogue stage reads the root, and earlier epilogues, at its own position under a permutation of axes.
struct Epilogue {
  std::vector<Scalar> values;           // over the root's index; loads of root->id stand for the sum
  std::vector<std::vector<Dim>> index;  // of each output, over the root's index
  std::vector<te::Tensor> outputs;
};
// The last reduction, where all that follows it is its epilogue and no stage is a scatter.
std::optional<size_t> last_reduction(expr::Context& ctx, const StageList& list);
// Nothing but the result of `root`, stored as it is.
Epilogue no_epilogue(expr::Context& ctx, const te::Tensor& root);
// Nothing when a stage after `root` is anything else.
std::optional<Epilogue> make_epilogue(expr::Context& ctx, const StageList& list, size_t root);
// A definition's own position.
te::Index index_of(expr::Context& ctx, const te::TensorDef& t);
// The loops of a definition: over its index, then over its reduction.
std::vector<Loop> loops_of(const te::TensorDef& t);
// The loops of `root` replaced by positions.
expr::DimMap index_map(const te::TensorDef& root, const te::Index& index, const te::Index& reduce);
// `sum` in the place of the stage of `t`, with `e` as it follows from it: map_of gives, for an index of `sum`, the one of
// `t`; `total` the value of `t` there from that of `sum`, where they differ.
struct Recast {
  Stage stage;
  Epilogue epilogue;
};
Recast recast(expr::Context& ctx, const te::TensorDef& t, const te::Tensor& sum, const Epilogue& e,
              const std::function<expr::DimMap(const te::Index&)>& map_of,
              const std::function<Scalar(const expr::DimMap&, Scalar sum)>& total = nullptr);
// The value with flat loads, in which a load of `acc` stands for the result of `root`.
Scalar flat_epilogue(expr::Context& ctx, Scalar value, const te::TensorDef& root, expr::TensorId acc,
                     const ShapeTable& shapes);

}  // namespace pliant::lower
