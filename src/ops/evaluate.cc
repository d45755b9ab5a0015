// The reference: a whole function on arrays. Every node is computed by te::evaluate of its definition, by evaluating its
// expansion, or by its kernel's reference function; symbols are bound as they become known, and obligations and data checks
// are tested.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <unordered_map>

#include "graph/control.h"
#include "graph/list_type.h"
#include "ops/op.h"

namespace pliant::ops {

using expr::Scalar;
using graph::Function;
using graph::kNoValue;
using graph::Node;
using graph::Obligation;
using te::Array;
using te::ArrayView;

namespace {

ArrayView view(const Array& a) { return {a.dtype, a.shape, a.data.data()}; }

int64_t element_of(const ArrayView& a, size_t element) {
  const std::byte* at = a.data + element * static_cast<size_t>(byte_size(a.dtype));
  auto read = [&]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return static_cast<int64_t>(value);
  };
  switch (a.dtype) {
    case DType::Bool:
    case DType::U8: return read(uint8_t{});
    case DType::I8: return read(int8_t{});
    case DType::I16: return read(int16_t{});
    case DType::U16: return read(uint16_t{});
    case DType::I32: return read(int32_t{});
    case DType::U32: return read(uint32_t{});
    case DType::I64: return read(int64_t{});
    case DType::U64: return read(int64_t{});
    default: break;
  }
  PLIANT_CHECK(false) << "an element of type " << name_of(a.dtype) << " cannot be a size";
  return 0;
}

std::string fill_text(std::string message, const std::string& key, const std::string& value) {
  for (size_t at; (at = message.find(key)) != std::string::npos;) message.replace(at, key.size(), value);
  return message;
}

std::string fill(std::string message, const std::vector<std::pair<std::string, int64_t>>& values) {
  for (const auto& [key, v] : values) message = fill_text(std::move(message), key, std::to_string(v));
  return message;
}

class Evaluator {
 public:
  Evaluator(const Function& f, expr::Context& ctx, std::unordered_map<expr::SymbolId, int64_t> symbols,
            const graph::Module* module)
      : f_(f), ctx_(ctx), module_(module), symbols_(std::move(symbols)) {}

  Result<std::vector<Array>> run(const std::vector<ArrayView>& inputs) {
    PLIANT_CHECK(inputs.size() == f_.params.size()) << "evaluate needs " << f_.params.size() << " inputs";
    for (size_t i = 0; i < inputs.size(); ++i) {
      values_[f_.params[i]] = Array{inputs[i].dtype, inputs[i].shape, {}};
      views_[f_.params[i]] = inputs[i];
      TRY(bind_shape(f_.params[i], inputs[i].shape));
    }
    TRY(run_body());
    std::vector<Array> out;
    for (ValueId v : f_.results) out.push_back(copy_of(v));
    return out;
  }

  Result<std::vector<Datum>> run_data(std::vector<Datum> inputs) {
    PLIANT_CHECK(inputs.size() == f_.params.size()) << "evaluate needs " << f_.params.size() << " inputs";
    for (size_t i = 0; i < inputs.size(); ++i) TRY(set_datum(f_.params[i], std::move(inputs[i])));
    TRY(run_body());
    std::vector<Datum> out;
    for (ValueId v : f_.results) out.push_back(datum_of(v));
    return out;
  }

 private:
  Status run_body() {
    bind_input_elements();
    TRY(check_obligations());
    return run_nodes(f_.nodes);
  }

  // A value of any type, and its symbols bound when it is a tensor. A list given for a tensor stands for its only element:
  // what an optional tensor holds.
  Status set_datum(ValueId v, Datum d) {
    if (graph::is_list(f_.value(v).type)) {
      PLIANT_CHECK(d.list != nullptr) << "a tensor for a value of type " << print(f_.value(v).type);
      lists_[v] = std::move(d.list);
      return ok();
    }
    if (d.list != nullptr) d.array = *d.list->elements.at(0);
    TRY(bind_shape(v, d.array.shape));
    set(v, std::move(d.array));
    return ok();
  }
  Datum datum_of(ValueId v) const {
    if (v == kNoValue) return {};
    auto list = lists_.find(v);
    return list != lists_.end() ? Datum{{}, list->second} : Datum{copy_of(v), nullptr};
  }

