#include "session.h"

#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
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
    InputSpec spec{
        info.name, static_cast<DType>(info.dtype), {}, info.optional != 0, static_cast<InputSpec::Kind>(info.kind)};
    spec.any_rank = info.any_rank != 0;
    for (int32_t k = 0; k < info.rank; ++k)
      spec.axes.push_back(info.sizes[k] < 0 ? info.symbols[k] : std::to_string(info.sizes[k]));
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
  for (pliant_list*& list : lists_) {
    pliant_release_list(list);
    list = nullptr;
  }
}

std::optional<std::vector<te::ArrayView>> Outputs::elements(size_t i) const {
  if (!pliant_list_is_present(lists_[i])) return std::nullopt;
  std::vector<te::ArrayView> views;
  for (size_t k = 0; k < pliant_list_size(lists_[i]); ++k) {
    pliant_output o{};
    PLIANT_CHECK(pliant_list_get(lists_[i], k, &o) == PLIANT_OK) << pliant_last_error();
    views.push_back(view(o));
    pliant_release_buffer(o.buffer);  // the list keeps it
  }
  return views;
}

te::ArrayView Outputs::view(const pliant_output& o) {
  return {static_cast<DType>(o.dtype), std::vector<int64_t>(o.shape, o.shape + o.rank),
          static_cast<const std::byte*>(o.data)};
}

bool is_artifact(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::ifstream in(path, std::ios::binary);
  char start[64] = {};
  in.read(start, sizeof(start));
  return artifact::has_magic({reinterpret_cast<const std::byte*>(start), static_cast<size_t>(in.gcount())});
}

Result<Session> Session::open(const std::string& path, const driver::CompileOptions& options, int threads,
                              bool check_memory) {
  Session s;
  pliant_load_options load{};
  load.struct_size = sizeof(load);
  load.threads = threads;
  load.flags = PLIANT_LOAD_CHOOSE_PAGES | (check_memory ? PLIANT_LOAD_CHECK_MEMORY : 0);
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
    if (s.memory_ == nullptr) throw std::bad_alloc();
    std::memcpy(s.memory_.get(), bytes.data(), bytes.size());
    status = pliant_load_memory(s.memory_.get(), bytes.size(), &load, &model);
  }
  if (status != PLIANT_OK) return runtime_error(path);
  s.model_.reset(model);
  s.inputs_ = describe(model, pliant_input_count(model), &pliant_describe_input);
  s.outputs_ = describe(model, pliant_output_count(model), &pliant_describe_output);
  return s;
}

Status Session::run(const Inputs& inputs, Outputs& outputs, uint64_t seed) const {
  outputs.clear();
  auto raw_of = [](const char* name, const te::Array& a) {
    return pliant_input{name, a.data.data(), static_cast<int32_t>(a.dtype), static_cast<int32_t>(a.shape.size()),
                        a.shape.data()};
  };
  std::vector<pliant_input> raw;
  std::vector<pliant_list_input> lists;
  std::vector<std::vector<pliant_input>> elements(inputs.size());
  for (const auto& [name, datum] : inputs) {
    if (datum.list == nullptr) {
      raw.push_back(raw_of(name.c_str(), datum.array));
      continue;
    }
    std::vector<pliant_input>& of = elements[lists.size()];
    for (const auto& e : datum.list->elements) of.push_back(raw_of(nullptr, *e));
    lists.push_back({name.c_str(), datum.list->is_present, of.size(), of.data()});
  }
  pliant_run_options options{};
  options.struct_size = sizeof(options);
  options.lists = lists.data();
  options.list_count = lists.size();
  options.list_outputs = outputs.lists();
  options.seed = &seed;
  if (pliant_run_with(model_.get(), raw.data(), raw.size(), outputs.raw(), outputs.size(), &options) != PLIANT_OK)
    return runtime_error("");
  return ok();
}

namespace {

// Beyond what any machine of today holds, and far from overflow.
constexpr size_t kMostInputBytes = size_t{1} << 46;

class RandomInputs {
 public:
  explicit RandomInputs(uint64_t seed) : random_(seed) {}

  Result<te::Array> array(const InputSpec& spec, const std::vector<int64_t>& shape) {
    size_t bytes = static_cast<size_t>(byte_size(spec.dtype));
    bool fits = true, empty = false;
    for (int64_t d : shape) {
      empty = empty || d == 0;
      fits = fits && (d == 0 || !__builtin_mul_overflow(bytes, static_cast<size_t>(d), &bytes));
    }
    te::Array a{spec.dtype, shape, {}};
    try {
      if (!fits || bytes > kMostInputBytes) throw std::bad_alloc();
      a.data.resize(empty ? 0 : bytes);
    } catch (const std::bad_alloc&) {
      return make_error("too-large", "input \"" + spec.name + "\"",
                        "there is no memory for " + print_shape(shape) + " elements of " + name_of(spec.dtype));
    }
    const size_t count = a.data.size() / static_cast<size_t>(byte_size(spec.dtype));
    bool mask = spec.name.find("mask") != std::string::npos, type = spec.name.find("type") != std::string::npos;
    for (size_t i = 0; i < count; ++i) {
      if (is_float(spec.dtype)) {
        store_float(a, i, normal_(random_));
      } else {
        int64_t v = spec.dtype == DType::Bool ? small_(random_) % 2 : small_(random_);
        store_int(a, i, mask ? 1 : type ? 0 : v);
      }
    }
    return a;
  }

  Result<ops::Datum> list(const InputSpec& spec, const std::vector<int64_t>* shape) {
    using Kind = InputSpec::Kind;
    ops::ListValue value;
    value.is_present = spec.kind == Kind::Sequence || small_(random_) % 4 != 0;
    int64_t count = !value.is_present ? 0 : spec.kind == Kind::Optional ? 1 : 1 + small_(random_) % 4;
    for (int64_t k = 0; k < count; ++k) {
      std::vector<int64_t> sizes;
      for (const std::string& axis : spec.axes) {
        int64_t size = 1 + small_(random_) % 5;  // unless the axis says one
        std::from_chars(axis.data(), axis.data() + axis.size(), size);
        sizes.push_back(size);
      }
      value.elements.push_back(std::make_shared<te::Array>(TRY(array(spec, shape != nullptr ? *shape : sizes))));
    }
    return ops::Datum{{}, std::make_shared<ops::ListValue>(std::move(value))};
  }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<float> normal_;
  std::uniform_int_distribution<int64_t> small_{0, 99};
};

}  // namespace

Result<Inputs> random_inputs(const std::vector<InputSpec>& specs, const Case& c, uint64_t seed) {
  RandomInputs random(seed);
  Inputs inputs;
  for (const InputSpec& spec : specs) {
    auto shape = c.find(spec.name);
    if (spec.is_list())
      inputs.emplace(spec.name, TRY(random.list(spec, shape == c.end() ? nullptr : &shape->second)));
    else if (shape != c.end())
      inputs.emplace(spec.name, ops::Datum{TRY(random.array(spec, shape->second)), nullptr});
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
