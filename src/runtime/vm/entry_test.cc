// What a wrong request is told: the input, the axis, the symbol, what was expected, what came and where that is from.
#include "runtime/vm/fixture_test.h"

namespace pliant::runtime::fixture {
namespace {

struct Given {
  const char* name;
  int32_t dtype;
  std::vector<int64_t> shape;
  std::vector<int64_t> values = std::vector<int64_t>(64);
};

class Entry : public testing::Test {
 protected:
  Entry() {
    Program p = empty_program();
    p.slot_count = p.key_slots = 3;
    p.slot_names = {"batch", "seq", "len"};
    p.inputs = {tensor("ids", DType::I64, {symbol("batch", 0), symbol("seq", 1)}),
                tensor("mask", DType::I64, {symbol("batch", 0), symbol("seq", 1)}), tensor("image", DType::F32, {fixed(3)}),
                tensor("past", DType::I32, {fixed(2)})};
    p.inputs[3].default_constant = 0;
    p.binds = {bind_axis(0, 0, 0, "batch"),
               bind_axis(0, 1, 1, "seq"),
               bind_axis(1, 0, 0, "batch"),
               bind_axis(1, 1, 1, "seq"),
               {3, 1, 2, true, "len", 0, 9, 1}};
    p.binds[0].lo = 1;
    p.binds[0].hi = 4;
    p.binds[1].multiple_of = 2;
    p.outputs = {tensor("y", DType::I64, {symbol("batch", 0), symbol("len", 2)})};
    p.code = {instr(Opcode::Return)};
    file_ = file_of(p, {bytes_of(std::vector<int32_t>{1, 5})});
    model_ = load(file_);
  }

