#include "artifact/sized_output.h"

#include <algorithm>

namespace pliant::artifact {

bool is_sized_by(const std::vector<TensorDesc>& outputs, const LibraryCallDesc& x, const Arg& a) {
  if (a.kind != Arg::Kind::Output || !(a.byte_offset == imm(0)) || a.index >= outputs.size()) return false;
  const std::vector<Axis>& axes = outputs[a.index].axes;
  return std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) {
    return axis.size.is_slot && std::find(x.result_slots.begin(), x.result_slots.end(),
                                          static_cast<uint32_t>(axis.size.value)) != x.result_slots.end();
  });
}

}  // namespace pliant::artifact
