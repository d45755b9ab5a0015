// Mathematical functions of compiled code against the C library in f64, over special values and samples of the whole range.
#include <cfloat>

#include "codegen/kernel_harness_test.h"

namespace pliant::codegen {
namespace {

std::vector<float> samples() {
  std::vector<float> xs = {0.0f,     -0.0f,     1.0f,          -1.0f,     0.5f,     -0.5f,       2.0f,        3.0f,
                           INFINITY, -INFINITY, NAN,           FLT_MIN,   -FLT_MIN, FLT_MAX,     -FLT_MAX,    1e-45f,
                           -1e-45f,  1e-40f,    88.72283f,     88.72284f, 88.8f,    -87.3f,      -103.9f,     -104.1f,
                           -88.8f,   0.625f,    0.93f,         4.0f,      9.1f,     3.14159265f, 1.57079637f, 6.2831853f,
                           1e10f,    1e15f,     1.0995116e12f, 1e20f,     1e30f,    16777216.0f, 0.99999994f, 1.0000001f};
  // Every 30,011th float of both signs, then values near where functions bend.
  for (uint64_t bits = 0; bits < 0x7f800000u; bits += 30011) {
    xs.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    xs.push_back(-xs.back());
  }
  for (int i = -20000; i <= 20000; ++i) xs.push_back(static_cast<float>(i) * 0.00537f);
  for (int i = 1; i <= 90000; i += 7) xs.push_back(static_cast<float>(i * 1.57079632679489662));
  for (int i = -5000; i <= 5000; ++i) xs.push_back(1.0f + static_cast<float>(i) * 0.0002f);
  return xs;
}

double ulp_of(float x) {
  x = std::fabs(x);
  if (x < FLT_MIN) return 0x1p-149;
  return static_cast<double>(std::nextafter(x, INFINITY)) - x;
}

// The largest error in ulp; special results must agree.
void expect_close(const std::string& name, const std::vector<float>& in, const float* out,
                  const std::function<double(double)>& f, double bound, float largest = INFINITY) {
  double worst = 0;
  float at = 0;
  int bad = 0;
  for (size_t i = 0; i < in.size() && bad < 5; ++i) {
    if (std::fabs(in[i]) > largest && std::isfinite(in[i])) continue;
    const double exact = f(in[i]);
    const float want = static_cast<float>(exact);
    if (std::isnan(want) || std::isinf(want) || want == 0) {
      const bool same =
          std::isnan(want) ? std::isnan(out[i]) : (want == out[i] && std::signbit(want) == std::signbit(out[i]));
      // The last float before overflow may differ.
      if (!same && !(std::isinf(want) && std::fabs(exact) < 0x1.fffffffp127) &&
          !(want == 0 && std::fabs(out[i]) <= 1e-45f)) {
        ADD_FAILURE() << name << "(" << in[i] << ") is " << out[i] << ", not " << want;
        ++bad;
      }
      continue;
    }
    const double error = std::isfinite(out[i]) ? std::fabs(out[i] - exact) / ulp_of(want) : INFINITY;
    if (!(error <= worst)) {
      worst = error;
      at = in[i];
    }
  }
  EXPECT_LE(worst, bound) << name << " at " << at;
  ::testing::Test::RecordProperty(name, std::to_string(worst));
}

struct Function {
  const char* name;
  double (*reference)(double);
  double ulp;
};

TEST(Math, UnaryOfF32) {
  const Function functions[] = {
      {"exp", [](double x) { return std::exp(x); }, 1.0},
      {"log", [](double x) { return std::log(x); }, 1.0},
      {"log1p", [](double x) { return std::log1p(x); }, 0.52},
      {"expm1", [](double x) { return std::expm1(x); }, 0.52},
      {"tanh", [](double x) { return std::tanh(x); }, 1.3},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, 2.0},
      {"erf", [](double x) { return std::erf(x); }, 1.2},
      {"sin", [](double x) { return std::sin(x); }, 1.6},
      {"cos", [](double x) { return std::cos(x); }, 1.6},
      {"tan", [](double x) { return std::tan(x); }, 0.52},
      {"asin", [](double x) { return std::asin(x); }, 1.2},
      {"acos", [](double x) { return std::acos(x); }, 1.2},
      {"atan", [](double x) { return std::atan(x); }, 1.2},
      {"sinh", [](double x) { return std::sinh(x); }, 0.52},
      {"cosh", [](double x) { return std::cosh(x); }, 0.52},
      {"asinh", [](double x) { return std::asinh(x); }, 0.52},
      {"acosh", [](double x) { return std::acosh(x); }, 0.52},
      {"atanh", [](double x) { return std::atanh(x); }, 0.52},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1.5},
      {"recip", [](double x) { return 1 / x; }, 0.51},
      {"sqrt", [](double x) { return std::sqrt(x); }, 0.51},
  };
  const std::vector<float> xs = samples();
  for (const Function& f : functions) {
    SCOPED_TRACE(f.name);
    Kernel k(std::string(R"(kernel f(%x: f32[n], %y: f32[n] out) {
      for o in floordiv(n + 15, 16) { for vector v in 16 {
        if index(o*16 + v) < index(n) { %y[o*16 + v] = )") +
                 f.name + R"((%x[o*16 + v]) }
      } } })",
             {0, 3});
    k.bind({{"n", static_cast<int64_t>(xs.size())}});
    for (const Variant& v : k.variants) {
      SCOPED_TRACE(v.name);
      std::vector<std::unique_ptr<GuardedBytes>> buffers;
      for (int i = 0; i < 2; ++i) buffers.push_back(std::make_unique<GuardedBytes>(xs.size() * 4));
      std::memcpy(buffers[0]->data(), xs.data(), xs.size() * 4);
      ASSERT_EQ(k.run(v, buffers), 0u);
      expect_close(f.name, xs, reinterpret_cast<const float*>(buffers[1]->data()), f.reference, f.ulp);
    }
  }
}

