// Operators on sequences and optionals: their types, and what the reference gives and refuses.
#include "ops/bodies/list_op.h"

#include <gtest/gtest.h>

#include "ops/evaluate/reference.h"
#include "ops/evaluate/run_op.h"

namespace pliant::ops {
namespace {

Datum list(std::vector<te::Array> arrays) {
  Elements elements;
  for (te::Array& a : arrays) elements.push_back(std::make_shared<te::Array>(std::move(a)));
  return make_list(std::move(elements));
}

// One node on params of the types in `types` and what it gives, as text: `f32[2] 1 2`, `[f32[1] 1, …]`, `none`, or the
// fault.
class ListOps : public ::testing::Test {
 protected:
  Type type(const std::string& text) {
    auto f = graph::parse_function("func @f(%0 \"x\": " + text + ") {\n  return %0 \"y\"\n}\n", ctx_);
    PLIANT_CHECK(f.ok()) << f.error().text();
    return f.value()->values[0].type;
  }
  std::string run(const std::string& op, Attrs attrs, const std::vector<std::string>& types, std::vector<Datum> inputs) {
    graph::FunctionBuilder b("test", ctx_);
    std::vector<ValueId> values;
    for (const std::string& t : types) values.push_back(b.add_param(type(t), "x" + std::to_string(values.size())));
    auto outputs = append_node(b, ctx_, op, std::move(attrs), values, 1, Loc::make_named("node", "onnx.Op"));
    if (!outputs.ok()) return outputs.error().diagnostics[0].message;
    type_ = print(b.peek().value(outputs.value()[0]).type);
    b.set_results(outputs.value(), {"y"});
    graph::FunctionPtr f = b.finish();
    EXPECT_TRUE(graph::verify(*f, ctx_).ok()) << graph::verify(*f, ctx_).error().text();
    EXPECT_TRUE(verify_types(*f, ctx_).ok()) << verify_types(*f, ctx_).error().text();
    auto data = evaluate_data(*f, ctx_, std::move(inputs));
    return data.ok() ? text(data.value()[0]) : data.error().diagnostics[0].message;
  }
  static std::string text(const te::Array& a) {
    std::string out = std::string(name_of(a.dtype)) + "[";
    for (size_t k = 0; k < a.shape.size(); ++k) out += (k > 0 ? ", " : "") + std::to_string(a.shape[k]);
    out += "]";
    for (int64_t i = 0; i < count_of(a.shape); ++i)
      out += " " + std::to_string(static_cast<int64_t>(number_at(view_of(a), i)));
    return out;
  }
  static std::string text(const Datum& d) {
    if (d.list == nullptr) return text(d.array);
    if (!d.list->is_present) return "none";
    std::string out;
    for (const auto& e : d.list->elements) out += (out.empty() ? "" : ", ") + text(*e);
    return "[" + out + "]";
  }
  Attrs position(int64_t p) { return {{"position", ctx_.constant(p)}}; }

