#include "loop/pass/pass.h"

namespace pliant::loop {

std::span<const Pass> passes() {
  static constexpr Pass kPasses[] = {
      {"collapse", collapse}, {"vectorize", vectorize}, {"privatize", privatize}, {"mask", mask}};
  return kPasses;
}

std::string place_of(const Function& f) { return f.loc ? describe(f.loc) : "kernel \"" + f.name + "\""; }

Function run_passes(const Function& f, expr::Context& ctx, const PassOptions& options, const PassObserver& observer) {
  Function out = f;
  for (const Pass& p : passes()) {
    const StmtPtr before = out.body;
    out = p.run(out, ctx, options);
    if (observer && out.body != before) observer(p.name, out);
  }
  return out;
}

}  // namespace pliant::loop
