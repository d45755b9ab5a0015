#include "executable.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <sys/mman.h>

#include <cstring>
#include <span>

#include "artifact/file.h"
#include "artifact/sha256.h"
#include "base/output_file.h"
#include "gil.h"
#include "interrupt.h"

namespace nb = nanobind;

namespace pliant::python {
namespace {

using AnyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using NumpyArray = nb::ndarray<nb::numpy>;

constexpr size_t kHugePage = size_t{2} << 20;

pliant_load_options load_options(int threads, uint64_t memory_limit, uint32_t flags) {
  pliant_load_options options{};
  options.flags = flags;
  options.struct_size = sizeof(options);
  options.threads = threads;
  options.memory_limit = memory_limit;
  return options;
}

// The struct of the C interface that `read` fills in.
template <class Struct, class Read>
Struct filled(const Read& read) {
  Struct out{};
  out.struct_size = sizeof(out);
  const pliant_status status = read(&out);
  if (status != PLIANT_OK) throw_status(status, "");
  return out;
}

// PLIANT_BOOL … of a DLPack type; negative when the runtime has none like it.
int dtype_from(nb::dlpack::dtype t) {
  auto code = static_cast<nb::dlpack::dtype_code>(t.code);
  auto pick = [&](int b8, int b16, int b32, int b64) {
    return t.lanes != 1 ? -1 : t.bits == 8 ? b8 : t.bits == 16 ? b16 : t.bits == 32 ? b32 : t.bits == 64 ? b64 : -1;
  };
  if (code == nb::dlpack::dtype_code::Bool) return pick(PLIANT_BOOL, -1, -1, -1);
  if (code == nb::dlpack::dtype_code::Int) return pick(PLIANT_I8, PLIANT_I16, PLIANT_I32, PLIANT_I64);
  if (code == nb::dlpack::dtype_code::UInt) return pick(PLIANT_U8, PLIANT_U16, PLIANT_U32, PLIANT_U64);
  if (code == nb::dlpack::dtype_code::Float) return pick(-1, PLIANT_F16, PLIANT_F32, PLIANT_F64);
  if (code == nb::dlpack::dtype_code::Bfloat) return pick(-1, PLIANT_BF16, -1, -1);
  return -1;
}

nb::dlpack::dtype dtype_for(int t) {
  auto make = [&](nb::dlpack::dtype_code code) {
    return nb::dlpack::dtype{static_cast<uint8_t>(code), static_cast<uint8_t>(8 * pliant_dtype_size(t)), 1};
  };
  if (t == PLIANT_BOOL) return make(nb::dlpack::dtype_code::Bool);
  if (t >= PLIANT_I8 && t <= PLIANT_I64) return make(nb::dlpack::dtype_code::Int);
  if ((t >= PLIANT_U8 && t <= PLIANT_U64) || t == PLIANT_BF16) return make(nb::dlpack::dtype_code::UInt);
  return make(nb::dlpack::dtype_code::Float);
}

// The tensors that one input is made of, held while a run reads them.
struct HeldTensors {
  std::vector<AnyArray> arrays;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<pliant_input> inputs;

  explicit HeldTensors(size_t count) : arrays(count), shapes(count), inputs(count) {}
  // `label` names it in messages; `dtype` replaces what the array shows, unless it is negative.
  void hold(size_t i, const std::string& label, nb::handle given, int dtype) {
    if (!nb::try_cast(given, arrays[i])) {
      throw InputError("input " + label + " is no array: expected an array in CPU memory of a numeric dtype, got " +
                       nb::cast<std::string>(nb::str(given.type())));
    }
    for (size_t k = 0; k < arrays[i].ndim(); ++k) shapes[i].push_back(static_cast<int64_t>(arrays[i].shape(k)));
    if (dtype < 0) dtype = dtype_from(arrays[i].dtype());
    if (dtype < 0) throw InputError("input " + label + ": its dtype is not one that models have");
    inputs[i] = {nullptr, arrays[i].data(), dtype, static_cast<int32_t>(arrays[i].ndim()), shapes[i].data()};
  }
};

// The outputs of one run; releases what was not handed to Python.
struct OutputSet {
  std::vector<pliant_output> raw;
  std::vector<pliant_list*> lists;
  explicit OutputSet(size_t count) : raw(count), lists(count) {}
  OutputSet(const OutputSet&) = delete;
  OutputSet& operator=(const OutputSet&) = delete;
  ~OutputSet() {
    for (pliant_output& o : raw) pliant_release_buffer(o.buffer);
    for (pliant_list* list : lists) pliant_release_list(list);
  }
  nb::object take(size_t i) {
    const pliant_list* list = lists[i];
    if (list == nullptr) return take(raw[i]);
    if (!pliant_list_is_present(list)) return nb::none();
    nb::list elements;
    for (size_t k = 0; k < pliant_list_size(list); ++k) {
      pliant_output o{};
      if (pliant_list_get(list, k, &o) != PLIANT_OK) throw_status(PLIANT_RUN_FAULT, "");
      elements.append(take(o));
    }
    return elements;
  }

