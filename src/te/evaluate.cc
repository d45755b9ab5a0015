// The reference evaluator: each stage a loop over rows of a RowProgram.
#include <algorithm>
#include <cstring>

#include "expr/arith.h"
#include "te/row_program.h"
#include "te/strided_copy.h"

namespace pliant::te {
namespace {

namespace arith = expr::arith;

constexpr int64_t kMaxElements = int64_t{1} << 46;

std::vector<int64_t> row_major(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t s = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = s;
    s *= shape[i];
  }
  return strides;
}

// Steps through the coordinates of `extents` in order, leaving position `skip` at 0.
class Odometer {
 public:
  Odometer(const std::vector<int64_t>& extents, std::vector<size_t> positions) : extents_(extents), positions_(std::move(positions)) {}
  bool empty() const {
    return std::any_of(positions_.begin(), positions_.end(), [&](size_t p) { return extents_[p] <= 0; });
  }
  void reset(std::vector<int64_t>& coordinates) const {
    for (size_t p : positions_) coordinates[p] = 0;
  }
  bool next(std::vector<int64_t>& coordinates) const {
    for (size_t i = positions_.size(); i-- > 0;) {
      const size_t p = positions_[i];
      if (++coordinates[p] < extents_[p]) return true;
      coordinates[p] = 0;
    }
    return false;
  }

 private:
  const std::vector<int64_t>& extents_;
  std::vector<size_t> positions_;
};

// acc = combine(acc, lane) in the type of the running value.
expr::BinaryOp operation_of(Combiner c) {
  switch (c) {
    case Combiner::Sum: return expr::BinaryOp::Add;
    case Combiner::Prod: return expr::BinaryOp::Mul;
    case Combiner::Max: return expr::BinaryOp::Max;
    case Combiner::Min: return expr::BinaryOp::Min;
    case Combiner::And: return expr::BinaryOp::And;
    case Combiner::Or: return expr::BinaryOp::Or;
    default: break;
  }
  PLIANT_CHECK(false) << name_of(c) << " has no operation";
  __builtin_unreachable();
}

void set_identity(Combiner c, DType t, void* lanes, int64_t n) {
  arith::with_type(t, [&](auto tag) {
    using T = decltype(tag);
    using Limits = std::numeric_limits<T>;
    T v = T(0);
    if (c == Combiner::Prod || c == Combiner::And) v = T(1);
    if (c == Combiner::Max) v = Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::lowest();
    if (c == Combiner::Min) v = Limits::has_infinity ? Limits::infinity() : Limits::max();
    std::fill_n(static_cast<T*>(lanes), n, v);
  });
}

bool is_arg(Combiner c) { return c >= Combiner::ArgMax && c <= Combiner::ArgMinLast; }

template <class T>
bool is_better(Combiner c, T candidate, T best) {
  const bool last = c == Combiner::ArgMaxLast || c == Combiner::ArgMinLast;
  if (candidate != candidate) return best == best || last;
  if (best != best) return false;
  if (candidate == best) return last;
  return c == Combiner::ArgMax || c == Combiner::ArgMaxLast ? best < candidate : candidate < best;
}

// Adds lanes one after the other to a single running value.
void fold_lanes(Combiner c, DType t, const void* lanes, int64_t n, void* acc) {
  arith::with_type(t, [&](auto tag) {
    using T = decltype(tag);
    arith::with_binary(operation_of(c), [&](auto op) {
      T a = *static_cast<T*>(acc);
      const T* x = static_cast<const T*>(lanes);
      for (int64_t k = 0; k < n; ++k) {
        a = arith::binary<decltype(op)::value, T>(a, x[k]);
        if constexpr (std::is_same_v<T, float>) {
          if (t != DType::F32) a = arith::round_to(t, a);
        }
      }
      *static_cast<T*>(acc) = a;
    });
  });
}

class Evaluator {
 public:
  // What a stage loops over: the axes of the output, then the reduced ones.
  struct Space {
    std::vector<SymbolId> variables;
    std::vector<int64_t> extents;
    size_t output_rank = 0;
    size_t row = 0;
  };

  explicit Evaluator(SymbolValue symbols) : symbols_(std::move(symbols)) {}

  void bind(TensorId id, Memory memory) { memory_[id] = std::move(memory); }

