// The graph IR: functional, typed, immutable once built. A Function is a list of nodes in topological order over
// single-assignment values; regions hold the bodies of If, Loop, Scan and of fused groups and may use values of the
// enclosing function. Passes are pure: they build a new Function through FunctionBuilder.
//
// Semantics. A node reads its inputs and defines its outputs, without side effects. An absent optional input is kNoValue.
// Dims of tensor types and of attributes are expr::Dims: every symbol in them is known when the node runs, because it
// comes from an input (its axes, or its elements by Origin::InputValue), from a `core.read_dims` before it, or from a node
// before it: a symbol of Origin::Data that is a whole axis of an output, and known nowhere before, is defined there. A
// region's params define symbols likewise, at the start of each run of the region; symbols defined in a region are not known
// outside it. control.h says what the structured nodes are.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/loc.h"
#include "base/result.h"
#include "expr/expr.h"

namespace pliant::graph {

using expr::Dim;
using Shape = std::vector<Dim>;

struct Type;
// Only the element of a sequence or optional may have an open rank: Any where tensors of every rank may be held, None where
// none is held so far (an empty sequence, which fits every other of its element type). The shape is empty then.
enum class Rank : uint8_t { Known, Any, None };
struct TensorType {
  DType dtype = DType::F32;
  Shape shape;
  Rank rank = Rank::Known;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};
struct SequenceType {
  std::shared_ptr<const Type> element;
};
struct OptionalType {
  std::shared_ptr<const Type> element;
};
struct TupleType {
  std::vector<Type> elements;
};
struct Type {
  std::variant<TensorType, SequenceType, OptionalType, TupleType> v;
  const TensorType* tensor() const { return std::get_if<TensorType>(&v); }
  friend bool operator==(const Type& a, const Type& b);
};
Type make_tensor_type(DType t, Shape shape);
std::string print(const Type& t);  // `f32[batch, 3, h, w]`, `f32[]`, `seq<f32[?, 3]>`, `opt<…>`, `(…, …)`

// Bytes of a constant: little-endian, row-major, 64-byte aligned where we own them. `keep` owns the memory (a mapped file,
// a vector). Equal content has an equal `hash`.
struct ConstantData {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  const std::byte* data = nullptr;
  size_t bytes = 0;
  std::shared_ptr<const void> keep;
  std::string name;  // the model's initialiser, for messages; may be empty
};
using ConstantPtr = std::shared_ptr<const ConstantData>;
ConstantPtr make_constant(DType t, std::vector<int64_t> shape, const void* bytes, size_t n);  // copies
// A constant of zeros whose memory the caller fills through the second member before sharing it.
std::pair<ConstantPtr, std::byte*> make_blank_constant(DType t, std::vector<int64_t> shape);
int64_t element_count(const ConstantData& c);
// 128-bit content hash as 32 hex digits.
std::string hash_of(const ConstantData& c);

using AttrValue = std::variant<int64_t, double, bool, std::string, DType, std::vector<int64_t>, std::vector<double>,
                               std::vector<std::string>, Dim, std::vector<Dim>, ConstantPtr>;
bool equal(const AttrValue& a, const AttrValue& b);
// An empty list of one kind stands for an empty list of any kind: texts and models do not tell them apart.
bool is_empty_list(const AttrValue& v);
// Sorted by name. What an operator specifies is read through ops::attrs_of; `string_or` and `dims_or` give the fallback when
// the attribute is absent; the wrong kind is a PLIANT_CHECK.
class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<const std::string, AttrValue>> init) : map_(init) {}
  bool has(const std::string& name) const { return map_.count(name) != 0; }
  void set(const std::string& name, AttrValue v) { map_[name] = std::move(v); }
  void erase(const std::string& name) { map_.erase(name); }
  const AttrValue* find(const std::string& name) const;
  std::string string_or(const std::string& name, const std::string& fallback) const;
  std::vector<Dim> dims_or(const std::string& name, std::vector<Dim> fallback) const;
  ConstantPtr constant(const std::string& name) const;  // null when absent
  const std::map<std::string, AttrValue>& all() const { return map_; }
  friend bool operator==(const Attrs& a, const Attrs& b);

 private:
  std::map<std::string, AttrValue> map_;
};

using ValueId = uint32_t;
constexpr ValueId kNoValue = UINT32_MAX;
struct Value {
  Type type;
  std::string name;  // the model's name for it, or empty
};

struct Region;
struct Node {
  std::string op;  // `family.name`, for example `nn.conv`; `core.const` has attribute `value`
  Attrs attrs;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<std::shared_ptr<const Region>> regions;
  LocPtr loc;
};
// Values are numbered in the enclosing Function's table.
struct Region {
  std::vector<ValueId> params;
  std::vector<Node> nodes;
  std::vector<ValueId> results;
};

// A fact that must hold at run time where it could not be proved: `a == b`, `a <= b`, or `a` broadcasts to `b` (a is 1 or
// b). `message` says what the model needs, and may hold {a} and {b} for the two values.
struct ShapeConstraint {
  enum class Kind : uint8_t { Equal, LessEqual, Broadcast };
  Kind kind = Kind::Equal;
  Dim a, b;
  std::string message;
  LocPtr loc;
};

