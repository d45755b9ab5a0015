#include <algorithm>

#include "emit/emitter.h"

namespace pliant::emit {

using artifact::Instr;

namespace {

bool has_target(Opcode op) {
  return op == Opcode::Jump || op == Opcode::JumpZero || op == Opcode::JumpNotLess || op == Opcode::Next;
}

}  // namespace

// Epochs are begun wherever symbols may become known: most of those inside arms and loops turn out to have no sizes to
// compute and no buffers. Only this function's code, which is the end of the program's, is looked at.
void Emitter::compact() {
  std::vector<Instr>& code = prog().code;
  const size_t n = code.size() - first_code_;
  std::vector<bool> has_buffers;
  for (size_t b = first_buffer_; b < prog().buffers.size(); ++b) {
    const uint32_t epoch = prog().buffers[b].epoch;
    if (epoch >= has_buffers.size()) has_buffers.resize(epoch + 1);
    has_buffers[epoch] = true;
  }
  std::vector<uint32_t> epoch_numbers(has_buffers.size());
  uint32_t epochs = 0;
  for (size_t e = 0; e < has_buffers.size(); ++e) epoch_numbers[e] = has_buffers[e] ? epochs++ : 0;
  auto is_idle = [&](const Instr& in) {
    if (in.op == Opcode::Plan) return in.a >= has_buffers.size() || !has_buffers[in.a];
    if (in.op != Opcode::Shape) return false;
    const artifact::ShapeProgram& p = prog().shape_programs[in.a];
    return !p.has_code && p.checks.empty();
  };
  // places[i]: where instruction i, or the first kept one after it, comes to lie.
  std::vector<uint32_t> places(n + 1);
  uint32_t next = first_code_;
  for (size_t i = 0; i < n; ++i) {
    places[i] = next;
    next += !is_idle(code[first_code_ + i]);
  }
  places[n] = next;
  auto place = [&](uint32_t at) { return places[at - first_code_]; };
  std::vector<Instr> kept;
  for (size_t i = 0; i < n; ++i) {
    Instr in = code[first_code_ + i];
    if (is_idle(in)) continue;
    if (has_target(in.op)) in.a = place(in.a);
    if (in.op == Opcode::Plan) in.a = epoch_numbers[in.a];
    kept.push_back(in);
  }
  code.resize(first_code_);
  code.insert(code.end(), kept.begin(), kept.end());
  const uint32_t end = position() - 1;
  for (size_t b = first_buffer_; b < prog().buffers.size(); ++b) {
    artifact::BufferDesc& d = prog().buffers[b];
    d.first = std::min(place(d.first), end);
    d.last = std::min(place(d.last), end);
    d.epoch = epoch_numbers[d.epoch];
  }
  for (artifact::LoopDesc& l : prog().loops) {
    if (l.first < first_code_) continue;
    l.first = std::min(place(l.first), end);
    l.last = std::min(place(l.last), end);
  }
}

}  // namespace pliant::emit
