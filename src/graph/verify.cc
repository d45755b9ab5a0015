#include <set>
#include <unordered_set>

#include "graph/graph.h"
#include "graph/visit.h"

namespace pliant::graph {
namespace {

// Walks the function in the order it runs and keeps what is known at each point: values in scope and symbols.
class Verifier {
 public:
  Verifier(const Function& f, expr::Context& ctx)
      : f_(f), ctx_(ctx), defined_(f.values.size(), false), in_scope_(f.values.size(), false) {}

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
    for (const Obligation& o : f_.obligations) check_obligation_form(o);
    check_nodes(f_.nodes);
    for (ValueId v : f_.results) use(v, "the function's results");
    check_result_names();
    for (const Obligation& o : f_.obligations) {
      require_known(o.a, describe_obligation(o));
      require_known(o.b, describe_obligation(o));
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
  void report(const std::string& id, const std::string& message) {
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
  }
  void use(ValueId v, const std::string& what) {
    if (v >= f_.values.size())
      return report("bad-value", what + " name value " + std::to_string(v) + " of " + count(f_.values.size(), "value"));
    if (in_scope_[v]) return;
    report("used-before-defined", value_text(v) + (defined_[v] ? " is out of scope in " : " is not defined before ") + what);
  }

  void learn(Dim d) {
    for (expr::SymbolId s : expr::symbols_of(d)) known_.insert(s);
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
      if (o.kind == expr::Origin::Kind::InputValue && names.count(o.name)) known_.insert(s);
    }
  }
  // A node may give rise to symbols in the sizes of what it produces, where they come from data.
  void learn_outputs(const Node& n) {
    auto visit = [&](Dim d) {
      for (expr::SymbolId s : expr::symbols_of(d)) {
        auto kind = ctx_.info(s).origin.kind;
        if (known_.count(s)) continue;
        if (kind == expr::Origin::Kind::Data || kind == expr::Origin::Kind::Anonymous) {
          known_.insert(s);
        } else {
          report("unknown-symbol", "symbol " + ctx_.info(s).name + " of an output's type is not known there");
          known_.insert(s);  // once is enough
        }
      }
    };
    for (ValueId v : n.outputs) {
      if (v < f_.values.size()) for_each_dim(f_.values[v].type, visit);
    }
  }

  void check_nodes(const std::vector<Node>& nodes) {
    for (const Node& n : nodes) {
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
    for (const auto& [name, value] : n.attrs.all()) {
      const auto* c = std::get_if<ConstantPtr>(&value);
      if (c != nullptr) check_constant(*c, "attribute " + name);
      // What `core.read_dims` lists becomes known through it.
      if (n.op == "core.read_dims") {
        for_each_dim(value, [&](Dim d) {
          if (d) learn(d);
        });
      } else {
        for_each_dim(value, [&](Dim d) { require_known(d, "attribute " + name); });
      }
    }
    for (const auto& region : n.regions) {
      if (region)
        check_region(*region);
      else
        report("bad-region", "a region is missing");
    }
    for (ValueId v : n.outputs) define(v, "an output of " + n.op);
    learn_outputs(n);
  }

  void check_region(const Region& r) {
    std::vector<bool> outer_scope = in_scope_;
    std::unordered_set<expr::SymbolId> outer_symbols = known_;
    for (ValueId v : r.params) {
      define(v, "a param of a region");
      if (v < f_.values.size()) for_each_dim(f_.values[v].type, [&](Dim d) { learn(d); });
    }
    check_nodes(r.nodes);
    for (ValueId v : r.results) use(v, "the results of a region");
    in_scope_ = std::move(outer_scope);
    known_ = std::move(outer_symbols);
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

  static std::string describe_obligation(const Obligation& o) { return "the requirement \"" + o.message + "\""; }
  void check_obligation_form(const Obligation& o) {
    if (o.message.empty()) report("bad-obligation", "a requirement has no message");
  }

  const Function& f_;
  expr::Context& ctx_;
  std::vector<bool> defined_, in_scope_;
  std::unordered_set<expr::SymbolId> known_;
  const Node* node_ = nullptr;
  Error error_;
};

}  // namespace

Status verify(const Function& f, expr::Context& ctx) { return Verifier(f, ctx).run(); }

}  // namespace pliant::graph
