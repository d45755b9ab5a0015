// The text of a host module:
//
//   device 1 "gpu"
//   symbol n [0, 100] multiple 4
//   kernel @scale on "cpu" (f32, f32 out) ints (n, m) trap "row {0} is out of bounds" at "node \"x\""
//   constant 0 bytes 4096
//   input "data" f32 [s0 "n", 3] default 0
//   output "list" sequence 2 f32 any_rank
//   bind s0 "n" = input 0 axis 1 in [0, 100] multiple 4
//   function @main slots 12 given 1 grows 1 lists 3 params 0 results 0 {
//     epoch 0 (n = s0) {
//       s1 = floordiv(n, 2)
//       size s2 = 4*n
//       check s1 <= s2 "is {a}, not {b}" at "node \"x\""
//     }
//     buffer 0 bytes s2 epoch 0 device 0
//     result 0 sizes (s3, 4)
//
//     shape 0
//     plan 0
//     alloc %buffer0
//     keep %buffer0
//     launch @scale (%input0, %buffer0+s1) ints (s0, 4) grid s2 work s3 scratch (64) device 0 at "node \"x\""
//     library "sort" (%buffer0 f32 [s0, 3]) to (%buffer1 i64) ints (1) slots (s4) lists (1) to lists (2) at "…"
//     copy %output0 = %buffer0 bytes s2
//     s4 = read i64 %buffer0[3] at "…"
//     s5 = s4
//     reserve %grow0 bytes s2 at "…"
//     call @f (%input0) to (%grow0) ints (s0) sizes (0 1 s6) lists (1 0) to lists (2 1) at "…"
//     fail "{0} is too much" (s4) at "…"
//     if s4 < s5 { … } else { … }
//     loop s5 < s6 when s4 at "…" preheader { … } body { … } while s7
//
// What is empty, 0 or without effect is left out. `s5` is slot 5; numbers elsewhere are immediates.
#include <algorithm>
#include <map>
#include <set>

#include "host/host.h"
#include "host/kinds.h"
#include "loop/lexer.h"
#include "loop/print_expr.h"

namespace pliant::host {
namespace {

using loop::quote_name;
using loop::quote_string;

std::string text(uint32_t n) { return std::to_string(n); }
std::string text(const Int& i) { return (i.is_slot ? "s" : "") + std::to_string(i.value); }
std::string slot_text(uint32_t s) { return "s" + std::to_string(s); }
std::string text(const Arg& a) {
  std::string out = std::string("%") + kArgKinds[static_cast<size_t>(a.kind)] + std::to_string(a.index);
  return a.byte_offset == artifact::imm(0) ? out : out + "+" + text(a.byte_offset);
}
std::string text(const artifact::InvokeDesc::SlotResult& r) { return text(r.from) + " " + text(r.to); }
std::string text(const Call::Size& s) { return text(s.result) + " " + text(s.axis) + " " + slot_text(s.to); }
std::string where_text(const std::string& where) { return where.empty() ? "" : " at " + quote_string(where); }

template <class T>
std::string list(const std::vector<T>& items) {
  std::string out = "(";
  for (size_t i = 0; i < items.size(); ++i) out += (i > 0 ? ", " : "") + text(items[i]);
  return out + ")";
}
template <class T>
std::string optional_list(const char* name, const std::vector<T>& items) {
  return items.empty() ? "" : std::string(" ") + name + " " + list(items);
}

class Printer {
 public:
  Printer(const Module& m, expr::Context& ctx) : m_(m), ctx_(ctx), expr_(ctx) {}

  std::string run() {
    for (size_t i = 1; i < m_.devices.size(); ++i)
      line("device " + std::to_string(i) + " " + quote_string(m_.devices[i].backend));
    symbols();
    for (const Kernel& k : m_.kernels) kernel(k);
    for (size_t i = 0; i < m_.constants.size(); ++i)
      line("constant " + std::to_string(i) + " bytes " + std::to_string(m_.constants[i]));
    for (const artifact::TensorDesc& t : m_.inputs) line("input " + tensor(t));
    for (const artifact::TensorDesc& t : m_.outputs) line("output " + tensor(t));
    for (const artifact::Bind& b : m_.binds) bind(b);
    for (size_t s = 0; s < m_.key_names.size(); ++s) line("key s" + std::to_string(s) + " " + quote_string(m_.key_names[s]));
    for (const Function& f : m_.functions) function(f);
    return std::move(out_);
  }

 private:
  void line(const std::string& s) { out_ += std::string(2 * depth_, ' ') + s + "\n"; }
  void block(const Block& b) {
    ++depth_;
    for (const Instr& i : b) std::visit([&](const auto& op) { instr(op); }, i.op);
    --depth_;
  }

