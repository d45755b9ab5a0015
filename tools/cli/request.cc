#include "request.h"

#include <algorithm>

#include "npy.h"

namespace pliant::cli {

Inputs Request::inputs(size_t k) const {
  Inputs all = random_inputs(session.inputs(), cases[k], seed);
  for (const auto& [name, array] : given) all.insert_or_assign(name, array);
  return all;
}

Result<Request> make_request(const RunArgs& args) {
  driver::CompileOptions options = TRY(compile_options(args.compile));
  Request r{TRY(Session::open(args.compile.model, options, args.threads)), {}, {}, args.seed};
  Case fixed;
  for (const std::string& text : args.inputs) {
    size_t at = text.rfind('=');
    if (at == std::string::npos || at == 0) {
      return make_error("bad-argument", "--input", "'" + text + "' is not of the form NAME=FILE.npy");
    }
    std::string name = text.substr(0, at);
    const std::vector<InputSpec>& specs = r.session.inputs();
    auto spec = std::find_if(specs.begin(), specs.end(), [&](const InputSpec& i) { return i.name == name; });
    if (spec == specs.end()) return make_error("unknown-input", "--input", "the model has no input '" + name + "'");
    te::Array array = TRY(read_npy(text.substr(at + 1)));
    fixed[name] = array.shape;
    r.given.insert_or_assign(name, std::move(array));
  }
  r.cases = TRY(shape_cases(r.session.inputs(), args.shapes, args.dims, fixed));
  return r;
}

}  // namespace pliant::cli
