// Evaluation of a RowProgram: on demand, each node at most once for each stretch of lanes.
#include <algorithm>
#include <array>

#include "base/stop.h"
#include "expr/scalar/arith.h"
#include "te/row_program.h"

namespace pliant::te {

using expr::ScalarKind;

namespace {

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

int64_t floor_mod(int64_t a, int64_t b) { return b == 0 ? 0 : expr::arith::modulo<int64_t>(a, b); }

// The lanes k in [0, n) with 0 <= at + step * k < extent, as [first, last).
std::pair<int64_t, int64_t> lanes_in_bounds(int64_t at, int64_t step, int64_t extent, int64_t n) {
  if (step == 0) return at >= 0 && at < extent ? std::pair{int64_t{0}, n} : std::pair{int64_t{0}, int64_t{0}};
  if (step < 0) {
    at = extent - 1 - at;
    step = -step;
  }
  const int64_t first = at >= 0 ? 0 : (-at + step - 1) / step;
  const int64_t last = at >= extent ? 0 : (extent - at + step - 1) / step;
  return {std::min(first, n), std::min(last, n)};
}

}  // namespace

void RowProgram::start(const int64_t* coordinates, int64_t count) {
  poll_stop();
  std::copy_n(coordinates, coordinates_.size(), coordinates_.begin());
  count_ = count;
  ++epoch_;
}

const void* RowProgram::column(NodeId id) {
  evaluate(id);
  return wide(id, count_);
}

const int64_t* RowProgram::index_column(DimId id) {
  DimNode& d = dims_[static_cast<size_t>(id)];
  if (d.lanes.empty()) d.lanes.resize(kChunk);
  if (d.kind == DimKind::Affine) {
    const int64_t first = affine_value(d);
    const int64_t step = d.scale.empty() ? 0 : d.scale[row_];
    for (int64_t k = 0; k < count_; ++k) d.lanes[static_cast<size_t>(k)] = first + step * k;
    return d.lanes.data();
  }
  evaluate_dim(id);
  if (d.uniform) std::fill_n(d.lanes.begin() + 1, count_ - 1, d.lanes[0]);
  return d.lanes.data();
}

int64_t RowProgram::affine_value(const DimNode& d) const {
  int64_t v = d.base;
  for (size_t i = 0; i < d.scale.size(); ++i) v += d.scale[i] * coordinates_[i];
  return v;
}

// Fills the lanes of a node that is not affine: one lane when it is uniform.
void RowProgram::evaluate_dim(DimId id) {
  DimNode& d = dims_[static_cast<size_t>(id)];
  if (d.stamp == epoch_) return;
  d.stamp = epoch_;
  const int64_t n = lanes_of(d.uniform);
  int64_t* out = d.lanes.data();
  if (d.kind == DimKind::Value) {
    evaluate(d.scalar);
    const Node& s = nodes_[static_cast<size_t>(d.scalar)];
    cast_kernel(DType::I64, s.dtype)(d.uniform ? s.data : wide(d.scalar, n), out, n);
    return;
  }
  const auto operand = [&](DimId o, int64_t& step) -> const int64_t* {
    DimNode& x = dims_[static_cast<size_t>(o)];
    if (x.kind == DimKind::Affine) {
      index_column(o);
      step = d.uniform ? 0 : 1;
    } else {
      evaluate_dim(o);
      step = x.uniform ? 0 : 1;
    }
    return x.lanes.data();
  };
  int64_t sa = 0, sb = 0;
  const int64_t* a = operand(d.a, sa);
  const int64_t* b = operand(d.b, sb);
  const DimNode& dividend = dims_[static_cast<size_t>(d.a)];
  if ((d.kind == DimKind::FloorDiv || d.kind == DimKind::Mod) && sb == 0 && n > 1 && dividend.kind == DimKind::Affine) {
    return divide_affine(d, a[0], dividend.scale[row_], b[0]);
  }
  const auto each = [&](auto&& f) {
    for (int64_t k = 0; k < n; ++k) out[k] = f(a[sa * k], b[sb * k]);
  };
  switch (d.kind) {
    case DimKind::Add: each([](int64_t x, int64_t y) { return x + y; }); break;
    case DimKind::Mul: each([](int64_t x, int64_t y) { return x * y; }); break;
    case DimKind::FloorDiv: each(floor_div); break;
    case DimKind::Mod: each(floor_mod); break;
    case DimKind::Min: each([](int64_t x, int64_t y) { return std::min(x, y); }); break;
    case DimKind::Max: each([](int64_t x, int64_t y) { return std::max(x, y); }); break;
    case DimKind::Broadcast: each([](int64_t x, int64_t y) { return x == 1 ? y : x; }); break;
    case DimKind::Affine:
    case DimKind::Value: break;
  }
}

// Quotients or remainders of first + step * k: carried from lane to lane, not divided.
void RowProgram::divide_affine(DimNode& d, int64_t first, int64_t step, int64_t by) {
  int64_t* out = d.lanes.data();
  if (by <= 0) {
    std::fill_n(out, count_, 0);
    return;
  }
  const bool wants_quotient = d.kind == DimKind::FloorDiv;
  const int64_t step_quotient = floor_div(step, by), step_remainder = floor_mod(step, by);
  int64_t quotient = floor_div(first, by), remainder = floor_mod(first, by);
  for (int64_t k = 0; k < count_; ++k) {
    out[k] = wants_quotient ? quotient : remainder;
    quotient += step_quotient;
    remainder += step_remainder;
    const bool carry = remainder >= by;
    quotient += carry;
    remainder -= carry ? by : 0;
  }
}

const std::byte* RowProgram::wide(NodeId id, int64_t n) {
  Node& node = nodes_[static_cast<size_t>(id)];
  if (node.kind == ScalarKind::Const || !node.data_uniform || n == 1) return node.data;
  if (node.wide_stamp != epoch_) {
    node.wide_stamp = epoch_;
    if (!node.wide) node.wide = std::make_unique<std::byte[]>(static_cast<size_t>(lane_bytes(node.dtype) * kChunk));
    splat_lanes(node.dtype, node.data, node.wide.get(), n);
  }
  return node.wide.get();
}

void RowProgram::evaluate(NodeId id) {
  Node& node = nodes_[static_cast<size_t>(id)];
  if (node.kind == ScalarKind::Const || node.stamp == epoch_) return;
  node.stamp = epoch_;
  node.data = node.buffer.get();
  node.data_uniform = node.uniform;
  if (node.kind == ScalarKind::Select) return evaluate_select(node);
  if (node.kind == ScalarKind::Load) return evaluate_load(node);
  for (NodeId a : node.args) evaluate(a);
  const int64_t n = lanes_of(node.uniform);
  const auto arg = [&](size_t i) { return wide(node.args[i], n); };
  switch (node.kind) {
    case ScalarKind::Index: {
      const DimNode& d = dims_[static_cast<size_t>(node.index[0])];
      if (d.kind == DimKind::Affine && d.uniform) {
        *reinterpret_cast<int64_t*>(node.buffer.get()) = affine_value(d);
      } else if (d.uniform) {
        evaluate_dim(node.index[0]);
        *reinterpret_cast<int64_t*>(node.buffer.get()) = d.lanes[0];
      } else {
        std::copy_n(index_column(node.index[0]), n, reinterpret_cast<int64_t*>(node.buffer.get()));
      }
      return;
    }
    case ScalarKind::Unary: node.unary(arg(0), node.buffer.get(), n); break;
    case ScalarKind::Binary: node.binary(arg(0), arg(1), node.buffer.get(), n); break;
    case ScalarKind::Fma: fma_lanes(node.dtype, arg(0), arg(1), arg(2), node.buffer.get(), n); break;
    case ScalarKind::Cast:
    case ScalarKind::Bitcast: node.unary(arg(0), node.buffer.get(), n); return;
    case ScalarKind::Const:
    case ScalarKind::Load:
    case ScalarKind::Select: return;
  }
  round_lanes(node.dtype, node.buffer.get(), n);
}

void RowProgram::evaluate_select(Node& node) {
  evaluate(node.args[0]);
  const Node& cond = nodes_[static_cast<size_t>(node.args[0])];
  const bool* lanes = reinterpret_cast<const bool*>(cond.data);
  const int64_t n = lanes_of(cond.data_uniform);
  const int64_t taken = std::count(lanes, lanes + n, true);
  if (taken == 0 || taken == n) {
    const NodeId side = node.args[taken == 0 ? 2 : 1];
    evaluate(side);
    node.data = nodes_[static_cast<size_t>(side)].data;
    node.data_uniform = nodes_[static_cast<size_t>(side)].data_uniform;
    if (node.uniform || !node.data_uniform) return;
    node.data = wide(side, count_);
    node.data_uniform = false;
    return;
  }
  evaluate(node.args[1]);
  evaluate(node.args[2]);
  select_lanes(node.dtype, lanes, wide(node.args[1], count_), wide(node.args[2], count_), node.buffer.get(), count_);
}

void RowProgram::evaluate_load(Node& node) {
  int64_t offset = 0, stride = 0;
  for (size_t axis = 0; axis < node.index.size(); ++axis) {
    const DimNode& d = dims_[static_cast<size_t>(node.index[axis])];
    if (d.kind != DimKind::Affine) return load_lane_by_lane(node);
    offset += affine_value(d) * node.memory->strides[axis];
    stride += (d.scale.empty() ? 0 : d.scale[row_]) * node.memory->strides[axis];
  }
  load_affine(node, offset, stride);
}

void RowProgram::load_affine(Node& node, int64_t offset, int64_t stride) {
  const int64_t n = lanes_of(node.uniform);
  int64_t first = 0, last = n;
  for (size_t axis = 0; axis < node.index.size(); ++axis) {
    const DimNode& d = dims_[static_cast<size_t>(node.index[axis])];
    const int64_t at = affine_value(d);
    const int64_t step = d.scale.empty() ? 0 : d.scale[row_];
    const auto [lo, hi] = lanes_in_bounds(at, step, node.memory->shape[axis], n);
    if ((lo > 0 || hi < n) && !node.guarded) {
      const int64_t lane = lo > 0 ? 0 : hi;
      report_out_of_bounds(node, axis, at + step * lane);
    }
    first = std::max(first, lo);
    last = std::min(last, hi);
  }
  const int64_t bytes = lane_bytes(node.dtype);
  std::byte* out = node.buffer.get();
  if (first >= last) {
    std::fill_n(out, n * bytes, std::byte{0});
    return;
  }
  std::fill_n(out, first * bytes, std::byte{0});
  const std::byte* from = node.memory->data + (offset + stride * first) * byte_size(node.dtype);
  load_lanes(node.dtype, from, stride, out + first * bytes, last - first);
  std::fill_n(out + last * bytes, (n - last) * bytes, std::byte{0});
}

void RowProgram::load_lane_by_lane(Node& node) {
  const int64_t n = lanes_of(node.uniform);
  // Offsets per lane; a lane out of bounds has -1.
  std::array<int64_t, kChunk> offsets;
  std::fill_n(offsets.begin(), n, 0);
  for (size_t axis = 0; axis < node.index.size(); ++axis) {
    const DimNode& d = dims_[static_cast<size_t>(node.index[axis])];
    if (d.uniform && d.kind != DimKind::Affine) evaluate_dim(node.index[axis]);
    const int64_t* at = d.uniform && d.kind != DimKind::Affine ? d.lanes.data() : index_column(node.index[axis]);
    const int64_t step = d.uniform && d.kind != DimKind::Affine ? 0 : 1;
    const int64_t extent = node.memory->shape[axis];
    const int64_t stride = node.memory->strides[axis];
    for (int64_t k = 0; k < n; ++k) {
      const int64_t v = at[step * k];
      int64_t& offset = offsets[static_cast<size_t>(k)];
      if (v < 0 || v >= extent) {
        if (!node.guarded && offset >= 0) report_out_of_bounds(node, axis, v);
        offset = -1;
      } else if (offset >= 0) {
        offset += v * stride;
      }
    }
  }
  gather_lanes(node.dtype, node.memory->data, offsets.data(), node.buffer.get(), n);
}

void RowProgram::report_out_of_bounds(const Node& node, size_t axis, int64_t at) {
  if (fault_) return;
  set_fault(make_error("index-out-of-range", "",
                       "index " + std::to_string(at) + " is out of range of axis " + std::to_string(axis) + " of '" +
                           node.memory->name + "', which has " + std::to_string(node.memory->shape[axis]) + " elements"));
}

std::optional<RowProgram::Strided> RowProgram::as_strided_load(NodeId id, const std::vector<int64_t>& extents) const {
  const Node& node = nodes_[static_cast<size_t>(id)];
  if (node.kind != ScalarKind::Load) return std::nullopt;
  Strided out{node.memory, 0, std::vector<int64_t>(variables_.size(), 0)};
  for (size_t axis = 0; axis < node.index.size(); ++axis) {
    const DimNode& d = dims_[static_cast<size_t>(node.index[axis])];
    if (d.kind != DimKind::Affine) return std::nullopt;
    int64_t lowest = d.base, highest = d.base;
    for (size_t v = 0; v < d.scale.size(); ++v) {
      out.strides[v] += d.scale[v] * node.memory->strides[axis];
      (d.scale[v] < 0 ? lowest : highest) += d.scale[v] * (extents[v] - 1);
    }
    if (lowest < 0 || highest >= node.memory->shape[axis]) return std::nullopt;
    out.offset += d.base * node.memory->strides[axis];
  }
  return out;
}

}  // namespace pliant::te
