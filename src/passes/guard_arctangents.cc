// An angle that a model writes out, as exporters write atan2(y, x) for want of an operator, is 0 where y and x are. Their
// graphs divide the two and move the arctangent by pi where x is negative; that is NaN for two zeros, where the function
// they stand for is 0.
//
//   %3 = math.div(%y, %x) : f32[n]                      %3 = math.div(%y, %x) : f32[n]
//   %4 = math.atan(%3) : f32[n]                         %5 = math.where(%both_zero, %zero, %3) : f32[n]
//   %5 = math.add(%4, %pi) : f32[n]              →      %6 = math.atan(%5) : f32[n]
//   %6 = math.sub(%4, %pi) : f32[n]                     …
//   %7 = math.where(%y_positive, %5, %6) : f32[n]
//   %8 = math.where(%x_negative, %7, %4) : f32[n]
//
// A graph is such an angle by what it gives for the signs of y and x, not by its form: PyTorch's chain of Where, in both
// orders and with any comparisons, and Paddle's sum with the sign of y are found alike. Every other element is computed as
// the model says. The half axis of y = 0 and x < 0 is not looked at, since the exporters differ there.
//
// At every level, and before what could fold or merge the nodes: whether an element is a number must not depend on that.
#include <cmath>
#include <map>
#include <set>

#include "graph/visit.h"
#include "passes/pass.h"
#include "passes/rewrite/constants.h"
#include "passes/rewrite/liveness.h"
#include "passes/rewrite/rewriter.h"

namespace pliant::passes {
namespace {

// An angle has some ten nodes; sums of a model that lead nowhere are given up early.
constexpr size_t kMostNodes = 48;
// Halves have pi to a thousandth.
constexpr double kTolerance = 2e-3;

struct Arc {
  ValueId atan = kNoValue, y = kNoValue, x = kNoValue;
};

// The value before casts between floats, which keep the sign, and identities.
ValueId origin_of(const Rewriter& s, ValueId v) {
  for (const Node* n = s.def(v); n != nullptr; n = s.def(v)) {
    const bool is_float_cast =
        n->op == "math.cast" && is_float(s.tensor(v)->dtype) && is_float(s.tensor(n->inputs[0])->dtype);
    if (!is_float_cast && n->op != "math.identity") break;
    v = n->inputs[0];
  }
  return v;
}

// Elementwise arithmetic that leads from an arctangent to an angle.
bool leads_on(const Node& n) {
  static const std::set<std::string> ops{"math.where", "math.add",  "math.sub",     "math.mul",
                                         "math.neg",   "math.cast", "math.identity"};
  return ops.count(n.op) != 0;
}

// What a value is where y and x have certain signs: nothing known, a bool, a number of this sign, or arcs * atan(y / x) +
// number.
struct Meaning {
  enum class Kind { Unknown, Truth, Signed, Angle } kind = Kind::Unknown;
  bool truth = false;
  int sign = 0;
  double arcs = 0, number = 0;

  static Meaning of(bool truth) { return {.kind = Kind::Truth, .truth = truth}; }
  static Meaning of(double number, double arcs = 0) { return {.kind = Kind::Angle, .arcs = arcs, .number = number}; }
  // Zeros are numbers.
  static Meaning signed_by(int sign) { return sign == 0 ? of(0.0) : Meaning{.kind = Kind::Signed, .sign = sign}; }
  bool is_truth() const { return kind == Kind::Truth; }
  bool is_angle() const { return kind == Kind::Angle; }
  bool is_number() const { return is_angle() && arcs == 0; }
  bool is_zero() const { return is_number() && number == 0; }
};

std::optional<bool> compare(const std::string& op, double a, double b) {
  if (op == "math.lt") return a < b;
  if (op == "math.le") return a <= b;
  if (op == "math.gt") return a > b;
  if (op == "math.ge") return a >= b;
  if (op == "math.eq") return a == b;
  if (op == "math.ne") return a != b;
  return std::nullopt;
}

// Evaluates a graph for one pair of signs.
class Signs {
 public:
  Signs(const Rewriter& s, const Arc& arc, int y, int x) : s_(s), arc_(arc), y_(y), x_(x) {}

  Meaning of_node(const Node& n) {
    const size_t count = n.inputs.size();
    if (n.op == "math.where") {
      const Meaning condition = of(n.inputs[0]);
      return condition.is_truth() ? of(n.inputs[condition.truth ? 1 : 2]) : Meaning{};
    }
    if (count == 1) return unary(n, of(n.inputs[0]));
    return count == 2 ? binary(n, of(n.inputs[0]), of(n.inputs[1])) : Meaning{};
  }

