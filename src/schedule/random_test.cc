// Random legal traces on random nests: the scheduled function computes what the unscheduled one does, and its trace replays
// to the same text.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "schedule/equivalence_test.h"

namespace pliant::schedule {
namespace {

constexpr uint64_t kCases = 150;

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {
    const Plan plans[] = {Plan::Tile, Plan::Lanes,  Plan::Dots,    Plan::Turn, Plan::Stencil,
                          Plan::Rows, Plan::Search, Plan::Running, Plan::Taps, Plan::Sums};
    const int64_t plan = pick(0, 17);
    plan_ = plan < 10 ? plans[plan] : Plan::Free;
  }
  int64_t pick(int64_t lo, int64_t hi) { return std::uniform_int_distribution<int64_t>(lo, hi)(random_); }
  template <class T>
  const T& one_of(const std::vector<T>& v) {
    return v[static_cast<size_t>(pick(0, static_cast<int64_t>(v.size()) - 1))];
  }
  std::string size(const std::string& symbol) { return pick(0, 3) ? symbol : std::to_string(pick(1, 20)); }

  std::string kernel() {
    if (plan_ == Plan::Tile) return matmul(true, false);
    if (plan_ == Plan::Lanes) return row_sums();
    if (plan_ == Plan::Dots) return dots();
    if (plan_ == Plan::Turn) return turned();
    if (plan_ == Plan::Stencil) return stencil();
    if (plan_ == Plan::Rows) return rows();
    if (plan_ == Plan::Search) return search();
    if (plan_ == Plan::Running) return running();
    if (plan_ == Plan::Taps) return taps();
    if (plan_ == Plan::Sums) return sums();
    switch (pick(0, 11)) {
      case 11: return taps();
      case 8: return rows();
      case 7: return layers();
      case 0: return matmul(pick(0, 2), pick(0, 1));
      case 1: return stencil();
      case 2: return recurrence();
      case 3: return overlap();
      case 4: return triangle();
      case 5: return window();
      case 6: return row_sums();
      default: return maps();
    }
  }

