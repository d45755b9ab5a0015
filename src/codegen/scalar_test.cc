// Arithmetic of every type, compiled and interpreted, in vector loops with a tail and in scalar loops.
#include "codegen/kernel_harness_test.h"

namespace pliant::codegen {
namespace {

TestData extremes(DType t) {
  TestData data;
  data.low = INT64_MIN;
  data.high = INT64_MAX;
  data.fill = [t](const std::string& name, std::byte* p, int64_t n) {
    const int64_t size = byte_size(t);
    if (!is_int(t) || (name != "a" && name != "b")) return;
    // Pairs of the values at which something happens.
    const int64_t lowest = is_signed_int(t) ? (size == 8 ? INT64_MIN : -(int64_t{1} << (8 * size - 1))) : 0;
    const int64_t values[] = {0, 1, -1, lowest, ~lowest, 2, 3, -3, 7, 40};
    std::mt19937 rng(5);
    for (int64_t i = 0; i < n / 2; ++i) {
      const int64_t v = values[rng() % std::size(values)];
      std::memcpy(p + i * size, &v, static_cast<size_t>(size));
    }
  };
  return data;
}

TEST(Arithmetic, Integers) {
  const DType types[] = {DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16, DType::U32, DType::U64};
  for (DType t : types) {
    const std::string name = name_of(t);
    SCOPED_TRACE(name);
    std::string outputs, statements;
    int count = 0;
    auto add = [&](const std::string& type, const std::string& expression) {
      const std::string y = "%y" + std::to_string(count++);
      outputs += ", " + y + ": " + type + "[n] out";
      statements += " " + y + "[o*16 + v] = " + expression;
    };
    const std::string a = "%a[o*16 + v]", b = "%b[o*16 + v]";
    for (const char* op : {"+", "-", "*", "/"}) add(name, a + " " + op + " " + b);
    for (const char* op : {"mod", "rem", "max", "min", "bit_and", "bit_or", "bit_xor", "shl", "shr", "pow"})
      add(name, std::string(op) + "(" + a + ", " + b + ")");
    for (const char* op : {"neg", "abs", "bit_not", "sign"}) add(name, std::string(op) + "(" + a + ")");
    for (const char* op : {"==", "!=", "<", "<="}) add("bool", a + " " + op + " " + b);
    for (int k : {3, 7, 16}) {
      add(name, a + " / " + std::to_string(k) + name);
      add(name, "mod(" + a + ", " + std::to_string(k) + name + ")");
    }
    Kernel k("kernel e(%a: " + name + "[n], %b: " + name + "[n]" + outputs +
                 ") { for o in floordiv(n + 15, 16) { for vector v in 16 { " + "if index(o*16 + v) < index(n) {" +
                 statements + " } } } }",
             {0, 3});
    for (int64_t n : {5, 16, 300}) k.expect_same({{"n", n}}, 0, extremes(t));
  }
}

TEST(Arithmetic, CastsBetweenAllTypes) {
  for (int from = 0; from < kDTypeCount; ++from) {
    const DType f = static_cast<DType>(from);
    SCOPED_TRACE(name_of(f));
    std::string outputs, statements;
    for (int to = 0; to < kDTypeCount; ++to) {
      const std::string t = name_of(static_cast<DType>(to));
      outputs += ", %y" + std::to_string(to) + ": " + t + "[n] out";
      statements += " %y" + std::to_string(to) + "[o*16 + v] = cast." + t + "(%a[o*16 + v])";
    }
    Kernel k("kernel c(%a: " + std::string(name_of(f)) + "[n]" + outputs +
                 ") { for o in floordiv(n + 15, 16) { for vector v in 16 { " + "if index(o*16 + v) < index(n) {" +
                 statements + " } } } }",
             {0, 3});
    TestData data = extremes(f);
    if (is_float(f)) {
      data.fill = [f](const std::string& name, std::byte* p, int64_t n) {
        if (name != "a") return;
        const double values[] = {0.0,           -0.0,         0.5,          -0.5,          1.5,
                                 2.5,           -2.5,         127.5,        128,           -128.9,
                                 255.9,         256,          -1,           32767.5,       65504,
                                 65520,         65519.9,      1e9,          2147483647,    2147483648.0,
                                 -2147483649.0, 4294967295.0, 4294967296.0, 9.3e18,        -9.3e18,
                                 1.9e19,        1e30,         -1e30,        INFINITY,      -INFINITY,
                                 NAN,           5.9e-8,       2.9e-8,       1.00048828125, 1.000488281251,
                                 1.00146484375, 1e-40,        1.0078125,    1.00390625,    1.0039062500001};
        for (int64_t i = 0; i < std::min<int64_t>(n, std::size(values)); ++i) {
          auto put = [&](auto v) { std::memcpy(p + i * static_cast<int64_t>(sizeof v), &v, sizeof v); };
          if (f == DType::F64) put(values[i]);
          if (f == DType::F32) put(static_cast<float>(values[i]));
          if (f == DType::F16) put(f64_to_f16(values[i]));
          if (f == DType::BF16) put(f64_to_bf16(values[i]));
        }
      };
    }
    for (int64_t n : {3, 45, 100}) k.expect_same({{"n", n}}, 0, data);
    data.scale = 300;
    data.fill = {};
    data.low = -70000;
    data.high = 70000;
    k.expect_same({{"n", 77}}, 0, data);
  }
}

TEST(Arithmetic, Halves) {
  for (const char* t : {"f16", "bf16"}) {
    SCOPED_TRACE(t);
    const std::string type = t;
    Kernel k("kernel h(%a: " + type + "[n], %b: " + type + "[n], %y: " + type + "[n] out, %z: " + type +
             "[n] out, %w: bool[n] out, %s: f32[1] out, %u: " + type +
             R"([n] out) {
      %s[0] = 0f32
      for o in floordiv(n + 15, 16) { for vector v in 16 { if index(o*16 + v) < index(n) {
        %y[o*16 + v] = %a[o*16 + v] * %b[o*16 + v] + %a[o*16 + v]
        %z[o*16 + v] += max(%a[o*16 + v], %b[o*16 + v]) / sqrt(abs(%b[o*16 + v]))
        %w[o*16 + v] = %a[o*16 + v] < %b[o*16 + v]
        %s[0] += cast.f32(%a[o*16 + v])
        %u[o*16 + v] = tanh(%a[o*16 + v])
      } } } })");
    for (int64_t n : {0, 1, 15, 16, 90}) k.expect_same({{"n", n}}, type == "f16" ? 1e-3 : 8e-3);
  }
}

TEST(Arithmetic, FloatsAndBools) {
  Kernel k(
      R"(kernel f(%a: f32[n], %b: f32[n], %c: bool[n], %d: bool[n], %y: f32[n] out, %z: f32[n] out, %w: bool[n] out, %m: f32[n] out, %q: bool[n] out) {
    for o in floordiv(n + 15, 16) { for vector v in 16 { if index(o*16 + v) < index(n) {
      %y[o*16 + v] = fma(%a[o*16 + v], %b[o*16 + v], 1f32) - floor(%a[o*16 + v]) * ceil(%b[o*16 + v]) + round(%a[o*16 + v] * 2f32) + trunc(%b[o*16 + v])
      %z[o*16 + v] = select(%c[o*16 + v], sign(%a[o*16 + v]), neg(%b[o*16 + v]))
      %w[o*16 + v] = xor(%c[o*16 + v], %d[o*16 + v]) || is_nan(%a[o*16 + v]) || is_inf(%b[o*16 + v])
      %m[o*16 + v] = mod(%a[o*16 + v], %b[o*16 + v])
      %q[o*16 + v] = not(%c[o*16 + v]) && max(%d[o*16 + v], %c[o*16 + v])
    } } } })");
  TestData data;
  data.fill = [](const std::string& name, std::byte* p, int64_t n) {
    const float special[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 2.5f, 0.5f, -1.5f};
    if (name == "a" || name == "b")
      std::memcpy(p, special, static_cast<size_t>(std::min<int64_t>(n, name == "a" ? 8 : 5)) * 4);
  };
  for (int64_t n : {0, 1, 8, 16, 17, 100}) k.expect_same({{"n", n}}, 1e-6, data);
}

TEST(Arithmetic, LongSidesOfSelectsAreSkipped) {
  Kernel k(R"(kernel s(%a: f32[n], %y: f32[n] out, %z: f32[n] out) {
    for o in floordiv(n + 15, 16) { for vector v in 16 { if index(o*16 + v) < index(n) {
      %y[o*16 + v] = select(0f32 < %a[o*16 + v], exp(%a[o*16 + v]) + log(%a[o*16 + v]), erf(%a[o*16 + v]) * tanh(%a[o*16 + v]))
    } } }
    for i in n { %z[i] = select(0f32 < %a[i], exp(%a[i]) + tanh(%a[i]), select(%a[i] < -1f32, erf(%a[i]), sin(%a[i]))) } })");
  for (int64_t n : {0, 1, 16, 33}) k.expect_same({{"n", n}}, 5e-7);
}

}  // namespace
}  // namespace pliant::codegen
