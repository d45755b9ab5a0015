#include "frontend/core/evaluate.h"

#include <algorithm>
#include <bit>

#include "ops/arity.h"

namespace pliant::frontend {
namespace {

using expr::BinaryOp;
using expr::Scalar;
using expr::ScalarKind;
using expr::UnaryOp;

std::optional<ElementOp> element_op(UnaryOp op) {
  switch (op) {
    case UnaryOp::Neg: return ElementOp::Neg;
    case UnaryOp::Abs: return ElementOp::Abs;
    case UnaryOp::Not: return ElementOp::Not;
    case UnaryOp::Sign: return ElementOp::Sign;
    case UnaryOp::Sqrt: return ElementOp::Sqrt;
    case UnaryOp::Floor: return ElementOp::Floor;
    case UnaryOp::Ceil: return ElementOp::Ceil;
    case UnaryOp::Round: return ElementOp::Round;
    default: return std::nullopt;
  }
}

std::optional<ElementOp> element_op(BinaryOp op) {
  switch (op) {
    case BinaryOp::Add: return ElementOp::Add;
    case BinaryOp::Sub: return ElementOp::Sub;
    case BinaryOp::Mul: return ElementOp::Mul;
    case BinaryOp::Div: return ElementOp::Div;
    case BinaryOp::Mod: return ElementOp::Mod;
    case BinaryOp::Pow: return ElementOp::Pow;
    case BinaryOp::Min: return ElementOp::Min;
    case BinaryOp::Max: return ElementOp::Max;
    case BinaryOp::And: return ElementOp::And;
    case BinaryOp::Or: return ElementOp::Or;
    case BinaryOp::Xor: return ElementOp::Xor;
    case BinaryOp::Eq: return ElementOp::Equal;
    case BinaryOp::Lt: return ElementOp::Less;
    case BinaryOp::Le: return ElementOp::LessOrEqual;
    case BinaryOp::Gt: return ElementOp::Greater;
    case BinaryOp::Ge: return ElementOp::GreaterOrEqual;
    default: return std::nullopt;
  }
}

std::optional<ElementOp> element_op(te::Combiner c) {
  switch (c) {
    case te::Combiner::Sum: return ElementOp::Add;
    case te::Combiner::Prod: return ElementOp::Mul;
    case te::Combiner::Max: return ElementOp::Max;
    case te::Combiner::Min: return ElementOp::Min;
    default: return std::nullopt;
  }
}

class Evaluation {
 public:
  using Maybe = std::optional<Element>;
  explicit Evaluation(expr::Context& ctx) : ctx_(ctx) {}

  void give(const te::Tensor& t, const Known& k) { known_.emplace(t->id, k); }

  // The elements of `t`, computed once; null where they are not known.
  const Known* elements_of(const te::TensorDef& t) {
    auto [at, is_new] = known_.try_emplace(t.id);
    if (!is_new) return at->second ? &*at->second : nullptr;
    std::optional<Known> k = computed(t);
    std::optional<Known>& place = known_[t.id];
    place = std::move(k);
    return place ? &*place : nullptr;
  }

 private:
  std::optional<Known> computed(const te::TensorDef& t) {
    for (const te::Tensor& read : t.reads)
      if (elements_of(*read) == nullptr) return std::nullopt;
    Known out{t.dtype, {}, {}};
    for (Dim d : t.shape) {
      if (!d.is_const()) return std::nullopt;
      out.shape.push_back(d.const_value());
    }
    const std::optional<int64_t> n = small_count(out.shape);
    if (!n || (t.kind != te::Kind::Map && t.kind != te::Kind::Reduce)) return std::nullopt;
    for (int64_t flat = 0; flat < *n; ++flat) {
      place(t.index, out.shape, flat);
      const Maybe e = t.kind == te::Kind::Map ? value(t.body) : reduced(t);
      if (!e) return std::nullopt;
      out.elements.push_back(*e);
    }
    return out;
  }