 private:
  Meaning of(ValueId v) {
    if (auto known = known_.find(v); known != known_.end()) return known->second;
    return known_[v] = evaluate(v);
  }

  Meaning evaluate(ValueId v) {
    if (v == arc_.atan) return Meaning::of(0, 1);
    const ValueId origin = origin_of(s_, v);
    if (origin == arc_.y) return Meaning::signed_by(y_);
    if (origin == arc_.x) return Meaning::signed_by(x_);
    if (const ConstantPtr c = s_.constant(v)) {
      const auto value = uniform_value(*c);
      if (!value) return {};
      return c->dtype == DType::Bool ? Meaning::of(*value != 0) : Meaning::of(*value);
    }
    const Node* n = s_.def(v);
    return n != nullptr && n->regions.empty() && n->outputs.size() == 1 ? of_node(*n) : Meaning{};
  }

  Meaning unary(const Node& n, const Meaning& a) {
    if (n.op == "math.identity") return a;
    if (n.op == "math.not") return a.is_truth() ? Meaning::of(!a.truth) : Meaning{};
    if (n.op == "math.cast") {
      const DType to = s_.tensor(n.outputs[0])->dtype;
      if (a.is_truth()) return to == DType::Bool ? a : Meaning::of(a.truth ? 1.0 : 0.0);
      if (to == DType::Bool) return a.is_number() ? Meaning::of(a.number != 0) : Meaning{};
      return is_float(to) || (a.is_number() && a.number == std::trunc(a.number)) ? a : Meaning{};
    }
    if (n.op == "math.sign") {
      if (a.kind == Meaning::Kind::Signed) return Meaning::of(static_cast<double>(a.sign));
      return a.is_number() ? Meaning::of(a.number > 0 ? 1.0 : a.number < 0 ? -1.0 : 0.0) : Meaning{};
    }
    if (n.op == "math.neg") {
      if (a.kind == Meaning::Kind::Signed) return Meaning::signed_by(-a.sign);
      return a.is_angle() ? Meaning::of(-a.number, -a.arcs) : Meaning{};
    }
    return {};
  }

  static Meaning binary(const Node& n, const Meaning& a, const Meaning& b) {
    if (a.is_truth() && b.is_truth()) {
      if (n.op == "math.and") return Meaning::of(a.truth && b.truth);
      if (n.op == "math.or") return Meaning::of(a.truth || b.truth);
      if (n.op == "math.xor") return Meaning::of(a.truth != b.truth);
      return {};
    }
    using Kind = Meaning::Kind;
    if ((a.kind == Kind::Signed && b.is_zero()) || (b.kind == Kind::Signed && a.is_zero()) ||
        (a.is_number() && b.is_number())) {
      const auto side = [](const Meaning& m) { return m.kind == Kind::Signed ? m.sign : m.number; };
      if (const auto truth = compare(n.op, side(a), side(b))) return Meaning::of(*truth);
    }
    if (!a.is_angle() || !b.is_angle()) return {};
    if (n.op == "math.add") return Meaning::of(a.number + b.number, a.arcs + b.arcs);
    if (n.op == "math.sub") return Meaning::of(a.number - b.number, a.arcs - b.arcs);
    if (n.op == "math.mul" && a.is_number()) return Meaning::of(a.number * b.number, a.number * b.arcs);
    if (n.op == "math.mul" && b.is_number()) return Meaning::of(a.number * b.number, a.arcs * b.number);
    return {};
  }

  const Rewriter& s_;
  const Arc& arc_;
  const int y_, x_;
  std::map<ValueId, Meaning> known_;
};

bool is_angle(const Rewriter& s, const Node& root, const Arc& arc) {
  const auto is = [](const Meaning& m, double arcs, double number) {
    return m.is_angle() && m.arcs == arcs && std::abs(m.number - number) < kTolerance;
  };
  for (int y : {-1, 0, 1}) {
    for (int x : {-1, 0, 1}) {
      if (y == 0 && x < 0) continue;
      const Meaning m = Signs(s, arc, y, x).of_node(root);
      // On the axes models may name the angle themselves; at the origin it is the arc of 0 / 0 that they leave undefined.
      const bool said = (x == 0) != (y == 0) && is(m, 0, y * M_PI / 2);
      if (!said && !is(m, 1, x < 0 ? y * M_PI : 0)) return false;
    }
  }
  return true;
}

// The one arctangent of a quotient that the root is computed from through nodes that lead on.
class ArcSearch {
 public:
  explicit ArcSearch(const Rewriter& s) : s_(s) {}

