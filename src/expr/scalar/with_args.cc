#include "expr/scalar/with_args.h"

#include "base/result.h"

namespace pliant::expr {

Scalar with_args(Scalar s, std::span<const Scalar> args) {
  switch (s->kind) {
    case ScalarKind::Unary: return make_unary(s->unary(), args[0]);
    case ScalarKind::Binary: return make_binary(s->binary(), args[0], args[1]);
    case ScalarKind::Select: return make_select(args[0], args[1], args[2]);
    case ScalarKind::Cast: return make_cast(s->dtype, args[0]);
    case ScalarKind::Bitcast: return make_bitcast(s->dtype, args[0]);
    case ScalarKind::Fma: return make_fma(args[0], args[1], args[2]);
    case ScalarKind::Const:
    case ScalarKind::Index:
    case ScalarKind::Load: break;
  }
  PLIANT_CHECK(false) << "a scalar without scalar operands gets none";
  return s;
}

}  // namespace pliant::expr
