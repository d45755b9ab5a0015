// Constructors and simple queries of the loop IR.
#include "loop/build.h"

#include <algorithm>
#include <set>

#include "loop/walk.h"

namespace pliant::loop {

const char* name_of(ForKind k) {
  switch (k) {
    case ForKind::Serial: return "serial";
    case ForKind::Parallel: return "parallel";
    case ForKind::Vector: return "vector";
    case ForKind::Unroll: return "unroll";
    case ForKind::Outline: return "outline";
    case ForKind::Tensor: return "tensor";
  }
  return "?";
}

const char* name_of(StoreKind k) {
  switch (k) {
    case StoreKind::Assign: return "assign";
    case StoreKind::Add: return "add";
    case StoreKind::Mul: return "mul";
    case StoreKind::Max: return "max";
    case StoreKind::Min: return "min";
    case StoreKind::And: return "and";
    case StoreKind::Or: return "or";
  }
  return "?";
}

std::optional<expr::BinaryOp> update_of(StoreKind k) {
  switch (k) {
    case StoreKind::Assign: return std::nullopt;
    case StoreKind::Add: return expr::BinaryOp::Add;
    case StoreKind::Mul: return expr::BinaryOp::Mul;
    case StoreKind::Max: return expr::BinaryOp::Max;
    case StoreKind::Min: return expr::BinaryOp::Min;
    case StoreKind::And: return expr::BinaryOp::And;
    case StoreKind::Or: return expr::BinaryOp::Or;
  }
  return std::nullopt;
}

std::optional<Scalar> identity_of(StoreKind k, DType t, expr::Context& ctx) {
  switch (k) {
    case StoreKind::Assign: return std::nullopt;
    // -0 + x is x for every float, 0 + -0 is not.
    case StoreKind::Add: return is_float(t) ? expr::make_const(ctx, t, -0.0) : expr::make_const_int(ctx, t, 0);
    case StoreKind::Mul: return expr::make_const_int(ctx, t, 1);
    case StoreKind::Max: return expr::make_lowest(ctx, t);
    case StoreKind::Min: return expr::make_highest(ctx, t);
    case StoreKind::And: return expr::make_const_bits(ctx, DType::Bool, 1);
    case StoreKind::Or: return expr::make_const_bits(ctx, DType::Bool, 0);
  }
  return std::nullopt;
}

std::vector<Dim> strides_of(const Buffer& b, expr::Context& ctx) {
  return b.strides.empty() ? row_major(ctx, b.shape) : b.strides;
}

std::vector<Dim> row_major(expr::Context& ctx, const std::vector<Dim>& shape) {
  std::vector<Dim> strides(shape.size());
  Dim step = ctx.constant(1);
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step = step * shape[i];
  }
  return strides;
}

Dim offset_of(expr::Context& ctx, const std::vector<Dim>& strides, const std::vector<Dim>& index) {
  Dim offset = ctx.constant(0);
  for (size_t i = 0; i < index.size(); ++i) offset = offset + index[i] * strides[i];
  return offset;
}

StmtPtr make_block(std::vector<StmtPtr> stmts) {
  std::vector<StmtPtr> flat;
  for (auto& s : stmts) {
    if (!s) continue;
    if (s->kind == StmtKind::Block) {
      flat.insert(flat.end(), s->body.begin(), s->body.end());
    } else {
      flat.push_back(std::move(s));
    }
  }
  if (flat.size() == 1) return flat[0];
  return std::make_shared<Stmt>(Stmt{.kind = StmtKind::Block, .body = std::move(flat)});
}

StmtPtr make_for(SymbolId var, Dim extent, ForKind kind, StmtPtr body) {
  PLIANT_CHECK(kind != ForKind::Tensor) << "the loop of an instruction is made by make_tensor";
  PLIANT_CHECK(extent && body) << "a loop needs an extent and a body";
  return std::make_shared<Stmt>(
      Stmt{.kind = StmtKind::For, .body = {std::move(body)}, .var = var, .extent = extent, .for_kind = kind});
}

StmtPtr make_for(Dim index, Dim extent, ForKind kind, StmtPtr body) {
  const std::optional<SymbolId> var = index.as_symbol();
  PLIANT_CHECK(var) << "a loop over " << index;
  return make_for(*var, extent, kind, std::move(body));
}

StmtPtr make_for(expr::Context& ctx, const std::string& name, Dim extent, ForKind kind, const MakeBody& body) {
  const Dim index = ctx.index_symbol(name, extent);
  return make_for(index, extent, kind, body(index));
}

StmtPtr make_for(expr::Context& ctx, const std::string& name, int64_t extent, ForKind kind, const MakeBody& body) {
  return make_for(ctx, name, ctx.constant(extent), kind, body);
}

