// Regions and calls of the reference evaluator.
#include <algorithm>
#include <iterator>

#include "ops/evaluate/evaluator.h"

namespace pliant::ops {

namespace {

Error in_iteration(Error e, int64_t iteration, const Node& n) {
  for (Diagnostic& d : e.diagnostics) d.message += ", in iteration " + std::to_string(iteration) + " of " + describe(n.loc);
  return e;
}

Status stack(std::vector<Array>& scans, std::vector<Datum>& results, const graph::LoopParts& loop, const Node& n,
             int64_t iteration) {
  for (size_t j = 0; j < scans.size(); ++j) {
    Array& element = results[1 + loop.carried + j].array;
    std::vector<int64_t> shape{iteration + 1};
    shape.insert(shape.end(), element.shape.begin(), element.shape.end());
    if (iteration > 0 && !std::equal(shape.begin() + 1, shape.end(), scans[j].shape.begin() + 1))
      return make_error("run-time-check", describe(n.loc),
                        "scan value " + std::to_string(j) + " has another shape than in the iteration before");
    scans[j].dtype = element.dtype;
    scans[j].shape = std::move(shape);
    scans[j].data.insert(scans[j].data.end(), element.data.begin(), element.data.end());
  }
  return ok();
}

}  // namespace

Status Evaluator::run_if(const Node& n) {
  graph::IfParts parts = graph::if_parts(n);
  bool holds = parts.condition == kNoValue ? number(*parts.cond) != 0 : element_of(value(parts.condition), 0) != 0;
  const graph::Region& branch = holds ? *parts.then : *parts.otherwise;
  size_t mark = bound_.size();
  TRY(run_nodes(branch.nodes));
  std::vector<Datum> outs = data_of(branch.results);
  unbind(mark);
  return set_data(n, std::move(outs));
}

Result<std::vector<Datum>> Evaluator::run_iteration(const graph::LoopParts& loop, int64_t iteration,
                                                    std::vector<Datum> carried) {
  size_t mark = bound_.size();
  bind(*loop.index.as_symbol(), iteration);
  for (size_t i = 0; i < carried.size(); ++i) TRY(set_datum(loop.body->params[i], std::move(carried[i])));
  TRY(run_nodes(loop.body->nodes));
  std::vector<Datum> results = data_of(loop.body->results);
  unbind(mark);
  return results;
}

void Evaluator::make_empty_scans(std::vector<Array>& scans, const graph::LoopParts& loop, const Node& n) const {
  for (size_t j = 0; j < scans.size(); ++j) {
    const TensorType& t = f_.tensor_type(n.outputs[loop.carried + j]);
    scans[j] = Array{t.dtype, {0}, {}};
    for (size_t k = 1; k < t.shape.size(); ++k) scans[j].shape.push_back(known(t.shape[k]).value_or(0));
  }
}

Status Evaluator::run_loop(const Node& n) {
  graph::LoopParts loop = graph::loop_parts(n);
  std::vector<Datum> carried;
  for (size_t i = 0; i < loop.carried; ++i) carried.push_back(datum_of(loop.init(n, i)));
  bool goes_on = loop.condition == kNoValue || element_of(value(loop.condition), 0) != 0;
  int64_t trip = loop.trip ? number(*loop.trip) : INT64_MAX, count = 0;
  std::vector<Array> scans(loop.scans);
  for (; goes_on && count < trip; ++count) {
    Result<std::vector<Datum>> results = run_iteration(loop, count, std::move(carried));
    Status stacked = results.ok() ? stack(scans, results.value(), loop, n, count) : Status(results.error());
    if (!stacked.ok()) return in_iteration(stacked.error(), count, n);
    goes_on = element_of(view(results.value()[0].array), 0) != 0;
    auto first = results.value().begin() + 1;
    carried.assign(std::move_iterator(first), std::move_iterator(first + static_cast<int64_t>(loop.carried)));
  }
  std::optional<expr::SymbolId> s = loop.count.as_symbol();
  if (s && symbols_.count(*s) == 0) bind(*s, count);
  if (count == 0) make_empty_scans(scans, loop, n);
  for (Array& a : scans) carried.push_back({std::move(a), nullptr});
  return set_data(n, std::move(carried));
}

Status Evaluator::run_kernel_region(const Node& n) {
  const graph::Region& r = *n.regions[0];
  const size_t mark = bound_.size();
  for (size_t i = 0; i < r.params.size(); ++i) views_[r.params[i]] = value(n.inputs[i]);
  TRY(run_nodes(r.nodes));
  std::vector<Datum> outs = data_of(r.results);
  std::vector<std::pair<expr::SymbolId, int64_t>> symbols;
  for (Dim d : n.attrs.dims_or("symbols", {})) symbols.emplace_back(*d.as_symbol(), number(d));
  unbind(mark);
  for (const auto& [s, v] : symbols) bind(s, v);
  return set_data(n, std::move(outs));
}

Status Evaluator::run_call(const Node& n) {
  PLIANT_CHECK(module_ != nullptr) << "evaluating a call needs the module";
  const Function* callee = module_->find(n.attrs.string_or("callee", ""));
  PLIANT_CHECK(callee != nullptr) << "the function of a call does not exist";
  return set_data(n, TRY(Evaluator(*callee, ctx_, {}, module_).run_data(data_of(n.inputs))));
}

}  // namespace pliant::ops
