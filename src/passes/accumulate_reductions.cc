// A reduction of what a loop stacks or appends, over the axis that grows, is accumulated while the loop runs: the pieces are
// combined as they are made, and the whole is not read again. Where nothing else uses the whole, it is not stored at all.
// The other axes are reduced after the loop, so that the work of an iteration stays elementwise. Sums of f32 are accumulated
// as f64: there is one addition after the other, however many iterations there are.
//
//   %2 = core.loop(_, %0) … : f32[n, 4]              %1 = reduce.sum(%0) {axes=[0], keepdims=true} : f32[1, 4]
//     region(%3: f32[i, 4]) {                        %2, %8 = core.loop(_, %0, %1) … : f32[n, 4], f32[1, 4]
//       %4 = array.concat(%3, %x) {axis=0}      →      region(%3: f32[i, 4], %7: f32[1, 4]) {
//       yield %5, %4                                     %4 = array.concat(%3, %x) {axis=0} : f32[i + 1, 4]
//     }                                                  %6 = math.add(%7, %x) : f32[1, 4]
//   %9 = reduce.sum(%2) {axes=[0, 1]} : f32[]            yield %5, %4, %6
//                                                      }
//                                                    %9 = reduce.sum(%8) {axes=[0, 1]} : f32[]
//
// Stands behind grow-outermost, which moves axes that grow to the front.
#include <algorithm>
#include <map>

#include "ops/control/carried.h"
#include "ops/control/control.h"
#include "passes/pass.h"
#include "passes/rewrite/known.h"
#include "passes/rewrite/liveness.h"
#include "passes/rewrite/rewriter.h"

namespace pliant::passes {
namespace {

// A whole that is kept for other readers as well is read faster once, afterwards, than an accumulator of more bytes than
// this is in every iteration.
constexpr int64_t kMostAccumulated = 64 * 1024;

struct Reduction {
  const char* op;
  const char* accumulate;  // the reduction over the axis that grows
  const char* combine;
};
const Reduction* find_reduction(const std::string& op) {
  static constexpr Reduction kAll[] = {{"reduce.sum", "reduce.sum", "math.add"},
                                       {"reduce.mean", "reduce.sum", "math.add"},
                                       {"reduce.prod", "reduce.prod", "math.mul"},
                                       {"reduce.max", "reduce.max", "math.max"},
                                       {"reduce.min", "reduce.min", "math.min"}};
  auto it = std::find_if(std::begin(kAll), std::end(kAll), [&](const Reduction& r) { return op == r.op; });
  return it == std::end(kAll) ? nullptr : it;
}

// What reads a value: reductions over axis 0 that stand beside its definition, and whether there is anything else.
struct Readers {
  std::vector<const Node*> reductions;
  bool others = false;
};
using ReaderMap = std::unordered_map<ValueId, Readers>;

// Known axes among which is the first.
bool reduces_first(const Node& n, size_t rank) {
  const std::optional<std::vector<int64_t>> axes = known_ints(n.attrs, "axes");
  return n.inputs.size() == 1 && axes &&
         std::any_of(axes->begin(), axes->end(), [&](int64_t a) { return a == 0 || a == -static_cast<int64_t>(rank); });
}

void find_readers(const Function& f, const std::vector<Node>& nodes, ReaderMap& map) {
  std::unordered_set<ValueId> loops;  // values of loops of this list
  for (const Node& n : nodes) {
    for (ValueId v : n.inputs) {
      if (v == kNoValue) continue;
      const TensorType* t = f.values[v].type.tensor();
      if (loops.count(v) != 0 && t != nullptr && find_reduction(n.op) != nullptr && reduces_first(n, t->shape.size()))
        map[v].reductions.push_back(&n);
      else
        map[v].others = true;
    }
    for (const auto& r : n.regions) {
      find_readers(f, r->nodes, map);
      for (ValueId v : r->results) map[v].others = true;
    }
    if (n.op == "core.loop") loops.insert(n.outputs.begin(), n.outputs.end());
  }
}

// One loop with the accumulators of its outputs.
class Accumulator {
 public:
  Accumulator(Rewriter& rewriter, const ReaderMap& readers, Node& loop)
      : rewriter_(rewriter),
        readers_(readers),
        loop_(loop),
        body_(loop.regions[0]),
        parts_(graph::loop_parts(loop)),
        pieces_(loop.outputs.size()) {}

  Result<Rewriter::Action> run() {
    if (graph::diverges(*body_)) return Rewriter::Action::Keep;
    for (size_t k = 0; k < loop_.outputs.size(); ++k) TRY(find(k));
    if (sums_.empty()) return Rewriter::Action::Keep;
    TRY(rebuild());
    rewriter_.append(loop_);
    for (const Sum& s : sums_)
      for (const Node* n : s.readers) TRY(finish(s, *n));
    return Rewriter::Action::Drop;
  }

