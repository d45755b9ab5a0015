// Lists of tensors: older versions stay as they were, appends share storage, memory is counted and given back; programs that
// work on lists, through the C ABI.
#include "runtime/values/sequence.h"

#include "runtime/pliant.hpp"
#include "runtime/values/lists.h"
#include "runtime/vm/fixture_test.h"

namespace pliant::runtime {
namespace {

using namespace fixture;

class Lists : public ::testing::Test {
 protected:
  Lists() { memory_.blocks = pool_; }
  ~Lists() override {
    EXPECT_EQ(memory_.used, 0u);
    pool_->drop();
  }
  TensorRef number(int64_t v) {
    std::byte* data = nullptr;
    TensorRef t = memory_.allocate(DType::I64, {}, data);
    EXPECT_TRUE(t);
    std::memcpy(data, &v, sizeof v);
    return t;
  }
  static std::string text(const TensorList& list) {
    if (!list.is_present()) return "none";
    std::string out;
    for (uint64_t i = 0; i < list.size(); ++i) {
      int64_t v;
      std::memcpy(&v, list[i].data, sizeof v);
      out += std::to_string(v) + " ";
    }
    return out;
  }
  BlockPool* pool_ = BlockPool::create();
  ListMemory memory_;
};

TEST_F(Lists, versions_stay_as_they_were) {
  TensorList a;
  EXPECT_EQ(text(a), "none");
  ASSERT_TRUE(a.make_empty());
  EXPECT_EQ(text(a), "");
  for (int64_t v : {1, 2, 3}) ASSERT_TRUE(a.append(number(v)));
  TensorList b = a, c = a;
  ASSERT_TRUE(b.append(number(4)));  // behind what a and c see
  ASSERT_TRUE(c.append(number(5)));  // the place is taken: a copy
  EXPECT_EQ(&a[0], &b[0]);
  EXPECT_EQ(&a[0], &c[0]);
  EXPECT_EQ(text(a), "1 2 3 ");
  EXPECT_EQ(text(b), "1 2 3 4 ");
  EXPECT_EQ(text(c), "1 2 3 5 ");
  ASSERT_TRUE(a.insert(0, number(0)));
  ASSERT_TRUE(b.erase(1));
  ASSERT_TRUE(c.erase(3));
  ASSERT_TRUE(c.append(number(6)));
  EXPECT_EQ(text(a), "0 1 2 3 ");
  EXPECT_EQ(text(b), "1 3 4 ");
  EXPECT_EQ(text(c), "1 2 3 6 ");
}

TEST_F(Lists, appends_to_the_longest_version_share_its_storage) {
  TensorList current;
  ASSERT_TRUE(current.make_empty());
  std::vector<TensorList> versions;
  for (int64_t v = 0; v < 100; ++v) {
    versions.push_back(current);
    ASSERT_TRUE(current.append(number(v)));
  }
  for (size_t n = 0; n < versions.size(); ++n) {
    ASSERT_EQ(versions[n].size(), n);
    if (n > 0) {
      EXPECT_EQ(&versions[n][n - 1], &current[n - 1]);
    }
  }
  EXPECT_LE(memory_.used, 100u * 128);
}

TEST_F(Lists, what_an_only_version_has_dropped_makes_room) {
  TensorList stack;
  ASSERT_TRUE(stack.make_empty());
  ASSERT_TRUE(stack.append(number(1)));
  const uint64_t used = memory_.used;
  for (int64_t v = 0; v < 1000; ++v) {
    ASSERT_TRUE(stack.append(number(v)));
    ASSERT_TRUE(stack.erase(1));
    ASSERT_LE(memory_.used, 3 * used);
  }
  EXPECT_EQ(text(stack), "1 ");
}

TEST_F(Lists, are_taken_apart_in_turns) {
  int32_t stop = 1;
  TensorList a, b;
  ASSERT_TRUE(a.make_empty());
  for (int64_t v = 0; v < 5000; ++v) ASSERT_TRUE(a.append(number(v)));
  b = a;
  EXPECT_EQ(b.clear(StopFlag(&stop)), PLIANT_OK);  // only a reference
  EXPECT_EQ(a.size(), 5000u);
  EXPECT_EQ(a.clear(StopFlag(&stop)), PLIANT_CANCELLED);
  EXPECT_TRUE(a.is_present());
  EXPECT_GT(memory_.used, 0u);
  stop = 0;
  EXPECT_EQ(a.clear(StopFlag(&stop)), PLIANT_OK);
  EXPECT_FALSE(a.is_present());
  EXPECT_EQ(memory_.used, 0u);
}

TEST_F(Lists, the_limit_holds) {
  memory_.limit = 1024;
  TensorList list;
  ASSERT_TRUE(list.make_empty());
  uint64_t count = 0;
  std::byte* data = nullptr;
  while (TensorRef t = memory_.allocate(DType::F32, std::vector<int64_t>{16}, data)) {
    ASSERT_TRUE(list.append(std::move(t)));
    ++count;
  }
  EXPECT_EQ(count, 8u);
  EXPECT_FALSE(memory_.allocate(DType::F32, std::vector<int64_t>{int64_t{1} << 40, int64_t{1} << 40}, data));
  EXPECT_TRUE(memory_.used <= 1024);
}

// out = in with x at the end, n = its length: seq<f32[?]>, f32[m] -> seq<f32[?]>, i64[].
Program append_program() {
  Program p = empty_program();
  TensorDesc in = tensor("in", DType::F32, {{imm(kAnySize), "?"}}), out = in;
  in.kind = out.kind = TensorDesc::Kind::Sequence;
  out.name = "out";
  out.list = 1;
  p.inputs = {in, tensor("x", DType::F32, {symbol("m", 0)})};
  p.outputs = {out, tensor("n", DType::I64, {})};
  p.binds = {bind_axis(1, 0, 0, "m")};
  p.key_slots = p.slot_count = 1;
  p.slot_names = {"m"};
  p.list_count = 2;
  LibraryCallDesc insert;
  insert.symbol = "sequence_insert";
  insert.inputs = {input(1)};
  insert.input_shapes = {{slot(0)}};
  insert.input_dtypes = {DType::F32};
  insert.ints = {imm(0), imm(0)};
  insert.list_inputs = {0};
  insert.list_outputs = {1};
  LibraryCallDesc length;
  length.symbol = "sequence_length";
  length.outputs = {output(1)};
  length.output_dtypes = {DType::I64};
  length.list_inputs = {1};
  p.library_calls = {insert, length};
  p.shape_programs.resize(1);
  p.code = {instr(Opcode::Shape), instr(Opcode::Plan), instr(Opcode::Library, 0), instr(Opcode::Library, 1),
            instr(Opcode::Return)};
  return p;
}

struct Outcome {
  pliant_status status;
  int64_t length = -1;
  std::vector<std::vector<float>> elements;
};
Outcome run_append(pliant_model* model, const std::vector<std::vector<float>>& in, const std::vector<float>& x) {
  std::vector<int64_t> sizes;
  for (const auto& e : in) sizes.push_back(static_cast<int64_t>(e.size()));
  std::vector<pliant_input> tensors;
  for (size_t i = 0; i < in.size(); ++i) tensors.push_back({nullptr, in[i].data(), PLIANT_F32, 1, &sizes[i]});
  const auto m = static_cast<int64_t>(x.size());
  pliant_input given{"x", x.data(), PLIANT_F32, 1, &m};
  pliant_list_input list{"in", 1, tensors.size(), tensors.data()};
  pliant_output outputs[2] = {};
  pliant_list* lists[2] = {};
  pliant_run_options options{};
  options.struct_size = sizeof options;
  options.lists = &list;
  options.list_count = 1;
  options.list_outputs = lists;
  Outcome o;
  o.status = pliant_run_with(model, &given, 1, outputs, 2, &options);
  if (o.status != PLIANT_OK) {
    EXPECT_EQ(lists[0], nullptr);
    return o;
  }
  EXPECT_EQ(lists[1], nullptr);
  std::memcpy(&o.length, outputs[1].data, sizeof o.length);
  pliant_release_buffer(outputs[1].buffer);
  EXPECT_EQ(pliant_list_is_present(lists[0]), 1);
  std::vector<pliant_output> kept(pliant_list_size(lists[0]));
  for (size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(pliant_list_get(lists[0], i, &kept[i]), PLIANT_OK);
  EXPECT_EQ(pliant_list_get(lists[0], kept.size(), &outputs[0]), PLIANT_INVALID_ARGUMENT);
  pliant_release_list(lists[0]);  // the tensors stay
  for (pliant_output& t : kept) {
    EXPECT_EQ(t.rank, 1);
    const auto* values = static_cast<const float*>(t.data);
    o.elements.emplace_back(values, values + t.shape[0]);
    pliant_release_buffer(t.buffer);
  }
  return o;
}

TEST(ListPrograms, take_and_give_lists) {
  ModelPtr model = load(append_program());
  ASSERT_NE(model, nullptr);
  for (int again = 0; again < 3; ++again) {
    Outcome o = run_append(model.get(), {{1, 2}, {}, {3}}, {4, 5, 6});
    ASSERT_EQ(o.status, PLIANT_OK) << pliant_last_error();
    EXPECT_EQ(o.length, 4);
    EXPECT_EQ(o.elements, (std::vector<std::vector<float>>{{1, 2}, {}, {3}, {4, 5, 6}}));
  }
  EXPECT_EQ(run_append(model.get(), {}, {7}).elements, (std::vector<std::vector<float>>{{7}}));
}

TEST(ListPrograms, run_through_the_wrapper) {
  const std::vector<std::byte> file = file_of(append_program());
  auto model = rt::Model::load(std::span<const std::byte>(file));
  ASSERT_TRUE(model.ok()) << model.error().message;
  const std::vector<float> a = {1, 2}, x = {3};
  const rt::Input inputs[] = {rt::Input::of("x", x, {1})};
  const rt::ListInput lists[] = {{"in", {rt::Input::of("", a, {2})}}};
  auto values = model.value().run_values(inputs, lists);
  ASSERT_TRUE(values.ok()) << values.error().message;
  EXPECT_EQ(values.value()[0].kind, PLIANT_SEQUENCE);
  ASSERT_EQ(values.value()[0].tensors.size(), 2u);
  EXPECT_EQ(values.value()[0].tensors[0].values<float>()[1], 2);
  EXPECT_EQ(values.value()[0].tensors[1].shape()[0], 1);
  EXPECT_EQ(values.value()[1].tensors[0].values<int64_t>()[0], 2);
  EXPECT_FALSE(model.value().run_values(inputs, {}).ok());
}

TEST(ListPrograms, are_described) {
  ModelPtr model = load(append_program());
  pliant_tensor_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(pliant_describe_input(model.get(), 0, &info), PLIANT_OK);
  EXPECT_EQ(info.kind, PLIANT_SEQUENCE);
  EXPECT_EQ(info.rank, 1);
  EXPECT_EQ(info.sizes[0], -1);
  EXPECT_STREQ(info.symbols[0], "?");
  EXPECT_EQ(info.any_rank, 0);
  ASSERT_EQ(pliant_describe_output(model.get(), 1, &info), PLIANT_OK);
  EXPECT_EQ(info.kind, PLIANT_TENSOR);
}

TEST(ListPrograms, tensors_in_their_place_are_refused) {
  ModelPtr model = load(append_program());
  const int64_t size = 1;
  const float one = 1;
  pliant_input inputs[2] = {{"in", &one, PLIANT_F32, 1, &size}, {"x", &one, PLIANT_F32, 1, &size}};
  pliant_output outputs[2] = {};
  EXPECT_EQ(pliant_run(model.get(), inputs, 2, outputs, 2), PLIANT_INVALID_ARGUMENT);
  EXPECT_STREQ(pliant_last_error(),
               "output \"out\" is a sequence, not a tensor: pliant_run_options has no list_outputs for it");
  pliant_list* lists[2] = {};
  pliant_run_options options{};
  options.struct_size = sizeof options;
  options.list_outputs = lists;
  EXPECT_EQ(pliant_run_with(model.get(), inputs + 1, 1, outputs, 2, &options), PLIANT_BAD_INPUT);
  EXPECT_STREQ(pliant_last_error(), "input \"in\" is missing: a sequence of f32[?]");
  pliant_list_input list{nullptr, 1, 1, inputs};
  options.lists = &list;
  options.list_count = 1;
  EXPECT_EQ(pliant_run_with(model.get(), inputs, 2, outputs, 2, &options), PLIANT_BAD_INPUT);
  EXPECT_STREQ(pliant_last_error(), "input \"in\" is a sequence, not a tensor: it is given through pliant_run_options");
  list.name = "x";
  EXPECT_EQ(pliant_run_with(model.get(), inputs + 1, 1, outputs, 2, &options), PLIANT_BAD_INPUT);
  EXPECT_STREQ(pliant_last_error(), "there is no input \"x\" that is a sequence or an optional");
}

TEST(ListPrograms, malformed_ones_are_refused) {
  auto refused = [](Program p, const char* why) {
    pliant_model* model = nullptr;
    const std::vector<std::byte> file = file_of(p);
    EXPECT_EQ(pliant_load_memory(file.data(), file.size(), nullptr, &model), PLIANT_BAD_ARTIFACT) << why;
    EXPECT_NE(std::string(pliant_last_error()).find(why), std::string::npos) << pliant_last_error();
    pliant_release_model(model);
  };
  Program p = append_program();
  p.library_calls[0].list_outputs = {2};
  refused(p, "names no list register");
  p = append_program();
  p.inputs[0].list = 2;
  refused(p, "has a bad axis");
  p = append_program();
  p.library_calls[0].list_inputs.clear();
  refused(p, "with the wrong number of arguments");
  p = append_program();
  p.library_calls[1].outputs = {output(0)};
  refused(p, "has a bad output");
  p = append_program();
  p.binds[0].input = 0;
  refused(p, "reads an input that is no tensor");
  p = append_program();
  p.outputs[1].axes = {{imm(kAnySize), "?"}};
  refused(p, "has a bad axis");
  p = append_program();
  p.inputs[0].axes = {{slot(0), "m"}};
  refused(p, "has a bad axis");
  p = append_program();
  p.list_count = UINT32_MAX;
  refused(p, "is over the limit");
}

}  // namespace
}  // namespace pliant::runtime
