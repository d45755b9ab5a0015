// Scaled dot-product attention as ONNX Attention has it: heads, grouped keys, masks, a cache, causal and windowed attention.
#include <cmath>
#include <limits>

#include "ops/op.h"

namespace pliant::ops {
namespace {

using graph::kNoValue;

class Attention {
 public:
  explicit Attention(ExpandContext& e) : e_(e) {}

  // Inputs: q 0, k 1, v 2, mask? 3, past_key? 4, past_value? 5, lengths? 6.
  Result<std::vector<ValueId>> run() {
    const std::vector<ValueId>& in = e_.node.inputs;
    size_t rank = shape(in[0]).size();
    if ((rank != 3 && rank != 4) || shape(in[1]).size() != rank || shape(in[2]).size() != rank)
      return e_.fail("shape-mismatch", "queries, keys and values must all have rank 3 or 4");
    if (e_.has(4) != e_.has(5)) return e_.fail("input-count", "past keys and values are given together");
    dtype_ = e_.type(in[0]).dtype;
    ValueId q = TRY(heads(in[0], "q_num_heads")), k = TRY(heads(in[1], "kv_num_heads")),
            v = TRY(heads(in[2], "kv_num_heads"));
    if (e_.has(4)) {
      past_ = shape(in[4])[2];
      k = TRY(e_.append("array.concat", Attrs{{"axis", int64_t{2}}}, {in[4], k}));
      v = TRY(e_.append("array.concat", Attrs{{"axis", int64_t{2}}}, {in[5], v}));
    }
    ValueId present_k = k, present_v = v;
    queries_ = shape(q)[2];
    keys_ = shape(k)[2];
    batch_ = shape(q)[0];
    const graph::Shape by_head = shape(q);
    q = TRY(group_heads(q, shape(k)[1], "keys"));
    ValueId raw = TRY(reshape(TRY(scores(q, k)), {by_head[0], by_head[1], queries_, keys_})), capped = raw;
    double cap = e_.attr().as_float("softcap");
    if (cap > 0) {
      ValueId limit = e_.scalar(dtype_, cap);
      capped = TRY(binary("mul", TRY(unary("math.tanh", TRY(binary("div", raw, limit)))), limit));
    }
    ValueId bias = TRY(make_bias()), biased = bias == kNoValue ? capped : TRY(binary("add", capped, bias));
    ValueId weights = TRY(softmax(biased, bias));
    ValueId y = TRY(e_.append("nn.matmul", {}, {TRY(group_heads(weights, shape(v)[1], "values")), v}));
    y = TRY(reshape(y, {by_head[0], by_head[1], queries_, shape(v)[3]}));
    if (rank == 3) {
      y = TRY(e_.append("array.transpose", Attrs{{"perm", std::vector<int64_t>{0, 2, 1, 3}}}, {y}));
      const graph::Shape& s = shape(y);
      y = TRY(e_.append("array.reshape", Attrs{{"shape", std::vector<Dim>{s[0], s[1], s[2] * s[3]}}}, {y}));
    }
    const ValueId stages[] = {raw, capped, biased, weights};
    int64_t mode = e_.attr().as_int("qk_matmul_output_mode");
    if (mode < 0 || mode > 3) return e_.fail("bad-attribute", "there is no qk_matmul_output_mode " + std::to_string(mode));
    return std::vector{y, present_k, present_v, stages[mode]};
  }

 private:
  const graph::Shape& shape(ValueId v) const { return e_.type(v).shape; }
  Result<ValueId> unary(const std::string& op, ValueId x) { return e_.append(op, {}, {x}); }
  Result<ValueId> binary(const std::string& op, ValueId a, ValueId b) { return e_.append("math." + op, {}, {a, b}); }
  Result<ValueId> reshape(ValueId v, std::vector<Dim> s) {
    return e_.append("array.reshape", Attrs{{"shape", std::move(s)}}, {v});
  }
  Dim num(int64_t v) const { return e_.ctx.constant(v); }

  // [batch, heads, length, size] from [batch, length, heads * size].
  Result<ValueId> heads(ValueId v, const std::string& count) {
    graph::Shape s = shape(v);
    if (s.size() == 4) return v;
    int64_t n = e_.attr().as_int(count);
    if (n < 1) return e_.fail("missing-attribute", "inputs of rank 3 need " + count);
    ValueId split = TRY(reshape(v, {s[0], s[1], num(n), expr::floordiv(s[2], n)}));
    return e_.append("array.transpose", Attrs{{"perm", std::vector<int64_t>{0, 2, 1, 3}}}, {split});
  }

