#include <algorithm>

#include "frontend/core/body.h"

namespace pliant::frontend {
namespace {

class ScanImport {
 public:
  ScanImport(Conversion& c, const ScanSpec& spec, const Body& body, const std::vector<std::string_view>& names)
      : c_(c), spec_(spec), body_(body), names_(names), outputs_(names.size()), xs_(spec.axes.size()) {}

  Result<std::vector<ValueRef>> run() {
    TRY(check_counts());
    for (size_t i = 0; i < states_ + xs_; ++i)
      if (!c_.has(first_input() + i))
        return c_.fail("missing-input", "input " + std::to_string(first_input() + i) + " is missing");
    for (size_t i = 0; i < c_.input_count(); ++i)
      if (c_.has(i) && c_.value(i).type.tensor() == nullptr)
        return c_.fail("wrong-type", "input '" + c_.value(i).name + "' is not a tensor");
    TRY(spec_.is_batched ? run_batched() : run_plain());
    return std::move(outputs_);
  }

 private:
  size_t first_input() const { return spec_.is_batched ? 1 : 0; }
  size_t scan_count() const { return body_.outputs.size() - states_; }
  expr::Context& ctx() { return c_.ctx(); }

  Status check_counts() {
    const size_t given = c_.input_count() - first_input();
    states_ = given - xs_;
    if (body_.inputs.size() != given)
      return c_.fail("malformed-model", "the Scan has " + std::to_string(given) +
                                            " states and scanned inputs but its body has " +
                                            std::to_string(body_.inputs.size()) + " inputs");
    if (body_.outputs.size() < states_ || outputs_.size() > body_.outputs.size())
      return c_.fail("malformed-model", "the Scan has " + std::to_string(states_) + " states and " +
                                            std::to_string(outputs_.size()) + " outputs but its body gives " +
                                            std::to_string(body_.outputs.size()));
    return ok();
  }

  // Entry `at` of an axis, without the axis.
  Result<ValueId> entry(ValueId x, int64_t axis, Dim at) {
    std::vector<int64_t> axes{axis};
    Attrs attrs{{"starts", std::vector<Dim>{at}}, {"ends", std::vector<Dim>{at + 1}}, {"axes", axes}};
    ValueId part = TRY(c_.append("array.slice", std::move(attrs), {x}));
    graph::Shape shape = c_.shape_of(x);
    shape.erase(shape.begin() + axis);
    return c_.reshape(part, std::move(shape));
  }

  struct Sequence {
    Values states, xs;
    std::vector<int64_t> axes;  // of xs
    Dim length;
  };
  Result<ops::LoopValues> run_loop(const Sequence& s) {
    ops::LoopSpec spec;
    spec.trip = s.length;
    spec.init = s.states;
    auto loop = ops::append_loop(
        c_.state().builder, ctx(), spec,
        [&](Dim index, const Values& params) -> Result<ops::LoopBody> {
          c_.state().enter_region();
          Result<ops::LoopBody> body = run_step(s, index, params);
          c_.state().leave_region();
          return body;
        },
        c_.loc);
    if (loop.ok()) return loop;
    auto values = values_of_no_iteration(c_, body_, s.length, s.states, scan_count());
    if (!values) return loop;
    auto scans = values->begin() + static_cast<int64_t>(states_);
    return ops::LoopValues{{values->begin(), scans}, {scans, values->end()}, c_.num(0)};
  }

  Result<ops::LoopBody> run_step(const Sequence& s, Dim index, const Values& params) {
    std::vector<ValueRef> inputs;
    for (size_t k = 0; k < states_; ++k) {
      inputs.push_back(value_of(c_, params[k], body_.inputs[k].name));
      c_.state().builder.set_name(params[k], inputs.back()->name);
    }
    for (size_t k = 0; k < xs_; ++k) {
      Dim at = spec_.reversed[k] ? s.length - 1 - index : index;
      inputs.push_back(value_of(c_, TRY(entry(s.xs[k], s.axes[k], at)), body_.inputs[states_ + k].name));
    }
    std::vector<ValueRef> outputs = TRY(body_.run(std::move(inputs)));
    ops::LoopBody body;
    for (size_t k = 0; k < outputs.size(); ++k)
      (k < states_ ? body.carried : body.scans).push_back(materialise(c_.state(), *outputs[k]));
    return body;
  }

  Status run_plain() {
    Sequence s;
    for (size_t k = 0; k < states_; ++k) s.states.push_back(c_.in(k));
    for (size_t k = 0; k < xs_; ++k) {
      s.xs.push_back(c_.in(states_ + k));
      s.axes.push_back(TRY(c_.axis(spec_.axes[k], c_.rank(states_ + k))));
      Dim length = c_.shape(states_ + k)[static_cast<size_t>(s.axes[k])];
      if (k == 0) s.length = length;
      c_.require_equal(length, s.length, "the scanned inputs have {a} and {b} steps");
    }
    ops::LoopValues loop = TRY(run_loop(s));
    for (size_t k = 0; k < states_; ++k) bind(k, loop.carried[k]);
    std::vector<int64_t> out_axes = spec_.output_axes, flips = spec_.output_flips;
    out_axes.resize(scan_count(), 0);
    flips.resize(scan_count(), 0);
    for (size_t j = 0; j < scan_count(); ++j) {
      if (!wants(states_ + j)) continue;
      ValueId v = loop.scans[j];
      if (flips[j] != 0) v = TRY(reverse(v));
      bind(states_ + j, TRY(move_first_axis(v, out_axes[j])));
    }
    return ok();
  }