struct Function {
  std::string name;
  std::vector<ValueId> params;
  std::vector<ValueId> results;
  std::vector<std::string> result_names;
  // params[i] may be left out by the caller when default_values[i] is set.
  std::vector<ConstantPtr> default_values;
  std::vector<Node> nodes;
  std::vector<Value> values;
  std::vector<ShapeConstraint> constraints;
  const Value& value(ValueId v) const { return values[v]; }
  const TensorType& tensor_type(ValueId v) const;  // PLIANT_CHECK when it is not a tensor
};
using FunctionPtr = std::shared_ptr<const Function>;

struct Module {
  std::shared_ptr<expr::Context> ctx;
  std::vector<FunctionPtr> functions;  // functions[0] is the entry
  std::string source;                  // the model file's name, for messages
  const Function& main() const { return *functions[0]; }
  const Function* find(const std::string& name) const;  // null when there is none
};

// Builds a Function, or copies one with changes. Regions are built with a nested list: begin_region … end_region.
class FunctionBuilder {
 public:
  explicit FunctionBuilder(std::string name) { f_.name = std::move(name); }
  FunctionBuilder(std::string name, expr::Context& ctx) : ctx_(&ctx) { f_.name = std::move(name); }
  // Starts with the value table, params, names and constraints of `like`, and no nodes: value ids stay valid.
  static FunctionBuilder rewriting(const Function& like);
  ValueId add_value(Type type, std::string name = "");
  ValueId add_param(Type type, std::string name, ConstantPtr default_value = nullptr);
  void set_name(ValueId v, std::string name) { f_.values[v].name = std::move(name); }
  void append(Node node);  // requires node.loc
  // Appends a node with fresh outputs of these types.
  std::vector<ValueId> append(std::string op, Attrs attrs, std::vector<ValueId> inputs, std::vector<Type> types, LocPtr loc);
  // Needs the expression context where the constant has axes: given to the constructor, or found in the type of any value
  // before.
  ValueId append_const(ConstantPtr data, LocPtr loc);
  // In an open region a core.require is appended, outside the function's list grows. A fact that is required already there
  // is not added again: the first message stands.
  void add_constraint(ShapeConstraint o);
  // A constant outside of all regions, before the nodes whose regions are open: it is in scope everywhere from then on.
  ValueId append_outer_const(ConstantPtr data, LocPtr loc);
  void set_results(std::vector<ValueId> results, std::vector<std::string> names);
  void begin_region(std::vector<ValueId> params);
  std::shared_ptr<const Region> end_region(std::vector<ValueId> results);
  // Closes the innermost region without making anything of it.
  void drop_region();
  size_t open_regions() const { return open_.size(); }
  const Function& peek() const { return f_; }
  // The list that `append` appends to: the innermost open region's, or the function's.
  const std::vector<Node>& current_nodes() const { return open_.empty() ? f_.nodes : open_.back().region.nodes; }
  FunctionPtr finish();

 private:
  // The requirements that hold in an open region beside those of the enclosing ones.
  struct OpenRegion {
    Region region;
    std::vector<ShapeConstraint> required;
  };
  ValueId append_const_to(std::vector<Node>& nodes, ConstantPtr data, LocPtr loc);

  Function f_;
  std::vector<OpenRegion> open_;
  expr::Context* ctx_ = nullptr;
};

// Text: canonical value numbers, no addresses; print(parse(t)) == t for canonical t. Constants of more than 16 elements
// print as `dense<hash>` and parse through `constants`, keyed by that hash; `dense<splat 0.5>` and `dense<random 7>` are
// understood as well, so that hand-written texts need no table. Symbols are declared before the function with their facts; a
// symbol that `ctx` already has must have the same facts there. A node without a location in the text gets one named after
// its first output.
//
//   symbol n {lo=1, hi=64, multiple_of=4, upper=dim(m + 1), origin=input_axis("x", 0), likely=[1, 4]}
//   func @main(%0 "x": f32[n, 3], %1 "b": f32[3] = f32[3] dense<1, 2, 3>) {
//     require n <= 64 "message" loc(named("/Add", "onnx.Add"))
//     %2 "y" = math.add(%0, %1) {axis=1} : f32[n, 3] loc(…)
//     %3 = core.if(%4, _) : f32[n, 3]
//       region(%5: i64[]) {
//         yield %2
//       }
//     return %3 "out"
//   }
struct PrintOptions {
  bool with_locations = false;
};
std::string print(const Function& f, expr::Context& ctx, PrintOptions options = {});
std::string print(const Module& m, PrintOptions options = {});
using ConstantTable = std::map<std::string, ConstantPtr>;
ConstantTable constants_of(const Function& f);
Result<Module> parse_module(std::string_view text, const ConstantTable& constants = {});
Result<FunctionPtr> parse_function(std::string_view text, expr::Context& ctx, const ConstantTable& constants = {});
// Structure: each value defined once and before its use, counts and ids in range, result names unique, every node has a
// location, symbols used only after they are known. Types against operators, and calls against functions, are checked by
// ops::verify_types.
Status verify(const Function& f, expr::Context& ctx);

// Visits every node, regions too, outermost first.
void for_each_node(const Function& f, const std::function<void(const Node&)>& visit);

}  // namespace pliant::graph
