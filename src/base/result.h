// Result<T>: a value, or the diagnostics that explain why there is none. Faults of the user's model or request
// travel as Results; our own bugs throw InternalError through PLIANT_CHECK and are caught only in the tool's main, the
// C ABI and the Python binding.
#pragma once
#include <cstdint>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pliant {

// What a diagnostic is about: the name of a row of base/diagnostics.def, which lint holds sources and docs to. The table is
// not included here: a new row compiles one file.
class DiagnosticId {
 public:
  template <size_t N>
  consteval DiagnosticId(const char (&name)[N]) : name_(name), hash_(hash_of(name_)) {}  // NOLINT: implicit on purpose
  constexpr std::string_view name() const { return name_; }
  // Whether the model's form is at fault, which no run avoids by taking another branch.
  bool is_malformed() const;
  friend constexpr bool operator==(DiagnosticId a, DiagnosticId b) { return a.hash_ == b.hash_; }

 private:
  static consteval uint64_t hash_of(std::string_view name) {
    uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
    return hash;
  }
  std::string_view name_;
  uint64_t hash_;
};
// All rows of the table.
std::vector<DiagnosticId> diagnostic_ids();

// One fault of the user's. `message` is lower case, one sentence, without a full stop, and names the model's node.
struct Diagnostic {
  DiagnosticId id;
  std::string where;  // `node "x" (onnx.Add)`, `input "data"`, a file; may be empty
  std::string message;
  std::vector<std::string> notes{};
};
// `where: error: message [id]`, then a line `  note: …` for each note.
std::string format(const Diagnostic& d);

struct Error {
  std::vector<Diagnostic> diagnostics;
  std::string text() const;
};

inline Error make_error(DiagnosticId id, std::string where, std::string message, std::vector<std::string> notes = {}) {
  return Error{{Diagnostic{id, std::move(where), std::move(message), std::move(notes)}}};
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : error_(std::move(error)) {}  // NOLINT
  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  T& value() { return *value_; }
  const T& value() const { return *value_; }
  T take() { return std::move(*value_); }
  Error& error() { return error_; }
  const Error& error() const { return error_; }

 private:
  std::optional<T> value_;
  Error error_;
};

struct Unit {};
using Status = Result<Unit>;
inline Status ok() { return Unit{}; }

// A bug of ours. `what()` says what was broken; the driver adds pass, node and dump.
class InternalError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace detail {
struct CheckStream {
  std::ostringstream out;
  CheckStream(const char* file, int line, const char* cond);
  template <class T>
  CheckStream& operator<<(const T& v) {
    out << v;
    return *this;
  }
  [[noreturn]] ~CheckStream() noexcept(false);
};
}  // namespace detail

}  // namespace pliant

// Throws InternalError unless `cond`; text may follow: PLIANT_CHECK(a == b) << "a is " << a;
#define PLIANT_CHECK(cond) \
  if (cond) {              \
  } else                   \
    ::pliant::detail::CheckStream(__FILE__, __LINE__, #cond)

// The value of a Result, or return its Error from the enclosing function. TRY(expr) is an expression, and may be nested:
// each has a name of its own.
#define TRY(...) PLIANT_TRY_COUNTED(__COUNTER__, __VA_ARGS__)
#define PLIANT_TRY_COUNTED(n, ...) PLIANT_TRY_NAMED(n, __VA_ARGS__)
#define PLIANT_TRY_NAMED(n, ...)                                        \
  ({                                                                    \
    auto&& try_result_##n = (__VA_ARGS__);                              \
    if (!try_result_##n.ok()) return std::move(try_result_##n.error()); \
    try_result_##n.take();                                              \
  })
