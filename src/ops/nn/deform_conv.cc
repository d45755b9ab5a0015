// Convolution whose taps are moved by offsets.
#include "ops/bodies/indices.h"
#include "ops/bodies/window/convolution.h"

namespace pliant::ops {
namespace {

// Inputs: x 0, w 1, offset 2, bias? 3, mask? 4; two spatial axes.
class DeformConv {
 public:
  explicit DeformConv(DefineContext& c) : c_(c), x_(c.in(0)), w_(c.in(1)), offset_(c.in(2)) {}

  Tensors run() {
    TRY(check_inputs());
    window_ = TRY(read_window(c_, {x_->shape[2], x_->shape[3]}, {w_->shape[2], w_->shape[3]}));
    TRY(check_sizes());
    const Dim group_in = w_->shape[1], group_out = expr::floordiv(w_->shape[0], group_);
    const std::vector<Dim> out = window_.output();
    const Tensor taps = sample_taps();
    // A product of points and output channels, in this order of axes.
    const Tensor sum = c_.te().reduce(
        "deform_conv", {x_->shape[0], out[0], out[1], w_->shape[0]}, {w_->shape[2], w_->shape[3], group_in},
        te::Combiner::Sum, [&](const Index& o, const Index& r) {
          const Dim channel = group_ == 1 ? r[2] : expr::floordiv(o[3], group_out) * group_in + r[2];
          Index at{o[0], o[1], o[2], r[0], r[1], channel};
          if (offset_group_ > 1) {
            const Dim tap = r[0] * w_->shape[3] + r[1];
            at = {o[0], o[1], o[2], tap, expr::floordiv(channel, per_offset()), expr::mod(channel, per_offset())};
          }
          return (*taps)(at)*expr::make_cast(work(), (*w_)({o[3], r[2], r[0], r[1]}));
        });
    return std::vector{c_.te().map("y", {x_->shape[0], w_->shape[0], out[0], out[1]}, [&](const Index& i) {
      Scalar v = (*sum)({i[0], i[2], i[3], i[1]});
      if (c_.has(3)) v = v + expr::make_cast(work(), (*c_.in(3))({i[1]}));
      return expr::make_cast(x_->dtype, v);
    })};
  }

 private:
  DType work() const { return wide(x_->dtype); }
  Dim per_offset() const { return expr::floordiv(x_->shape[1], offset_group_); }
  Dim tap_count() const { return w_->shape[2] * w_->shape[3]; }

  Status check_inputs() {
    TRY(require_domain(c_, 0, kFloats));
    for (size_t k : {size_t{1}, size_t{2}, size_t{3}, size_t{4}})
      if (c_.has(k)) TRY(c_.require_same_dtype(0, k));
    if (x_->rank() != 4 || w_->rank() != 4 || offset_->rank() != 4 || (c_.has(4) && c_.in(4)->rank() != 4))
      return c_.fail("unsupported-shape", "a deformable convolution takes tensors of rank 4");
    group_ = c_.attr().as_int("group");
    offset_group_ = c_.attr().as_int("offset_group");
    if (group_ < 1 || offset_group_ < 1) return c_.fail("bad-attribute", "groups must be positive");
    return ok();
  }

  Status check_sizes() {
    TRY(c_.require_equal(x_->shape[1], w_->shape[1] * group_, "the input's channels and those of the weight times group"));
    TRY(c_.require_equal(x_->shape[1], per_offset() * offset_group_, "the input's channels in whole groups of offsets"));
    TRY(c_.require_equal(offset_->shape[1], tap_count() * (2 * offset_group_), "the channels of the offsets"));
    const std::vector<Dim> out = window_.output();
    TRY(c_.require_equal(offset_->shape[0], x_->shape[0], "the batch of the offsets"));
    for (size_t k : {size_t{0}, size_t{1}})
      TRY(c_.require_equal(offset_->shape[k + 2], out[k], "a spatial axis of the offsets"));
    if (c_.has(4)) {
      const std::vector<Dim> mask{x_->shape[0], tap_count() * offset_group_, out[0], out[1]};
      for (size_t k = 0; k < 4; ++k) TRY(c_.require_equal(c_.in(4)->shape[k], mask[k], "an axis of the mask"));
    }
    if (c_.has(3)) TRY(require_bias(c_, 3, w_->shape[0]));
    return ok();
  }

  // What the offsets decide is the same for all channels of a group: [batch, group of offsets, tap, output], as they lie.
  std::vector<Dim> points() const {
    const std::vector<Dim> out = window_.output();
    return {x_->shape[0], c_.dim(offset_group_), tap_count(), out[0], out[1]};
  }
  // Where a point of `points` reads along an axis.
  Scalar position(const Index& i, size_t axis) const {
    const Dim tap[2] = {expr::floordiv(i[2], w_->shape[3]), expr::mod(i[2], w_->shape[3])};
    const Dim channel = (i[1] * tap_count() + i[2]) * 2 + static_cast<int64_t>(axis);
    return number(work(), window_.axes[axis].position(i[axis + 3], tap[axis])) +
           expr::make_cast(work(), (*offset_)({i[0], channel, i[3], i[4]}));
  }

