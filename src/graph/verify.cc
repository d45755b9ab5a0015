#include <set>
#include <unordered_set>

#include "artifact/file.h"
#include "graph/control.h"
#include "graph/kernel.h"
#include "graph/visit.h"

namespace pliant::graph {
namespace {

// Walks the function in the order it runs and keeps what is known at each point: values in scope and symbols.
class Verifier {
 public:
  Verifier(const Function& f, expr::Context& ctx)
      : f_(f),
        ctx_(ctx),
        defined_(f.values.size(), false),
        in_scope_(f.values.size(), false),
        kernels_around_(f.values.size(), 0) {}

  Status run() {
    if (f_.default_values.size() != f_.params.size())
      report("bad-default", "the function has " + count(f_.default_values.size(), "default value") + " for " +
                                count(f_.params.size(), "param"));
    for (ValueId v : f_.params) {
      define(v, "a param of the function");
      if (v < f_.values.size()) for_each_dim(f_.values[v].type, [&](Dim d) { learn(d); });
    }
    check_defaults();
    learn_input_values();
    for (const ShapeConstraint& o : f_.constraints) check_constraint_form(o);
    check_nodes(f_.nodes);
    for (ValueId v : f_.results) use(v, "the function's results");
    check_result_names();
    for (const ShapeConstraint& o : f_.constraints) {
      require_known(o.a, describe_constraint(o));
      require_known(o.b, describe_constraint(o));
    }
    if (error_.diagnostics.empty()) return ok();
    return std::move(error_);
  }

 private:
  static std::string count(size_t n, const std::string& what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
  }
  std::string value_text(ValueId v) const {
    std::string name = v < f_.values.size() ? f_.values[v].name : "";
    return "value " + std::to_string(v) + (name.empty() ? "" : " \"" + name + "\"");
  }
  void report(DiagnosticId id, const std::string& message) {
    std::string where = node_ == nullptr ? "function " + f_.name
                        : node_->loc     ? describe(node_->loc)
                                         : "node of " + node_->op;
    error_.diagnostics.push_back({id, where, message});
  }

  void define(ValueId v, const std::string& what) {
    if (v >= f_.values.size())
      return report("bad-value", what + " is value " + std::to_string(v) + " of " + count(f_.values.size(), "value"));
    if (defined_[v]) report("defined-twice", value_text(v) + " is defined a second time as " + what);
    defined_[v] = in_scope_[v] = true;
    scope_.push_back(v);
    kernels_around_[v] = kernels_;
    const TensorType* t = f_.values[v].type.tensor();
    if (t != nullptr && t->shape.size() > artifact::kMaxRank)
      report("unsupported-shape", value_text(v) + " has " + std::to_string(t->shape.size()) + " axes, but at most " +
                                      std::to_string(artifact::kMaxRank) + " are supported");
  }
  void use(ValueId v, const std::string& what) {
    if (v >= f_.values.size())
      return report("bad-value", what + " name value " + std::to_string(v) + " of " + count(f_.values.size(), "value"));
    if (in_scope_[v] && kernels_around_[v] < kernels_)
      return report("bad-form",
                    value_text(v) + " is used in a core.kernel around which it is defined: it has to be an input");
    if (in_scope_[v]) return;
    report("used-before-defined", value_text(v) + (defined_[v] ? " is out of scope in " : " is not defined before ") + what);
  }

  void learn(expr::SymbolId s) {
    if (known_.insert(s).second) learned_.push_back(s);
  }
  void learn(Dim d) {
    for (expr::SymbolId s : expr::symbols_of(d)) learn(s);
  }
  void require_known(Dim d, const std::string& what) {
    if (!d) return report("bad-dim", what + " has an empty dim");
    for (expr::SymbolId s : expr::symbols_of(d)) {
      if (!known_.count(s)) report("unknown-symbol", "symbol " + ctx_.info(s).name + " of " + what + " is not known there");
    }
  }
  // The elements of integer inputs are known from the start.
  void learn_input_values() {
    std::set<std::string> names;
    for (ValueId v : f_.params) {
      if (v < f_.values.size()) names.insert(f_.values[v].name);
    }
    for (expr::SymbolId s : symbols_of(f_, ctx_)) {
      const expr::Origin& o = ctx_.info(s).origin;
      if (o.kind == expr::Origin::Kind::InputValue && names.count(o.name)) learn(s);
    }
  }
  // A size that is one symbol and comes from data is defined by the tensor that has it, if it is not known yet; sequences
  // and optionals define nothing.
  void learn_type(const Type& t, const std::string& what) {
    bool is_tensor = t.tensor() != nullptr;
    for_each_dim(t, [&](Dim d) {
      std::optional<expr::SymbolId> s = d ? d.as_symbol() : std::nullopt;
      if (!s) return;
      auto kind = ctx_.info(*s).origin.kind;
      if ((kind == expr::Origin::Kind::Data && is_tensor) || kind == expr::Origin::Kind::Anonymous) learn(*s);
    });
    for_each_dim(t, [&](Dim d) {
      require_known(d, what);
      if (d) learn(d);  // once is enough
    });
  }
  void learn_values(const std::vector<ValueId>& values, const std::string& what) {
    for (ValueId v : values) {
      if (v < f_.values.size()) learn_type(f_.values[v].type, what);
    }
  }

