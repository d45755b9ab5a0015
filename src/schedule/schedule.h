// Schedules: a loop function, rewritten step by step into one that computes the same values in another order. Every
// primitive is checked: it refuses, and leaves the function as it was, when it cannot prove that the result means the same.
// Every primitive that was applied is one line of the trace, and a trace replays to the same function.
//
// Names. Loops are addressed by the names of their variables, buffers by their names. Names are unique inside one Schedule:
// when the function that it starts from uses a name twice, the later ones get `.1`, `.2` … in program order, and so do the
// copies that a primitive makes. The suffix `_1`, `_2` … by which a Context tells equal symbol names apart is not part of a
// name here (though the symbol's whole name works too), so a trace does not depend on what else was compiled before.
//
// Tails. `split` of a loop whose extent E is not known to be a multiple gives the inner loop the exact extent min(factor, E
// - outer*factor). Such a loop becomes constant, which Vector and Unroll need, by one of:
//   mask        constant extent, and an If around its body (`vectorize` does this itself);
//   pad         constant extent and no If, where the extra iterations touch only unused elements of local or scratch tiles;
//   specialize  variants with exact constant extents, chosen by an If chain;
//   partition   a main loop over the full tiles, then the tail.
//
// A register-tiled product, from `for i in m { for j in n { c = 0; for p in k { c += a * b }; c = relu(c + bias) } }`:
//   repack b 1 32 [1, 0, 2] -> bp            b[p, j] is read from bp[j / 32, p, j % 32]
//   split i 14 -> io ii
//   split j 32 -> jo ji
//   reorder jo io ii ji
//   fission ji                               ji, ji.1, ji.2: one loop a statement
//   fission ii
//   reorder p ii.1 ji.1
//   cache_write c at io -> acc local         the last statement writes c from acc
//   pad ji 32
//   pad ji.1 32
//   vectorize ji
//   vectorize ji.1
//   vectorize ji.2                           masked
//   parallel jo
//   parallel io
//   specialize ii at io unroll
#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "loop/loop.h"

namespace pliant::schedule {

using expr::Dim;
using expr::Scalar;
using expr::SymbolId;

struct LoopInfo {
  std::string name;
  SymbolId var;
  Dim extent;
  loop::ForKind kind;
  int depth;  // number of enclosing loops
  loop::StmtPtr loop;
};

// The tiles that a split makes: iteration i of tile o stands for start(o) + i. No tile that there is, is empty.
struct LoopTile {
  SymbolId outer, inner;
  Dim start;
  bool one_outer;  // `start` follows from loop `outer` alone, else from others too
  // What they divide, where that is known; and the widths that they may have, if several.
  Dim extent{};
  std::vector<int64_t> widths{};
  int64_t least = 1;  // iterations that each has
};

// A param whose layout `repack` changed: dim `dim` cut by `factor`, then the dims in this order.
struct Repack {
  size_t param;
  int64_t dim, factor;
  std::vector<int64_t> order;
};

// The last iterations of a vector loop, fewer than there are lanes: one vector behind a mask; ever smaller vectors, each
// where it is needed, which targets without masked memory of small elements take apart less; or one whole vector, whose
// further lanes touch only unused elements of local or scratch tiles, which grow where they need to.
enum class Rest : uint8_t { Masked, Halving, Whole };

// What the iterations do that `pad` adds: the same as the others, on elements that exist; assign zero; or what the last one
// does.
enum class Beyond : uint8_t { Same, Zero, Last };

// What `specialize` makes of the loops that become constant.
enum class Constant : uint8_t { Keep, Unroll };

// Where sums run that have no more terms than a block: in a copy of their loop, or in the loop of the long ones, which takes
// less code.
enum class Short : uint8_t { Copied, Shared };

// What is verified after each primitive: the whole function, or just its statements, which is where primitives that are
// legal alone may not go together. The whole is then verified by `verify`, at the end of a trace.
enum class Verify : uint8_t { Whole, Statements };

class Schedule {
 public:
  Schedule(loop::Function f, expr::Context& ctx, Verify each = Verify::Whole);

