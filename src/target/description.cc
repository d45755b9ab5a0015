#include "target/description.h"

#include <map>

#include "expr/scalar/packed.h"
#include "expr/scalar/with_args.h"

namespace pliant::target {

using expr::Dim;
using expr::Scalar;
using expr::ScalarKind;
using loop::Stmt;
using loop::StmtKind;

namespace {

loop::Function parsed(const Instruction& i, const std::string& text, expr::Context& ctx) {
  auto f = loop::parse(text, ctx);
  PLIANT_CHECK(f.ok()) << "instruction " << i.name << ": " << f.error().text();
  auto good = loop::verify(f.value(), ctx);
  PLIANT_CHECK(good.ok()) << "instruction " << i.name << ": " << good.error().text();
  const loop::Buffer& last = f.value().params.back();
  PLIANT_CHECK(f.value().params.size() == i.arguments.size() + (i.arguments.find(last.name) == std::string::npos))
      << "instruction " << i.name << " has other params than arguments";
  for (const loop::Buffer& b : f.value().params)
    PLIANT_CHECK(b.name == std::string(1, static_cast<char>('a' + (&b - f.value().params.data()))) &&
                 b.is_output == (&b == &last) && b.shape[0].as_symbol())
        << "instruction " << i.name << ": param " << b.name;
  return f.take();
}

// The nest's one store, the loops around it below the lanes, and whether that is all.
const Stmt* only_store(const Stmt& lanes, std::vector<const Stmt*>& inner) {
  const Stmt* s = lanes.body[0].get();
  for (; s->kind == StmtKind::For; s = s->body[0].get()) inner.push_back(s);
  return s->kind == StmtKind::Store ? s : nullptr;
}

// The part of a lane's word that `load` of a description is, at the position `k` of the inner loop.
Scalar lane_part(Scalar load, Scalar word, int64_t k) {
  if (load->index.size() == 1) return word;
  const Affine at = affine(load->index[1]);
  return expr::part_of(word, load.dtype(), at.constant + (at.terms.empty() ? 0 : at.terms[0].second * k));
}

bool is_lane_operand(const loop::Buffer& b) {
  if (b.shape.size() == 1) return true;
  return b.shape.size() == 2 && is_int(b.dtype) && b.shape[1].is_const() &&
         b.shape[1].const_value() * byte_size(b.dtype) == 4;
}

// f(a, b) in `ctx`, null where the nest is of another kind.
Scalar lane_value(const loop::Function& f, expr::Context& ctx, const std::vector<Scalar>& words) {
  std::vector<const Stmt*> inner;
  const Stmt* store = only_store(*f.body, inner);
  if (!store || store->store_kind != loop::StoreKind::Add || inner.size() > 1) return {};
  Scalar sum;
  for (int64_t k = 0; k < (inner.empty() ? 1 : inner[0]->extent.const_value()); ++k) {
    const Scalar term = transplant(store->value, ctx, [&](Scalar load) {
      for (size_t p = 0; p < words.size(); ++p)
        if (f.params[p].id == load->tensor) return lane_part(load, words[p], k);
      PLIANT_CHECK(false) << "a lane reads its sum";
      return load;
    });
    sum = sum ? sum + term : term;
  }
  return sum;
}

class Descriptions {
 public:
  Descriptions() {
    for (const Instruction& i : all_instructions()) {
      Description d;
      d.ctx = std::make_unique<expr::Context>();
      d.computes = parsed(i, i.computes, *d.ctx);
      d.stands_for = i.stands_for.empty() ? d.computes : parsed(i, i.stands_for, *d.ctx);
      add_lane(d);
      rows_.emplace(&i, std::move(d));
    }
  }
  const Description& of(const Instruction& i) const { return rows_.at(find_instruction(i.name)); }

 private:
  void add_lane(Description& d) {
    const loop::Function& f = d.stands_for;
    std::vector<Scalar> words;
    for (const loop::Buffer& b : f.params) {
      if (b.is_output) continue;
      if (!is_lane_operand(b)) return;
      d.holes.push_back(d.ctx->fresh_tensor());
      words.push_back(expr::make_load(*d.ctx, d.holes.back(), b.shape.size() == 1 ? b.dtype : DType::I32, {}));
    }
    if (words.size() == 2) d.lane = lane_value(f, *d.ctx, words);
  }

  std::map<const Instruction*, Description> rows_;
};

}  // namespace

const Description& description_of(const Instruction& i) {
  static const Descriptions all;
  return all.of(i);
}

Affine affine(Dim d) {
  Affine out;
  for (const auto& [monomial, coefficient] : d->terms) {
    if (monomial->factors.empty()) {
      out.constant = coefficient;
      continue;
    }
    const auto& [atom, power] = monomial->factors[0];
    PLIANT_CHECK(monomial->factors.size() == 1 && power == 1 && atom->kind == expr::AtomKind::Symbol)
        << "the index " << d.str() << " of a description is not affine";
    out.terms.emplace_back(atom->symbol, coefficient);
  }
  return out;
}

Scalar transplant(Scalar s, expr::Context& ctx, const std::function<Scalar(Scalar)>& load) {
  if (s->kind == ScalarKind::Load) return load(s);
  if (s->kind == ScalarKind::Const) return expr::make_const_bits(ctx, s.dtype(), s->bits);
  std::vector<Scalar> args;
  for (const Scalar& a : s->args) args.push_back(transplant(a, ctx, load));
  PLIANT_CHECK(s->kind != ScalarKind::Index) << "a description computes with an index";
  return expr::with_args(s, args);
}

}  // namespace pliant::target