  std::string step(const Schedule& s);
  // The beginning of a register-tiled kernel, of a reduction in lanes or of one of instructions, which few random traces
  // find.
  std::vector<std::string> recipe() {
    if (plan_ == Plan::Free) return {};
    if (plan_ == Plan::Dots)
      return {pick(0, 1) ? "split i 2 -> io ii" : "reorder o i", pick(0, 1) ? "cache_write c at i -> t local" : "mask i",
              pick(0, 3) ? "tensorize v " + instruction_ : "tensorize v fma_f32"};
    if (plan_ == Plan::Turn) return {"transpose k j " + one_of<std::string>({"2", "4", "8"})};
    if (plan_ == Plan::Stencil)
      return {"split_even i " + std::to_string(pick(1, 5)) + " -> io ii", "compute_at t at ii", "expand t at ii",
              "fission ii"};
    const std::string lanes = std::to_string(pick(1, 9));
    if (plan_ == Plan::Lanes)
      return {"split j " + lanes + " -> jo ji",
              "rfactor ji " + lanes + " at " + std::string(pick(0, 1) ? "jo" : "ji") + " -> part local",
              "vectorize part.in",
              "vectorize ji",
              "vectorize part.out",
              "carry part at jo " + std::to_string(pick(1, 4)) + " -> long" + (pick(0, 1) ? " shared" : "")};
    if (plan_ == Plan::Running) {
      if (pick(0, 1)) return {"scan j " + one_of<std::string>({"2", "4", "8"})};
      const std::string carry = "carry acc at j " + std::to_string(pick(1, 4)) + " -> long";
      if (pick(0, 1)) return {carry};
      return {"split i " + lanes + " -> io ii", "expand acc at ii", "fission ii", "reorder j ii.1", "vectorize ii.1", carry};
    }
    if (plan_ == Plan::Search) {
      const std::string count = one_of<std::string>({"2", "4", "8"});
      return {"rfactor_arg k " + count + " -> q0", "vectorize k " + count + " -> v l t"};
    }
    if (plan_ == Plan::Rows)
      return {pick(0, 3) ? "in_place t y" : "merge i i.1",
              "merge i i.1",
              pick(0, 3) ? "narrow t at i local" : "narrow t at i scratch",
              "rfactor j " + lanes + " at j -> part local",
              pick(0, 1) ? "carry t at j " + lanes + " -> long" : "vectorize j " + lanes + " -> jo jl jt",
              "carry part at jo " + std::to_string(pick(1, 4)) + " -> long",
              "vectorize j.1 " + lanes + " -> ko kl kt"};
    if (plan_ == Plan::Taps) {
      const std::string back = one_of<std::string>({"", " back"}), inner = one_of<std::string>({"p", "q"});
      return {"split_widths i " + one_of<std::string>({"[4, 1]", "[2, 1]", "[3]", "[1]"}) + " -> io ii",
              "reorder j ii",
              "split_widths j " + one_of<std::string>({"[8, 4]", "[6, 3]", "[4]", "[16, 8, 4]"}) + " -> jo ji",
              "reorder ii ji",
              "expand t at ji",
              "fission ji",
              "reorder p q ji.1",
              "expand t at ii",
              "fission ii",
              "reorder p q ii.1",
              "unswitch ji.1",
              pick(0, 1) ? "interior p" : "clip " + inner + " at p",
              "clip " + inner + " at " + one_of<std::string>({"p", inner}),
              "interior " + inner,
              "carry t at p " + std::to_string(pick(1, 8)) + " -> long",
              "interior ii.2",
              "partition_widths jo vectorize" + back,
              "partition_widths io unroll" + back};
    }
    std::string r = std::to_string(pick(1, 5)), c = std::to_string(pick(1, 9));
    if (plan_ == Plan::Sums) return pick(0, 1) ? sums_in_memory(r, c) : sums_in_registers(r, c);
    return {pick(0, 1) ? "split i " + r + " -> io ii" : "split_blocks i " + std::to_string(2 * pick(1, 5)) + " 2 -> io ii",
            "split j " + c + " -> jo ji",
            pick(0, 1) ? "reorder io jo ii ji" : "reorder jo io ii ji",
            pick(0, 1) ? "let ii at ii -> first count" : "let ji at ii -> first count",
            "fission ji",
            "fission ii",
            "reorder p ii.1 ji.1",
            "cache_write c at " + std::string(pick(0, 1) ? "io" : "jo") + " -> acc local",
            "repack b 1 " + c + " [1, 0, 2] -> bp",
            "pad ji " + c,
            "pad ji.1 " + c,
            "vectorize ji.2",
            pick(0, 1) ? "specialize ii at io unroll" : "specialize ji at io keep [" + c + "]",
            "carry acc at p " + std::to_string(pick(1, 4)) + " -> long shared",
            "outline ii.2"};
  }