  const loop::Function& function() const { return function_; }
  expr::Context& ctx() const { return ctx_; }
  // The lines of the primitives applied so far, each ending in a newline.
  const std::string& trace() const { return trace_; }
  // An error where some primitive broke the function.
  Status verify() const { return loop::verify(function_, ctx_); }
  // The changes of layout so far, in order.
  const std::vector<Repack>& repacks() const { return repacks_; }
  // Applies each line of `trace`; blank lines and those that start with `#` are skipped. Stops at the first that is refused.
  Status replay(std::string_view trace);
  // The loops in program order.
  std::vector<LoopInfo> loops() const;
  bool has_loop(std::string_view name) const { return vars_.find(name) != vars_.end(); }
  bool has_buffer(std::string_view name) const { return buffers_.find(name) != buffers_.end(); }
  const std::string& name_of(loop::BufferId id) const;

  // ---- order and shape of loops

  // `split i 14 -> io ii`: i = io*14 + ii. ii has the extent 14 where 14 divides the extent of i, else min(14, extent -
  // io*14).
  Status split(std::string_view loop, int64_t factor, std::string_view outer, std::string_view inner);
  // `split i [max(1, floordiv(8192, c))] -> io ii`: the same by a size over the kernel's symbols.
  Status split(std::string_view loop, Dim size, std::string_view outer, std::string_view inner);
  // `split_even i 14 -> io ii`: as few tiles of at most 14 as there can be, whose sizes differ by at most one.
  Status split_even(std::string_view loop, int64_t factor, std::string_view outer, std::string_view inner);
  // `split_blocks i 2046 6 -> io ii`: as few blocks of at most so many iterations as there can be. They are as large as each
  // other, but for the last, and a multiple of 6. What they hold at most may be a size over the kernel's symbols.
  Status split_blocks(std::string_view loop, Dim most, int64_t factor, std::string_view outer, std::string_view inner);
  // `split_widths i [32, 16] -> v l`: tiles of 32 iterations, then, where they do not fit, of 16, and one of what is left.
  // v.first and v.size are where a tile starts and its iterations l.
  Status split_widths(std::string_view loop, const std::vector<int64_t>& widths, std::string_view outer,
                      std::string_view inner);
  // `partition_widths v vectorize`: the tiles of each width become a loop of their own, in which the loops over a tile have
  // that width and are vectors, or unrolled. The last tile is masked, or with `back` is as wide as the smallest ones and
  // ends where the last iteration does, where there are so many.
  Status partition_widths(std::string_view loop, loop::ForKind kind, bool reaches_back);
  // `fuse i j -> f`: i holds only j; f runs over both.
  Status fuse(std::string_view outer, std::string_view inner, std::string_view fused);
  // `collapse i j -> f`: as fuse, without divisions: everything that is touched lies at c*(i*E + j) + rest, where E is the
  // extent of j, once the axes that the loops walk through are one axis of each buffer. Params may be given other axes, of
  // the same memory. With an extent of 1 the other loop remains.
  Status collapse(std::string_view outer, std::string_view inner, std::string_view fused);
  // `reorder a b c`: the loops, which are perfectly nested in some order, nest in this one. Loops of that nest that are not
  // named keep their places.
  Status reorder(const std::vector<std::string>& loops);
  // `fission i`: one loop for each statement of the body, also below an If that is all of it. The first keeps the name, the
  // next ones are i.1, i.2 …
  Status fission(std::string_view loop);
  // `transpose k j 8`: loop k holds only loop j, which assigns one element. It is done in blocks of 8 by 8 that are read
  // along k and become rows along j in registers, of vectors of 8.
  Status transpose(std::string_view along, std::string_view across, int64_t lanes);
  // `merge i j`: the two loops, j directly after i and of equal extent, become one loop i over both bodies.
  Status merge(std::string_view first, std::string_view second);

