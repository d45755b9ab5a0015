#include <algorithm>

#include "frontend/core/body.h"

namespace pliant::frontend {
namespace {

// More iterations than this are no limit.
constexpr int64_t kNoTrip = int64_t{1} << 62;

// A body may declare its scalars with one axis.
std::vector<int64_t> declared_shape(const Declared& v) {
  return v.shape && v.shape->size() == 1 ? std::vector<int64_t>{1} : std::vector<int64_t>{};
}

bool is_counted(const Known* k) {
  if (k == nullptr || !is_int(k->dtype)) return false;
  return std::all_of(k->elements.begin(), k->elements.end(), [](const Element& e) { return e.kind == Element::Kind::Int; });
}

class LoopImport {
 public:
  LoopImport(Conversion& c, const Body& body, const std::vector<std::string_view>& outputs)
      : c_(c), body_(body), outputs_(outputs), carried_(c.input_count() < 2 ? 0 : c.input_count() - 2) {}

  Result<std::vector<ValueRef>> run() {
    TRY(check_counts());
    ops::LoopSpec spec;
    TRY(read_trip(spec));
    TRY(read_condition(spec));
    for (size_t i = 0; i < carried_; ++i) {
      if (!c_.has(2 + i)) return c_.fail("missing-input", "carried value " + std::to_string(i) + " has no initial value");
      init_.push_back(c_.ref(2 + i));
    }
    return values_of(TRY(iterate(spec)));
  }

 private:
  expr::Context& ctx() { return c_.ctx(); }
  size_t scan_count() const { return body_.outputs.size() - 1 - carried_; }

  // The iterations that are left, of which the first begins with `init_`.
  Result<ops::LoopValues> iterate(ops::LoopSpec& spec) {
    known_.clear();
    steps_.clear();
    spec.init.clear();
    for (const ValueRef& v : init_) {
      const Known* k = known_elements(*v, ctx());
      known_.push_back(is_counted(k) ? std::optional(*k) : std::nullopt);
      steps_.emplace_back(k == nullptr ? 0 : k->elements.size(), ctx().constant(0));
      spec.init.push_back(materialise(c_.state(), *v));
    }
    first_ = ctx().symbol_count();
    auto loop = ops::append_loop(
        c_.state().builder, ctx(), spec,
        [&](Dim index, const Values& params) -> Result<ops::LoopBody> {
          c_.state().enter_region();
          Result<ops::LoopBody> body = build(index, params);
          c_.state().leave_region();
          return body;
        },
        c_.loc);
    if (loop.ok()) return loop;
    if (always_fails(loop.error())) return fail_if_it_runs(spec, std::move(loop.error()));
    if (!loop.error().diagnostics.empty() && loop.error().diagnostics[0].id == "carried-type")
      return peel(spec, std::move(loop.error()));
    auto values = spec.trip ? values_of_no_iteration(c_, body_, *spec.trip, spec.init, scan_count()) : std::nullopt;
    if (!values) return std::move(loop.error());
    return without_iteration(std::move(*values));
  }

  ops::LoopValues without_iteration(Values values) const {
    auto scans = values.begin() + static_cast<int64_t>(carried_);
    return {{values.begin(), scans}, {scans, values.end()}, c_.num(0)};
  }

  // 1 where there is an iteration, else 0.
  Result<Dim> has_iteration(const ops::LoopSpec& spec) {
    Dim out = c_.num(1);
    if (spec.trip) out = is_negative(-*spec.trip, ctx());
    if (spec.condition == kNoValue) return out;
    if (peeled_ > 0) return c_.fail("carried-type", "whether there is a second iteration is known in the run only");
    return out * TRY(c_.dim(1, "the condition"));
  }

  // A carried value has another rank after the first iteration: that one stands before a loop of the others, where there is
  // one. Whether there is decides the type of what the loop gives.
  Result<ops::LoopValues> peel(ops::LoopSpec& spec, Error why) {
    constexpr int64_t kMostPeeled = 8;
    if (peeled_ == kMostPeeled) return why;
    Result<Dim> condition = has_iteration(spec);
    if (!condition.ok()) return why;
    const std::optional<bool> holds = c_.decide(condition.value());
    if (!holds) {
      if (peeled_ == 0 && keeps_ranks(spec)) c_.state().undecided = condition.value();
      return why;
    }
    if (!*holds) {
      auto values = values_of_no_iteration(c_, body_, c_.num(0), spec.init, scan_count());
      if (!values) return why;
      return without_iteration(std::move(*values));
    }
    return run_first(spec);
  }

  // Whether the carried values keep their ranks after the first iteration.
  bool keeps_ranks(const ops::LoopSpec& spec) {
    const std::vector<ValueRef> init = init_;
    c_.state().builder.begin_region({});
    c_.state().enter_region();
    const bool good = run_first(spec).ok();
    c_.state().leave_region();
    c_.state().builder.drop_region();
    init_ = init;
    peeled_ = 0;
    return good;
  }

