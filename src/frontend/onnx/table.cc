#include "frontend/onnx/table.h"

#include <string>
#include <unordered_map>

namespace pliant::frontend::onnx {
namespace {

using Table = std::unordered_map<std::string_view, Rows>;

Table make_table() {
  Table table;
  for (auto family : {&math_rows,   &activation_rows, &reduce_rows, &shape_rows,    &array_rows,     &index_rows,
                      &slice_rows,  &resize_rows,     &conv_rows,   &pool_rows,     &norm_rows,      &matmul_rows,
                      &einsum_rows, &attention_rows,  &rnn_rows,    &quant_rows,    &microsoft_rows, &signal_rows,
                      &vision_rows, &random_rows,     &loss_rows,   &sequence_rows, &optional_rows}) {
    for (const Row& row : family()) table[row.op].push_back(row);
  }
  return table;
}

}  // namespace

const Row* find_row(std::string_view domain, std::string_view op, int64_t opset) {
  static const Table table = make_table();
  const std::string name = domain.empty() ? std::string(op) : std::string(domain) + "." + std::string(op);
  auto it = table.find(std::string_view(name));
  if (it == table.end()) return nullptr;
  const Row* best = nullptr;
  for (const Row& row : it->second) {
    if (row.since <= opset && (best == nullptr || row.since > best->since)) best = &row;
  }
  return best;
}

}  // namespace pliant::frontend::onnx
