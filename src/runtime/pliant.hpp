// C++ over pliant.h, header only: owning handles, checked views. Failures are values: Status, and Expected<T> with ok() and
// value().
//
//   auto model = pliant::rt::Model::load("model.pliant");
//   if (!model.ok()) return report(model.error());
//   std::vector<int64_t> ids(4 * 37);
//   auto outs = model.value().run({pliant::rt::Input::of("ids", ids, {4, 37})});
//   if (!outs.ok()) return report(outs.error());
//   std::span<const float> logits = outs.value()[0].values<float>();
#ifndef PLIANT_HPP
#define PLIANT_HPP
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "pliant.h"

namespace pliant::rt {

struct Status {
  pliant_status code = PLIANT_OK;
  std::string message;  // empty when ok
  bool ok() const { return code == PLIANT_OK; }
  static Status from(pliant_status code) { return {code, code == PLIANT_OK ? "" : pliant_last_error()}; }
};

template <class T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : value_(std::move(value)) {}       // NOLINT: implicit on purpose
  Expected(Status error) : error_(std::move(error)) {}  // NOLINT
  bool ok() const { return value_.has_value(); }
  T& value() { return *value_; }
  const T& value() const { return *value_; }
  const Status& error() const { return error_; }

 private:
  std::optional<T> value_;
  Status error_;
};

// The dtype of a C++ type; bool vectors are stored as bytes, so bool tensors come as uint8_t with PLIANT_BOOL given by hand.
template <class T>
constexpr pliant_dtype dtype_of() {
  if constexpr (std::is_same_v<T, float>)
    return PLIANT_F32;
  else if constexpr (std::is_same_v<T, double>)
    return PLIANT_F64;
  else if constexpr (std::is_same_v<T, bool>)
    return PLIANT_BOOL;
  else {
    static_assert(std::is_integral_v<T>, "no dtype for this type");
    constexpr bool is_signed = std::is_signed_v<T>;
    switch (sizeof(T)) {
      case 1: return is_signed ? PLIANT_I8 : PLIANT_U8;
      case 2: return is_signed ? PLIANT_I16 : PLIANT_U16;
      case 4: return is_signed ? PLIANT_I32 : PLIANT_U32;
      default: return is_signed ? PLIANT_I64 : PLIANT_U64;
    }
  }
}

// A named view of the caller's dense data, which must outlive the run.
struct Input {
  std::string name;  // empty: by position
  const void* data = nullptr;
  pliant_dtype dtype = PLIANT_F32;
  std::vector<int64_t> shape;

  template <class Container>
  static Input of(std::string name, const Container& values, std::vector<int64_t> shape) {
    using T = std::remove_cv_t<std::remove_pointer_t<decltype(std::data(values))>>;
    return {std::move(name), std::data(values), dtype_of<T>(), std::move(shape)};
  }
};

// One output of a run, with its memory.
class Output {
 public:
  explicit Output(const pliant_output& raw) : raw_(raw) {}
  Output(Output&& other) noexcept : raw_(std::exchange(other.raw_, pliant_output{})) {}
  Output& operator=(Output&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Output() { pliant_release_buffer(raw_.buffer); }
  pliant_dtype dtype() const { return static_cast<pliant_dtype>(raw_.dtype); }
  std::span<const int64_t> shape() const { return {raw_.shape, static_cast<size_t>(raw_.rank)}; }
  size_t size() const {
    size_t n = 1;
    for (int64_t d : shape()) n *= static_cast<size_t>(d);
    return n;
  }
  const void* data() const { return raw_.data; }
  // The elements; empty when T is not the output's type.
  template <class T>
  std::span<const T> values() const {
    if (dtype_of<T>() != dtype()) return {};
    return {static_cast<const T*>(raw_.data), size()};
  }
  // Hands the memory over to a DLPack tensor; null when it is not the runtime's.
  DLManagedTensor* to_dlpack() {
    DLManagedTensor* tensor = nullptr;
    return pliant_output_to_dlpack(&raw_, &tensor) == PLIANT_OK ? tensor : nullptr;
  }

 private:
  pliant_output raw_;
};

// A sequence or an optional for a run; its tensors' names are not looked at.
struct ListInput {
  std::string name;
  std::vector<Input> tensors;
  bool is_present = true;
};
// An output of any kind: one tensor, or those of a sequence or optional.
struct Value {
  pliant_kind kind = PLIANT_TENSOR;
  bool is_present = true;  // false: an optional that holds nothing
  std::vector<Output> tensors;
};

struct LoadOptions {
  int threads = 0;            // 0: as many as this process may use
  uint32_t flags = 0;         // PLIANT_LOAD_*
  uint64_t memory_limit = 0;  // bytes that a run may use; 0: any number
};
struct RunOptions {
  int32_t* stop = nullptr;    // the run ends soon after another thread makes this not 0
  uint64_t memory_limit = 0;  // 0: as loaded
  std::optional<uint64_t> seed;  // of the random numbers that the model draws; none: others in each run
};

class Model {
 public:
  static Expected<Model> load(const std::string& path, LoadOptions options = {}) {
    const pliant_load_options raw = raw_of(options);
    pliant_model* model = nullptr;
    const pliant_status status = pliant_load_file(path.c_str(), &raw, &model);
    if (status != PLIANT_OK) return Status::from(status);
    return Model(model);
  }
  // The bytes must outlive the model.
  static Expected<Model> load(std::span<const std::byte> bytes, LoadOptions options = {}) {
    const pliant_load_options raw = raw_of(options);
    pliant_model* model = nullptr;
    const pliant_status status = pliant_load_memory(bytes.data(), bytes.size(), &raw, &model);
    if (status != PLIANT_OK) return Status::from(status);
    return Model(model);
  }

