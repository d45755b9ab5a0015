// One row for each ONNX operator and range of opsets: how it becomes graph nodes.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "frontend/onnx/conversion.h"

namespace pliant::frontend::onnx {

// The graph values of the node's outputs; kNoValue for an output that is not asked for.
using ConvertFn = Result<Values> (*)(Conversion&);
// The outputs' elements, when all of them follow from known elements; nothing otherwise.
using FoldFn = std::optional<std::vector<Known>> (*)(Conversion&);

// Operators on sequences and optionals: values for the outputs, which may be inputs, or be known by their parts.
using ListFn = Result<std::vector<ValueRef>> (*)(Conversion&);

// Bits of Row::shape_inputs: input k holds sizes, counts or axes and not data.
constexpr uint32_t shape_input(int k) { return 1u << k; }
constexpr uint32_t kFrom1 = ~1u;  // every input but the first

struct Row {
  std::string_view op;  // of another domain than ONNX's own: `domain.Name`
  int64_t since;        // the row holds from this opset to the next row of the same operator
  size_t required_inputs;
  ConvertFn convert;
  uint32_t shape_inputs = 0;
  FoldFn fold = nullptr;
  ListFn list = nullptr;  // in place of `convert`
};
using Rows = std::vector<Row>;

// The rows of one family each.
Rows math_rows();
Rows activation_rows();
Rows reduce_rows();
Rows shape_rows();
Rows array_rows();
Rows index_rows();
Rows slice_rows();
Rows resize_rows();
Rows conv_rows();
Rows pool_rows();
Rows norm_rows();
Rows matmul_rows();
Rows einsum_rows();
Rows attention_rows();
Rows rnn_rows();
Rows quant_rows();
Rows microsoft_rows();
Rows signal_rows();
Rows vision_rows();
Rows random_rows();
Rows loss_rows();
Rows sequence_rows();
Rows optional_rows();

// The row that holds for an operator at an opset, or null.
const Row* find_row(std::string_view domain, std::string_view op, int64_t opset);

// Whether the node has the inputs and attributes that its operator asks for.
Status check_signature(const Row& row, const Conversion& c);

}  // namespace pliant::frontend::onnx
