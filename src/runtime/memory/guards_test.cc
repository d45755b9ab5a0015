// What the checking of memory finds.
#include "runtime/memory/guards.h"

#include <cmath>

#include "runtime/vm/fixture_test.h"

namespace pliant::runtime {
namespace {

using namespace fixture;

ModelPtr load_checked(const Program& program, int threads = 1) {
  const std::vector<std::byte> file = file_of(program);
  pliant_load_options options = {sizeof options, threads, PLIANT_LOAD_CHECK_MEMORY};
  pliant_model* model = nullptr;
  EXPECT_EQ(pliant_load_memory(file.data(), file.size(), &options, &model), PLIANT_OK) << pliant_last_error();
  return ModelPtr(model);
}

TEST(guards, right_programs_run) {
  const ModelPtr model = load_checked(add_chain(5), 4);
  for (int64_t n : {1, 7, 0, 300, 7}) EXPECT_EQ(run_add_chain(model.get(), 5, n, 40), PLIANT_OK) << pliant_last_error();
}

TEST(guards, a_write_behind_a_buffer_is_named) {
  Program p = add_chain(3);
  p.buffers[1].bytes = imm(60);
  const ModelPtr model = load_checked(p);
  EXPECT_EQ(run_add_chain(model.get(), 3, 3, 5), PLIANT_OK) << pliant_last_error();
  EXPECT_EQ(run_add_chain(model.get(), 3, 4, 4), PLIANT_RUN_FAULT);
  EXPECT_STREQ(pliant_last_error(),
               "node \"add1\" (onnx.Add): kernel \"add\" wrote outside its buffers: 0 bytes behind the 60 bytes of an "
               "intermediate tensor: node \"add1\" (onnx.Add)");
  EXPECT_EQ(run_add_chain(model.get(), 3, 3, 5), PLIANT_OK) << pliant_last_error();
}

TEST(guards, a_write_behind_an_output_is_named) {
  Program p = add_chain(2);
  p.outputs[0].axes[1] = fixed(3);
  const ModelPtr model = load_checked(p);
  EXPECT_EQ(run_add_chain(model.get(), 2, 2, 4), PLIANT_RUN_FAULT);
  EXPECT_STREQ(
      pliant_last_error(),
      "node \"add1\" (onnx.Add): kernel \"add\" wrote outside its buffers: 0 bytes behind the 24 bytes of output \"y\"");
}

TEST(guards, what_nothing_wrote_is_no_number) {
  Program p = add_chain(3);
  p.calls[1].args[0] = buffer(1);  // it reads what it is about to write
  const ModelPtr model = load_checked(p);
  const float x[4] = {1, 2, 3, 4};
  const int64_t shape[] = {2, 2};
  const pliant_input in[] = {{"a", x, PLIANT_F32, 2, shape}, {"b", x, PLIANT_F32, 2, shape}};
  pliant_output out = {};
  ASSERT_EQ(pliant_run(model.get(), in, 2, &out, 1), PLIANT_OK) << pliant_last_error();
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(std::isnan(static_cast<const float*>(out.data)[i]));
  pliant_release_buffer(out.buffer);
}

TEST(guards, tensors_of_lists_have_zones_behind_them) {
  ListMemory memory;
  memory.blocks = BlockPool::create();
  memory.guarded = true;
  const int64_t shape[] = {3, 5};
  std::byte* data = nullptr;
  {
    const TensorRef tensor = memory.allocate(DType::U8, shape, data);
    ASSERT_TRUE(tensor);
    std::memset(data, 7, 15);
    EXPECT_TRUE(Guards::is_intact(*tensor.get()));
    data[15] = std::byte{7};
    EXPECT_FALSE(Guards::is_intact(*tensor.get()));
    const int64_t negative[] = {0, -5};
    EXPECT_FALSE(memory.allocate(DType::U8, negative, data));
  }
  memory.blocks->drop();
}

TEST(guards, pieces_of_scratch_memory_lie_apart) {
  Program p = scratch_program({imm(800), imm(64)});
  const std::vector<uint8_t> x(500);
  const int64_t shape[] = {500};
  const pliant_input in = {"x", x.data(), PLIANT_U8, 1, shape};
  for (const auto& [bytes, expected] : {std::pair{800, PLIANT_OK}, {792, PLIANT_RUN_FAULT}, {64, PLIANT_RUN_FAULT}}) {
    p.calls[0].scratch[0] = imm(bytes);
    const ModelPtr model = load_checked(p, 4);
    pliant_output out = {};
    EXPECT_EQ(pliant_run(model.get(), &in, 1, &out, 1), expected) << bytes << " " << pliant_last_error();
    if (expected != PLIANT_OK) {
      EXPECT_STREQ(pliant_last_error(), "node \"s\": kernel \"sum\" wrote outside a piece of its scratch memory");
    }
    pliant_release_buffer(out.buffer);
  }
}

}  // namespace
}  // namespace pliant::runtime
