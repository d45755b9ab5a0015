#include "base/loc.h"

#include <gtest/gtest.h>

namespace pliant {
namespace {

TEST(Loc, NamesTheModelsNodes) {
  const LocPtr a = Loc::make_named("/layer1/MatMul", "onnx.MatMul");
  EXPECT_EQ(describe(a), "node \"/layer1/MatMul\" (onnx.MatMul)");
  const LocPtr b = Loc::make_named("relu", "onnx.Relu");
  const LocPtr both = Loc::make_fused({a, nullptr, b, a});
  EXPECT_EQ(describe(both), "node \"/layer1/MatMul\" (onnx.MatMul) + node \"relu\" (onnx.Relu)");
  EXPECT_EQ(model_nodes(Loc::make_derived(both, "fuse")), (std::vector<std::string>{"/layer1/MatMul", "relu"}));
  EXPECT_EQ(Loc::make_fused({nullptr, a, a}), a);
  EXPECT_EQ(Loc::make_fused({}), nullptr);
  EXPECT_EQ(describe(nullptr), "");
}

TEST(Loc, ShowsFourOfMany) {
  std::vector<LocPtr> many;
  for (int i = 0; i < 6; ++i) many.push_back(Loc::make_named("n" + std::to_string(i), ""));
  EXPECT_EQ(describe(Loc::make_fused(many)), "node \"n0\" + node \"n1\" + node \"n2\" + node \"n3\" + …");
  EXPECT_EQ(model_nodes(Loc::make_fused(many)).size(), 6u);
}

}  // namespace
}  // namespace pliant
