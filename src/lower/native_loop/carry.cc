// What a native loop carries from one iteration to the next, and where it lies.
#include "lower/native_loop/carry.h"

#include <algorithm>

#include "graph/kernel.h"
#include "lower/view.h"
#include "ops/control/carried.h"
#include "te/analysis.h"

namespace pliant::lower {

using graph::LoopParts;
using graph::Node;
using graph::ValueId;

// Whether a node of the region itself computes the value, so that it can be told where to.
bool RegionLowering::is_computed(const graph::Region& r, ValueId v) const {
  for (const Node& n : r.nodes) {
    if (std::find(n.outputs.begin(), n.outputs.end(), v) == n.outputs.end()) continue;
    if (n.op == "core.const" || n.op == "core.loop" || n.op == "core.call") return false;
    return !(n.outputs.size() == 1 && (appends_.count(v) || view_of(n, f_, ctx_)));
  }
  return false;
}

// A value of a few vectors that the body uses more than once is read from registers rather than from where it ends up.
bool RegionLowering::is_better_in_registers(const graph::Region& r, ValueId v) const {
  if (!fits_registers(f_.tensor_type(v).dtype, elements_of(v))) return false;
  int uses = 0;
  for (ValueId x : r.results) uses += ops::source_of(r, x) == v;
  for (const Node& n : r.nodes) {
    for (ValueId x : n.inputs) uses += x != graph::kNoValue && !ops::is_whole_view(n) && ops::source_of(r, x) == v;
    if (!graph::is_kernel(n))
      for (const auto& inner : n.regions) uses += inner != nullptr && ops::uses_any(n, {v});
  }
  return uses > 1;
}

// The next value may overwrite the present one while it is computed: each element depends on no other element of it, and
// nothing looks at the present value, or at a value that shares its memory, from then on.
bool RegionLowering::updates_in_place(const graph::Region& r, const Carried& c) {
  ops::ValueSet same{c.param};
  const Node* producer = ops::last_user_computing(r, c.source, same, [&](const Node& n) {
    return (!n.regions.empty() && !graph::is_kernel(n)) || n.op == "array.concat" || view_of(n, f_, ctx_);
  });
  if (!producer || !is_computed(r, c.source) || producer->op == "core.if") return false;
  const ops::OpDef* op = ops::find_op(producer->op);
  if (!graph::is_kernel(*producer) && (!producer->regions.empty() || !op || !op->compute)) return false;
  for (ValueId v : producer->inputs)
    if (v != c.param && same.count(v)) return false;
  te::Builder builder(ctx_);
  auto defined = ops::define(f_, *producer, builder);
  if (!defined.ok()) return false;
  std::set<expr::TensorId> old;  // the present value, as the producer sees it
  for (size_t i = 0; i < producer->inputs.size(); ++i)
    if (producer->inputs[i] == c.param) old.insert(defined.value().inputs[i]->id);
  std::vector<te::Tensor> others;  // outputs that are computed beside it, at their own time
  for (size_t i = 0; i < producer->outputs.size(); ++i)
    if (producer->outputs[i] != c.source) others.push_back(defined.value().outputs[i]);
  for (const te::Tensor& t : te::stages_of(others))
    for (const te::Tensor& from : t->reads)
      if (old.count(from->id) != 0) return false;
  for (const te::Tensor& t : te::stages_of(defined.value().outputs)) {
    if (t->kind != te::Kind::Map) return false;
    for (const te::Tensor& from : t->reads)
      if ((old.count(from->id) != 0 || from->kind != te::Kind::Input) && !te::reads_in_place(*t, *from)) return false;
  }
  return true;
}

std::vector<RegionLowering::Carried> RegionLowering::carry(const Node& n, const LoopParts& parts) {
  std::vector<Carried> out(parts.carried);
  const graph::Region& r = *parts.body;
  const bool diverges = graph::diverges(r);
  for (size_t i = 0; i < out.size(); ++i) {
    Carried& c = out[i];
    c.init = parts.init(n, i);
    c.param = r.params[i];
    c.next = diverges ? c.param : parts.next(i);
    c.source = ops::source_of(r, c.next);
    c.output = n.outputs[i];
    c.dtype = f_.tensor_type(c.param).dtype;
    Dim elements = elements_of(c.param);
    const bool keeps_size = elements == elements_of(c.next);
    const auto append = ops::append_to(f_, r, c.param, c.next);
    c.kind = c.source == c.param                               ? Carried::Kind::Same
             : append && append->at_end                        ? Carried::Kind::Append
             : keeps_size && fits_registers(c.dtype, elements) ? Carried::Kind::Register
             : keeps_size && updates_in_place(r, c)            ? Carried::Kind::InPlace
             : keeps_size && fits_local(c.dtype, elements)     ? Carried::Kind::Register
                                                               : Carried::Kind::Double;
    for (size_t a = 0; a < f_.tensor_type(c.param).shape.size(); ++a) {
      auto s = f_.tensor_type(c.param).shape[a].as_symbol();
      if (!s || f_.tensor_type(c.init).shape[a] == f_.tensor_type(c.param).shape[a] || s == parts.index.as_symbol())
        continue;
      if (bound_.count(*s)) continue;
      c.sizes.push_back({a, *s, {}});
    }
  }
  return out;
}

// What holds the first value, and those that any iteration begins or ends with.
Result<Dim> RegionLowering::room_of_carried(const Node& n, const Carried& c, const LoopParts& parts) {
  std::optional<Dim> room = room_for(f_.tensor_type(c.init).shape, c.dtype, reach_);
  const Reach inside = reach_of_body(parts);
  for (ValueId v : {c.param, c.next}) {
    const std::optional<Dim> more = room_for(f_.tensor_type(v).shape, c.dtype, inside);
    room = room && more ? std::optional<Dim>(max(*room, *more)) : std::nullopt;
  }
  if (room) return *room;
  return not_native(n, graph::is_unconditional(f_, parts)
                           ? "a carried value has no bound of its size that is known before the loop"
                           : "how often it runs has no small bound, and so the size of what it carries");
}

// Declares the memory of a carried value and fills it with the first one.
Status RegionLowering::place_carried(const Node& n, Carried& c, const LoopParts& parts, Block& out) {
  for (Carried::Size& s : c.sizes) {
    s.place = new_local("size", DType::I64, 1, out);
    out.add(store_first(s.place, expr::make_index(f_.tensor_type(c.init).shape[s.axis])));
  }
  const bool has_place = destinations_.count(c.output) != 0;
  Place init = place_of(c.init);
  switch (c.kind) {
    case Carried::Kind::Same: c.base = init; return ok();
    case Carried::Kind::Register:
      c.base = new_local(name_of(c.param), c.dtype, elements_of(c.param).const_value(), out);
      break;
    case Carried::Kind::Append:
    case Carried::Kind::InPlace:
      c.base = has_place ? destinations_.at(c.output)
                         : declare(name_of(c.param), c.dtype, TRY(room_of_carried(n, c, parts)), out);
      break;
    case Carried::Kind::Double:
      c.half = TRY(room_of_carried(n, c, parts));
      c.base = declare(name_of(c.param), c.dtype, c.half * 2, out);
      break;
  }
  out.add(copy(init, c.base, c.dtype, elements_of(c.init)));
  return ok();
}

void RegionLowering::begin_iteration(std::vector<Carried>& carried, Block& body) {
  Dim index = iterations_.back().index;
  for (Carried& c : carried) {
    for (const Carried::Size& s : c.sizes) {
      bind(s.symbol, expr::value(load_first(s.place, DType::I64)), body);
    }
    places_[c.param] = c.at(index);
  }
}

// Values that a node of the body computes are computed where they are needed next.
void RegionLowering::plan_destinations(const LoopParts& parts, const std::vector<Carried>& carried,
                                       const std::vector<Place>& scans) {
  const graph::Region& r = *parts.body;
  Dim index = iterations_.back().index;
  for (const Carried& c : carried) {
    if (c.kind == Carried::Kind::Append) appends_[c.source] = c.base;
    if ((c.kind == Carried::Kind::Double || c.kind == Carried::Kind::InPlace) && is_computed(r, c.source))
      destinations_.emplace(c.source, c.at(index + 1));
  }
  for (const Node& n : r.nodes)
    for (const Carried& c : carried) {
      if (c.kind != Carried::Kind::Append || n.outputs.size() != 1 || n.outputs[0] != c.source) continue;
      Dim at = elements_of(c.param);
      for (size_t k = 1; k < n.inputs.size(); ++k) {
        ValueId piece = ops::source_of(r, n.inputs[k]);
        if (is_computed(r, piece) && !is_better_in_registers(r, piece))
          destinations_.emplace(piece, Place{c.base.buffer, c.base.offset + at});
        at = at + elements_of(n.inputs[k]);
      }
    }
  for (size_t i = 0; i < scans.size(); ++i) {
    ValueId v = ops::source_of(r, parts.scan(i));
    if (is_computed(r, v) && !is_better_in_registers(r, v))
      destinations_.emplace(v, Place{scans[i].buffer, scans[i].offset + index * elements_of(v)});
  }
}

Status RegionLowering::end_iteration(const Node& n, const LoopParts& parts, const std::vector<Carried>& carried,
                                     const std::vector<Place>& scans, Block& body) {
  Dim index = iterations_.back().index;
  for (size_t i = 0; i < scans.size(); ++i) {
    ValueId v = parts.scan(i);
    if (!f_.value(v).type.tensor()) return not_native(n, "a scan value is no tensor");
    Place to{scans[i].buffer, scans[i].offset + index * elements_of(v)}, from = place_of(v);
    if (from != to) body.add(copy(from, to, f_.tensor_type(v).dtype, elements_of(v)));
  }
  // All next values are read before any is overwritten: those that lie where another present value lies are set aside.
  std::vector<std::pair<const Carried*, Place>> moves;
  for (const Carried& c : carried) {
    for (const Carried::Size& s : c.sizes)
      body.add(store_first(s.place, expr::make_index(f_.tensor_type(c.next).shape[s.axis])));
    if (c.kind == Carried::Kind::Same || c.kind == Carried::Kind::Append) continue;
    Place from = place_of(c.next);
    if (from == c.at(index + 1)) continue;
    const bool clobbered = std::any_of(carried.begin(), carried.end(), [&](const Carried& other) {
      return other.kind == Carried::Kind::Register && other.base.buffer == from.buffer;
    });
    if (clobbered) {
      Place aside = TRY(new_buffer(n, "aside", c.dtype, f_.tensor_type(c.next).shape, body));
      body.add(copy(from, aside, c.dtype, elements_of(c.next)));
      from = aside;
    }
    moves.emplace_back(&c, from);
  }
  for (auto& [c, from] : moves) body.add(copy(from, c->at(index + 1), c->dtype, elements_of(c->next)));
  return ok();
}

// Scan values, stacked along a new outermost axis.
Result<std::vector<Place>> RegionLowering::place_scans(const Node& n, const LoopParts& parts, Block& out) {
  std::vector<Place> scans;
  const bool counts = !graph::is_unconditional(f_, parts);
  for (size_t i = 0; i < parts.scans && !graph::diverges(*parts.body); ++i) {
    ValueId v = n.outputs[parts.carried + i], from = parts.scan(i);
    if (!f_.value(from).type.tensor()) return not_native(n, "a scan value is no tensor");
    if (destinations_.count(v)) {
      scans.push_back(destinations_.at(v));
    } else {
      graph::Shape shape = f_.tensor_type(from).shape;
      shape.insert(shape.begin(), parts.count);
      const DType t = f_.tensor_type(v).dtype;
      const std::optional<Dim> room = room_for(shape, t, reach_of_body(parts));
      if (!room)
        return not_native(n, counts ? "how often it runs has no small bound, and so the size of what it collects"
                                    : "a scan value has no bound of its size that is known before the loop");
      scans.push_back(declare(name_of(v), t, *room, out));
    }
    places_[v] = scans.back();
  }
  return scans;
}

void RegionLowering::finish_carried(const Carried& c, Dim count, Block& out) {
  Place last = c.at(count);
  for (const Carried::Size& s : c.sizes) {
    auto symbol = f_.tensor_type(c.output).shape[s.axis].as_symbol();
    if (symbol && bounds_.binds(*symbol)) bind(*symbol, expr::value(load_first(s.place, DType::I64)), out);
  }
  auto wanted = destinations_.find(c.output);
  if (wanted != destinations_.end() && wanted->second.buffer != last.buffer) {
    out.add(copy(last, wanted->second, c.dtype, elements_of(c.output)));
    last = wanted->second;
  }
  places_[c.output] = last;
}

}  // namespace pliant::lower
