// Branches: each writes its values straight to where the merged value lies when its size is known before, else the branches
// end by planning the same epoch, the merge's, and copy into its buffers.
#include <algorithm>

#include "bufferize/bufferizer.h"
#include "ops/control/carried.h"

namespace pliant::bufferize {

// The epoch of the merged values is numbered after those of both branches; what names it is completed then.
struct IfMerge {
  host::If branch;
  struct Fresh {
    expr::SymbolId symbol;
    uint32_t slot;
    size_t output, axis;
  };
  // An instruction of a branch.
  struct Place {
    host::Block* block;
    size_t at;
    template <class T>
    T& as() const {
      return std::get<T>((*block)[at].op);
    }
  };
  struct Copied {
    Place copy;
    size_t output;
  };
  std::vector<Fresh> fresh;
  std::vector<bool> sized;           // outputs whose storage is known before the branches
  std::vector<bool> in_place;        // outputs that lie where the branches' values lie already
  std::vector<Place> shapes, plans;  // instructions of the merge's epoch
  std::vector<Copied> copies;
};

bool Bufferizer::computes(const graph::Region& r, ValueId v) const {
  return std::any_of(r.nodes.begin(), r.nodes.end(), [&](const Node& n) {
    return n.op != "core.const" && std::find(n.outputs.begin(), n.outputs.end(), v) != n.outputs.end();
  });
}

void Bufferizer::claim(const graph::Region& r, ValueId v, const Storage& to) {
  v = ops::source_of(r, v);
  if (computes(r, v) && !appends_.count(v)) direct_.emplace(v, to);
}

std::optional<bool> Bufferizer::known_condition(const graph::IfParts& parts) {
  if (parts.cond) {
    if (parts.cond->is_const()) return parts.cond->const_value() != 0;
    return std::nullopt;
  }
  const graph::ConstantPtr c = constants_[parts.condition];
  if (c && c->bytes >= 1) return *c->data != std::byte{0};
  return std::nullopt;
}

// The other branch never runs: the merged values are what this one yields.
Status Bufferizer::bufferize_taken_branch(const Node& n, const graph::Region& branch) {
  for (size_t k = 0; k < branch.results.size(); ++k)
    if (auto it = direct_.find(n.outputs[k]); it != direct_.end() && !is_list(n.outputs[k]))
      claim(branch, branch.results[k], it->second);
  TRY(bufferize_nodes(branch.nodes, &branch));
  if (graph::diverges(branch)) return ok();
  move_lists(list_moves(branch, 0, n.outputs));
  std::optional<uint32_t> epoch;
  for (size_t k = 0; k < n.outputs.size(); ++k) {
    if (is_list(n.outputs[k])) continue;
    const TensorType &to = f_.tensor_type(n.outputs[k]), &from = f_.tensor_type(branch.results[k]);
    for (size_t a = 0; a < to.shape.size(); ++a) {
      auto s = to.shape[a].as_symbol();
      if (!s || slots_.knows(*s)) continue;
      if (!epoch) epoch = new_epoch();
      const uint32_t slot = slots_.add();
      move(slot, slots_.holding(from.shape[a]));
      slots_.define(*s, slot, *epoch);
    }
    storage_[n.outputs[k]] = storage_of(branch.results[k]);
  }
  if (epoch) start_epoch(*epoch);
  return ok();
}

Status Bufferizer::bufferize_branch(const Node& n, const graph::Region& branch, IfMerge& merge) {
  const uint32_t outer_epoch = epoch_, outer_first = first_epoch_;
  begin_epoch();
  first_epoch_ = epoch_;
  for (size_t k = 0; k < branch.results.size(); ++k)
    if (merge.sized[k]) claim(branch, branch.results[k], storage_[n.outputs[k]]);
  TRY(bufferize_nodes(branch.nodes, &branch));
  if (graph::diverges(branch)) {
    epoch_ = outer_epoch;
    first_epoch_ = outer_first;
    return ok();
  }
  for (size_t k = 0; k < branch.results.size(); ++k)
    if (merge.sized[k]) copy(storage_of(branch.results[k]), storage_[n.outputs[k]], bytes_of(f_.tensor_type(n.outputs[k])));
  move_lists(list_moves(branch, 0, n.outputs));
  for (const IfMerge::Fresh& fresh : merge.fresh)
    move(fresh.slot, slots_.holding(f_.tensor_type(branch.results[fresh.output]).shape[fresh.axis]));
  if (!merge.fresh.empty()) {
    merge.shapes.push_back({block_, block_->size()});
    add(host::Shape{});
    merge.plans.push_back({block_, block_->size()});
    add(host::Plan{});
  }
  for (size_t k = 0; k < branch.results.size(); ++k) {
    if (merge.sized[k] || is_list(n.outputs[k])) continue;
    if (merge.in_place[k]) {
      PLIANT_CHECK(storage_of(branch.results[k]) == storage_[n.outputs[k]])
          << "a branch's value lies apart from the merged one";
      continue;
    }
    merge.copies.push_back({{block_, block_->size()}, k});
    add(host::Copy{{arg_of_value(branch.results[k]), {}, {}}});
  }
  epoch_ = outer_epoch;
  first_epoch_ = outer_first;
  return ok();
}

void Bufferizer::finish_merge(const Node& n, IfMerge& merge) {
  if (merge.fresh.empty()) return;
  epoch_ = new_epoch();
  for (const IfMerge::Place& p : merge.shapes) p.as<host::Shape>().epoch = epoch_;
  for (const IfMerge::Place& p : merge.plans) p.as<host::Plan>().epoch = epoch_;
  for (const IfMerge::Fresh& fresh : merge.fresh) slots_.define(fresh.symbol, fresh.slot, epoch_);
  add_constraints(epoch_);
  host::Block allocs;
  in_block(allocs, [&] {
    for (size_t k = 0; k < n.outputs.size(); ++k)
      if (!merge.sized[k] && !merge.in_place[k] && !is_list(n.outputs[k])) define_value(n.outputs[k], true);
  });
  for (const IfMerge::Copied& c : merge.copies) {
    artifact::CopyDesc& copy = c.copy.as<host::Copy>().copy;
    copy.to = arg_of(storage_[n.outputs[c.output]]);
    copy.bytes = slots_.size_of(bytes_of(f_.tensor_type(n.outputs[c.output])));
  }
  // The buffers' lives begin where the first branch that comes to its end plans them.
  const IfMerge::Place first = merge.plans.empty() ? IfMerge::Place{block_, block_->size()} : merge.plans.front();
  first.block->insert(first.block->begin() + static_cast<ptrdiff_t>(first.at), allocs.begin(), allocs.end());
}

Status Bufferizer::bufferize_if(const Node& n) {
  const graph::IfParts parts = graph::if_parts(n);
  if (auto known = known_condition(parts)) return bufferize_taken_branch(n, *known ? *parts.then : *parts.otherwise);
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
  merge.branch.a = condition;
  merge.branch.has_otherwise = true;
  TRY(in_block(merge.branch.then, [&] { return bufferize_branch(n, *parts.then, merge); }));
  TRY(in_block(merge.branch.otherwise, [&] { return bufferize_branch(n, *parts.otherwise, merge); }));
  finish_merge(n, merge);
  add(std::move(merge.branch));
  return ok();
}

Status Bufferizer::bufferize_require(const Node& n) {
  const uint32_t epoch = new_epoch();
  add(host::Shape{epoch});
  add_check(epoch, graph::constraint_of(n));
  return ok();
}

Status Bufferizer::bufferize_fail(const Node& n) {
  add(host::Fail{{describe(n.loc), n.attrs.string_or("message", ""), {}}});
  return ok();
}

}  // namespace pliant::bufferize
