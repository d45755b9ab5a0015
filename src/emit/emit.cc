#include "emit/emit.h"

#include <algorithm>

#include "artifact/verify/verify.h"
#include "emit/encoder.h"

namespace pliant::emit {

namespace {

// The limits of the loader's verifier that a model can reach.
Status check_limits(const artifact::Program& p, const std::string& source) {
  uint32_t epochs = 0;
  for (const artifact::Instr& in : p.code)
    if (in.op == artifact::Opcode::Plan) epochs = std::max(epochs, in.a + 1);
  if (p.code.size() <= artifact::kMaxCode && epochs <= artifact::kMaxEpochs) return ok();
  return make_error("too-large", source,
                    "the model takes " + std::to_string(p.code.size()) + " instructions and " + std::to_string(epochs) +
                        " places where data decide sizes; at most " + std::to_string(artifact::kMaxCode) + " and " +
                        std::to_string(artifact::kMaxEpochs) + " are supported: split it, or write repeated parts as loops");
}

artifact::FunctionDesc describe(const host::Function& f) {
  artifact::FunctionDesc d;
  d.name = f.name;
  d.slot_count = f.slot_count;
  d.grow_count = f.grow_count;
  d.param_count = f.param_count;
  d.result_count = f.result_count;
  d.list_count = f.list_count;
  return d;
}

}  // namespace

Result<Emitted> emit(const host::Module& module, const std::string& source) {
  for (const host::Device& d : module.devices)
    PLIANT_CHECK(&d == &module.devices[host::kHostDevice]) << "bytecode has no instructions for device " << d.backend;
  Emitted out;
  artifact::Program& p = out.program;
  for (const host::Kernel& k : module.kernels) p.kernels.push_back({k.name, 0, k.traps});
  p.inputs = module.inputs;
  p.outputs = module.outputs;
  p.binds = module.binds;
  p.slot_names = module.key_names;
  const host::Function& entry = module.functions[0];
  p.key_slots = entry.given_slots;
  p.slot_count = entry.slot_count;
  p.grow_count = entry.grow_count;
  p.list_count = entry.list_count;
  for (size_t i = 0; i < module.functions.size(); ++i) {
    const host::Function& f = module.functions[i];
    artifact::FunctionDesc d = describe(f);
    d.first = static_cast<uint32_t>(p.code.size());
    d.first_buffer = static_cast<uint32_t>(p.buffers.size());
    Encoder(module, f, out).run();
    d.last = static_cast<uint32_t>(p.code.size()) - 1;
    d.buffer_count = static_cast<uint32_t>(p.buffers.size()) - d.first_buffer;
    if (i > 0) p.functions.push_back(std::move(d));
  }
  TRY(check_limits(p, source));
  return out;
}

}  // namespace pliant::emit
