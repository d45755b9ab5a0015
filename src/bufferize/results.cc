#include "bufferize/bufferizer.h"
#include "lower/view.h"

namespace pliant::bufferize {

// The first result that a value, or a reshape of it, is may be written to directly.
void Bufferizer::plan_results(Arg::Kind kind) {
  graph::Region whole;
  whole.nodes = f_.nodes;
  for (uint32_t i = 0; i < f_.results.size(); ++i)
    if (!is_list(f_.results[i])) claim(whole, f_.results[i], {kind, i, ctx_.constant(0), true});
}

void Bufferizer::finish_results() {
  for (uint32_t i = 0; i < f_.results.size(); ++i) {
    ValueId v = f_.results[i];
    module().outputs.push_back(describe_value(v, f_.result_names[i]));
    if (is_list(v)) continue;
    Arg from = arg_of_value(v);
    if (from.kind == Arg::Kind::Output && from.index == i && from.byte_offset == artifact::imm(0)) continue;
    artifact::CopyDesc c;
    c.from = from;
    c.to.kind = Arg::Kind::Output;
    c.to.index = i;
    c.bytes = slots_.size_of(bytes_of(f_.tensor_type(v)));
    add(host::Copy{c});
  }
}

// The sizes of an epoch are those that anything behind it needed.
void Bufferizer::finish_function(host::Function& to) {
  for (uint32_t e = 0; e < out_.epochs.size(); ++e) {
    out_.epochs[e].shape.assignments = slots_.assignments(e);
    out_.epochs[e].shape.symbol_slots = slots_.symbol_slots(e);
  }
  out_.name = f_.name;
  out_.slot_count = slots_.count();
  out_.grow_count = grow_count_;
  out_.list_count = list_count_;
  to = std::move(out_);
}

}  // namespace pliant::bufferize
