// for k in K { for j in J { t[k, j] = S(k, j) } }  ->  the same in square blocks: rows along k, as vectors, in registers,
// where they become rows along j by shuffles.
#include "schedule/primitives/tail.h"

namespace pliant::schedule {
namespace {

class Blocks {
 public:
  Blocks(Edit& e, const StmtPtr& along, const StmtPtr& across, int64_t n)
      : e_(e), ctx_(e.ctx), along_(along), across_(across), store_(*across->body[0]), n_(n) {}

  StmtPtr make() {
    const Dim whole = expr::floordiv(along_->extent, n_), rest = expr::mod(along_->extent, n_);
    std::vector<StmtPtr> parts;
    if (!whole.is_const(0))
      parts.push_back(e_.derived_loop(e_.name_of(along_->var), whole, ForKind::Serial,
                                      [&](Dim k) { return row_of_blocks(k * n_, {}); }));
    if (!rest.is_const(0))
      parts.push_back(loop::make_if(expr::less(ctx_.constant(0), rest), row_of_blocks(whole * n_, rest)));
    return loop::make_block(std::move(parts));
  }

 private:
  // From `k` on, where `valid` exist; null for all.
  StmtPtr row_of_blocks(Dim k, Dim valid) {
    std::vector<StmtPtr> parts;
    for (int64_t j = 0; j < across_->extent.const_value(); j += n_) parts.push_back(block(k, j, valid));
    return loop::make_block(std::move(parts));
  }

  StmtPtr nest(const std::function<StmtPtr(Dim row, Dim lane)>& body) {
    const Dim n = ctx_.constant(n_), r = e_.derived_index("r", n), l = e_.derived_index("l", n);
    const StmtPtr lanes = make_for(l, n, ForKind::Vector, body(r, l));
    return make_for(r, n, ForKind::Unroll, lanes);
  }
  Buffer square() {
    const Dim n = ctx_.constant(n_);
    return e_.derived_buffer("block", store_.value->dtype, {n, n});
  }
  Scalar load(const Buffer& b, Dim row, Dim column) { return expr::make_load(ctx_, b.id, b.dtype, {row, column}); }

  StmtPtr block(Dim k, int64_t j, Dim valid) {
    std::vector<Buffer> stages{square()};
    std::vector<StmtPtr> seq{nest([&](Dim r, Dim l) {
      const BufferId to = stages[0].id;
      StmtPtr s =
          loop::make_store(to, {r, l}, expr::substitute(store_.value, {{along_->var, k + l}, {across_->var, r + j}}));
      if (!valid) return s;
      return loop::make_if(expr::less(l, valid), s,
                           loop::make_store(to, {r, l}, expr::make_const(ctx_, store_.value->dtype, 0)));
    })};
    // Each stage exchanges one bit of the row's number with that of the column's.
    for (int64_t bit = n_ / 2; bit >= 1; bit /= 2) {
      const Buffer from = stages.back(), to = square();
      seq.push_back(nest([&](Dim r, Dim l) {
        const Dim row_bit = expr::mod(expr::floordiv(r, bit), 2), column_bit = expr::mod(expr::floordiv(l, bit), 2);
        const Dim swap = (column_bit - row_bit) * bit;
        return loop::make_store(to.id, {r, l}, load(from, r + swap, l - swap));
      }));
      stages.push_back(to);
    }
    seq.push_back(nest([&](Dim r, Dim l) {
      std::vector<Dim> index;
      for (Dim d : store_.index) index.push_back(expr::substitute(d, {{along_->var, k + r}, {across_->var, l + j}}));
      StmtPtr s = loop::make_store(store_.buffer, index, load(stages.back(), r, l));
      return valid ? loop::make_if(expr::less(r, valid), s) : s;
    }));
    return loop::make_allocs(stages, loop::make_block(std::move(seq)));
  }

  Edit& e_;
  expr::Context& ctx_;
  const StmtPtr along_, across_;
  const Stmt& store_;
  int64_t n_;
};

}  // namespace

Status Schedule::transpose(std::string_view along, std::string_view across, int64_t lanes) {
  Edit e(*this, "transpose", along, across, lanes);
  const StmtPtr k = TRY(e.find_loop(along)), j = TRY(e.find_loop(across));
  if (k->body[0] != j || j->body[0]->kind != StmtKind::Store || j->body[0]->store_kind != StoreKind::Assign)
    return e.refuse("loop " + std::string(along) + " holds more than loop " + std::string(across) + " of one assignment");
  if (k->for_kind != ForKind::Serial || j->for_kind != ForKind::Serial) return e.refuse("a loop is already marked");
  if (lanes < 2 || lanes > 64 || (lanes & (lanes - 1)) != 0) return e.refuse("a block is a power of two from 2 to 64");
  if (!j->extent.is_const() || j->extent.const_value() % lanes != 0)
    return e.refuse("the extent of loop " + std::string(across) + " is no multiple of " + std::to_string(lanes));
  if (!e.is_size(k->extent)) return e.refuse("the extent of loop " + std::string(along) + " may be negative");
  if (expr::uses_symbol(j->extent, k->var)) return e.refuse("loop " + std::string(across) + " depends on the other");
  TRY(check_independent(e, k, false));
  TRY(check_independent(e, j, false));
  e.replace(k, Blocks(e, k, j, lanes).make());
  return e.commit();
}

}  // namespace pliant::schedule
