// A loaded model for Python: an artifact in memory or in a file, and the runtime's handle on it.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/utf8.h"
#include "runtime/pliant.h"

namespace pliant::python {

// What Python sees as pliant.CompileError, ArtifactError, InputError and RunError, all of them pliant.Error.
struct PliantError : std::runtime_error {
  explicit PliantError(const std::string& text) : std::runtime_error(to_text(text)) {}
};
struct CompileError : PliantError {
  using PliantError::PliantError;
};
struct ArtifactError : PliantError {
  using PliantError::PliantError;
};
struct InputError : PliantError {
  using PliantError::PliantError;
};
struct RunError : PliantError {
  using PliantError::PliantError;
};
struct CancelledError : RunError {
  using RunError::RunError;
};
struct MemoryLimitError : RunError {
  using RunError::RunError;
};
[[noreturn]] void throw_status(pliant_status status, const std::string& where);

class Executable {
 public:
  // Takes a copy of the artifact's bytes.
  Executable(const void* bytes, size_t size, int threads, uint64_t memory_limit, bool check_memory);
  // `huge_pages`: whether the constants are copied to huge pages; by their size when not said.
  Executable(const std::string& path, int threads, uint64_t memory_limit, std::optional<bool> huge_pages, bool check_memory);

  // (name, dtype, shape of numbers and symbols or None where the rank is open, optional, kind) of each
  nanobind::list inputs() const { return describe(pliant_input_count(model_.get()), &pliant_describe_input); }
  nanobind::list outputs() const { return describe(pliant_output_count(model_.get()), &pliant_describe_output); }
  nanobind::dict info() const;
  nanobind::dict stats() const;
  // `dtypes[i]` replaces the dtype that array i shows, unless it is negative. Sequences and optionals are None or lists of
  // (array, dtype). Outputs come as (array, dtype), bf16 as u16, or as None or lists of those. `memory_limit` of 0: as
  // loaded.
  nanobind::list run(const std::vector<std::string>& names, nanobind::list arrays, const std::vector<int>& dtypes,
                     const std::vector<std::string>& list_names, nanobind::list lists, uint64_t memory_limit,
                     std::optional<uint64_t> seed) const;
  void cancel() const { pliant_cancel(model_.get()); }
  // Writes the artifact that was loaded, whatever its file holds by now. Needs nothing of Python; looks at the stop flag.
  Status save(const std::string& path) const;

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
    void operator()(pliant_model* m) const { pliant_release_model(m); }
  };
  nanobind::list describe(size_t count, pliant_status (*read)(const pliant_model*, size_t, pliant_tensor_info*)) const;

  std::unique_ptr<std::byte, Free> memory_;  // outlives model_; null for a model from a file
  size_t size_ = 0;
  std::unique_ptr<pliant_model, Free> model_;
};

}  // namespace pliant::python
