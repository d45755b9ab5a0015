// Regions sampled by bilinear interpolation and pooled by bins.
#include "ops/bodies/elementwise.h"
#include "ops/bodies/indices.h"

namespace pliant::ops {
namespace {

// Inputs: x [batch, channels, height, width], rois [n, 4] (x0, y0, x1, y1), batch indices [n].
class RoiAlign {
 public:
  explicit RoiAlign(DefineContext& c) : c_(c), x_(c.in(0)), rois_(c.in(1)) {}

  Tensors run() {
    TRY(require_domain(c_, 0, kFloats));
    TRY(c_.require_same_dtype(0, 1));
    TRY(require_domain(c_, 2, kInts));
    if (x_->rank() != 4 || rois_->rank() != 2 || c_.in(2)->rank() != 1)
      return c_.fail("shape-mismatch", "input, regions and batch indices have ranks 4, 2 and 1");
    TRY(c_.require_equal(rois_->shape[1], c_.dim(4), "the numbers of a region"));
    TRY(c_.require_equal(rois_->shape[0], c_.in(2)->shape[0], "regions and batch indices"));
    AttrReader a = c_.attr();
    const std::string &mode = a.as_string("mode"), &coordinate = a.as_string("coordinate");
    if (mode != "avg" && mode != "max") return c_.fail("bad-attribute", "there is no mode '" + mode + "'");
    if (coordinate != "half_pixel" && coordinate != "output_half_pixel")
      return c_.fail("bad-attribute", "there is no coordinate '" + coordinate + "'");
    half_pixel_ = coordinate == "half_pixel";
    scale_ = a.as_float("spatial_scale");
    ratio_ = a.as_int("sampling_ratio");
    bins_[0] = a.as_int("height");
    bins_[1] = a.as_int("width");
    if (bins_[0] < 1 || bins_[1] < 1 || ratio_ < 0)
      return c_.fail("bad-attribute", "height and width must be positive, sampling_ratio not negative");
    c_.check_index(c_.in(2), x_->shape[0], "the batch");
    bool average = mode == "avg";
    Tensor pooled = ratio_ == 0 ? pool_adaptively(average) : pool(average);
    std::vector<Dim> shape{rois_->shape[0], x_->shape[1], c_.dim(bins_[0]), c_.dim(bins_[1])};
    return std::vector{c_.te().map("y", shape, [&](const Index& o) {
      Scalar v = (*pooled)(ratio_ == 0 ? Index{o[0], o[2], o[3], o[1]} : Index{o[0], o[1], o[2] * bins_[1] + o[3]});
      if (average)
        v = v / number(v.dtype(), expr::max(grid(o[0], 0) * grid(o[0], 1), c_.dim(1)));
      else
        v = expr::make_select(same_value(v, expr::make_lowest(c_.ctx(), v.dtype())), constant_like(v, 0), v);
      return expr::make_cast(x_->dtype, v);
    })};
  }

 private:
  DType work() const { return wide(x_->dtype); }
  // Axis 0 is height, 1 width; columns of a region are x before y.
  Scalar edge(Dim r, int axis, bool end) const {
    Scalar v = expr::make_cast(work(), (*rois_)({r, c_.dim((axis == 0 ? 1 : 0) + (end ? 2 : 0))})) * scale_;
    return half_pixel_ ? v - 0.5 : v;
  }
  Scalar extent(Dim r, int axis) const {
    Scalar v = edge(r, axis, true) - edge(r, axis, false);
    return half_pixel_ ? v : maximum(v, constant_like(v, 1));
  }
  Scalar bin_size(Dim r, int axis) const { return extent(r, axis) / static_cast<double>(bins_[axis]); }
  // Samples along a bin.
  Dim grid(Dim r, int axis) const {
    if (ratio_ > 0) return c_.dim(ratio_);
    return expr::value(expr::make_cast(DType::I64, unary(UnaryOp::Ceil, bin_size(r, axis))));
  }
  // A bound of `grid` that is known before the regions are: a bin as large as the input.
  Dim most(int axis) const { return ratio_ > 0 ? c_.dim(ratio_) : x_->shape[static_cast<size_t>(axis) + 2] + 1; }

