#include "runtime/pliant.hpp"
#include "runtime/vm/fixture_test.h"

namespace pliant::runtime::fixture {
namespace {

TEST(wrapper, runs_and_reports) {
  const std::vector<std::byte> file = file_of(add_chain(2));
  auto model = rt::Model::load(std::span<const std::byte>(file));
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_STREQ(model.value().input(1).name, "b");
  const std::vector<float> a = {1, 2, 3, 4}, b = {10, 20, 30, 40};
  auto outs = model.value().run({rt::Input::of("b", b, {2, 2}), rt::Input::of("a", a, {2, 2})});
  ASSERT_TRUE(outs.ok()) << outs.error().message;
  ASSERT_EQ(outs.value().size(), 1u);
  const rt::Output& y = outs.value()[0];
  EXPECT_EQ(y.values<float>()[3], 84);
  EXPECT_EQ(y.values<int64_t>().size(), 0u);
  EXPECT_EQ(y.shape()[0], 2);
  auto bad = model.value().run({rt::Input::of("a", a, {2, 2})});
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().message, "input \"b\" is missing: f32[n, m]");
  EXPECT_FALSE(rt::Model::load("/no/such/file").ok());
}

TEST(wrapper, stops_and_limits) {
  const std::vector<std::byte> file = file_of(add_chain(2));
  rt::LoadOptions load;
  load.memory_limit = 100;
  auto model = rt::Model::load(std::span<const std::byte>(file), load);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const std::vector<float> a(64);
  const rt::Input inputs[] = {rt::Input::of("a", a, {8, 8}), rt::Input::of("b", a, {8, 8})};
  EXPECT_EQ(model.value().run(inputs).error().code, PLIANT_OUT_OF_MEMORY);
  rt::RunOptions options;
  options.memory_limit = 1000;
  EXPECT_TRUE(model.value().run(inputs, options).ok());
  int32_t stop = 1;
  options.stop = &stop;
  EXPECT_EQ(model.value().run(inputs, options).error().code, PLIANT_CANCELLED);
  model.value().cancel();
  stop = 0;
  EXPECT_TRUE(model.value().run(inputs, options).ok());
}

}  // namespace
}  // namespace pliant::runtime::fixture