 private:
  std::vector<std::string> sums_in_memory(const std::string& r, const std::string& c) {
    return {"split z " + std::to_string(pick(3, 12)) + " -> nb cc",
            "split_even u " + r + " -> mt r",
            "reorder nb mt r cc",
            "let cc at mt -> cf cn",
            "compute_at acc at r",
            "fission j",
            "expand acc at r",
            "fission r",
            "vectorize j 4 -> v l t whole",
            "specialize r.1 at r.1 unroll",
            "reorder p j.1 r.1",
            "split p 3 -> ko q",
            "partition ko -> km kr",
            "reorder km j.1 q r.1",
            "carry acc at km " + std::to_string(pick(3, 12)) + " -> long shared",
            "vectorize long.v.1 4 -> v1 l1 t1 whole",
            "vectorize j.1 " + c + " -> v2 l2 t2 whole",
            "vectorize cc 4 -> v3 l3 t3"};
  }
  std::vector<std::string> sums_in_registers(const std::string& r, const std::string& c) {
    const std::string parts = one_of<std::string>({"2", "4", "8"});
    return {"split z " + c + " -> cv cc",
            "split_even u " + r + " -> mt r",
            "reorder cv mt r cc",
            "compute_at acc at r",
            "rfactor p " + parts + " at p -> part local",
            "fission j",
            "expand acc at r",
            "fission r",
            "bind acc local",
            "expand part at j.1",
            "expand part at r.1",
            "fission j.1",
            "fission r.1",
            "reorder p j.2 r.3",
            "pad j.2 " + c + " last",
            "pad j " + c,
            "pad j.1 " + c,
            "pad j.3 " + c,
            "fold j.3 part.out " + one_of<std::string>({"2", "4"}) + " -> folded",
            "vectorize p " + parts + " -> ko kl kt",
            "specialize r at mt unroll",
            "carry part at ko " + std::to_string(pick(1, 4)) + " -> long shared",
            "partition cv -> cw ct"};
  }
  // Sums of products, and what follows from them.
  std::string sums() {
    const std::string m = size("m"), n = size("n"), k = size("k");
    return "kernel sums(%a: f32[" + m + ", " + k + "], %b: f32[" + n + ", " + k + "], %y: f32[" + m + ", " + n +
           "] out) { scratch %acc: f32[" + m + ", " + n + "] { for i in " + m + " { for j in " + n +
           " { %acc[i, j] = 0f32 for p in " + k + " { %acc[i, j] += %a[i, p] * %b[j, p] } } } for u in " + m +
           " { for z in " + n + " { %y[u, z] = %acc[u, z] + 1f32 } } } }";
  }
  std::string matmul(bool init, bool swap) {
    std::string m = size("m"), n = size("n"), k = size("k");
    bool relu = pick(0, 1);
    return "kernel matmul(%a: f32[" + m + ", " + k + "], %b: f32[" + k + ", " + n + "], %c: f32[" + m + ", " + n +
           "] out) { for " + (swap ? "j in " + n + " { for i in " + m : "i in " + m + " { for j in " + n) + " { " +
           (init ? "%c[i, j] = 1f32 " : "") + "for p in " + k + " { %c[i, j] += %a[i, p] * %b[p, j] } " +
           (relu ? "%c[i, j] = max(%c[i, j], 0f32) " : "") + "} } }";
  }
  std::string running() {
    const std::string m = size("m"), n = size("n"), op = one_of<std::string>({"+=", "*=", "max="});
    const bool turned = pick(0, 1), back = pick(0, 1);
    const std::string j = back ? n + " - 1 - j" : "j", at = turned ? "[" + j + ", i]" : "[i, " + j + "]";
    const std::string add = "%acc[0] " + op + " %x" + at, put = "%y" + at + " = %acc[0] + %z[i]";
    const std::string shape = turned ? n + ", " + m : m + ", " + n;
    return "kernel running(%x: f32[" + shape + "], %z: f32[" + m + "], %y: f32[" + shape + "] out) { for i in " + m +
           " { local %acc: f32[1] { %acc[0] = 1f32 for j in " + n + " { " +
           (pick(0, 1) ? add + " " + put : put + " " + add) + " } } } }";
  }
  std::string maps() {
    std::string m = size("m"), n = size("n");
    std::string text = "kernel maps(%x: f32[" + m + ", " + n + "], %u: f32[" + n + ", " + m + "], %y: f32[" + m + ", " + n +
                       "] out, %z: f32[" + n + "] out) { for i in " + m + " { for j in " + n + " { ";
    std::vector<std::string> statements{
        "%y[i, j] = %x[i, j] + %u[j, i]",
        "%y[i, j] += %u[j, i]",
        "%y[i, j] *= %x[i, j]",
        "%z[j] += %x[i, j]",
        "%z[j] max= %y[i, j]",
        "%z[j] = %x[i, j]",
        "%y[i, j] = %y[i, j] - %z[j]",
        "%y[i, j] = select(index(i) < index(3), %x[i, j], %u[j, i])",
        "%y[i, j] += select(%z[j] < 0f32, select(index(j) < index(i), %x[i, j], 1f32), 2f32)"};
    for (int64_t count = pick(1, 3); count > 0; --count) text += one_of(statements) + " ";
    return text + "} } }";
  }
  std::string stencil() {
    std::string h = size("h"), w = size("w");
    std::string consumer = pick(0, 1) ? "%t[i, j] + %t[i + 1, j]" : "%t[i, j] * %t[i, j + 2] - %t[i + 2, j + 1]";
    std::string producer = pick(0, 1) ? "%t[a, b] = %x[a, b] + 1f32"
                                      : "%t[a, b] = 0f32 for q in 3 { %t[a, b] += %x[a, b] * cast.f32(index(q)) }";
    return "kernel stencil(%x: f32[" + h + " + 2, " + w + " + 2], %y: f32[" + h + ", " + w + "] out) { scratch %t: f32[" +
           h + " + 2, " + w + " + 2] { for a in " + h + " + 2 { for b in " + w + " + 2 { " + producer + " } } for i in " +
           h + " { for j in " + w + " { %y[i, j] = " + consumer + " } } } }";
  }
  std::string recurrence() {
    std::string m = size("m"), n = size("n");
    std::vector<std::string> statements{"%y[i, j + 1] = %y[i, j] + %x[i, j]", "%y[i + 1, j] = %y[i, j] * 2f32",
                                        "%y[i + 1, j + 1] = %y[i, j] - %x[i, j]", "%y[i + 1, j] = %y[i, j + 1]"};
    return "kernel recurrence(%x: f32[" + m + ", " + n + "], %y: f32[" + m + " + 1, " + n + " + 1] out) { for i in " + m +
           " { for j in " + n + " { " + one_of(statements) + " " + (pick(0, 1) ? one_of(statements) : "") + " } } }";
  }
  std::string overlap() {
    std::string m = size("m"), n = size("n");
    std::vector<std::string> statements{"%y[i + j] += %x[i, j]", "%y[i] = %x[i, j]", "%y[j] = %x[i, j] + %y[j] * 2f32",
                                        "%y[i + j] max= %x[i, j]"};
    return "kernel overlap(%x: f32[" + m + ", " + n + "], %y: f32[" + m + " + " + n + "] out) { for i in " + m +
           " { for j in " + n + " { " + one_of(statements) + " " + (pick(0, 1) ? one_of(statements) : "") + " } } }";
  }
  std::string triangle() {
    std::string n = size("n");
    return "kernel triangle(%x: f32[" + n + ", " + n + "], %y: f32[" + n + ", " + n + "] out) { for i in " + n +
           " { for j in i + 1 { %y[i, j] = %x[j, i] if index(j) < index(i) { %y[j, i] = %x[i, j] } } } }";
  }
  std::string window() {
    std::string h = size("h");
    return "kernel window(%x: f32[" + h + "*2 + 3, 8], %f: f32[3, 8], %y: f32[" + h + ", 8] out) { for i in " + h +
           " { for c in 8 { %y[i, c] = 0f32 for r in 3 { %y[i, c] += %x[i*2 + r, c] * %f[r, c] } } } }";
  }

