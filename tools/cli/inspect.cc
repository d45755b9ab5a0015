#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>

#include "artifact/disassemble.h"
#include "artifact/file.h"
#include "commands.h"
#include "driver/compile.h"
#include "session.h"

namespace pliant::cli {
namespace {

std::string axes_text(const artifact::TensorDesc& t) {
  std::string text;
  for (const artifact::Axis& a : t.axes) text += (text.empty() ? "" : ", ") + a.text;
  using Kind = artifact::TensorDesc::Kind;
  text = std::string(name_of(t.dtype)) + "[" + (t.any_rank ? "*" : text) + "]";
  if (t.kind == Kind::Sequence || t.kind == Kind::OptionalSequence) text = "seq<" + text + ">";
  return t.kind == Kind::Optional || t.kind == Kind::OptionalSequence ? "opt<" + text + ">" : text;
}

void print_program(const artifact::Program& p, bool code) {
  std::printf("variant %s (needs", p.image.target.c_str());
  for (const std::string& f : p.image.features) std::printf(" %s", f.c_str());
  std::printf(")\n  model %s, by %s, precision %s\n", p.model.c_str(), p.producer.c_str(), p.precision.c_str());
  for (const artifact::TensorDesc& t : p.inputs) {
    std::printf("  input  %s: %s%s\n", t.name.c_str(), axes_text(t).c_str(),
                t.default_constant >= 0 ? " (has a default)" : "");
  }
  for (const artifact::TensorDesc& t : p.outputs) std::printf("  output %s: %s\n", t.name.c_str(), axes_text(t).c_str());
  for (const artifact::Bind& b : p.binds) {
    std::printf("  symbol %s from %s %u of %s, %lld to ", b.symbol.c_str(), b.is_element ? "element" : "axis", b.axis,
                p.inputs[b.input].name.c_str(), static_cast<long long>(b.lo));
    std::printf(b.hi == INT64_MAX ? "any" : "%lld", static_cast<long long>(b.hi));
    std::printf(b.multiple_of == 1 ? "\n" : ", a multiple of %lld\n", static_cast<long long>(b.multiple_of));
  }
  std::printf(
      "  %zu instructions, %zu kernels in %zu calls, %zu runtime calls, %zu buffers, %zu shape programs, %zu constants\n",
      p.code.size(), p.kernels.size(), p.calls.size(), p.library_calls.size(), p.buffers.size(), p.shape_programs.size(),
      p.constants.size());
  std::printf("  native code %.1f KB, its data %.1f KB\n", static_cast<double>(p.image.text.size()) / 1e3,
              static_cast<double>(p.image.rodata.size() + p.image.data.size()) / 1e3);
  if (code) std::printf("%s", artifact::disassemble(p).c_str());
}

Status inspect_artifact(const InspectArgs& args) {
  std::ifstream in(args.model, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  artifact::FileView view;
  std::string error;
  if (!artifact::open_file(std::as_bytes(std::span(bytes)), {}, view, error))
    return make_error("artifact", args.model, error);
  std::printf("%s: %.1f MB, constants %.1f MB, digest ", args.model.c_str(), static_cast<double>(bytes.size()) / 1e6,
              static_cast<double>(view.constants.size()) / 1e6);
  for (std::byte b : view.digest) std::printf("%02x", static_cast<unsigned>(b));
  std::printf("\n");
  for (size_t v = 0; v < view.variants.size(); ++v) {
    artifact::Program program;
    if (!artifact::read_program(view, v, program, error)) return make_error("artifact", args.model, error);
    print_program(program, args.code);
    if (!args.kernels) continue;
    artifact::DebugTable debug;
    if (!artifact::read_debug(view, v, program, debug, error)) return make_error("artifact", args.model, error);
    std::printf("%s", artifact::print(debug, program).c_str());
  }
  return ok();
}

Status inspect_model(const InspectArgs& args) {
  graph::Module module = TRY(driver::import_model(args.model, {}));
  const graph::Function& f = module.main();
  if (args.graph) {
    std::printf("%s", graph::print(module).c_str());
    return ok();
  }
  for (size_t i = 0; i < f.params.size(); ++i) {
    const graph::Value& v = f.value(f.params[i]);
    std::printf("input  %s: %s%s\n", v.name.c_str(), graph::print(v.type).c_str(),
                i < f.default_values.size() && f.default_values[i] ? " (has a default)" : "");
  }
  for (size_t i = 0; i < f.results.size(); ++i) {
    std::printf("output %s: %s\n", f.result_names[i].c_str(), graph::print(f.value(f.results[i]).type).c_str());
  }
  std::map<std::string, int> ops;
  size_t weights = 0;
  graph::for_each_node(f, [&](const graph::Node& n) {
    graph::ConstantPtr c = n.attrs.constant("value");
    if (c) weights += c->bytes;
    if (n.op != "core.const") ++ops[n.op];
  });
  std::printf("weights %.1f MB\n", static_cast<double>(weights) / 1e6);
  for (const auto& [name, count] : ops) std::printf("%6d  %s\n", count, name.c_str());
  return ok();
}

}  // namespace

Status inspect(const InspectArgs& args) { return is_artifact(args.model) ? inspect_artifact(args) : inspect_model(args); }

}  // namespace pliant::cli
