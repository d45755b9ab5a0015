// Contractions of a few rows: the work is to read the matrix, once and in the order in which it lies in memory. Where it
// runs along the columns, some rows of it at a time are added, each times its factor, to sums that stay in the L1 cache.
// Where it runs along the reduction, the vectors of some columns are multiplied into one register each, whose lanes are
// added at the end.
#include <algorithm>

#include "lower/reduction/long_sum.h"
#include "lower/templates/product.h"

namespace pliant::lower {

namespace {

enum : size_t { Lanes, Registers, Streams };  // of sweeps
enum : size_t { Rows = 1, Columns };          // of dot products

// Elements of the matrix in a task, about, and its columns: multiples of every vector.
constexpr int64_t kSweptWork = 2 << 20, kSweptColumns = 2048, kLeastSwept = 512, kDotColumns = 64;

// Whether what varies along the columns runs along them.
bool runs_along_columns(const Product& p) {
  const SymbolId column = p.var(p.outer() + 1);
  const auto loads = expr::loads_of(p.term);
  return std::all_of(loads.begin(), loads.end(), [&](Scalar l) {
    const auto stride = stride_in(*p.term->ctx, l->index[0], column);
    return stride && (stride->is_const(0) || stride->is_const(1));
  });
}

std::optional<Space> match(const Work& work, const target::Target& target) {
  const auto p = product_of(work.function);
  if (!p || p->panel || p->terms.size() != 1) return std::nullopt;
  const int64_t lanes = target.vector_bytes / byte_size(p->acc.dtype), registers = target.vector_registers;
  if (runs_along_columns(*p))
    return Space{
        {"lanes", {lanes}}, {"registers", {registers, registers / 2, registers * 2}}, {"terms at a time", {8, 4, 16}}};
  const auto most = const_upper(*p->term->ctx, p->row()->extent);
  const bool wide = most && *most <= rows_of_wide_dots(target);
  const int64_t rows = wide ? *most : registers >= 32 ? 6 : 3, columns = wide ? 8 : 4;
  return Space{
      {"lanes", {lanes}}, {"rows of a tile", {rows, rows * 2}}, {"columns of a tile", {columns, columns / 2, columns * 2}}};
}

// The loops that a schedule has made so far, by their names.
class SkinnySchedule : ProductSchedule {
 public:
  SkinnySchedule(schedule::Schedule& s, const Point& point) : ProductSchedule(s, point), term_(terms_[0]) {
    if (const Dim rows = p_.row()->extent; rows.is_const()) whole_ = rows.const_value();
  }

  Status apply() { return runs_along_columns(p_) ? sweep() : dots(); }

 private:
  Status vectorize(const std::string& loop, const std::string& outer, int64_t lanes,
                   schedule::Rest rest = schedule::Rest::Masked) {
    return s_.vectorize(loop, lanes, outer, fresh("l"), fresh("t"), rest);
  }
  Status vectorize_whole(const std::string& loop, int64_t lanes) {
    return vectorize(loop, fresh("v"), lanes, schedule::Rest::Whole);
  }
  // Tasks are blocks of columns.
  Status make_tasks(Dim columns) {
    const std::string column = fresh("c");
    outer_.push_back(fresh("nb"));
    TRY(s_.split(column_, columns, outer_.back(), column));
    column_ = column;
    return ok();
  }
  // The loops over the totals of long sums.
  Result<Names> divide(const std::string& loop) {
    if (!may_be_long(kProductBlock)) return Names{};
    const auto totals = added_by(s_, [&] { return carry(loop); });
    // Refused where the whole groups of terms are no more than a block.
    return totals.ok() ? totals.value() : Names{};
  }

  // ---- along the columns

  Status sweep() {
    // Long rows stream best; more tasks than one use more processors.
    const Dim one = ctx_.constant(1), terms = p_.count_terms(ctx_);
    const Dim parts = floordiv(ctx_.constant(kSweptWork / kLeastSwept), max(one, terms));
    TRY(make_tasks(max(one, min(ctx_.constant(kSweptColumns / kLeastSwept), parts)) * kLeastSwept));
    TRY(nest(outer_, {row_, column_}));
    (void)s_.let(column_, row_, "cf", "cn");
    TRY(s_.compute_at(p_.acc.name, row_));
    for (const std::string& l : outer_) TRY(s_.parallel(l));
    TRY(fission(zeros_));
    TRY(s_.expand(p_.acc.name, row_));
    const std::string adds = TRY(fission(row_))[0];
    TRY(vectorize_whole(zeros_, point_[Lanes]));
    TRY(whole_ ? s_.unroll(adds) : s_.specialize(adds, adds, schedule::Constant::Unroll));
    Names nest;
    std::vector<Names> heights;
    for (const std::string& l : loop_names(s_)) {
      nest.push_back(l);
      if (base_of(l) == term_) heights.push_back({nest.end() - 3, nest.end()});
    }
    for (const Names& n : heights) TRY(add_rows(n[0], n[1], n[2]));
    return vectorize(column_, fresh("v"), point_[Lanes]);
  }

