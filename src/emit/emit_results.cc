#include "emit/emitter.h"
#include "lower/view.h"

namespace pliant::emit {

// The first result that a value, or a reshape of it, is may be written to directly.
void Emitter::plan_results(Arg::Kind kind) {
  graph::Region whole;
  whole.nodes = f_.nodes;
  for (uint32_t i = 0; i < f_.results.size(); ++i)
    if (!is_list(f_.results[i])) claim(whole, f_.results[i], {kind, i, ctx_.constant(0), true});
}

void Emitter::finish_results() {
  for (uint32_t i = 0; i < f_.results.size(); ++i) {
    ValueId v = f_.results[i];
    prog().outputs.push_back(describe_value(v, f_.result_names[i]));
    if (is_list(v)) continue;
    Arg from = arg_of_value(v);
    if (from.kind == Arg::Kind::Output && from.index == i && from.byte_offset == artifact::imm(0)) continue;
    artifact::CopyDesc c;
    c.from = from;
    c.to.kind = Arg::Kind::Output;
    c.to.index = i;
    c.bytes = slots_.size_of(bytes_of(f_.tensor_type(v)));
    prog().copies.push_back(c);
    append(Opcode::Copy, prog().copies.size() - 1);
  }
}

void Emitter::finish_tables() {
  for (uint32_t p = first_program_; p < prog().shape_programs.size(); ++p) {
    codegen::ShapeFunction s;
    s.name = "shape_" + std::to_string(p);
    s.assignments = slots_.assignments(p - first_program_);
    s.symbol_slots = slots_.symbol_slots(p - first_program_);
    prog().shape_programs[p].has_code = !s.assignments.empty();
    unit_.out.shapes.push_back(std::move(s));
  }
  compact();
}

}  // namespace pliant::emit
