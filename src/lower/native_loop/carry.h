// A carried value of a native loop.
#pragma once
#include "lower/native_loop/region.h"

namespace pliant::lower {

struct RegionLowering::Carried {
  enum class Kind : uint8_t {
    Same,      // the body passes it on: the first value is the last
    Append,    // grows at the end of one buffer
    Register,  // a small value of constant size: the next one is copied over it
    InPlace,   // the next one is computed over it
    Double,    // two halves in turn: the value of iteration i is in half mod(i, 2)
  };
  // An axis whose size the iterations change.
  struct Size {
    size_t axis;
    SymbolId symbol;  // in the param's type
    Place place;      // i64
  };
  Kind kind = Kind::Same;
  graph::ValueId init = 0, param = 0, next = 0, output = 0;
  graph::ValueId source = 0;  // what `next` is, seen through views
  DType dtype = DType::F32;
  Place base;
  Dim half;  // Double: elements of a half
  std::vector<Size> sizes;
  // Where the value is that iteration `index` begins with.
  Place at(Dim index) const { return kind == Kind::Double ? Place{base.buffer, base.offset + mod(index, 2) * half} : base; }
};

}  // namespace pliant::lower
