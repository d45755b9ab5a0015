// The matrix that every operator passes: each has a doc and samples, and each sample has the same types and values whether
// its sizes are symbols or numbers, also where a size is 0 or 1.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "ops/evaluate/reference.h"
#include "ops/samples.h"

namespace pliant::ops {
namespace {

using expr::Dim;
using expr::Scalar;

struct Outcome {
  std::vector<te::Array> values;
  std::string error;  // empty when it ran
  std::vector<std::vector<int64_t>> shapes;
};

bool is_users_fault(const Error& e) {
  for (const Diagnostic& d : e.diagnostics)
    if (d.id == "bad-sample") return false;
  return !e.diagnostics.empty();
}

Outcome run(const OpDef& op, const Sample& s, bool concrete) {
  expr::Context ctx;
  Outcome out;
  Result<graph::FunctionPtr> f = build_sample(op, s, ctx, concrete);
  if (!f.ok()) {
    EXPECT_TRUE(is_users_fault(f.error())) << f.error().text();
    out.error = f.error().text();
    return out;
  }
  Status structure = graph::verify(*f.value(), ctx);
  EXPECT_TRUE(structure.ok()) << structure.error().text();
  Status types = verify_types(*f.value(), ctx);
  EXPECT_TRUE(types.ok()) << types.error().text();
  std::vector<te::Array> data = sample_data(s, 7);
  std::vector<te::ArrayView> views;
  for (const te::Array& a : data) views.push_back({a.dtype, a.shape, a.data.data()});
  Result<std::vector<te::Array>> y = evaluate(*f.value(), ctx, views);
  if (!y.ok()) {
    EXPECT_TRUE(is_users_fault(y.error())) << y.error().text();
    out.error = y.error().text();
    return out;
  }
  out.values = y.take();
  for (size_t i = 0; i < out.values.size(); ++i)
    EXPECT_EQ(out.values[i].dtype, f.value()->tensor_type(f.value()->results[i]).dtype);
  return out;
}

// A graph may depend on which sizes are known and round elsewhere; one definition may not.
void expect_same_values(const OpDef& op, const te::Array& a, const te::Array& b) {
  if (!op.expand || !is_float(a.dtype)) {
    EXPECT_EQ(a.data == b.data, true) << "values differ";
    return;
  }
  te::ArrayView x{a.dtype, a.shape, a.data.data()}, y{b.dtype, b.shape, b.data.data()};
  long double tolerance = byte_size(a.dtype) == 2 ? 4e-3L : 2e-6L;
  for (int64_t i = 0; i < count_of(a.shape); ++i) {
    long double v = number_at(x, i), w = number_at(y, i);
    EXPECT_LE(std::abs(v - w), tolerance * (1 + std::abs(w))) << "element " << i;
  }
}

// Whether the sample ran.
bool compare(const OpDef& op, const Sample& s) {
  Outcome symbolic = run(op, s, false), concrete = run(op, s, true);
  EXPECT_EQ(symbolic.error.empty(), concrete.error.empty())
      << "symbolic: " << symbolic.error << "\nconcrete: " << concrete.error;
  if (!symbolic.error.empty() || !concrete.error.empty()) return false;
  for (size_t i = 0; i < symbolic.values.size(); ++i) {
    EXPECT_EQ(symbolic.values[i].shape, concrete.values[i].shape) << "output " << i;
    if (symbolic.values[i].shape != concrete.values[i].shape) continue;
    SCOPED_TRACE("output " + std::to_string(i));
    expect_same_values(op, symbolic.values[i], concrete.values[i]);
  }
  return true;
}

class OpMatrix : public ::testing::TestWithParam<std::string> {};

TEST_P(OpMatrix, SamplesAgree) {
  const OpDef& op = *find_op(GetParam());
  EXPECT_FALSE(op.doc.empty());
  // Samples are of tensors, and what they give is the same each time.
  EXPECT_EQ(op.samples.empty(), op.list.infer != nullptr || op.name == "nn.random_key");
  EXPECT_EQ((op.compute != nullptr) + (op.expand != nullptr) + (op.kernel.infer != nullptr) + (op.list.infer != nullptr), 1)
      << "exactly one body";
  if (op.kernel.infer) {
    EXPECT_TRUE(op.kernel.reference != nullptr && !op.kernel.symbol.empty());
  }
  if (op.list.infer) {
    EXPECT_TRUE(op.list.reference != nullptr);
  }
  for (const std::string& text : op.samples) {
    SCOPED_TRACE(op.name + " " + text);
    Result<Sample> s = parse_sample(op, text);
    ASSERT_TRUE(s.ok()) << s.error().text();
    EXPECT_TRUE(compare(op, s.value())) << run(op, s.value(), false).error;
    for (const auto& [name, value] : s.value().symbols)
      for (int64_t size : {0, 1}) {
        SCOPED_TRACE(name + "=" + std::to_string(size));
        Sample changed = s.value();
        changed.symbols[name] = size;
        compare(op, changed);
      }
  }
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const OpDef& op : all_ops()) out.push_back(op.name);
  return out;
}

INSTANTIATE_TEST_SUITE_P(All, OpMatrix, ::testing::ValuesIn(names()), [](const auto& at) {
  std::string name = at.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

// Bodies with every map that they read inlined.
class Inlined {
 public:
  Scalar of(Scalar s) {
    return expr::substitute(s, {}, [&](Scalar load) {
      auto it = maps_.find(load->tensor);
      if (it == maps_.end()) return load;
      expr::DimMap at;
      for (size_t k = 0; k < load->index.size(); ++k) at[it->second->index[k]] = load->index[k];
      return expr::substitute(of(it->second->body), at);
    });
  }
  void add(const te::Tensor& t) {
    if (t->kind == te::Kind::Map) maps_[t->id] = t;
  }

 private:
  std::map<expr::TensorId, te::Tensor> maps_;
};

void expect_inside(expr::Context& ctx, const std::vector<Dim>& index, const std::vector<Dim>& shape,
                   const std::string& what) {
  for (size_t k = 0; k < index.size(); ++k) {
    if (expr::loads_of(expr::make_index(index[k])).empty()) continue;
    EXPECT_TRUE(ctx.proves_less_equal(ctx.constant(0), index[k]) && ctx.proves_less(index[k], shape[k]))
        << what << " at " << index[k] << " of axis " << k << ", which has " << shape[k];
  }
}

// The caller may change arrays while a run reads them: a data check reads an index, what uses it reads it again.
TEST_P(OpMatrix, IndicesFromDataAreBoundedWhereTheyAreUsed) {
  const OpDef& op = *find_op(GetParam());
  if (op.compute == nullptr) return;
  for (const std::string& text : op.samples) {
    SCOPED_TRACE(op.name + " " + text);
    expr::Context ctx;
    Result<graph::FunctionPtr> f = build_sample(op, parse_sample(op, text).value(), ctx, true);
    ASSERT_TRUE(f.ok()) << f.error().text();
    te::Builder builder(ctx);
    Defined d = define(*f.value(), f.value()->nodes.back(), builder).take();
    std::map<expr::TensorId, std::vector<Dim>> shapes;
    for (const te::Tensor& t : builder.all()) shapes[t->id] = t->shape;
    Inlined inlined;
    for (const te::Tensor& t : te::stages_of(d.outputs)) inlined.add(t);
    for (const te::Tensor& t : te::stages_of(d.outputs)) {
      std::vector<Dim> target;
      for (Dim index : t->target) target.push_back(expr::value(inlined.of(expr::make_index(index))));
      expect_inside(ctx, target, t->shape, "a store to " + t->name);
      for (Scalar s : {t->body, t->base}) {
        if (!s) continue;
        for (Scalar load : expr::loads_of(inlined.of(s)))
          expect_inside(ctx, load->index, shapes.at(load->tensor), "a load in " + t->name);
      }
    }
  }
}

TEST(Registry, FindsByName) {
  ASSERT_NE(find_op("math.add"), nullptr);
  EXPECT_EQ(find_op("math.add")->name, "math.add");
  EXPECT_EQ(find_op("math.no_such"), nullptr);
  EXPECT_TRUE(
      std::is_sorted(all_ops().begin(), all_ops().end(), [](const OpDef& a, const OpDef& b) { return a.name < b.name; }));
}

}  // namespace
}  // namespace pliant::ops
