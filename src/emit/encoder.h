// One function of the host IR as a range of code.
#pragma once
#include <set>
#include <vector>

#include "emit/emit.h"

namespace pliant::emit {

using artifact::Arg;
using artifact::Opcode;

class Encoder {
 public:
  Encoder(const host::Module& module, const host::Function& f, Emitted& out);
  void run();

 private:
  artifact::Program& prog() { return out_.program; }
  uint32_t position() { return static_cast<uint32_t>(prog().code.size()); }
  // Appends an instruction and gives its position.
  size_t append(Opcode op, size_t a = 0, size_t b = 0, size_t c = 0);
  void jump_here(size_t instruction) { prog().code[instruction].a = position(); }
  void jump_here(const std::vector<size_t>& instructions);
  void number_epochs();
  void add_shapes();
  // Memory that the next instruction names. Buffers are numbered in the function, in the program from first_buffer_ on.
  Arg use(Arg a);
  std::vector<Arg> use(std::vector<Arg> args);

  void block(const host::Block& b);
  void encode(const host::Shape& op);
  void encode(const host::Plan& op);
  void encode(const host::Alloc& op);
  void encode(const host::Keep& op);
  void encode(const host::Set& op);
  void encode(const host::Launch& op);
  void encode(const host::Library& op);
  void encode(const host::Copy& op);
  void encode(const host::Read& op);
  void encode(const host::Reserve& op);
  void encode(const host::Fail& op);
  void encode(const host::Call& op);
  void encode(const host::If& op);
  void encode(const host::Loop& op);
  void end_of_iteration(const host::Loop& op, uint32_t top, std::vector<size_t>& exits);

  const host::Module& module_;
  const host::Function& f_;
  Emitted& out_;
  uint32_t first_buffer_, first_program_;
  std::vector<bool> has_buffers_;        // by epoch
  std::vector<uint32_t> epoch_numbers_;  // those with buffers, without gaps
  // Loops around the code, the outermost first: buffers from before that they use live until they end.
  struct OpenLoop {
    uint32_t begin;
    std::set<uint32_t> outer_buffers;
  };
  std::vector<OpenLoop> open_loops_;
};

}  // namespace pliant::emit