  // Windows of 3 rows, which reach over the first and last, by some columns.
  std::string taps() {
    const std::string h = size("m"), w = size("n"), k = one_of<std::string>({"1", "3", "5"}),
                      op = one_of<std::string>({"+=", "+=", "max="});
    const std::string inside = "index(1) <= index(i + p) && index(i + p) < index(" + h + " + 1)";
    const std::string more = one_of<std::string>({"", " && index(q) < index(" + w + ")", " && index(j + 1) <= index(q + 4)",
                                                  " && index(2) <= index(q*2 + i) && index(q*2) < index(i + 5)"});
    const std::string put = pick(0, 1) ? "%y[i, j] = %t[0]" : "if index(j + 2) <= index(" + w + ") { %y[i, j] = %t[0] }";
    return "kernel taps(%x: f32[" + h + ", " + w + " + 5], %y: f32[" + h + ", " + w + "] out) { for i in " + h +
           " { for j in " + w + " { local %t: f32[1] { %t[0] = 0f32 for p in 3 { for q in " + k + " { if " + inside + more +
           " { %t[0] " + op + " %x[i + p - 1, j + q] } } } " + put + " } } } }";
  }

  std::string turned() {
    const std::string k = size("m"), more = one_of<std::string>({"", " * 2f32", " + %x[j, 0]"});
    return "kernel turned(%x: f32[8, " + k + " + 1], %y: f32[" + k + ", 8] out) { for k in " + k +
           " { for j in 8 { %y[k, j] = %x[j, k + 1]" + more + " } } }";
  }