  std::optional<Arc> of(const Node& root) {
    for (ValueId v : root.inputs) look_at(v);
    if (seen_.size() > kMostNodes || arcs_.size() != 1) return std::nullopt;
    return *arcs_.begin();
  }

 private:
  void look_at(ValueId v) {
    if (v == kNoValue || seen_.size() > kMostNodes || !seen_.insert(v).second) return;
    const Node* n = s_.def(v);
    if (n == nullptr) return;
    const Node* quotient = n->op == "math.atan" ? s_.def(n->inputs[0]) : nullptr;
    if (quotient != nullptr && quotient->op == "math.div") {
      arcs_.push_back({v, origin_of(s_, quotient->inputs[0]), origin_of(s_, quotient->inputs[1])});
      return;
    }
    if (!leads_on(*n)) return;
    for (ValueId input : n->inputs) look_at(input);
  }

  const Rewriter& s_;
  std::set<ValueId> seen_;
  std::vector<Arc> arcs_;
};

// The nodes from the arctangent to the root again, over a quotient that is 0 where both of its operands are.
class Guard {
 public:
  Guard(Rewriter& s, const Arc& arc, const LocPtr& loc) : s_(s), arc_(arc), loc_(loc) {}

  Result<ValueId> guarded(const Node& root) {
    const Node atan = *s_.def(arc_.atan), quotient = *s_.def(atan.inputs[0]);
    const ValueId y = TRY(is_zero(quotient.inputs[0])), x = TRY(is_zero(quotient.inputs[1]));
    const ValueId both = TRY(s_.make("math.and", {}, {y, x}, loc_));
    const ValueId zero = zero_of(quotient.outputs[0]);
    const ValueId ratio = TRY(s_.make("math.where", {}, {both, zero, quotient.outputs[0]}, loc_));
    made_[arc_.atan] = TRY(s_.make(atan.op, atan.attrs, {ratio}, loc_));
    return again(root);
  }

 private:
  ValueId zero_of(ValueId v) { return s_.make_const(from_doubles(s_.tensor(v)->dtype, {}, {0}), loc_); }
  Result<ValueId> is_zero(ValueId v) { return s_.make("math.eq", {}, {v, zero_of(v)}, loc_); }

  Result<ValueId> again(const Node& n) {
    std::vector<ValueId> inputs;
    for (ValueId v : n.inputs) inputs.push_back(TRY(value(v)));
    if (inputs == n.inputs) return n.outputs[0];
    return s_.make(n.op, n.attrs, std::move(inputs), Loc::make_derived(n.loc, "guard-arctangents"));
  }

  Result<ValueId> value(ValueId v) {
    if (auto found = made_.find(v); found != made_.end()) return found->second;
    const Node* n = s_.def(v);
    return made_[v] = n != nullptr && leads_on(*n) ? TRY(again(*n)) : v;
  }

  Rewriter& s_;
  const Arc& arc_;
  const LocPtr loc_;
  std::map<ValueId, ValueId> made_;
};

Result<Rewriter::Action> visit(Rewriter& s, Node& root) {
  if (root.op != "math.where" && root.op != "math.add" && root.op != "math.sub") return Rewriter::Action::Keep;
  const TensorType* t = s.tensor(root.outputs[0]);
  const auto arc = t != nullptr && is_float(t->dtype) ? ArcSearch(s).of(root) : std::nullopt;
  if (!arc || !is_angle(s, root, *arc)) return Rewriter::Action::Keep;
  const LocPtr loc = Loc::make_derived(s.def(arc->atan)->loc, "guard-arctangents");
  const ValueId angle = TRY(Guard(s, *arc, loc).guarded(root));
  s.replace(root.outputs[0], angle);
  return Rewriter::Action::Drop;
}

bool has_arctangents(const Function& f) {
  bool found = false;
  graph::for_each_node(f, [&](const Node& n) { found = found || n.op == "math.atan"; });
  return found;
}

}  // namespace

PassDef pass_guard_arctangents() {
  return {.name = "guard-arctangents",
          .summary = "gives angles of two coordinates that a model writes out the value 0 at the origin",
          .run = [](const FunctionPtr& f, PassContext& c) -> Result<FunctionPtr> {
            if (!has_arctangents(*f)) return f;
            Rewriter rewriter(f, c.ctx);
            FunctionPtr guarded = TRY(rewriter.run([&](Node& n) { return visit(rewriter, n); }));
            return guarded == f ? f : without_dead_nodes(guarded, c.ctx);
          }};
}

}  // namespace pliant::passes
