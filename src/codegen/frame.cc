#include "codegen/frame.h"

#include "loop/walk.h"

namespace pliant::codegen {

using loop::StmtKind;

ScratchLayout scratch_layout(const loop::Function& f, expr::Context& ctx) {
  ScratchLayout layout{{}, ctx.constant(0)};
  loop::for_each(f.body, [&](const loop::Stmt& s) {
    if (s.kind != StmtKind::Alloc || s.alloc->scope != loop::Scope::Scratch) return;
    const loop::Buffer& b = *s.alloc;
    const std::vector<expr::Dim> strides = loop::strides_of(b, ctx);
    expr::Dim elements = ctx.constant(1);
    if (b.strides.empty()) {
      for (expr::Dim d : b.shape) elements = elements * d;
    } else {
      for (size_t i = 0; i < b.shape.size(); ++i) elements = elements + (b.shape[i] - 1) * strides[i];
      elements = expr::max(elements, ctx.constant(0));
    }
    const expr::Dim bytes = elements * byte_size(b.dtype);
    layout.pieces.push_back({b.id, bytes, layout.bytes});
    layout.bytes = layout.bytes + expr::ceildiv(bytes, 64) * 64;
  });
  return layout;
}

}  // namespace pliant::codegen