  // `rfactor i 8 at o -> t local`: below loop o, the updates of one element by the iterations of i go in turns to the 8
  // elements of a tile, which are combined after loop o.
  Status rfactor(std::string_view lane, int64_t lanes, std::string_view at, std::string_view name, loop::Scope scope);
  // `rfactor_arg k 8 -> t`: loop k, which keeps the best of the values that it sees and its position (schedule/arg_order.h),
  // keeps 8 of them in turns, which are compared after it.
  Status rfactor_arg(std::string_view loop, int64_t lanes, std::string_view name);
  // `fold j l 16 -> t`: loop j holds just loop l, in which the parts l of a sum j are added to it. The parts of all sums are
  // added by halves, in vectors of up to 16.
  Status fold(std::string_view outer, std::string_view inner, int64_t lanes, std::string_view name);
  // `carry acc at k 256 -> t`: loop k, which does nothing but add to the f32 or f64 elements of acc and store what follows
  // from the sums so far, runs in blocks, so that each element takes at most 256 terms before it is added to a total of f64
  // in t and starts again. Where it is not known that there are more terms, the loop as it was runs for fewer; with `shared`
  // behind it, short sums run in the same loop and have no total, and nothing but sums happens there; what follows loop k
  // and only adds to acc, at most a block, is part of the last block.
  Status carry(std::string_view buffer, std::string_view at, int64_t block, std::string_view name,
               Short how = Short::Copied);

  // `scan k 8`: loop k, which updates a running value and stores what follows from it side by side, takes 8 steps at a time,
  // in registers. What stands before them is kept in f64 where it is a sum of f32.
  Status scan(std::string_view loop, int64_t lanes);

  // `let i at p -> f n`: i runs over a tile of a split. Where the tile starts and how many iterations it has are computed
  // before loop p, which is i or around it, as f and n. What is a symbol or a constant gets no name.
  Status let(std::string_view loop, std::string_view at, std::string_view first, std::string_view count);

  // `version i [n] 48`: where n, a size over the kernel's symbols, is at most 48, loop i runs, else a copy of it, i.1.
  Status version(std::string_view loop, Dim size, int64_t most);

  // `branch l`: stores in loop l of select(c, a, b), where c is the same in all iterations of l, become an If around two.
  Status branch(std::string_view loop);
  // `unswitch l`: what is the same in all iterations of l of the condition that its body is under is asked once.
  Status unswitch(std::string_view loop);
  // `interior k`: the nest of k, loops that hold nothing but each other, does all under one condition. Where that holds for
  // all of its iterations, which one comparison for each of its terms tells, a copy without it runs.
  Status interior(std::string_view loop);
  // `clip k at o`: of the condition that the nest of k is under, the terms that bound k, at whatever the other loops inside
  // o are, become bounds of the loop, which are computed before o.
  Status clip(std::string_view loop, std::string_view at);
  // `cut v -> b m a`: the first condition in the values stored in loop v that compares the place v*W + l, for the lanes l of
  // vectors of W in the body, with what does not change in v: v becomes loop b, in which it is known, m, of the vectors that
  // have places of both kinds, and a, in which it is known to be the other. Without lanes v itself is the place, and there
  // is no m. The values leave out what they no longer need.
  Status cut(std::string_view loop, std::string_view before, std::string_view mixed, std::string_view after);

  // ---- annotations

  Status unroll(std::string_view loop);
  // `outline i`: the code of loop i, which is serial, stands by itself, so that the constants that it needs do not take the
  // registers of the loops beside it.
  Status outline(std::string_view loop);
  // Masks first when the extent is min(constant, …).
  Status vectorize(std::string_view loop);
  // `vectorize i 8 -> v l t`: whole vectors of 8 lanes l in a loop v, then the rest as one masked vector of lanes t; with
  // `halving` behind it as vectors of 4 lanes t, 2 lanes t.1 and one lane t.2, where there are 8; with `whole` it is the
  // last iteration of v, or, where the lanes add what may not exist beyond the last iteration, a vector that adds 0 there.
  // Loops that have no iteration are not made, and a rest that is known is one vector in any case.
  Status vectorize(std::string_view loop, int64_t lanes, std::string_view outer, std::string_view lane,
                   std::string_view tail, Rest rest = Rest::Masked);
  Status parallel(std::string_view loop);
  // `tensorize i dot4`: the nest of loop i, which computes what that instruction of target/instruction.h stands for on
  // operands whose elements lie side by side, becomes the instruction: loop i over its description. What is inside cannot
  // be named any more, and no later primitive may change it. Whether a target has the instruction is asked when code is
  // generated.
  Status tensorize(std::string_view loop, std::string_view instruction);

  // ---- tails