  ArrayView value(ValueId v) const { return v == kNoValue ? ArrayView{} : views_.at(v); }

  Array copy_of(ValueId v) const {
    ArrayView a = views_.at(v);
    int64_t n = byte_size(a.dtype);
    for (int64_t d : a.shape) n *= d;
    return {a.dtype, a.shape, n == 0 ? std::vector<std::byte>{} : std::vector<std::byte>(a.data, a.data + n)};
  }

  std::vector<Datum> data_of(const std::vector<ValueId>& values) const {
    std::vector<Datum> out;
    for (ValueId v : values) out.push_back(datum_of(v));
    return out;
  }

  void bind(expr::SymbolId s, int64_t v) {
    symbols_[s] = v;
    bound_.push_back(s);
  }

  // Forgets the symbols that a region has defined.
  void unbind(size_t mark) {
    for (; bound_.size() > mark; bound_.pop_back()) symbols_.erase(bound_.back());
  }

  void set(ValueId v, Array a) {
    values_[v] = std::move(a);
    views_[v] = view(values_[v]);
  }

  std::optional<int64_t> known(Dim d) const {
    std::optional<int64_t> v = expr::evaluate(d, [&](expr::SymbolId s) -> std::optional<int64_t> {
      auto at = symbols_.find(s);
      return at == symbols_.end() ? std::nullopt : std::optional(at->second);
    });
    return v || !has_value_atom(d) || !all_bound(d) ? v : computed(d);
  }

  static bool has_value_atom(Dim d) {
    for (const auto& [monomial, coefficient] : d->terms)
      for (const auto& [atom, power] : monomial->factors) {
        if (atom->kind == expr::AtomKind::Value) return true;
        for (Dim arg : atom->args)
          if (has_value_atom(arg)) return true;
      }
    return false;
  }

  // A size with arithmetic that is no polynomial (too many terms, for one), over known symbols.
  std::optional<int64_t> computed(Dim d) const {
    Scalar s = expr::make_index(d);
    if (!expr::loads_of(s).empty()) return std::nullopt;
    te::Builder builder(ctx_);
    te::Tensor t = builder.map("size", {}, [&](const te::Index&) { return s; });
    Result<std::vector<Array>> v = te::evaluate({t}, {}, bindings());
    return v.ok() ? std::optional(element_of(view(v.value()[0]), 0)) : std::nullopt;
  }

  bool all_bound(Dim d) const {
    for (expr::SymbolId s : expr::symbols_of(d))
      if (symbols_.count(s) == 0) return false;
    return true;
  }

  // Binds plain symbols of the declared type and checks the sizes that are known.
  Status bind_shape(ValueId v, const std::vector<int64_t>& shape) {
    const TensorType& t = f_.tensor_type(v);
    const std::string& name = f_.value(v).name;
    if (t.shape.size() != shape.size())
      return make_error("bad-input", "value \"" + name + "\"",
                        "rank is " + std::to_string(shape.size()) + " but must be " + std::to_string(t.shape.size()));
    for (size_t k = 0; k < shape.size(); ++k) {
      std::optional<expr::SymbolId> s = t.shape[k].as_symbol();
      if (s && symbols_.count(*s) == 0) {
        bind(*s, shape[k]);
        continue;
      }
      std::optional<int64_t> want = known(t.shape[k]);
      if (want && *want != shape[k])
        return make_error("bad-input", "value \"" + name + "\"",
                          "size of axis " + std::to_string(k) + " is " + std::to_string(shape[k]) + " but must be " +
                              std::to_string(*want));
    }
    return ok();
  }

  void bind_input_elements() {
    for (uint32_t s = 0; s < ctx_.symbol_count(); ++s) {
      const expr::SymbolInfo& info = ctx_.info(s);
      if (info.origin.kind != expr::Origin::Kind::InputValue || symbols_.count(s)) continue;
      for (ValueId p : f_.params)
        if (f_.value(p).name == info.origin.name) symbols_[s] = element_of(value(p), static_cast<size_t>(info.origin.axis));
    }
  }

