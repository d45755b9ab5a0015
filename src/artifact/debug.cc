#include "artifact/debug.h"

#include <algorithm>

#include "artifact/utf8.h"

namespace pliant::artifact {

bool verify(const DebugTable& debug, const Program& program, std::string& error) {
  bool texts = is_text(debug.sizes), indices = debug.kernels.size() == program.kernels.size();
  for (const Provenance& m : debug.provenance)
    texts = texts && is_text(m.rewrite) && is_text(m.maker) && is_text(m.knobs) && is_text(m.trace);
  for (const KernelDebug& k : debug.kernels) {
    texts = texts && is_text(k.when);
    indices = indices && !k.provenance.empty();
    for (uint32_t m : k.provenance) indices = indices && m < debug.provenance.size();
  }
  if (!texts)
    error = "the debug table is malformed: a text is not UTF-8";
  else if (!indices)
    error = "the debug table is malformed: it is not one of these kernels";
  return texts && indices;
}

std::string print(const DebugTable& debug, const Program& program) {
  std::string out = "predictions are for one core" + (debug.sizes.empty() ? "" : " at " + debug.sizes) + "\n";
  for (const CallDesc& call : program.calls) {
    const KernelDebug& k = debug.kernels[call.kernel];
    out += program.kernels[call.kernel].name + "\n  nodes: " + call.where + "\n";
    if (!k.when.empty()) out += "  when: " + k.when + "\n";
    out += "  predicted: " + std::to_string(k.predicted_ns) + " ns\n";
    for (uint32_t index : k.provenance) {
      const Provenance& m = debug.provenance[index];
      out += "  made by: " + m.maker + "\n";
      if (!m.rewrite.empty()) out += "    rewrite: " + m.rewrite + "\n";
      if (!m.knobs.empty()) out += "    knobs: " + m.knobs + "\n";
      for (size_t at = 0; at < m.trace.size();) {
        const size_t end = std::min(m.trace.find('\n', at), m.trace.size());
        out += "    " + m.trace.substr(at, end - at) + "\n";
        at = end + 1;
      }
    }
  }
  return out;
}

}  // namespace pliant::artifact