 private:
  struct Sum {
    size_t output;
    const Reduction* reduction;
    std::vector<const Node*> readers;
    bool is_wide;  // f32 is accumulated as f64
    ValueId init = kNoValue, param = kNoValue, next = kNoValue, total = kNoValue;
  };

  Result<ValueId> over_first(const char* op, ValueId v, const LocPtr& loc) {
    return rewriter_.make(op, {{"axes", std::vector<Dim>{rewriter_.ctx().constant(0)}}, {"keepdims", true}}, {v}, loc);
  }

  // What output `k` gets in one iteration, where that is all it gets; the pieces have known sizes, alike but for axis 0.
  std::optional<std::vector<ValueId>> pieces_of(size_t k) const {
    if (k >= parts_.carried) return std::vector<ValueId>{parts_.scan(k - parts_.carried)};
    const ValueId param = body_->params[k], next = parts_.next(k);
    const auto append = ops::append_to(rewriter_.builder().peek(), *body_, param, next);
    if (!append || append->axis != 0) return std::nullopt;
    const std::vector<ValueId>& inputs = append->concat->inputs;
    const bool is_plain = append->concat->outputs[0] == next && inputs[0] == param;
    if (!is_plain || std::count(inputs.begin(), inputs.end(), param) != 1) return std::nullopt;
    return std::vector<ValueId>(inputs.begin() + 1, inputs.end());
  }

  // The sizes of a row of output `k`.
  Shape row(size_t k) const {
    const Shape& whole = rewriter_.shape(loop_.outputs[k]);
    return {whole.begin() + 1, whole.end()};
  }

  bool is_accumulable(size_t k, const Readers& readers) const {
    const TensorType* t = rewriter_.type(loop_.outputs[k]).tensor();
    if (t == nullptr || t->shape.empty() || t->dtype == DType::F16 || t->dtype == DType::BF16) return false;
    const Shape sizes = row(k);
    if (!std::all_of(sizes.begin(), sizes.end(), [&](Dim d) { return rewriter_.is_known(d); })) return false;
    const Dim bytes = expr::product(rewriter_.ctx(), sizes) * byte_size(t->dtype);
    if (readers.others && rewriter_.ctx().range(bytes).lo > kMostAccumulated) return false;
    if (k >= parts_.carried) return true;
    std::vector<ValueId> alike = pieces_[k];
    alike.push_back(body_->params[k]);
    alike.push_back(parts_.init(loop_, k));
    return std::all_of(alike.begin(), alike.end(), [&](ValueId v) {
      const Shape& s = rewriter_.shape(v);
      return s.size() == sizes.size() + 1 && std::equal(sizes.begin(), sizes.end(), s.begin() + 1);
    });
  }

  Status find(size_t k) {
    auto found = readers_.find(loop_.outputs[k]);
    if (found == readers_.end() || found->second.reductions.empty()) return ok();
    auto pieces = pieces_of(k);
    if (!pieces) return ok();
    pieces_[k] = *pieces;
    if (!is_accumulable(k, found->second)) return ok();
    const DType t = rewriter_.type(loop_.outputs[k]).tensor()->dtype;
    const size_t first = sums_.size();
    for (const Node* n : found->second.reductions) {
      const Reduction* r = find_reduction(n->op);
      // A mean of whole numbers is no quotient of such sums.
      if (r->op != std::string(r->accumulate) && t != DType::F32 && t != DType::F64) continue;
      auto same = std::find_if(sums_.begin() + static_cast<ptrdiff_t>(first), sums_.end(),
                               [&](const Sum& s) { return s.reduction->accumulate == std::string(r->accumulate); });
      if (same != sums_.end())
        same->readers.push_back(n);
      else
        sums_.push_back({k, r, {n}, t == DType::F32 && r->combine == std::string("math.add")});
    }
    for (size_t s = first; s < sums_.size(); ++s) TRY(begin(sums_[s]));
    return ok();
  }

  Result<ValueId> widened(const Sum& s, ValueId v) {
    if (!s.is_wide) return v;
    return rewriter_.make("math.cast", {{"to", DType::F64}}, {v}, s.readers[0]->loc);
  }

  // The first value: what the reduction gives of what was there before the loop.
  Status begin(Sum& s) {
    const LocPtr& loc = s.readers[0]->loc;
    ValueId before;
    if (s.output < parts_.carried) {
      before = parts_.init(loop_, s.output);
    } else {
      const TensorType t = *rewriter_.type(loop_.outputs[s.output]).tensor();
      Shape none = t.shape;
      none[0] = rewriter_.ctx().constant(0);
      before = TRY(rewriter_.make_zeros(t.dtype, std::move(none), loc));
    }
    s.init = TRY(widened(s, TRY(over_first(s.reduction->accumulate, before, loc))));
    return ok();
  }

