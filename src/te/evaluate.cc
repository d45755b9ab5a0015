// The reference evaluator: stages in order, each into memory of its own.
#include <algorithm>

#include "te/evaluator.h"

namespace pliant::te {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 46;

std::string type_text(DType t, const std::vector<int64_t>& shape) {
  std::string out = std::string(pliant::name_of(t)) + "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

}  // namespace

std::vector<int64_t> row_major(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t s = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = s;
    s *= shape[i];
  }
  return strides;
}

int64_t volume(const std::vector<int64_t>& extents) {
  int64_t n = 1;
  for (int64_t e : extents) n *= e;
  return n;
}

size_t pick_row(const std::vector<int64_t>& extents, size_t from, size_t to) {
  size_t row = to - 1;
  for (size_t i = to; i-- > from;) {
    if (extents[row] < 16 && extents[i] > 4 * extents[row]) row = i;
  }
  return row;
}

std::vector<size_t> Space::others(size_t from, size_t to) const {
  std::vector<size_t> out;
  for (size_t i = from; i < to; ++i) {
    if (i != row) out.push_back(i);
  }
  return out;
}

Result<std::vector<int64_t>> Evaluator::shape_of(const std::vector<Dim>& dims, const std::string& what) const {
  std::vector<int64_t> shape;
  int64_t count = 1;
  for (Dim d : dims) {
    const std::optional<int64_t> v = expr::evaluate(d, symbols_);
    if (!v) return make_error("unbound-symbol", "", "size " + d.str() + " of '" + what + "' has no value");
    if (*v < 0) return make_error("negative-size", "", "size " + d.str() + " of '" + what + "' is " + std::to_string(*v));
    shape.push_back(*v);
    if (__builtin_mul_overflow(count, *v, &count) || count > kMaxElements) {
      return make_error("too-large", "", "'" + what + "' has too many elements");
    }
  }
  return shape;
}

Status Evaluator::run(const Tensor& t) {
  Array out;
  out.dtype = t->dtype;
  out.shape = TRY(shape_of(t->shape, t->name));
  out.data.resize(static_cast<size_t>(volume(out.shape) * byte_size(t->dtype)));
  switch (t->kind) {
    case Kind::Input: return make_error("missing-input", "", "input '" + t->name + "' has no value");
    case Kind::Map: TRY(run_map(t->index, t->body, t->dtype, out)); break;
    case Kind::Reduce: TRY(run_reduce(*t, out)); break;
    case Kind::Scan: TRY(run_scan(*t, out)); break;
    case Kind::Scatter: TRY(run_scatter(*t, out)); break;
  }
  Array& kept = arrays_[t->id] = std::move(out);
  bind(t->id, Memory{kept.data.data(), kept.dtype, kept.shape, row_major(kept.shape), t->name});
  return ok();
}

Status Evaluator::check(const TensorDef& t) {
  auto it = memory_.find(t.id);
  if (it == memory_.end()) return make_error("missing-input", "", "input '" + t.name + "' has no value");
  Memory& memory = it->second;
  const std::vector<int64_t> shape = TRY(shape_of(t.shape, t.name));
  if (memory.dtype != t.dtype || memory.shape != shape) {
    return make_error("shape-mismatch", "",
                      "'" + t.name + "' needs " + type_text(t.dtype, shape) + " but its value is " +
                          type_text(memory.dtype, memory.shape));
  }
  memory.name = t.name;
  return ok();
}

Result<std::vector<Array>> evaluate(const std::vector<Tensor>& outputs,
                                    const std::vector<std::pair<TensorId, ArrayView>>& inputs, const Bindings& symbols) {
  std::unordered_map<SymbolId, int64_t> values;
  for (const auto& [id, v] : symbols) values[id] = v;
  Evaluator evaluator([&](SymbolId id) -> std::optional<int64_t> {
    auto it = values.find(id);
    if (it == values.end()) return std::nullopt;
    return it->second;
  });
  for (const auto& [id, view] : inputs) {
    evaluator.bind(id, Memory{view.data, view.dtype, view.shape, row_major(view.shape), ""});
  }
  const std::vector<Tensor> stages = stages_of(outputs);
  // The stage after which a tensor is not read any more.
  std::unordered_map<TensorId, size_t> last_use;
  for (size_t i = 0; i < stages.size(); ++i) {
    for (const Tensor& read : stages[i]->reads) last_use[read->id] = i;
  }
  for (const Tensor& t : outputs) last_use[t->id] = stages.size();
  for (size_t i = 0; i < stages.size(); ++i) {
    for (const Tensor& read : stages[i]->reads) TRY(evaluator.check(*read));
    TRY(evaluator.run(stages[i]));
    for (const Tensor& read : stages[i]->reads) {
      if (last_use.at(read->id) == i && read->kind != Kind::Input) evaluator.release(read->id);
    }
  }
  std::vector<Array> results;
  for (const Tensor& t : outputs) {
    const Memory* memory = evaluator.memory(t->id);
    if (!memory) return make_error("missing-input", "", "input '" + t->name + "' has no value");
    const bool again = std::count(outputs.begin(), outputs.end(), t) > 1;
    if (t->kind != Kind::Input && !again) {
      results.push_back(std::move(evaluator.array(t->id)));
      continue;
    }
    const size_t bytes = static_cast<size_t>(volume(memory->shape) * byte_size(memory->dtype));
    results.push_back(Array{memory->dtype, memory->shape, std::vector<std::byte>(memory->data, memory->data + bytes)});
  }
  return results;
}

}  // namespace pliant::te
