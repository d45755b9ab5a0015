#include "bufferize/predict.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "te/cost.h"

namespace pliant::bufferize {

namespace {

// Of the machines that the project is measured on; targets do not tell.
constexpr double kCyclesOfNs = 3.5, kOperationsOfCycle = 2;
constexpr double kL1BytesOfCycle = 64, kL2BytesOfCycle = 32, kL3BytesOfCycle = 20, kMemoryBytesOfCycle = 5;

double bytes_of_cycle(double bytes, const target::Target& target) {
  if (bytes <= static_cast<double>(target.l1_bytes)) return kL1BytesOfCycle;
  if (bytes <= static_cast<double>(target.l2_bytes)) return kL2BytesOfCycle;
  return bytes <= static_cast<double>(target.l3_bytes) ? kL3BytesOfCycle : kMemoryBytesOfCycle;
}

// Operations without reading memory and constants.
int64_t arithmetic_of(expr::Scalar s) {
  int64_t free = 0;
  te::for_each_scalar(s, [&](expr::Scalar t) { free += t->args.empty() ? 1 : 0; });
  return te::cost_of(s) - free;
}

class Operations {
 public:
  Operations(const target::Target& target, const SizeOf& size) : target_(target), size_(size) {}

  double value(expr::Dim d) const {
    const auto v = expr::evaluate(d, [&](expr::SymbolId s) -> std::optional<int64_t> {
      const auto bound = bound_.find(s);
      return bound == bound_.end() ? size_(s) : bound->second;
    });
    return static_cast<double>(v.value_or(1));
  }

  // `lanes`: of the vector loop around; 1 outside.
  double of(const loop::StmtPtr& s, double lanes) {
    using loop::StmtKind;
    switch (s->kind) {
      case StmtKind::Store: {
        // What one instruction has is one, whatever its lanes.
        const double bytes = lanes * static_cast<double>(byte_size(s->value->dtype));
        const bool updates = s->store_kind != loop::StoreKind::Assign;
        const int64_t cost = updates ? std::max<int64_t>(1, arithmetic_of(s->value)) : arithmetic_of(s->value) + 1;
        return static_cast<double>(cost) * std::max(1.0, bytes / static_cast<double>(target_.vector_bytes));
      }
      case StmtKind::For: {
        if (s->for_kind == loop::ForKind::Tensor) return 1;
        const double extent = std::max(0.0, value(s->extent));
        bound_[s->var] = 0;
        if (s->for_kind == loop::ForKind::Vector) return of(s->body[0], extent);
        return extent * of(s->body[0], lanes);
      }
      case StmtKind::If: return std::max(of(s->body[0], lanes), s->body.size() > 1 ? of(s->body[1], lanes) : 0);
      case StmtKind::Let: bound_[s->var] = static_cast<int64_t>(value(s->extent)); return of(s->body[0], lanes);
      case StmtKind::While: bound_[s->var] = 0; return of(s->body[0], lanes);
      case StmtKind::Alloc: return of(s->body[0], lanes);
      case StmtKind::Block: {
        double all = 0;
        for (const loop::StmtPtr& child : s->body) all += of(child, lanes);
        return all;
      }
      case StmtKind::Check: return 1;
    }
    return 0;
  }

 private:
  const target::Target& target_;
  const SizeOf& size_;
  std::map<expr::SymbolId, int64_t> bound_;
};

}  // namespace

int64_t likely_size(const expr::SymbolInfo& info) {
  if (!info.likely.empty()) return info.likely[0];
  const bool is_batch = info.origin.kind == expr::Origin::Kind::InputAxis && info.origin.axis == 0;
  return std::clamp<int64_t>(is_batch ? 1 : 64, info.lo, info.hi);
}

uint64_t predicted_ns(const lower::LoweredKernel& k, const target::Target& target, const SizeOf& size) {
  Operations operations(target, size);
  for (const auto& [left, right] : k.when)
    if (operations.value(left) > operations.value(right)) return 0;
  double bytes = 0;
  for (const loop::Buffer& b : k.function.params) {
    double elements = 1;
    for (expr::Dim d : b.shape) elements *= operations.value(d);
    bytes += elements * static_cast<double>(byte_size(b.dtype));
  }
  const double moving = bytes / bytes_of_cycle(bytes, target);
  const double cycles = std::max({operations.of(k.function.body, 1) / kOperationsOfCycle, moving, 0.0});
  return static_cast<uint64_t>(std::ceil(std::min(cycles / kCyclesOfNs, 1e18)));
}

}  // namespace pliant::bufferize