StmtPtr make_tensor(SymbolId var, Dim extent, std::string instruction, StmtPtr body) {
  Stmt s = *make_for(var, extent, ForKind::Serial, std::move(body));
  s.for_kind = ForKind::Tensor;
  s.instruction = std::move(instruction);
  return std::make_shared<Stmt>(std::move(s));
}

StmtPtr make_store(BufferId buffer, std::vector<Dim> index, Scalar value, StoreKind kind) {
  PLIANT_CHECK(value) << "a store needs a value";
  return std::make_shared<Stmt>(
      Stmt{.kind = StmtKind::Store, .buffer = buffer, .index = std::move(index), .value = value, .store_kind = kind});
}

StmtPtr make_if(Scalar cond, StmtPtr then, StmtPtr otherwise) {
  PLIANT_CHECK(cond && then) << "an If needs a condition and a body";
  std::vector<StmtPtr> body{std::move(then)};
  if (otherwise) body.push_back(std::move(otherwise));
  return std::make_shared<Stmt>(Stmt{.kind = StmtKind::If, .body = std::move(body), .value = cond});
}

StmtPtr make_alloc(Buffer buffer, StmtPtr body) {
  PLIANT_CHECK(body) << "an Alloc needs a body";
  return std::make_shared<Stmt>(
      Stmt{.kind = StmtKind::Alloc, .body = {std::move(body)}, .alloc = std::make_shared<const Buffer>(std::move(buffer))});
}

Buffer make_buffer(expr::Context& ctx, const std::string& name, DType t, std::vector<Dim> shape, Scope scope) {
  return {.id = ctx.fresh_tensor(), .name = name, .dtype = t, .shape = std::move(shape), .strides = {}, .scope = scope};
}

StmtPtr make_allocs(const std::vector<Buffer>& buffers, StmtPtr body) {
  for (size_t i = buffers.size(); i-- > 0;) body = make_alloc(buffers[i], std::move(body));
  return body;
}

StmtPtr make_check(Scalar cond, uint32_t trap, std::vector<Dim> values) {
  PLIANT_CHECK(cond) << "a Check needs a condition";
  return std::make_shared<Stmt>(Stmt{.kind = StmtKind::Check, .index = std::move(values), .value = cond, .trap = trap});
}

StmtPtr make_let(SymbolId var, Dim value, StmtPtr body) {
  PLIANT_CHECK(value && body) << "a Let needs a value and a body";
  return std::make_shared<Stmt>(Stmt{.kind = StmtKind::Let, .body = {std::move(body)}, .var = var, .extent = value});
}

Dim Lets::add(const std::string& name, Dim value, int64_t lo, int64_t hi) {
  if (value.is_const()) return value;
  expr::SymbolInfo info;
  info.name = name;
  info.lo = lo;
  info.hi = hi;
  info.origin.kind = expr::Origin::Kind::LoopIndex;
  const Dim s = ctx_.symbol(std::move(info));
  values_.emplace_back(*s.as_symbol(), value);
  return s;
}

StmtPtr Lets::around(StmtPtr body) const {
  for (size_t i = values_.size(); i-- > 0;) body = make_let(values_[i].first, values_[i].second, std::move(body));
  return body;
}

StmtPtr make_while(SymbolId var, Dim limit, Scalar cond, StmtPtr body) {
  PLIANT_CHECK(body) << "a While needs a body";
  return std::make_shared<Stmt>(
      Stmt{.kind = StmtKind::While, .body = {std::move(body)}, .var = var, .extent = limit, .value = cond});
}

bool binds_variable(const Stmt& s) {
  return s.kind == StmtKind::For || s.kind == StmtKind::While || s.kind == StmtKind::Let;
}

std::vector<SymbolId> free_symbols(const Function& f) {
  std::set<SymbolId> read, bound;
  auto add = [&](Dim d) {
    for (SymbolId s : expr::symbols_of(d)) read.insert(s);
  };
  auto add_buffer = [&](const Buffer& b) {
    std::for_each(b.shape.begin(), b.shape.end(), add);
    std::for_each(b.strides.begin(), b.strides.end(), add);
  };
  std::for_each(f.params.begin(), f.params.end(), add_buffer);
  for_each(f.body, [&](const Stmt& s) {
    if (binds_variable(s)) bound.insert(s.var);
    if (s.alloc) add_buffer(*s.alloc);
    for_each_dim(s, add);
    if (s.value)
      for (SymbolId id : expr::symbols_of(s.value)) read.insert(id);
  });
  std::vector<SymbolId> out;
  std::set_difference(read.begin(), read.end(), bound.begin(), bound.end(), std::back_inserter(out));
  return out;
}

const Buffer* find_buffer(const Function& f, BufferId id) {
  for (const Buffer& b : f.params)
    if (b.id == id) return &b;
  const Buffer* found = nullptr;
  for_each(f.body, [&](const Stmt& s) {
    if (s.alloc && s.alloc->id == id) found = s.alloc.get();
  });
  return found;
}

}  // namespace pliant::loop
