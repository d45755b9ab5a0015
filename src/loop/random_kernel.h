// For tests: random kernels as text. Nested loops of every kind around stores whose indices, conditions and values are drawn
// from a grammar that keeps accesses in bounds; `n` is the length of rows, `m` their number.
#pragma once
#include <random>
#include <string>

namespace pliant::loop {

class RandomKernel {
 public:
  explicit RandomKernel(uint32_t seed) : rng_(seed) {}

  std::string text() {
    const int lanes = 1 << pick(1, 5);
    const std::string l = std::to_string(lanes);
    element_ = "o*" + l + " + v";
    std::string body = "if index(" + element_ + ") < index(n) { " + statements(2) + " }";
    std::string loops = "for vector v in " + l + " { " + body + " }";
    if (chance(3)) loops = "for unroll u in 3 { " + loops + " }", has_unroll_ = true;
    // The generator of the body has run: `u` and `r` are 0 where their loops do not exist.
    loops = "for o in floordiv(n + " + std::to_string(lanes - 1) + ", " + l + ") { " + loops + " }";
    return "kernel random(%x: f32[n], %w: f32[3*n + 2], %i: i64[n], %j: i32[n], %b: bool[n], %h: f16[n], %y: f32[m, n] out, "
           "%z: i32[m, n] out, "
           "%s: f32[m] out, %t: f32[m, 2*n] out) { for parallel r in m { " +
           loops + " } }";
  }

 private:
  int pick(int lo, int hi) { return lo + static_cast<int>(rng_() % static_cast<uint32_t>(hi - lo + 1)); }
  bool chance(int one_in) { return pick(1, one_in) == 1; }
  std::string number(int lo, int hi) { return std::to_string(pick(lo, hi)); }

  // An index in [0, n), for n > 0.
  std::string index() {
    switch (pick(0, 9)) {
      case 0: return "n - 1 - " + lane_term();
      case 1: return "mod(" + number(1, 5) + "*(" + element_ + ") + " + number(0, 9) + ", n)";
      case 2: return "floordiv(" + element_ + ", " + number(1, 9) + ")";
      case 3: return "min(" + element_ + " + " + number(0, 5) + ", n - 1)";
      case 4: return "max(" + element_ + " - " + number(0, 5) + ", 0)";
      case 5: return "mod(value(%i[" + element_ + "]), n)";
      case 6: return "mod(r, n)";
      case 7: return "mod(floordiv(" + element_ + ", " + number(1, 4) + ") + r, n)";
      default: return element_;
    }
  }
  std::string lane_term() { return "(" + element_ + ")"; }

  std::string condition(int depth) {
    switch (pick(0, depth > 0 ? 8 : 5)) {
      case 0: return "index(" + element_ + ") < index(" + number(0, 40) + ")";
      case 1: return "%b[" + index() + "]";
      case 2: return "%x[" + index() + "] < " + number(-1, 1) + ".25f32";
      case 3: return "index(mod(" + element_ + ", " + number(2, 5) + ")) == " + number(0, 2) + "i64";
      case 4: return "index(r) <= " + number(0, 3) + "i64";
      case 5: return "index(n - " + number(0, 20) + ") <= index(2*(" + element_ + "))";
      case 6: return "(" + condition(depth - 1) + " && " + condition(depth - 1) + ")";
      case 7: return "(" + condition(depth - 1) + " || " + condition(depth - 1) + ")";
      default: return "not(" + condition(depth - 1) + ")";
    }
  }

