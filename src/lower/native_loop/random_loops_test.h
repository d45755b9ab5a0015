// Random loops as texts of graphs.
#pragma once
#include <random>
#include <string>
#include <vector>

namespace pliant::lower {

// A graph of a seed: values are scalars, vectors of 4 and of m, and bools, in nested loops and branches. Its inputs are "0"
// f32[], "1" f32[4], "2" f32[m] and "rows" f32[n].
class RandomLoops {
 public:
  explicit RandomLoops(uint32_t seed) : rng_(seed) {}

  std::string graph() {
    for (const char* t : {"f32[]", "f32[4]", "f32[m]"}) scope_.push_back({fresh(), t});
    std::string params;
    for (const Value& v : scope_)
      params += (params.empty() ? "" : ", ") + v.name + " \"" + v.name.substr(1) + "\": " + v.type;
    std::string rows = fresh();
    params += ", " + rows + " \"rows\": f32[n]";
    Loop l = loop("n", 2);
    std::string text = symbols_ + "func @main(" + params + ") {\n" + l.text + "  return ";
    for (size_t i = 0; i < l.outputs.size(); ++i)
      text += (i ? ", " : "") + l.outputs[i].name + " \"out" + std::to_string(i) + "\"";
    return text + "\n}\n";
  }

 private:
  struct Value {
    std::string name, type;
  };
  struct Loop {
    std::string text;
    std::vector<Value> outputs;
  };

  int pick(int lo, int hi) { return lo + static_cast<int>(rng_() % static_cast<uint32_t>(hi - lo + 1)); }
  bool chance(int one_in) { return pick(1, one_in) == 1; }
  std::string fresh() { return "%" + std::to_string(next_++); }
  std::string of_type(const std::string& type) {
    std::vector<std::string> found;
    for (const Value& v : scope_)
      if (v.type == type) found.push_back(v.name);
    return found.empty() ? "" : found[static_cast<size_t>(pick(0, static_cast<int>(found.size()) - 1))];
  }
  std::string any_type() { return std::vector<std::string>{"f32[]", "f32[4]", "f32[m]"}[static_cast<size_t>(pick(0, 2))]; }
  std::string define(std::string& text, const std::string& op, const std::string& type) {
    std::string v = fresh();
    text += "  " + v + " = " + op + " : " + type + "\n";
    scope_.push_back({v, type});
    return v;
  }

  std::string constant(std::string& text, const std::string& type) {
    std::string number = std::to_string(pick(-4, 4)) + (chance(2) ? ".5" : "");
    return define(text, "core.const() {value=" + type + " dense<splat " + number + ">}", type);
  }
  std::string condition(std::string& text) {
    std::string a = of_type("f32[]"), b = constant(text, "f32[]");
    return define(text, std::string(chance(2) ? "math.lt(" : "math.ge(") + a + ", " + b + ")", "bool[]");
  }
  // A value that stays small whatever it is made of.
  std::string damp(std::string& text, const std::string& v, const std::string& type) {
    std::string half = define(text, "core.const() {value=f32[] dense<0.5>}", "f32[]");
    return define(text, "math.mul(" + v + ", " + half + ")", type);
  }

  void statement(std::string& text, int depth) {
    std::string type = any_type(), a = of_type(type), b = of_type(type);
    switch (pick(0, depth > 0 ? 9 : 6)) {
      case 0: define(text, "math.neg(" + a + ")", type); return;
      case 1: define(text, "math.max(" + a + ", " + b + ")", type); return;
      case 2: {
        std::string c = condition(text);
        define(text, "math.where(" + c + ", " + a + ", " + b + ")", type);
        return;
      }
      case 3: define(text, "reduce.max(" + of_type("f32[4]") + ") {axes=[0], keepdims=false}", "f32[]"); return;
      case 4: {
        std::string i = define(text, "array.from_dims() {values=dims(" + index_.back() + ")}", "i64[1]");
        std::string x = define(text, "math.cast(" + i + ") {to=f32}", "f32[1]");
        std::string y = define(text, "array.reshape(" + x + ") {shape=dims()}", "f32[]");
        damp(text, y, "f32[]");
        return;
      }
      case 5: {
        std::string cut =
            define(text, "array.slice(" + of_type("f32[4]") + ") {axes=[0], ends=dims(4), starts=dims(1)}", "f32[3]");
        std::string one =
            define(text, "array.slice(" + of_type("f32[4]") + ") {axes=[0], ends=dims(1), starts=dims(0)}", "f32[1]");
        define(text, "array.concat(" + cut + ", " + one + ") {axis=0}", "f32[4]");
        return;
      }
      case 6: {
        std::string s = define(text, "math.add(" + a + ", " + b + ")", type);
        damp(text, s, type);
        return;
      }
      case 7: branch(text, depth); return;
      case 8: {
        Loop l = loop(chance(2) ? "3" : index_.back() + " + 1", depth - 1);
        text += l.text;
        scope_.insert(scope_.end(), l.outputs.begin(), l.outputs.end());
        return;
      }
      default: define(text, "array.cumsum(" + of_type("f32[4]") + ") {axis=0}", "f32[4]"); return;
    }
  }