  void require_grid_fits() {
    std::vector<Dim> values;
    for (int axis : {0, 1}) {
      Tensor good = c_.te().map("fits", {rois_->shape[0]}, [&](const Index& i) {
        values = {i[0], most(axis)};
        return expr::less_equal(grid(i[0], axis), most(axis));
      });
      c_.add_check({good, "a bin of region {0} is larger than {1} elements of the input", values});
    }
  }

  Scalar position(Dim r, Dim bin, Dim sample, int axis) const {
    Scalar step = bin_size(r, axis), at = number(work(), sample) + 0.5;
    return edge(r, axis, false) + number(work(), bin) * step + at * step / number(work(), grid(r, axis));
  }

  // Where a sample lies between four elements: rows `low[0]` and `high[0]`, columns `low[1]` and `high[1]`.
  struct Place {
    Dim low[2], high[2];
    Scalar weight[2][2];  // [row][column]
    Scalar inside;
  };
  Place place(const std::function<Scalar(int axis)>& position_on) const {
    Place out;
    Scalar near[2], far[2];
    for (int axis : {0, 1}) {
      Dim size = x_->shape[static_cast<size_t>(axis) + 2];
      Scalar p = position_on(axis), end = number(work(), size);
      Scalar good = expr::logical_and(greater_equal(p, constant_like(p, -1)), make_binary(BinaryOp::Le, p, end));
      out.inside = out.inside ? expr::logical_and(out.inside, good) : good;
      p = minimum(maximum(p, constant_like(p, 0)), end - 1);
      Scalar whole = unary(UnaryOp::Floor, p);
      out.low[axis] = expr::max(expr::min(expr::value(expr::make_cast(DType::I64, whole)), size - 1), c_.dim(0));
      out.high[axis] = expr::min(out.low[axis] + 1, size - 1);
      far[axis] = p - whole;
      near[axis] = 1.0 - far[axis];
    }
    for (int y : {0, 1})
      for (int x : {0, 1}) out.weight[y][x] = (y == 0 ? near[0] : far[0]) * (x == 0 ? near[1] : far[1]);
    return out;
  }

  // For the mean the interpolated value, for the maximum the largest of the four weighted corners; `corner` gives those.
  Scalar join(bool average, Scalar inside, const std::function<Scalar(size_t, size_t)>& corner) const {
    Scalar a = corner(0, 0), b = corner(0, 1), d = corner(1, 0), e = corner(1, 1);
    Scalar all = average ? a + b + d + e : maximum(maximum(a, b), maximum(d, e));
    return expr::make_select(inside, all, constant_like(all, 0));
  }
  Dim batch_of(Dim r) const { return index_from(expr::make_cast(DType::I64, (*c_.in(2))({r})), x_->shape[0]); }
  static te::Combiner combiner(bool average) { return average ? te::Combiner::Sum : te::Combiner::Max; }

  // As many samples as the regions ask for: [region, bin y, bin x, channel], from a copy in which the channels of a position
  // lie together.
  Tensor pool_adaptively(bool average) {
    require_grid_fits();
    Tensor planes = c_.te().map("planes", {x_->shape[0], x_->shape[2], x_->shape[3], x_->shape[1]},
                                [&](const Index& i) { return (*x_)({i[0], i[3], i[1], i[2]}); });
    std::vector<Dim> shape{rois_->shape[0], c_.dim(bins_[0]), c_.dim(bins_[1]), x_->shape[1]};
    return c_.te().reduce("pooled", shape, {most(0), most(1)}, combiner(average), [&](const Index& o, const Index& s) {
      const Place p = place(
          [&](int axis) { return position(o[0], o[static_cast<size_t>(axis) + 1], s[static_cast<size_t>(axis)], axis); });
      Scalar v = join(average, p.inside, [&](size_t y, size_t x) {
        const Index at{batch_of(o[0]), y == 0 ? p.low[0] : p.high[0], x == 0 ? p.low[1] : p.high[1], o[3]};
        return p.weight[y][x] * expr::make_cast(work(), (*planes)(at));
      });
      Scalar used = expr::logical_and(expr::less(s[0], grid(o[0], 0)), expr::less(s[1], grid(o[0], 1)));
      return expr::make_select(used, v, average ? constant_like(v, 0) : expr::make_lowest(c_.ctx(), v.dtype()));
    });
  }

