// Functions of the module: each becomes a range of code with slots, buffers and growable blocks of its own. The caller gives
// memory for results whose sizes the params' symbols tell, and a growable block for others, whose sizes come back in slots.
// Lists come in the callee's first registers, one a param, and leave in those behind them.
#include <algorithm>

#include "bufferize/bufferizer.h"

namespace pliant::bufferize {

namespace {

// The symbols that a call binds, in the order of the callee's slots, each with the place that gives it.
struct ParamSymbol {
  expr::SymbolId symbol;
  size_t param, axis;
};
std::vector<ParamSymbol> param_symbols(const graph::Function& f) {
  std::vector<ParamSymbol> out;
  for (size_t p = 0; p < f.params.size(); ++p) {
    const TensorType* type = f.value(f.params[p]).type.tensor();
    if (type == nullptr) continue;
    const graph::Shape& shape = type->shape;
    for (size_t a = 0; a < shape.size(); ++a) {
      auto s = shape[a].as_symbol();
      if (s && std::none_of(out.begin(), out.end(), [&](const ParamSymbol& o) { return o.symbol == *s; }))
        out.push_back({*s, p, a});
    }
  }
  return out;
}

bool is_bound(const std::vector<ParamSymbol>& symbols, Dim d) {
  for (expr::SymbolId s : expr::symbols_of(d))
    if (std::none_of(symbols.begin(), symbols.end(), [&](const ParamSymbol& o) { return o.symbol == s; })) return false;
  return true;
}
// Whether the caller can give memory for a result of this type.
bool is_sized(const std::vector<ParamSymbol>& symbols, const TensorType& t) {
  return std::all_of(t.shape.begin(), t.shape.end(), [&](Dim d) { return is_bound(symbols, d); });
}

// The numbers of the lists, or of the tensors, among these.
std::vector<size_t> places(const graph::Function& f, const std::vector<ValueId>& values, bool lists) {
  std::vector<size_t> out;
  for (size_t k = 0; k < values.size(); ++k)
    if (graph::is_list(f.value(values[k]).type) == lists) out.push_back(k);
  return out;
}

const graph::Function* find_function(const graph::Module& module, const std::string& name) {
  for (const graph::FunctionPtr& f : module.functions)
    if (f->name == name) return f.get();
  return nullptr;
}

}  // namespace

uint32_t Bufferizer::function_index(const Node& n) {
  const std::string name = n.attrs.string_or("callee", "");
  const graph::Function* f = find_function(unit_.module, name);
  PLIANT_CHECK(f) << "there is no function " << name << " at " << describe(n.loc);
  auto it = std::find(unit_.called.begin(), unit_.called.end(), f);
  if (it == unit_.called.end()) {
    unit_.called.push_back(f);
    module().functions.emplace_back();
    return static_cast<uint32_t>(unit_.called.size());
  }
  return static_cast<uint32_t>(it - unit_.called.begin()) + 1;
}

Status Bufferizer::bufferize_call(const Node& n) {
  host::Call v;
  v.function = function_index(n);
  v.where = describe(n.loc);
  const graph::Function& callee = *unit_.called[v.function - 1];
  const std::vector<ParamSymbol> symbols = param_symbols(callee);
  expr::DimMap bound;
  for (const ParamSymbol& s : symbols) {
    const Dim given = f_.tensor_type(n.inputs[s.param]).shape[s.axis];
    bound[s.symbol] = given;
    v.ints.push_back(slots_.of(given));
  }
  // What else the callee's types say about the arguments must hold.
  std::vector<graph::ShapeConstraint> checks;
  for (size_t p : places(callee, callee.params, false)) {
    const graph::Shape &to = callee.tensor_type(callee.params[p]).shape, &from = f_.tensor_type(n.inputs[p]).shape;
    for (size_t a = 0; a < to.size(); ++a) {
      const Dim wanted = expr::substitute(to[a], bound);
      if (wanted == from[a]) continue;
      checks.push_back({graph::ShapeConstraint::Kind::Equal, from[a], wanted,
                        "argument " + std::to_string(p) + " of function " + callee.name + " has size {a} on axis " +
                            std::to_string(a) + " where {b} is expected",
                        n.loc});
    }
  }
  if (!checks.empty()) {
    const uint32_t epoch = new_epoch();
    add(host::Shape{epoch});
    for (const graph::ShapeConstraint& o : checks) add_check(epoch, o);
  }
  const uint32_t next = new_epoch();
  const std::vector<size_t> results = places(callee, callee.results, false);
  for (size_t k = 0; k < results.size(); ++k) {
    const size_t r = results[k];
    const TensorType& type = f_.tensor_type(n.outputs[r]);
    if (is_sized(symbols, callee.tensor_type(callee.results[r]))) {
      define_value(n.outputs[r], true);
      continue;
    }
    storage_[n.outputs[r]] = new_grow();
    for (size_t a = 0; a < type.shape.size(); ++a) {
      auto s = type.shape[a].as_symbol();
      if (!s || slots_.knows(*s)) continue;
      v.sizes.push_back({static_cast<uint32_t>(k), static_cast<uint32_t>(a), slots_.add_symbol(*s, next)});
    }
  }
  for (size_t p : places(callee, callee.params, false)) v.args.push_back(arg_of_value(n.inputs[p]));
  for (size_t r : results) v.results.push_back(arg_of(storage_[n.outputs[r]]));
  uint32_t list = 0;
  for (size_t p : places(callee, callee.params, true)) v.list_args.push_back({list_of(n.inputs[p]), list++});
  for (size_t r : places(callee, callee.results, true)) v.list_results.push_back({list++, list_of(n.outputs[r])});
  const bool learns = !v.sizes.empty();
  add(std::move(v));
  if (learns) start_epoch(next);
  return ok();
}

void Bufferizer::bind_params() {
  for (const ParamSymbol& s : param_symbols(f_)) slots_.add_symbol(s.symbol, 0);
  uint32_t tensor = 0;
  for (size_t p : places(f_, f_.params, false))
    storage_[f_.params[p]] = {Arg::Kind::Param, tensor++, ctx_.constant(0), true};
  for (size_t p : places(f_, f_.params, true)) list_of(f_.params[p]);
}

Status Bufferizer::run_function(uint32_t index) {
  bind_params();
  out_.given_slots = slots_.count();
  const uint32_t first_list_result = list_count_;
  list_count_ += static_cast<uint32_t>(places(f_, f_.results, true).size());
  begin_epoch();
  const std::vector<ParamSymbol> symbols = param_symbols(f_);
  plan_results(Arg::Kind::Result);
  for (auto it = direct_.begin(); it != direct_.end();)
    it = is_sized(symbols, f_.tensor_type(f_.results[it->second.index])) ? std::next(it) : direct_.erase(it);
  const std::vector<size_t> results = places(f_, f_.results, false);
  // Results are numbered without the lists among them.
  for (auto& [v, to] : direct_)
    to.index = static_cast<uint32_t>(std::find(results.begin(), results.end(), to.index) - results.begin());
  TRY(bufferize_nodes(f_.nodes));
  for (uint32_t k = 0; k < results.size(); ++k) {
    const size_t r = results[k];
    const TensorType& type = f_.tensor_type(f_.results[r]);
    const Storage to{Arg::Kind::Result, k, ctx_.constant(0), true};
    std::vector<artifact::Int> sizes;
    const bool sized = is_sized(symbols, type);
    for (Dim d : type.shape) sizes.push_back(sized ? artifact::imm(0) : artifact::slot(slots_.holding(d)));
    out_.result_sizes.push_back(std::move(sizes));
    if (!sized) reserve(to, bytes_of(type), nullptr);
    copy(storage_of(f_.results[r]), to, bytes_of(type));
  }
  uint32_t list = first_list_result;
  for (size_t r : places(f_, f_.results, true)) {
    host::Library call;
    call.call.symbol = "sequence_copy";
    call.call.list_inputs = {list_of(f_.results[r])};
    call.call.list_outputs = {list++};
    add(std::move(call));
  }
  out_.param_count = static_cast<uint32_t>(places(f_, f_.params, false).size());
  out_.result_count = static_cast<uint32_t>(results.size());
  finish_function(module().functions[index]);
  return ok();
}

}  // namespace pliant::bufferize