  // [batch, heads, length, size] as [batch, groups, heads of a group * length, size]: what shares a head of keys or values
  // is one matrix.
  Result<ValueId> group_heads(ValueId v, Dim groups, const std::string& of) {
    const graph::Shape s = shape(v);
    if (e_.ctx.proves_equal(s[1], groups)) return v;
    const bool are_known = s[1].is_const() && groups.is_const();
    if (are_known && (groups.const_value() == 0 || s[1].const_value() % groups.const_value() != 0))
      return e_.fail("shape-mismatch",
                     "the heads of " + of + ", " + groups.str() + ", do not divide those of queries, " + s[1].str());
    const Dim heads = expr::floordiv(s[1], e_.ctx.proves_less_equal(num(1), groups) ? groups : expr::max(groups, num(1)));
    if (!are_known)
      e_.builder.add_constraint({graph::ShapeConstraint::Kind::Equal, heads * groups, s[1],
                                 "the heads of " + of + " do not divide those of queries, {b}", e_.node.loc});
    return reshape(v, {s[0], groups, s[2] * heads, s[3]});
  }

  // The scale, which by default is one over the root of a head's size, or the root of it.
  Result<ValueId> scale_of(Dim size, bool root) {
    double scale = e_.attr().as_float("scale");
    if (scale == 0 && size.is_const()) scale = 1.0 / std::sqrt(static_cast<double>(size.const_value()));
    if (scale != 0) return e_.scalar(dtype_, root ? std::sqrt(scale) : scale);
    ValueId s = TRY(e_.append("array.from_dims", Attrs{{"values", std::vector<Dim>{size}}}, {}));
    s = TRY(e_.append("math.cast", Attrs{{"to", DType::F64}}, {TRY(reshape(s, {}))}));
    s = TRY(unary("math.rsqrt", s));
    if (root) s = TRY(unary("math.sqrt", s));
    return e_.append("math.cast", Attrs{{"to", dtype_}}, {s});
  }

  // q k' * scale. Halves are scaled by the root on both sides, which keeps their products from overflowing.
  Result<ValueId> scores(ValueId q, ValueId k) {
    const bool halves = dtype_ == DType::F16 || dtype_ == DType::BF16;
    const ValueId scale = TRY(scale_of(shape(q)[3], halves));
    q = TRY(binary("mul", q, scale));
    if (halves) k = TRY(binary("mul", k, scale));
    return e_.append("nn.matmul", Attrs{{"transpose_b", true}}, {q, k});
  }

  Result<ValueId> positions(std::vector<Dim> s, int64_t axis) {
    return e_.append("array.iota", Attrs{{"shape", std::move(s)}, {"axis", axis}, {"to", DType::I64}}, {});
  }

  Result<ValueId> both(ValueId a, ValueId b) { return a == kNoValue ? b : e_.append("math.and", {}, {a, b}); }

  // 0 where a key may be attended, -inf elsewhere, plus a mask of floats; nothing when there is no restriction.
  Result<ValueId> make_bias() {
    ValueId allowed = kNoValue, mask = e_.has(3) ? e_.node.inputs[3] : kNoValue;
    bool bools = false;
    if (mask != kNoValue) {
      bools = e_.type(mask).dtype == DType::Bool;
      mask = TRY(complete(mask, bools));
      if (bools) allowed = mask;
    }
    bool causal = e_.attr().as_bool("is_causal");
    int64_t left = e_.attr().as_int("left_window"), right = e_.attr().as_int("right_window");
    if (causal) right = right < 0 ? 0 : std::min<int64_t>(right, 0);
    if (left >= 0 || right >= 0) {
      ValueId key = TRY(positions({num(1), keys_}, 1)), query = TRY(positions({queries_, num(1)}, 0));
      ValueId place = TRY(binary("add", query, TRY(offset())));
      if (right >= 0)
        allowed = TRY(both(
            allowed, TRY(binary("le", key, TRY(binary("add", place, e_.scalar(DType::I64, static_cast<double>(right))))))));
      if (left >= 0)
        allowed = TRY(both(
            allowed, TRY(binary("ge", key, TRY(binary("sub", place, e_.scalar(DType::I64, static_cast<double>(left))))))));
    }
    if (e_.has(6)) allowed = TRY(both(allowed, TRY(binary("lt", TRY(positions({num(1), keys_}, 1)), TRY(lengths())))));
    only_causal_ = causal && !e_.has(3) && !e_.has(6) && left < 0;
    ValueId bias = kNoValue;
    if (allowed != kNoValue)
      bias = TRY(e_.append("math.where", {},
                           {allowed, e_.scalar(dtype_, 0), e_.scalar(dtype_, -std::numeric_limits<double>::infinity())}));
    if (mask == kNoValue || bools) return bias;
    return bias == kNoValue ? mask : TRY(binary("add", bias, mask));
  }

