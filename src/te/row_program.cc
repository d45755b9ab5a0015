// Compilation of scalars and indices into a RowProgram.
#include "te/row_program.h"

#include <algorithm>

namespace pliant::te {

using expr::Atom;
using expr::AtomKind;
using expr::ScalarKind;

RowProgram::RowProgram(std::vector<SymbolId> variables, size_t row, SymbolValue symbols,
                       std::function<const Memory*(TensorId)> memory)
    : variables_(std::move(variables)), row_(row), symbols_(std::move(symbols)), memory_(std::move(memory)) {
  coordinates_.assign(variables_.size(), 0);
}

RowProgram::NodeId RowProgram::add(Scalar s) {
  const NodeId id = compile(s);
  mark_unguarded(id);
  return id;
}

RowProgram::DimId RowProgram::add(Dim d) {
  const DimId id = compile(d);
  mark_unguarded_dim(id);
  return id;
}

RowProgram::NodeId RowProgram::compile(Scalar s) {
  auto it = node_ids_.find(s.node());
  if (it != node_ids_.end()) return it->second;
  Node n;
  n.kind = s->kind;
  n.dtype = s->dtype;
  for (Scalar a : s->args) n.args.push_back(compile(a));
  for (Dim d : s->index) n.index.push_back(compile(d));
  for (NodeId a : n.args) n.uniform &= nodes_[static_cast<size_t>(a)].uniform;
  for (DimId d : n.index) n.uniform &= dims_[static_cast<size_t>(d)].uniform;
  const DType from = s->args.empty() ? s->dtype : s->args[0].dtype();
  switch (s->kind) {
    case ScalarKind::Unary: n.unary = unary_kernel(s->unary(), from); break;
    case ScalarKind::Binary: n.binary = binary_kernel(s->binary(), from); break;
    case ScalarKind::Cast: n.unary = cast_kernel(s->dtype, from); break;
    case ScalarKind::Bitcast: n.unary = bitcast_kernel(s->dtype, from); break;
    case ScalarKind::Load:
      n.memory = memory_(s->tensor);
      PLIANT_CHECK(n.memory) << "load of a tensor that was not evaluated: " << s;
      PLIANT_CHECK(n.memory->shape.size() == n.index.size()) << n.memory->name << " is loaded as " << s;
      break;
    case ScalarKind::Const:
    case ScalarKind::Index:
    case ScalarKind::Select:
    case ScalarKind::Fma: break;
  }
  const size_t bytes = static_cast<size_t>(lane_bytes(s->dtype) * kChunk);
  n.buffer = std::make_unique<std::byte[]>(bytes);
  n.data = n.buffer.get();
  if (s->kind == ScalarKind::Const) set_constant(s->dtype, s->bits, n.buffer.get(), kChunk);
  const NodeId id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back(std::move(n));
  node_ids_.emplace(s.node(), id);
  return id;
}

void RowProgram::mark_unguarded(NodeId id) {
  Node& n = nodes_[static_cast<size_t>(id)];
  if (!n.guarded) return;
  n.guarded = false;
  for (DimId d : n.index) mark_unguarded_dim(d);
  for (size_t i = 0; i < n.args.size(); ++i) {
    if (n.kind != ScalarKind::Select || i == 0) mark_unguarded(n.args[i]);
  }
}

void RowProgram::mark_unguarded_dim(DimId id) {
  const DimNode& d = dims_[static_cast<size_t>(id)];
  if (d.a >= 0) mark_unguarded_dim(d.a);
  if (d.b >= 0) mark_unguarded_dim(d.b);
  if (d.scalar >= 0) mark_unguarded(d.scalar);
}

RowProgram::DimId RowProgram::add_dim(DimNode node) {
  dims_.push_back(std::move(node));
  return static_cast<DimId>(dims_.size()) - 1;
}

RowProgram::DimId RowProgram::constant_dim(int64_t v) {
  DimNode n;
  n.base = v;
  n.scale.assign(variables_.size(), 0);
  return add_dim(std::move(n));
}

RowProgram::DimId RowProgram::compile_binary(DimKind kind, DimId a, DimId b) {
  const DimNode& x = dims_[static_cast<size_t>(a)];
  const DimNode& y = dims_[static_cast<size_t>(b)];
  const auto is_constant = [](const DimNode& d) {
    return d.kind == DimKind::Affine && std::all_of(d.scale.begin(), d.scale.end(), [](int64_t s) { return s == 0; });
  };
  DimNode n;
  n.scale.assign(variables_.size(), 0);
  if (kind == DimKind::Add && x.kind == DimKind::Affine && y.kind == DimKind::Affine) {
    n.base = x.base + y.base;
    for (size_t i = 0; i < n.scale.size(); ++i) n.scale[i] = x.scale[i] + y.scale[i];
    n.uniform = n.scale.empty() || n.scale[row_] == 0;
    return add_dim(std::move(n));
  }
  if (kind == DimKind::Mul && x.kind == DimKind::Affine && y.kind == DimKind::Affine && (is_constant(x) || is_constant(y))) {
    const DimNode& factor = is_constant(x) ? x : y;
    const DimNode& other = is_constant(x) ? y : x;
    n.base = other.base * factor.base;
    for (size_t i = 0; i < n.scale.size(); ++i) n.scale[i] = other.scale[i] * factor.base;
    n.uniform = n.scale.empty() || n.scale[row_] == 0;
    return add_dim(std::move(n));
  }
  n.kind = kind;
  n.uniform = x.uniform && y.uniform;
  n.a = a;
  n.b = b;
  n.lanes.resize(kChunk);
  return add_dim(std::move(n));
}

RowProgram::DimId RowProgram::compile_atom(const Atom* atom) {
  if (atom->kind == AtomKind::Symbol) {
    auto it = std::find(variables_.begin(), variables_.end(), atom->symbol);
    if (it == variables_.end()) {
      const std::optional<int64_t> v = symbols_(atom->symbol);
      if (!v) set_fault(make_error("unbound-symbol", "", "symbol '" + atom->info->name + "' has no value"));
      return constant_dim(v.value_or(0));
    }
    DimNode n;
    n.scale.assign(variables_.size(), 0);
    n.scale[static_cast<size_t>(it - variables_.begin())] = 1;
    n.uniform = static_cast<size_t>(it - variables_.begin()) != row_;
    return add_dim(std::move(n));
  }
  if (atom->kind == AtomKind::Value) {
    DimNode n;
    n.kind = DimKind::Value;
    n.scale.assign(variables_.size(), 0);
    n.scalar = compile(Scalar(atom->scalar));
    n.uniform = nodes_[static_cast<size_t>(n.scalar)].uniform;
    n.lanes.resize(kChunk);
    return add_dim(std::move(n));
  }
  DimKind kind = DimKind::FloorDiv;
  switch (atom->kind) {
    case AtomKind::FloorDiv: kind = DimKind::FloorDiv; break;
    case AtomKind::Mod: kind = DimKind::Mod; break;
    case AtomKind::Min: kind = DimKind::Min; break;
    case AtomKind::Max: kind = DimKind::Max; break;
    case AtomKind::Broadcast: kind = DimKind::Broadcast; break;
    case AtomKind::Symbol:
    case AtomKind::Value: break;
  }
  DimId out = compile(atom->args[0]);
  for (size_t i = 1; i < atom->args.size(); ++i) out = compile_binary(kind, out, compile(atom->args[i]));
  return out;
}

RowProgram::DimId RowProgram::compile(Dim d) {
  auto it = dim_ids_.find(d.node());
  if (it != dim_ids_.end()) return it->second;
  DimId sum = -1;
  for (const auto& [m, k] : d->terms) {
    DimId term = constant_dim(k);
    for (const auto& [atom, power] : m->factors) {
      const DimId factor = compile_atom(atom);
      for (uint32_t i = 0; i < power; ++i) term = compile_binary(DimKind::Mul, term, factor);
    }
    sum = sum < 0 ? term : compile_binary(DimKind::Add, sum, term);
  }
  if (sum < 0) sum = constant_dim(0);
  dim_ids_.emplace(d.node(), sum);
  return sum;
}

}  // namespace pliant::te
