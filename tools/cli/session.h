// A loaded model as the commands use it: an artifact, or a model file compiled on the spot.
#pragma once
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/compile.h"
#include "ops/op.h"
#include "runtime/pliant.h"
#include "shapes.h"
#include "te/te.h"

namespace pliant::cli {

using Inputs = std::map<std::string, ops::Datum>;

// One run's outputs; views stay valid while it lives.
class Outputs {
 public:
  explicit Outputs(size_t count) : raw_(count), lists_(count) {}
  Outputs(Outputs&& o) noexcept : raw_(std::move(o.raw_)), lists_(std::move(o.lists_)) { o.raw_.clear(), o.lists_.clear(); }
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;
  Outputs& operator=(Outputs&&) = delete;
  ~Outputs() { clear(); }
  void clear();
  pliant_output* raw() { return raw_.data(); }
  size_t size() const { return raw_.size(); }
  pliant_list** lists() { return lists_.data(); }
  te::ArrayView view(size_t i) const { return view(raw_[i]); }
  // The elements of a sequence or optional; nothing where it holds none.
  std::optional<std::vector<te::ArrayView>> elements(size_t i) const;

 private:
  static te::ArrayView view(const pliant_output& o);
  std::vector<pliant_output> raw_;
  std::vector<pliant_list*> lists_;  // null for tensors
};

class Session {
 public:
  // `path` is an artifact or a model; `options` are used only for a model. Reports how long compiling took through
  // `compile_seconds`.
  static Result<Session> open(const std::string& path, const driver::CompileOptions& options, int threads,
                              bool check_memory = false);
  const std::vector<InputSpec>& inputs() const { return inputs_; }
  const std::vector<InputSpec>& outputs() const { return outputs_; }
  pliant_model* model() const { return model_.get(); }
  double compile_seconds() const { return compile_seconds_; }  // 0 for an artifact
  // `seed`: of the random numbers that the model draws.
  Status run(const Inputs& inputs, Outputs& outputs, uint64_t seed) const;

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
    void operator()(pliant_model* m) const { pliant_release_model(m); }
  };
  std::unique_ptr<std::byte, Free> memory_;  // what a compiled model is loaded from; outlives model_
  std::unique_ptr<pliant_model, Free> model_;
  std::vector<InputSpec> inputs_, outputs_;
  double compile_seconds_ = 0;
};

bool is_artifact(const std::string& path);
// Seeded values for every input of `c`: floats are standard normal; integers whose name has "mask" are 1, "type" 0, others
// small. Of sequences a few elements, whose open sizes are small numbers. An Error where memory cannot hold them.
Result<Inputs> random_inputs(const std::vector<InputSpec>& specs, const Case& c, uint64_t seed);
// A line on standard error that the next one replaces; nothing when it is not a terminal. An empty text clears the line.
void show_progress(const std::string& text);
std::string print_shape(const std::vector<int64_t>& shape);  // `4x3x224x224`, `scalar`

}  // namespace pliant::cli
