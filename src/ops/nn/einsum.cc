// Sums of products by letters.
#include <algorithm>
#include <map>

#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

// A term's letters, one an axis; '.' letters stand for the axes of an ellipsis, numbered from the right: label -1 - k.
using Labels = std::vector<int>;

struct Equation {
  std::vector<Labels> inputs;
  Labels output;
};

Result<Labels> parse_term(DefineContext& c, const std::string& text, int64_t rank) {
  Labels out;
  int64_t letters = static_cast<int64_t>(std::count_if(text.begin(), text.end(), [](char ch) { return ch != '.'; }));
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.') {
      if (text.compare(i, 3, "...") != 0) return c.fail("bad-attribute", "an ellipsis has three dots in '" + text + "'");
      i += 2;
      for (int64_t k = rank - letters; k-- > 0;) out.push_back(static_cast<int>(-1 - k));
      continue;
    }
    bool letter = (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z');
    if (!letter) return c.fail("bad-attribute", "'" + text + "' is not a term of an equation");
    out.push_back(text[i]);
  }
  return out;
}

Result<Equation> parse(DefineContext& c, std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  Equation eq;
  int64_t ellipsis = 0;
  std::map<int, int> uses;
  size_t begin = 0;
  for (size_t n = 0; n < c.input_count(); ++n) {
    size_t end = std::min(left.find(',', begin), left.size());
    if (begin > left.size())
      return c.fail("bad-attribute", "the equation '" + text + "' has fewer terms than there are inputs");
    std::string term = left.substr(begin, end - begin);
    Labels labels = TRY(parse_term(c, term, static_cast<int64_t>(c.in(n)->rank())));
    if (labels.size() != c.in(n)->rank())
      return c.fail("shape-mismatch",
                    "the term '" + term + "' does not fit an input of rank " + std::to_string(c.in(n)->rank()));
    for (int l : labels) {
      ++uses[l];
      ellipsis = std::max<int64_t>(ellipsis, -l);
    }
    eq.inputs.push_back(std::move(labels));
    begin = end + 1;
  }
  if (begin <= left.size())
    return c.fail("bad-attribute", "the equation '" + text + "' has more terms than there are inputs");
  if (arrow != std::string::npos) {
    std::string right = text.substr(arrow + 2);
    int64_t letters = static_cast<int64_t>(std::count_if(right.begin(), right.end(), [](char ch) { return ch != '.'; }));
    eq.output = TRY(parse_term(c, right, letters + (right.find('.') == std::string::npos ? 0 : ellipsis)));
  } else {
    // The ellipsis, then the letters that occur once, in order.
    for (int64_t k = ellipsis; k-- > 0;) eq.output.push_back(static_cast<int>(-1 - k));
    for (const auto& [label, count] : uses)
      if (label > 0 && count == 1) eq.output.push_back(label);
  }
  for (int l : eq.output)
    if (uses.count(l) == 0) return c.fail("bad-attribute", "the output of '" + text + "' has a letter that no input has");
  return eq;
}

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kNumbers));
  Equation eq = TRY(parse(c, c.attr().as_string("equation")));
  std::map<int, Dim> sizes;
  for (size_t n = 0; n < eq.inputs.size(); ++n) {
    TRY(c.require_same_dtype(0, n));
    for (size_t k = 0; k < eq.inputs[n].size(); ++k) {
      auto [at, is_new] = sizes.emplace(eq.inputs[n][k], c.in(n)->shape[k]);
      if (!is_new) at->second = TRY(c.broadcast({at->second}, {c.in(n)->shape[k]}))[0];
    }
  }
  std::vector<Dim> shape, extent;
  std::vector<int> summed;
  for (int l : eq.output) shape.push_back(sizes.at(l));
  for (const auto& [l, size] : sizes) {
    if (std::find(eq.output.begin(), eq.output.end(), l) != eq.output.end()) continue;
    summed.push_back(l);
    extent.push_back(size);
  }
  DType t = c.in(0)->dtype, work = wide(t);
  auto product = [&](const Index& o, const Index& r) {
    std::map<int, Dim> at;
    for (size_t k = 0; k < o.size(); ++k) at[eq.output[k]] = o[k];
    for (size_t k = 0; k < r.size(); ++k) at[summed[k]] = r[k];
    Scalar all;
    for (size_t n = 0; n < eq.inputs.size(); ++n) {
      Index i;
      for (int l : eq.inputs[n]) i.push_back(at.at(l));
      Scalar v = expr::make_cast(work, c.at_broadcast(c.in(n), i));
      all = all ? all * v : v;
    }
    return all;
  };
  if (extent.empty())
    return std::vector{c.te().map("y", shape, [&](const Index& o) { return expr::make_cast(t, product(o, {})); })};
  Tensor sum = c.te().reduce("sum", shape, extent, te::Combiner::Sum, product);
  if (work == t) return std::vector{sum};
  return std::vector{c.te().map("y", shape, [&](const Index& o) { return expr::make_cast(t, (*sum)(o)); })};
}

}  // namespace

OpDef op_nn_einsum() {
  return {.name = "nn.einsum",
          .doc = "The sum, over the letters that the output lacks, of the products of the inputs at the letters' positions.",
          .attrs = {required_attr("equation", AttrKind::String,
                                  "terms of letters and ellipses, and the output's after an arrow")},
          .min_inputs = 1,
          .max_inputs = -1,
          .compute = compute,
          .samples = {"f32[M,K] f32[K,N] M=2 K=3 N=4 equation=ij,jk->ik",
                      "f32[B,M,K] f32[B,K,N] B=2 M=2 K=3 N=2 equation=...ij,...jk", "f32[M,M] M=3 equation=ii",
                      "f32[M,N] M=3 N=2 equation=ij->ji", "f32[A,B,M,M] A=2 B=2 M=3 equation=...ii->...i",
                      "f16[M] f16[N] M=2 N=3 equation=i,j"}};
}

}  // namespace pliant::ops