  std::string layers() {
    std::string m = size("m"), n = size("n"), step = pick(0, 1) ? "*2" : "";
    std::string add = one_of<std::string>({"", " + %u[j]", " + %u[i]", " * cast.f32(index(j))"});
    return "kernel layers(%x: f32[3, " + m + ", " + n + step + "], %u: f32[" + m + "], %y: f32[3, " + m + ", " + n +
           "] out) { for k in 3 { for i in " + m + " { for j in " + n + " { %y[k, i, j] = %x[k, i, j" + step + "]" +
           (add == " + %u[j]" ? "" : add) + " } } } }";
  }

  std::string row_sums() {
    std::string m = size("m"), n = size("n"), op = one_of<std::string>({"+=", "max=", "min=", "*="});
    std::string guard = pick(0, 1) ? "" : "if index(j) < index(i) ";
    std::string update = "%y[i] " + op + " %x[i, j]";
    return "kernel row_sums(%x: f32[" + m + ", " + n + "], %y: f32[" + m + "] out) { for i in " + m + " { " +
           (pick(0, 1) ? "%y[i] = 1f32 " : "") + "for j in " + n + " { " +
           (guard.empty() ? update : guard + "{ " + update + " }") + " } } }";
  }

  // Sums of rows, or rows of their own, which what follows reads.
  std::string rows() {
    const std::string m = size("m"), n = size("n");
    if (pick(0, 1))
      return "kernel rows(%x: f32[" + m + ", " + n + " + 3], %y: f32[" + m + ", " + n + "] out) { scratch %t: f32[" + m +
             ", " + n + "] { for i in " + m + " { for j in " + n + " { %t[i, j] = %x[i, j] * 2f32 } } for i.1 in " + m +
             " { for j.1 in " + n + " { %y[i.1, j.1] = %x[i.1, j.1 + 2] - %t[i.1, " +
             one_of<std::string>({"j.1", "j.1", "0"}) + "] } } } }";
    const std::string more = pick(0, 1) ? "for k in 3 { %t[i.1] += %x[i.1, k] } " : "";
    return "kernel rows(%x: f32[" + m + ", " + n + " + 3], %y: f32[" + m + ", " + n + "] out) { scratch %t: f32[" + m +
           "] { for i in " + m + " { %t[i] = 0f32 for j in " + n + " { %t[i] += %x[i, j] } } for i.1 in " + m + " { " +
           more + "for j.1 in " + n + " { %y[i.1, j.1] = %x[i.1, j.1 + 2] * %t[i.1] } } } }";
  }

  // Positions of the best values of rows, which are small integers, so that many are equal.
  std::string search() {
    const std::string m = size("m"), n = size("n"), x = "cast.f32(cast.i32(%x[i, k]))";
    const auto [op, worst] = one_of<std::pair<std::string, std::string>>(
        {{">", "-inf.f32"}, {">=", "-inf.f32"}, {"<", "inf.f32"}, {"<=", "inf.f32"}});
    const std::string nan = op.size() == 2 ? "is_nan(" + x + ")" : "is_nan(" + x + ") && not(is_nan(%best[0]))";
    const std::string taken = x + " " + op + " %best[0] || " + nan;
    return "kernel search(%x: f32[" + m + ", " + n + "], %y: i64[" + m + "] out, %z: f32[" + m + "] out) { for i in " + m +
           " { local %best: f32[1] { local %pos: i64[1] { %best[0] = " + worst + " %pos[0] = 0i64 for k in " + n +
           " { %pos[0] = select(" + taken + ", index(k), %pos[0]) %best[0] = select(" + taken + ", " + x +
           ", %best[0]) } %y[i] = %pos[0] %z[i] = %best[0] } } } }";
  }