  // Facts of the symbols that dims are made of: the same text must give the same dims.
  void symbols() {
    std::map<std::string, expr::SymbolId> by_name;
    auto add = [&](expr::SymbolId s) { by_name.emplace(ctx_.info(s).name, s); };
    for (const Kernel& k : m_.kernels) std::for_each(k.ints.begin(), k.ints.end(), add);
    for (const Function& f : m_.functions)
      for (const Epoch& e : f.epochs) {
        for (const auto& [s, slot] : e.shape.symbol_slots) add(s);
        for (const loop::Assignment& a : e.shape.assignments)
          for (expr::SymbolId s : expr::symbols_of(a.value)) add(s);
      }
    for (const auto& [name, s] : by_name) {
      const expr::SymbolInfo& info = ctx_.info(s);
      const expr::SymbolInfo usual;
      if (info.lo == usual.lo && info.hi == usual.hi && info.multiple_of == usual.multiple_of) continue;
      line("symbol " + quote_name(name) + range(info.lo, info.hi, info.multiple_of));
    }
  }
  static std::string range(int64_t lo, int64_t hi, int64_t multiple) {
    std::string out = " in [" + std::to_string(lo) + ", " + std::to_string(hi) + "]";
    return multiple == 1 ? out : out + " multiple " + std::to_string(multiple);
  }
  std::string symbol(expr::SymbolId s) const { return quote_name(ctx_.info(s).name); }

  void kernel(const Kernel& k) {
    std::string params, ints;
    for (const Kernel::Param& p : k.params)
      params += (params.empty() ? "" : ", ") + std::string(name_of(p.dtype)) + (p.is_output ? " out" : "");
    for (expr::SymbolId s : k.ints) ints += (ints.empty() ? "" : ", ") + symbol(s);
    kernel_names_.push_back(unique(k.name));
    std::string out = "kernel " + kernel_names_.back() + " on " + quote_string(k.backend) + " (" + params + ")";
    if (!k.ints.empty()) out += " ints (" + ints + ")";
    for (const artifact::TrapDesc& f : k.traps) out += " trap " + quote_string(f.message) + where_text(f.where);
    line(out);
  }
  // Kernels of one name differ by the number behind it.
  std::string unique(const std::string& name) {
    std::string out = name;
    for (uint32_t& k = copies_[name]; !taken_.insert(out).second;) out = name + "." + std::to_string(++k);
    return "@" + quote_name(out);
  }

  std::string tensor(const artifact::TensorDesc& t) const {
    std::string out = quote_string(t.name);
    if (t.kind != artifact::TensorDesc::Kind::Tensor)
      out += std::string(" ") + kTensorKinds[static_cast<size_t>(t.kind)] + " " + text(t.list);
    out += std::string(" ") + name_of(t.dtype);
    if (t.any_rank) return out + " any_rank";
    out += " [";
    for (size_t a = 0; a < t.axes.size(); ++a) {
      const artifact::Axis& axis = t.axes[a];
      const std::string size = text(axis.size);
      out += (a > 0 ? ", " : "") + size + (size == axis.text ? "" : " " + quote_string(axis.text));
    }
    out += "]";
    return t.default_constant < 0 ? out : out + " default " + std::to_string(t.default_constant);
  }
  void bind(const artifact::Bind& b) {
    line("bind " + slot_text(b.slot) + " " + quote_string(b.symbol) + " = input " + text(b.input) +
         (b.is_element ? " element " : " axis ") + text(b.axis) + range(b.lo, b.hi, b.multiple_of));
  }

  void function(const Function& f) {
    line("function @" + quote_name(f.name) + " slots " + text(f.slot_count) + " given " + text(f.given_slots) + " grows " +
         text(f.grow_count) + " lists " + text(f.list_count) + " params " + text(f.param_count) + " results " +
         text(f.result_count) + " {");
    ++depth_;
    for (size_t e = 0; e < f.epochs.size(); ++e) epoch(e, f.epochs[e]);
    for (size_t b = 0; b < f.buffers.size(); ++b) {
      const Buffer& buffer = f.buffers[b];
      line("buffer " + std::to_string(b) + " bytes " + text(buffer.bytes) + " epoch " + text(buffer.epoch) +
           device(buffer.device));
    }
    for (size_t r = 0; r < f.result_sizes.size(); ++r)
      line("result " + std::to_string(r) + " sizes " + list(f.result_sizes[r]));
    --depth_;
    block(f.body);
    line("}");
  }
  static std::string device(uint32_t d) { return d == kHostDevice ? "" : " device " + text(d); }
  void epoch(size_t number, const Epoch& e) {
    std::map<std::string, uint32_t> slots;
    for (const auto& [s, slot] : e.shape.symbol_slots) slots.emplace(symbol(s), slot);
    std::string known;
    for (const auto& [name, slot] : slots) known += (known.empty() ? "" : ", ") + name + " = " + slot_text(slot);
    std::string head = "epoch " + std::to_string(number) + (known.empty() ? "" : " (" + known + ")");
    if (e.shape.assignments.empty() && e.checks.empty()) return line(head + " {}");
    line(head + " {");
    ++depth_;
    for (const loop::Assignment& a : e.shape.assignments)
      line(std::string(a.is_size ? "size " : "") + slot_text(a.slot) + " = " + expr_.dim(a.value));
    for (const artifact::Check& c : e.checks)
      line("check " + text(c.a) + " " + kCheckKinds[static_cast<size_t>(c.kind)] + " " + text(c.b) + " " +
           quote_string(c.message) + where_text(c.where));
    --depth_;
    line("}");
  }

