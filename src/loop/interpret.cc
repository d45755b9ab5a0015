// The oracle: runs the serial scalar program. Expressions are compiled to flat code once; statements are walked.
#include <map>
#include <optional>

#include "expr/scalar/fold.h"
#include "loop/loop.h"
#include "loop/scalar_code.h"
#include "loop/walk.h"

namespace pliant::loop {
namespace {

// A statement with its expressions compiled.
struct Step {
  const Stmt* stmt = nullptr;
  Code code;            // computes the registers below
  Code condition;       // While: computes `holds`, before each iteration
  Reg var = 0;          // For, While, Let
  Reg value = 0;        // Store, If, Check; For, While, Let: the extent
  Reg holds = 0;        // While
  uint32_t access = 0;  // Store
  DType dtype = DType::F32;
  std::optional<expr::BinaryOp> update;  // Store
  std::vector<Reg> values;               // Check; Alloc: shape, then strides
  uint32_t buffer = 0;                   // Alloc
  std::vector<Step> body;
};

class Interpreter {
 public:
  Interpreter(const Function& f, expr::Context& ctx) : f_(f), ctx_(ctx), builder_(machine_) { machine_.kernel = f.name; }

  Status run(const std::vector<std::pair<SymbolId, int64_t>>& symbols, const std::vector<void*>& buffers) {
    bind(symbols);
    PLIANT_CHECK(buffers.size() == f_.params.size())
        << "kernel " << f_.name << " has " << f_.params.size() << " params, got " << buffers.size();
    for (size_t k = 0; k < buffers.size(); ++k) {
      uint32_t at = builder_.add_buffer(f_.params[k]);
      Code code;
      std::vector<Reg> sizes = layout(f_.params[k], code);
      machine_.run(code);
      set_layout(at, sizes);
      machine_.memories[at].data = static_cast<std::byte*>(buffers[k]);
    }
    Step root = compile(*f_.body);
    if (execute(root)) return ok();
    return std::move(*trap_);
  }

 private:
  void bind(const std::vector<std::pair<SymbolId, int64_t>>& symbols) {
    std::map<SymbolId, int64_t> values(symbols.begin(), symbols.end());
    for (SymbolId s : free_symbols(f_))
      PLIANT_CHECK(values.count(s)) << "symbol " << ctx_.info(s).name << " of kernel " << f_.name << " has no value";
    for (auto [s, v] : values) {
      Reg r = builder_.symbol(s);
      machine_.regs[r] = static_cast<uint64_t>(v);
    }
  }

  std::vector<Reg> layout(const Buffer& b, Code& code) {
    builder_.begin(code);
    std::vector<Reg> out;
    for (Dim d : b.shape) out.push_back(builder_.dim(d));
    for (Dim d : strides_of(b, ctx_)) out.push_back(builder_.dim(d));
    return out;
  }

  void set_layout(uint32_t buffer, const std::vector<Reg>& sizes) {
    Memory& m = machine_.memories[buffer];
    size_t rank = m.extents.size();
    for (size_t k = 0; k < rank; ++k) {
      m.extents[k] = static_cast<int64_t>(machine_.regs[sizes[k]]);
      m.strides[k] = static_cast<int64_t>(machine_.regs[sizes[rank + k]]);
    }
  }

  Step compile(const Stmt& s) {
    Step step{.stmt = &s};
    builder_.begin(step.code);
    switch (s.kind) {
      case StmtKind::Block: break;
      case StmtKind::For:
        step.var = builder_.symbol(s.var);
        step.value = builder_.dim(s.extent);
        break;
      case StmtKind::Let:
        step.var = builder_.symbol(s.var);
        step.value = builder_.dim(s.extent);
        break;
      case StmtKind::While:
        step.var = builder_.symbol(s.var);
        if (s.extent) step.value = builder_.dim(s.extent);
        if (!s.value) break;
        builder_.begin(step.condition);
        step.holds = builder_.scalar(s.value);
        break;
      case StmtKind::Store:
        step.access = builder_.access(s.buffer, s.index);
        step.value = builder_.scalar(s.value);
        step.dtype = s.value.dtype();
        step.update = update_of(s.store_kind);
        break;
      case StmtKind::If: step.value = builder_.scalar(s.value); break;
      case StmtKind::Alloc:
        step.buffer = builder_.add_buffer(*s.alloc);
        step.values = layout(*s.alloc, step.code);
        break;
      case StmtKind::Check:
        step.value = builder_.scalar(s.value);
        for (Dim d : s.index) step.values.push_back(builder_.dim(d));
        break;
    }
    for (const StmtPtr& child : s.body) step.body.push_back(compile(*child));
    return step;
  }

