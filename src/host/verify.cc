#include <set>

#include "host/verify_function.h"

namespace pliant::host {
namespace {

Error bad(const std::string& where, const std::string& fault) { return make_error("bad-host-ir", where, fault); }

Status verify_tensor(const Module& m, const artifact::TensorDesc& t, const Function& entry) {
  for (const artifact::Axis& a : t.axes)
    if (a.size.is_slot && (a.size.value < 0 || a.size.value >= entry.slot_count))
      return bad("tensor " + t.name, "an axis lies in a slot that is none");
  if (t.kind != artifact::TensorDesc::Kind::Tensor && t.list >= entry.list_count)
    return bad("tensor " + t.name, "there is no such list register");
  if (t.default_constant >= 0 && static_cast<size_t>(t.default_constant) >= m.constants.size())
    return bad("tensor " + t.name, "there is no such constant");
  return ok();
}

Status verify_interface(const Module& m) {
  const Function& entry = m.functions[0];
  for (const artifact::TensorDesc& t : m.inputs) TRY(verify_tensor(m, t, entry));
  for (const artifact::TensorDesc& t : m.outputs) TRY(verify_tensor(m, t, entry));
  if (m.key_names.size() != entry.given_slots) return bad("function " + entry.name, "what it is given has no names");
  std::vector<bool> bound(entry.given_slots);
  for (const artifact::Bind& b : m.binds) {
    if (b.slot >= bound.size() || b.input >= m.inputs.size())
      return bad("bind " + b.symbol, "there is no such slot or input");
    bound[b.slot] = true;
  }
  for (size_t s = 0; s < bound.size(); ++s)
    if (!bound[s]) return bad("slot s" + std::to_string(s), "nothing binds it");
  return ok();
}

}  // namespace

Status verify(const Module& module, expr::Context& ctx) {
  if (module.functions.empty()) return bad("module", "there is no entry");
  if (module.devices.empty()) return bad("module", "there is no host device");
  std::set<std::string> names;
  for (const Function& f : module.functions)
    if (!names.insert(f.name).second) return bad("function " + f.name, "there are two of this name");
  for (int64_t bytes : module.constants)
    if (bytes < 0) return bad("module", "a constant has less than 0 bytes");
  TRY(verify_interface(module));
  for (const Function& f : module.functions) TRY(FunctionVerifier(module, f, ctx).run());
  return ok();
}

}  // namespace pliant::host
