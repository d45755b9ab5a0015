// Loops of the host. Carried values of a fixed size lie in a buffer of their own, those whose size changes in a growable
// block; the end of an iteration copies what the body yields there, unless the body could write there by itself:
//
//   copy the initial values; index = 0
//   loop index < trip, when the condition holds
//     preheader: the epoch of buffers whose sizes do not change
//     body: the body's epoch; the body; scan values to their place; carried values to theirs
//   while the condition holds
#include <algorithm>

#include "bufferize/loop_state.h"
#include "ops/control/carried.h"

namespace pliant::bufferize {

// Storage of the carried values, with the initial values in it.
void Bufferizer::begin_carried(const Node& n, const graph::LoopParts& loop, LoopState& state) {
  for (size_t k = 0; k < loop.carried; ++k) {
    LoopState::Carried c;
    if (is_list(loop.body->params[k])) {
      move_lists({{loop.init(n, k), loop.body->params[k], true}});
      lists_[n.outputs[k]] = list_of(loop.body->params[k]);
      state.carried.push_back(c);
      continue;
    }
    const TensorType &type = f_.tensor_type(loop.body->params[k]), &init = f_.tensor_type(loop.init(n, k));
    const TensorType& out = f_.tensor_type(n.outputs[k]);
    c.grows = !all_known(type);
    // Appends to a value whose last size is known fill its memory.
    const bool fills = c.grows && all_known(out) && !graph::diverges(*loop.body) && append_of(loop, k) != nullptr;
    if (auto outer = continued_.find(n.outputs[k]); outer != continued_.end()) {
      c.storage = outer->second;
    } else if (!c.grows || fills) {
      c.storage = define_value(n.outputs[k], true);
    } else {
      c.storage = new_grow();
      if (all_known(out)) reserve(c.storage, bytes_of(out), n.loc);
    }
    if (c.grows) reserve(c.storage, bytes_of(init), n.loc);
    copy(storage_of(loop.init(n, k)), c.storage, bytes_of(init));
    for (size_t a = 0; a < type.shape.size(); ++a) {
      auto s = type.shape[a].as_symbol();
      if (!s || slots_.knows(*s) || type.shape[a] == loop.index) continue;
      c.axes.push_back({*s, slots_.add(), a});
      move(c.axes.back().slot, slots_.holding(init.shape[a]));
    }
    state.carried.push_back(std::move(c));
  }
}

// Where the scan values are to lie: in the output when its size is known, else in a growable block.
void Bufferizer::begin_scans(const Node& n, const graph::LoopParts& loop, LoopState& state) {
  for (size_t j = 0; j < loop.scans; ++j) {
    LoopState::Scan scan;
    const ValueId out = n.outputs[loop.carried + j];
    const TensorType& type = f_.tensor_type(out);
    scan.grows = !all_known(type);
    scan.storage = scan.grows ? new_grow() : define_value(out, true);
    for (size_t a = 1; a < type.shape.size(); ++a) {
      auto s = type.shape[a].as_symbol();
      if (!s || slots_.knows(*s)) continue;
      scan.axes.push_back({*s, slots_.add(), a - 1});
      set(scan.axes.back().slot, artifact::imm(0));
    }
    state.scans.push_back(std::move(scan));
  }
}

// Room for what this iteration appends, made before the body so that the body can write there, where the size is known.
void Bufferizer::claim_places(const Node& n, const graph::LoopParts& loop, LoopState& state) {
  const graph::Region& body = *loop.body;
  if (graph::diverges(body)) return;
  for (size_t k = 0; k < loop.carried; ++k) {
    if (is_list(body.params[k])) continue;
    const Storage& to = state.carried[k].storage;
    if (can_overwrite(loop, k, true) || (state.carried[k].grows && appends_inside(loop, k)))
      continued_[ops::source_of(body, loop.next(k))] = to;
    if (!state.carried[k].grows) {
      if (can_overwrite(loop, k, false)) claim(body, loop.next(k), to);
      continue;
    }
    ops::BranchAppends appends;
    if (!ops::appends_in_branches(f_, body, loop.next(k), body.params[k], appends)) continue;
    for (ValueId v : appends.merged) continued_[v] = to;
    for (const auto& [concat, region] : appends.concats) {
      const bool reserved = all_known(f_.tensor_type(concat->outputs[0]));
      appends_[concat->outputs[0]] = {to, reserved};
      if (!reserved) continue;
      reserve(to, bytes_of(f_.tensor_type(concat->outputs[0])), concat->loc);
      Dim offset = bytes_of(f_.tensor_type(concat->inputs[0]));
      for (size_t i = 1; i < concat->inputs.size(); ++i) {
        claim(*region, concat->inputs[i], {to.kind, to.index, offset, true});
        offset = offset + bytes_of(f_.tensor_type(concat->inputs[i]));
      }
    }
  }
  for (size_t j = 0; j < loop.scans; ++j) {
    const TensorType& type = f_.tensor_type(loop.scan(j));
    if (!all_known(type)) continue;
    const Storage place = scan_place(loop, state.scans[j].storage, type);
    if (state.scans[j].grows) reserve(place, (loop.index + 1) * bytes_of(type), n.loc);
    claim(body, loop.scan(j), place);
  }
}

Storage Bufferizer::scan_place(const graph::LoopParts& loop, const Storage& first, const TensorType& type) {
  return {first.kind, first.index, first.offset + loop.index * bytes_of(type), true};
}

void Bufferizer::finish_scans(const Node& n, const graph::LoopParts& loop, LoopState& state) {
  for (size_t j = 0; j < loop.scans; ++j) {
    const LoopState::Scan& scan = state.scans[j];
    const TensorType& type = f_.tensor_type(loop.scan(j));
    // The first iteration says how large the values are, the others must agree.
    if (!scan.axes.empty()) {
      host::If is_first;
      is_first.a = state.index;
      is_first.b = slots_.holding(ctx_.constant(1));
      in_block(is_first.then, [&] {
        for (const auto& axis : scan.axes) move(axis.slot, slots_.holding(type.shape[axis.axis]));
      });
      add(std::move(is_first));
      const uint32_t checks = new_epoch();
      add(host::Shape{checks});
      for (const auto& axis : scan.axes)
        out_.epochs[checks].checks.push_back(
            {artifact::Check::Kind::Equal, artifact::slot(axis.slot), slots_.of(type.shape[axis.axis]), describe(n.loc),
             "a scan output stacks values of one size, but an axis of it was {a} and is now {b}"});
    }
    const Storage place = scan_place(loop, scan.storage, type);
    const Storage& from = storage_of(loop.scan(j));
    if (from == place) continue;
    if (scan.grows) reserve(place, (loop.index + 1) * bytes_of(type), n.loc);
    copy(from, place, bytes_of(type));
  }
}

// The carried values change at once: each is overwritten after the others that are made of it, and what takes part in a
// cycle goes through a buffer.
void Bufferizer::finish_carried(const Node& n, const graph::LoopParts& loop, LoopState& state) {
  struct Move {
    Storage from, to;
    Dim bytes;
  };
  std::vector<Move> moves;
  for (size_t k = 0; k < loop.carried; ++k) {
    if (is_list(loop.body->params[k]) || storage_of(loop.next(k)) == state.carried[k].storage) continue;
    moves.push_back({storage_of(loop.next(k)), state.carried[k].storage, bytes_of(f_.tensor_type(loop.next(k)))});
  }
  auto reads_target_of = [](const Move& m) {
    return [&m](const Move& other) { return &other != &m && other.from.same_memory(m.to); };
  };
  while (!moves.empty()) {
    auto next = std::find_if(moves.begin(), moves.end(),
                             [&](const Move& m) { return std::none_of(moves.begin(), moves.end(), reads_target_of(m)); });
    if (next == moves.end()) {
      next = moves.begin();
      for (Move& m : moves) {
        if (!reads_target_of(*next)(m)) continue;
        const Storage saved = new_buffer(m.bytes);
        copy(m.from, saved, m.bytes);
        m.from = saved;
      }
    }
    reserve(next->to, next->bytes, n.loc);
    copy(next->from, next->to, next->bytes);
    moves.erase(next);
  }
  move_lists(list_moves(*loop.body, 1, loop.body->params));
  move_sizes(loop, state);
}

void Bufferizer::move_sizes(const graph::LoopParts& loop, const LoopState& state) {
  std::vector<std::pair<uint32_t, uint32_t>> moves;
  std::set<uint32_t> overwritten;
  for (size_t k = 0; k < loop.carried; ++k)
    for (const auto& axis : state.carried[k].axes) {
      const uint32_t size = slots_.holding(f_.tensor_type(loop.next(k)).shape[axis.axis]);
      if (size == axis.slot) continue;
      moves.push_back({axis.slot, size});
      overwritten.insert(axis.slot);
    }
  for (auto& [to, size] : moves) {
    if (!overwritten.count(size)) continue;
    const uint32_t saved = slots_.add();
    move(saved, size);
    size = saved;
  }
  for (const auto& [to, size] : moves) move(to, size);
}

artifact::Int Bufferizer::condition_of(ValueId v, const LocPtr& loc) {
  if (v == kNoValue) return artifact::imm(1);
  const graph::ConstantPtr known = constants_[v];
  if (known && known->bytes >= 1) return artifact::imm(*known->data != std::byte{0});
  return artifact::slot(read_slot(v, 0, loc, slots_.add()));
}

// The symbols that are known after the loop, and where its outputs lie.
void Bufferizer::finish_loop(const Node& n, const graph::LoopParts& loop, const LoopState& state) {
  const uint32_t epoch = new_epoch();
  bool fresh = false;
  auto learn = [&](expr::SymbolId s, uint32_t from) {
    if (slots_.knows(s)) return;
    const uint32_t slot = slots_.add();
    move(slot, from);
    slots_.define(s, slot, epoch);
    fresh = true;
  };
  if (auto s = loop.count.as_symbol()) learn(*s, state.index);
  for (size_t k = 0; k < loop.carried; ++k) {
    if (is_list(n.outputs[k])) continue;
    const graph::Shape& shape = f_.tensor_type(n.outputs[k]).shape;
    for (const auto& axis : state.carried[k].axes)
      if (auto s = shape[axis.axis].as_symbol()) learn(*s, axis.slot);
    storage_[n.outputs[k]] = state.carried[k].storage;
  }
  for (size_t j = 0; j < loop.scans; ++j) {
    for (const auto& axis : state.scans[j].axes) learn(axis.symbol, axis.slot);
    storage_[n.outputs[loop.carried + j]] = state.scans[j].storage;
  }
  if (fresh) start_epoch(epoch);
}

Status Bufferizer::bufferize_loop(const Node& n) {
  const graph::LoopParts loop = graph::loop_parts(n);
  const uint32_t outer_epoch = epoch_, outer_first = first_epoch_;
  LoopState state;
  begin_carried(n, loop, state);
  begin_scans(n, loop, state);
  state.index = slots_.add();
  set(state.index, artifact::imm(0));
  host::Loop code;
  code.index = state.index;
  code.enters = condition_of(loop.condition, n.loc);
  if (loop.trip) code.trip = slots_.holding(*loop.trip);
  in_block(code.preheader, [&] { begin_epoch(); });
  first_epoch_ = epoch_;
  TRY(in_block(code.body, [&] { return bufferize_body(n, loop, state, code.continues); }));
  code.where = describe(n.loc);
  add(std::move(code));
  epoch_ = outer_epoch;
  first_epoch_ = outer_first;
  finish_loop(n, loop, state);
  return ok();
}

Status Bufferizer::bufferize_body(const Node& n, const graph::LoopParts& loop, LoopState& state, artifact::Int& continues) {
  const graph::Region& body = *loop.body;
  const uint32_t epoch = new_epoch();
  slots_.define(*loop.index.as_symbol(), state.index, epoch);
  for (size_t k = 0; k < loop.carried; ++k) {
    for (const auto& axis : state.carried[k].axes) slots_.define(axis.symbol, axis.slot, epoch);
    storage_[body.params[k]] = state.carried[k].storage;
  }
  start_epoch(epoch);
  claim_places(n, loop, state);
  share_lists(body);
  TRY(bufferize_nodes(body.nodes, &body));
  if (graph::diverges(body)) return ok();
  finish_scans(n, loop, state);
  // The condition may be a carried value that is overwritten next.
  continues = condition_of(loop.next_condition(), n.loc);
  finish_carried(n, loop, state);
  return ok();
}

// Writes only the new part, behind what the growable block holds.
bool Bufferizer::bufferize_append(const Node& n) {
  if (n.op != "array.concat") return false;
  auto it = appends_.find(n.outputs[0]);
  if (it == appends_.end()) return false;
  const Storage to = it->second.storage;
  Dim offset = bytes_of(f_.tensor_type(n.inputs[0]));
  if (!it->second.reserved) reserve(to, bytes_of(f_.tensor_type(n.outputs[0])), n.loc);
  for (size_t i = 1; i < n.inputs.size(); ++i) {
    const Dim bytes = bytes_of(f_.tensor_type(n.inputs[i]));
    copy(storage_of(n.inputs[i]), {to.kind, to.index, offset, true}, bytes);
    offset = offset + bytes;
  }
  storage_[n.outputs[0]] = to;
  return true;
}

}  // namespace pliant::bufferize