  // False when a Check stopped the kernel; trap_ is set then.
  bool execute(const Step& s) {
    if (!s.code.empty()) machine_.run(s.code);
    auto value = [&] { return machine_.regs[s.value]; };
    switch (s.stmt->kind) {
      case StmtKind::Block:
        for (const Step& child : s.body)
          if (!execute(child)) return false;
        return true;
      case StmtKind::For: {
        auto extent = static_cast<int64_t>(value());
        for (int64_t i = 0; i < extent; ++i) {
          machine_.regs[s.var] = static_cast<uint64_t>(i);
          if (!execute(s.body[0])) return false;
        }
        return true;
      }
      case StmtKind::Let: machine_.regs[s.var] = value(); return execute(s.body[0]);
      case StmtKind::While: return loop_while(s);
      case StmtKind::Store: {
        std::byte* p = machine_.address(machine_.accesses[s.access]);
        uint64_t bits = value();
        if (s.update) bits = expr::fold_binary(*s.update, s.dtype, read_element(p, s.dtype), bits);
        write_element(p, s.dtype, bits);
        return true;
      }
      case StmtKind::If:
        if (value()) return execute(s.body[0]);
        return s.body.size() == 1 || execute(s.body[1]);
      case StmtKind::Alloc: return allocate(s);
      case StmtKind::Check:
        if (value()) return true;
        report(s);
        return false;
    }
    return true;
  }

  bool loop_while(const Step& s) {
    const bool limited = static_cast<bool>(s.stmt->extent), conditional = static_cast<bool>(s.stmt->value);
    const auto limit = static_cast<int64_t>(machine_.regs[s.value]);
    for (int64_t i = 0;; ++i) {
      machine_.regs[s.var] = static_cast<uint64_t>(i);
      if (conditional) {
        machine_.run(s.condition);
        if (!machine_.regs[s.holds]) return true;
      }
      if (limited && i >= limit) return true;
      if (!execute(s.body[0])) return false;
    }
  }

  bool allocate(const Step& s) {
    set_layout(s.buffer, s.values);
    Memory& m = machine_.memories[s.buffer];
    int64_t last = 0;
    bool empty = false;
    for (size_t k = 0; k < m.extents.size(); ++k) {
      last += (m.extents[k] - 1) * m.strides[k];
      empty |= m.extents[k] <= 0;
    }
    // Uninitialised memory reads as NaN, or as -1.
    std::vector<std::byte> data(empty ? 0 : static_cast<size_t>((last + 1) * byte_size(s.stmt->alloc->dtype)),
                                std::byte{0xff});
    m.data = data.data();
    return execute(s.body[0]);
  }

  void report(const Step& s) {
    const Trap& trap = f_.traps[s.stmt->trap];
    std::string message = trap.message;
    for (size_t k = 0; k < s.values.size(); ++k) {
      std::string mark = "{" + std::to_string(k) + "}",
                  text = std::to_string(static_cast<int64_t>(machine_.regs[s.values[k]]));
      for (size_t at = message.find(mark); at != std::string::npos; at = message.find(mark, at + text.size()))
        message.replace(at, mark.size(), text);
    }
    trap_ = make_error("run-time-check", trap.loc ? describe(trap.loc) : "", message);
  }

  const Function& f_;
  expr::Context& ctx_;
  Machine machine_;
  CodeBuilder builder_;
  std::optional<Error> trap_;
};

}  // namespace

Status interpret(const Function& f, expr::Context& ctx, const std::vector<std::pair<SymbolId, int64_t>>& symbols,
                 const std::vector<void*>& buffers) {
  return Interpreter(f, ctx).run(symbols, buffers);
}

}  // namespace pliant::loop
