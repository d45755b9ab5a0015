// The command line's ways to say shapes: `--shape 'data=1x3x224x224;4x3x224x224'`, `--dim batch=1,seq=37`, and for compiling
// `--shape 'data=batch,3,224,224'`, `--bound batch=1..64`, `--likely batch=1,4`.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "artifact/dtype.h"
#include "base/result.h"

namespace pliant::cli {

using IntShape = std::vector<int64_t>;

// An input as the artifact describes it: each axis a number, a symbol or an expression over symbols.
struct InputSpec {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::string> axes;
  bool optional = false;  // has a default value, or may hold nothing
  // What it is; dtype and axes are those of the elements where it is no tensor.
  enum class Kind : uint8_t { Tensor, Sequence, Optional, OptionalSequence };
  Kind kind = Kind::Tensor;
  bool any_rank = false;  // of the elements
  bool is_list() const { return kind != Kind::Tensor; }
};
// The shapes of one run, by input; of a sequence or optional the shape of each element, where one is given.
using Case = std::map<std::string, IntShape>;

// One Case for each alternative of `shape_args` and then for each of `dim_args`. `fixed` are shapes of inputs read from
// files. A tensor that no argument names gets its shape from the symbols that the others bind; an optional one may stay out.
// With no argument at all there is one Case, of the inputs' constant axes.
Result<std::vector<Case>> shape_cases(const std::vector<InputSpec>& inputs, const std::vector<std::string>& shape_args,
                                      const std::vector<std::string>& dim_args, const Case& fixed);
// The symbols that the inputs' axes mention, in order of appearance.
std::vector<std::string> symbols_of(const std::vector<InputSpec>& inputs);
std::string print_case(const Case& c);  // `data=1x3x224x224`, several joined by ';'

// `data=batch,3,224,224`
Result<std::pair<std::string, std::vector<std::string>>> parse_symbolic_shape(const std::string& text);
// `batch=1..64`
Result<std::pair<std::string, std::pair<int64_t, int64_t>>> parse_bound(const std::string& text);
// `batch=1,4`; several symbols joined by ';'
Result<std::map<std::string, std::vector<int64_t>>> parse_values(const std::string& text);

}  // namespace pliant::cli
