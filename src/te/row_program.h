// A stage's scalars compiled for evaluation along rows: every loop variable but one is fixed, the row variable runs, and
// each node is computed for a whole stretch of it at once. Internal to te.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>

#include "te/columns.h"
#include "te/te.h"

namespace pliant::te {

// A tensor's memory as loads see it.
struct Memory {
  const std::byte* data = nullptr;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  std::string name;
};

using SymbolValue = std::function<std::optional<int64_t>(SymbolId)>;

class RowProgram {
 public:
  using NodeId = int;
  using DimId = int;

  // `variables` are the loop variables in the order of coordinates; `row` is the position of the row variable.
  RowProgram(std::vector<SymbolId> variables, size_t row, SymbolValue symbols,
             std::function<const Memory*(TensorId)> memory);

  NodeId add(Scalar s);
  DimId add(Dim d);

  // Starts `count` <= kChunk lanes: lane k has the row variable at coordinates[row] + k.
  void start(const int64_t* coordinates, int64_t count);
  // The values of the lanes.
  const void* column(NodeId id);
  const int64_t* index_column(DimId id);
  // When the node is a Load all of whose indices are affine: its memory, and the element offset and stride of each variable.
  struct Strided {
    const Memory* memory;
    int64_t offset;
    std::vector<int64_t> strides;
  };
  std::optional<Strided> as_strided_load(NodeId id, const std::vector<int64_t>& extents) const;
  // The first fault met: a symbol without a value, or a read out of bounds that no Select guards.
  const std::optional<Error>& fault() const { return fault_; }

 private:
  enum class DimKind : uint8_t { Affine, Add, Mul, FloorDiv, Mod, Min, Max, Broadcast, Value };
  struct DimNode {
    DimKind kind = DimKind::Affine;
    bool uniform = true;  // the same for every lane
    int64_t base = 0;
    std::vector<int64_t> scale;  // Affine: one a variable
    DimId a = -1, b = -1;
    NodeId scalar = -1;  // Value
    uint64_t stamp = 0;
    std::vector<int64_t> lanes;
  };
  struct Node {
    expr::ScalarKind kind = expr::ScalarKind::Const;
    DType dtype = DType::F32;
    bool uniform = true;
    bool guarded = true;  // only used under a Select
    std::vector<NodeId> args;
    std::vector<DimId> index;
    const Memory* memory = nullptr;
    UnaryKernel unary = nullptr;
    BinaryKernel binary = nullptr;
    uint64_t stamp = 0, wide_stamp = 0;
    std::unique_ptr<std::byte[]> buffer, wide;
    const std::byte* data = nullptr;  // its own buffer, or that of the side a Select took
    bool data_uniform = true;
  };

  NodeId compile(Scalar s);
  DimId compile(Dim d);
  DimId add_dim(DimNode node);
  DimId constant_dim(int64_t v);
  DimId compile_atom(const expr::Atom* atom);
  DimId compile_binary(DimKind kind, DimId a, DimId b);
  void mark_unguarded(NodeId id);
  void mark_unguarded_dim(DimId id);
  void set_fault(Error e) {
    if (!fault_) fault_ = std::move(e);
  }

  void evaluate(NodeId id);
  void evaluate_select(Node& n);
  void evaluate_load(Node& n);
  void load_affine(Node& n, int64_t offset, int64_t stride);
  void load_lane_by_lane(Node& n);
  void report_out_of_bounds(const Node& n, size_t axis, int64_t at);
  const std::byte* wide(NodeId id, int64_t n);
  int64_t affine_value(const DimNode& d) const;
  void evaluate_dim(DimId id);
  void divide_affine(DimNode& d, int64_t first, int64_t step, int64_t by);
  int64_t lanes_of(bool uniform) const { return uniform ? 1 : count_; }

  std::vector<SymbolId> variables_;
  size_t row_;
  SymbolValue symbols_;
  std::function<const Memory*(TensorId)> memory_;
  std::vector<Node> nodes_;
  std::vector<DimNode> dims_;
  std::unordered_map<const expr::ScalarNode*, NodeId> node_ids_;
  std::unordered_map<const expr::DimNode*, DimId> dim_ids_;
  std::vector<int64_t> coordinates_;
  int64_t count_ = 0;
  uint64_t epoch_ = 0;
  std::optional<Error> fault_;
};

}  // namespace pliant::te