  Result<ops::LoopValues> run_first(const ops::LoopSpec& spec) {
    std::vector<ValueRef> given = TRY(body_.run(inputs(c_.num(0), spec.init, init_)));
    ++peeled_;
    init_.assign(given.begin() + 1, given.begin() + 1 + static_cast<int64_t>(carried_));
    Values rows;
    for (size_t j = 0; j < scan_count(); ++j) {
      Value& row = *given[1 + carried_ + j];
      if (row.type.tensor() == nullptr) return c_.fail("wrong-type", "scan value " + std::to_string(j) + " is not a tensor");
      const ValueId v = materialise(c_.state(), row);
      graph::Shape shape = c_.shape_of(v);
      shape.insert(shape.begin(), c_.num(1));
      rows.push_back(TRY(c_.reshape(v, std::move(shape))));
    }
    ops::LoopSpec rest;
    if (spec.trip) rest.trip = *spec.trip - 1;
    const Known* goes_on = known_elements(*given[0], ctx());
    auto constant = goes_on == nullptr ? std::nullopt : goes_on->ints();
    if (constant && constant->size() == 1 && (*constant)[0] == 0) rest.trip = c_.num(0);
    if (!constant || constant->size() != 1) {
      rest.condition = TRY(condition_of(materialise(c_.state(), *given[0])));
    }
    if (rest.trip && ctx().range(*rest.trip).hi <= 0) {
      ops::LoopValues once{{}, std::move(rows), c_.num(0)};
      for (const ValueRef& v : init_) once.carried.push_back(materialise(c_.state(), *v));
      known_.assign(carried_, std::nullopt);
      return once;
    }
    ops::LoopValues out = TRY(iterate(rest));
    for (size_t j = 0; j < rows.size(); ++j)
      out.scans[j] = TRY(c_.append("array.concat", Attrs{{"axis", int64_t{0}}}, {rows[j], out.scans[j]}));
    return out;
  }

  // The first iteration fails, if there is one.
  Result<ops::LoopValues> fail_if_it_runs(const ops::LoopSpec& spec, Error why) {
    graph::FunctionBuilder& b = c_.state().builder;
    const std::string message = "its body can not run: " + why.diagnostics[0].where + ": " + why.diagnostics[0].message;
    bool declared = true;
    ops::BranchFn fails = [&]() -> Result<std::optional<Values>> {
      b.append(graph::Node{"core.fail", {{"message", message}}, {}, {}, {}, c_.loc});
      return std::optional<Values>();
    };
    ops::BranchFn skips = [&]() -> Result<std::optional<Values>> {
      auto values = values_of_no_iteration(c_, body_, c_.num(0), spec.init, scan_count());
      declared = values.has_value();
      return declared ? std::move(values) : std::optional<Values>();
    };
    std::optional<Dim> runs;
    if (spec.trip) runs = is_negative(-*spec.trip, ctx());
    ops::BranchFn enters = fails;
    if (spec.condition != kNoValue)
      enters = [&]() -> Result<std::optional<Values>> {
        return std::optional(TRY(ops::append_if(b, ctx(), {.value = spec.condition, .dim = {}}, fails, skips, c_.loc)));
      };
    if (!runs && spec.condition == kNoValue) return why;
    if (runs && c_.decide(*runs) == true && spec.condition == kNoValue) return why;
    Result<Values> values = runs ? ops::append_if(b, ctx(), {.value = kNoValue, .dim = runs}, enters, skips, c_.loc)
                                 : ops::append_if(b, ctx(), {.value = spec.condition, .dim = {}}, fails, skips, c_.loc);
    if (!values.ok()) return std::move(values.error());
    if (!declared) return c_.fail("malformed-model", "its body declares no types for its scan outputs");
    return without_iteration(values.take());
  }

  Status check_counts() {
    auto text = [](size_t n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); };
    if (body_.inputs.size() != carried_ + 2)
      return c_.fail("malformed-model", "the Loop carries " + text(carried_, "value") + ", so its body needs " +
                                            text(carried_ + 2, "input") + " but has " + std::to_string(body_.inputs.size()));
    if (body_.outputs.size() < carried_ + 1)
      return c_.fail("malformed-model", "the Loop carries " + text(carried_, "value") + ", so its body outputs at least " +
                                            std::to_string(carried_ + 1) + " but has " +
                                            text(body_.outputs.size(), "output"));
    if (outputs_.size() > body_.outputs.size() - 1)
      return c_.fail("malformed-model", "the Loop has " + text(outputs_.size(), "output") + " but its body gives " +
                                            std::to_string(body_.outputs.size() - 1));
    return ok();
  }

  Status read_trip(ops::LoopSpec& spec) {
    if (!c_.has(0)) return ok();
    Dim trip = TRY(c_.dim(0, "the number of iterations"));
    if (!trip.is_const() || trip.const_value() <= kNoTrip) spec.trip = trip;
    return ok();
  }