  // The largest power of two up to `most` for which `registers_of` fits.
  template <class F>
  int64_t largest(int64_t most, F registers_of) const {
    int64_t n = most;
    while (n > 1 && registers_of(n) > point_[Registers]) n /= 2;
    return n;
  }

  // Some rows of the matrix at a time, over all columns, then the remaining ones.
  Status add_rows(const std::string& row, const std::string& column, const std::string& term) {
    const int64_t height = extent_of(row).const_value(), vectors = height <= 2 ? 2 : 1;
    const Dim count = extent_of(term);
    int64_t depth = largest(point_[Streams], [&](int64_t n) { return height * n + height * vectors + 2; });
    if (count.is_const()) depth = std::clamp<int64_t>(count.const_value(), 1, depth);
    const std::string group = fresh("ko"), q = fresh("q");
    TRY(s_.split(term, depth, group, q));
    TRY(s_.reorder({group, column, q, row}));
    std::string whole = group;
    Names columns{column};
    if (!ctx_.divisible(count, depth)) {
      whole = fresh("km");
      columns.push_back(TRY(added_by(s_, [&] { return s_.partition(group, whole, fresh("kr")); }))[2]);
    }
    const Dim width = extent_of(column);
    for (const std::string& l : TRY(divide(whole))) {
      const loop::StmtPtr sums = loop_named(s_, l);
      if (sums->extent == width && sums->for_kind == loop::ForKind::Serial) TRY(vectorize_whole(l, point_[Lanes]));
    }
    TRY(s_.unroll(q));
    for (const std::string& l : columns) TRY(vectorize_whole(l, vectors * point_[Lanes]));
    return ok();
  }

  // ---- along the reduction

  // Some columns at a time, which stay in the L1 cache while all rows are multiplied with them.
  Status dots() {
    TRY(make_tasks(ctx_.constant(kDotColumns)));
    const std::string tile = fresh("cv"), column = fresh("cc"), row = fresh("r");
    TRY(s_.split(column_, point_[Columns], tile, column));
    column_ = column;
    height_ = std::clamp<int64_t>(whole_.value_or(point_[Rows]), 1, point_[Rows]);
    tile_ = fresh("mt");
    TRY(s_.split_even(row_, height_, tile_, row));
    row_ = row;
    TRY(nest(outer_, {tile, tile_, row_, column_}));
    TRY(s_.compute_at(p_.acc.name, row_));
    for (const std::string& l : outer_) TRY(s_.parallel(l));
    const std::string parts = fresh("part"), zero = parts + ".in", gather = parts + ".out";
    TRY(s_.rfactor(term_, point_[Lanes], term_, parts, loop::Scope::Local));
    const std::string adds = TRY(fission(zeros_))[0];
    TRY(s_.expand(p_.acc.name, row_));
    const std::string add_rows = TRY(fission(row_))[0];
    TRY(s_.bind(p_.acc.name, loop::Scope::Local));
    TRY(s_.expand(parts, adds));
    TRY(s_.expand(parts, add_rows));
    const Names columns_of = TRY(fission(adds)), rows_of = TRY(fission(add_rows));
    TRY(s_.reorder({term_, columns_of[0], rows_of[0]}));
    if (!extent_of(column_).is_const(point_[Columns])) {
      TRY(s_.pad(columns_of[0], point_[Columns], schedule::Beyond::Last));
      for (const std::string& l : {zeros_, adds, columns_of[1]}) TRY(s_.pad(l, point_[Columns]));
    }
    for (const std::string& l : {zeros_, adds, columns_of[0]}) TRY(s_.unroll(l));
    TRY(s_.fold(columns_of[1], gather, point_[Lanes], fresh("folded")));
    TRY(s_.vectorize(zero));
    const std::string groups = fresh("ko");
    TRY(vectorize(term_, groups, point_[Lanes]));
    const bool has_rest = !extent_of(column_).is_const();
    TRY(s_.vectorize(column_));
    // Where rows are not known, each height is a variant.
    if (whole_) TRY(unroll_known_heights([](const loop::StmtPtr& rows) { return rows->extent.is_const(); }));
    if (!whole_ && height_ > 1) TRY(s_.specialize(row_, tile_, schedule::Constant::Unroll));
    for (const std::string& l : loop_names(s_))
      if (base_of(l) == groups) TRY(divide(l));
    return has_rest ? s_.partition(tile, fresh("cw"), fresh("ct")) : ok();
  }

  const std::string term_;  // the loop over the reduction
};

}  // namespace

int64_t rows_of_wide_dots(const target::Target& target) { return target.vector_registers >= 32 ? 3 : 1; }

const Template kSkinnyGemm{"skinny_gemm", match, apply_as<SkinnySchedule>};

}  // namespace pliant::lower
