#include "runtime/values/dlpack.h"

#include "runtime/vm/fixture_test.h"

namespace pliant::runtime::fixture {
namespace {

// The layout that the public specification gives on 64-bit machines.
static_assert(sizeof(DlTensor) == 48 && offsetof(DlTensor, ndim) == 16 && offsetof(DlTensor, shape) == 24 &&
              offsetof(DlTensor, byte_offset) == 40);
static_assert(sizeof(DLManagedTensor) == 64 && offsetof(DLManagedTensor, deleter) == 56);
static_assert(sizeof(DLManagedTensorVersioned) == 80 && offsetof(DLManagedTensorVersioned, dl_tensor) == 32);

struct Tensor {
  std::vector<float> values = {1, 2, 3, 4, 5, 6};
  int64_t shape[2] = {2, 3}, strides[2] = {3, 1};
  DLManagedTensor managed = {{values.data(), {kDlCpu, 0}, 2, {kDlFloat, 32, 1}, shape, strides, 0}, nullptr, nullptr};
};

TEST(dlpack, imports_dense_cpu_tensors) {
  Tensor t;
  pliant_input in = {};
  ASSERT_EQ(pliant_input_from_dlpack(&t.managed, &in), PLIANT_OK);
  EXPECT_EQ(in.data, t.values.data());
  EXPECT_EQ(in.dtype, PLIANT_F32);
  EXPECT_EQ(in.rank, 2);
  EXPECT_EQ(in.shape, t.shape);
  t.managed.dl_tensor.strides = nullptr;
  t.managed.dl_tensor.byte_offset = 4;
  ASSERT_EQ(pliant_input_from_dlpack(&t.managed, &in), PLIANT_OK);
  EXPECT_EQ(in.data, t.values.data() + 1);
}

TEST(dlpack, refuses_what_it_cannot_view) {
  pliant_input in = {};
  Tensor strided;
  strided.strides[0] = 1;
  strided.strides[1] = 2;
  EXPECT_EQ(pliant_input_from_dlpack(&strided.managed, &in), PLIANT_INVALID_ARGUMENT);
  EXPECT_STREQ(pliant_last_error(), "the tensor is not dense and row-major");
  Tensor device;
  device.managed.dl_tensor.device.type = 2;
  EXPECT_EQ(pliant_input_from_dlpack(&device.managed, &in), PLIANT_INVALID_ARGUMENT);
  EXPECT_STREQ(pliant_last_error(), "the tensor is on a device of type 2, not in CPU memory");
  Tensor lanes;
  lanes.managed.dl_tensor.dtype.lanes = 4;
  EXPECT_EQ(pliant_input_from_dlpack(&lanes.managed, &in), PLIANT_INVALID_ARGUMENT);
  EXPECT_EQ(pliant_input_from_dlpack(nullptr, &in), PLIANT_INVALID_ARGUMENT);
  DLManagedTensorVersioned future = {{2, 0}, nullptr, nullptr, 0, lanes.managed.dl_tensor};
  EXPECT_EQ(pliant_input_from_dlpack_versioned(&future, &in), PLIANT_INVALID_ARGUMENT);
}

TEST(dlpack, exported_outputs_outlive_the_model) {
  ModelPtr model = load(add_chain(1));
  Tensor t;
  pliant_input in[2] = {};
  ASSERT_EQ(pliant_input_from_dlpack(&t.managed, &in[0]), PLIANT_OK);
  in[1] = in[0];
  pliant_output out = {};
  ASSERT_EQ(pliant_run(model.get(), in, 2, &out, 1), PLIANT_OK) << pliant_last_error();
  DLManagedTensor* tensor = nullptr;
  ASSERT_EQ(pliant_output_to_dlpack(&out, &tensor), PLIANT_OK);
  EXPECT_EQ(out.buffer, nullptr);
  pliant_output second = {};
  ASSERT_EQ(pliant_run(model.get(), in, 2, &second, 1), PLIANT_OK);
  DLManagedTensorVersioned* versioned = nullptr;
  ASSERT_EQ(pliant_output_to_dlpack_versioned(&second, &versioned), PLIANT_OK);
  model.reset();
  EXPECT_EQ(tensor->dl_tensor.ndim, 2);
  EXPECT_EQ(tensor->dl_tensor.shape[1], 3);
  EXPECT_EQ(tensor->dl_tensor.strides[0], 3);
  EXPECT_EQ(static_cast<const float*>(tensor->dl_tensor.data)[5], 12);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->dl_tensor.data) % 64, 0u);
  EXPECT_EQ(versioned->version.major, 1u);
  EXPECT_EQ(static_cast<const float*>(versioned->dl_tensor.data)[0], 2);
  tensor->deleter(tensor);
  versioned->deleter(versioned);
  EXPECT_EQ(pliant_output_to_dlpack(&out, &tensor), PLIANT_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace pliant::runtime::fixture
