#include "lower/rewrites/rewrite.h"

#include <algorithm>

#include "lower/temporaries.h"

namespace pliant::lower {

#include "lower_rewrites_list.h"

const std::vector<Rewrite>& all_rewrites() {
#define PLIANT_ROW(f) f(),
  static const std::vector<Rewrite> all = [] {
    std::vector<Rewrite> list{PLIANT_LIST(PLIANT_ROW)};
    std::stable_sort(list.begin(), list.end(), [](const Rewrite& a, const Rewrite& b) { return a.order < b.order; });
    return list;
  }();
#undef PLIANT_ROW
  return all;
}

Stage Rewritten::add(const te::Tensor& t) {
  list.add(t);
  return {t, t->body, {}, {}, false};
}

std::optional<OnlyUse> only_use(Dim d, const std::vector<SymbolId>& vars) {
  std::optional<OnlyUse> found;
  for (size_t i = 0; i < vars.size(); ++i) {
    if (!expr::uses_symbol(d, vars[i])) continue;
    const auto c = expr::coefficient_of(d, vars[i]);
    if (found || !c || !c->is_const()) return std::nullopt;
    found = OnlyUse{i, c->const_value()};
  }
  return found;
}

Result<LoweredNode> lower_rewritten(const Rewritten& r, const std::string& name) {
  LoweredNode out;
  Temporaries temporaries;
  TRY(lower_stages_before(r.p, r.list, r.root, temporaries, out));
  const size_t first = out.kernels.size();
  for (const Stage& s : r.before) {
    add_temporary(s.tensor, temporaries, out);
    out.kernels.push_back(TRY(lower_single_stage(r.p, r.list, s, temporaries)));
  }
  for (const RewrittenSum& s : r.sums) {
    const auto& [stage, epilogue] = s.recast;
    switch (s.kernel) {
      case RewrittenSum::Kernel::Packed:
      case RewrittenSum::Kernel::Padded: {
        const Operand w = s.kernel == RewrittenSum::Kernel::Packed ? Operand::Packed : Operand::Direct;
        out.kernels.push_back(TRY(lower_product_of_words(r.p, r.list, stage, epilogue, w, s.step, temporaries)));
        break;
      }
      case RewrittenSum::Kernel::Product: TRY(lower_product(r.p, r.list, stage, epilogue, temporaries, out)); break;
      case RewrittenSum::Kernel::Reduction:
        out.kernels.push_back(TRY(lower_reduce(r.p, r.list, stage, epilogue, temporaries)));
        break;
    }
  }
  for (size_t k = first; k < out.kernels.size(); ++k) add_rewrite(out.kernels[k], name);
  if (r.p.options.derivations) {
    std::vector<te::Tensor> tensors;
    for (const RewrittenSum& s : r.sums) tensors.push_back(s.recast.stage.tensor);
    out.derivation = "// rewrite: " + name + "\n" + te::print(tensors, r.p.ctx);
  }
  return out;
}

}  // namespace pliant::lower
