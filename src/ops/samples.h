// Samples of operators: one use each, as the text in OpDef::samples gives it.
//
//   f32[M,N] i64[K]@-3..3 _ M=3 N=5 K=2 axis=1 shape=[M*2,N] outputs=2
//
// First the inputs in order (`_` is an absent one; `@lo..hi` bounds the values), then in any order values of the symbols
// (names in capitals), attributes, and the number of outputs where it is not 1.
#pragma once
#include "ops/op.h"

namespace pliant::ops {

struct SampleInput {
  bool present = true;
  DType dtype = DType::F32;
  std::vector<std::string> axes;  // symbols and numbers
  bool bounded = false;
  double low = 0, high = 0;  // values are in [low, high), or [low, high] for floats
};
struct Sample {
  std::vector<SampleInput> inputs;
  std::map<std::string, int64_t> symbols;
  std::map<std::string, std::string> attrs;
  size_t outputs = 1;
};
Result<Sample> parse_sample(const OpDef& op, const std::string& text);

// A function with the one node, whose params are the present inputs and, where a symbol is no axis of an input, their values
// in a last param `sizes`. Symbols become symbols of `ctx` or, with `concrete`, constants.
Result<graph::FunctionPtr> build_sample(const OpDef& op, const Sample& sample, expr::Context& ctx, bool concrete);
// Arrays for the params: the same values each time.
std::vector<te::Array> sample_data(const Sample& sample, uint64_t seed);

}  // namespace pliant::ops