TEST(Math, BinaryOfF32) {
  std::vector<float> values = {0.0f,    -0.0f,  1.0f,    -1.0f,    2.0f,        -2.0f,       0.5f,
                               -0.5f,   3.0f,   -3.0f,   INFINITY, -INFINITY,   NAN,         1e-40f,
                               -1e-40f, 2.5f,   -2.5f,   1e10f,    -1e10f,      16777216.0f, 16777217.0f,
                               127.0f,  128.0f, -150.0f, 1e38f,    0.99999994f, 7.25f,       1.7f};
  std::vector<float> a, b;
  for (float x : values) {
    for (float y : values) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  std::mt19937 rng(3);
  std::normal_distribution<float> normal(0, 5);
  for (int i = 0; i < 20000; ++i) {
    a.push_back(normal(rng));
    b.push_back(normal(rng));
  }
  struct Case {
    const char* expression;
    double (*reference)(double, double);
    double ulp;
  };
  const Case cases[] = {
      {"pow", [](double x, double y) { return std::pow(x, y); }, 0.52},
      {"atan2", [](double x, double y) { return std::atan2(x, y); }, 0.52},
      {"rem", [](double x, double y) { return std::fmod(x, y); }, 0.51},
      {"max", [](double x, double y) { return x != x || y != y ? NAN
                                              : x > y          ? x
                                                               : y; }, 0},
      {"min", [](double x, double y) { return x != x || y != y ? NAN
                                              : x < y          ? x
                                                               : y; }, 0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.expression);
    Kernel k(std::string(R"(kernel f(%x: f32[n], %y: f32[n], %z: f32[n] out) {
      for o in floordiv(n + 15, 16) { for vector v in 16 {
        if index(o*16 + v) < index(n) { %z[o*16 + v] = )") +
                 c.expression + R"((%x[o*16 + v], %y[o*16 + v]) }
      } } })",
             {0, 3});
    k.bind({{"n", static_cast<int64_t>(a.size())}});
    for (const Variant& v : k.variants) {
      SCOPED_TRACE(v.name);
      std::vector<std::unique_ptr<GuardedBytes>> buffers;
      for (int i = 0; i < 3; ++i) buffers.push_back(std::make_unique<GuardedBytes>(a.size() * 4));
      std::memcpy(buffers[0]->data(), a.data(), a.size() * 4);
      std::memcpy(buffers[1]->data(), b.data(), b.size() * 4);
      ASSERT_EQ(k.run(v, buffers), 0u);
      const float* z = reinterpret_cast<const float*>(buffers[2]->data());
      int bad = 0;
      for (size_t i = 0; i < a.size() && bad < 5; ++i) {
        const double exact = c.reference(a[i], b[i]);
        const float want = static_cast<float>(exact);
        if (want == z[i] || (std::isnan(want) && std::isnan(z[i]))) continue;
        if (std::isfinite(want) && std::fabs(z[i] - exact) <= c.ulp * ulp_of(want)) continue;
        ADD_FAILURE() << c.expression << "(" << a[i] << ", " << b[i] << ") is " << z[i] << ", not " << want;
        ++bad;
      }
    }
  }
}

