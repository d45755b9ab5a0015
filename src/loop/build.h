// Loops, Lets and buffers by name: what all builders of loop functions use.
#pragma once
#include <functional>

#include "loop/loop.h"

namespace pliant::loop {

// A loop over the symbol that `index` is.
StmtPtr make_for(Dim index, Dim extent, ForKind kind, StmtPtr body);
// A loop over a fresh index of this name, which `body` gets.
using MakeBody = std::function<StmtPtr(Dim index)>;
StmtPtr make_for(expr::Context& ctx, const std::string& name, Dim extent, ForKind kind, const MakeBody& body);
StmtPtr make_for(expr::Context& ctx, const std::string& name, int64_t extent, ForKind kind, const MakeBody& body);

// The strides of a contiguous shape, and the offset of an index.
std::vector<Dim> row_major(expr::Context& ctx, const std::vector<Dim>& shape);
Dim offset_of(expr::Context& ctx, const std::vector<Dim>& strides, const std::vector<Dim>& index);
// A buffer of this name, contiguous.
Buffer make_buffer(expr::Context& ctx, const std::string& name, DType t, std::vector<Dim> shape, Scope scope);
// `body` with the buffers declared around it, the first outermost.
StmtPtr make_allocs(const std::vector<Buffer>& buffers, StmtPtr body);

// Names for values, declared around what is built with them.
class Lets {
 public:
  explicit Lets(expr::Context& ctx) : ctx_(ctx) {}
  // A symbol of this range for a value, which may use those before; a constant stays as it is.
  Dim add(const std::string& name, Dim value, int64_t lo = 0, int64_t hi = expr::kNoLimit);
  StmtPtr around(StmtPtr body) const;

 private:
  expr::Context& ctx_;
  std::vector<std::pair<SymbolId, Dim>> values_;
};

// What an update of this kind does not change an element by; nothing for assignments.
std::optional<Scalar> identity_of(StoreKind k, DType t, expr::Context& ctx);

}  // namespace pliant::loop
