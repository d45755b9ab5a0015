// Reductions, along the output's rows or along their own.
#include <algorithm>
#include <array>
#include <cstring>

#include "expr/scalar/arith.h"
#include "te/evaluator.h"

namespace pliant::te {

namespace arith = expr::arith;

namespace {

template <class T>
bool is_better(Combiner c, T candidate, T best) {
  const bool last = c == Combiner::ArgMaxLast || c == Combiner::ArgMinLast;
  if (candidate != candidate) return best == best || last;
  if (best != best) return false;
  if (candidate == best) return last;
  return c == Combiner::ArgMax || c == Combiner::ArgMaxLast ? best < candidate : candidate < best;
}

// Long rows along which some load is contiguous are the better choice; then the longer rows.
bool rows_along_output(const TensorDef& t, const Space& space) {
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

bool is_compensated(const TensorDef& t, const Space& space) {
  return is_compensated(t, volume({space.extents.begin() + static_cast<ptrdiff_t>(space.output_rank), space.extents.end()}));
}

// The values that a reduction takes: those of a compensated sum as f64.
Scalar values_of(const TensorDef& t, bool compensated) {
  const Scalar values = expr::make_cast(t.accumulate, t.body);
  return compensated ? expr::make_cast(DType::F64, values) : values;
}

// Writes the results of sums as lanes of t.dtype, rounded to the type of the running value first.
void finish_sums(const TensorDef& t, const CompensatedSum* sums, int64_t n, void* out) {
  alignas(64) std::array<double, kChunk> exact;
  alignas(64) std::array<std::byte, kChunk * 8> rounded;
  const int64_t whole = (n + kBlock - 1) / kBlock * kBlock;
  for (int64_t k = 0; k < whole; ++k) exact[static_cast<size_t>(k)] = k < n ? sums[k].value() : 0.0;
  cast_kernel(t.accumulate, DType::F64)(exact.data(), rounded.data(), n);
  cast_kernel(t.dtype, t.accumulate)(rounded.data(), out, n);
}

}  // namespace

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
  const bool sums = is_compensated(t, space);
  const RowProgram::NodeId root = program.add(values_of(t, sums));
  if (program.fault()) return *program.fault();
  const std::vector<int64_t> strides = row_major(out.shape);
  const Odometer outer(space.extents, space.others(0, space.output_rank));
  const Odometer inner(space.extents, space.others(space.output_rank, space.extents.size()));
  alignas(64) std::array<std::byte, kChunk * 8> acc;
  std::array<int64_t, kChunk> best;
  alignas(64) std::array<std::byte, kChunk * 8> result;
  const bool arg = is_arg(t.combiner);
  std::array<CompensatedSum, kChunk> sum;
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
      if (sums)
        sum.fill({});
      else if (!arg)
        set_identity(t.combiner, best_type, acc.data(), kChunk);
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
          } else if (sums) {
            for (int64_t k = 0; k < n; ++k) sum[static_cast<size_t>(k)].add(static_cast<const double*>(lanes)[k]);
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
        if (sums)
          finish_sums(t, sum.data(), n, result.data());
        else
          finish(acc.data(), result.data(), n);
        values = result.data();
      }
      store_lanes(t.dtype, values, out.data.data() + (offset + start * strides[space.row]) * byte_size(t.dtype),
                  strides[space.row], n);
    }
    at[space.row] = 0;
  } while (outer.next(at));
  return ok();
}

Status Evaluator::reduce_along_itself(const TensorDef& t, const Space& space, Array& out) {
  RowProgram program = make_program(space);
  const bool sums = is_compensated(t, space);
  const RowProgram::NodeId root = program.add(values_of(t, sums));
  if (program.fault()) return *program.fault();
  const bool no_axes = space.extents.empty();
  const int64_t length = no_axes ? 1 : space.extents[space.row];
  const Odometer outer(space.extents, space.others(0, space.output_rank));
  const Odometer inner(space.extents, space.others(space.output_rank, space.extents.size()));
  const bool arg = is_arg(t.combiner);
  const UnaryKernel finish = arg ? nullptr : cast_kernel(t.dtype, t.accumulate);
  std::vector<int64_t> at(std::max<size_t>(space.extents.size(), 1), 0);
  std::byte* to = out.data.data();
  alignas(64) std::byte acc[kBlock * 8], result[kChunk * 8];
  do {
    int64_t best = 0;
    CompensatedSum sum;
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
          if (sums) {
            for (int64_t k = 0; k < n; ++k) sum.add(static_cast<const double*>(lanes)[k]);
            continue;
          }
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
      if (sums)
        finish_sums(t, &sum, 1, result);
      else
        finish(acc, result, 1);
      store_lanes(t.dtype, result, to, 1, 1);
    }
    to += byte_size(t.dtype);
  } while (outer.next(at));
  return ok();
}

}  // namespace pliant::te
