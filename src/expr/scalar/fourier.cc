#include "expr/scalar/fourier.h"

namespace pliant::expr {

namespace {

Scalar number(Dim d) { return make_cast(DType::F64, make_index(d)); }

bool is_binary(Scalar s, BinaryOp op) { return s->kind == ScalarKind::Binary && s->binary() == op; }

// x of x * cos(angle), and the cosine.
struct Turned {
  Scalar value, cosine;
};
std::optional<Turned> turned(Scalar s) {
  if (!is_binary(s, BinaryOp::Mul)) return std::nullopt;
  for (size_t k = 0; k < 2; ++k) {
    const Scalar f = s->args[k];
    if (f->kind == ScalarKind::Unary && f->unary() == UnaryOp::Cos) return Turned{s->args[1 - k], f};
  }
  return std::nullopt;
}

// The factors of im * sin(angle): either may be im.
std::vector<Scalar> factors_of(Scalar s) {
  return is_binary(s, BinaryOp::Mul) ? std::vector<Scalar>{s->args[0], s->args[1]} : std::vector<Scalar>{};
}

// The bin of an angle: what the sample's number is multiplied by.
std::optional<Dim> bin_of(Scalar angle, SymbolId sample) {
  if (angle->kind == ScalarKind::Index) {
    Dim turns = angle->index[0];
    if (!uses_symbol(turns, sample)) return std::nullopt;
    if (turns->terms.size() == 1 && turns->terms[0].second == 1 && turns->terms[0].first->factors.size() == 1) {
      const auto& [atom, power] = turns->terms[0].first->factors[0];
      if (atom->kind == AtomKind::Mod && power == 1) turns = atom->args[0];
    }
    return coefficient_of(turns, sample);
  }
  for (Scalar a : angle->args)
    if (auto bin = bin_of(a, sample)) return bin;
  return std::nullopt;
}

}  // namespace

Scalar fourier_term(const FourierTerm& t) {
  Context& ctx = *t.bin->ctx;
  const Dim period = max(t.length, ctx.constant(1));
  const Scalar turns = number(mod(t.bin * t.sample, period)) / number(period);
  const Scalar angle = turns * make_const(ctx, DType::F64, 6.283185307179586);
  Scalar cosine = make_unary(UnaryOp::Cos, angle), sine = make_unary(UnaryOp::Sin, angle);
  if (!t.inverse) sine = -sine;
  Scalar real = t.re * cosine, imaginary = t.re * sine;
  if (t.im) {
    real = real - t.im * sine;
    imaginary = imaginary + t.im * cosine;
  }
  return t.is_real ? make_select(t.is_real, real, imaginary) : real;
}

std::optional<FourierTerm> as_fourier_term(Scalar s, SymbolId sample, Dim length) {
  FourierTerm t;
  t.sample = s->ctx->symbol_dim(sample);
  t.length = length;
  Scalar real = s;
  if (s->kind == ScalarKind::Select) {
    t.is_real = s->args[0];
    real = s->args[1];
  }
  const bool complex = is_binary(real, BinaryOp::Sub);
  const auto first = turned(complex ? real->args[0] : real);
  if (!first) return std::nullopt;
  const auto bin = bin_of(first->cosine->args[0], sample);
  if (!bin || uses_symbol(*bin, sample)) return std::nullopt;
  t.re = first->value;
  t.bin = *bin;
  const std::vector<Scalar> others = complex ? factors_of(real->args[1]) : std::vector<Scalar>{Scalar()};
  for (Scalar im : others)
    for (bool inverse : {false, true}) {
      t.im = im;
      t.inverse = inverse;
      if (fourier_term(t) == s) return t;
    }
  return std::nullopt;
}

}  // namespace pliant::expr
