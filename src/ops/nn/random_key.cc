// Where a stream of random numbers begins: another place each time that the node runs.
#include <atomic>
#include <cstring>

#include "ops/op.h"

namespace pliant::ops {
namespace {

Result<std::vector<TensorType>> infer_types(DefineContext&) { return std::vector{TensorType{DType::U64, {}}}; }

// The reference draws from a count of its own, which is enough to tell streams apart.
Result<std::vector<te::Array>> reference(const Attrs&, const std::vector<te::ArrayView>&) {
  static std::atomic<uint64_t> count{0};
  const uint64_t key = (count.fetch_add(1) + 1) * 0x9e3779b97f4a7c15u;
  te::Array out{DType::U64, {}, std::vector<std::byte>(sizeof key)};
  std::memcpy(out.data.data(), &key, sizeof key);
  return std::vector{out};
}

}  // namespace

OpDef op_nn_random_key() {
  return {.name = "nn.random_key",
          .doc = "A number that no other node, iteration or run has; what a run gives follows from its seed.",
          .min_inputs = 0,
          .max_inputs = 0,
          .kernel = {.infer = infer_types, .reference = reference, .symbol = "random_key", .ints = nullptr}};
}

}  // namespace pliant::ops