  std::string value(int depth) {
    if (depth == 0 || chance(5)) {
      switch (pick(0, 6)) {
        case 0: return number(-3, 3) + ".5f32";
        case 1: return "cast.f32(%h[" + index() + "])";
        case 2: return "cast.f32(%j[" + index() + "])";
        case 3: return "%w[2*(" + element_ + ") + " + number(0, 2) + "]";
        case 4: return "cast.f32(index(mod(" + element_ + ", 7) + r))";
        default: return "%x[" + index() + "]";
      }
    }
    const std::string a = value(depth - 1), b = value(depth - 1);
    switch (pick(0, 9)) {
      case 0: return "(" + a + " + " + b + ")";
      case 1: return "(" + a + " - " + b + ")";
      case 2: return "max(" + a + ", " + b + ")";
      case 3: return "select(" + condition(1) + ", " + a + ", " + b + ")";
      case 4: {
        const std::string k = number(1, 4);
        return "select(" + k + "i64 <= index(" + element_ + "), %x[" + element_ + " - " + k + "], " + b + ")";
      }
      case 5: {
        const std::string k = number(1, 4);
        return "select(index(" + element_ + " + " + k + ") < index(n), %x[" + element_ + " + " + k + "] * 2f32, " + a + ")";
      }
      case 6: return "sqrt(abs(" + a + "))";
      case 7: return "fma(" + a + ", 0.5f32, " + b + ")";
      case 8: return "exp(min(" + a + ", 1f32))";
      default: return "neg(" + a + ")";
    }
  }

  std::string statements(int depth) {
    std::string out;
    for (int k = pick(1, 3); k > 0; --k) out += statement(depth) + " ";
    return out;
  }

  std::string statement(int depth) {
    switch (pick(0, depth > 0 ? 10 : 3)) {
      case 0: return "%y[r, " + element_ + "] = " + value(3);
      case 1: return "%y[r, " + element_ + "] += " + value(2) + " * " + value(1);
      case 2:
        return "%z[r, " + element_ + "] = cast.i32(" + value(2) + ") + %j[" + index() + "] / (%j[" + element_ + "] + 1i32)";
      case 3: return chance(2) ? "%s[r] max= " + value(2) : "%t[r, 2*(" + element_ + ") + 1] = " + value(2);
      case 4: return "if " + condition(1) + " { " + statements(depth - 1) + " }";
      case 5: return "if " + condition(1) + " { " + statements(depth - 1) + " } else { " + statements(depth - 1) + " }";
      case 6: return "for q in mod(n, 4) { %y[r, " + element_ + "] += %x[mod(q + " + element_ + ", n)] * 0.5f32 }";
      case 7: {
        const std::string t = "%t" + std::to_string(++locals_);
        return "local " + t + ": f32[2] { " + t + "[0] = " + value(2) + " " + t + "[1] = " + value(1) + " for q in 3 { " +
               t + "[mod(q, 2)] += " + t + "[1 - mod(q, 2)] * 0.25f32 } %y[r, " + element_ + "] = " + t + "[0] - " + t +
               "[1] }";
      }
      case 8: return state_loop();
      case 9: {
        // What the body writes does not change what was read before.
        const std::string k = "k" + std::to_string(++locals_);
        return "bind " + k + " = mod(value(%i[" + index() + "]), n) { %y[r, " + element_ + "] += %x[" + k + "] " +
               statements(depth - 1) + " %y[r, " + element_ + "] += neg(%x[" + k + "]) }";
      }
      default: return "%t[r, 2*(" + element_ + ")] = " + value(2);
    }
  }

  // A loop that carries a number and the sum, and ends by its limit or by what it computes.
  std::string state_loop() {
    const std::string c = std::to_string(++locals_), t = "%t" + c, i = "i" + c;
    std::string limit = chance(2) ? " in mod(n, 5)" : "";
    std::string condition = limit.empty() || chance(2) ? " when " + t + "[0] < " + number(1, 6) + ".25f32" : "";
    return "local " + t + ": f32[2] { " + t + "[0] = 0f32 " + t + "[1] = " + value(1) + " while " + i + limit + condition +
           " { " + t + "[1] = " + t + "[1] * 0.5f32 + %x[mod(" + i + " + " + element_ + ", n)] " + t + "[0] = " + t +
           "[0] + abs(%x[mod(" + i + ", n)]) + 0.5f32 } %y[r, " + element_ + "] = " + t + "[1] + " + t + "[0] }";
  }

  std::mt19937 rng_;
  std::string element_;
  int locals_ = 0;
  bool has_unroll_ = false;
};

}  // namespace pliant::loop
