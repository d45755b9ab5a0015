// Arms: each writes its values straight to where the merged value lies when its size is known before, else the arms end by
// planning the same epoch, the merge's, and copy into its buffers.
#include <algorithm>

#include "emit/emitter.h"
#include "ops/carried.h"

namespace pliant::emit {

// The epoch of the merged values is numbered after those of both arms; what names it is completed then.
struct IfMerge {
  struct Fresh {
    expr::SymbolId symbol;
    uint32_t slot;
    size_t output, axis;
  };
  struct Copied {
    size_t copy;  // index into Program::copies
    size_t output;
  };
  std::vector<Fresh> fresh;
  std::vector<bool> sized;            // outputs whose storage is known before the arms
  std::vector<bool> in_place;         // outputs that lie where the arms' values lie already
  std::vector<size_t> shapes, plans;  // instructions of the merge's epoch
  std::vector<Copied> copies;
};

bool Emitter::computes(const graph::Region& r, ValueId v) const {
  return std::any_of(r.nodes.begin(), r.nodes.end(), [&](const Node& n) {
    return n.op != "core.const" && std::find(n.outputs.begin(), n.outputs.end(), v) != n.outputs.end();
  });
}

void Emitter::claim(const graph::Region& r, ValueId v, const Storage& to) {
  v = ops::source_of(r, v);
  if (computes(r, v) && !appends_.count(v)) direct_.emplace(v, to);
}

std::optional<bool> Emitter::known_condition(const graph::IfParts& parts) {
  if (parts.cond) {
    if (parts.cond->is_const()) return parts.cond->const_value() != 0;
    return std::nullopt;
  }
  const graph::ConstantPtr& c = constants_.by_value[parts.condition];
  if (c && c->bytes >= 1) return *c->data != std::byte{0};
  return std::nullopt;
}

// The other arm never runs: the merged values are what this one yields.
Status Emitter::emit_taken_arm(const Node& n, const graph::Region& arm) {
  for (size_t k = 0; k < arm.results.size(); ++k)
    if (auto it = direct_.find(n.outputs[k]); it != direct_.end() && !is_list(n.outputs[k]))
      claim(arm, arm.results[k], it->second);
  TRY(emit_nodes(arm.nodes, &arm));
  if (graph::diverges(arm)) return ok();
  move_lists(list_moves(arm, 0, n.outputs));
  std::optional<uint32_t> epoch;
  for (size_t k = 0; k < n.outputs.size(); ++k) {
    if (is_list(n.outputs[k])) continue;
    const TensorType &to = f_.tensor_type(n.outputs[k]), &from = f_.tensor_type(arm.results[k]);
    for (size_t a = 0; a < to.shape.size(); ++a) {
      auto s = to.shape[a].as_symbol();
      if (!s || slots_.knows(*s)) continue;
      if (!epoch) epoch = new_epoch();
      const uint32_t slot = slots_.add();
      append(Opcode::Move, slot, slots_.holding(from.shape[a]));
      slots_.define(*s, slot, *epoch);
    }
    storage_[n.outputs[k]] = storage_of(arm.results[k]);
  }
  if (epoch) start_epoch(*epoch);
  return ok();
}

Status Emitter::emit_arm(const Node& n, const graph::Region& arm, IfMerge& merge) {
  const uint32_t outer_epoch = epoch_, outer_first = first_epoch_;
  begin_epoch();
  first_epoch_ = epoch_;
  for (size_t k = 0; k < arm.results.size(); ++k)
    if (merge.sized[k]) claim(arm, arm.results[k], storage_[n.outputs[k]]);
  TRY(emit_nodes(arm.nodes, &arm));
  if (graph::diverges(arm)) {
    epoch_ = outer_epoch;
    first_epoch_ = outer_first;
    return ok();
  }
  for (size_t k = 0; k < arm.results.size(); ++k)
    if (merge.sized[k]) copy(storage_of(arm.results[k]), storage_[n.outputs[k]], bytes_of(f_.tensor_type(n.outputs[k])));
  move_lists(list_moves(arm, 0, n.outputs));
  for (const IfMerge::Fresh& fresh : merge.fresh)
    append(Opcode::Move, fresh.slot, slots_.holding(f_.tensor_type(arm.results[fresh.output]).shape[fresh.axis]));
  if (!merge.fresh.empty()) {
    merge.shapes.push_back(append(Opcode::Shape));
    merge.plans.push_back(append(Opcode::Plan));
  }
  for (size_t k = 0; k < arm.results.size(); ++k) {
    if (merge.sized[k] || is_list(n.outputs[k])) continue;
    if (merge.in_place[k]) {
      PLIANT_CHECK(storage_of(arm.results[k]) == storage_[n.outputs[k]]) << "an arm's value lies apart from the merged one";
      continue;
    }
    artifact::CopyDesc c;
    c.from = arg_of_value(arm.results[k]);
    merge.copies.push_back({prog().copies.size(), k});
    prog().copies.push_back(c);
    append(Opcode::Copy, merge.copies.back().copy);
  }
  epoch_ = outer_epoch;
  first_epoch_ = outer_first;
  return ok();
}

void Emitter::finish_merge(const Node& n, IfMerge& merge) {
  if (merge.fresh.empty()) return;
  epoch_ = new_epoch();
  for (size_t at : merge.shapes) prog().code[at].a = first_program_ + epoch_;
  for (size_t at : merge.plans) prog().code[at].a = epoch_;
  for (const IfMerge::Fresh& fresh : merge.fresh) slots_.define(fresh.symbol, fresh.slot, epoch_);
  add_obligations(epoch_);
  for (size_t k = 0; k < n.outputs.size(); ++k) {
    if (merge.sized[k] || merge.in_place[k] || is_list(n.outputs[k])) continue;
    const Storage& s = define_value(n.outputs[k], true);
    if (s.kind == Arg::Kind::Buffer && !merge.plans.empty())
      prog().buffers[s.index].first = static_cast<uint32_t>(merge.plans.front());
  }
  for (const IfMerge::Copied& c : merge.copies) {
    prog().copies[c.copy].to = arg_of(storage_[n.outputs[c.output]]);
    prog().copies[c.copy].bytes = slots_.size_of(bytes_of(f_.tensor_type(n.outputs[c.output])));
  }
}

Status Emitter::emit_if(const Node& n) {
  const graph::IfParts parts = graph::if_parts(n);
  if (auto known = known_condition(parts)) return emit_taken_arm(n, *known ? *parts.then : *parts.otherwise);
  IfMerge merge;
  for (size_t k = 0; k < n.outputs.size(); ++k) {
    auto continued = continued_.find(n.outputs[k]);
    merge.in_place.push_back(continued != continued_.end());
    if (is_list(n.outputs[k])) {
      merge.sized.push_back(false);
      continue;
    }
    const TensorType& t = f_.tensor_type(n.outputs[k]);
    merge.sized.push_back(all_known(t) && !merge.in_place[k]);
    if (merge.in_place[k]) storage_[n.outputs[k]] = continued->second;
    if (merge.sized[k]) define_value(n.outputs[k], true);
    for (size_t a = 0; a < t.shape.size(); ++a) {
      auto s = t.shape[a].as_symbol();
      const bool is_new = s && !slots_.knows(*s) && std::none_of(merge.fresh.begin(), merge.fresh.end(), [&](const auto& f) {
                            return f.symbol == *s;
                          });
      if (is_new) merge.fresh.push_back({*s, slots_.add(), k, a});
    }
  }
  const uint32_t condition = parts.cond ? slots_.holding(*parts.cond) : read_slot(parts.condition, 0, n.loc, slots_.add());
  const size_t skip = append(Opcode::JumpZero, 0, condition);
  TRY(emit_arm(n, *parts.then, merge));
  const bool both = !graph::diverges(*parts.then);
  const size_t leave = both ? append(Opcode::Jump) : 0;
  jump_to(skip, position());
  TRY(emit_arm(n, *parts.otherwise, merge));
  if (both) jump_to(leave, position());
  finish_merge(n, merge);
  return ok();
}

Status Emitter::emit_require(const Node& n) {
  const uint32_t epoch = new_epoch();
  append(Opcode::Shape, first_program_ + epoch);
  add_check(epoch, graph::obligation_of(n));
  return ok();
}

Status Emitter::emit_fail(const Node& n) {
  prog().fails.push_back({describe(n.loc), n.attrs.string_or("message", ""), {}});
  append(Opcode::Fail, prog().fails.size() - 1);
  return ok();
}

}  // namespace pliant::emit
