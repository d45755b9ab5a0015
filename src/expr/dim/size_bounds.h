// Bounds of sizes inside a native loop, in terms of what is known before it.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "expr/expr.h"

namespace pliant::expr {

// Symbols that the loop binds are `inner`; a bound holds at every point that runs and is over outer symbols only. At points
// that do not run nothing holds: a bound may then have any value, also a negative one.
class SizeBounds {
 public:
  explicit SizeBounds(Context& ctx) : ctx_(ctx) {}

  enum class Kind : uint8_t {
    Index,  // of a loop that runs to its limit
    Idle,   // the index or count of a loop that a condition may end long before its limit
    Data,   // whatever memory holds
  };
  void add(SymbolId s, Kind kind, std::optional<Dim> upper);
  bool binds(SymbolId s) const { return symbols_.count(s) != 0; }
  bool uses_inner(Dim d) const;
  // Neither inner symbols nor memory.
  bool is_outer(Dim d) const;

  struct Query {
    bool limits = false;     // whether limits of loops that may end earlier count as bounds
    bool is_reached = true;  // out: the bound is what some point that runs needs, where all loops around it run
  };
  std::optional<Dim> upper(Dim d, Query& q) const { return bound(d, Side::Upper, q); }

 private:
  enum class Side : uint8_t { Lower, Upper };
  static Side other(Side s) { return s == Side::Upper ? Side::Lower : Side::Upper; }
  struct Symbol {
    Kind kind = Kind::Data;
    std::optional<Dim> upper;
    size_t order = 0;  // outer loops' first
  };
  std::optional<Dim> bound(Dim d, Side side, Query& q) const;
  std::optional<Dim> of_symbol(SymbolId s, Side side, Query& q) const;
  // d with one inner symbol replaced; nothing where d is not known to rise or fall with any.
  std::optional<Dim> eliminate(Dim d, Side side, Query& q) const;
  std::optional<Dim> of_terms(Dim d, Side side, Query& q) const;
  std::optional<Dim> of_product(const Monomial& m, Side side, Query& q) const;
  std::optional<Dim> of_atom(const Atom& a, Side side, Query& q) const;
  std::optional<Dim> of_quotient(const Atom& a, Side side, Query& q) const;
  std::optional<Dim> of_remainder(const Atom& a, Side side, Query& q) const;
  // Of min, max and broadcast. `all`: every argument has to have a bound.
  std::optional<Dim> of_extremum(const Atom& a, Side side, bool all, Query& q) const;
  std::optional<Dim> of_range(Dim d, Side side, Query& q) const;
  bool is_nonnegative(Dim d) const;

  Context& ctx_;
  std::map<SymbolId, Symbol> symbols_;
};

}  // namespace pliant::expr
