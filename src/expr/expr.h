// The scalar expression language: one for shapes, loop indices and tensor-expression bodies. Two sorts over one arena:
//
//   Dim     a 64-bit integer in canonical polynomial form: sum of coefficient * product of atoms. Atoms are symbols and
//           floordiv / mod / min / max / broadcast terms, which are opaque to the polynomial, and `value(s)`, the run-time
//           value of an integer Scalar (a gathered index). Interned: equal canonical forms are the same pointer.
//   Scalar  a typed value: constants, loads, arithmetic, selection, casts, and `index(d)`, the i64 value of a Dim.
//           Interned as well.
//
// Semantics. Dims never overflow at the sizes that tensors have; coefficients are overflow-checked when an expression is
// built and an overflowing term stays an opaque product. floordiv and mod round towards minus infinity and a divisor is
// positive. broadcast(a, b) is the broadcast of two sizes: a if b is 1, b if a is 1, otherwise both are equal.
// Integer Scalars wrap in two's complement. Div truncates towards zero for integers, x / 0 gives 0 and INT_MIN / -1 wraps;
// Mod is the remainder with the sign of the divisor, Rem with the sign of the dividend (C fmod for floats); by zero both
// give 0. Shl and Shr by a negative amount or by the width or more give 0, or -1 for Shr of a negative value. An integer to
// a negative power is 0 unless the base is 1 or -1. On Bool, Add is or, Mul is and, Sub is exclusive or. Floats are IEEE
// 754: no reassociation, NaN propagates through Min and Max. f16 and bf16 operations are computed in f32 and rounded after
// each operation.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "artifact/dtype.h"
#include "base/result.h"

namespace pliant::expr {

class Context;
struct DimNode;
struct ScalarNode;
class Scalar;

enum class Tri : uint8_t { No, Yes, Unknown };

using SymbolId = uint32_t;
// Names a tensor (in te) or a buffer (in loop) that a Load reads. Unique within a Context.
using TensorId = uint32_t;

class Dim {
 public:
  Dim() = default;
  explicit Dim(const DimNode* n) : node_(n) {}
  const DimNode* operator->() const { return node_; }
  const DimNode* node() const { return node_; }
  explicit operator bool() const { return node_ != nullptr; }
  // Identity of canonical forms. `false` does not mean different at run time: see Context::equal.
  friend bool operator==(Dim a, Dim b) { return a.node_ == b.node_; }
  bool is_const() const;
  bool is_const(int64_t v) const;
  int64_t const_value() const;  // requires is_const()
  std::optional<SymbolId> as_symbol() const;
  std::string str() const;

 private:
  const DimNode* node_ = nullptr;
};

Dim operator+(Dim a, Dim b);
Dim operator-(Dim a, Dim b);
Dim operator*(Dim a, Dim b);
Dim operator+(Dim a, int64_t b);
Dim operator-(Dim a, int64_t b);
Dim operator*(Dim a, int64_t b);
Dim operator-(int64_t a, Dim b);
Dim operator-(Dim a);
Dim floordiv(Dim a, Dim b);
Dim floordiv(Dim a, int64_t b);
Dim mod(Dim a, Dim b);
Dim mod(Dim a, int64_t b);
Dim ceildiv(Dim a, Dim b);
Dim ceildiv(Dim a, int64_t b);
Dim min(Dim a, Dim b);
Dim max(Dim a, Dim b);
Dim broadcast(Dim a, Dim b);
Dim product(Context& ctx, const std::vector<Dim>& dims);
// The i64 value of an integer Scalar as an index.
Dim value(Scalar s);

enum class AtomKind : uint8_t { Symbol, FloorDiv, Mod, Min, Max, Broadcast, Value };

// An atom: Symbol has `symbol`; FloorDiv, Mod, Min, Max, Broadcast have `args` (two for FloorDiv and Mod, two or more,
// sorted, for the others); Value has `scalar`.
struct SymbolInfo;
struct Atom {
  uint32_t id;
  AtomKind kind;
  SymbolId symbol = 0;
  std::vector<Dim> args;
  const ScalarNode* scalar = nullptr;
  const SymbolInfo* info = nullptr;  // Symbol: its facts
};
// A product of atoms with powers, sorted by atom id; empty is the constant 1.
struct Monomial {
  uint32_t id;
  std::vector<std::pair<const Atom*, uint32_t>> factors;
  bool has_quotient = false;  // some factor is a FloorDiv
};
struct DimNode {
  Context* ctx;
  uint32_t id;
  // Sorted by monomial id, no zero coefficient; empty is the constant 0.
  std::vector<std::pair<const Monomial*, int64_t>> terms;
};

// Where a symbol gets its value.
struct Origin {
  enum class Kind : uint8_t { InputAxis, InputValue, Data, LoopIndex, Anonymous };
  Kind kind = Kind::Anonymous;
  std::string name;  // InputAxis, InputValue: the input's name; Data: the model's node
  int64_t axis = 0;  // InputAxis: the axis; InputValue, Data: the element
};
constexpr int64_t kNoLimit = INT64_MAX;
struct SymbolInfo {
  std::string name;       // printed; unique in a Context (made so with a suffix)
  int64_t lo = 0;         // inclusive
  int64_t hi = kNoLimit;  // inclusive
  int64_t multiple_of = 1;
  std::optional<Dim> upper;  // inclusive symbolic upper bound (a loop index has extent - 1)
  Origin origin;
  std::vector<int64_t> likely;
};
struct Interval {
  int64_t lo, hi;  // inclusive; INT64_MIN and INT64_MAX stand for no bound
};

enum class UnaryOp : uint8_t {
  Neg,
  Abs,
  Not,
  BitNot,
  Sign,
  Exp,
  Log,
  Log1p,
  Expm1,
  Sqrt,
  Rsqrt,
  Recip,
  Sin,
  Cos,
  Tan,
  Asin,
  Acos,
  Atan,
  Sinh,
  Cosh,
  Tanh,
  Asinh,
  Acosh,
  Atanh,
  Erf,
  Sigmoid,
  Floor,
  Ceil,
  Round /* half to even */,
  Trunc,
  IsNan,
  IsInf,
};
enum class BinaryOp : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  Mod,
  Rem,
  Pow,
  Min,
  Max,
  And,
  Or,
  Xor,
  BitAnd,
  BitOr,
  BitXor,
  Shl,
  Shr,
  Atan2,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,  // these give Bool
};
const char* name_of(UnaryOp op);
const char* name_of(BinaryOp op);
std::optional<UnaryOp> unary_op(std::string_view name);
std::optional<BinaryOp> binary_op(std::string_view name);
inline bool is_comparison(BinaryOp op) { return op >= BinaryOp::Eq; }