  Result<std::vector<int64_t>> shape_of(const std::vector<Dim>& dims, const std::string& what) const {
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

  Status run(const Tensor& t);
  Array& array(TensorId id) { return arrays_.at(id); }
  const Memory* memory(TensorId id) const {
    auto it = memory_.find(id);
    return it == memory_.end() ? nullptr : &it->second;
  }
  void release(TensorId id) {
    memory_.erase(id);
    arrays_.erase(id);
  }

 private:
  RowProgram make_program(const Space& space) const {
    return RowProgram(space.variables, space.row, symbols_, [this](TensorId id) { return memory(id); });
  }
  // The positions of the space in [from, to) other than the row.
  static std::vector<size_t> others(const Space& space, size_t from, size_t to) {
    std::vector<size_t> out;
    for (size_t i = from; i < to; ++i) {
      if (i != space.row) out.push_back(i);
    }
    return out;
  }

  Status run_map(const std::vector<SymbolId>& index, Scalar body, DType t, Array& out);
  Status run_reduce(const TensorDef& t, Array& out);
  Status reduce_along_output(const TensorDef& t, const Space& space, Array& out);
  Status reduce_along_itself(const TensorDef& t, const Space& space, Array& out);
  Status run_scan(const TensorDef& t, Array& out);
  Status run_scatter(const TensorDef& t, Array& out);

  SymbolValue symbols_;
  std::unordered_map<TensorId, Memory> memory_;
  std::unordered_map<TensorId, Array> arrays_;
};

// Rows run along the last axis unless it is short and another is much longer.
size_t pick_row(const std::vector<int64_t>& extents, size_t from, size_t to) {
  size_t row = to - 1;
  for (size_t i = from; i < to; ++i) {
    if (extents[row] < 16 && extents[i] > 4 * extents[row]) row = i;
  }
  return row;
}

int64_t volume(const std::vector<int64_t>& extents) {
  int64_t n = 1;
  for (int64_t e : extents) n *= e;
  return n;
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

Status Evaluator::run_map(const std::vector<SymbolId>& index, Scalar body, DType t, Array& out) {
  if (volume(out.shape) == 0) return ok();
  Space space{index, out.shape, index.size(), 0};
  if (index.empty()) space.extents = {1};  // a row of one lane; the program has no variables
  const bool scalar = index.empty();
  if (!scalar) space.row = pick_row(space.extents, 0, space.extents.size());
  RowProgram program = make_program(space);
  const RowProgram::NodeId root = program.add(body);
  if (program.fault()) return *program.fault();
  const std::vector<int64_t> strides = scalar ? std::vector<int64_t>{1} : row_major(out.shape);
  if (!scalar) {
    if (const auto load = program.as_strided_load(root, space.extents)) {
      strided_copy(load->memory->data + load->offset * byte_size(t), load->strides, out.data.data(), space.extents, byte_size(t));
      return ok();
    }
  }
  const Odometer outer(space.extents, others(space, 0, space.extents.size()));
  std::vector<int64_t> at(space.extents.size(), 0);
  do {
    int64_t offset = 0;
    for (size_t i = 0; i < at.size(); ++i) offset += at[i] * strides[i];
    for (int64_t start = 0; start < space.extents[space.row]; start += kChunk) {
      const int64_t n = std::min(kChunk, space.extents[space.row] - start);
      at[space.row] = start;
      program.start(at.data(), n);
      const void* lanes = program.column(root);
      store_lanes(t, lanes, out.data.data() + (offset + start * strides[space.row]) * byte_size(t), strides[space.row], n);
      if (program.fault()) return *program.fault();
    }
    at[space.row] = 0;
  } while (outer.next(at));
  return ok();
}

// Long rows along which some load is contiguous are the better choice; then the longer rows.
bool rows_along_output(const TensorDef& t, const Evaluator::Space& space) {
  const int64_t output = space.extents[space.row], reduced = space.extents.back();
  bool output_runs = false, reduced_runs = false;
  for (Scalar load : expr::loads_of(t.body)) {
    if (load->index.empty()) continue;
    output_runs |= expr::uses_symbol(load->index.back(), space.variables[space.row]);
    reduced_runs |= expr::uses_symbol(load->index.back(), space.variables.back());
  }
  if (output >= 16 && output_runs) return true;
  if (reduced >= 16 && reduced_runs) return false;
  return output >= reduced;
}

Status Evaluator::run_reduce(const TensorDef& t, Array& out) {
  Space space;
  space.variables = t.index;
  space.variables.insert(space.variables.end(), t.reduce_index.begin(), t.reduce_index.end());
  space.extents = out.shape;
  const std::vector<int64_t> reduced = TRY(shape_of(t.reduce_extent, t.name));
  space.extents.insert(space.extents.end(), reduced.begin(), reduced.end());
  space.output_rank = out.shape.size();
  if (volume(out.shape) == 0) return ok();
  // Every output takes its values in the order of the reduced axes, whichever way rows run.
  if (space.output_rank > 0) {
    space.row = pick_row(space.extents, 0, space.output_rank);
    if (reduced.empty() || volume(reduced) == 0 || rows_along_output(t, space)) return reduce_along_output(t, space, out);
  }
  space.row = space.extents.empty() ? 0 : space.extents.size() - 1;
  return reduce_along_itself(t, space, out);
}

Status Evaluator::reduce_along_output(const TensorDef& t, const Space& space, Array& out) {
  RowProgram program = make_program(space);
  const DType best_type = t.accumulate;
  const RowProgram::NodeId root = program.add(expr::make_cast(best_type, t.body));
  if (program.fault()) return *program.fault();
  const std::vector<int64_t> strides = row_major(out.shape);
  const Odometer outer(space.extents, others(space, 0, space.output_rank));
  const Odometer inner(space.extents, others(space, space.output_rank, space.extents.size()));
  alignas(64) std::array<std::byte, kChunk * 8> acc;
  std::array<int64_t, kChunk> best;
  alignas(64) std::array<std::byte, kChunk * 8> result;
  const bool arg = is_arg(t.combiner);
  const BinaryKernel combine = arg ? nullptr : binary_kernel(operation_of(t.combiner), best_type);
  const UnaryKernel finish = arg ? nullptr : cast_kernel(t.dtype, best_type);
  std::vector<int64_t> at(space.extents.size(), 0);
  do {
    int64_t offset = 0;
    for (size_t i = 0; i < strides.size(); ++i) offset += at[i] * strides[i];
    for (int64_t start = 0; start < space.extents[space.row]; start += kChunk) {
      const int64_t n = std::min(kChunk, space.extents[space.row] - start);
      at[space.row] = start;
      std::fill_n(best.begin(), n, 0);
      if (!arg) set_identity(t.combiner, best_type, acc.data(), kChunk);
      inner.reset(at);
      if (!inner.empty()) {
        bool first = true;
        do {
          program.start(at.data(), n);
          const void* lanes = program.column(root);
          if (arg) {
            arith::with_type(best_type, [&](auto tag) {
              using T = decltype(tag);
              T* value = reinterpret_cast<T*>(acc.data());
              const T* x = static_cast<const T*>(lanes);
              for (int64_t k = 0; k < n; ++k) {
                if (!first && !is_better(t.combiner, x[k], value[k])) continue;
                value[k] = x[k];
                best[static_cast<size_t>(k)] = at.back();
              }
            });
          } else {
            combine(acc.data(), lanes, acc.data(), n);
            round_lanes(best_type, acc.data(), n);
          }
          first = false;
        } while (inner.next(at));
        if (program.fault()) return *program.fault();
      }
      const void* values = best.data();
      if (!arg) {
        finish(acc.data(), result.data(), n);
        values = result.data();
      }
      store_lanes(t.dtype, values, out.data.data() + (offset + start * strides[space.row]) * byte_size(t.dtype), strides[space.row], n);
    }
    at[space.row] = 0;
  } while (outer.next(at));
  return ok();
}

Status Evaluator::reduce_along_itself(const TensorDef& t, const Space& space, Array& out) {
  RowProgram program = make_program(space);
  const RowProgram::NodeId root = program.add(expr::make_cast(t.accumulate, t.body));
  if (program.fault()) return *program.fault();
  const bool no_axes = space.extents.empty();
  const int64_t length = no_axes ? 1 : space.extents[space.row];
  const Odometer outer(space.extents, others(space, 0, space.output_rank));
  const Odometer inner(space.extents, others(space, space.output_rank, space.extents.size()));
  const bool arg = is_arg(t.combiner);
  const UnaryKernel finish = arg ? nullptr : cast_kernel(t.dtype, t.accumulate);
  std::vector<int64_t> at(std::max<size_t>(space.extents.size(), 1), 0);
  std::byte* to = out.data.data();
  alignas(64) std::byte acc[kBlock * 8], result[kBlock * 8];
  do {
    int64_t best = 0;
    bool first = true;
    set_identity(arg ? Combiner::Sum : t.combiner, t.accumulate, acc, kBlock);
    inner.reset(at);
    if (!inner.empty()) {
      do {
        for (int64_t start = 0; start < length; start += kChunk) {
          const int64_t n = std::min(kChunk, length - start);
          at[space.row] = start;
          program.start(at.data(), n);
          const void* lanes = program.column(root);
          if (program.fault()) return *program.fault();
          if (!arg) {
            fold_lanes(t.combiner, t.accumulate, lanes, n, acc);
            continue;
          }
          arith::with_type(t.accumulate, [&](auto tag) {
            using T = decltype(tag);
            T* value = reinterpret_cast<T*>(acc);
            const T* x = static_cast<const T*>(lanes);
            for (int64_t k = 0; k < n; ++k) {
              if (!first && !is_better(t.combiner, x[k], *value)) continue;
              first = false;
              *value = x[k];
              best = start + k;
            }
          });
        }
        at[space.row] = 0;
      } while (inner.next(at));
    }
    if (arg) {
      std::memcpy(to, &best, sizeof best);
    } else {
      finish(acc, result, 1);
      store_lanes(t.dtype, result, to, 1, 1);
    }
    to += byte_size(t.dtype);
  } while (outer.next(at));
  return ok();
}

// The body is evaluated as a Map, then each line along the axis is accumulated in place.
Status Evaluator::run_scan(const TensorDef& t, Array& out) {
  if (volume(out.shape) == 0) return ok();
  Array values;
  values.dtype = t.accumulate;
  values.shape = out.shape;
  values.data.resize(static_cast<size_t>(volume(out.shape) * byte_size(t.accumulate)));
  TRY(run_map(t.index, expr::make_cast(t.accumulate, t.body), t.accumulate, values));
  const size_t axis = static_cast<size_t>(t.scan_axis);
  const int64_t length = out.shape[axis];
  const int64_t stride = row_major(out.shape)[axis];
  const int64_t lines = volume(out.shape) / length;
  const UnaryKernel finish = cast_kernel(t.dtype, t.accumulate);
  alignas(64) std::byte acc[kBlock * 8], lane[kBlock * 8], result[kBlock * 8];
  for (int64_t line = 0; line < lines; ++line) {
    const int64_t start = line / stride * stride * length + line % stride;
    set_identity(t.combiner, t.accumulate, acc, kBlock);
    for (int64_t step = 0; step < length; ++step) {
      const int64_t at = start + (t.reverse ? length - 1 - step : step) * stride;
      load_lanes(t.accumulate, values.data.data() + at * byte_size(t.accumulate), 1, lane, 1);
      if (!t.exclusive) fold_lanes(t.combiner, t.accumulate, lane, 1, acc);
      finish(acc, result, 1);
      store_lanes(t.dtype, result, out.data.data() + at * byte_size(t.dtype), 1, 1);
      if (t.exclusive) fold_lanes(t.combiner, t.accumulate, lane, 1, acc);
    }
  }
  return ok();
}

Status Evaluator::run_scatter(const TensorDef& t, Array& out) {
  TRY(run_map(t.index, t.base, t.dtype, out));
  Space space{t.reduce_index, TRY(shape_of(t.reduce_extent, t.name)), 0, 0};
  if (volume(space.extents) == 0) return ok();
  const bool single = space.extents.empty();
  space.row = single ? 0 : space.extents.size() - 1;
  RowProgram program = make_program(space);
  const RowProgram::NodeId root = program.add(t.body);
  std::vector<RowProgram::DimId> target;
  for (Dim d : t.target) target.push_back(program.add(d));
  if (program.fault()) return *program.fault();
  const std::vector<int64_t> strides = row_major(out.shape);
  const int64_t bytes = byte_size(t.dtype);
  const int64_t length = single ? 1 : space.extents[space.row];
  const Odometer outer(space.extents, others(space, 0, space.extents.size()));
  std::vector<int64_t> at(std::max<size_t>(space.extents.size(), 1), 0);
  alignas(64) std::byte acc[kBlock * 8];
  do {
    for (int64_t start = 0; start < length; start += kChunk) {
      const int64_t n = std::min(kChunk, length - start);
      at[space.row] = start;
      program.start(at.data(), n);
      const std::byte* lanes = static_cast<const std::byte*>(program.column(root));
      std::vector<const int64_t*> columns;
      for (RowProgram::DimId d : target) columns.push_back(program.index_column(d));
      if (program.fault()) return *program.fault();
      for (int64_t k = 0; k < n; ++k) {
        int64_t offset = 0;
        for (size_t axis = 0; axis < columns.size(); ++axis) {
          const int64_t v = columns[axis][k];
          if (v < 0 || v >= out.shape[axis]) {
            return make_error("index-out-of-range", "", "index " + std::to_string(v) + " is out of range of axis " +
                                                            std::to_string(axis) + " of '" + t.name + "', which has " +
                                                            std::to_string(out.shape[axis]) + " elements");
          }
          offset += v * strides[axis];
        }
        std::byte* to = out.data.data() + offset * bytes;
        const std::byte* lane = lanes + k * lane_bytes(t.dtype);
        if (t.combiner == Combiner::Set) {
          store_lanes(t.dtype, lane, to, 1, 1);
        } else {
          load_lanes(t.dtype, to, 1, acc, 1);
          fold_lanes(t.combiner, t.dtype, lane, 1, acc);
          store_lanes(t.dtype, acc, to, 1, 1);
        }
      }
    }
    at[space.row] = 0;
  } while (outer.next(at));
  return ok();
}

}  // namespace

Result<std::vector<Array>> evaluate(const std::vector<Tensor>& outputs, const std::vector<std::pair<TensorId, ArrayView>>& inputs,
                                    const Bindings& symbols) {
  std::unordered_map<SymbolId, int64_t> values;
  for (const auto& [id, v] : symbols) values[id] = v;
  Evaluator evaluator([&](SymbolId id) -> std::optional<int64_t> {
    auto it = values.find(id);
    if (it == values.end()) return std::nullopt;
    return it->second;
  });
  for (const auto& [id, view] : inputs) {
    evaluator.bind(id, Memory{view.data, view.dtype, view.shape, row_major(view.shape), "input " + std::to_string(id)});
  }
  const std::vector<Tensor> stages = stages_of(outputs);
  // The stage after which a tensor is not read any more.
  std::unordered_map<TensorId, size_t> last_use;
  for (size_t i = 0; i < stages.size(); ++i) {
    for (const Tensor& read : stages[i]->reads) last_use[read->id] = i;
  }
  for (const Tensor& t : outputs) last_use[t->id] = stages.size();
  for (size_t i = 0; i < stages.size(); ++i) {
    for (const Tensor& read : stages[i]->reads) {
      const Memory* memory = evaluator.memory(read->id);
      if (!memory) return make_error("missing-input", "", "input '" + read->name + "' has no value");
      const std::vector<int64_t> shape = TRY(evaluator.shape_of(read->shape, read->name));
      if (memory->dtype != read->dtype || memory->shape != shape) {
        return make_error("shape-mismatch", "", "the value of '" + read->name + "' has another type than " + pliant::name_of(read->dtype));
      }
    }
    TRY(evaluator.run(stages[i]));
    for (const Tensor& read : stages[i]->reads) {
      if (last_use.at(read->id) == i && read->kind != Kind::Input) evaluator.release(read->id);
    }
  }
  std::vector<Array> results;
  for (const Tensor& t : outputs) {
    const Memory* memory = evaluator.memory(t->id);
    if (!memory) return make_error("missing-input", "", "input '" + t->name + "' has no value");
    const size_t bytes = static_cast<size_t>(volume(memory->shape) * byte_size(memory->dtype));
    results.push_back(Array{memory->dtype, memory->shape, std::vector<std::byte>(memory->data, memory->data + bytes)});
  }
  return results;
}

}  // namespace pliant::te