  // One of the four elements around a position: its place in the plane, -1 outside, and its weight.
  struct Corner {
    Tensor element, weight;
  };
  Corner corner(int64_t dy, int64_t dx) {
    const int64_t step[2] = {dy, dx};
    Corner out;
    out.element = c_.te().map("element", points(), [&](const Index& i) {
      Scalar inside;
      Dim at[2];
      for (size_t k = 0; k < 2; ++k) {
        const Scalar v = unary(UnaryOp::Floor, position(i, k)) + static_cast<double>(step[k]);
        const Scalar last = number(work(), x_->shape[k + 2]) - 1;
        const Scalar good = expr::logical_and(greater_equal(v, constant_like(v, 0)), make_binary(BinaryOp::Le, v, last));
        inside = inside ? expr::logical_and(inside, good) : good;
        at[k] = bounded_index(expr::value(expr::make_cast(DType::I64, v)), x_->shape[k + 2]);
      }
      return expr::make_select(inside, expr::make_index(at[0] * x_->shape[3] + at[1]), expr::make_index(c_.dim(-1)));
    });
    out.weight = c_.te().map("weight", points(), [&](const Index& i) {
      Scalar weight;
      for (size_t k = 0; k < 2; ++k) {
        const Scalar v = position(i, k), far = v - unary(UnaryOp::Floor, v);
        const Scalar part = step[k] == 0 ? 1.0 - far : far;
        weight = weight ? weight * part : part;
      }
      return weight;
    });
    return out;
  }

  // What each tap reads of each channel, from a copy in which the channels of a position lie together: [batch, output, tap's
  // row and column, channel], with several groups of offsets [batch, output, tap, group, channel of it].
  Tensor sample_taps() {
    const Corner corners[] = {corner(0, 0), corner(0, 1), corner(1, 0), corner(1, 1)};
    const Dim width = x_->shape[3];
    const Tensor planes = c_.te().map("planes", {x_->shape[0], x_->shape[2], x_->shape[3], x_->shape[1]},
                                      [&](const Index& i) { return (*x_)({i[0], i[3], i[1], i[2]}); });
    const std::vector<Dim> out = window_.output();
    std::vector<Dim> shape{x_->shape[0], out[0], out[1], w_->shape[2], w_->shape[3], per_offset()};
    if (offset_group_ > 1) shape = {x_->shape[0], out[0], out[1], tap_count(), c_.dim(offset_group_), per_offset()};
    return c_.te().map("taps", shape, [&](const Index& i) {
      const bool grouped = offset_group_ > 1;
      const Dim which = grouped ? i[4] : c_.dim(0), tap = grouped ? i[3] : i[3] * w_->shape[3] + i[4];
      const Dim channel = which * per_offset() + i[5];
      const Index point{i[0], which, tap, i[1], i[2]};
      Scalar sum;
      for (const Corner& corner : corners) {
        const Scalar element = (*corner.element)(point);
        const Dim e = bounded_index(expr::value(element), x_->shape[2] * width);
        const Scalar v = expr::make_cast(work(), (*planes)({i[0], expr::floordiv(e, width), expr::mod(e, width), channel}));
        const Scalar term = expr::make_select(greater_equal(element, constant_like(element, 0)), v * (*corner.weight)(point),
                                              constant_like(v, 0));
        sum = sum ? sum + term : term;
      }
      if (c_.has(4)) sum = sum * expr::make_cast(work(), (*c_.in(4))({i[0], which * tap_count() + tap, i[1], i[2]}));
      return sum;
    });
  }

  DefineContext& c_;
  const Tensor &x_, &w_, &offset_;
  int64_t group_ = 1, offset_group_ = 1;
  Window window_;
};

Tensors compute(DefineContext& c) { return DeformConv(c).run(); }

}  // namespace

OpDef op_nn_deform_conv() {
  return {.name = "nn.deform_conv",
          .doc =
              "Convolution over two spatial axes with taps moved by offsets, read by bilinear interpolation, and scaled by "
              "a mask.",
          .attrs = window_attrs() + std::vector<AttrSpec>{attr("group", 1, "channels are split into this many groups"),
                                                          attr("offset_group", 1, "channels with offsets of their own")},
          .min_inputs = 3,
          .max_inputs = 5,
          .compute = compute,
          .samples = {"f32[B,2,H,W] f32[3,2,2,2] f32[B,8,2,3] f32[3] f32[B,4,2,3] B=1 H=3 W=4",
                      "f32[B,2,H,W] f32[2,1,2,2] f32[B,16,2,2] B=1 H=3 W=3 group=2 offset_group=2"}};
}

}  // namespace pliant::ops