  void place(const std::vector<expr::SymbolId>& index, const std::vector<int64_t>& shape, int64_t flat) {
    for (size_t k = shape.size(); k-- > 0; flat /= shape[k]) position_[index[k]] = ctx_.constant(flat % shape[k]);
  }

  Maybe reduced(const te::TensorDef& t) {
    const std::optional<ElementOp> op = element_op(t.combiner);
    std::vector<int64_t> extent;
    for (Dim d : t.reduce_extent) extent.push_back(d.is_const() ? d.const_value() : -1);
    const std::optional<int64_t> n = small_count(extent);
    if (!op || !n || is_float(t.dtype)) return std::nullopt;
    Maybe total;
    if (*op == ElementOp::Add || *op == ElementOp::Mul) total = Element::make_int(ctx_.constant(*op == ElementOp::Mul));
    for (int64_t flat = 0; flat < *n; ++flat) {
      place(t.reduce_index, extent, flat);
      Maybe e = value(t.body);
      if (e && total) e = apply(*op, *total, *e, t.body.dtype(), ctx_);
      if (!e) return std::nullopt;
      total = e;
    }
    return total;
  }

  Maybe value(Scalar s) {
    switch (s->kind) {
      case ScalarKind::Const:
        if (s->dtype == DType::F32) return Element::make_real(std::bit_cast<float>(static_cast<uint32_t>(s->bits)));
        if (s->dtype == DType::F64) return Element::make_real(std::bit_cast<double>(s->bits));
        if (is_float(s->dtype)) return std::nullopt;
        return Element::make_int(ctx_.constant(static_cast<int64_t>(s->bits)));
      case ScalarKind::Index: {
        const std::optional<Dim> d = size(s->index[0]);
        return d ? Maybe(Element::make_int(*d)) : std::nullopt;
      }
      case ScalarKind::Load: return loaded(s);
      case ScalarKind::Unary: return unary(s->unary(), s->args[0]);
      case ScalarKind::Binary: return binary(s->binary(), s->args[0], s->args[1]);
      case ScalarKind::Select: return selected(s);
      case ScalarKind::Cast: {
        const Maybe e = value(s->args[0]);
        return e ? cast(*e, s->args[0].dtype(), s->dtype, ctx_) : std::nullopt;
      }
      default: return std::nullopt;
    }
  }

  Maybe loaded(Scalar s) {
    const Known& k = *known_.at(s->tensor);
    int64_t flat = 0;
    for (size_t i = 0; i < s->index.size(); ++i) {
      const std::optional<Dim> at = size(s->index[i]);
      if (!at || !at->is_const() || at->const_value() < 0 || at->const_value() >= k.shape[i]) return std::nullopt;
      flat = flat * k.shape[i] + at->const_value();
    }
    return k.elements[static_cast<size_t>(flat)];
  }

  Maybe unary(UnaryOp op, Scalar x) {
    const Maybe e = value(x);
    const std::optional<ElementOp> known_op = element_op(op);
    return e && known_op ? apply(*known_op, *e, x.dtype(), ctx_) : std::nullopt;
  }

  Maybe binary(BinaryOp op, Scalar x, Scalar y) {
    const Maybe a = value(x), b = a ? value(y) : std::nullopt;
    const std::optional<ElementOp> known_op = element_op(op == BinaryOp::Ne ? BinaryOp::Eq : op);
    Maybe out = b && known_op ? apply(*known_op, *a, *b, x.dtype(), ctx_) : std::nullopt;
    if (out && op == BinaryOp::Ne) out->num = 1 - out->num;
    return out;
  }

  // Both sides by the condition where that is a size, 0 or 1.
  Maybe selected(Scalar s) {
    const Maybe condition = value(s->args[0]);
    if (!condition || condition->kind != Element::Kind::Int) return std::nullopt;
    const Dim d = condition->num;
    if (d.is_const()) return value(s->args[d.is_const(0) ? 2 : 1]);
    const Maybe then = value(s->args[1]), otherwise = value(s->args[2]);
    if (!then || !otherwise || then->kind != Element::Kind::Int || otherwise->kind != Element::Kind::Int)
      return std::nullopt;
    return Element::make_int(otherwise->num + d * (then->num - otherwise->num));
  }