  size_t input_count() const { return pliant_input_count(model_.get()); }
  size_t output_count() const { return pliant_output_count(model_.get()); }
  pliant_tensor_info input(size_t i) const {
    pliant_tensor_info info = {};
    info.struct_size = sizeof info;
    pliant_describe_input(model_.get(), i, &info);
    return info;
  }
  pliant_tensor_info output(size_t i) const {
    pliant_tensor_info info = {};
    info.struct_size = sizeof info;
    pliant_describe_output(model_.get(), i, &info);
    return info;
  }

  // Any number of threads may run one model at once.
  Expected<std::vector<Output>> run(std::span<const Input> inputs, RunOptions options = {}) const {
    const std::vector<pliant_input> raw = raw_of(inputs, true);
    std::vector<pliant_output> outs(output_count());
    pliant_run_options raw_options = {};
    raw_options.struct_size = sizeof raw_options;
    raw_options.stop = options.stop;
    raw_options.memory_limit = options.memory_limit;
    raw_options.seed = options.seed ? &*options.seed : nullptr;
    const pliant_status status =
        pliant_run_with(model_.get(), raw.data(), raw.size(), outs.data(), outs.size(), &raw_options);
    if (status != PLIANT_OK) return Status::from(status);
    std::vector<Output> result;
    result.reserve(outs.size());
    for (const pliant_output& out : outs) result.emplace_back(out);
    return result;
  }
  // Where inputs or outputs are sequences or optionals.
  Expected<std::vector<Value>> run_values(std::span<const Input> inputs, std::span<const ListInput> lists) const {
    const std::vector<pliant_input> raw = raw_of(inputs, true);
    std::vector<std::vector<pliant_input>> elements;
    std::vector<pliant_list_input> raw_lists;
    for (const ListInput& in : lists) {
      elements.push_back(raw_of(in.tensors, false));
      raw_lists.push_back({in.name.c_str(), in.is_present, elements.back().size(), elements.back().data()});
    }
    std::vector<pliant_output> outs(output_count());
    std::vector<pliant_list*> out_lists(output_count());
    pliant_run_options options = {};
    options.struct_size = sizeof options;
    options.lists = raw_lists.data();
    options.list_count = raw_lists.size();
    options.list_outputs = out_lists.data();
    const pliant_status status = pliant_run_with(model_.get(), raw.data(), raw.size(), outs.data(), outs.size(), &options);
    if (status != PLIANT_OK) return Status::from(status);
    std::vector<Value> result(outs.size());
    for (size_t i = 0; i < outs.size(); ++i) {
      result[i].kind = static_cast<pliant_kind>(output(i).kind);
      if (out_lists[i] == nullptr) result[i].tensors.emplace_back(outs[i]);
      result[i].is_present = out_lists[i] == nullptr || pliant_list_is_present(out_lists[i]) != 0;
      for (size_t k = 0; k < pliant_list_size(out_lists[i]); ++k) {
        pliant_output element = {};
        if (pliant_list_get(out_lists[i], k, &element) == PLIANT_OK) result[i].tensors.emplace_back(element);
      }
      pliant_release_list(out_lists[i]);
    }
    return result;
  }
  Expected<std::vector<Output>> run(std::initializer_list<Input> inputs, RunOptions options = {}) const {
    return run(std::span<const Input>(inputs.begin(), inputs.size()), options);
  }
  // Ends the runs that are in flight now: they fail with PLIANT_CANCELLED.
  void cancel() const { pliant_cancel(model_.get()); }
  pliant_model* get() const { return model_.get(); }

 private:
  static pliant_load_options raw_of(const LoadOptions& options) {
    pliant_load_options raw = {};
    raw.struct_size = sizeof raw;
    raw.threads = options.threads;
    raw.flags = options.flags;
    raw.memory_limit = options.memory_limit;
    return raw;
  }
  static std::vector<pliant_input> raw_of(std::span<const Input> inputs, bool named) {
    std::vector<pliant_input> raw;
    raw.reserve(inputs.size());
    for (const Input& in : inputs)
      raw.push_back({!named || in.name.empty() ? nullptr : in.name.c_str(), in.data, in.dtype,
                     static_cast<int32_t>(in.shape.size()), in.shape.data()});
    return raw;
  }
  struct Release {
    void operator()(pliant_model* m) const { pliant_release_model(m); }
  };
  explicit Model(pliant_model* model) : model_(model) {}
  std::unique_ptr<pliant_model, Release> model_;
};

}  // namespace pliant::rt
#endif
