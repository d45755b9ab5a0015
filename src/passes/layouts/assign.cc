// The choice is a minimum cut. Every node that may run channels-last is a vertex; those that must are joined to the
// source, what stays as it is to the sink. A value costs its size once when its producer and any of its users are on
// different sides:
//
//   producer ─size→ a ─∞→ user…      (cut when the producer is channels-last and a user is not)
//   user… ─∞→ b ─size→ producer      (cut when a user is channels-last and the producer is not)
#include "passes/layouts/assign.h"

#include <algorithm>

#include "passes/layouts/min_cut.h"

namespace pliant::passes {
namespace {

// A size that nobody knows counts as its likely value, or as this many.
constexpr int64_t kTypicalSize = 32;
constexpr int64_t kLargestCost = int64_t{1} << 40;

int64_t typical(Dim d, const expr::Context& ctx) {
  auto value = expr::evaluate(d, [&](expr::SymbolId s) -> std::optional<int64_t> {
    const expr::SymbolInfo& info = ctx.info(s);
    if (!info.likely.empty()) return info.likely[0];
    return std::clamp(kTypicalSize, info.lo, std::max(info.lo, info.hi));
  });
  return value ? std::clamp<int64_t>(*value, 1, kLargestCost) : kTypicalSize;
}

class Assigner {
 public:
  Assigner(const Function& f, expr::Context& ctx) : f_(f), ctx_(ctx), ports_(f.values.size()) {}

  Result<Assignment> run() {
    TRY(find_forms(f_.nodes));
    if (!any_wanted_) return Assignment();
    find_transposes();
    connect(f_.nodes);
    for (ValueId v : f_.results) use(v, MinCut::kSink);
    add_value_edges();
    std::vector<bool> last = cut_.source_side();
    for (auto& [node, form] : forms_) {
      if (last[vertex_.at(node)]) result_.last.emplace(node, std::move(form));
    }
    return std::move(result_);
  }

 private:
  // Where a value is made and used, as vertices of the cut.
  struct Ports {
    size_t producer = MinCut::kSink;
    std::vector<size_t> users;
    bool is_constant = false;
  };

  const TensorType* type_of(ValueId v) const { return f_.values[v].type.tensor(); }

  Status find_forms(const std::vector<Node>& nodes) {
    for (const Node& n : nodes) {
      for (const auto& region : n.regions) TRY(find_forms(region->nodes));
      order_.push_back(&n);
      auto form = TRY(channels_last(f_, n, ctx_));
      if (!form) continue;
      any_wanted_ |= form->wanted;
      forms_.emplace(&n, std::move(*form));
    }
    return ok();
  }

  // A transpose of rank 3 goes either way: towards the users that run channels-last, if any does.
  void find_transposes() {
    std::vector<bool> wanted_last(f_.values.size(), false);
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      const Node& n = **it;
      auto form = forms_.find(&n);
      if (form != forms_.end()) {
        bool wanted = form->second.wanted;
        for (size_t i = 0; i < n.outputs.size(); ++i)
          wanted |= form->second.outputs[i] == Form::Last && wanted_last[n.outputs[i]];
        for (size_t i = 0; i < n.inputs.size(); ++i) {
          if (wanted && form->second.inputs[i] == Form::Last) wanted_last[n.inputs[i]] = true;
        }
      }
      if (n.op != "array.transpose") continue;
      size_t rank = type_of(n.inputs[0])->shape.size();
      if (rank < 3 || rank > 5) continue;
      std::vector<int64_t> perm = ops::attrs_of(n).as_ints("perm");
      bool last = perm == to_last(rank), first = perm == to_first(rank);
      if (first && (!last || wanted_last[n.outputs[0]]))
        result_.transposes[&n] = ModelTranspose::ToFirst;
      else if (last)
        result_.transposes[&n] = ModelTranspose::ToLast;
    }
  }

  void use(ValueId v, size_t vertex) {
    if (v != kNoValue) ports_[v].users.push_back(vertex);
  }

  void connect(const std::vector<Node>& nodes) {
    for (const Node& n : nodes) {
      auto transpose = result_.transposes.find(&n);
      auto form = forms_.find(&n);
      if (transpose != result_.transposes.end()) {
        bool to_last = transpose->second == ModelTranspose::ToLast;
        use(n.inputs[0], to_last ? MinCut::kSource : MinCut::kSink);
        ports_[n.outputs[0]].producer = to_last ? MinCut::kSink : MinCut::kSource;
      } else if (form != forms_.end()) {
        connect_free(n, form->second);
      } else {
        for (ValueId v : n.inputs) use(v, MinCut::kSink);
      }
      if (n.op == "core.const") ports_[n.outputs[0]].is_constant = true;
      for (const auto& region : n.regions) {
        connect(region->nodes);
        for (ValueId v : region->results) use(v, MinCut::kSink);
      }
    }
  }

  void connect_free(const Node& n, const ChannelsLast& form) {
    size_t vertex = vertex_[&n] = cut_.add_vertex();
    if (form.wanted) cut_.add_edge(MinCut::kSource, vertex, MinCut::kInfinite);
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      // Operands of lower rank are small; moving them is not counted.
      if (form.inputs[i] == Form::Last) use(n.inputs[i], vertex);
      if (form.inputs[i] == Form::AsIs) use(n.inputs[i], MinCut::kSink);
    }
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      if (form.outputs[i] == Form::Last) ports_[n.outputs[i]].producer = vertex;
    }
  }

  // Constants are moved at compile time.
  void add_value_edges() {
    for (ValueId v = 0; v < ports_.size(); ++v) {
      const Ports& p = ports_[v];
      const TensorType* t = type_of(v);
      if (p.users.empty() || p.is_constant || t == nullptr || t->shape.size() < 3 || t->shape.size() > 5) continue;
      int64_t cost = 1;
      if (!is_free_to_move(*t)) {
        for (Dim d : t->shape) cost = std::min(kLargestCost, cost * typical(d, ctx_));
        cost += 1;
      }
      size_t away = cut_.add_vertex(), towards = cut_.add_vertex();
      cut_.add_edge(p.producer, away, cost);
      cut_.add_edge(towards, p.producer, cost);
      for (size_t user : p.users) {
        cut_.add_edge(away, user, MinCut::kInfinite);
        cut_.add_edge(user, towards, MinCut::kInfinite);
      }
    }
  }

  const Function& f_;
  expr::Context& ctx_;
  MinCut cut_;
  std::vector<const Node*> order_;
  std::unordered_map<const Node*, ChannelsLast> forms_;
  std::unordered_map<const Node*, size_t> vertex_;
  std::vector<Ports> ports_;
  Assignment result_;
  bool any_wanted_ = false;
};

}  // namespace

bool is_free_to_move(const TensorType& t) {
  if (t.shape[1].is_const(1)) return true;
  return std::all_of(t.shape.begin() + 2, t.shape.end(), [](Dim d) { return d.is_const(1); });
}

Result<Assignment> assign_layouts(const Function& f, expr::Context& ctx) { return Assigner(f, ctx).run(); }

}  // namespace pliant::passes