  // `mask i`: extent min(C, X) becomes C, and the body is guarded by i < X.
  Status mask(std::string_view loop);
  // `pad i 16`: an extent that is at most 16 becomes 16 without a guard. Local and scratch tiles that the loop writes grow
  // where they need to. With `zero` the further iterations assign 0, with `last` what the last one does, so that they read
  // nothing else.
  Status pad(std::string_view loop, int64_t width, Beyond beyond = Beyond::Same);
  // `specialize i at o unroll`: below loop o (or at the root: `at root`; or in the first statement where the allocated
  // buffer o is, which computes it; or loop i itself: `at i`), every loop whose extent equals that of i, min(C, X), gets it
  // as a constant, in one copy of o's body for each of `values` (`specialize i at o unroll [32]`), chosen by an If chain
  // whose last branch is the unchanged body; or for each from the least that it can have to C when empty, chosen by halves.
  // The copies of a loop are i.1, i.2 …
  Status specialize(std::string_view loop, std::string_view at, Constant kind, std::vector<int64_t> values = {});
  // `partition o [mod(m, 6)] -> main tail`: `main` runs the first iterations, as many as that size over the kernel's
  // symbols, `tail` the others. Sizes that are the same in all iterations of one of them become constant there, and masks
  // that always hold go: with [floordiv(n, 16)] tiles of 16 of n, `main` runs the full ones.
  Status partition(std::string_view loop, Dim count, std::string_view main, std::string_view tail);
  // `partition o -> main tail`: loop o is over tiles of a split, of which `main` runs those that are full.
  Status partition(std::string_view loop, std::string_view main, std::string_view tail);

  // ---- buffers

  // `cache_write c at o -> acc local`: the body of loop o, or all (`at root`), works on a tile of its own in place of c.
  // The tile is loaded before the body where the body reads c before it has assigned it; after the body it is stored, or,
  // when the last access in the body assigns every element once, that statement writes c itself.
  Status cache_write(std::string_view buffer, std::string_view at, std::string_view name, loop::Scope scope);
  // `cache_read a at o -> t scratch [1, 0]`: the part of a that the body of o reads is copied to a tile first. `order` gives
  // the tile's dims as positions of a's, outermost first; empty keeps them.
  Status cache_read(std::string_view buffer, std::string_view at, std::string_view name, loop::Scope scope,
                    const std::vector<int64_t>& order = {});
  // `repack b 1 32 [1, 0, 2] -> bp`: the param b, which is only read, is given by the caller in another layout: dim 1 is cut
  // into (ceildiv, 32), then the dims are put in this order. Padding elements may have any value. Not where a `collapse`
  // merged its dims.
  Status repack(std::string_view param, int64_t dim, int64_t factor, const std::vector<int64_t>& order,
                std::string_view name);
  // `compute_at t at o`: the nest that assigns the allocated buffer t moves into loop o and computes just the tile that the
  // body of o reads. The tile takes the name t, and the nest has no loop along an axis of which one element is read.
  Status compute_at(std::string_view buffer, std::string_view at);
  // `expand t at i`: the buffer that loop i allocates for each iteration is allocated before it, with one more axis, the
  // first, along which the iterations have parts of their own. `fission` may then part the loop.
  Status expand(std::string_view buffer, std::string_view at);
  // `narrow t at o local`: the allocated buffer t, which is used in loop o alone, is allocated there, without the axes whose
  // index is the variable of o or of a loop between them; each of these loops needs one.
  Status narrow(std::string_view buffer, std::string_view at, loop::Scope scope);
  // `in_place t y`: the allocated buffer t, of the type and shape of output y, lies in y, which is assigned after the other
  // uses of t, each element from the one of t at its place.
  Status in_place(std::string_view buffer, std::string_view result);
  // `bind t local`: puts an allocated buffer elsewhere.
  Status bind(std::string_view buffer, loop::Scope scope);

 private:
  friend class Edit;
  loop::Function function_;
  expr::Context& ctx_;
  Verify each_;
  std::string trace_;
  std::map<std::string, SymbolId, std::less<>> vars_;           // loop names
  std::map<std::string, loop::BufferId, std::less<>> buffers_;  // buffer names
  std::map<SymbolId, Dim> padded_;                              // extents before `pad` and `mask`
  std::vector<LoopTile> tiles_;
  std::vector<Repack> repacks_;
  std::set<loop::BufferId> merged_;  // buffers whose axes `collapse` merged
  std::set<SymbolId> symbols_;       // the kernel's own
  std::set<SymbolId> used_;          // symbols that the function has, or had after some primitive
};

}  // namespace pliant::schedule
