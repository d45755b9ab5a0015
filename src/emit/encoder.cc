#include "emit/encoder.h"

#include <algorithm>

namespace pliant::emit {

Encoder::Encoder(const host::Module& module, const host::Function& f, Emitted& out)
    : module_(module),
      f_(f),
      out_(out),
      first_buffer_(static_cast<uint32_t>(prog().buffers.size())),
      first_program_(static_cast<uint32_t>(prog().shape_programs.size())) {}

void Encoder::run() {
  number_epochs();
  add_shapes();
  for (const host::Buffer& b : f_.buffers) prog().buffers.push_back({b.bytes, epoch_numbers_[b.epoch], 0, 0});
  block(f_.body);
  append(Opcode::Return);
}

// Epochs begin wherever symbols may become known: most of those inside branches and loops have no sizes to compute and no
// buffers.
void Encoder::number_epochs() {
  has_buffers_.resize(f_.epochs.size());
  for (const host::Buffer& b : f_.buffers) has_buffers_[b.epoch] = true;
  epoch_numbers_.resize(f_.epochs.size());
  uint32_t count = 0;
  for (size_t e = 0; e < f_.epochs.size(); ++e)
    if (has_buffers_[e]) epoch_numbers_[e] = count++;
}

void Encoder::add_shapes() {
  for (const host::Epoch& e : f_.epochs) {
    loop::ShapeFunction s = e.shape;
    s.name = "shape_" + std::to_string(prog().shape_programs.size());
    prog().shape_programs.push_back({0, !s.assignments.empty(), e.checks});
    out_.shapes.push_back(std::move(s));
  }
}

size_t Encoder::append(Opcode op, size_t a, size_t b, size_t c) {
  prog().code.push_back({op, static_cast<uint32_t>(a), static_cast<uint32_t>(b), static_cast<uint32_t>(c)});
  return prog().code.size() - 1;
}

void Encoder::jump_here(const std::vector<size_t>& instructions) {
  for (size_t i : instructions) jump_here(i);
}

Arg Encoder::use(Arg a) {
  if (a.kind != Arg::Kind::Buffer) return a;
  a.index += first_buffer_;
  artifact::BufferDesc& b = prog().buffers[a.index];
  b.last = std::max(b.last, position());
  for (OpenLoop& loop : open_loops_)
    if (b.first < loop.begin) {
      loop.outer_buffers.insert(a.index);
      break;
    }
  return a;
}
std::vector<Arg> Encoder::use(std::vector<Arg> args) {
  for (Arg& a : args) a = use(a);
  return args;
}

void Encoder::block(const host::Block& b) {
  for (const host::Instr& i : b) std::visit([&](const auto& op) { encode(op); }, i.op);
}

void Encoder::encode(const host::Shape& op) {
  const artifact::ShapeProgram& p = prog().shape_programs[first_program_ + op.epoch];
  if (p.has_code || !p.checks.empty()) append(Opcode::Shape, first_program_ + op.epoch);
}
void Encoder::encode(const host::Plan& op) {
  if (has_buffers_[op.epoch]) append(Opcode::Plan, epoch_numbers_[op.epoch]);
}
void Encoder::encode(const host::Alloc& op) {
  artifact::BufferDesc& b = prog().buffers[first_buffer_ + op.buffer];
  b.first = b.last = position();
}
void Encoder::encode(const host::Keep& op) { use({Arg::Kind::Buffer, op.buffer, artifact::imm(0)}); }
void Encoder::encode(const host::Set& op) {
  if (op.value.is_slot) {
    append(Opcode::Move, op.slot, static_cast<size_t>(op.value.value));
    return;
  }
  append(Opcode::LoadImm, op.slot, static_cast<size_t>(op.value.value));
}

void Encoder::encode(const host::Launch& op) {
  artifact::CallDesc c = op.call;
  c.args = use(std::move(c.args));
  prog().calls.push_back(std::move(c));
  append(Opcode::Call, prog().calls.size() - 1);
}
void Encoder::encode(const host::Library& op) {
  artifact::LibraryCallDesc x = op.call;
  x.inputs = use(std::move(x.inputs));
  x.outputs = use(std::move(x.outputs));
  prog().library_calls.push_back(std::move(x));
  append(Opcode::Library, prog().library_calls.size() - 1);
}
void Encoder::encode(const host::Copy& op) {
  prog().copies.push_back({use(op.copy.from), use(op.copy.to), op.copy.bytes});
  append(Opcode::Copy, prog().copies.size() - 1);
}
void Encoder::encode(const host::Read& op) {
  artifact::ReadDesc r = op.read;
  r.from = use(r.from);
  prog().reads.push_back(std::move(r));
  append(Opcode::Read, prog().reads.size() - 1);
}
void Encoder::encode(const host::Reserve& op) {
  prog().reserves.push_back(op.reserve);
  append(Opcode::Reserve, prog().reserves.size() - 1);
}
void Encoder::encode(const host::Fail& op) {
  prog().fails.push_back(op.fail);
  append(Opcode::Fail, prog().fails.size() - 1);
}
void Encoder::encode(const host::Call& op) {
  const host::Function& callee = module_.functions[op.function];
  artifact::InvokeDesc v{op.function - 1, op.ints,      use(op.args),   use(op.results), {},
                         op.where,        op.list_args, op.list_results};
  for (const host::Call::Size& s : op.sizes)
    v.slot_results.push_back({static_cast<uint32_t>(callee.result_sizes[s.result][s.axis].value), s.to});
  prog().invokes.push_back(std::move(v));
  append(Opcode::Invoke, prog().invokes.size() - 1);
}

void Encoder::encode(const host::If& op) {
  const size_t skip = op.b ? append(Opcode::JumpNotLess, 0, op.a, *op.b) : append(Opcode::JumpZero, 0, op.a);
  block(op.then);
  if (!op.has_otherwise) return jump_here(skip);
  std::vector<size_t> leave;
  if (!host::ends_run(op.then)) leave.push_back(append(Opcode::Jump));
  jump_here(skip);
  block(op.otherwise);
  jump_here(leave);
}

void Encoder::encode(const host::Loop& op) {
  std::vector<size_t> exits;
  if (op.enters.is_slot)
    exits.push_back(append(Opcode::JumpZero, 0, static_cast<size_t>(op.enters.value)));
  else if (op.enters.value == 0)
    exits.push_back(append(Opcode::Jump));
  if (op.trip) exits.push_back(append(Opcode::JumpNotLess, 0, op.index, *op.trip));
  block(op.preheader);
  const uint32_t top = position();
  open_loops_.push_back({top, {}});
  block(op.body);
  if (!host::ends_run(op.body)) end_of_iteration(op, top, exits);
  const uint32_t last = position() - 1;
  prog().loops.push_back({top, last, op.index, op.where});
  for (uint32_t b : open_loops_.back().outer_buffers) prog().buffers[b].last = std::max(prog().buffers[b].last, last);
  open_loops_.pop_back();
  jump_here(exits);
}

void Encoder::end_of_iteration(const host::Loop& op, uint32_t top, std::vector<size_t>& exits) {
  const bool goes_on = !op.continues.is_slot && op.continues.value != 0;
  if (goes_on && op.trip) {
    append(Opcode::Next, top, op.index, *op.trip);
    return;
  }
  append(Opcode::AddImm, op.index, op.index, 1);
  if (op.continues.is_slot) {
    exits.push_back(append(Opcode::JumpZero, 0, static_cast<size_t>(op.continues.value)));
    if (op.trip) exits.push_back(append(Opcode::JumpNotLess, 0, op.index, *op.trip));
  } else if (!goes_on) {
    return;
  }
  append(Opcode::Jump, top);
}

}  // namespace pliant::emit
