// protozero's reader with the checks that damaged files need: a field of the wrong wire type is an error and not an
// assertion. Everything here throws protozero's exceptions; read_model and the tensor decoder catch them and make Errors.
#pragma once
#define protozero_assert(x) static_cast<void>(0)
#include <protozero/pbf_reader.hpp>
#include <string_view>
#include <vector>

namespace pliant::frontend::onnx::wire {

struct WrongFieldType : protozero::exception {
  const char* what() const noexcept override { return "a field has the wrong type"; }
};
struct TooDeep : protozero::exception {
  const char* what() const noexcept override { return "messages are nested too deeply"; }
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : pbf_(bytes.data(), bytes.size()) {}
  bool next() { return pbf_.next(); }
  uint32_t tag() const { return pbf_.tag(); }
  void skip() { pbf_.skip(); }
  std::string_view bytes() {
    require(protozero::pbf_wire_type::length_delimited);
    protozero::data_view v = pbf_.get_view();
    return {v.data(), v.size()};
  }
  int64_t integer() {
    require(protozero::pbf_wire_type::varint);
    return pbf_.get_int64();
  }
  float f32() {
    require(protozero::pbf_wire_type::fixed32);
    return pbf_.get_float();
  }
  double f64() {
    require(protozero::pbf_wire_type::fixed64);
    return pbf_.get_double();
  }
  // A repeated field's next part, packed or one element.
  template <class Sink>
  void integers(Sink&& sink) {
    if (!packed()) return sink(integer());
    for (int64_t v : pbf_.get_packed_int64()) sink(v);
  }
  template <class Sink>
  void f32s(Sink&& sink) {
    if (!packed()) return sink(f32());
    for (float v : pbf_.get_packed_float()) sink(v);
  }
  template <class Sink>
  void f64s(Sink&& sink) {
    if (!packed()) return sink(f64());
    for (double v : pbf_.get_packed_double()) sink(v);
  }
  bool packed() const { return pbf_.wire_type() == protozero::pbf_wire_type::length_delimited; }

 private:
  void require(protozero::pbf_wire_type t) const {
    if (pbf_.wire_type() != t) throw WrongFieldType{};
  }
  protozero::pbf_reader pbf_;
};

}  // namespace pliant::frontend::onnx::wire
