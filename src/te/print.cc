#include <map>
#include <set>

#include "te/te.h"

namespace pliant::te {
namespace {

// One line a stage: `y = reduce sum f32[n] (i0; r0 < k) accumulate f32: x[i0, r0]`.
class Printer {
 public:
  explicit Printer(expr::Context& ctx) : ctx_(ctx) {}

  void declare(const Tensor& t) {
    if (names_.count(t->id) != 0) return;
    std::string name = t->name.empty() ? "t" : t->name;
    for (int suffix = 1; !taken_.insert(name).second; ++suffix) name = t->name + "_" + std::to_string(suffix);
    names_.emplace(t->id, name);
    if (t->kind == Kind::Input) text_ += expr::quoted(name) + " = input " + type_of(*t) + "\n";
  }

  void stage(const Tensor& t) {
    for (const Tensor& read : t->reads) declare(read);
    declare(t);
    text_ += expr::quoted(names_.at(t->id)) + " = " + name_of(t->kind);
    if (t->kind != Kind::Map) text_ += std::string(" ") + name_of(t->combiner);
    text_ += " " + type_of(*t) + " (" + symbols(t->index);
    if (!t->reduce_index.empty()) text_ += "; " + ranges(*t);
    text_ += ")";
    if (t->kind == Kind::Reduce || t->kind == Kind::Scan) text_ += std::string(" accumulate ") + name_of(t->accumulate);
    if (t->kind == Kind::Scan) {
      text_ += " axis " + std::to_string(t->scan_axis);
      if (t->exclusive) text_ += " exclusive";
      if (t->reverse) text_ += " reverse";
    }
    if (t->kind == Kind::Scatter) text_ += " base " + print(t->base) + " at [" + print(t->target) + "]";
    text_ += ": " + print(t->body) + "\n";
  }

  std::string take() { return std::move(text_); }

 private:
  std::string print(Scalar s) {
    return expr::print(s, [this](TensorId id) { return names_.at(id); });
  }
  std::string print(const std::vector<Dim>& dims) {
    std::string out;
    for (size_t i = 0; i < dims.size(); ++i) {
      out += (i > 0 ? ", " : "") + expr::print(dims[i], [this](TensorId id) { return names_.at(id); });
    }
    return out;
  }
  std::string type_of(const TensorDef& t) { return std::string(pliant::name_of(t.dtype)) + "[" + print(t.shape) + "]"; }
  std::string symbols(const std::vector<SymbolId>& ids) {
    std::string out;
    for (size_t i = 0; i < ids.size(); ++i) out += (i > 0 ? ", " : "") + expr::quoted(ctx_.info(ids[i]).name);
    return out;
  }
  std::string ranges(const TensorDef& t) {
    std::string out;
    for (size_t i = 0; i < t.reduce_index.size(); ++i) {
      out += (i > 0 ? ", " : "") + expr::quoted(ctx_.info(t.reduce_index[i]).name) + " < " + t.reduce_extent[i].str();
    }
    return out;
  }

  expr::Context& ctx_;
  std::map<TensorId, std::string> names_;
  std::set<std::string> taken_;
  std::string text_;
};

}  // namespace

std::string print(const std::vector<Tensor>& outputs, expr::Context& ctx) {
  Printer printer(ctx);
  for (const Tensor& t : stages_of(outputs)) printer.stage(t);
  for (const Tensor& t : outputs) printer.declare(t);
  return printer.take();
}

}  // namespace pliant::te