  // A row of products by an instruction of 4, 8 or 16 lanes; 12 are those of none but fma_f32.
  std::string dots() {
    struct Row {
      const char *instruction, *a, *b, *c;
      int parts;
    };
    const Row row = one_of<Row>({{"dot4", "u8", "i8", "i32", 4},
                                 {"dot2", "i16", "i16", "i32", 2},
                                 {"dot2_bf16", "bf16", "bf16", "f32", 2},
                                 {"fma_f32", "f32", "f32", "f32", 1}});
    instruction_ = row.instruction;
    const std::string m = size("m"), k = size("k"), p = std::to_string(row.parts),
                      l = one_of<std::string>({"4", "8", "16", "12"});
    auto factor = [&](const std::string& load, const char* type) {
      return std::string(type) == row.c ? load : "cast." + std::string(row.c) + "(" + load + ")";
    };
    const std::string e = row.parts == 1 ? "0" : "e";
    std::string a = factor("%a[i, o*" + p + " + " + e + "]", row.a), b = factor("%b[o, v, " + e + "]", row.b);
    if (pick(0, 1)) std::swap(a, b);
    const std::string sum = "%c[i, v] += " + a + " * " + b;
    return "kernel dots(%a: " + std::string(row.a) + "[" + m + ", " + k + "*" + p + "], %b: " + row.b + "[" + k + ", " + l +
           ", " + p + "], %c: " + row.c + "[" + m + ", " + l + "] out) { for i in " + m + " { for o in " + k +
           " { for v in " + l + " { " + (row.parts == 1 ? sum : "for e in " + p + " { " + sum + " }") + " } } } }";
  }