  expr::Context ctx_;
  std::string type_;
};

const std::string kSeq = "seq<i64[?]>";
Datum three() { return list({i64({1}, {1}), i64({2}, {2, 3}), i64({0}, {})}); }

TEST_F(ListOps, construct) {
  EXPECT_EQ(
      run("seq.construct", {}, {"f32[2]", "f32[3]"}, {make_tensor(f32({2}, {1, 2})), make_tensor(f32({3}, {3, 4, 5}))}),
      "[f32[2] 1 2, f32[3] 3 4 5]");
  EXPECT_EQ(type_, "seq<f32[?]>");
  EXPECT_EQ(run("seq.construct", {}, {"f32[2]", "i64[2]"}, {}), "input 1 of a sequence is i64[2] but the first is f32[2]");
  EXPECT_EQ(run("seq.empty", {{"dtype", DType::I8}}, {}, {}), "[]");
  EXPECT_EQ(type_, "seq<i8[-]>");
}

TEST_F(ListOps, insert) {
  Datum x = make_tensor(i64({1}, {9}));
  EXPECT_EQ(run("seq.insert", {}, {kSeq, "i64[1]"}, {three(), x}), "[i64[1] 1, i64[2] 2 3, i64[0], i64[1] 9]");
  EXPECT_EQ(type_, "seq<i64[?]>");
  EXPECT_EQ(run("seq.insert", position(-3), {kSeq, "i64[1]"}, {three(), x}), "[i64[1] 9, i64[1] 1, i64[2] 2 3, i64[0]]");
  EXPECT_EQ(run("seq.insert", position(3), {kSeq, "i64[1]"}, {three(), x}), "[i64[1] 1, i64[2] 2 3, i64[0], i64[1] 9]");
  EXPECT_EQ(run("seq.insert", {}, {kSeq, "i64[1]", "i32[]"}, {three(), x, make_tensor(i32({}, {1}))}),
            "[i64[1] 1, i64[1] 9, i64[2] 2 3, i64[0]]");
  EXPECT_EQ(run("seq.insert", position(4), {kSeq, "i64[1]"}, {three(), x}), "position 4 is outside a sequence of length 3");
  EXPECT_EQ(run("seq.insert", {}, {kSeq, "i64[1, 1]"}, {three(), make_tensor(i64({1, 1}, {9}))}).substr(0, 9), "[i64[1] 1");
  EXPECT_EQ(type_, "seq<i64[*]>");
  EXPECT_EQ(run("seq.insert", {}, {kSeq, "f32[1]"}, {}), "a sequence of i64[?] cannot hold f32[1]");
  EXPECT_EQ(run("seq.insert", {}, {"i64[2]", "f32[1]"}, {}), "input 0 must be a sequence, not i64[2]");
}

TEST_F(ListOps, erase_and_length) {
  EXPECT_EQ(run("seq.erase", {}, {kSeq}, {three()}), "[i64[1] 1, i64[2] 2 3]");
  EXPECT_EQ(run("seq.erase", position(0), {kSeq}, {three()}), "[i64[2] 2 3, i64[0]]");
  EXPECT_EQ(run("seq.erase", {}, {kSeq}, {list({})}), "position -1 is outside a sequence of length 0");
  EXPECT_EQ(run("seq.length", {}, {kSeq}, {three()}), "i64[] 3");
}

TEST_F(ListOps, at) {
  EXPECT_EQ(run("seq.at", position(1), {kSeq}, {three()}), "i64[2] 2 3");
  EXPECT_EQ(type_.substr(0, 11), "i64[element");
  EXPECT_EQ(run("seq.at", {}, {"seq<i64[2]>", "i64[1]"}, {list({i64({2}, {4, 5})}), make_tensor(i64({1}, {-1}))}),
            "i64[2] 4 5");
  EXPECT_EQ(type_, "i64[2]");
  EXPECT_EQ(run("seq.at", position(-4), {kSeq}, {three()}), "position -4 is outside a sequence of length 3");
  EXPECT_EQ(run("seq.at", {}, {kSeq}, {three()}), "seq.at needs a position");
  EXPECT_EQ(run("seq.at", position(1), {"seq<i64[*]>"}, {}).substr(0, 36), "how many axes an element has is not ");
  EXPECT_EQ(run("seq.at", {{"position", ctx_.constant(1)}, {"rank", int64_t{1}}}, {"seq<i64[*]>"}, {three()}), "i64[2] 2 3");
  EXPECT_EQ(run("seq.at", position(0), {"seq<i64[-]>"}, {}).substr(0, 42), "how many axes an element has cannot be tol");
}

TEST_F(ListOps, concat) {
  Attrs rows{{"axis", int64_t{0}}};
  EXPECT_EQ(run("seq.concat", rows, {kSeq}, {three()}), "i64[3] 1 2 3");
  EXPECT_EQ(run("seq.concat", rows, {kSeq}, {list({})}), "an empty sequence has no shape to join");
  EXPECT_EQ(run("seq.concat", {{"axis", int64_t{-1}}}, {"seq<i64[2, ?]>"},
                {list({i64({2, 1}, {1, 2}), i64({2, 2}, {3, 4, 5, 6})})}),
            "i64[2, 3] 1 3 4 2 5 6");
  EXPECT_EQ(run("seq.concat", {{"axis", int64_t{1}}, {"new_axis", true}}, {"seq<i64[2]>"},
                {list({i64({2}, {1, 2}), i64({2}, {3, 4}), i64({2}, {5, 6})})}),
            "i64[2, 3] 1 3 5 2 4 6");
  EXPECT_EQ(run("seq.concat", {{"axis", int64_t{0}}, {"new_axis", true}}, {kSeq}, {three()}),
            "tensors of shapes [1] and [2] do not join");
  EXPECT_EQ(run("seq.concat", {{"axis", int64_t{1}}}, {kSeq}, {}), "axis 1 of a tensor with 1 axes");
}

TEST_F(ListOps, split) {
  Datum x = make_tensor(i64({5}, {1, 2, 3, 4, 5}));
  EXPECT_EQ(run("seq.split", {{"chunk", ctx_.constant(2)}}, {"i64[5]"}, {x}), "[i64[2] 1 2, i64[2] 3 4, i64[1] 5]");
  EXPECT_EQ(type_, "seq<i64[?]>");
  EXPECT_EQ(run("seq.split", {{"chunk", ctx_.constant(5)}}, {"i64[5]"}, {x}), "[i64[5] 1 2 3 4 5]");
  EXPECT_EQ(type_, "seq<i64[5]>");
  EXPECT_EQ(run("seq.split", {{"chunk", ctx_.constant(1)}, {"keepdims", false}}, {"i64[5]"}, {x}).substr(0, 18),
            "[i64[] 1, i64[] 2,");
  EXPECT_EQ(run("seq.split", {}, {"i64[5]", "i64[3]"}, {x, make_tensor(i64({3}, {0, 4, 1}))}),
            "[i64[0], i64[4] 1 2 3 4, i64[1] 5]");
  EXPECT_EQ(run("seq.split", {}, {"i64[5]", "i64[2]"}, {x, make_tensor(i64({2}, {1, 3}))}),
            "the pieces of a split have 4 together but the axis has 5");
  EXPECT_EQ(run("seq.split", {}, {"i64[5]", "i64[]"}, {x, make_tensor(i64({}, {0}))}), "a piece of a split has the size 0");
  EXPECT_EQ(run("seq.split", {{"chunk", ctx_.constant(-1)}}, {"i64[5]"}, {x}), "a piece of a split has the size -1");
  EXPECT_EQ(type_, "seq<i64[?]>");
  EXPECT_EQ(run("seq.split", {}, {"i64[5]"}, {x}), "a split is given its sizes or its chunk");
}

TEST_F(ListOps, optionals) {
  EXPECT_EQ(run("opt.some", {}, {"i64[1]"}, {make_tensor(i64({1}, {7}))}), "[i64[1] 7]");
  EXPECT_EQ(type_, "opt<i64[1]>");
  EXPECT_EQ(run("opt.some", {}, {kSeq}, {three()}), "[i64[1] 1, i64[2] 2 3, i64[0]]");
  EXPECT_EQ(type_, "opt<seq<i64[?]>>");
  EXPECT_EQ(run("opt.some", {}, {"opt<i64[1]>"}, {}), "an optional holds a tensor or a sequence");
  EXPECT_EQ(run("opt.none", {{"dtype", DType::F32}, {"sequence", true}}, {}, {}), "none");
  EXPECT_EQ(type_, "opt<seq<f32[-]>>");
  EXPECT_EQ(run("opt.has", {}, {"opt<i64[?]>"}, {list({i64({1}, {7})})}), "bool[] 1");
  EXPECT_EQ(run("opt.has", {}, {"opt<i64[?]>"}, {make_absent()}), "bool[] 0");
  EXPECT_EQ(run("opt.get", {}, {"opt<i64[?]>"}, {list({i64({1}, {7})})}), "i64[1] 7");
  EXPECT_EQ(run("opt.get", {}, {"opt<seq<i64[?]>>"}, {three()}), "[i64[1] 1, i64[2] 2 3, i64[0]]");
  EXPECT_EQ(run("opt.get", {}, {"opt<i64[?]>"}, {make_absent()}), "the optional holds no value");
}

}  // namespace
}  // namespace pliant::ops