enum class ScalarKind : uint8_t {
  Const,  // `bits`: the value in the low bytes (bool and integers zero/sign-extended to 64 bits, f32 and f64 as IEEE bits,
          // halves as 16 bits)
  Index,  // `index[0]`, of type I64
  Load,   // element `index` of tensor `tensor`
  Unary,
  Binary,
  Select,   // args: condition (Bool), then, else; only the taken side may be read, so a guarded Load may be out of bounds on
            // the other
  Cast,     // C semantics; float to int saturates, NaN gives 0; to Bool: x != 0
  Bitcast,  // same byte size
  Fma,      // args a, b, c: a * b + c with one rounding
};

struct ScalarNode {
  Context* ctx;
  uint32_t id;
  ScalarKind kind;
  DType dtype;
  uint8_t op = 0;  // UnaryOp or BinaryOp
  TensorId tensor = 0;
  uint64_t bits = 0;
  std::vector<Scalar> args;
  std::vector<Dim> index;
  UnaryOp unary() const { return static_cast<UnaryOp>(op); }
  BinaryOp binary() const { return static_cast<BinaryOp>(op); }
};

class Scalar {
 public:
  Scalar() = default;
  explicit Scalar(const ScalarNode* n) : node_(n) {}
  const ScalarNode* operator->() const { return node_; }
  const ScalarNode* node() const { return node_; }
  explicit operator bool() const { return node_ != nullptr; }
  friend bool operator==(Scalar a, Scalar b) { return a.node_ == b.node_; }
  DType dtype() const { return node_->dtype; }
  std::string str() const;

 private:
  const ScalarNode* node_ = nullptr;
};

// Builders. Operands of a binary operation have one dtype; a PLIANT_CHECK fires otherwise. Constants fold when every
// operand is constant.
Scalar make_const(Context& ctx, DType t, double v);
Scalar make_const_int(Context& ctx, DType t, int64_t v);
Scalar make_const_bits(Context& ctx, DType t, uint64_t bits);
Scalar make_index(Dim d);
Scalar make_load(Context& ctx, TensorId tensor, DType t, std::vector<Dim> index);
Scalar make_unary(UnaryOp op, Scalar x);
Scalar make_binary(BinaryOp op, Scalar a, Scalar b);
Scalar make_select(Scalar cond, Scalar then, Scalar otherwise);
Scalar make_cast(DType t, Scalar x);  // the same dtype gives x back
Scalar make_bitcast(DType t, Scalar x);
Scalar make_fma(Scalar a, Scalar b, Scalar c);
// The identities of reductions: lowest and highest value of a type (infinities for floats).
Scalar make_lowest(Context& ctx, DType t);
Scalar make_highest(Context& ctx, DType t);

inline Scalar operator+(Scalar a, Scalar b) { return make_binary(BinaryOp::Add, a, b); }
inline Scalar operator-(Scalar a, Scalar b) { return make_binary(BinaryOp::Sub, a, b); }
inline Scalar operator*(Scalar a, Scalar b) { return make_binary(BinaryOp::Mul, a, b); }
inline Scalar operator/(Scalar a, Scalar b) { return make_binary(BinaryOp::Div, a, b); }
inline Scalar operator-(Scalar a) { return make_unary(UnaryOp::Neg, a); }
// Comparisons of Dims as Bool Scalars, and the conjunction of conditions.
Scalar less(Dim a, Dim b);
Scalar less_equal(Dim a, Dim b);
Scalar equal(Dim a, Dim b);
Scalar logical_and(Scalar a, Scalar b);

