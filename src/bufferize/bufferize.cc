#include "bufferize/bufferize.h"

#include "bufferize/bufferizer.h"

namespace pliant::bufferize {

Result<Bufferized> bufferize(const graph::Module& module, const target::Target& target, const Options& options,
                             lower::LoweredKernels lowered) {
  ModuleState unit{module, *module.ctx, target, options, std::move(lowered), {}, {}, {}, {}};
  unit.out.module.functions.emplace_back();
  TRY(Bufferizer(module.main(), unit).run_entry());
  for (uint32_t i = 0; i < unit.called.size(); ++i) TRY(Bufferizer(*unit.called[i], unit).run_function(i + 1));
  for (const auto& [name, size] : unit.predicted_at)
    unit.out.debug.sizes += (unit.out.debug.sizes.empty() ? "" : ", ") + name + " = " + std::to_string(size);
  return std::move(unit.out);
}

}  // namespace pliant::bufferize