 private:
  static nb::object take(pliant_output& o) {
    nb::capsule owner(o.buffer, [](void* p) noexcept { pliant_release_buffer(static_cast<pliant_buffer*>(p)); });
    o.buffer = nullptr;
    std::vector<size_t> shape(o.shape, o.shape + o.rank);
    NumpyArray array(o.data, shape.size(), shape.data(), owner, nullptr, dtype_for(o.dtype));
    return nb::make_tuple(nb::cast(array, nb::rv_policy::reference), pliant_dtype_name(o.dtype));
  }
};

}  // namespace

void throw_status(pliant_status status, const std::string& where) {
  std::string text = (where.empty() ? "" : where + ": ") + pliant_last_error();
  switch (status) {
    case PLIANT_FILE_ERROR:
    case PLIANT_BAD_ARTIFACT:
    case PLIANT_UNSUPPORTED_CPU: throw ArtifactError(text);
    case PLIANT_INVALID_ARGUMENT:
    case PLIANT_BAD_INPUT: throw InputError(text);
    case PLIANT_CANCELLED: throw CancelledError(text);
    case PLIANT_OUT_OF_MEMORY: throw MemoryLimitError(text);
    default: throw RunError(text);
  }
}

Executable::Executable(const void* bytes, size_t size, int threads, uint64_t memory_limit, bool check_memory) : size_(size) {
  // The copy is this process's own anyway: on huge pages, where it is used in place.
  const size_t page = size >= kHugePage / 2 ? kHugePage : 4096, room = (size + page - 1) / page * page;
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(page, room)));
  if (!memory_) throw std::bad_alloc();
  if (page == kHugePage) madvise(memory_.get(), room, MADV_HUGEPAGE);
  std::memcpy(memory_.get(), bytes, size);
  pliant_load_options options = load_options(threads, memory_limit, check_memory ? PLIANT_LOAD_CHECK_MEMORY : 0);
  pliant_model* model = nullptr;
  pliant_status status;
  {
    GilRelease unlocked;
    status = pliant_load_memory(memory_.get(), size, &options, &model);
  }
  if (status != PLIANT_OK) throw_status(status, "");
  model_.reset(model);
}

Executable::Executable(const std::string& path, int threads, uint64_t memory_limit, std::optional<bool> huge_pages,
                       bool check_memory) {
  const uint32_t flags = !huge_pages ? PLIANT_LOAD_CHOOSE_PAGES : *huge_pages ? PLIANT_LOAD_HUGE_PAGES : 0;
  pliant_load_options options = load_options(threads, memory_limit, flags | (check_memory ? PLIANT_LOAD_CHECK_MEMORY : 0));
  pliant_model* model = nullptr;
  pliant_status status;
  {
    GilRelease unlocked;
    status = pliant_load_file(path.c_str(), &options, &model);
  }
  if (status != PLIANT_OK) throw_status(status, path);
  model_.reset(model);
}

nb::list Executable::describe(size_t count, pliant_status (*read)(const pliant_model*, size_t, pliant_tensor_info*)) const {
  nb::list result;
  for (size_t i = 0; i < count; ++i) {
    const auto info = filled<pliant_tensor_info>([&](auto* out) { return read(model_.get(), i, out); });
    nb::list shape;
    for (int32_t k = 0; k < info.rank; ++k) {
      if (info.sizes[k] >= 0) {
        shape.append(info.sizes[k]);
      } else {
        shape.append(info.symbols[k]);
      }
    }
    nb::object axes = nb::none();
    if (info.any_rank == 0) axes = nb::tuple(shape);
    result.append(nb::make_tuple(info.name, pliant_dtype_name(info.dtype), axes, info.optional != 0, info.kind));
  }
  return result;
}

nb::dict Executable::info() const {
  const auto info = filled<pliant_model_info>([&](auto* out) { return pliant_describe_model(model_.get(), out); });
  nb::dict d;
  d["model"] = info.model;
  d["producer"] = info.producer;
  d["precision"] = info.precision;
  d["target"] = info.target;
  d["threads"] = info.threads;
  d["constant_bytes"] = info.constant_bytes;
  d["code_bytes"] = info.code_bytes;
  d["digest"] = nb::bytes(info.digest, sizeof(info.digest));
  nb::dict symbols;
  for (size_t i = 0; i < pliant_symbol_count(model_.get()); ++i) {
    const auto symbol = filled<pliant_symbol_info>([&](auto* out) { return pliant_describe_symbol(model_.get(), i, out); });
    symbols[symbol.name] = nb::make_tuple(symbol.min, symbol.max, symbol.multiple_of);
  }
  d["symbols"] = symbols;
  return d;
}