  std::string run(const std::vector<Given>& given) {
    std::vector<pliant_input> in;
    for (const Given& g : given)
      in.push_back({g.name, g.values.data(), g.dtype, static_cast<int32_t>(g.shape.size()), g.shape.data()});
    out_ = {};
    const pliant_status status = pliant_run(model_.get(), in.data(), in.size(), &out_, 1);
    pliant_release_buffer(out_.buffer);
    return status == PLIANT_OK ? "" : std::string(pliant_status_name(status)) + ": " + pliant_last_error();
  }
  const Given ids{"ids", PLIANT_I64, {2, 6}}, mask{"mask", PLIANT_I64, {2, 6}}, image{"image", PLIANT_F32, {3}};
  std::vector<std::byte> file_;
  ModelPtr model_;
  pliant_output out_;
};

TEST_F(Entry, right_requests) {
  EXPECT_EQ(run({ids, mask, image}), "");
  EXPECT_EQ(out_.shape[0], 2);
  EXPECT_EQ(out_.shape[1], 5) << "an element of the default";
  EXPECT_EQ(run({image, ids, mask, {"past", PLIANT_I32, {2}, {int64_t{7} << 32}}}), "");
  EXPECT_EQ(out_.shape[1], 7);
  EXPECT_EQ(run({{nullptr, PLIANT_I64, {1, 0}}, {nullptr, PLIANT_I64, {1, 0}}, {nullptr, PLIANT_F32, {3}}}), "");
}

TEST_F(Entry, missing_unknown_twice) {
  EXPECT_EQ(run({ids, image}), "bad input: input \"mask\" is missing: i64[batch, seq]");
  EXPECT_EQ(run({ids, mask, image, {"masc", PLIANT_I64, {2, 6}}}),
            "bad input: there is no input \"masc\"; the model has \"ids\", \"mask\", \"image\", \"past\"");
  EXPECT_EQ(run({ids, ids, mask, image}), "bad input: input \"ids\" is given twice");
  EXPECT_EQ(run({ids, mask, image, {nullptr, PLIANT_I32, {2}}, {nullptr, PLIANT_I32, {2}}}),
            "bad input: input number 5 was given but the model has 4: \"ids\", \"mask\", \"image\", \"past\"");
}

TEST_F(Entry, wrong_types_and_shapes) {
  EXPECT_EQ(run({{"ids", PLIANT_F32, {2, 6}}, mask, image}), "bad input: input \"ids\" is f32 but i64 is expected");
  EXPECT_EQ(run({{"ids", 99, {2, 6}}, mask, image}), "bad input: input \"ids\" is of an unknown dtype but i64 is expected");
  EXPECT_EQ(run({{"ids", PLIANT_I64, {12}}, mask, image}),
            "bad input: input \"ids\" has rank 1, shape [12], but rank 2 is expected: [batch, seq]");
  EXPECT_EQ(run({ids, mask, {"image", PLIANT_F32, {4}}}), "bad input: input \"image\" axis 0 is 4 but 3 is expected: [3]");
  EXPECT_EQ(run({{"ids", PLIANT_I64, {2, -6}}, mask, image}), "bad input: input \"ids\" axis 1 has the negative size -6");
  EXPECT_EQ(run({{"ids", PLIANT_I64, {int64_t{1} << 40, int64_t{1} << 40}}, mask, image}),
            "bad input: input \"ids\" is too large: shape [1099511627776, 1099511627776]");
}

TEST_F(Entry, symbols) {
  EXPECT_EQ(run({ids, {"mask", PLIANT_I64, {2, 8}}, image}),
            "bad input: input \"mask\" axis 1 is 8 but symbol \"seq\" is 6 from input \"ids\" axis 1");
  EXPECT_EQ(run({{"mask", PLIANT_I64, {3, 6}}, {"ids", PLIANT_I64, {1, 6}}, image}),
            "bad input: input \"mask\" axis 0 is 3 but symbol \"batch\" is 1 from input \"ids\" axis 0");
  EXPECT_EQ(run({{"ids", PLIANT_I64, {0, 6}}, mask, image}),
            "bad input: input \"ids\" axis 0 is 0 but symbol \"batch\" must be at least 1");
  EXPECT_EQ(run({{"ids", PLIANT_I64, {5, 6}}, mask, image}),
            "bad input: input \"ids\" axis 0 is 5 but symbol \"batch\" must be at most 4");
  EXPECT_EQ(run({{"ids", PLIANT_I64, {2, 7}}, mask, image}),
            "bad input: input \"ids\" axis 1 is 7 but symbol \"seq\" must be a multiple of 2");
  EXPECT_EQ(run({ids, mask, image, {"past", PLIANT_I32, {2}, {int64_t{10} << 32}}}),
            "bad input: input \"past\" element 1 is 10 but symbol \"len\" must be at most 9");
}

TEST_F(Entry, broken_calls) {
  const int64_t shape[] = {2, 6};
  alignas(8) const std::byte data[200] = {};
  pliant_output out = {};
  pliant_input in[] = {{"ids", data, PLIANT_I64, 2, nullptr}};
  EXPECT_EQ(pliant_run(model_.get(), in, 1, &out, 1), PLIANT_INVALID_ARGUMENT);
  in[0] = {"ids", nullptr, PLIANT_I64, 2, shape};
  EXPECT_EQ(pliant_run(model_.get(), in, 1, &out, 1), PLIANT_INVALID_ARGUMENT);
  EXPECT_STREQ(pliant_last_error(), "input \"ids\" has no data");
  in[0] = {"ids", data + 4, PLIANT_I64, 2, shape};
  EXPECT_EQ(pliant_run(model_.get(), in, 1, &out, 1), PLIANT_INVALID_ARGUMENT);
  EXPECT_STREQ(pliant_last_error(), "the data of input \"ids\" is not aligned to its elements");
  EXPECT_EQ(pliant_run(model_.get(), in, 1, &out, 2), PLIANT_INVALID_ARGUMENT);
  EXPECT_EQ(pliant_run(nullptr, in, 1, &out, 1), PLIANT_INVALID_ARGUMENT);
  EXPECT_EQ(pliant_run(model_.get(), nullptr, 1, &out, 1), PLIANT_INVALID_ARGUMENT);
}

TEST_F(Entry, descriptions) {
  pliant_tensor_info info = {sizeof info};
  ASSERT_EQ(pliant_input_count(model_.get()), 4u);
  ASSERT_EQ(pliant_describe_input(model_.get(), 1, &info), PLIANT_OK);
  EXPECT_STREQ(info.name, "mask");
  EXPECT_EQ(info.dtype, PLIANT_I64);
  ASSERT_EQ(info.rank, 2);
  EXPECT_EQ(info.sizes[1], -1);
  EXPECT_STREQ(info.symbols[1], "seq");
  EXPECT_EQ(info.optional, 0);
  ASSERT_EQ(pliant_describe_input(model_.get(), 3, &info), PLIANT_OK);
  EXPECT_EQ(info.optional, 1);
  EXPECT_EQ(info.sizes[0], 2);
  ASSERT_EQ(pliant_describe_output(model_.get(), 0, &info), PLIANT_OK);
  EXPECT_STREQ(info.name, "y");
  EXPECT_EQ(pliant_describe_output(model_.get(), 1, &info), PLIANT_INVALID_ARGUMENT);
  info.struct_size = 0;
  EXPECT_EQ(pliant_describe_output(model_.get(), 0, &info), PLIANT_INVALID_ARGUMENT);
  pliant_symbol_info symbol_info = {sizeof symbol_info};
  ASSERT_EQ(pliant_symbol_count(model_.get()), 3u);
  ASSERT_EQ(pliant_describe_symbol(model_.get(), 0, &symbol_info), PLIANT_OK);
  EXPECT_STREQ(symbol_info.name, "batch");
  EXPECT_EQ(symbol_info.max, 4);
  pliant_model_info model_info = {sizeof model_info};
  ASSERT_EQ(pliant_describe_model(model_.get(), &model_info), PLIANT_OK);
  EXPECT_STREQ(model_info.model, "fixture.onnx");
  EXPECT_EQ(model_info.constant_bytes, 8u);
}

TEST(entry, an_axis_of_a_bound_symbol_needs_no_bind_of_its_own) {
  Program p = add_chain(1);
  p.binds.resize(2);
  const ModelPtr model = load(p);
  EXPECT_EQ(run_add_chain(model.get(), 1, 3, 8), PLIANT_OK);
  const std::vector<float> a(8);
  const int64_t shape[] = {2, 4}, other[] = {2, 3};
  const pliant_input in[] = {{"a", a.data(), PLIANT_F32, 2, shape}, {"b", a.data(), PLIANT_F32, 2, other}};
  pliant_output out = {};
  EXPECT_EQ(pliant_run(model.get(), in, 2, &out, 1), PLIANT_BAD_INPUT);
  EXPECT_STREQ(pliant_last_error(), "input \"b\" axis 1 is 3 but symbol \"m\" is 4 from input \"a\" axis 1");
}

TEST(entry, an_axis_that_no_bind_gives_is_compared) {
  Program p = add_chain(1);
  p.inputs[1].axes[1] = symbol("n*m", 2);
  p.binds.pop_back();
  const ModelPtr model = load(p);
  EXPECT_EQ(run_add_chain(model.get(), 1, 1, 8), PLIANT_OK);
  EXPECT_EQ(run_add_chain(model.get(), 1, 2, 8), PLIANT_BAD_INPUT);
  EXPECT_STREQ(pliant_last_error(), "input \"b\" axis 1 is 8 but n*m is 16");
}

}  // namespace
}  // namespace pliant::runtime::fixture