  // The pieces of an iteration, one after the other.
  Status accumulate(Sum& s) {
    const LocPtr& loc = s.readers[0]->loc;
    s.next = s.param;
    for (ValueId piece : pieces_[s.output]) {
      const Shape one = rewriter_.shape(s.init);
      ValueId x = piece;
      if (s.output >= parts_.carried)
        x = TRY(rewriter_.make("array.reshape", {{"shape", one}}, {piece}, loc));
      else if (!rewriter_.shape(piece)[0].is_const(1))
        x = TRY(over_first(s.reduction->accumulate, piece, loc));
      s.next = TRY(rewriter_.make(s.reduction->combine, {}, {s.next, TRY(widened(s, x))}, loc));
    }
    return ok();
  }

  // The accumulators stand behind the other carried values.
  Status rebuild() {
    FunctionBuilder& b = rewriter_.builder();
    auto params = body_->params;
    for (Sum& s : sums_) {
      s.param = b.add_value(rewriter_.type(s.init));
      params.push_back(s.param);
    }
    b.begin_region(params);
    for (const Node& n : body_->nodes) b.append(n);
    for (Sum& s : sums_) TRY(accumulate(s));
    std::vector<ValueId> results(body_->results.begin(),
                                 body_->results.begin() + 1 + static_cast<ptrdiff_t>(parts_.carried));
    for (const Sum& s : sums_) results.push_back(s.next);
    results.insert(results.end(), body_->results.begin() + 1 + static_cast<ptrdiff_t>(parts_.carried), body_->results.end());
    loop_.regions[0] = b.end_region(std::move(results));
    std::vector<ValueId> totals;
    for (Sum& s : sums_) {
      loop_.inputs.push_back(s.init);
      s.total = b.add_value(rewriter_.type(s.init));
      totals.push_back(s.total);
    }
    loop_.outputs.insert(loop_.outputs.begin() + static_cast<ptrdiff_t>(parts_.carried), totals.begin(), totals.end());
    return ok();
  }

  // Reduces the other axes and gives the result the reader's place.
  Status finish(const Sum& s, const Node& reader) {
    ValueId out, total = s.total;
    if (s.is_wide) total = TRY(rewriter_.make("math.cast", {{"to", DType::F32}}, {total}, reader.loc));
    if (reader.op != "reduce.mean") {
      out = TRY(rewriter_.make(reader.op, reader.attrs, {total}, reader.loc));
    } else {
      const Shape whole = rewriter_.shape(reader.inputs[0]);
      const auto rank = static_cast<int64_t>(whole.size());
      Dim count = rewriter_.ctx().constant(1);
      const std::vector<int64_t> axes = *known_ints(reader.attrs, "axes");
      for (int64_t a : axes) count = count * whole[static_cast<size_t>(a < 0 ? a + rank : a)];
      ValueId sum = TRY(rewriter_.make("reduce.sum", reader.attrs, {total}, reader.loc));
      ValueId n = TRY(rewriter_.make("array.from_dims", {{"values", std::vector<Dim>{count}}}, {}, reader.loc));
      n = TRY(rewriter_.make("array.reshape", {{"shape", Shape{}}}, {n}, reader.loc));
      n = TRY(rewriter_.make("math.cast", {{"to", rewriter_.type(sum).tensor()->dtype}}, {n}, reader.loc));
      // The mean of no integers is 0.
      Attrs attrs;
      if (is_int(rewriter_.type(sum).tensor()->dtype)) attrs.set("nonzero", true);
      out = TRY(rewriter_.make("math.div", std::move(attrs), {sum, n}, reader.loc));
    }
    rewriter_.rename(reader.outputs[0], out);
    return ok();
  }

  Rewriter& rewriter_;
  const ReaderMap& readers_;
  Node& loop_;
  std::shared_ptr<const Region> body_;  // as it was: `parts_` looks at it
  LoopParts parts_;
  std::vector<std::vector<ValueId>> pieces_;  // by output
  std::vector<Sum> sums_;
};

}  // namespace

PassDef pass_accumulate_reductions() {
  return {.name = "accumulate-reductions",
          .summary = "reduces what a loop collects while it runs",
          .run = [](const FunctionPtr& f, PassContext& c) -> Result<FunctionPtr> {
            ReaderMap readers;
            find_readers(*f, f->nodes, readers);
            for (ValueId v : f->results) readers[v].others = true;
            Rewriter rewriter(f, c.ctx, "core.loop");
            auto done = TRY(rewriter.run([&](Node& loop) { return Accumulator(rewriter, readers, loop).run(); }));
            return done == f ? f : without_dead_nodes(done, c.ctx);
          }};
}

}  // namespace pliant::passes