  Status check_obligations() {
    tested_.resize(f_.obligations.size(), false);
    for (size_t i = 0; i < f_.obligations.size(); ++i)
      if (!tested_[i]) tested_[i] = TRY(check(f_.obligations[i]));
    return ok();
  }

  // False where a symbol of it is not known yet.
  Result<bool> check(const Obligation& o) {
    std::optional<int64_t> a = known(o.a), b = known(o.b);
    if (!a || !b) {
      // A broadcast of sizes that do not broadcast has no value.
      if (!all_bound(o.a) || !all_bound(o.b)) return false;
      std::string message = fill_text(fill_text(o.message, "{a}", a ? std::to_string(*a) : o.a.str()), "{b}",
                                      b ? std::to_string(*b) : o.b.str());
      return make_error("run-time-check", describe(o.loc), message);
    }
    bool good =
        *a == *b || (o.kind == Obligation::Kind::LessEqual && *a < *b) || (o.kind == Obligation::Kind::Broadcast && *a == 1);
    if (!good) return make_error("run-time-check", describe(o.loc), fill(o.message, {{"{a}", *a}, {"{b}", *b}}));
    return true;
  }

  Status run_nodes(const std::vector<Node>& nodes) {
    for (const Node& n : nodes) TRY(run_node(n));
    return ok();
  }

  Status run_node(const Node& n) {
    if (n.op == "core.read_dims") return read_dims(n);
    if (n.op == "core.const") {
      graph::ConstantPtr c = n.attrs.constant("value");
      views_[n.outputs[0]] = {c->dtype, c->shape, c->data};
      return ok();
    }
    if (n.op == "core.if") return run_if(n);
    if (n.op == "core.loop") return run_loop(n);
    if (n.op == "core.call") return run_call(n);
    if (n.op == "core.fail") return make_error("run-time-check", describe(n.loc), n.attrs.string_or("message", ""));
    if (n.op == "core.require") {
      PLIANT_CHECK(TRY(check(graph::obligation_of(n)))) << "a requirement of unknown sizes at " << describe(n.loc);
      return ok();
    }
    const OpDef* op = find_op(n.op);
    PLIANT_CHECK(op != nullptr || n.op == "core.fused") << "there is no operator " << n.op;
    if (op != nullptr && op->expand) return run_expansion(*op, n);
    if (op != nullptr && op->kernel.reference) return run_kernel(*op, n);
    if (op != nullptr && op->list.reference) return run_list(*op, n);
    return run_defined(n);
  }

  int64_t number(Dim d) const {
    std::optional<int64_t> n = known(d);
    PLIANT_CHECK(n) << "the size " << d.str() << " is not known";
    return *n;
  }

  Status run_if(const Node& n) {
    graph::IfParts parts = graph::if_parts(n);
    bool holds = parts.condition == kNoValue ? number(*parts.cond) != 0 : element_of(value(parts.condition), 0) != 0;
    const graph::Region& arm = holds ? *parts.then : *parts.otherwise;
    size_t mark = bound_.size();
    TRY(run_nodes(arm.nodes));
    std::vector<Datum> outs = data_of(arm.results);
    unbind(mark);
    return set_data(n, std::move(outs));
  }

  // One iteration: the next condition, the next carried values, the scan values.
  Result<std::vector<Datum>> run_iteration(const graph::LoopParts& loop, int64_t iteration, std::vector<Datum> carried) {
    size_t mark = bound_.size();
    bind(*loop.index.as_symbol(), iteration);
    for (size_t i = 0; i < carried.size(); ++i) TRY(set_datum(loop.body->params[i], std::move(carried[i])));
    TRY(run_nodes(loop.body->nodes));
    std::vector<Datum> results = data_of(loop.body->results);
    unbind(mark);
    return results;
  }

