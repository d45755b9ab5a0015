#include "bufferize/bufferizer.h"
#include "bufferize/predict.h"
#include "lower/version.h"

namespace pliant::bufferize {

uint64_t Bufferizer::predicted_ns(const lower::LoweredKernel& k) {
  return bufferize::predicted_ns(k, target_, [&](expr::SymbolId s) -> std::optional<int64_t> {
    const expr::SymbolInfo& info = ctx_.info(s);
    return unit_.predicted_at.emplace(info.name, likely_size(info)).first->second;
  });
}

void Bufferizer::add_derivation(const Node& n, const lower::LoweredNode& low) {
  std::string& text = unit_.out.derivations;
  text += "// " + describe(n.loc) + "\n" + low.derivation;
  for (const auto* kernels : {&low.kernels, &low.after_reads})
    for (const lower::LoweredKernel& k : *kernels)
      text += lower::describe(k) + "// predicted: " + std::to_string(predicted_ns(k)) + " ns\n";
  text += "\n";
}

void Bufferizer::add_debug(const lower::LoweredKernel& k) {
  artifact::DebugTable& table = unit_.out.debug;
  artifact::KernelDebug& d = table.kernels.emplace_back();
  for (const artifact::Provenance& p : k.provenance) {
    const auto [id, is_new] =
        unit_.provenance_ids.try_emplace({p.rewrite, p.maker, p.knobs, p.trace}, table.provenance.size());
    if (is_new) table.provenance.push_back(p);
    d.provenance.push_back(id->second);
  }
  d.when = lower::print(k.when);
  d.predicted_ns = predicted_ns(k);
}

}  // namespace pliant::bufferize