TEST(Math, ConstantPowers) {
  Kernel k(R"(kernel p(%x: f32[n], %a: f32[n] out, %b: f32[n] out, %c: f32[n] out, %d: f32[n] out, %e: f64[n] out) {
    for o in floordiv(n + 7, 8) { for vector v in 8 { if index(o*8 + v) < index(n) {
      %a[o*8 + v] = pow(%x[o*8 + v], 2f32)
      %b[o*8 + v] = pow(%x[o*8 + v], 0.5f32)
      %c[o*8 + v] = pow(%x[o*8 + v], 3f32)
      %d[o*8 + v] = pow(%x[o*8 + v], -1f32)
      %e[o*8 + v] = pow(cast.f64(%x[o*8 + v]), 1.5f64)
    } } } })");
  TestData data;
  data.fill = [](const std::string& name, std::byte* p, int64_t n) {
    const float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1, -1, 4, 1e-40f};
    if (name == "x") std::memcpy(p, special, static_cast<size_t>(std::min<int64_t>(n, 9)) * 4);
  };
  k.expect_same({{"n", 60}}, 2e-7, data);
}

TEST(Math, F64) {
  std::string body;
  const char* names[] = {"exp",   "log",   "sin",   "tanh", "erf",   "sigmoid", "sqrt",
                         "rsqrt", "log1p", "expm1", "atan", "floor", "round",   "cos"};
  std::string params, statements;
  for (const char* name : names) {
    params += std::string(", %y_") + name + ": f64[n] out";
    statements += std::string(" %y_") + name + "[o*8 + v] = " + name + "(%x[o*8 + v])";
  }
  // Remainders are exact, however often the divisor fits.
  for (const char* divisor : {"0.7", "3", "-1e-13", "1e-300"}) {
    params += ", %r" + std::to_string(statements.size()) + ": f64[n] out";
    statements += " %r" + std::to_string(statements.size()) + "[o*8 + v] = rem(%x[o*8 + v], " + divisor + "f64)";
  }
  Kernel k("kernel f(%x: f64[n]" + params +
           ") { for o in floordiv(n + 7, 8) { for vector v in 8 { if index(o*8 + v) < index(n) {" + statements + " } } } }");
  for (double scale : {1.0, 30.0, 800.0, 1e-9}) {
    TestData data;
    data.scale = scale;
    data.fill = [](const std::string& name, std::byte* p, int64_t n) {
      const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 4, 1e-310, 709.9, -745.2, 2.5};
      if (name == "x") std::memcpy(p, special, static_cast<size_t>(std::min<int64_t>(n, 12)) * 8);
    };
    k.expect_same({{"n", 1000}}, 1e-15, data);
  }
}

}  // namespace
}  // namespace pliant::codegen