  // A mask may be shorter than the keys; what it leaves out is not attended.
  Result<ValueId> complete(ValueId mask, bool bools) {
    const graph::Shape& s = shape(mask);
    if (s.empty() || e_.ctx.proves_equal(s.back(), keys_)) return mask;
    std::vector<Dim> pads(2 * s.size(), num(0));
    pads.back() = expr::max(keys_ - s.back(), num(0));
    ValueId outside = e_.scalar(e_.type(mask).dtype, bools ? 0 : -std::numeric_limits<double>::infinity());
    return e_.append("array.pad", Attrs{{"pads", pads}}, {mask, outside});
  }

  // Keys before the first query: those of the cache, or by batch what the lengths say.
  Result<ValueId> offset() {
    if (past_) return e_.append("array.from_dims", Attrs{{"values", std::vector<Dim>{past_}}}, {});
    if (!e_.has(6)) return e_.scalar(DType::I64, 0);
    return binary("sub", TRY(lengths()),
                  TRY(e_.append("array.from_dims", Attrs{{"values", std::vector<Dim>{queries_}}}, {})));
  }

  Result<ValueId> lengths() {
    ValueId n = TRY(e_.append("math.cast", Attrs{{"to", DType::I64}}, {e_.node.inputs[6]}));
    return reshape(n, {batch_, num(1), num(1), num(1)});
  }

  Result<ValueId> softmax(ValueId scores, ValueId bias) {
    DType precision = e_.attr().has("softmax_precision") ? e_.attr().as_dtype("softmax_precision") : dtype_;
    if (precision != dtype_) scores = TRY(e_.append("math.cast", Attrs{{"to", precision}}, {scores}));
    ValueId p = TRY(e_.append("nn.softmax", {}, {scores}));
    if (precision != dtype_) p = TRY(e_.append("math.cast", Attrs{{"to", dtype_}}, {p}));
    if (bias == kNoValue || only_causal_) return p;
    // A query that may attend no key gets zeros.
    ValueId best = TRY(e_.append("reduce.max", Attrs{{"axes", std::vector<int64_t>{-1}}}, {bias}));
    ValueId none = TRY(binary("eq", best, e_.scalar(dtype_, -std::numeric_limits<double>::infinity())));
    return e_.append("math.where", {}, {none, e_.scalar(dtype_, 0), p});
  }

  ExpandContext& e_;
  DType dtype_ = DType::F32;
  Dim queries_, keys_, batch_, past_;
  bool only_causal_ = false;
};

Result<std::vector<ValueId>> expand(ExpandContext& e) { return Attention(e).run(); }

}  // namespace

OpDef op_nn_attention() {
  return {.name = "nn.attention",
          .doc =
              "softmax(q k' * scale + bias) v by heads, with masks, a cache of keys and values, causal and windowed "
              "attention; outputs y, the present keys and "
              "values, and a stage of the scores.",
          .attrs = {attr("is_causal", false, "no key after the query"), attr("q_num_heads", 0, "for inputs of rank 3"),
                    attr("kv_num_heads", 0, "for inputs of rank 3"),
                    attr("scale", 0.0, "0: one over the root of the head's size"), attr("softcap", 0.0, "0: none"),
                    optional_attr("softmax_precision", AttrKind::DType, "type of the softmax; the inputs' when absent"),
                    attr("qk_matmul_output_mode", 0, "what the fourth output shows: scores, capped, biased or weights"),
                    attr("left_window", -1, "keys that far before the query count; -1: all"),
                    attr("right_window", -1, "keys that far after the query count; -1: all")},
          .min_inputs = 3,
          .max_inputs = 7,
          .outputs = 4,
          .expand = expand,
          .samples = {"f32[B,2,S,4] f32[B,2,T,4] f32[B,2,T,3] B=2 S=3 T=5",
                      "f32[B,S,8] f32[B,T,4] f32[B,T,4] B=2 S=3 T=3 q_num_heads=4 kv_num_heads=2 is_causal=true",
                      "f32[B,2,S,4] f32[B,2,S,4] f32[B,2,S,4] f32[S,T] f32[B,2,P,4] f32[B,2,P,4] B=1 S=2 P=3 T=5 "
                      "softcap=2.0 outputs=4 qk_matmul_output_mode=1",
                      "f32[B,2,S,4] f32[B,2,T,4] f32[B,2,T,4] bool[S,T] _ _ i64[B]@1..4 B=2 S=2 T=4 outputs=1",
                      "f16[B,1,S,4] f16[B,1,S,4] f16[B,1,S,4] B=1 S=4 left_window=1 right_window=1 softmax_precision=f32"}};
}

}  // namespace pliant::ops
