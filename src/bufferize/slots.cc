#include "bufferize/slots.h"

#include <algorithm>

namespace pliant::bufferize {

namespace {
constexpr size_t kLongSum = 8, kLongSums = 4;
}  // namespace

uint32_t Slots::add_symbol(SymbolId s, uint32_t epoch) {
  auto it = by_symbol_.find(s);
  if (it != by_symbol_.end()) return it->second.slot;
  define(s, next_, epoch);
  return next_++;
}

void Slots::define(SymbolId s, uint32_t slot, uint32_t epoch) {
  if (by_symbol_.insert_or_assign(s, Known{slot, epoch}).second) known_.push_back(s);
}

uint32_t Slots::epoch_of(Dim d) const {
  uint32_t epoch = 0;
  for (SymbolId s : expr::symbols_of(d)) {
    auto it = by_symbol_.find(s);
    PLIANT_CHECK(it != by_symbol_.end()) << "size " << d.str() << " uses " << ctx_.info(s).name
                                         << ", which is not known at run time";
    epoch = std::max(epoch, it->second.epoch);
  }
  return epoch;
}

artifact::Int Slots::of(Dim d) {
  if (d.is_const()) return artifact::imm(d.const_value());
  if (auto s = d.as_symbol()) {
    auto it = by_symbol_.find(*s);
    PLIANT_CHECK(it != by_symbol_.end()) << "symbol " << ctx_.info(*s).name << " is not known at run time";
    return artifact::slot(it->second.slot);
  }
  return artifact::slot(holding(d));
}

artifact::Int Slots::size_of(Dim d) {
  if (!d.is_const() && !d.as_symbol()) {
    const Computed& c = computed(d);
    assignments_[c.epoch][c.index].is_size = true;
  }
  return of(d);
}

const Slots::Computed& Slots::computed(Dim d) {
  auto it = by_dim_.find(d);
  if (it != by_dim_.end()) return it->second;
  const uint32_t epoch = epoch_of(d);
  if (assignments_.size() <= epoch) assignments_.resize(epoch + 1);
  const bool is_long = d->terms.size() > kLongSum;
  assignments_[epoch].push_back({next_, is_long ? continued(d) : d});
  const Computed& made = by_dim_[d] = {epoch, next_++, assignments_[epoch].size() - 1};
  if (!is_long) return made;
  expr::SymbolInfo info;
  info.name = "sum";
  info.lo = INT64_MIN;
  const Dim symbol = ctx_.symbol(std::move(info));
  define(*symbol.as_symbol(), made.slot, epoch);
  if (long_sums_.size() == kLongSums) long_sums_.erase(long_sums_.begin());
  long_sums_.push_back({d, symbol, expr::symbols_of(d)});
  return made;
}

Dim Slots::continued(Dim d) {
  Dim best = d;
  const LongSum* from = nullptr;
  const std::vector<SymbolId> symbols = expr::symbols_of(d);
  for (const LongSum& s : long_sums_) {
    const Dim rest = d - s.sum;
    if (rest->terms.size() + 1 >= best->terms.size()) continue;
    // Where the symbols of `d` are known, the epoch of the sum has run.
    if (!std::includes(symbols.begin(), symbols.end(), s.symbols.begin(), s.symbols.end())) continue;
    best = s.symbol + rest;
    from = &s;
  }
  // A sum that overflowed makes those that go on from it overflow.
  if (from != nullptr) {
    const Computed& c = by_dim_.at(from->sum);
    assignments_[c.epoch][c.index].is_size = true;
  }
  return best;
}

uint32_t Slots::holding(Dim d) {
  if (auto s = d.as_symbol()) return static_cast<uint32_t>(of(d).value);
  return computed(d).slot;
}

const std::vector<loop::Assignment>& Slots::assignments(uint32_t epoch) {
  if (assignments_.size() <= epoch) assignments_.resize(epoch + 1);
  return assignments_[epoch];
}

std::unordered_map<SymbolId, uint32_t> Slots::symbol_slots(uint32_t epoch) const {
  std::unordered_map<SymbolId, uint32_t> out;
  if (epoch >= assignments_.size()) return out;
  for (const loop::Assignment& a : assignments_[epoch])
    for (SymbolId s : expr::symbols_of(a.value)) out[s] = by_symbol_.at(s).slot;
  return out;
}

}  // namespace pliant::bufferize