  std::string fresh() { return "v" + std::to_string(next_++); }
  enum class Plan : uint8_t { Tile, Lanes, Dots, Turn, Stencil, Rows, Search, Running, Taps, Sums, Free } plan_ = Plan::Free;
  std::string instruction_ = "fma_f32";
  std::mt19937_64 random_;
  int next_ = 0;
};

// A line that may or may not be legal.
std::string Generator::step(const Schedule& s) {
  std::vector<std::string> loops, buffers, allocated;
  for (const LoopInfo& l : s.loops()) loops.push_back(l.name);
  for (const loop::Buffer& b : s.function().params) buffers.push_back(b.name);
  std::string text = loop::print(s.function(), s.ctx());
  for (const char* b : {"t", "q0", "q1", "q2"})
    if (text.find(std::string("%") + b + ": ") != std::string::npos) allocated.push_back(b);
  if (loops.empty()) return "";
  std::string l = one_of(loops), other = one_of(loops), factor = std::to_string(pick(1, 9));
  std::string scope = pick(0, 1) ? "local" : "scratch", b = one_of(buffers);
  if (!allocated.empty() && pick(0, 3) == 0) b = one_of(allocated);
  switch (pick(0, 40)) {
    case 0:
    case 1: return "split " + l + " " + factor + " -> " + fresh() + " " + fresh();
    case 2:
      return "split " + l + " [max(1, floordiv(" + std::to_string(pick(1, 40)) + ", max(1, " +
             one_of<std::string>({"m", "n"}) + ")))] -> " + fresh() + " " + fresh();
    case 3: return "split_even " + l + " " + factor + " -> " + fresh() + " " + fresh();
    case 4: {
      const auto k = static_cast<size_t>(pick(0, static_cast<int64_t>(loops.size()) - 1));
      const std::string& next = loops[std::min(k + 1, loops.size() - 1)];
      return (pick(0, 1) ? "fuse " : "collapse ") + loops[k] + " " + next + " -> " + fresh();
    }
    case 5:
    case 6: return "reorder " + l + " " + other;
    case 7: {
      std::shuffle(loops.begin(), loops.end(), random_);
      loops.resize(std::min<size_t>(loops.size(), 4));
      std::string line = "reorder";
      for (const std::string& n : loops) line += " " + n;
      return line;
    }
    case 8:
    case 9: return "fission " + l;
    case 10: {
      // Those that fission parted are the likeliest to go together.
      std::vector<std::string> parted;
      for (const std::string& n : loops)
        if (s.has_loop(n + ".1")) parted.push_back(n);
      if (parted.empty() || pick(0, 3) == 0) return "merge " + l + " " + other;
      const std::string first = one_of(parted);
      return "merge " + first + " " + first + ".1";
    }
    case 11: return "unroll " + l;
    case 12:
      if (pick(0, 2) == 0) return "vectorize " + l;
      if (pick(0, 1)) return "vectorize " + l + " " + factor + " -> " + fresh() + " " + fresh() + " " + fresh();
      return "vectorize " + l + one_of<std::string>({" 2", " 4", " 8"}) + " -> " + fresh() + " " + fresh() + " " + fresh() +
             one_of<std::string>({" halving", " whole"});
    case 13: return "parallel " + l;
    case 14: return "mask " + l;
    case 16:
      return "specialize " + l + " at " + one_of<std::string>({other, b, l, "root"}) + (pick(0, 1) ? " unroll" : " keep") +
             (pick(0, 1) ? "" : " [1, 2]");
    case 18:
      return "cache_write " + b + " at " + (pick(0, 5) ? l : "root") + " -> q" + std::to_string(pick(0, 2)) + " " + scope;
    case 19:
      return "cache_read " + b + " at " + l + " -> q" + std::to_string(pick(0, 2)) + " " + scope +
             (pick(0, 1) ? "" : " [1, 0]");
    case 20: return "repack " + b + " " + std::to_string(pick(0, 1)) + " " + factor + " [1, 0, 2] -> " + fresh();
    case 21:
      if (!allocated.empty()) b = one_of(allocated);
      return "bind " + b + " " + scope;
    case 23:
    case 40: return "branch " + l;
    case 24:
    case 25: return "let " + l + " at " + (pick(0, 2) ? l : other) + " -> " + fresh() + " " + fresh();
    case 26:
      if (pick(0, 1)) return "split_blocks " + l + " " + std::to_string(3 * pick(1, 4)) + " 3 -> " + fresh() + " " + fresh();
      return "split_blocks " + l + " [max(1, floordiv(" + std::to_string(pick(1, 40)) + ", max(1, " +
             one_of<std::string>({"m", "n"}) + ")))] 1 -> " + fresh() + " " + fresh();
    case 27:
      return "partition " + l + " [" +
             one_of<std::string>({"1", "2", "min(m, 3)", "min(n, 2)", "floordiv(m, 2)", "floordiv(n, 4)"}) + "] -> " +
             fresh() + " " + fresh();
    case 15:
    case 17:
    case 28: return "pad " + l + " " + std::to_string(pick(1, 20)) + one_of<std::string>({"", " zero", " last"});
    case 30:
      for (const char* name : {"t", "q0", "q1", "q2"})
        if (pick(0, 1) && text.find(std::string("%") + name + ": ") != std::string::npos) b = name;
      return "expand " + b + " at " + l;
    case 33: return "version " + l + one_of<std::string>({" [m]", " [n]", " [m + n]"}) + " " + std::to_string(pick(0, 20));
    case 35:
      return "split_widths " + l + " " + one_of<std::string>({"[4, 1]", "[8, 4, 2]", "[5]", "[3, 2]"}) + " -> " + fresh() +
             " " + fresh();
    case 36:
      return "partition_widths " + l + one_of<std::string>({" vectorize", " unroll"}) + one_of<std::string>({"", " back"});
    case 37: return one_of<std::string>({"unswitch ", "interior "}) + l;
    case 38: return "clip " + l + " at " + (pick(0, 1) ? l : other);
    case 29: return "transpose " + l + " " + other + one_of<std::string>({" 2", " 4"});
    case 31:
      return pick(0, 1) ? "rfactor " + l + " " + factor + " at " + other + " -> q0 local"
                        : "carry " + b + " at " + l + " " + factor + " -> " + fresh() + (pick(0, 1) ? " shared" : "");
    case 32:
      if (!allocated.empty()) b = one_of(allocated);
      return "narrow " + b + " at " + l + " " + scope;
    case 39: return allocated.empty() ? "branch " + l : "in_place " + one_of(allocated) + " y";
    case 22: return "tensorize " + l + " " + (pick(0, 1) ? instruction_ : "dot4");
    default:
      if (!allocated.empty()) b = one_of(allocated);
      return "compute_at " + b + " at " + l;
  }
}

std::string fault_of(const loop::Function& before, const Schedule& after, uint64_t seed) {
  try {
    auto same = check_equivalence(before, after, seed, 6);
    return same.ok() ? "" : same.error().text();
  } catch (const InternalError& e) {
    return e.what();
  }
}

// The trace applied in a Context of its own.
std::string replayed_text(const std::string& kernel, const std::string& trace, uint64_t seed) {
  expr::Context ctx;
  loop::Function f = loop::parse(kernel, ctx).take();
  Schedule s(f, ctx);
  auto replayed = s.replay(trace);
  EXPECT_TRUE(replayed.ok()) << "seed " << seed << ": " << replayed.error().text() << "\n" << trace;
  EXPECT_EQ(fault_of(f, s, seed), "") << "seed " << seed << ", replayed\n" << trace;
  return loop::print(s.function(), ctx);
}

TEST(ScheduleRandom, LegalTracesKeepTheMeaning) {
  std::map<std::string, int> applied;
  for (uint64_t seed = 0; seed < kCases; ++seed) {
    Generator g(seed);
    std::string text = g.kernel();
    expr::Context ctx;
    auto f = loop::parse(text, ctx);
    ASSERT_TRUE(f.ok()) << f.error().text() << "\n" << text;
    ASSERT_TRUE(loop::verify(f.value(), ctx).ok()) << text;
    Schedule s(f.value(), ctx);
    expr::Context quick_ctx;
    Schedule quick(loop::parse(text, quick_ctx).take(), quick_ctx, Verify::Statements);
    std::vector<std::string> recipe = g.recipe();
    for (size_t k = 0; k < recipe.size() + 25; ++k) {
      std::string line = k < recipe.size() ? recipe[k] : g.step(s), before = loop::print(s.function(), ctx);
      if (before.size() > 20000) break;
      auto r = s.replay(line);
      ASSERT_EQ(quick.replay(line).ok(), r.ok()) << "seed " << seed << ", verified less: " << line << "\n"
                                                 << (r.ok() ? "" : r.error().text()) << "\n"
                                                 << text << "\n"
                                                 << s.trace();
      if (r.ok()) {
        ++applied[line.substr(0, line.find(' '))];
      } else {
        ASSERT_EQ(r.error().diagnostics[0].id.name(), "schedule") << r.error().text();
        ASSERT_EQ(loop::print(s.function(), ctx), before) << "a refused primitive changed the function: " << line;
      }
    }
    // Few nests have a condition to cut at, so that each loop is tried.
    int loops = 0;
    for (const LoopInfo& l : s.loops()) {
      const std::string k = std::to_string(loops++), line = "cut " + l.name + " -> b" + k + " m" + k + " a" + k;
      const bool cuts = s.replay(line).ok();
      ASSERT_EQ(quick.replay(line).ok(), cuts) << line << "\n" << s.trace();
      applied["cut"] += cuts ? 1 : 0;
    }
    ASSERT_EQ(quick.trace(), s.trace());
    ASSERT_TRUE(quick.verify().ok());
    std::string result = loop::print(s.function(), ctx);
    std::string fault = fault_of(f.value(), s, seed);
    ASSERT_EQ(fault, "") << "seed " << seed << "\n" << text << "\n" << s.trace() << "\n" << result;
    auto parsed = loop::parse(result, ctx);
    ASSERT_TRUE(parsed.ok()) << parsed.error().text() << "\n" << result;
    // What the Context has proved before may simplify the same expression further, so that the texts may differ.
    ASSERT_EQ(fault_of(s.function(), Schedule(parsed.value(), ctx), seed), "") << result;

    std::string replayed = replayed_text(text, s.trace(), seed);
    ASSERT_EQ(replayed_text(text, s.trace(), seed), replayed) << s.trace();
  }
  for (const char* primitive :
       {"pad",  "bind",  "merge",  "expand",  "version",  "unswitch",  "transpose",  "cache_write",
        "let",  "scan",  "carry",  "narrow",  "outline",  "in_place",  "split_even", "rfactor_arg",
        "cut",  "clip",  "unroll", "reorder", "collapse", "vectorize", "specialize", "split_blocks",
        "fuse", "fold",  "repack", "fission", "parallel", "partition", "cache_read", "split_widths",
        "mask", "split", "branch", "rfactor", "interior", "tensorize", "compute_at", "partition_widths"})
    EXPECT_GT(applied[primitive], 0) << primitive;
  for (auto& [name, count] : applied) RecordProperty(name, count);
}

}  // namespace
}  // namespace pliant::schedule
