#include "session.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>

#include "artifact/file.h"
#include "base/half.h"

namespace pliant::cli {
namespace {

Error runtime_error(const std::string& where) { return make_error("runtime", where, pliant_last_error()); }

std::vector<InputSpec> describe(const pliant_model* model, size_t count,
                                pliant_status (*read)(const pliant_model*, size_t, pliant_tensor_info*)) {
  std::vector<InputSpec> specs;
  for (size_t i = 0; i < count; ++i) {
    pliant_tensor_info info{};
    info.struct_size = sizeof(info);
    PLIANT_CHECK(read(model, i, &info) == PLIANT_OK) << pliant_last_error();
    InputSpec spec{info.name, static_cast<DType>(info.dtype), {}, info.optional != 0};
    for (int32_t k = 0; k < info.rank; ++k) spec.axes.emplace_back(info.symbols[k]);
    specs.push_back(std::move(spec));
  }
  return specs;
}

template <class T>
void store(te::Array& a, size_t i, T v) {
  std::memcpy(a.data.data() + i * sizeof(T), &v, sizeof(T));
}

void store_float(te::Array& a, size_t i, float v) {
  switch (a.dtype) {
    case DType::F16: return store(a, i, f32_to_f16(v));
    case DType::BF16: return store(a, i, f32_to_bf16(v));
    case DType::F32: return store(a, i, v);
    default: return store(a, i, static_cast<double>(v));
  }
}

void store_int(te::Array& a, size_t i, int64_t v) {
  std::memcpy(a.data.data() + i * static_cast<size_t>(byte_size(a.dtype)), &v, static_cast<size_t>(byte_size(a.dtype)));
}

}  // namespace

void Outputs::clear() {
  for (pliant_output& o : raw_) {
    pliant_release_buffer(o.buffer);
    o = pliant_output{};
  }
}

te::ArrayView Outputs::view(size_t i) const {
  const pliant_output& o = raw_[i];
  return {static_cast<DType>(o.dtype), std::vector<int64_t>(o.shape, o.shape + o.rank),
          static_cast<const std::byte*>(o.data)};
}

bool is_artifact(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  char start[64] = {};
  in.read(start, sizeof(start));
  return artifact::has_magic({reinterpret_cast<const std::byte*>(start), static_cast<size_t>(in.gcount())});
}

Result<Session> Session::open(const std::string& path, const driver::CompileOptions& options, int threads) {
  Session s;
  pliant_load_options load{};
  load.struct_size = sizeof(load);
  load.threads = threads;
  pliant_model* model = nullptr;
  pliant_status status;
  if (is_artifact(path) || path.ends_with(".pliant")) {
    status = pliant_load_file(path.c_str(), &load, &model);
  } else {
    auto start = std::chrono::steady_clock::now();
    std::vector<std::byte> bytes = TRY(driver::compile_file(path, options));
    s.compile_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    show_progress("");
    s.memory_.reset(static_cast<std::byte*>(std::aligned_alloc(4096, (bytes.size() + 4095) / 4096 * 4096)));
    PLIANT_CHECK(s.memory_ != nullptr) << "no memory for the artifact";
    std::memcpy(s.memory_.get(), bytes.data(), bytes.size());
    status = pliant_load_memory(s.memory_.get(), bytes.size(), &load, &model);
  }
  if (status != PLIANT_OK) return runtime_error(path);
  s.model_.reset(model);
  s.inputs_ = describe(model, pliant_input_count(model), &pliant_describe_input);
  s.outputs_ = describe(model, pliant_output_count(model), &pliant_describe_output);
  return s;
}

Status Session::run(const Inputs& inputs, Outputs& outputs) const {
  outputs.clear();
  std::vector<pliant_input> raw;
  for (const auto& [name, array] : inputs) {
    raw.push_back({name.c_str(), array.data.data(), static_cast<int32_t>(array.dtype),
                   static_cast<int32_t>(array.shape.size()), array.shape.data()});
  }
  if (pliant_run(model_.get(), raw.data(), raw.size(), outputs.raw(), outputs.size()) != PLIANT_OK) return runtime_error("");
  return ok();
}

Inputs random_inputs(const std::vector<InputSpec>& specs, const Case& c, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int64_t> small(0, 99);
  Inputs inputs;
  for (const InputSpec& spec : specs) {
    auto shape = c.find(spec.name);
    if (shape == c.end()) continue;
    size_t count = 1;
    for (int64_t d : shape->second) count *= static_cast<size_t>(d);
    te::Array a{spec.dtype, shape->second, std::vector<std::byte>(count * static_cast<size_t>(byte_size(spec.dtype)))};
    bool mask = spec.name.find("mask") != std::string::npos, type = spec.name.find("type") != std::string::npos;
    for (size_t i = 0; i < count; ++i) {
      if (is_float(spec.dtype)) {
        store_float(a, i, normal(random));
      } else {
        int64_t v = spec.dtype == DType::Bool ? small(random) % 2 : small(random);
        store_int(a, i, mask ? 1 : type ? 0 : v);
      }
    }
    inputs.emplace(spec.name, std::move(a));
  }
  return inputs;
}

void show_progress(const std::string& text) {
  static const bool terminal = isatty(2) != 0;
  if (terminal) std::fprintf(stderr, "\r\x1b[K%s", text.c_str());
}

std::string print_shape(const std::vector<int64_t>& shape) {
  if (shape.empty()) return "scalar";
  std::string text;
  for (size_t k = 0; k < shape.size(); ++k) text += (k ? "x" : "") + std::to_string(shape[k]);
  return text;
}

}  // namespace pliant::cli
