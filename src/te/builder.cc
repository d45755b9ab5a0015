#include <algorithm>
#include <unordered_set>

#include "te/te.h"

namespace pliant::te {
namespace {

std::vector<SymbolId> make_indices(expr::Context& ctx, const std::string& stem, const std::vector<Dim>& extents) {
  std::vector<SymbolId> symbols;
  for (size_t i = 0; i < extents.size(); ++i) {
    symbols.push_back(*ctx.index_symbol(stem + std::to_string(i), extents[i]).as_symbol());
  }
  return symbols;
}

Index dims_of(expr::Context& ctx, const std::vector<SymbolId>& symbols) {
  Index dims;
  for (SymbolId s : symbols) dims.push_back(ctx.symbol_dim(s));
  return dims;
}

bool is_arg(Combiner c) { return c >= Combiner::ArgMax && c <= Combiner::ArgMinLast; }
DType accumulator_of(DType t) { return t == DType::F16 || t == DType::BF16 ? DType::F32 : t; }

void collect(const TensorDef& def, std::vector<TensorId>& ids) {
  std::vector<Scalar> roots;
  if (def.body) roots.push_back(def.body);
  if (def.base) roots.push_back(def.base);
  for (Dim d : def.target) roots.push_back(expr::make_index(d));
  for (Scalar root : roots) {
    for (Scalar load : expr::loads_of(root)) ids.push_back(load->tensor);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

void visit_stage(const Tensor& t, std::unordered_set<TensorId>& seen, std::vector<Tensor>& out) {
  if (t->kind == Kind::Input || !seen.insert(t->id).second) return;
  for (const Tensor& read : t->reads) visit_stage(read, seen, out);
  out.push_back(t);
}

}  // namespace

const char* name_of(Kind k) {
  switch (k) {
    case Kind::Input: return "input";
    case Kind::Map: return "map";
    case Kind::Reduce: return "reduce";
    case Kind::Scan: return "scan";
    case Kind::Scatter: return "scatter";
  }
  return "";
}

const char* name_of(Combiner c) {
  constexpr const char* names[] = {"sum",    "prod",   "max",         "min",         "and", "or",
                                   "argmax", "argmin", "argmax_last", "argmin_last", "set"};
  return names[static_cast<size_t>(c)];
}

Scalar TensorDef::operator()(const Index& i) const {
  PLIANT_CHECK(i.size() == shape.size()) << name << " has " << shape.size() << " axes, not " << i.size();
  // Shapes of rank 0 have no Dim to take the context from.
  expr::Context& context = *ctx;
  return expr::make_load(context, id, dtype, i);
}

Tensor Builder::add(TensorDef def) {
  def.ctx = &ctx_;
  def.id = ctx_.fresh_tensor();
  std::vector<TensorId> ids;
  collect(def, ids);
  for (TensorId id : ids) {
    Tensor read = find(id);
    PLIANT_CHECK(read) << def.name << " loads tensor " << id << " of another builder";
    def.reads.push_back(std::move(read));
  }
  tensors_.push_back(std::make_shared<TensorDef>(std::move(def)));
  return tensors_.back();
}

Tensor Builder::input(std::string name, DType t, std::vector<Dim> shape) {
  TensorDef def;
  def.name = std::move(name);
  def.dtype = t;
  def.shape = std::move(shape);
  return add(std::move(def));
}

Tensor Builder::map(std::string name, std::vector<Dim> shape, const std::function<Scalar(const Index&)>& body) {
  TensorDef def;
  def.name = std::move(name);
  def.kind = Kind::Map;
  def.index = make_indices(ctx_, "i", shape);
  def.shape = std::move(shape);
  def.body = body(dims_of(ctx_, def.index));
  def.dtype = def.body.dtype();
  return add(std::move(def));
}

Tensor Builder::reduce(std::string name, std::vector<Dim> shape, std::vector<Dim> reduce_extent, Combiner c,
                       const std::function<Scalar(const Index&, const Index&)>& body) {
  PLIANT_CHECK(!is_arg(c) || reduce_extent.size() == 1) << name_of(c) << " reduces one axis";
  PLIANT_CHECK(c != Combiner::Set) << "set is for scatter";
  TensorDef def;
  def.name = std::move(name);
  def.kind = Kind::Reduce;
  def.combiner = c;
  def.index = make_indices(ctx_, "i", shape);
  def.reduce_index = make_indices(ctx_, "r", reduce_extent);
  def.shape = std::move(shape);
  def.reduce_extent = std::move(reduce_extent);
  def.body = body(dims_of(ctx_, def.index), dims_of(ctx_, def.reduce_index));
  def.dtype = is_arg(c) ? DType::I64 : def.body.dtype();
  def.accumulate = accumulator_of(def.body.dtype());
  return add(std::move(def));
}

Tensor Builder::scan(std::string name, std::vector<Dim> shape, int64_t axis, Combiner c, bool exclusive, bool reverse,
                     const std::function<Scalar(const Index&)>& body) {
  PLIANT_CHECK(axis >= 0 && axis < static_cast<int64_t>(shape.size())) << "scan axis " << axis;
  PLIANT_CHECK(!is_arg(c) && c != Combiner::Set) << "scan with " << name_of(c);
  TensorDef def;
  def.name = std::move(name);
  def.kind = Kind::Scan;
  def.combiner = c;
  def.index = make_indices(ctx_, "i", shape);
  def.shape = std::move(shape);
  def.body = body(dims_of(ctx_, def.index));
  def.dtype = def.body.dtype();
  def.accumulate = accumulator_of(def.dtype);
  def.scan_axis = axis;
  def.exclusive = exclusive;
  def.reverse = reverse;
  return add(std::move(def));
}

Tensor Builder::scatter(std::string name, std::vector<Dim> shape, const std::function<Scalar(const Index&)>& base,
                        std::vector<Dim> update_extent, const std::function<std::vector<Dim>(const Index&)>& target,
                        Combiner c, const std::function<Scalar(const Index&)>& body) {
  PLIANT_CHECK(!is_arg(c)) << "scatter with " << name_of(c);
  TensorDef def;
  def.name = std::move(name);
  def.kind = Kind::Scatter;
  def.combiner = c;
  def.index = make_indices(ctx_, "i", shape);
  def.reduce_index = make_indices(ctx_, "u", update_extent);
  def.shape = std::move(shape);
  def.reduce_extent = std::move(update_extent);
  def.base = base(dims_of(ctx_, def.index));
  const Index update = dims_of(ctx_, def.reduce_index);
  def.target = target(update);
  def.body = body(update);
  def.dtype = def.base.dtype();
  def.accumulate = def.dtype;
  PLIANT_CHECK(def.body.dtype() == def.dtype) << "scatter of " << def.body << " into " << def.base;
  PLIANT_CHECK(def.target.size() == def.shape.size()) << "scatter target of rank " << def.target.size();
  return add(std::move(def));
}

Tensor Builder::find(TensorId id) const {
  // Ids grow in the order of `tensors_`.
  auto it = std::lower_bound(tensors_.begin(), tensors_.end(), id, [](const Tensor& t, TensorId v) { return t->id < v; });
  return it != tensors_.end() && (*it)->id == id ? *it : nullptr;
}

std::vector<Tensor> stages_of(const std::vector<Tensor>& outputs) {
  std::unordered_set<TensorId> seen;
  std::vector<Tensor> out;
  for (const Tensor& t : outputs) visit_stage(t, seen, out);
  return out;
}

}  // namespace pliant::te