  // A known number of samples: [region, channel, bin], where tables over [region, sample, bin] that all channels share say
  // what is read.
  Tensor pool(bool average) {
    Tensor positions[2];  // [region, sample * bins + bin] along an axis
    for (int axis : {0, 1})
      positions[axis] = c_.te().map("position", {rois_->shape[0], c_.dim(ratio_ * bins_[axis])}, [&](const Index& i) {
        return position(i[0], expr::mod(i[1], bins_[axis]), expr::floordiv(i[1], bins_[axis]), axis);
      });
    Dim samples = c_.dim(ratio_ * ratio_), bins = c_.dim(bins_[0] * bins_[1]);
    auto table = [&](const char* name, const std::function<Scalar(const Place&)>& body) {
      return c_.te().map(name, {rois_->shape[0], samples, bins}, [&](const Index& i) {
        const Dim sample[2] = {expr::floordiv(i[1], ratio_), expr::mod(i[1], ratio_)};
        const Dim bin[2] = {expr::floordiv(i[2], bins_[1]), expr::mod(i[2], bins_[1])};
        return body(place([&](int axis) { return (*positions[axis])({i[0], sample[axis] * bins_[axis] + bin[axis]}); }));
      });
    };
    Dim width = x_->shape[3];
    Tensor element[2][2], weight[2][2];
    for (size_t y : {0u, 1u})
      for (size_t x : {0u, 1u}) {
        element[y][x] = table("element", [&](const Place& p) {
          return expr::make_index((y == 0 ? p.low[0] : p.high[0]) * width + (x == 0 ? p.low[1] : p.high[1]));
        });
        weight[y][x] = table("weight", [&](const Place& p) { return p.weight[y][x]; });
      }
    Tensor inside = table("inside", [&](const Place& p) { return p.inside; });
    return c_.te().reduce("pooled", {rois_->shape[0], x_->shape[1], bins}, {samples}, combiner(average),
                          [&](const Index& o, const Index& s) {
                            const Index point{o[0], s[0], o[2]};
                            return join(average, (*inside)(point), [&](size_t y, size_t x) {
                              Dim at = expr::value((*element[y][x])(point));
                              Scalar v = (*x_)({batch_of(o[0]), o[1], expr::floordiv(at, width), expr::mod(at, width)});
                              return (*weight[y][x])(point)*expr::make_cast(work(), v);
                            });
                          });
  }

  DefineContext& c_;
  const Tensor &x_, &rois_;
  bool half_pixel_ = true;
  double scale_ = 1;
  int64_t ratio_ = 0, bins_[2] = {1, 1};
};

Tensors compute(DefineContext& c) { return RoiAlign(c).run(); }

}  // namespace

OpDef op_nn_roi_align() {
  return {
      .name = "nn.roi_align",
      .doc = "Regions cut into bins, each the mean or maximum of samples interpolated from the input.",
      .attrs = {attr("mode", "avg", "avg or max"), attr("height", 1, "bins"), attr("width", 1, "bins"),
                attr("sampling_ratio", 0, "samples along a bin; 0: as many as it has elements"),
                attr("spatial_scale", 1.0, "from the regions' coordinates to the input's"),
                attr("coordinate", "half_pixel", "half_pixel or output_half_pixel")},
      .min_inputs = 3,
      .max_inputs = 3,
      .compute = compute,
      .samples = {
          "f32[B,C,H,W] f32[R,4]@0..3 i64[R]@0..1 B=1 C=2 H=4 W=5 R=3 height=2 width=2 sampling_ratio=2",
          "f32[B,1,H,W] f32[R,4]@0..3 i64[R]@0..1 B=1 H=4 W=5 R=2 height=2 width=1 coordinate=output_half_pixel mode=max"}};
}

}  // namespace pliant::ops
