// Result<T>: a value, or the diagnostics that explain why there is none. Faults of the user's model or request
// travel as Results; our own bugs throw InternalError through PLIANT_CHECK and are caught only in the tool's main, the
// C ABI and the Python binding.
#pragma once
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace pliant {

// One fault of the user's. `message` is lower case, one sentence, without a full stop, and names the model's node.
struct Diagnostic {
  std::string id;     // stable kebab-case name, for example "shape-mismatch"
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

inline Error make_error(std::string id, std::string where, std::string message, std::vector<std::string> notes = {}) {
  return Error{{Diagnostic{std::move(id), std::move(where), std::move(message), std::move(notes)}}};
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
