// The strategies in the order in which they are tried, and the choice.

#include "lower/checks.h"
#include "lower/contraction/contraction.h"
#include "lower/fourier/fourier.h"
#include "lower/reduction/row.h"
#include "lower/rewrites/rewrite.h"
#include "lower/stage_kernels.h"
#include "lower/templates/template.h"
#include "lower/temporaries.h"

namespace pliant::lower {

Result<LoweredKernel> lower_single_stage(const Problem& p, const StageList& list, const Stage& s,
                                         const Temporaries& temporaries) {
  switch (s.tensor->kind) {
    case te::Kind::Map: return lower_map_stages(p, list, {&s}, temporaries);
    case te::Kind::Reduce: return lower_reduce(p, list, s, no_epilogue(p.ctx, s.tensor), temporaries);
    case te::Kind::Scan: {
      Work work = make_work(p, list, {&s}, temporaries, p.name + "_" + s.tensor->name);
      LoweredKernel k = TRY(schedule_kernel(p, kScan, std::move(work)));
      k.work = element_count(p.ctx, s.tensor->shape) * (cost_of(s.body) + 2);
      return k;
    }
    case te::Kind::Scatter:
    case te::Kind::Input: break;
  }
  PLIANT_CHECK(false) << "a stage of kind " << te::name_of(s.tensor->kind) << " is not one kernel";
  return LoweredKernel{};
}

namespace {

Result<LoweredNode> lower_by_stages(const Problem& p, const StageList& list) {
  LoweredNode out;
  Temporaries temporaries;
  TRY(lower_stages_before(p, list, list.stages.size(), temporaries, out));
  return out;
}

Result<LoweredNode> lower_reduction(const Problem& p, const StageList& list, size_t root) {
  LoweredNode out;
  Temporaries temporaries;
  TRY(lower_stages_before(p, list, root, temporaries, out));
  out.kernels.push_back(TRY(lower_reduce(p, list, list.stages[root], *make_epilogue(p.ctx, list, root), temporaries)));
  return out;
}

// The strategy that lowers what `find` found.
template <class Find, class Lower>
Strategy strategy(std::string name, Find find, Lower lower) {
  return {std::move(name), [=](const Problem& p, const StageList& list) -> std::optional<Lowering> {
            auto found = find(p, list);
            if (!found) return std::nullopt;
            return [&p, &list, lower, found = std::move(found)] { return lower(p, list, *found); };
          }};
}
Strategy strategy(const Rewrite& r) {
  const std::string name = r.name;
  return strategy(name, r.find,
                  [name](const Problem&, const StageList&, const Rewritten& to) { return lower_rewritten(to, name); });
}

// The strategy that takes the stages, and what it makes of them.
Result<LoweredNode> lower_problem(const Problem& p, const ops::Defined& d) {
  StageList list = make_stages(p);
  for (const Strategy& s : all_strategies()) {
    const std::optional<Lowering> lower = s.match(p, list);
    if (!lower) continue;
    LoweredNode out = TRY((*lower)());
    if (p.options.derivations)
      out.derivation = "// strategy: " + s.name + "\n" + print(make_work(p, list, d.checks), p.ctx) + out.derivation;
    return out;
  }
  PLIANT_CHECK(false) << "no strategy for " << p.name;
  return LoweredNode{};
}

// A kernel that stops the run where a data check of the node fails.
Result<LoweredKernel> lower_check(const Problem& p, const ops::DataCheck& check, const LocPtr& loc) {
  LoweredKernel k = TRY(schedule_kernel(p, kSerial, make_check_work(p, check, loc)));
  k.work = product(p.ctx, check.ok->shape) * 4;
  return k;
}

// The same for check k where it is a map without values: a kernel of many tasks.
Result<LoweredKernel> lower_map_check(const Problem& p, const ops::Defined& d, size_t k) {
  Problem sub{p.ctx, p.te,        p.target, p.options, p.function, p.node, p.inputs,
              {},    p.constants, d.checks, p.name,    p.loc,      p.memo};
  StageList list = make_stages(sub, Inline::All);
  for (const Stage& s : list.stages)
    if (check_of(sub, s) == k) return lower_map_stages(sub, list, {&s}, {});
  PLIANT_CHECK(false) << "a data check of " << p.name << " is no stage";
  return LoweredKernel{};
}

// The node as tensor expressions, given to `lower`.
Result<LoweredNode> with_problem(const LoweringContext& in, const graph::Node& node,
                                 const std::function<Result<LoweredNode>(Problem& p, const ops::Defined& d)>& lower) {
  te::Builder builder(in.ctx);
  const ops::Defined d = TRY(ops::define(in.function, node, builder));
  Problem p{in.ctx,    builder, in.target, in.options,        in.function, node,   d.inputs,
            d.outputs, {},      {},        symbol_name(node), node.loc,    in.memo};
  for (graph::ValueId v : node.inputs) p.constants.push_back(v == graph::kNoValue ? nullptr : in.constants[v]);
  return lower(p, d);
}

}  // namespace

const std::vector<Strategy>& all_strategies() {
  static const std::vector<Strategy> table = [] {
    std::vector<Strategy> out;
    for (Strategy& s : std::vector<Strategy>{
             strategy("fourier", find_fourier, lower_fourier),
             strategy("contraction", find_contraction, lower_contraction),
             strategy("rows", find_rows, lower_rows),
             strategy(
                 "reduction", [](const Problem& p, const StageList& list) { return last_reduction(p.ctx, list); },
                 lower_reduction),
             {"stages",
              [](const Problem& p, const StageList& list) { return [&p, &list] { return lower_by_stages(p, list); }; }},
         }) {
      for (const Rewrite& r : all_rewrites())
        if (s.name == r.before) out.push_back(strategy(r));
      out.push_back(std::move(s));
    }
    return out;
  }();
  return table;
}

Result<LoweredNode> lower_node(const LoweringContext& in, const graph::Node& node) {
  return with_problem(in, node, [&](Problem& p, const ops::Defined& d) -> Result<LoweredNode> {
    std::vector<LoweredKernel> checks;
    if (checks_are_stages(d)) {
      p.checks = d.checks;
    } else {
      for (size_t k = 0; k < d.checks.size(); ++k) {
        auto location = [&] { return location_of_check(in.function, node, k, in.ctx); };
        checks.push_back(TRY(is_map(d.checks[k]) ? lower_map_check(p, d, k) : lower_check(p, d.checks[k], location())));
      }
    }
    LoweredNode out = TRY(lower_problem(p, d));
    out.kernels.insert(out.kernels.begin(), std::make_move_iterator(checks.begin()), std::make_move_iterator(checks.end()));
    for (const LoweredKernel& k : out.kernels) PLIANT_CHECK(!k.provenance.empty()) << "nobody made " << k.function.name;
    return out;
  });
}

Result<LoweredNode> naive_node(const LoweringContext& in, const graph::Node& node) {
  return with_problem(in, node, [&](Problem& p, const ops::Defined& d) -> Result<LoweredNode> {
    Work work = make_work(p, make_stages(p), d.checks);
    LoweredNode out;
    out.derivation = print(work, in.ctx);
    LoweredKernel k = built_by("naive");
    k.function = std::move(work.function);
    k.args = std::move(work.args);
    k.tasks = k.work = in.ctx.constant(1);
    out.kernels.push_back(std::move(k));
    return out;
  });
}

}  // namespace pliant::lower
