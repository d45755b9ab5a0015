// An artifact against the definition of its model: every operator evaluated from its tensor expressions, with no pass, no
// lowering and no generated code in between. The evaluator is an interpreter, so large models take minutes.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "commands.h"
#include "driver/compile.h"
#include "ops/op.h"
#include "session.h"
#include "values.h"

namespace pliant::cli {
namespace {

// Small sizes that exercise tails: one, primes, and a power of two, clamped to each symbol's range.
constexpr int64_t kSampleSizes[] = {1, 3, 7, 16, 2, 5, 33, 13};

std::vector<std::string> sampled_dims(const Session& session, int samples) {
  std::vector<std::string> args, of_shapes = symbols_of(session.inputs());
  size_t symbols = pliant_symbol_count(session.model());
  for (int k = 0; k < samples && symbols > 0; ++k) {
    std::string arg;
    for (size_t s = 0; s < symbols; ++s) {
      pliant_symbol_info info{};
      info.struct_size = sizeof(info);
      PLIANT_CHECK(pliant_describe_symbol(session.model(), s, &info) == PLIANT_OK) << pliant_last_error();
      // Those that the values of an input give come with the random inputs.
      if (std::find(of_shapes.begin(), of_shapes.end(), info.name) == of_shapes.end()) continue;
      int64_t size = kSampleSizes[(static_cast<size_t>(k) + 3 * s) % std::size(kSampleSizes)];
      size = std::clamp(size * info.multiple_of, std::max<int64_t>(info.min, 0), info.max);
      arg += (arg.empty() ? "" : ",") + std::string(info.name) + "=" + std::to_string(size);
    }
    if (!arg.empty()) args.push_back(arg);
  }
  return args;
}

// The largest difference, relative to the largest reference value where that is above 1; infinite where one is NaN and the
// other is not.
double difference(const te::ArrayView& got, const te::ArrayView& want) {
  if (got.dtype != want.dtype || got.shape != want.shape) return INFINITY;
  double largest = 1, worst = 0;
  for (int64_t i = 0; i < element_count(want); ++i) {
    double a = element(got, i), b = element(want, i);
    if (std::isfinite(b)) largest = std::max(largest, std::fabs(b));
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    worst = std::max(worst, std::isfinite(a) && std::isfinite(b) ? std::fabs(a - b) : INFINITY);
  }
  return worst / largest;
}

// Of output i, all its elements taken together where it is a list.
double difference(const Session& session, const Outputs& got, size_t i, const ops::Datum& want) {
  auto view = [](const te::Array& a) { return te::ArrayView{a.dtype, a.shape, a.data.data()}; };
  if (!session.outputs()[i].is_list()) return difference(got.view(i), view(want.array));
  auto elements = got.elements(i);
  const ops::ListValue& list = *want.list;
  if (elements.has_value() != list.is_present || (elements && elements->size() != list.elements.size())) return INFINITY;
  double worst = 0;
  for (size_t e = 0; e < list.elements.size(); ++e)
    worst = std::max(worst, difference((*elements)[e], view(*list.elements[e])));
  return worst;
}

Result<std::vector<ops::Datum>> reference(const graph::Module& module, const Inputs& inputs) {
  const graph::Function& f = module.main();
  std::vector<ops::Datum> data;
  for (size_t i = 0; i < f.params.size(); ++i) {
    auto given = inputs.find(f.value(f.params[i]).name);
    if (given != inputs.end()) {
      data.push_back(given->second);
    } else {
      const graph::ConstantPtr& c = f.default_values[i];
      PLIANT_CHECK(c != nullptr) << "an input without a value or a default";
      data.push_back({{c->dtype, c->shape, {c->data, c->data + c->bytes}}, nullptr});
    }
  }
  if (module.functions.size() == 1) return ops::evaluate_data(f, *module.ctx, std::move(data));
  std::vector<te::ArrayView> views;
  for (const ops::Datum& d : data) views.push_back({d.array.dtype, d.array.shape, d.array.data.data()});
  std::vector<ops::Datum> out;
  for (te::Array& a : TRY(ops::evaluate(f, *module.ctx, views, &module))) out.push_back({std::move(a), nullptr});
  return out;
}

// `f32 of rank 2`, `seq<f32 of rank 2>`
std::string interface_text(const InputSpec& s) {
  const bool is_sequence = s.kind == InputSpec::Kind::Sequence || s.kind == InputSpec::Kind::OptionalSequence;
  const std::string tensor = std::string(name_of(s.dtype)) + (s.any_rank ? "" : " of rank " + std::to_string(s.axes.size()));
  const std::string text = is_sequence ? "seq<" + tensor + ">" : tensor;
  return s.kind == InputSpec::Kind::Sequence || s.kind == InputSpec::Kind::Tensor ? text : "opt<" + text + ">";
}
std::string interface_text(const graph::Type& t) {
  if (const auto* s = std::get_if<graph::SequenceType>(&t.v)) return "seq<" + interface_text(*s->element) + ">";
  if (const auto* o = std::get_if<graph::OptionalType>(&t.v)) return "opt<" + interface_text(*o->element) + ">";
  const auto* tensor = t.tensor();
  if (tensor == nullptr) return "something else";
  return std::string(name_of(tensor->dtype)) +
         (tensor->rank == graph::Rank::Known ? " of rank " + std::to_string(tensor->shape.size()) : "");
}

// That the values of the artifact and of the model are of the same names, kinds, element types and ranks.
Status compare_interfaces(const std::string& artifact, const char* what, const std::vector<InputSpec>& specs,
                          const std::vector<std::pair<std::string, graph::Type>>& values) {
  auto differs = [&](const std::string& of_model, const std::string& of_artifact) {
    return make_error("verify", artifact,
                      "it was compiled from another model: the model has " + of_model + ", the artifact " + of_artifact);
  };
  auto describe = [](const std::string& name, const std::string& type) { return "\"" + name + "\", " + type; };
  if (specs.size() != values.size())
    return differs(std::to_string(values.size()) + " " + what + "s", std::to_string(specs.size()));
  for (size_t i = 0; i < specs.size(); ++i) {
    const auto& [name, type] = values[i];
    const std::string of_model = interface_text(type), of_artifact = interface_text(specs[i]);
    if (name != specs[i].name || of_model != of_artifact)
      return differs(what + (" " + describe(name, of_model)), describe(specs[i].name, of_artifact));
  }
  return ok();
}
Status compare_interfaces(const std::string& artifact, const Session& session, const graph::Function& f) {
  std::vector<std::pair<std::string, graph::Type>> inputs, outputs;
  for (graph::ValueId v : f.params) inputs.emplace_back(f.value(v).name, f.value(v).type);
  for (size_t i = 0; i < f.results.size(); ++i) outputs.emplace_back(f.result_names[i], f.value(f.results[i]).type);
  TRY(compare_interfaces(artifact, "input", session.inputs(), inputs));
  return compare_interfaces(artifact, "output", session.outputs(), outputs);
}

}  // namespace

Status verify(const VerifyArgs& args) {
  Session session = TRY(Session::open(args.artifact, {}, args.threads));
  graph::Module module = TRY(driver::import_model(args.model, {}));
  TRY(compare_interfaces(args.artifact, session, module.main()));
  std::vector<std::string> dims = args.dims;
  if (dims.empty() && args.shapes.empty()) dims = sampled_dims(session, args.samples);
  std::vector<Case> cases = TRY(shape_cases(session.inputs(), args.shapes, dims, {}));
  // The same shapes with other values, as often as sizes would have been sampled.
  bool values_matter =
      pliant_symbol_count(session.model()) > 0 ||
      std::any_of(session.inputs().begin(), session.inputs().end(), [](const InputSpec& i) { return i.is_list(); });
  if (dims.empty() && args.shapes.empty() && values_matter)
    cases.resize(static_cast<size_t>(std::max(args.samples, 1)), cases[0]);
  double worst = 0;
  int compared = 0;
  for (size_t k = 0; k < cases.size(); ++k) {
    std::string label = print_case(cases[k]);
    show_progress("evaluating " + label);
    Inputs inputs = TRY(random_inputs(session.inputs(), cases[k], k));
    Result<std::vector<ops::Datum>> want = reference(module, inputs);
    show_progress("");
    Outputs got(session.outputs().size());
    Status status = session.run(inputs, got, k);
    if (!want.ok() && !status.ok()) {
      std::printf("%-50s refused by both: %s\n", label.c_str(), status.error().diagnostics[0].message.c_str());
      continue;
    }
    TRY(std::move(status));
    if (!want.ok()) return want.error();
    double error = 0;
    for (size_t i = 0; i < got.size(); ++i) error = std::max(error, difference(session, got, i, want.value()[i]));
    std::printf("%-50s max relative error %.2e\n", label.c_str(), error);
    std::fflush(stdout);
    worst = std::max(worst, error);
    ++compared;
  }
  if (compared == 0)
    return make_error("verify", args.artifact, "no sampled shape could be run; give some with --shape or --dim");
  if (!(worst <= args.tolerance)) {
    char text[120];
    std::snprintf(text, sizeof(text), "the largest relative error is %.2e, more than %.0e", worst, args.tolerance);
    return make_error("verify", args.artifact, text);
  }
  return ok();
}

}  // namespace pliant::cli