  // A size at the present position, with the elements that it is read from.
  std::optional<Dim> size(Dim d) {
    Dim sum = ctx_.constant(0);
    for (const auto& [monomial, coefficient] : d->terms) {
      Dim product = ctx_.constant(coefficient);
      for (const auto& [atom, power] : monomial->factors) {
        const std::optional<Dim> v = size(*atom);
        if (!v) return std::nullopt;
        for (uint32_t i = 0; i < power; ++i) product = product * *v;
      }
      sum = sum + product;
    }
    return sum;
  }

  std::optional<Dim> size(const expr::Atom& atom) {
    if (atom.kind == expr::AtomKind::Symbol) {
      auto at = position_.find(atom.symbol);
      return at == position_.end() ? ctx_.symbol_dim(atom.symbol) : at->second;
    }
    if (atom.kind == expr::AtomKind::Value) {
      const Maybe e = value(Scalar(atom.scalar));
      return e && e->kind == Element::Kind::Int ? std::optional(e->num) : std::nullopt;
    }
    std::vector<Dim> args;
    for (Dim a : atom.args) {
      const std::optional<Dim> v = size(a);
      if (!v) return std::nullopt;
      args.push_back(*v);
    }
    Dim out = args[0];
    for (size_t i = 1; i < args.size(); ++i) switch (atom.kind) {
        case expr::AtomKind::FloorDiv: out = expr::floordiv(out, args[i]); break;
        case expr::AtomKind::Mod: out = expr::mod(out, args[i]); break;
        case expr::AtomKind::Min: out = expr::min(out, args[i]); break;
        case expr::AtomKind::Max: out = expr::max(out, args[i]); break;
        default: out = expr::broadcast(out, args[i]); break;
      }
    return out;
  }

  expr::Context& ctx_;
  std::unordered_map<expr::TensorId, std::optional<Known>> known_;
  std::unordered_map<expr::SymbolId, Dim> position_;
};

}  // namespace

std::optional<std::vector<Known>> evaluate(Conversion& c, const std::string& op, const Attrs& attrs,
                                           const std::vector<const Known*>& inputs, size_t outputs) {
  const ops::OpDef* def = ops::find_op(op);
  PLIANT_CHECK(def != nullptr && def->compute) << op << " has no tensor expressions";
  if (!ops::takes_inputs(*def, inputs.size())) return std::nullopt;
  te::Builder builder(c.ctx());
  Evaluation evaluation(c.ctx());
  std::vector<te::Tensor> tensors;
  for (const Known* k : inputs) {
    if (k == nullptr && ops::needs_input(*def, tensors.size())) return std::nullopt;
    tensors.push_back(nullptr);
    if (k == nullptr) continue;
    std::vector<Dim> shape;
    for (int64_t d : k->shape) shape.push_back(c.num(d));
    tensors.back() = builder.input("in", k->dtype, std::move(shape));
    evaluation.give(tensors.back(), *k);
  }
  const Result<Attrs> filled = ops::normalise_attrs(*def, attrs, c.ctx(), c.loc);
  if (!filled.ok()) return std::nullopt;
  ops::DefineContext definition(builder, filled.value(), std::move(tensors), outputs, c.loc);
  const Result<std::vector<te::Tensor>> given = def->compute(definition);
  if (!given.ok() || !definition.constraints().empty()) return std::nullopt;
  for (const ops::DataCheck& check : definition.checks()) {
    const Known* k = evaluation.elements_of(*check.ok);
    auto holds = [](const Element& e) { return e.kind == Element::Kind::Int && e.num.is_const(1); };
    if (k == nullptr || !std::all_of(k->elements.begin(), k->elements.end(), holds)) return std::nullopt;
  }
  std::vector<Known> out;
  for (const te::Tensor& t : given.value()) {
    const Known* k = evaluation.elements_of(*t);
    if (k == nullptr) return std::nullopt;
    out.push_back(*k);
  }
  return out;
}

}  // namespace pliant::frontend