  void branch(std::string& text, int depth) {
    std::string head;
    std::string c = condition(head), type = any_type(), branches;
    for (int k = 0; k < 2; ++k) {
      size_t mark = scope_.size();
      std::string body;
      for (int s = pick(0, 2); s > 0; --s) statement(body, depth - 1);
      branches += "  region() {\n" + body + "  yield " + of_type(type) + "\n  }\n";
      scope_.resize(mark);
    }
    std::string v = fresh();
    text += head + "  " + v + " = core.if(" + c + ") : " + type + "\n" + branches;
    scope_.push_back({v, type});
  }

  Loop loop(const std::string& trip, int depth) {
    const std::string number = std::to_string(loops_++), index = "i" + number, count = "c" + number;
    const bool conditional = chance(2);
    symbols_ += "symbol " + index + " {hi=40, upper=dim(" + trip + " - 1), origin=loop_index(\"l" + number + "\", 0)}\n";
    if (conditional) symbols_ += "symbol " + count + " {hi=41, origin=data(\"l" + number + "\", 0)}\n";
    const std::string times = conditional ? count : trip;
    // Carried: any values; one may grow.
    std::vector<Value> init, params;
    for (int k = pick(1, 3); k > 0; --k) {
      std::string type = any_type();
      init.push_back({of_type(type), type});
    }
    std::string before;
    const bool grows = chance(2);
    if (grows) {
      std::string start = of_type("f32[4]");
      std::string two = define(before, "array.reshape(" + start + ") {shape=dims(1, 4)}", "f32[1, 4]");
      init.push_back({two, "f32[1, 4]"});
    }
    std::string arguments, signature, types;
    size_t mark = scope_.size();
    for (const Value& v : init) {
      arguments += ", " + v.name;
      const bool growing = grows && &v == &init.back();
      params.push_back({fresh(), growing ? "f32[" + index + " + 1, 4]" : v.type});
      signature += (signature.empty() ? "" : ", ") + params.back().name + ": " + params.back().type;
      types += (types.empty() ? "" : ", ") + (growing ? "f32[" + times + " + 1, 4]" : v.type);
    }
    scope_.insert(scope_.end(), params.begin(), params.end());
    index_.push_back(index);
    std::string body;
    for (int s = pick(1, 5); s > 0; --s) statement(body, depth);
    std::string yields = conditional ? condition(body) : define(body, "core.const() {value=bool[] dense<true>}", "bool[]");
    std::vector<std::string> scanned;
    for (size_t k = 0; k < params.size(); ++k) {
      if (grows && k + 1 == params.size()) {
        std::string row = define(body, "array.reshape(" + of_type("f32[4]") + ") {shape=dims(1, 4)}", "f32[1, 4]");
        std::string grown = fresh();
        body += "  " + grown + " = array.concat(" + params[k].name + ", " + row + ") {axis=0} : f32[" + index + " + 2, 4]\n";
        yields += ", " + grown;
      } else {
        yields += ", " + of_type(params[k].type);
      }
    }
    for (int k = pick(0, 2); k > 0; --k) {
      std::string type = any_type();
      yields += ", " + of_type(type);
      scanned.push_back("f32[" + times + (type == "f32[]" ? "]" : ", " + type.substr(4)));
      types += ", " + scanned.back();
    }
    index_.pop_back();
    scope_.resize(mark);
    Loop out;
    for (const Value& v : init) out.outputs.push_back({fresh(), v.type});
    if (grows) out.outputs.back().type = "grown";
    for (const std::string& t : scanned) out.outputs.push_back({fresh(), t});
    std::string names;
    for (const Value& v : out.outputs) names += (names.empty() ? "" : ", ") + v.name;
    // Without a count the size is never negative: the trips of these graphs are not.
    out.text = before + "  " + names + " = core.loop(_" + arguments + ") {count=dim(" + times + "), index=dim(" + index +
               "), trip=dim(" + trip + ")} : " + types + "\n  region(" + signature + ") {\n" + body + "  yield " + yields +
               "\n  }\n";
    return out;
  }

  std::mt19937 rng_;
  int next_ = 0, loops_ = 0;
  std::string symbols_ = "symbol n {hi=40, origin=input_axis(\"rows\", 0)}\nsymbol m {hi=64, origin=input_axis(\"2\", 0)}\n";
  std::vector<Value> scope_;
  std::vector<std::string> index_;
};

}  // namespace pliant::lower