nb::dict Executable::stats() const {
  const auto stats = filled<pliant_stats>([&](auto* out) { return pliant_read_stats(model_.get(), out); });
  nb::dict d;
  d["runs"] = stats.runs;
  d["plan_hits"] = stats.plan_hits;
  d["plan_misses"] = stats.plan_misses;
  d["states"] = stats.states;
  d["arena_bytes"] = stats.arena_bytes;
  d["peak_bytes"] = stats.peak_bytes;
  return d;
}

nb::list Executable::run(const std::vector<std::string>& names, nb::list arrays, const std::vector<int>& dtypes,
                         const std::vector<std::string>& list_names, nb::list lists, uint64_t memory_limit,
                         std::optional<uint64_t> seed) const {
  size_t count = names.size();
  HeldTensors tensors(count);
  for (size_t i = 0; i < count; ++i) {
    tensors.hold(i, "'" + names[i] + "'", arrays[i], dtypes[i]);
    tensors.inputs[i].name = names[i].c_str();
  }
  std::vector<HeldTensors> elements;
  std::vector<pliant_list_input> list_inputs;
  elements.reserve(list_names.size());
  for (size_t i = 0; i < list_names.size(); ++i) {
    nb::object given = lists[i];
    elements.emplace_back(given.is_none() ? 0 : nb::len(given));
    HeldTensors& held = elements.back();
    for (size_t k = 0; k < held.inputs.size(); ++k) {
      nb::object array = given[k][0];
      held.hold(k, "'" + list_names[i] + "' element " + std::to_string(k), array, nb::cast<int>(given[k][1]));
    }
    list_inputs.push_back({list_names[i].c_str(), !given.is_none(), held.inputs.size(), held.inputs.data()});
  }
  OutputSet outputs(pliant_output_count(model_.get()));
  pliant_status status;
  int32_t stop = 0;
  pliant_run_options options{};
  options.struct_size = sizeof(options);
  options.stop = &stop;
  options.memory_limit = memory_limit;
  options.seed = seed ? &*seed : nullptr;
  options.lists = list_inputs.data();
  options.list_count = list_inputs.size();
  options.list_outputs = outputs.lists.data();
  {
    InterruptScope interrupt(stop);
    RunningScope running(stop);
    GilRelease unlocked;
    status = pliant_run_with(model_.get(), tensors.inputs.data(), count, outputs.raw.data(), outputs.raw.size(), &options);
  }
  if (status == PLIANT_CANCELLED && PyErr_CheckSignals() != 0) throw nb::python_error();
  if (status != PLIANT_OK) throw_status(status, "");
  nb::list result;
  for (size_t i = 0; i < outputs.raw.size(); ++i) result.append(outputs.take(i));
  return result;
}

namespace {

// What has been written, read back from the file that it is in: whether it is the artifact of that digest.
bool is_artifact(int file, size_t size, const uint8_t* digest) {
  void* p = size > artifact::kDigestBytes ? mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
  if (p == MAP_FAILED) return false;
  const std::span<const std::byte> all(static_cast<const std::byte*>(p), size);
  const artifact::Digest found = artifact::digest_of(all.first(size - artifact::kDigestBytes), pliant_default_threads());
  const bool is_same = std::memcmp(found.data(), digest, found.size()) == 0 &&
                       std::memcmp(all.last(artifact::kDigestBytes).data(), digest, found.size()) == 0;
  munmap(p, size);
  return is_same;
}

Status save_bytes(std::span<const std::byte> bytes, const uint8_t* digest, const std::string& path) {
  OutputFile file = TRY(OutputFile::open(path));
  TRY(file.append(bytes));
  if (file.written() >= 0 && !is_artifact(file.written(), bytes.size(), digest))
    return make_error("file", path, "cannot be written: the file that the model was loaded from has been changed since");
  return file.finish();
}

}  // namespace

Status Executable::save(const std::string& path) const {
  const auto info = filled<pliant_model_info>([&](auto* out) { return pliant_describe_model(model_.get(), out); });
  const void* data = memory_.get();
  size_t size = size_;
  if (!memory_ && pliant_loaded_file(model_.get(), &data, &size) != PLIANT_OK)
    return make_error("file", path, pliant_last_error());
  return save_bytes({static_cast<const std::byte*>(data), size}, info.digest, path);
}

}  // namespace pliant::python