  Status read_condition(ops::LoopSpec& spec) {
    if (!c_.has(1)) return ok();
    if (const Known* k = c_.known(1)) {
      auto value = k->ints();
      if (value && value->size() == 1 && (*value)[0] != 0) return ok();
    }
    spec.condition = TRY(condition_of(c_.in(1)));
    return ok();
  }

  Result<ValueId> condition_of(ValueId v) {
    const TensorType* t = c_.state().builder.peek().value(v).type.tensor();
    if (t == nullptr || t->dtype != DType::Bool) return c_.fail("wrong-type", "its condition is not a bool tensor");
    return c_.one_element(v, "the condition has {a} elements, not one");
  }

  // Values for the body's inputs in the iteration `index` of those that are left. Carried values that are not made anew
  // stand in `given`.
  std::vector<ValueRef> inputs(Dim index, const Values& params, const std::vector<ValueRef>& given = {}) {
    std::vector<ValueRef> out;
    auto add = [&](const Declared& input, DType t, Dim value) {
      out.push_back(known_value(c_, Known{t, declared_shape(input), {Element::make_int(value)}}, input.name));
    };
    add(body_.inputs[0], DType::I64, index + peeled_);
    add(body_.inputs[1], DType::Bool, c_.num(1));
    out.insert(out.end(), given.begin(), given.end());
    for (size_t i = given.size(); i < carried_; ++i) {
      ValueRef v = value_of(c_, params[i], body_.inputs[2 + i].name);
      c_.state().builder.set_name(v->id, v->name);
      if (known_[i]) v->known = std::make_shared<Known>(at(i, index));
      out.push_back(std::move(v));
    }
    return out;
  }

  Known at(size_t i, Dim iteration) const {
    Known k = *known_[i];
    for (size_t e = 0; e < k.elements.size(); ++e)
      k.elements[e] = Element::make_int(k.elements[e].num + steps_[i][e] * iteration);
    return k;
  }

  Result<ops::LoopBody> build(Dim index, const Values& params) {
    std::vector<ValueRef> outputs = TRY(body_.run(inputs(index, params)));
    ops::LoopBody body;
    const Known* known = known_elements(*outputs[0], ctx());
    const auto goes_on = known ? known->ints() : std::nullopt;
    if (!goes_on || goes_on->size() != 1 || (*goes_on)[0] == 0) {
      body.condition = TRY(condition_of(materialise(c_.state(), *outputs[0])));
    }
    for (size_t i = 0; i < carried_; ++i) {
      body.carried.push_back(materialise(c_.state(), *outputs[1 + i]));
      if (known_[i]) body.again |= !stays_known(i, index, *outputs[1 + i]);
    }
    for (size_t j = 0; j < scan_count(); ++j) body.scans.push_back(materialise(c_.state(), *outputs[1 + carried_ + j]));
    return body;
  }

  // Whether the elements of carried value i are what they were taken for; otherwise takes them for less regular.
  bool stays_known(size_t i, Dim index, Value& next) {
    const Known* k = known_elements(next, ctx());
    Known expected = at(i, index + 1), now = at(i, index);
    bool fits = is_counted(k) && k->shape == expected.shape && k->dtype == expected.dtype, same = fits;
    for (size_t e = 0; fits && e < k->elements.size(); ++e) {
      if (k->elements[e].num == expected.elements[e].num) continue;
      same = false;
      Dim step = k->elements[e].num - now.elements[e].num;
      for (expr::SymbolId s : expr::symbols_of(step)) fits = fits && s < first_;
      fits = fits && steps_[i][e].is_const(0);
      steps_[i][e] = step;
    }
    if (!fits) known_[i].reset();
    return same;
  }

  std::vector<ValueRef> values_of(const ops::LoopValues& loop) {
    std::vector<ValueRef> out;
    for (size_t k = 0; k < outputs_.size(); ++k) {
      ValueRef v = loop_value(c_, k < carried_ ? loop.carried[k] : loop.scans[k - carried_], outputs_[k]);
      if (k < carried_ && known_[k]) v->known = std::make_shared<Known>(at(k, loop.count));
      out.push_back(std::move(v));
    }
    return out;
  }

  Conversion& c_;
  const Body& body_;
  const std::vector<std::string_view>& outputs_;
  size_t carried_;
  std::vector<ValueRef> init_;
  int64_t peeled_ = 0;  // iterations that stand before the loop
  // What is taken for known of each carried value: its elements before the first iteration, and what an iteration adds.
  std::vector<std::optional<Known>> known_;
  std::vector<std::vector<Dim>> steps_;
  expr::SymbolId first_ = 0;
};

}  // namespace

Result<std::vector<ValueRef>> import_loop(Conversion& c, const Body& body, const std::vector<std::string_view>& outputs) {
  return LoopImport(c, body, outputs).run();
}

}  // namespace pliant::frontend
