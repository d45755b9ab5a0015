// Einsum. Of more than two operands one pair after the other is contracted: all at once would take a step for each
// combination of every letter.
#include <algorithm>
#include <map>

#include "frontend/onnx/conversion.h"
#include "frontend/onnx/table.h"

namespace pliant::frontend::onnx {
namespace {

// The terms with one '.' for an ellipsis.
struct Equation {
  std::vector<std::string> terms;
  std::string output;
};

std::string with_ellipsis(const std::string& term) {
  std::string out;
  for (char letter : term) out += letter == '.' ? std::string("...") : std::string(1, letter);
  return out;
}

// The ellipsis, then the letters that occur once, in order.
std::string implicit_output(const std::vector<std::string>& terms) {
  std::map<char, int> uses;
  for (const std::string& term : terms)
    for (char letter : term) ++uses[letter];
  std::string out;
  for (const auto& [letter, count] : uses)
    if (letter == '.' || count == 1) out += letter;
  return out;
}

// Nothing where the text is not well formed, which the operator reports.
std::optional<Equation> parse(std::string text, size_t inputs) {
  std::erase(text, ' ');
  for (size_t at; (at = text.find("...")) != std::string::npos;) text.replace(at, 3, ".");
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  Equation out;
  for (size_t begin = 0, end; begin <= left.size(); begin = end + 1) {
    end = std::min(left.find(',', begin), left.size());
    out.terms.push_back(left.substr(begin, end - begin));
  }
  out.output = arrow == std::string::npos ? implicit_output(out.terms) : text.substr(arrow + 2);
  return out.terms.size() == inputs ? std::optional(out) : std::nullopt;
}

bool share_letter(const std::string& a, const std::string& b) {
  return std::any_of(a.begin(), a.end(), [&](char c) { return c != '.' && b.find(c) != std::string::npos; });
}

// What the product of two terms must keep: each letter once that a later term or the output has.
std::string product_term(const std::string& a, const std::string& b, const std::vector<std::string>& later,
                         const std::string& output) {
  std::string out;
  for (char letter : a + b) {
    const bool is_needed = output.find(letter) != std::string::npos || std::any_of(later.begin(), later.end(), [&](auto& t) {
                             return t.find(letter) != std::string::npos;
                           });
    if (is_needed && out.find(letter) == std::string::npos) out += letter;
  }
  return out;
}

Result<ValueId> append_einsum(Conversion& c, const std::string& equation, Values inputs) {
  return c.append("nn.einsum", Attrs{{"equation", equation}}, std::move(inputs));
}

Result<ValueId> by_pairs(Conversion& c, const Equation& e) {
  const DType given = c.dtype(0), work = is_float(given) && byte_size(given) == 2 ? DType::F32 : given;
  std::vector<std::string> terms = e.terms;
  Values values = c.all_inputs();
  while (terms.size() > 1) {
    // The next operand that has a letter in common, so that no product is larger than it need be.
    auto next =
        std::find_if(terms.begin() + 1, terms.end(), [&](const std::string& t) { return share_letter(terms[0], t); });
    const auto k = next == terms.end() ? 1 : next - terms.begin();
    const std::string term = terms[static_cast<size_t>(k)];
    Values pair{TRY(c.cast(values[0], work)), TRY(c.cast(values[static_cast<size_t>(k)], work))};
    terms.erase(terms.begin() + k);
    values.erase(values.begin() + k);
    const std::string result =
        terms.size() == 1 ? e.output : product_term(terms[0], term, {terms.begin() + 1, terms.end()}, e.output);
    values[0] = TRY(append_einsum(c, with_ellipsis(terms[0]) + "," + with_ellipsis(term) + "->" + with_ellipsis(result),
                                  std::move(pair)));
    terms[0] = result;
  }
  return c.cast(values[0], given);
}

Result<Values> einsum(Conversion& c) {
  const std::string text = c.string_attr("equation", "");
  const bool is_uniform = [&] {
    for (size_t i = 0; i < c.input_count(); ++i)
      if (!c.has(i) || c.dtype(i) != c.dtype(0)) return false;
    return true;
  }();
  if (c.input_count() > 2 && is_uniform)
    if (std::optional<Equation> e = parse(text, c.input_count())) return Values{TRY(by_pairs(c, *e))};
  return Values{TRY(append_einsum(c, text, c.all_inputs()))};
}

}  // namespace

Rows einsum_rows() { return {{"Einsum", 12, 1, &einsum}}; }

}  // namespace pliant::frontend::onnx
