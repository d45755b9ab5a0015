// SequenceMap: the body on the elements of sequences, one position after the other. It is a loop that appends to a sequence
// for each output; of few known elements, copies of the body.
#include <algorithm>

#include "frontend/onnx/importer.h"
#include "graph/list_type.h"
#include "ops/control/control.h"

namespace pliant::frontend::onnx {

class SequenceMapImport {
 public:
  SequenceMapImport(Importer& importer, Conversion& c, Scope& scope, const GraphProto& body)
      : importer_(importer), c_(c), scope_(scope), body_(body) {}

  Status run() {
    TRY(check());
    if (auto count = known_count()) return unroll(*count);
    return run_loop();
  }

 private:
  // More copies of the body than these are a loop.
  static constexpr size_t kMostCopies = 8;

  expr::Context& ctx() { return c_.ctx(); }
  bool is_sequence(size_t i) const { return graph::sequence_element(c_.value(i).type) != nullptr; }

  Status check() {
    if (c_.input_count() == 0 || !c_.has(0) || !is_sequence(0))
      return c_.fail("wrong-type", "its first input is not a sequence");
    if (body_.inputs.size() != c_.input_count())
      return c_.fail("malformed-model", "it has " + std::to_string(c_.input_count()) + " inputs but its body has " +
                                            std::to_string(body_.inputs.size()));
    if (c_.output_count() > body_.outputs.size())
      return c_.fail("malformed-model", "it has " + std::to_string(c_.output_count()) + " outputs but its body gives " +
                                            std::to_string(body_.outputs.size()));
    for (size_t i = 0; i < c_.input_count(); ++i) {
      if (!c_.has(i)) return c_.fail("missing-input", "input " + std::to_string(i) + " is missing");
      if (!is_sequence(i) && c_.value(i).type.tensor() == nullptr)
        return c_.fail("wrong-type", "input '" + c_.value(i).name + "' is neither a sequence nor a tensor");
    }
    return ok();
  }

  std::optional<size_t> known_count() const {
    std::optional<size_t> count;
    for (size_t i = 0; i < c_.input_count(); ++i) {
      if (!is_sequence(i)) continue;
      const Parts* p = c_.value(i).parts.get();
      if (p == nullptr || p->elements.empty() || p->elements.size() > kMostCopies || (count && *count != p->elements.size()))
        return std::nullopt;
      count = p->elements.size();
    }
    return count;
  }

  Status unroll(size_t count) {
    std::vector<std::vector<ValueRef>> outputs(c_.output_count());
    for (size_t at = 0; at < count; ++at) {
      std::vector<ValueRef> inputs;
      for (size_t i = 0; i < c_.input_count(); ++i)
        inputs.push_back(is_sequence(i) ? c_.value(i).parts->elements[at] : c_.ref(i));
      std::vector<ValueRef> given = TRY(importer_.run_body(c_, body_, std::move(inputs), scope_));
      for (size_t k = 0; k < outputs.size(); ++k) outputs[k].push_back(std::move(given[k]));
    }
    for (size_t k = 0; k < outputs.size(); ++k) {
      std::optional<graph::Type> element = outputs[k][0]->type;
      for (const ValueRef& v : outputs[k]) {
        if (v->type.tensor() == nullptr)
          return c_.fail("wrong-type", "its body gives no tensor for output " + std::to_string(k));
        element = graph::join_lists(*element, v->type, ctx());
        if (!element) return c_.fail("wrong-type", "its body gives tensors of different element types for one output");
      }
      auto v = std::make_shared<Value>();
      v->name = c_.node.outputs[k];
      v->type = graph::make_sequence_type(std::move(*element));
      v->parts = std::make_shared<Parts>(Parts{true, std::move(outputs[k])});
      v->loc = c_.loc;
      importer_.bind(c_.node, k, std::move(v), scope_);
    }
    return ok();
  }

  // How many elements the first sequence has; the others must have as many.
  Result<Dim> length() {
    std::optional<Dim> first;
    for (size_t i = 0; i < c_.input_count(); ++i) {
      if (!is_sequence(i)) continue;
      ValueId n = TRY(c_.append("seq.length", {}, {c_.in(i)}));
      Dim d = TRY(c_.read_dims(n, "the length of a sequence", 0))[0];
      if (!first) first = d;
      c_.require_equal(*first, d, "the sequences have {a} and {b} elements");
    }
    return *first;
  }

  Status run_loop() {
    ops::LoopSpec spec;
    spec.trip = TRY(length());
    for (size_t k = 0; k < c_.output_count(); ++k) {
      const TypeProto& declared = body_.outputs[k].type;
      auto dtype = declared.kind == TypeProto::Kind::Tensor ? dtype_of(declared.elem_type) : std::nullopt;
      if (!dtype)
        return c_.fail("unsupported-type", "its body declares no supported element type for output '" +
                                               std::string(body_.outputs[k].name) + "'");
      spec.init.push_back(TRY(c_.append("seq.empty", Attrs{{"dtype", *dtype}}, {})));
    }
    for (size_t i = 0; i < c_.input_count(); ++i) {
      if (!is_sequence(i) || graph::element_of(c_.value(i).type).rank != graph::Rank::None) continue;
      // There are no elements, ever.
      for (size_t k = 0; k < c_.output_count(); ++k)
        importer_.bind(c_.node, k, value_of(c_, spec.init[k], c_.node.outputs[k]), scope_);
      return ok();
    }
    ops::LoopValues loop = TRY(ops::append_loop(
        c_.state().builder, ctx(), spec,
        [&](Dim index, const Values& params) -> Result<ops::LoopBody> {
          c_.state().enter_region();
          Result<ops::LoopBody> body = run_step(index, params);
          c_.state().leave_region();
          return body;
        },
        c_.loc));
    for (size_t k = 0; k < c_.output_count(); ++k)
      importer_.bind(c_.node, k, value_of(c_, loop.carried[k], c_.node.outputs[k]), scope_);
    return ok();
  }

  Result<ops::LoopBody> run_step(Dim index, const Values& params) {
    std::vector<ValueRef> inputs;
    for (size_t i = 0; i < c_.input_count(); ++i) {
      if (!is_sequence(i)) {
        inputs.push_back(c_.ref(i));
        continue;
      }
      ValueId element = TRY(c_.append("seq.at", Attrs{{"position", index}}, {c_.in(i)}));
      inputs.push_back(value_of(c_, element, body_.inputs[i].name));
    }
    std::vector<ValueRef> given = TRY(importer_.run_body(c_, body_, std::move(inputs), scope_));
    ops::LoopBody body;
    for (size_t k = 0; k < params.size(); ++k)
      body.carried.push_back(TRY(c_.append("seq.insert", {}, {params[k], materialise(c_.state(), *given[k])})));
    return body;
  }

  Importer& importer_;
  Conversion& c_;
  Scope& scope_;
  const GraphProto& body_;
};

void Importer::import_sequence_map(Conversion& c, Scope& scope) {
  const GraphProto* body = body_graph(c);
  Status s = body == nullptr ? Status(Error{}) : SequenceMapImport(*this, c, scope, *body).run();
  if (s.ok()) return;
  report(std::move(s.error()));
  bind_broken(c.node, scope);
}

}  // namespace pliant::frontend::onnx
