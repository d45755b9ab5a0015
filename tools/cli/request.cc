#include "request.h"

#include <algorithm>

#include "npy.h"

namespace pliant::cli {

namespace {

// `a.npy,b.npy`; without a file an optional holds nothing and a sequence is empty.
Result<ops::Datum> read_list(const InputSpec& spec, std::string_view files) {
  ops::ListValue value;
  value.is_present = spec.kind == InputSpec::Kind::Sequence || !files.empty();
  while (!files.empty()) {
    size_t comma = files.find(',');
    value.elements.push_back(std::make_shared<te::Array>(TRY(read_npy(std::string(files.substr(0, comma))))));
    files.remove_prefix(comma == std::string_view::npos ? files.size() : comma + 1);
  }
  return ops::Datum{{}, std::make_shared<ops::ListValue>(std::move(value))};
}

}  // namespace

Result<Inputs> Request::inputs(size_t k) const {
  Inputs all = TRY(random_inputs(session.inputs(), cases[k], seed));
  for (const auto& [name, array] : given) all.insert_or_assign(name, array);
  return all;
}

Result<Request> make_request(const RunArgs& args) {
  driver::CompileOptions options = TRY(compile_options(args.compile));
  Request r{TRY(Session::open(args.compile.model, options, args.threads, args.check_memory)), {}, {}, args.seed};
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
    if (spec->is_list()) {
      r.given.insert_or_assign(name, TRY(read_list(*spec, text.substr(at + 1))));
      continue;
    }
    te::Array array = TRY(read_npy(text.substr(at + 1)));
    fixed[name] = array.shape;
    r.given.insert_or_assign(name, ops::Datum{std::move(array), nullptr});
  }
  r.cases = TRY(shape_cases(r.session.inputs(), args.shapes, args.dims, fixed));
  return r;
}

}  // namespace pliant::cli
