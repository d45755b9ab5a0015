#include "npy.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "base/output_file.h"

namespace pliant::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct DescrRow {
  const char* text;
  DType dtype;
};
constexpr DescrRow kDescr[] = {{"|b1", DType::Bool}, {"|i1", DType::I8},  {"<i2", DType::I16},  {"<i4", DType::I32},
                               {"<i8", DType::I64},  {"|u1", DType::U8},  {"<u2", DType::U16},  {"<u4", DType::U32},
                               {"<u8", DType::U64},  {"<f2", DType::F16}, {"<V2", DType::BF16}, {"<f4", DType::F32},
                               {"<f8", DType::F64},  {"|V2", DType::BF16}};

std::optional<DType> dtype_of(std::string_view descr) {
  for (const DescrRow& row : kDescr) {
    if (descr == row.text) return row.dtype;
  }
  return std::nullopt;
}

const char* descr_of(DType t) {
  for (const DescrRow& row : kDescr) {
    if (row.dtype == t) return row.text;
  }
  return "";
}

// The text after `'key':` in the header's dictionary, without leading blanks; empty when the key is absent.
std::string_view field(std::string_view header, std::string_view key) {
  std::string quoted = "'" + std::string(key) + "':";
  size_t at = header.find(quoted);
  if (at == std::string_view::npos) return {};
  std::string_view rest = header.substr(at + quoted.size());
  size_t first = rest.find_first_not_of(' ');
  return first == std::string_view::npos ? std::string_view{} : rest.substr(first);
}

std::optional<std::vector<int64_t>> parse_shape(std::string_view text) {
  if (text.empty() || text[0] != '(') return std::nullopt;
  std::vector<int64_t> shape;
  int64_t number = -1;  // no digit yet
  for (char c : text.substr(1)) {
    if (c >= '0' && c <= '9') {
      number = std::max<int64_t>(number, 0);
      if (number > (std::numeric_limits<int64_t>::max() - 9) / 10) return std::nullopt;
      number = number * 10 + (c - '0');
    } else if (c == ',' || c == ')') {
      if (number >= 0) shape.push_back(number);
      number = -1;
      if (c == ')') return shape;
    } else if (c != ' ') {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<size_t> bytes_of(const std::vector<int64_t>& shape, DType t) {
  int64_t bytes = byte_size(t);
  for (int64_t d : shape) {
    if (__builtin_mul_overflow(bytes, d, &bytes)) return std::nullopt;
  }
  return static_cast<size_t>(bytes);
}

Error bad_file(const std::string& path, const std::string& what) { return make_error("npy-file", path, what); }

}  // namespace

Result<te::Array> read_npy(const std::string& path) {
  std::error_code error;
  const bool exists = std::filesystem::exists(path, error);
  if (exists && !std::filesystem::is_regular_file(path, error)) return bad_file(path, "is not a regular file");
  std::ifstream in(path, std::ios::binary);
  if (!in) return bad_file(path, std::string("cannot be opened: ") + std::strerror(errno));
  char prefix[8] = {};
  if (!in.read(prefix, 8) || std::string_view(prefix, 6) != kMagic) return bad_file(path, "is not a .npy file");
  int length_bytes = prefix[6] == 1 ? 2 : 4;
  unsigned char raw[4] = {};
  in.read(reinterpret_cast<char*>(raw), length_bytes);
  uint32_t length = raw[0] | raw[1] << 8 | raw[2] << 16 | static_cast<uint32_t>(raw[3]) << 24;
  if (!in || length > (1U << 20)) return bad_file(path, "has a damaged header");
  std::string header(length, ' ');
  if (!in.read(header.data(), length)) return bad_file(path, "ends inside its header");

  std::string_view descr = field(header, "descr");
  size_t end = descr.size() > 1 ? descr.find('\'', 1) : std::string_view::npos;
  if (end == std::string_view::npos || descr[0] != '\'') return bad_file(path, "has no simple dtype");
  std::string_view name = descr.substr(1, end - 1);
  std::optional<DType> dtype = dtype_of(name);
  if (!dtype) return bad_file(path, "has dtype '" + std::string(name) + "', which is not supported");
  if (field(header, "fortran_order").substr(0, 5) != "False") {
    return bad_file(path, "is in column-major order; save it with numpy.ascontiguousarray");
  }
  std::optional<std::vector<int64_t>> shape = parse_shape(field(header, "shape"));
  if (!shape) return bad_file(path, "has a damaged shape");
  std::optional<size_t> bytes = bytes_of(*shape, *dtype);
  std::streampos start = in.tellg();
  in.seekg(0, std::ios::end);
  auto available = static_cast<size_t>(in.tellg() - start);
  if (!bytes || *bytes > available) return bad_file(path, "ends before its last element");
  in.seekg(start);
  te::Array array{*dtype, *shape, std::vector<std::byte>(*bytes)};
  in.read(reinterpret_cast<char*>(array.data.data()), static_cast<std::streamsize>(*bytes));
  if (!in && *bytes != 0) return bad_file(path, "cannot be read");
  return array;
}

Status write_npy(const std::string& path, const te::ArrayView& array) {
  std::string shape;
  for (int64_t d : array.shape) shape += std::to_string(d) + ", ";
  if (array.shape.size() > 1) shape.resize(shape.size() - 2);
  if (array.shape.size() == 1) shape.pop_back();
  std::string header =
      std::string("{'descr': '") + descr_of(array.dtype) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  size_t unpadded = kMagic.size() + 4 + header.size() + 1;
  header.append((64 - unpadded % 64) % 64, ' ');
  header += '\n';
  std::string start(kMagic);
  start += {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  start += header;
  std::optional<size_t> bytes = bytes_of(array.shape, array.dtype);
  PLIANT_CHECK(bytes.has_value());
  OutputFile out = TRY(OutputFile::open(path));
  TRY(out.append(std::as_bytes(std::span(start))));
  TRY(out.append({array.data, *bytes}));
  return out.finish();
}

}  // namespace pliant::cli
