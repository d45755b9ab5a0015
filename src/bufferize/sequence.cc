// Sequences and optionals: each lies in a list register, and every operator on them is a call of the runtime. What has a
// tensor's sizes depend on an element is two calls, one that reads the sizes and, in the epoch they begin, one that fills
// the planned memory.
#include <algorithm>

#include "bufferize/bufferizer.h"

namespace pliant::bufferize {
namespace {

// The runtime's modes of a position (runtime/library/list_library.def).
enum class Position : int64_t { End, Integer, Input, Optional };

size_t position_input(const Node& n) { return n.op == "seq.insert" ? 2 : 1; }

bool holds(const std::vector<ValueId>& values, ValueId v) {
  return std::find(values.begin(), values.end(), v) != values.end();
}

bool defines(const graph::Region& r, ValueId v) {
  return holds(r.params, v) ||
         std::any_of(r.nodes.begin(), r.nodes.end(), [&](const Node& n) { return holds(n.outputs, v); });
}

// What the node reads, its regions included.
void add_reads(const Node& n, std::set<ValueId>& reads) {
  reads.insert(n.inputs.begin(), n.inputs.end());
  for (const auto& r : n.regions) {
    reads.insert(r->results.begin(), r->results.end());
    for (const Node& inner : r->nodes) add_reads(inner, reads);
  }
}

bool uses(const Node& n, ValueId v) {
  if (holds(n.inputs, v)) return true;
  for (const auto& r : n.regions)
    if (holds(r->results, v) || std::any_of(r->nodes.begin(), r->nodes.end(), [&](const Node& m) { return uses(m, v); }))
      return true;
  return false;
}

}  // namespace

uint32_t Bufferizer::list_of(ValueId v) {
  auto [it, is_new] = lists_.emplace(v, list_count_);
  if (is_new) ++list_count_;
  return it->second;
}

void Bufferizer::describe_list(artifact::TensorDesc& d, ValueId v) {
  using Kind = artifact::TensorDesc::Kind;
  const graph::Type& type = f_.value(v).type;
  const graph::Type* held = graph::optional_element(type);
  d.kind = held == nullptr ? Kind::Sequence : held->tensor() != nullptr ? Kind::Optional : Kind::OptionalSequence;
  d.list = list_of(v);
  const TensorType& t = graph::element_of(type);
  d.dtype = t.dtype;
  d.any_rank = t.rank != graph::Rank::Known;
  for (Dim x : t.shape) {
    bool is_any = graph::is_any_size(x);
    d.axes.push_back({artifact::imm(x.is_const() ? x.const_value() : artifact::kAnySize), is_any ? "?" : x.str()});
  }
}

host::Library Bufferizer::list_call(const Node& n, const std::string& symbol) {
  host::Library call;
  call.call.symbol = symbol;
  call.call.where = describe(n.loc);
  return call;
}

void Bufferizer::add_tensor_input(host::Library& call, ValueId v) {
  artifact::LibraryCallDesc& x = call.call;
  const TensorType& t = f_.tensor_type(v);
  x.inputs.push_back(arg_of_value(v));
  std::vector<artifact::Int> shape;
  for (Dim d : t.shape) shape.push_back(slots_.of(d));
  x.input_shapes.push_back(std::move(shape));
  x.input_dtypes.push_back(t.dtype);
}

void Bufferizer::add_position(host::Library& call, const Node& n, size_t input) {
  const auto* given = n.attrs.find("position");
  Position mode = n.op == "opt.get"                                        ? Position::Optional
                  : given != nullptr                                       ? Position::Integer
                  : input < n.inputs.size() && n.inputs[input] != kNoValue ? Position::Input
                                                                           : Position::End;
  if (mode == Position::Input) add_tensor_input(call, n.inputs[input]);
  call.call.ints.push_back(artifact::imm(static_cast<int64_t>(mode)));
  call.call.ints.push_back(given != nullptr ? slots_.of(std::get<Dim>(*given)) : artifact::imm(0));
}

// A register is read before any is written: a value that is moved elsewhere and overwritten goes through a spare one.
void Bufferizer::move_lists(const std::vector<ListMove>& moves) {
  auto emit = [&](const char* symbol, std::vector<uint32_t> in, std::vector<uint32_t> out) {
    host::Library call;
    call.call.symbol = symbol;
    call.call.list_inputs = std::move(in);
    call.call.list_outputs = std::move(out);
    add(std::move(call));
  };
  auto is_written = [&](uint32_t r) {
    return std::any_of(moves.begin(), moves.end(), [&](const ListMove& m) { return list_of(m.to) == r; });
  };
  std::map<uint32_t, uint32_t> spare;
  std::set<uint32_t> to_clear;
  for (const ListMove& m : moves) {
    uint32_t from = list_of(m.from), to = list_of(m.to);
    if (from == to) continue;
    if (is_written(from)) {
      if (spare.emplace(from, list_count_).second) emit("sequence_copy", {from}, {list_count_++});
    } else if (!m.keeps) {
      to_clear.insert(from);
    }
  }
  for (const ListMove& m : moves) {
    uint32_t from = list_of(m.from), to = list_of(m.to);
    if (from == to) continue;
    auto it = spare.find(from);
    emit("sequence_copy", {it != spare.end() ? it->second : from}, {to});
  }
  for (const auto& [from, register_] : spare) to_clear.insert(register_);
  for (uint32_t r : to_clear) emit("sequence_clear", {}, {r});
}

std::vector<Bufferizer::ListMove> Bufferizer::list_moves(const graph::Region& from, size_t first,
                                                         const std::vector<ValueId>& to) const {
  std::vector<ListMove> moves;
  for (size_t k = 0; first + k < from.results.size() && k < to.size(); ++k) {
    ValueId v = from.results[first + k];
    if (is_list(to[k])) moves.push_back({v, to[k], !defines(from, v)});
  }
  return moves;
}

void Bufferizer::share_lists(const graph::Region& body) {
  for (size_t k = 0; k + 1 < body.results.size() && k < body.params.size(); ++k) {
    ValueId param = body.params[k], next = body.results[k + 1];
    if (!is_list(param) || std::count(body.results.begin(), body.results.end(), next) != 1) continue;
    size_t at = 0;
    while (at < body.nodes.size() && !holds(body.nodes[at].outputs, next)) ++at;
    if (at == body.nodes.size() || (body.nodes[at].op != "seq.insert" && body.nodes[at].op != "seq.erase")) continue;
    bool is_read_later = holds(body.results, param);
    for (size_t i = at + 1; i < body.nodes.size(); ++i) is_read_later |= uses(body.nodes[i], param);
    if (is_read_later) continue;
    lists_[next] = list_of(param);
    shared_lists_.insert(param);
  }
}

void Bufferizer::drop_lists(const std::vector<Node>& nodes, size_t i, const graph::Region* region) {
  if (lists_.empty() || (region == nullptr && &nodes != &f_.nodes)) return;
  const std::vector<ValueId>& results = region != nullptr ? region->results : f_.results;
  std::set<ValueId> candidates(nodes[i].outputs.begin(), nodes[i].outputs.end());
  add_reads(nodes[i], candidates);
  for (ValueId v : candidates) {
    if (v == kNoValue || !lists_.count(v) || shared_lists_.count(v)) continue;
    bool is_needed = holds(results, v);
    for (size_t k = i + 1; !is_needed && k < nodes.size(); ++k) is_needed = uses(nodes[k], v);
    // What comes from an enclosing scope may be used in the next iteration.
    bool is_own = region != nullptr && holds(region->params, v);
    for (size_t k = 0; !is_own && k <= i; ++k) is_own = holds(nodes[k].outputs, v);
    if (is_needed || !is_own) continue;
    host::Library call = list_call(nodes[i], "sequence_clear");
    call.call.list_outputs = {list_of(v)};
    add(std::move(call));
  }
}

void Bufferizer::bufferize_list_read(const Node& n, const std::string& shape_symbol, const std::string& symbol) {
  ValueId out = n.outputs[0];
  const graph::Shape& shape = f_.tensor_type(out).shape;
  bool joins = n.op == "seq.concat";
  auto begin = [&](const std::string& name) {
    host::Library call = list_call(n, name);
    artifact::LibraryCallDesc& x = call.call;
    x.list_inputs = {list_of(n.inputs[0])};
    if (joins) {
      auto rank = static_cast<int64_t>(shape.size());
      int64_t axis = ops::attrs_of(n).as_int("axis");
      x.ints = {artifact::imm(axis < 0 ? axis + rank : axis), artifact::imm(ops::attrs_of(n).as_bool("new_axis"))};
    } else {
      add_position(call, n, position_input(n));
    }
    return call;
  };
  host::Library sizes_call = begin(shape_symbol);
  artifact::LibraryCallDesc& sizes = sizes_call.call;
  sizes.ints.push_back(artifact::imm(static_cast<int64_t>(shape.size())));
  std::vector<expr::SymbolId> fresh;
  for (size_t k = 0; k < shape.size(); ++k) {
    auto s = shape[k].as_symbol();
    if (!s || slots_.knows(*s)) continue;
    sizes.ints.push_back(artifact::imm(static_cast<int64_t>(k)));
    fresh.push_back(*s);
  }
  if (!fresh.empty()) {
    uint32_t epoch = new_epoch();
    for (expr::SymbolId s : fresh) sizes.result_slots.push_back(slots_.add_symbol(s, epoch));
    add(std::move(sizes_call));
    start_epoch(epoch);
  }
  host::Library call = begin(symbol);
  artifact::LibraryCallDesc& x = call.call;
  for (Dim d : shape) x.ints.push_back(slots_.of(d));
  define_value(out, true);
  x.outputs.push_back(arg_of(storage_[out]));
  x.output_dtypes.push_back(f_.tensor_type(out).dtype);
  add(std::move(call));
}

Status Bufferizer::bufferize_list(const Node& n) {
  ValueId out = n.outputs[0];
  if (n.op == "seq.concat") {
    bufferize_list_read(n, "sequence_concat_shape", "sequence_concat");
    return ok();
  }
  if (n.op == "seq.at" || (n.op == "opt.get" && !is_list(out))) {
    bufferize_list_read(n, "sequence_shape", "sequence_at");
    return ok();
  }
  const std::map<std::string, std::string> symbols{{"seq.empty", "sequence_empty"}, {"seq.insert", "sequence_insert"},
                                                   {"seq.erase", "sequence_erase"}, {"seq.length", "sequence_length"},
                                                   {"seq.split", "sequence_split"}, {"opt.none", "sequence_clear"},
                                                   {"opt.get", "optional_get"},     {"opt.has", "optional_has"}};
  if (n.op == "seq.construct" || n.op == "opt.some") {
    if (is_list(n.inputs[0])) {
      move_lists({{n.inputs[0], out, true}});
      return ok();
    }
    host::Library empty = list_call(n, "sequence_empty");
    empty.call.list_outputs = {list_of(out)};
    add(std::move(empty));
    for (ValueId v : n.inputs) {
      host::Library call = list_call(n, "sequence_insert");
      artifact::LibraryCallDesc& x = call.call;
      add_tensor_input(call, v);
      x.ints = {artifact::imm(static_cast<int64_t>(Position::End)), artifact::imm(0)};
      x.list_inputs = x.list_outputs = {list_of(out)};
      add(std::move(call));
    }
    return ok();
  }
  auto found = symbols.find(n.op);
  PLIANT_CHECK(found != symbols.end()) << "no code for " << n.op;
  host::Library call = list_call(n, found->second);
  artifact::LibraryCallDesc& x = call.call;
  for (ValueId v : n.inputs)
    if (v != kNoValue && is_list(v)) x.list_inputs.push_back(list_of(v));
  if (n.op == "seq.insert") add_tensor_input(call, n.inputs[1]);
  if (n.op == "seq.insert" || n.op == "seq.erase") add_position(call, n, position_input(n));
  if (n.op == "seq.split") {
    for (ValueId v : n.inputs)
      if (v != kNoValue) add_tensor_input(call, v);
    auto rank = static_cast<int64_t>(f_.tensor_type(n.inputs[0]).shape.size());
    int64_t axis = ops::attrs_of(n).as_int("axis");
    const auto* chunk = n.attrs.find("chunk");
    bool keeps = chunk == nullptr || ops::attrs_of(n).as_bool("keepdims") || !std::get<Dim>(*chunk).is_const(1);
    x.ints = {artifact::imm(axis < 0 ? axis + rank : axis), artifact::imm(keeps),
              chunk != nullptr ? slots_.of(std::get<Dim>(*chunk)) : artifact::imm(0)};
  }
  if (is_list(out)) {
    x.list_outputs.push_back(list_of(out));
  } else {
    define_value(out, true);
    x.outputs.push_back(arg_of(storage_[out]));
    x.output_dtypes.push_back(f_.tensor_type(out).dtype);
  }
  add(std::move(call));
  return ok();
}

}  // namespace pliant::bufferize
