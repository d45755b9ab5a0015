// Maps, and the stages that begin as one: scans and scatters.
#include <algorithm>

#include "te/evaluator.h"
#include "te/strided_copy.h"

namespace pliant::te {

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
      strided_copy(load->memory->data + load->offset * byte_size(t), load->strides, out.data.data(), space.extents,
                   byte_size(t));
      return ok();
    }
  }
  const Odometer outer(space.extents, space.others(0, space.extents.size()));
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
  const UnaryKernel widen = cast_kernel(DType::F64, t.accumulate), narrow = cast_kernel(t.accumulate, DType::F64);
  alignas(64) std::byte acc[kBlock * 8], lane[kBlock * 8], result[kBlock * 8];
  for (int64_t line = 0; line < lines; ++line) {
    const int64_t start = line / stride * stride * length + line % stride;
    set_identity(t.combiner, t.accumulate, acc, kBlock);
    CompensatedSum sum;
    const auto add = [&] {
      if (!is_compensated(t, length)) return fold_lanes(t.combiner, t.accumulate, lane, 1, acc);
      alignas(64) double wide[kBlock] = {}, total[kBlock] = {};
      widen(lane, wide, 1);
      sum.add(wide[0]);
      total[0] = sum.value();
      narrow(total, acc, 1);
    };
    for (int64_t step = 0; step < length; ++step) {
      const int64_t at = start + (t.reverse ? length - 1 - step : step) * stride;
      load_lanes(t.accumulate, values.data.data() + at * byte_size(t.accumulate), 1, lane, 1);
      if (!t.exclusive) add();
      finish(acc, result, 1);
      store_lanes(t.dtype, result, out.data.data() + at * byte_size(t.dtype), 1, 1);
      if (t.exclusive) add();
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
  const Odometer outer(space.extents, space.others(0, space.extents.size()));
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
            return make_error("index-out-of-range", "",
                              "index " + std::to_string(v) + " is out of range of axis " + std::to_string(axis) + " of '" +
                                  t.name + "', which has " + std::to_string(out.shape[axis]) + " elements");
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

}  // namespace pliant::te