  void instr(const Shape& op) { line("shape " + text(op.epoch)); }
  void instr(const Plan& op) { line("plan " + text(op.epoch)); }
  void instr(const Alloc& op) { line("alloc %buffer" + text(op.buffer)); }
  void instr(const Keep& op) { line("keep %buffer" + text(op.buffer)); }
  void instr(const Set& op) { line(slot_text(op.slot) + " = " + text(op.value)); }
  void instr(const Launch& op) {
    const artifact::CallDesc& c = op.call;
    line("launch " + kernel_names_.at(c.kernel) + " " + list(c.args) + optional_list("ints", c.ints) + " grid " +
         text(c.tasks) + " work " + text(c.work) + optional_list("scratch", c.scratch) + device(op.device) +
         where_text(c.where));
  }
  void instr(const Library& op) {
    const artifact::LibraryCallDesc& x = op.call;
    std::string in, to;
    for (size_t i = 0; i < x.inputs.size(); ++i) {
      in += (i > 0 ? ", " : "") + text(x.inputs[i]) + " " + name_of(x.input_dtypes[i]) + " [";
      for (size_t a = 0; a < x.input_shapes[i].size(); ++a) in += (a > 0 ? ", " : "") + text(x.input_shapes[i][a]);
      in += "]";
    }
    for (size_t i = 0; i < x.outputs.size(); ++i)
      to += (i > 0 ? ", " : "") + text(x.outputs[i]) + " " + name_of(x.output_dtypes[i]);
    std::string slots;
    for (uint32_t s : x.result_slots) slots += (slots.empty() ? "" : ", ") + slot_text(s);
    line("library " + quote_string(x.symbol) + " (" + in + ") to (" + to + ")" + optional_list("ints", x.ints) +
         (slots.empty() ? "" : " slots (" + slots + ")") + optional_list("lists", x.list_inputs) +
         optional_list("to lists", x.list_outputs) + where_text(x.where));
  }
  void instr(const Copy& op) {
    line("copy " + text(op.copy.to) + " = " + text(op.copy.from) + " bytes " + text(op.copy.bytes));
  }
  void instr(const Read& op) {
    const artifact::ReadDesc& r = op.read;
    line(slot_text(r.slot) + " = read " + name_of(r.dtype) + " " + text(r.from) + " [" + text(r.element) + "]" +
         where_text(r.where));
  }
  void instr(const Reserve& op) {
    line("reserve " + text(op.reserve.to) + " bytes " + text(op.reserve.bytes) + where_text(op.reserve.where));
  }
  void instr(const Fail& op) {
    line("fail " + quote_string(op.fail.message) + (op.fail.values.empty() ? "" : " " + list(op.fail.values)) +
         where_text(op.fail.where));
  }
  void instr(const Call& op) {
    line("call @" + quote_name(m_.functions.at(op.function).name) + " " + list(op.args) + " to " + list(op.results) +
         optional_list("ints", op.ints) + optional_list("sizes", op.sizes) + optional_list("lists", op.list_args) +
         optional_list("to lists", op.list_results) + where_text(op.where));
  }
  void instr(const If& op) {
    line("if " + slot_text(op.a) + (op.b ? " < " + slot_text(*op.b) : "") + " {");
    block(op.then);
    if (op.has_otherwise) {
      line("} else {");
      block(op.otherwise);
    }
    line("}");
  }
  void instr(const Loop& op) {
    line("loop " + slot_text(op.index) + (op.trip ? " < " + slot_text(*op.trip) : "") +
         (op.enters == artifact::imm(1) ? "" : " when " + text(op.enters)) + where_text(op.where) + " preheader {");
    block(op.preheader);
    line("} body {");
    block(op.body);
    line("}" + (op.continues == artifact::imm(1) ? "" : " while " + text(op.continues)));
  }

  const Module& m_;
  expr::Context& ctx_;
  loop::ExprPrinter expr_;
  std::string out_;
  size_t depth_ = 0;
  std::vector<std::string> kernel_names_;  // with the @
  std::set<std::string> taken_;
  std::map<std::string, uint32_t> copies_;
};

}  // namespace

std::string print(const Module& module, expr::Context& ctx) { return Printer(module, ctx).run(); }

}  // namespace pliant::host
