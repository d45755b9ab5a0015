// The reference evaluator's parts: one stage at a time, as loops over rows of a RowProgram. Internal to te.
#pragma once
#include <algorithm>
#include <string>
#include <unordered_map>

#include "te/row_program.h"

namespace pliant::te {

int64_t volume(const std::vector<int64_t>& extents);
std::vector<int64_t> row_major(const std::vector<int64_t>& shape);
// The axis of [from, to) that rows run along: the last, unless it is short and another is much longer.
size_t pick_row(const std::vector<int64_t>& extents, size_t from, size_t to);

// What a stage loops over: the axes of the output, then the reduced ones.
struct Space {
  std::vector<SymbolId> variables;
  std::vector<int64_t> extents;
  size_t output_rank = 0;
  size_t row = 0;
  // The positions in [from, to) other than the row.
  std::vector<size_t> others(size_t from, size_t to) const;
};

// Steps through the coordinates at `positions` in row-major order; the others stay as they are.
class Odometer {
 public:
  Odometer(const std::vector<int64_t>& extents, std::vector<size_t> positions)
      : extents_(extents), positions_(std::move(positions)) {}
  bool empty() const {
    return std::any_of(positions_.begin(), positions_.end(), [&](size_t p) { return extents_[p] <= 0; });
  }
  void reset(std::vector<int64_t>& coordinates) const {
    for (size_t p : positions_) coordinates[p] = 0;
  }
  bool next(std::vector<int64_t>& coordinates) const {
    for (size_t i = positions_.size(); i-- > 0;) {
      const size_t p = positions_[i];
      if (++coordinates[p] < extents_[p]) return true;
      coordinates[p] = 0;
    }
    return false;
  }

 private:
  const std::vector<int64_t>& extents_;
  std::vector<size_t> positions_;
};

class Evaluator {
 public:
  explicit Evaluator(SymbolValue symbols) : symbols_(std::move(symbols)) {}

  void bind(TensorId id, Memory memory) { memory_[id] = std::move(memory); }

  // The values of `dims`; an error names `what`.
  Result<std::vector<int64_t>> shape_of(const std::vector<Dim>& dims, const std::string& what) const;

  // That a tensor to be read has memory of its type.
  Status check(const TensorDef& t);
  Status run(const Tensor& t);
  Array& array(TensorId id) { return arrays_.at(id); }
  const Memory* memory(TensorId id) const {
    auto it = memory_.find(id);
    return it == memory_.end() ? nullptr : &it->second;
  }
  void release(TensorId id) {
    memory_.erase(id);
    arrays_.erase(id);
  }

 private:
  RowProgram make_program(const Space& space) const {
    return RowProgram(space.variables, space.row, symbols_, [this](TensorId id) { return memory(id); });
  }

  Status run_map(const std::vector<SymbolId>& index, Scalar body, DType t, Array& out);
  Status run_reduce(const TensorDef& t, Array& out);
  Status reduce_along_output(const TensorDef& t, const Space& space, Array& out);
  Status reduce_along_itself(const TensorDef& t, const Space& space, Array& out);
  Status run_scan(const TensorDef& t, Array& out);
  Status run_scatter(const TensorDef& t, Array& out);

  SymbolValue symbols_;
  std::unordered_map<TensorId, Memory> memory_;
  std::unordered_map<TensorId, Array> arrays_;
};

// How a combiner treats lanes of type `t`, the type of the running value.
bool is_arg(Combiner c);
expr::BinaryOp operation_of(Combiner c);
void set_identity(Combiner c, DType t, void* lanes, int64_t n);
// Adds lanes one after the other to a single running value.
void fold_lanes(Combiner c, DType t, const void* lanes, int64_t n, void* acc);

// Sums of f64 that keep what each addition rounds off: exact but for a few units in the last place, whatever their length.
struct CompensatedSum {
  double sum = 0, lost = 0;
  void add(double x) {
    const double next = sum + x, taken = next - sum;
    lost += (sum - (next - taken)) + (x - taken);
    sum = next;
  }
  // Infinities and NaN leave NaN in `lost`.
  double value() const { return lost == lost ? sum + lost : sum; }
};
// Whether `terms` terms of `t` are such a sum. A few are added one after the other in the type of the running value: a map
// that adds them, which a definition may be where it knows how many there are, gives the same.
bool is_compensated(const TensorDef& t, int64_t terms);

}  // namespace pliant::te
