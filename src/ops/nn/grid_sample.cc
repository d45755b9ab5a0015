// An input sampled at the positions of a grid.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

enum class Padding { Zeros, Border, Reflection };

class GridSample {
 public:
  explicit GridSample(DefineContext& c) : c_(c), x_(c.in(0)), grid_(c.in(1)) {}

  Tensors run() {
    TRY(require_domain(c_, 0, kNumbers));
    TRY(require_domain(c_, 1, kFloats));
    const std::string &mode = c_.attr().as_string("mode"), &padding = c_.attr().as_string("padding");
    if (mode != "linear" && mode != "nearest" && mode != "cubic")
      return c_.fail("bad-attribute", "there is no mode '" + mode + "'");
    if (padding != "zeros" && padding != "border" && padding != "reflection")
      return c_.fail("bad-attribute", "there is no padding '" + padding + "'");
    padding_ = padding == "zeros" ? Padding::Zeros : padding == "border" ? Padding::Border : Padding::Reflection;
    corners_ = c_.attr().as_bool("align_corners");
    if ((x_->rank() != 4 && x_->rank() != 5) || grid_->rank() != x_->rank())
      return c_.fail("shape-mismatch", "input and grid have ranks " + std::to_string(x_->rank()) + " and " +
                                           std::to_string(grid_->rank()) + " but must both have 4 or 5");
    n_ = x_->rank() - 2;
    TRY(c_.require_equal(grid_->shape[0], x_->shape[0], "the batches of grid and input"));
    TRY(c_.require_equal(grid_->shape.back(), c_.dim(static_cast<int64_t>(n_)), "the coordinates of a position"));
    std::vector<Dim> shape{x_->shape[0], x_->shape[1]};
    for (size_t k = 0; k < n_; ++k) {
      shape.push_back(grid_->shape[k + 1]);
      TRY(c_.require_less_equal(c_.dim(1), x_->shape[k + 2], "the least size and the size of a sampled axis"));
    }
    taps_ = mode == "nearest" ? 1 : mode == "linear" ? 2 : 4;
    for (size_t k = 0; k < n_; ++k) {
      tables_.emplace_back();
      for (int64_t t = 0; t < taps_; ++t) tables_.back().push_back(make_table(k, t));
    }
    return std::vector{
        c_.te().map("y", shape, [&](const Index& i) { return expr::make_cast(x_->dtype, weighted(i, n_, {})); })};
  }

 private:
  DType work() const { return x_->dtype == DType::F64 ? DType::F64 : DType::F32; }

  // The position on spatial axis k in pixels; the grid has x first.
  Scalar position(const Index& i, size_t k) const {
    Index at{i[0]};
    at.insert(at.end(), i.begin() + 2, i.end());
    at.push_back(c_.dim(static_cast<int64_t>(n_ - 1 - k)));
    Scalar g = expr::make_cast(work(), (*grid_)(at)), size = number(work(), x_->shape[k + 2]);
    return corners_ ? (g + 1) * 0.5 * (size - 1) : ((g + 1) * size - 1) * 0.5;
  }

  // A coordinate folded back at the borders of axis k.
  Scalar reflect(Scalar v, size_t k) const {
    Scalar size = number(work(), x_->shape[k + 2]), low = constant_like(v, corners_ ? 0 : -0.5),
           high = corners_ ? size - 1 : size - 0.5, range = high - low;
    Scalar is_point = make_binary(BinaryOp::Le, range, constant_like(v, 0));
    Scalar safe = expr::make_select(is_point, constant_like(v, 1), range);
    Scalar from_low = unary(UnaryOp::Abs, v - low), turns = unary(UnaryOp::Floor, from_low / safe),
           rest = from_low - turns * safe;
    Scalar even = same_value(make_binary(BinaryOp::Mod, turns, constant_like(v, 2)), constant_like(v, 0));
    return expr::make_select(is_point, low, expr::make_select(even, low + rest, high - rest));
  }

  // Whether a whole coordinate lies inside, and the index to read.
  struct Place {
    Dim at;
    Scalar inside;
  };
  Place place(Scalar whole, size_t k) const {
    Dim size = x_->shape[k + 2];
    if (padding_ == Padding::Reflection) whole = unary(UnaryOp::Round, reflect(whole, k));
    Scalar clamped = minimum(maximum(whole, constant_like(whole, 0)), number(work(), size - 1));
    Place p{expr::max(expr::min(expr::value(expr::make_cast(DType::I64, clamped)), size - 1), c_.dim(0)), Scalar()};
    if (padding_ == Padding::Zeros) p.inside = same_value(whole, clamped);
    return p;
  }

  // Positions outside are first brought to the border, or reflected, for all modes but cubic.
  Scalar prepared(const Index& i, size_t k) const {
    Scalar v = position(i, k);
    if (taps_ == 4 || padding_ == Padding::Zeros) return v;
    if (padding_ == Padding::Border) return minimum(maximum(v, constant_like(v, 0)), number(work(), x_->shape[k + 2] - 1));
    return reflect(v, k);
  }

