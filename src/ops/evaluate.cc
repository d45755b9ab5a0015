// The reference: a whole function on arrays. Every node is computed by te::evaluate of its definition, by evaluating its
// expansion, or by its kernel's reference function; symbols are bound as they become known, and obligations and data checks
// are tested.
#include <cstring>
#include <unordered_map>

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
  Evaluator(const Function& f, expr::Context& ctx, std::unordered_map<expr::SymbolId, int64_t> symbols)
      : f_(f), ctx_(ctx), symbols_(std::move(symbols)) {}

  Result<std::vector<Array>> run(const std::vector<ArrayView>& inputs) {
    PLIANT_CHECK(inputs.size() == f_.params.size()) << "evaluate needs " << f_.params.size() << " inputs";
    for (size_t i = 0; i < inputs.size(); ++i) {
      values_[f_.params[i]] = Array{inputs[i].dtype, inputs[i].shape, {}};
      views_[f_.params[i]] = inputs[i];
      TRY(bind_shape(f_.params[i], inputs[i].shape));
    }
    bind_input_elements();
    TRY(check_obligations());
    for (const Node& n : f_.nodes) TRY(run_node(n));
    std::vector<Array> out;
    for (ValueId v : f_.results) out.push_back(copy_of(v));
    return out;
  }

 private:
  ArrayView value(ValueId v) const { return v == kNoValue ? ArrayView{} : views_.at(v); }

  Array copy_of(ValueId v) const {
    ArrayView a = views_.at(v);
    int64_t n = byte_size(a.dtype);
    for (int64_t d : a.shape) n *= d;
    return {a.dtype, a.shape, n == 0 ? std::vector<std::byte>{} : std::vector<std::byte>(a.data, a.data + n)};
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
        symbols_[*s] = shape[k];
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
    for (size_t i = 0; i < f_.obligations.size(); ++i) {
      const Obligation& o = f_.obligations[i];
      if (tested_[i]) continue;
      std::optional<int64_t> a = known(o.a), b = known(o.b);
      if (!a || !b) {
        // A broadcast of sizes that do not broadcast has no value.
        if (!all_bound(o.a) || !all_bound(o.b)) continue;
        std::string message = fill_text(fill_text(o.message, "{a}", a ? std::to_string(*a) : o.a.str()), "{b}",
                                        b ? std::to_string(*b) : o.b.str());
        return make_error("run-time-check", describe(o.loc), message);
      }
      tested_[i] = true;
      bool good = *a == *b || (o.kind == Obligation::Kind::LessEqual && *a < *b) ||
                  (o.kind == Obligation::Kind::Broadcast && *a == 1);
      if (!good) return make_error("run-time-check", describe(o.loc), fill(o.message, {{"{a}", *a}, {"{b}", *b}}));
    }
    return ok();
  }

  Status run_node(const Node& n) {
    if (n.op == "core.read_dims") return read_dims(n);
    if (n.op == "core.const") {
      graph::ConstantPtr c = n.attrs.constant("value");
      views_[n.outputs[0]] = {c->dtype, c->shape, c->data};
      return ok();
    }
    const OpDef* op = find_op(n.op);
    PLIANT_CHECK(op != nullptr || n.op == "core.fused") << "there is no operator " << n.op;
    if (op != nullptr && op->expand) return run_expansion(*op, n);
    if (op != nullptr && op->kernel.reference) return run_kernel(*op, n);
    return run_defined(n);
  }

  Status read_dims(const Node& n) {
    ArrayView x = value(n.inputs[0]);
    std::vector<Dim> dims = n.attrs.dims_or("symbols", {});
    for (size_t k = 0; k < dims.size(); ++k) {
      std::optional<expr::SymbolId> s = dims[k].as_symbol();
      PLIANT_CHECK(s) << "core.read_dims defines plain symbols";
      symbols_[*s] = element_of(x, k);
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
    Attrs attrs = TRY(normalise_attrs(op, n.attrs, ctx_, n.loc));
    Attrs bound;
    for (const auto& [name, v] : attrs.all()) bound.set(name, bind_dims(v));
    std::vector<ArrayView> inputs;
    for (ValueId v : n.inputs) inputs.push_back(value(v));
    Result<std::vector<Array>> outs = op.kernel.reference(bound, inputs);
    if (!outs.ok()) {
      Error e = outs.error();
      for (Diagnostic& d : e.diagnostics)
        if (d.where.empty()) d.where = describe(n.loc);
      return e;
    }
    return set_outputs(n, outs.take());
  }

  AttrValue bind_dims(const AttrValue& v) const {
    auto bind = [&](Dim d) {
      std::optional<int64_t> n = known(d);
      PLIANT_CHECK(n) << "the size " << d.str() << " is not known";
      return ctx_.constant(*n);
    };
    if (const Dim* d = std::get_if<Dim>(&v)) return bind(*d);
    if (const auto* list = std::get_if<std::vector<Dim>>(&v)) {
      std::vector<Dim> out;
      for (Dim d : *list) out.push_back(bind(d));
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
    std::vector<Array> outs = TRY(Evaluator(*f, ctx_, symbols_).run(inputs));
    return set_outputs(n, std::move(outs));
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
  std::unordered_map<expr::SymbolId, int64_t> symbols_;
  std::unordered_map<ValueId, Array> values_;
  std::unordered_map<ValueId, ArrayView> views_;
  std::vector<bool> tested_;
};

}  // namespace

Result<std::vector<te::Array>> evaluate(const Function& f, expr::Context& ctx, const std::vector<te::ArrayView>& inputs) {
  return Evaluator(f, ctx, {}).run(inputs);
}

}  // namespace pliant::ops
