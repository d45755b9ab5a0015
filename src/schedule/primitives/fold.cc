// for j in C { for l in L { y[j] += t[j, l] } }  ->  local u { u[j, l] = t[j, l] + t[j, l + L/2] for l in L/2, as one row of
// vectors; … for vector j in C { y[j] += u[j, 0] } }: the sums of all j by halves, each by operations on whole vectors.
#include <algorithm>

#include "schedule/edit.h"
#include "schedule/primitives/tail.h"

namespace pliant::schedule {
namespace {

// body(i) for `count` elements, in vectors of up to `lanes`.
StmtPtr in_vectors(Edit& e, const std::string& name, int64_t count, int64_t lanes, const std::function<StmtPtr(Dim)>& body) {
  const int64_t width = std::min(lanes, count & -count);
  const Dim vectors = e.ctx.constant(count / width), size = e.ctx.constant(width);
  return e.derived_loop(name + ".v", vectors, ForKind::Unroll, [&](Dim v) {
    return e.derived_loop(name + ".l", size, ForKind::Vector, [&](Dim l) { return body(v * width + l); });
  });
}

}  // namespace

Status Schedule::fold(std::string_view outer, std::string_view inner, int64_t lanes, std::string_view name) {
  Edit e(*this, "fold", outer, inner, lanes, "->", name);
  const StmtPtr out = TRY(e.find_loop(outer)), in = TRY(e.find_loop(inner));
  if (out->body[0] != in || in->body[0]->kind != StmtKind::Store || in->body[0]->store_kind != StoreKind::Add)
    return e.refuse("loop " + std::string(outer) + " does not hold just loop " + std::string(inner) + " of additions");
  const Stmt add = *in->body[0];
  const int64_t sums = out->extent.is_const() ? out->extent.const_value() : 0;
  const int64_t parts = in->extent.is_const() ? in->extent.const_value() : 0;
  if (sums < 1 || parts < 2 || (parts & (parts - 1)) != 0 || sums * parts > kMostLanes * kMostLanes)
    return e.refuse("the loops do not run over a power of two of parts of a number of sums");
  if (lanes < 1 || lanes > kMostLanes) return e.refuse("there may be 1 to " + std::to_string(kMostLanes) + " lanes");
  const Dim j = e.ctx.symbol_dim(out->var);
  if (std::any_of(add.index.begin(), add.index.end(), [&](Dim d) { return expr::uses_symbol(d, in->var); }) ||
      std::find(add.index.begin(), add.index.end(), j) == add.index.end())
    return e.refuse("the sums are not elements of loop " + std::string(outer));
  for (Scalar l : expr::loads_of(add.value))
    if (l->tensor == add.buffer) return e.refuse("the parts follow from the sums");
  const DType type = add.value->dtype;
  std::vector<Buffer> stages;
  std::vector<StmtPtr> seq;
  // Element `low` of the stage before; of the first, what is added.
  auto part = [&](Dim at, int64_t count) {
    if (!stages.empty()) return expr::make_load(e.ctx, stages.back().id, type, {at});
    return expr::substitute(add.value, {{out->var, expr::floordiv(at, count)}, {in->var, expr::mod(at, count)}});
  };
  for (int64_t half = parts / 2; half >= 1; half /= 2) {
    Buffer to = e.derived_buffer(std::string(name), type, {e.ctx.constant(sums * half)});
    seq.push_back(in_vectors(e, to.name, sums * half, lanes, [&](Dim i) {
      const Dim low = i + expr::floordiv(i, half) * half;
      return loop::make_store(to.id, {i}, part(low, 2 * half) + part(low + half, 2 * half));
    }));
    stages.push_back(std::move(to));
  }
  seq.push_back(in_vectors(e, std::string(name), sums, lanes, [&](Dim i) {
    std::vector<Dim> index;
    for (Dim d : add.index) index.push_back(expr::substitute(d, {{out->var, i}}));
    return loop::make_store(add.buffer, index, part(i, 1), StoreKind::Add);
  }));
  e.replace(out, loop::make_allocs(stages, loop::make_block(std::move(seq))));
  return e.commit();
}

}  // namespace pliant::schedule