  double offset_of(int64_t tap) const { return static_cast<double>(tap - (taps_ == 4 ? 1 : 0)); }

  // Tables over the grid's positions, which all channels share: what tap `t` of axis k reads and weighs.
  struct Table {
    Tensor at, inside, weight;  // inside: null where every place lies inside; weight: null for a single tap
  };
  Table make_table(size_t k, int64_t t) const {
    std::vector<Dim> points(grid_->shape.begin(), grid_->shape.end() - 1);
    auto over_points = [&](const char* name, const std::function<Scalar(const Index&)>& body) {
      return c_.te().map(name, points, [&](const Index& p) {
        Index i = p;
        i.insert(i.begin() + 1, c_.dim(0));  // of any channel
        return body(i);
      });
    };
    auto whole = [&](const Index& i) {
      Scalar p = prepared(i, k);
      return taps_ == 1 ? unary(UnaryOp::Round, p) : unary(UnaryOp::Floor, p) + offset_of(t);
    };
    Table out;
    out.at = over_points("at", [&](const Index& i) { return expr::make_index(place(whole(i), k).at); });
    if (padding_ == Padding::Zeros)
      out.inside = over_points("inside", [&](const Index& i) { return place(whole(i), k).inside; });
    if (taps_ > 1)
      out.weight = over_points("weight", [&](const Index& i) {
        Scalar p = prepared(i, k);
        return weight(offset_of(t), p - unary(UnaryOp::Floor, p));
      });
    return out;
  }

  Scalar read(const Index& i, const std::vector<const Table*>& tables) const {
    Index at{i[0], i[1]}, point = point_of(i);
    Scalar inside;
    for (const Table* t : tables) {
      at.push_back(expr::value((*t->at)(point)));
      if (!t->inside) continue;
      Scalar good = (*t->inside)(point);
      inside = inside ? expr::logical_and(inside, good) : good;
    }
    Scalar v = expr::make_cast(work(), (*x_)(at));
    return inside ? expr::make_select(inside, v, constant_like(v, 0)) : v;
  }

  Index point_of(const Index& i) const {
    Index point = i;
    point.erase(point.begin() + 1);
    return point;
  }

  // The weighted sum over taps of the axes from the innermost outwards: `left` axes are to do, `chosen` holds the tables of
  // the others.
  Scalar weighted(const Index& i, size_t left, std::vector<const Table*> chosen) const {
    if (left == 0) return read(i, chosen);
    Scalar sum;
    for (const Table& t : tables_[left - 1]) {
      std::vector<const Table*> next = chosen;
      next.insert(next.begin(), &t);
      Scalar term = weighted(i, left - 1, std::move(next));
      if (t.weight) term = (*t.weight)(point_of(i))*term;
      sum = sum ? sum + term : term;
    }
    return sum;
  }

  Scalar weight(double offset, Scalar fraction) const {
    if (taps_ == 2) return offset == 0 ? 1.0 - fraction : fraction;
    constexpr double a = -0.75;
    Scalar d = unary(UnaryOp::Abs, fraction - offset);
    if (offset == 0 || offset == 1) return ((d * (a + 2) - (a + 3)) * d) * d + 1;
    return ((d * a - 5 * a) * d + 8 * a) * d - 4 * a;
  }

  DefineContext& c_;
  const Tensor &x_, &grid_;
  Padding padding_ = Padding::Zeros;
  bool corners_ = false;
  size_t n_ = 2;
  int64_t taps_ = 2;  // along an axis
  std::vector<std::vector<Table>> tables_;
};

Tensors compute(DefineContext& c) { return GridSample(c).run(); }

}  // namespace

OpDef op_nn_grid_sample() {
  return {.name = "nn.grid_sample",
          .doc =
              "The input at the positions of a grid, whose -1 and 1 are its borders, by the nearest element or by linear or "
              "cubic interpolation.",
          .attrs = {attr("mode", "linear", "linear, nearest or cubic"),
                    attr("padding", "zeros", "zeros, border or reflection: what lies outside"),
                    attr("align_corners", false, "-1 and 1 are the middles of the outer pixels")},
          .min_inputs = 2,
          .max_inputs = 2,
          .compute = compute,
          .samples = {"f32[B,C,H,W] f32[B,P,Q,2] B=2 C=1 H=3 W=4 P=2 Q=3",
                      "f32[B,1,H,W] f32[B,P,Q,2] B=1 H=3 W=4 P=2 Q=2 mode=nearest padding=border align_corners=true",
                      "f32[B,1,H,W] f32[B,P,Q,2] B=1 H=4 W=4 P=2 Q=2 mode=cubic padding=reflection",
                      "f32[B,1,D,H,W] f32[B,P,Q,R,3] B=1 D=2 H=3 W=2 P=2 Q=1 R=2 padding=reflection"}};
}

}  // namespace pliant::ops
