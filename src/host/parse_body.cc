#include "host/parse_body.h"

namespace pliant::host {

Result<Block> BodyParser::block() {
  TRY(r_.in.enter());
  Block out;
  while (!r_.accept("}")) out.push_back(TRY(instr()));
  r_.in.leave();
  return out;
}

Result<Instr> BodyParser::instr() {
  if (r_.is_slot()) return slot_instr();
  if (r_.accept("shape")) return Instr{Shape{TRY(r_.index())}};
  if (r_.accept("plan")) return Instr{Plan{TRY(r_.index())}};
  if (r_.accept("alloc")) return Instr{Alloc{TRY(buffer())}};
  if (r_.accept("keep")) return Instr{Keep{TRY(buffer())}};
  if (r_.accept("launch")) return launch();
  if (r_.accept("library")) return library();
  if (r_.accept("copy")) return copy();
  if (r_.accept("reserve")) {
    artifact::ReserveDesc d;
    d.to = TRY(r_.arg());
    TRY(r_.in.expect("bytes"));
    d.bytes = TRY(r_.int_value());
    d.where = TRY(r_.where());
    return Instr{Reserve{std::move(d)}};
  }
  if (r_.accept("fail")) return fail_instr();
  if (r_.accept("call")) return call();
  if (r_.accept("if")) return if_instr();
  if (r_.accept("loop")) return loop();
  return r_.fail("expected an instruction");
}

Result<uint32_t> BodyParser::buffer() {
  const Arg a = TRY(r_.arg());
  if (a.kind != Arg::Kind::Buffer || a.byte_offset != artifact::imm(0)) return r_.fail("expected a buffer");
  return a.index;
}

Result<Instr> BodyParser::slot_instr() {
  const uint32_t to = TRY(r_.slot());
  TRY(r_.in.expect("="));
  if (!r_.accept("read")) return Instr{Set{to, TRY(r_.int_value())}};
  artifact::ReadDesc d;
  d.slot = to;
  d.dtype = TRY(r_.dtype());
  d.from = TRY(r_.arg());
  d.element = TRY(r_.index_after("["));
  TRY(r_.in.expect("]"));
  d.where = TRY(r_.where());
  return Instr{Read{std::move(d)}};
}

Result<Instr> BodyParser::launch() {
  Launch l;
  TRY(r_.in.expect("@"));
  const auto kernel = kernels_.find(TRY(r_.in.name()));
  if (kernel == kernels_.end()) return r_.fail("there is no such kernel");
  artifact::CallDesc& c = l.call;
  c.kernel = kernel->second;
  c.args = TRY(r_.args());
  if (r_.accept("ints")) c.ints = TRY(r_.ints());
  TRY(r_.in.expect("grid"));
  c.tasks = TRY(r_.int_value());
  TRY(r_.in.expect("work"));
  c.work = TRY(r_.int_value());
  if (r_.accept("scratch")) c.scratch = TRY(r_.ints());
  if (r_.accept("device")) l.device = TRY(r_.index());
  c.where = TRY(r_.where());
  return Instr{std::move(l)};
}

Result<Instr> BodyParser::library() {
  artifact::LibraryCallDesc x;
  x.symbol = TRY(r_.quoted());
  auto input = [&]() -> Result<Arg> {
    const Arg a = TRY(r_.arg());
    x.input_dtypes.push_back(TRY(r_.dtype()));
    x.input_shapes.push_back(TRY(r_.list<Int>("[", "]", [&] { return r_.int_value(); })));
    return a;
  };
  auto output = [&]() -> Result<Arg> {
    const Arg a = TRY(r_.arg());
    x.output_dtypes.push_back(TRY(r_.dtype()));
    return a;
  };
  x.inputs = TRY(r_.list<Arg>("(", ")", input));
  TRY(r_.in.expect("to"));
  x.outputs = TRY(r_.list<Arg>("(", ")", output));
  if (r_.accept("ints")) x.ints = TRY(r_.ints());
  if (r_.accept("slots")) x.result_slots = TRY(r_.list<uint32_t>("(", ")", [&] { return r_.slot(); }));
  auto registers = [&] { return r_.list<uint32_t>("(", ")", [&] { return r_.index(); }); };
  if (r_.accept("lists")) x.list_inputs = TRY(registers());
  if (r_.accept("to")) {
    TRY(r_.in.expect("lists"));
    x.list_outputs = TRY(registers());
  }
  x.where = TRY(r_.where());
  return Instr{Library{std::move(x)}};
}

Result<Instr> BodyParser::copy() {
  artifact::CopyDesc d;
  d.to = TRY(r_.arg());
  TRY(r_.in.expect("="));
  d.from = TRY(r_.arg());
  TRY(r_.in.expect("bytes"));
  d.bytes = TRY(r_.int_value());
  return Instr{Copy{d}};
}

Result<std::vector<artifact::InvokeDesc::SlotResult>> BodyParser::moves() {
  return r_.list<artifact::InvokeDesc::SlotResult>("(", ")", [&]() -> Result<artifact::InvokeDesc::SlotResult> {
    const uint32_t from = TRY(r_.index());
    return artifact::InvokeDesc::SlotResult{from, TRY(r_.index())};
  });
}

Result<Instr> BodyParser::call() {
  Call c;
  TRY(r_.in.expect("@"));
  c.function = static_cast<uint32_t>(callees_.size());
  callees_.push_back(TRY(r_.in.name()));
  c.args = TRY(r_.args());
  TRY(r_.in.expect("to"));
  c.results = TRY(r_.args());
  if (r_.accept("ints")) c.ints = TRY(r_.ints());
  auto size = [&]() -> Result<Call::Size> {
    const uint32_t result = TRY(r_.index()), axis = TRY(r_.index());
    return Call::Size{result, axis, TRY(r_.slot())};
  };
  if (r_.accept("sizes")) c.sizes = TRY(r_.list<Call::Size>("(", ")", size));
  if (r_.accept("lists")) c.list_args = TRY(moves());
  if (r_.accept("to")) {
    TRY(r_.in.expect("lists"));
    c.list_results = TRY(moves());
  }
  c.where = TRY(r_.where());
  return Instr{std::move(c)};
}

Result<Instr> BodyParser::fail_instr() {
  artifact::FailDesc d;
  d.message = TRY(r_.quoted());
  if (r_.in.lex.is("(")) d.values = TRY(r_.ints());
  d.where = TRY(r_.where());
  return Instr{Fail{std::move(d)}};
}

Result<Instr> BodyParser::if_instr() {
  If c;
  c.a = TRY(r_.slot());
  if (r_.accept("<")) c.b = TRY(r_.slot());
  TRY(r_.in.expect("{"));
  c.then = TRY(block());
  if (r_.accept("else")) {
    TRY(r_.in.expect("{"));
    c.has_otherwise = true;
    c.otherwise = TRY(block());
  }
  return Instr{std::move(c)};
}

Result<Instr> BodyParser::loop() {
  Loop l;
  l.index = TRY(r_.slot());
  if (r_.accept("<")) l.trip = TRY(r_.slot());
  if (r_.accept("when")) l.enters = TRY(r_.int_value());
  l.where = TRY(r_.where());
  TRY(r_.in.expect("preheader"));
  TRY(r_.in.expect("{"));
  l.preheader = TRY(block());
  TRY(r_.in.expect("body"));
  TRY(r_.in.expect("{"));
  l.body = TRY(block());
  if (r_.accept("while")) l.continues = TRY(r_.int_value());
  return Instr{std::move(l)};
}

}  // namespace pliant::host