  void check_nodes(const std::vector<Node>& nodes) {
    for (const Node& n : nodes) {
      if (n.op == "core.fail" && &n != &nodes.back()) {
        node_ = &n;
        report("bad-form", "core.fail is not the last node of its region");
      }
      const Node* outer = node_;
      node_ = &n;
      check_node(n);
      node_ = outer;
    }
  }

  void check_node(const Node& n) {
    if (!n.loc) report("no-location", "the node has no location");
    if (n.op.find('.') == std::string::npos) report("bad-op", "'" + n.op + "' is no operator name of the form family.name");
    for (ValueId v : n.inputs) {
      if (v != kNoValue) use(v, "the inputs of " + n.op);
    }
    Status form = check_form(n);
    if (!form.ok()) report(form.error().diagnostics[0].id, form.error().diagnostics[0].message);
    check_attrs(n);
    if (n.op == "core.loop" && form.ok()) {
      check_loop(n);
    } else {
      if (is_kernel(n)) ++kernels_;
      for (const auto& region : n.regions) check_region(n, region, {});
      if (is_kernel(n)) --kernels_;
    }
    if (is_kernel(n) && form.ok())
      for (Dim d : n.attrs.dims_or("symbols", {})) learn(d);
    for (ValueId v : n.outputs) define(v, "an output of " + n.op);
    learn_values(n.outputs, "an output's type");
  }

  void check_attrs(const Node& n) {
    for (const auto& [name, value] : n.attrs.all()) {
      const auto* c = std::get_if<ConstantPtr>(&value);
      if (c != nullptr) check_constant(*c, "attribute " + name);
      // The node defines these itself.
      if (n.op == "core.loop" && (name == "index" || name == "count")) continue;
      if (is_kernel(n) && name == "symbols") continue;
      // What `core.read_dims` lists becomes known through it.
      if (n.op == "core.read_dims") {
        for_each_dim(value, [&](Dim d) {
          if (d) learn(d);
        });
      } else {
        for_each_dim(value, [&](Dim d) { require_known(d, "attribute " + name); });
      }
    }
  }

  // The number of the iteration is known in the region, how many ran after it.
  void check_loop(const Node& n) {
    LoopParts loop = loop_parts(n);
    expr::SymbolId index = *loop.index.as_symbol();
    if (ctx_.info(index).origin.kind != expr::Origin::Kind::LoopIndex)
      report("bad-form", "the index of core.loop is symbol " + ctx_.info(index).name + ", which is no loop index");
    if (known_.count(index))
      report("defined-twice", "symbol " + ctx_.info(index).name + " is the index of an enclosing loop");
    check_region(n, n.regions[0], index);
    std::optional<expr::SymbolId> count = loop.count.as_symbol();
    if (count && ctx_.info(*count).origin.kind == expr::Origin::Kind::Data) learn(*count);
    require_known(loop.count, "attribute count");
  }

  void check_region(const Node& n, const std::shared_ptr<const Region>& region, std::optional<expr::SymbolId> index) {
    if (!region) return report("bad-region", "a region is missing");
    const size_t outer_scope = scope_.size(), outer_symbols = learned_.size();
    if (index) learn(*index);
    for (ValueId v : region->params) define(v, "a param of a region");
    learn_values(region->params, "a param of a region of " + n.op);
    check_nodes(region->nodes);
    for (ValueId v : region->results) {
      if (v == kNoValue)
        report("bad-value", "a region of " + n.op + " yields an absent value");
      else
        use(v, "the results of a region");
    }
    for (; scope_.size() > outer_scope; scope_.pop_back()) in_scope_[scope_.back()] = false;
    for (; learned_.size() > outer_symbols; learned_.pop_back()) known_.erase(learned_.back());
  }

  void check_constant(const ConstantPtr& c, const std::string& what) {
    if (!c) return report("bad-constant", what + " is an empty constant");
    size_t expected = static_cast<size_t>(element_count(*c) * byte_size(c->dtype));
    if (c->bytes != expected)
      report("bad-constant", what + " has " + count(c->bytes, "byte") + " instead of " + std::to_string(expected));
  }

  void check_defaults() {
    for (size_t i = 0; i < f_.default_values.size(); ++i) {
      if (f_.default_values[i]) check_constant(f_.default_values[i], "default value " + std::to_string(i));
    }
  }

  void check_result_names() {
    if (f_.result_names.size() != f_.results.size()) {
      return report("bad-results", count(f_.results.size(), "result") + " but " + count(f_.result_names.size(), "name"));
    }
    std::set<std::string> seen;
    for (const std::string& name : f_.result_names) {
      if (!seen.insert(name).second) report("bad-results", "two results are named \"" + name + "\"");
    }
  }

  static std::string describe_constraint(const ShapeConstraint& o) { return "the requirement \"" + o.message + "\""; }
  void check_constraint_form(const ShapeConstraint& o) {
    if (o.message.empty()) report("bad-constraint", "a requirement has no message");
  }

  const Function& f_;
  expr::Context& ctx_;
  std::vector<bool> defined_, in_scope_;
  std::vector<ValueId> scope_;            // the values in scope, in the order of their definition
  std::vector<uint32_t> kernels_around_;  // of each value: how many kernels it is defined in
  uint32_t kernels_ = 0;
  std::unordered_set<expr::SymbolId> known_;
  std::vector<expr::SymbolId> learned_;  // those of `known_`, in order
  const Node* node_ = nullptr;
  Error error_;
};

}  // namespace

Status verify(const Function& f, expr::Context& ctx) { return Verifier(f, ctx).run(); }

}  // namespace pliant::graph
