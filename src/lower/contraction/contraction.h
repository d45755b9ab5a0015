// Contractions: sums of products in which one factor varies along rows and the other along columns of the output (matrix
// products, convolutions, einsums), lowered to register tiles with symbolic outer loops.
#pragma once
#include "lower/epilogue.h"
#include "lower/stages.h"

namespace pliant::lower {

// The stage to contract is `list.stages[root]`; stages after it are elementwise on its result, stages before it are others.
std::optional<size_t> find_contraction(const Problem& p, const StageList& list);
Result<LoweredNode> lower_contraction(const Problem& p, const StageList& list, size_t root);
// Whether stage `s` is a sum of products whose results go where `e` says, and the kernels that compute it, after those of
// `out`.
bool is_product(const Problem& p, const StageList& list, const Stage& s, const Epilogue& e);
Status lower_product(const Problem& p, const StageList& list, const Stage& s, const Epilogue& e,
                     std::map<expr::TensorId, int32_t>& temporaries, LoweredNode& out);
// What one step of the reduction adds: a product, or those of the parts of two i32.
enum class Step : uint8_t {
  Product,
  Dot2,  // of i16, packed (expr/scalar/packed.h)
  Dot4,  // of bytes, packed, those of a unsigned and those of b signed
};
// The same where the second factor is made of constants of known sizes.
bool is_packed_product(const Problem& p, const StageList& list, const Stage& s, const Epilogue& e);
// The same where the second factor is a load of `padded`, whose last axis runs along the columns and has room for whole
// panels.
constexpr int64_t kWidestPanel = 64;
bool is_padded_product(const Problem& p, const StageList& list, const Stage& s, const Epilogue& e, expr::TensorId padded);

// The factors of a sum of products and what the loops around it do to them.
struct Factors {
  Scalar a, b;              // flat; a is constant along the columns, b along the rows
  std::vector<Loop> outer;  // output loops other than row and column, outermost first
  Loop row, col;
  std::vector<Loop> reduce;    // outermost first
  std::vector<Scalar> values;  // epilogues, flat: the value of each output, with loads of `acc` for the sum
  std::vector<Dim> offsets;    // of the outputs, flat
  expr::TensorId acc;          // stands for the sum in `values`, index ignored
  Step step = Step::Product;
};

// Stores the outputs at (row, column), where the sum is `total`, of the accumulate dtype.
loop::StmtPtr store_results(const te::TensorDef& sum, const std::vector<te::Tensor>& outputs, const Factors& f, Dim row,
                            Dim column, Scalar total);

// The params of a kernel that reads a, b and what the epilogues need, and writes the outputs.
void add_params(Signature& signature, const Factors& f, const std::vector<te::Tensor>& outputs);

// How b is read in the inner loop.
enum class Operand : uint8_t {
  Packed,   // a constant, laid out at compile time as [outer loops that b uses][panel][k][column], zero-padded
  Direct,   // contiguous along the columns in memory, with room for whole panels up to kWidestPanel
  Panel,    // gathered at run time into a scratch panel [k][column]
  InPlace,  // read where it lies, for few rows
};
// The kernel of a packed (Operand::Packed) or padded (Operand::Direct) product.
Result<LoweredKernel> lower_product_of_words(const Problem& p, const StageList& list, const Stage& s, const Epilogue& e,
                                             Operand operand, Step step,
                                             const std::map<expr::TensorId, int32_t>& temporaries);
// Lays out a constant operand. `outer` are the outer loops that b uses.
Result<graph::ConstantPtr> pack_constant(const Problem& p, Scalar b, const std::vector<Loop>& outer, Loop col,
                                         const std::vector<Loop>& reduce, int64_t columns);

}  // namespace pliant::lower