  Result<ValueId> reverse(ValueId v) {
    Attrs attrs{{"starts", std::vector<int64_t>{-1}},
                {"ends", std::vector<int64_t>{-(int64_t{1} << 62)}},
                {"axes", std::vector<int64_t>{0}},
                {"steps", std::vector<int64_t>{-1}}};
    return c_.append("array.slice", std::move(attrs), {v});
  }

  Result<ValueId> move_first_axis(ValueId v, int64_t to) {
    auto rank = static_cast<int64_t>(c_.shape_of(v).size());
    to = TRY(c_.axis(to, rank));
    if (to == 0) return v;
    std::vector<int64_t> perm;
    for (int64_t k = 1; k < rank; ++k) perm.push_back(k);
    perm.insert(perm.begin() + to, 0);
    return c_.append("array.transpose", Attrs{{"perm", perm}}, {v});
  }

  // The states and scanned inputs have the batch on axis 0 and the sequence on axis 1.
  Status run_batched() {
    for (size_t k = 0; k < states_ + xs_; ++k)
      if (c_.rank(1 + k) < (k < states_ ? 1 : 2))
        return c_.fail("wrong-rank", "input " + std::to_string(1 + k) + " has too few axes");
    Dim batch = c_.shape(1 + states_)[0], steps = c_.shape(1 + states_)[1];
    for (size_t k = 0; k < states_ + xs_; ++k)
      c_.require_equal(c_.shape(1 + k)[0], batch, "the batches have sizes {a} and {b}");
    for (size_t k = 1; k < xs_; ++k)
      c_.require_equal(c_.shape(1 + states_ + k)[1], steps, "the scanned inputs have {a} and {b} steps");
    Values whole;
    for (size_t k = 0; k < states_ + xs_; ++k) whole.push_back(c_.in(1 + k));
    ValueId lengths = c_.in(0);
    ops::LoopSpec spec;
    spec.trip = batch;
    ops::LoopValues loop = TRY(ops::append_loop(
        c_.state().builder, ctx(), spec,
        [&](Dim b, const Values&) -> Result<ops::LoopBody> {
          c_.state().enter_region();
          Result<ops::LoopBody> body = run_sequence(whole, lengths, steps, b);
          c_.state().leave_region();
          return body;
        },
        c_.loc));
    for (size_t k = 0; k < loop.scans.size(); ++k)
      if (wants(k)) bind(k, loop.scans[k]);
    return ok();
  }

  Result<ops::LoopBody> run_sequence(const Values& whole, ValueId lengths, Dim steps, Dim b) {
    Sequence s;
    s.length = steps;
    for (size_t k = 0; k < whole.size(); ++k) (k < states_ ? s.states : s.xs).push_back(TRY(entry(whole[k], 0, b)));
    s.axes.assign(xs_, 0);
    if (lengths != kNoValue) {
      ValueId length = TRY(entry(lengths, 0, b));
      s.length = TRY(c_.read_dims(length, "the length of a sequence"))[0];
      c_.require_less_equal(c_.num(0), s.length, "the length {b} of a sequence is negative");
      c_.require_less_equal(s.length, steps, "the length {a} of a sequence is more than {b}");
    }
    ops::LoopValues loop = TRY(run_loop(s));
    ops::LoopBody body;
    body.scans = loop.carried;
    for (ValueId v : loop.scans) {
      if (lengths != kNoValue) v = TRY(pad_first_axis(v, steps - loop.count));
      body.scans.push_back(v);
    }
    return body;
  }

  // Steps behind the end of a sequence are 0.
  Result<ValueId> pad_first_axis(ValueId v, Dim more) {
    std::vector<Dim> pads(2 * c_.shape_of(v).size(), c_.num(0));
    pads[c_.shape_of(v).size()] = more;
    return c_.append("array.pad", Attrs{{"pads", std::move(pads)}}, {v});
  }

  bool wants(size_t k) const { return k < names_.size() && !names_[k].empty(); }
  void bind(size_t k, ValueId id) {
    if (wants(k)) outputs_[k] = loop_value(c_, id, names_[k]);
  }

  Conversion& c_;
  const ScanSpec& spec_;
  const Body& body_;
  const std::vector<std::string_view>& names_;
  std::vector<ValueRef> outputs_;
  size_t xs_, states_ = 0;
};

}  // namespace

Result<std::vector<ValueRef>> import_scan(Conversion& c, const ScanSpec& spec, const Body& body,
                                          const std::vector<std::string_view>& outputs) {
  return ScanImport(c, spec, body, outputs).run();
}

}  // namespace pliant::frontend