  Status run_loop(const Node& n) {
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

  static Error in_iteration(Error e, int64_t iteration, const Node& n) {
    for (Diagnostic& d : e.diagnostics) d.message += ", in iteration " + std::to_string(iteration) + " of " + describe(n.loc);
    return e;
  }

  static Status stack(std::vector<Array>& scans, std::vector<Datum>& results, const graph::LoopParts& loop, const Node& n,
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

  // Sizes that only an iteration would have told are 0.
  void make_empty_scans(std::vector<Array>& scans, const graph::LoopParts& loop, const Node& n) const {
    for (size_t j = 0; j < scans.size(); ++j) {
      const TensorType& t = f_.tensor_type(n.outputs[loop.carried + j]);
      scans[j] = Array{t.dtype, {0}, {}};
      for (size_t k = 1; k < t.shape.size(); ++k) scans[j].shape.push_back(known(t.shape[k]).value_or(0));
    }
  }

  Status run_call(const Node& n) {
    PLIANT_CHECK(module_ != nullptr) << "evaluating a call needs the module";
    const Function* callee = module_->find(n.attrs.string_or("callee", ""));
    PLIANT_CHECK(callee != nullptr) << "the function of a call does not exist";
    return set_data(n, TRY(Evaluator(*callee, ctx_, {}, module_).run_data(data_of(n.inputs))));
  }

  Status read_dims(const Node& n) {
    ArrayView x = value(n.inputs[0]);
    std::vector<Dim> dims = n.attrs.dims_or("symbols", {});
    for (size_t k = 0; k < dims.size(); ++k) {
      std::optional<expr::SymbolId> s = dims[k].as_symbol();
      PLIANT_CHECK(s) << "core.read_dims defines plain symbols";
      bind(*s, element_of(x, k));
    }
    return check_obligations();
  }

  te::Bindings bindings() const {
    te::Bindings b(symbols_.begin(), symbols_.end());
    return b;
  }

  std::vector<std::pair<expr::TensorId, ArrayView>> arguments(const Node& n, const Defined& d) const {
    std::vector<std::pair<expr::TensorId, ArrayView>> args;
    for (size_t i = 0; i < n.inputs.size(); ++i)
      if (d.inputs[i] != nullptr) args.emplace_back(d.inputs[i]->id, value(n.inputs[i]));
    return args;
  }

  Status run_defined(const Node& n) {
    te::Builder builder(ctx_);
    Defined d = TRY(define(f_, n, builder));
    auto args = arguments(n, d);
    for (const DataCheck& c : d.checks) TRY(test(c, builder, args, n.loc));
    std::vector<Array> outs = TRY(te::evaluate(d.outputs, args, bindings()));
    return set_outputs(n, std::move(outs));
  }

  Status test(const DataCheck& c, te::Builder& builder, const std::vector<std::pair<expr::TensorId, ArrayView>>& args,
              const LocPtr& loc) {
    std::vector<te::Tensor> tensors{c.ok};
    for (Dim v : c.values)
      tensors.push_back(builder.map("fault_value", c.ok->shape, [&](const te::Index& i) {
        expr::DimMap map;
        for (size_t k = 0; k < i.size(); ++k) map[c.ok->index[k]] = i[k];
        return expr::make_index(expr::substitute(v, map));
      }));
    std::vector<Array> ok_only = TRY(te::evaluate({c.ok}, args, bindings()));
    for (size_t e = 0; e < ok_only[0].data.size(); ++e) {
      if (ok_only[0].data[e] != std::byte{0}) continue;
      std::vector<Array> all = TRY(te::evaluate(tensors, args, bindings()));
      std::vector<std::pair<std::string, int64_t>> values;
      for (size_t k = 0; k < c.values.size(); ++k)
        values.emplace_back("{" + std::to_string(k) + "}", element_of(view(all[k + 1]), e));
      return make_error("run-time-check", describe(loc), fill(c.message, values));
    }
    return ok();
  }

  Status run_kernel(const OpDef& op, const Node& n) {
    Attrs attrs = TRY(bound_attrs(op, n));
    std::vector<ArrayView> inputs;
    for (ValueId v : n.inputs) inputs.push_back(value(v));
    Result<std::vector<Array>> outs = op.kernel.reference(attrs, inputs);
    if (!outs.ok()) return at_node(outs.error(), n);
    return set_outputs(n, outs.take());
  }

  Status run_list(const OpDef& op, const Node& n) {
    Attrs attrs = TRY(bound_attrs(op, n));
    std::vector<Datum> inputs;
    for (ValueId v : n.inputs) inputs.push_back(datum_of(v));
    Result<std::vector<Datum>> outs = op.list.reference(attrs, inputs);
    if (!outs.ok()) return at_node(outs.error(), n);
    return set_data(n, outs.take());
  }

  Result<Attrs> bound_attrs(const OpDef& op, const Node& n) const {
    Attrs attrs = TRY(normalise_attrs(op, n.attrs, ctx_, n.loc));
    Attrs bound;
    for (const auto& [name, v] : attrs.all()) bound.set(name, bind_dims(v));
    return bound;
  }

  static Error at_node(Error e, const Node& n) {
    for (Diagnostic& d : e.diagnostics)
      if (d.where.empty()) d.where = describe(n.loc);
    return e;
  }

  AttrValue bind_dims(const AttrValue& v) const {
    auto bound = [&](Dim d) { return ctx_.constant(number(d)); };
    if (const Dim* d = std::get_if<Dim>(&v)) return bound(*d);
    if (const auto* list = std::get_if<std::vector<Dim>>(&v)) {
      std::vector<Dim> out;
      for (Dim d : *list) out.push_back(bound(d));
      return out;
    }
    return v;
  }

  Status run_expansion(const OpDef& op, const Node& n) {
    graph::FunctionBuilder b("expand");
    Node inner = n;
    std::vector<ArrayView> inputs;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if (n.inputs[i] == kNoValue) continue;
      inner.inputs[i] = b.add_param(f_.value(n.inputs[i]).type, "x" + std::to_string(i));
      inputs.push_back(value(n.inputs[i]));
    }
    std::vector<ValueId> results = TRY(expand_node(b, ctx_, op, inner));
    std::vector<std::string> names;
    for (size_t i = 0; i < results.size(); ++i) names.push_back("y" + std::to_string(i));
    b.set_results(std::move(results), std::move(names));
    graph::FunctionPtr f = b.finish();
    std::vector<Array> outs = TRY(Evaluator(*f, ctx_, symbols_, module_).run(inputs));
    return set_outputs(n, std::move(outs));
  }

  Status set_data(const Node& n, std::vector<Datum> outs) {
    for (size_t i = 0; i < n.outputs.size(); ++i)
      if (n.outputs[i] != kNoValue) TRY(set_datum(n.outputs[i], std::move(outs[i])));
    return check_obligations();
  }

  Status set_outputs(const Node& n, std::vector<Array> outs) {
    PLIANT_CHECK(outs.size() >= n.outputs.size()) << n.op << " gave " << outs.size() << " outputs";
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      if (n.outputs[i] == kNoValue) continue;
      TRY(bind_shape(n.outputs[i], outs[i].shape));
      set(n.outputs[i], std::move(outs[i]));
    }
    return check_obligations();
  }

  const Function& f_;
  expr::Context& ctx_;
  const graph::Module* module_;
  std::unordered_map<expr::SymbolId, int64_t> symbols_;
  std::vector<expr::SymbolId> bound_;  // in the order in which they became known
  std::unordered_map<ValueId, Array> values_;
  std::unordered_map<ValueId, ArrayView> views_;
  std::unordered_map<ValueId, std::shared_ptr<const ListValue>> lists_;
  std::vector<bool> tested_;
};

}  // namespace

Result<std::vector<te::Array>> evaluate(const Function& f, expr::Context& ctx, const std::vector<te::ArrayView>& inputs,
                                        const graph::Module* module) {
  return Evaluator(f, ctx, {}, module).run(inputs);
}

Result<std::vector<Datum>> evaluate_data(const Function& f, expr::Context& ctx, std::vector<Datum> inputs) {
  return Evaluator(f, ctx, {}, nullptr).run_data(std::move(inputs));
}

}  // namespace pliant::ops