// Text of a Scalar, fully parenthesised: `(x[i, j] * f32(0.5))`, `select((index(i) < index(n)), a[i], f32(0))`,
// `cast<f32>(…)`. `tensor_name` names the tensors that Loads read; without it they are `t<id>`.
using TensorNames = std::function<std::string(TensorId)>;
std::string print(Scalar s, const TensorNames& tensor_name = {});
std::string print(Dim d, const TensorNames& tensor_name = {});
// A name as the texts show it: in backquotes where it is not a plain identifier.
std::string quoted(const std::string& name);

using DimMap = std::unordered_map<SymbolId, Dim>;
Dim substitute(Dim d, const DimMap& map);
// Replaces symbols in every index of `s`, and Loads through `load` where given (it gets the Load with its indices already
// substituted, and returns what stands for it).
Scalar substitute(Scalar s, const DimMap& map, const std::function<Scalar(Scalar load)>& load = {});
// The symbols that occur, each once, in id order; those inside Value atoms too.
std::vector<SymbolId> symbols_of(Dim d);
std::vector<SymbolId> symbols_of(Scalar s);
bool uses_symbol(Dim d, SymbolId s);
bool uses_symbol(Scalar s, SymbolId sym);
// Every distinct Load in `s`, those inside Value atoms of indices included, in id order.
std::vector<Scalar> loads_of(Scalar s);
// c where d == c * s + rest and rest does not use s; nothing when d is not affine in s.
std::optional<Dim> coefficient_of(Dim d, SymbolId s);
// `bindings[symbol]`; symbols without a binding and Value atoms make it nothing. Overflow makes it nothing.
std::optional<int64_t> evaluate(Dim d, const std::function<std::optional<int64_t>(SymbolId)>& bindings);

// Owns every node. One Context serves one compilation. Interning is serialised by a mutex, so several threads may build
// and print expressions of one Context; facts about symbols are set before that.
class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Dim constant(int64_t v);
  Dim symbol(SymbolInfo info);                          // a new symbol; its name is made unique
  Dim index_symbol(std::string_view name, Dim extent);  // a loop index in [0, extent)
  Dim symbol_dim(SymbolId id);
  std::optional<SymbolId> find_symbol(std::string_view name) const;
  const SymbolInfo& info(SymbolId id) const;
  SymbolInfo& mutable_info(SymbolId id);
  uint32_t symbol_count() const;
  TensorId fresh_tensor();

  // Three-valued: Unknown is an answer. Each is memoised and does at most a fixed amount of work.
  Tri equal(Dim a, Dim b);
  Tri less_equal(Dim a, Dim b);
  Tri less(Dim a, Dim b) { return less_equal(a + 1, b); }
  bool proves_equal(Dim a, Dim b) { return equal(a, b) == Tri::Yes; }
  bool proves_less_equal(Dim a, Dim b) { return less_equal(a, b) == Tri::Yes; }
  bool proves_less(Dim a, Dim b) { return less(a, b) == Tri::Yes; }
  Interval range(Dim d);
  // True when g divides d for every value of its symbols.
  bool divisible(Dim d, int64_t g);
  // q with d == q * by as polynomials, for by a constant or a product of symbols; nothing when it does not divide.
  std::optional<Dim> divide_exact(Dim d, Dim by);

  // Text: `batch*196 + 3`, `floordiv(h + 1, 2)`, `min(a, b)`. Names of odd characters are quoted with '`'. Parsing an
  // unknown name is an error unless `declare` is set, which makes the symbol with default facts.
  Result<Dim> parse_dim(std::string_view text, bool declare = false);
  // Parses what print(Scalar) gives. `resolve` finds the tensor or buffer that a Load names. With `length`, text may follow
  // the expression, and `length` gets the number of characters read.
  struct TensorRef {
    TensorId id;
    DType dtype;
  };
  using ResolveTensor = std::function<std::optional<TensorRef>(const std::string& name)>;
  Result<Scalar> parse_scalar(std::string_view text, const ResolveTensor& resolve = {}, bool declare = false,
                              size_t* length = nullptr);
  Result<Dim> parse_dim(std::string_view text, const ResolveTensor& resolve, bool declare, size_t* length = nullptr);

 private:
  friend struct Interner;
  struct Impl;
  std::unique_ptr<Impl> impl_;

 public:
  Impl& impl() { return *impl_; }
};

}  // namespace pliant::expr

namespace pliant::expr {
// Messages of tests and checks show the text.
inline std::ostream& operator<<(std::ostream& out, Dim d) { return out << d.str(); }
inline std::ostream& operator<<(std::ostream& out, Scalar s) { return out << s.str(); }
}  // namespace pliant::expr

template <>
struct std::hash<pliant::expr::Dim> {
  size_t operator()(pliant::expr::Dim d) const { return std::hash<const void*>()(d.node()); }
};
template <>
struct std::hash<pliant::expr::Scalar> {
  size_t operator()(pliant::expr::Scalar s) const { return std::hash<const void*>()(s.node()); }
};
