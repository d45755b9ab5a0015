#include "emit/emitter.h"
#include "lower/view.h"

namespace pliant::emit {

// Which results a value may be written to directly: the first result that it, or a view of it, is.
void Emitter::plan_results() {
  std::map<ValueId, ValueId> view_of;
  for (const Node& n : f_.nodes)
    if (n.outputs.size() == 1 && lower::is_whole_view(n)) view_of[n.outputs[0]] = n.inputs[0];
  std::set<ValueId> params(f_.params.begin(), f_.params.end());
  for (uint32_t i = 0; i < f_.results.size(); ++i) {
    ValueId v = f_.results[i];
    while (view_of.count(v)) v = view_of[v];
    if (!params.count(v) && !direct_.count(v)) direct_[v] = {Arg::Kind::Output, i, ctx_.constant(0), true};
  }
}

void Emitter::finish_results() {
  for (uint32_t i = 0; i < f_.results.size(); ++i) {
    ValueId v = f_.results[i];
    const TensorType& t = f_.tensor_type(v);
    artifact::TensorDesc d;
    d.name = f_.result_names[i];
    d.dtype = t.dtype;
    for (Dim x : t.shape) d.axes.push_back(axis_of(x));
    prog().outputs.push_back(std::move(d));
    Arg from = arg_of_value(v);
    if (from.kind == Arg::Kind::Output && from.index == i && from.byte_offset == artifact::imm(0)) continue;
    artifact::CopyDesc c;
    c.from = from;
    c.to.kind = Arg::Kind::Output;
    c.to.index = i;
    c.bytes = slots_.of(bytes_of(t.dtype, t.shape));
    prog().copies.push_back(c);
    append(Opcode::Copy, prog().copies.size() - 1);
  }
}

void Emitter::finish_tables() {
  prog().slot_count = slots_.count();
  std::vector<int32_t> symbols = slots_.symbol_slots();
  for (uint32_t e = 0; e < prog().shape_programs.size(); ++e) {
    codegen::ShapeFunction s;
    s.name = "shape_" + std::to_string(e);
    s.assignments = slots_.assignments(e);
    s.symbol_slots = symbols;
    prog().shape_programs[e].has_code = !s.assignments.empty();
    out_.shapes.push_back(std::move(s));
  }
}

}  // namespace pliant::emit

}  // namespace pliant::emit
