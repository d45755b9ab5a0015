#include "frontend/onnx/file/tensor_data.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/utf8.h"
#include "frontend/onnx/file/wire.h"

namespace pliant::frontend::onnx {
namespace {

// Tensors up to this size are copied, which aligns them; larger ones stay where the file has them.
constexpr size_t kCopyBelow = 16384;

std::string wanted_found(uint64_t wanted, uint64_t found) {
  return std::to_string(wanted) + " bytes wanted, " + std::to_string(found) + " found";
}

template <class T>
void push(std::vector<std::byte>& out, T v) {
  const auto* p = reinterpret_cast<const std::byte*>(&v);
  out.insert(out.end(), p, p + sizeof(T));
}

// Appends `v`, a value of an integer field, as an element of type t: halves hold their bits.
void push_integer(std::vector<std::byte>& out, DType t, int64_t v) {
  switch (byte_size(t)) {
    case 1: return push(out, static_cast<uint8_t>(v));
    case 2: return push(out, static_cast<uint16_t>(v));
    case 4: return push(out, static_cast<uint32_t>(v));
    default: return push(out, static_cast<uint64_t>(v));
  }
}

// The number of the field that holds elements of type t.
uint32_t typed_field(DType t) {
  switch (t) {
    case DType::F32: return 4;
    case DType::F64: return 10;
    case DType::I64: return 7;
    case DType::U32:
    case DType::U64: return 11;
    default: return 5;
  }
}

struct ElementBytes {
  std::string_view view;            // the elements as they lie in the file, when they do
  std::vector<std::byte> gathered;  // otherwise
  bool is_view = false;
};

// Throws protozero's exceptions.
ElementBytes elements_of(std::string_view wire_bytes, DType t, size_t wanted) {
  ElementBytes out;
  const uint32_t field = typed_field(t);
  for (wire::Reader r(wire_bytes); r.next();) {
    if (r.tag() == 9) {
      std::string_view raw = r.bytes();
      // An empty raw_data beside a typed field says nothing.
      if (!raw.empty() || out.gathered.empty()) out.view = raw, out.is_view = true;
    } else if (r.tag() != field) {
      r.skip();
    } else if (t == DType::F32 || t == DType::F64) {
      if (r.packed() && out.gathered.empty()) {
        std::string_view packed = r.bytes();
        if (packed.size() == wanted) {
          out.view = packed, out.is_view = true;
          continue;
        }
        const auto* p = reinterpret_cast<const std::byte*>(packed.data());
        out.gathered.assign(p, p + packed.size());
      } else if (t == DType::F32) {
        r.f32s([&](float v) { push(out.gathered, v); });
      } else {
        r.f64s([&](double v) { push(out.gathered, v); });
      }
    } else {
      r.integers([&](int64_t v) { push_integer(out.gathered, t, v); });
    }
  }
  if (!out.gathered.empty()) out.is_view = out.is_view && !out.view.empty();
  return out;
}

std::optional<uint64_t> parse_number(std::string_view text) {
  uint64_t v = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return v;
}

// The bytes that `dims` need, or nothing when a dim is negative or the product overflows.
std::optional<uint64_t> bytes_wanted(const std::vector<int64_t>& dims, DType t) {
  uint64_t n = static_cast<uint64_t>(byte_size(t));
  bool zero = false;
  for (int64_t d : dims) {
    if (d < 0) return std::nullopt;
    if (d == 0) zero = true;
    if (d != 0 && __builtin_mul_overflow(n, static_cast<uint64_t>(d), &n)) return std::nullopt;
  }
  if (n > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
  return zero ? 0 : n;
}

}  // namespace

std::optional<DType> dtype_of(int32_t elem_type) {
  switch (static_cast<ElemType>(elem_type)) {
    case ElemType::Float: return DType::F32;
    case ElemType::UInt8: return DType::U8;
    case ElemType::Int8: return DType::I8;
    case ElemType::UInt16: return DType::U16;
    case ElemType::Int16: return DType::I16;
    case ElemType::Int32: return DType::I32;
    case ElemType::Int64: return DType::I64;
    case ElemType::Bool: return DType::Bool;
    case ElemType::Float16: return DType::F16;
    case ElemType::Double: return DType::F64;
    case ElemType::UInt32: return DType::U32;
    case ElemType::UInt64: return DType::U64;
    case ElemType::BFloat16: return DType::BF16;
    default: return std::nullopt;
  }
}

std::string elem_type_name(int32_t elem_type) {
  static constexpr const char* names[] = {
      "undefined",  "float",        "uint8",          "int8",       "uint16",         "int16",  "int32",     "int64",
      "string",     "bool",         "float16",        "double",     "uint32",         "uint64", "complex64", "complex128",
      "bfloat16",   "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",  "int4",      "float4e2m1",
      "float8e8m0", "uint2",        "int2",           "float6e2m3", "float6e3m2"};
  if (elem_type >= 0 && elem_type < static_cast<int32_t>(std::size(names))) return names[elem_type];
  return "type " + std::to_string(elem_type);
}

Result<TensorLoader::Bytes> TensorLoader::inline_bytes(const TensorProto& t, DType dtype, size_t wanted,
                                                       const std::string& label) {
  try {
    ElementBytes e = elements_of(t.wire, dtype, wanted);
    if (e.is_view) return Bytes{reinterpret_cast<const std::byte*>(e.view.data()), e.view.size(), model_.file.keep};
    auto owned = std::make_shared<std::vector<std::byte>>(std::move(e.gathered));
    return Bytes{owned->data(), owned->size(), owned};
  } catch (const protozero::exception& e) {
    return make_error("malformed-model", label, std::string("the elements cannot be parsed: ") + e.what(),
                      {"in " + model_.path});
  }
}

// The file that a location names: a regular one that lies, with all links followed, in the folder through which the model
// was opened or in that where the model itself lies, and that is not the model.
Result<MappedFile> TensorLoader::open_external(const std::string& location, const std::string& label) const {
  namespace fs = std::filesystem;
  auto refused = [&](const std::string& why) {
    return make_error("external-data", label, "its external data " + why + ": '" + to_text(location) + "'");
  };
  if (location.find('\0') != std::string::npos) return refused("has a zero byte in its name");
  const fs::path relative = fs::path(location).lexically_normal();
  if (relative.is_absolute() || *relative.begin() == "..") return refused("lies outside the model's folder");
  const fs::path named = fs::path(model_.directory) / relative;
  std::error_code missing, error;
  const fs::path real = fs::canonical(named, missing);
  if (!missing) {
    auto lies_in = [&](const fs::path& folder) {
      const auto [end, at] = std::mismatch(folder.begin(), folder.end(), real.begin(), real.end());
      return !folder.empty() && end == folder.end() && at != real.end();
    };
    const fs::path folder = fs::canonical(model_.directory.empty() ? "." : model_.directory, error);
    const fs::path model = model_.file.number != 0 ? fs::canonical(model_.path, error).parent_path() : fs::path();
    if (!lies_in(folder) && !lies_in(model)) return refused("is a link that leads out of the model's folder");
  }
  auto file = map_file(missing ? named.string() : real.string());
  if (!file.ok()) {
    Error e = file.error();
    e.diagnostics[0].notes.push_back("it holds the external data of " + label);
    return e;
  }
  const MappedFile& f = file.value();
  if (f.number == model_.file.number && f.device == model_.file.device) return refused("is the model itself");
  return file;
}

Result<TensorLoader::Bytes> TensorLoader::external_bytes(const TensorProto& t, size_t wanted, const std::string& label) {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  for (const auto& [key, value] : t.external_data) {
    if (key == "location") location = value;
    if (key != "offset" && key != "length") continue;
    auto number = parse_number(value);
    if (!number)
      return make_error("external-data", label,
                        "its external " + std::string(key) + " is not a number: '" + std::string(value) + "'");
    if (key == "offset") offset = *number;
    if (key == "length") length = number;
  }
  if (location.empty()) return make_error("external-data", label, "its external data has no location");
  auto it = files_.find(location);
  if (it == files_.end()) it = files_.emplace(location, TRY(open_external(location, label))).first;
  const MappedFile& file = it->second;
  uint64_t present = offset < file.size ? file.size - offset : 0;
  if (length && *length != wanted) {
    return make_error("weight-size", label, wanted_found(wanted, *length) + " in its external data",
                      {"external data in '" + location + "'"});
  }
  if (present < wanted) {
    return make_error("external-data", label,
                      "'" + location + "' is too short: " + std::to_string(wanted) + " bytes wanted at offset " +
                          std::to_string(offset) + ", " + std::to_string(present) + " found");
  }
  return Bytes{wanted == 0 ? nullptr : file.data + offset, wanted, file.keep};
}

Result<graph::ConstantPtr> TensorLoader::load(const TensorProto& t, const std::string& label) {
  auto dtype = dtype_of(t.data_type);
  if (!dtype)
    return make_error("unsupported-type", label, "elements of type " + elem_type_name(t.data_type) + " are not supported");
  auto wanted = bytes_wanted(t.dims, *dtype);
  if (!wanted) {
    std::string dims;
    for (int64_t d : t.dims) dims += (dims.empty() ? "" : ", ") + std::to_string(d);
    return make_error("malformed-model", label, "the shape [" + dims + "] is not one that a tensor can have");
  }
  Bytes b = t.external ? TRY(external_bytes(t, *wanted, label)) : TRY(inline_bytes(t, *dtype, *wanted, label));
  if (b.size != *wanted) return make_error("weight-size", label, wanted_found(*wanted, b.size), {"in " + model_.path});
  std::shared_ptr<graph::ConstantData> out;
  if (b.size < kCopyBelow || *dtype == DType::Bool) {
    auto [blank, memory] = graph::make_blank_constant(*dtype, t.dims);
    if (b.size != 0) std::memcpy(memory, b.data, b.size);
    if (*dtype == DType::Bool) {
      for (size_t i = 0; i < b.size; ++i) memory[i] = memory[i] == std::byte{0} ? std::byte{0} : std::byte{1};
    }
    out = std::make_shared<graph::ConstantData>(*blank);
  } else {
    out = std::make_shared<graph::ConstantData>();
    out->dtype = *dtype;
    out->shape = t.dims;
    out->data = b.data;
    out->bytes = b.size;
    out->keep = std::move(b.keep);
  }
  out->name = t.name;
  return graph::ConstantPtr(std::move(out));
}

}  // namespace pliant::frontend::onnx
