// For tests: compiles kernels given as text, maps the image as the runtime would, runs it on buffers that end at an unmapped
// page, and compares with loop::interpret.
#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>

#include "base/half.h"
#include "codegen/codegen.h"
#include "codegen/frame.h"
#include "loop/grid.h"

namespace pliant::codegen {

// An image in memory, relocated, executable.
class MappedImage {
 public:
  explicit MappedImage(const artifact::NativeImage& image) {
    auto pages = [](size_t n) { return (n + 4095) / 4096 * 4096; };
    const size_t text = pages(image.text.size()), rodata = pages(image.rodata.size()), data = pages(image.data.size());
    size_ = text + rodata + data + 4096;
    base_ = static_cast<std::byte*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::copy(image.text.begin(), image.text.end(), base_);
    std::copy(image.rodata.begin(), image.rodata.end(), base_ + text);
    std::byte* writable = base_ + text + rodata;
    std::copy(image.data.begin(), image.data.end(), writable);
    for (const artifact::Relocation& r : image.relocations) {
      uint64_t value = reinterpret_cast<uint64_t>(base_) + r.addend;
      if (r.kind == artifact::Relocation::Kind::Import) {
        value = reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, image.imports[r.addend].c_str()));
        if (!value) throw std::runtime_error("no function " + image.imports[r.addend]);
      }
      std::memcpy(writable + r.offset, &value, 8);
    }
    mprotect(base_, text, PROT_READ | PROT_EXEC);
    mprotect(base_ + text, rodata, PROT_READ);
  }
  ~MappedImage() { munmap(base_, size_); }
  MappedImage(const MappedImage&) = delete;
  MappedImage& operator=(const MappedImage&) = delete;
  artifact::KernelFn kernel(uint64_t offset) const { return reinterpret_cast<artifact::KernelFn>(base_ + offset); }
  artifact::ShapeFn shape(uint64_t offset) const { return reinterpret_cast<artifact::ShapeFn>(base_ + offset); }

 private:
  std::byte* base_ = nullptr;
  size_t size_ = 0;
};

// Bytes whose end touches an unmapped page, so that reading or writing past it faults.
class GuardedBytes {
 public:
  explicit GuardedBytes(size_t bytes) : bytes_(bytes), mapped_((bytes + 4095) / 4096 * 4096 + 8192) {
    memory_ = static_cast<std::byte*>(mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(memory_, 4096, PROT_NONE);
    mprotect(memory_ + mapped_ - 4096, 4096, PROT_NONE);
  }
  ~GuardedBytes() { munmap(memory_, mapped_); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  std::byte* data() const { return memory_ + mapped_ - 4096 - bytes_; }
  size_t size() const { return bytes_; }

 private:
  std::byte* memory_;
  size_t bytes_, mapped_;
};

// Scratch memory of one thread, full of NaN, with zones around its pieces that must stay as they are.
class GuardedScratch {
 public:
  static constexpr int64_t kGap = 64;
  explicit GuardedScratch(const std::vector<int64_t>& pieces) {
    for (int64_t bytes : pieces) {
      if (bytes < 0) throw std::runtime_error("a piece of scratch memory has a negative size");
      zones_.push_back(size_);
      size_ += kGap;
      const int64_t end = size_ + bytes;
      size_ = (end + 63) / 64 * 64;
      for (int64_t at = end; at < size_; ++at) rest_.push_back(at);
    }
    zones_.push_back(size_);
    size_ += kGap;
    memory_.assign(static_cast<size_t>(size_) + 64, std::byte{0xff});
    base_ = memory_.data() + (64 - reinterpret_cast<uintptr_t>(memory_.data()) % 64) % 64;
    for (int64_t zone : zones_) std::fill(base_ + zone, base_ + zone + kGap, std::byte{0xa5});
    for (int64_t at : rest_) base_[at] = std::byte{0xa5};
  }
  // KernelFrame::scratch; KernelFrame::scratch_gap is kGap.
  std::byte* data() const { return base_ + kGap; }
  bool is_intact() const {
    bool intact = true;
    for (int64_t zone : zones_)
      for (int64_t at = zone; at < zone + kGap; ++at) intact = intact && base_[at] == std::byte{0xa5};
    for (int64_t at : rest_) intact = intact && base_[at] == std::byte{0xa5};
    return intact;
  }

 private:
  std::vector<int64_t> zones_, rest_;
  int64_t size_ = 0;
  std::vector<std::byte> memory_;
  std::byte* base_ = nullptr;
};

// One variant of a compiled kernel.
struct Variant {
  std::string name;
  std::unique_ptr<MappedImage> image;
  artifact::KernelFn run = nullptr;
};

// Data for the buffers of a run.
// Integer data is drawn from [low, high], floats from the normal distribution times `scale`.
struct TestData {
  int64_t low = -20, high = 20;
  double scale = 1;
  std::function<void(const std::string& param, std::byte* data, int64_t elements)> fill;
};

class Kernel {
 public:
  explicit Kernel(const std::string& text, std::vector<int> levels = {0, 1, 2, 3}) {
    auto parsed = loop::parse(text, ctx);
    if (!parsed.ok()) throw std::runtime_error(parsed.error().text());
    function = parsed.take();
    auto verified = loop::verify(function, ctx);
    if (!verified.ok()) throw std::runtime_error(verified.error().text());
    ints = loop::free_symbols(function);
    for (const Target& target : all_targets()) {
      if (!machine_runs(target)) continue;
      for (int level : levels) add_variant(target, level);
    }
  }

  void add_variant(const Target& target, int level) {
    Options options;
    options.opt_level = level;
    auto compiled = compile({{&function, ints}}, {}, ctx, target, options);
    if (!compiled.ok()) throw std::runtime_error(compiled.error().text());
    Variant v{target.name + " level " + std::to_string(level), std::make_unique<MappedImage>(compiled.value().image)};
    v.run = v.image->kernel(compiled.value().kernel_offsets[0]);
    variants.push_back(std::move(v));
  }

  // Runs every variant and the interpreter on the same random data; floats may differ by `tolerance`, relative to their size
  // or to 1 where that is larger.
  void expect_same(const std::map<std::string, int64_t>& symbols, double tolerance = 0, TestData data = {}) {
    bind(symbols);
    std::vector<std::vector<std::byte>> initial;
    std::mt19937 rng(7);
    for (const loop::Buffer& b : function.params) {
      initial.emplace_back(static_cast<size_t>(elements_of(b) * byte_size(b.dtype)));
      fill(b, initial.back(), rng, data);
    }
    std::vector<std::vector<std::byte>> expected = initial;
    std::vector<void*> pointers;
    for (auto& e : expected) pointers.push_back(e.data());
    const bool fails = !loop::interpret(function, ctx, bound_, pointers).ok();
    for (const Variant& v : variants) {
      SCOPED_TRACE(v.name);
      std::vector<std::unique_ptr<GuardedBytes>> buffers;
      for (const auto& bytes : initial) {
        buffers.push_back(std::make_unique<GuardedBytes>(bytes.size()));
        std::copy(bytes.begin(), bytes.end(), buffers.back()->data());
      }
      const uint32_t status = run(v, buffers);
      EXPECT_EQ(status != 0, fails);
      for (size_t i = 0; i < buffers.size() && !fails; ++i) {
        compare(function.params[i], expected[i].data(), buffers[i]->data(), tolerance);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }

  uint32_t run(const Variant& v, const std::vector<std::unique_ptr<GuardedBytes>>& buffers) {
    std::vector<void*> pointers;
    for (const auto& b : buffers) pointers.push_back(b->data());
    std::vector<int64_t> values;
    for (expr::SymbolId s : ints) values.push_back(value_of(s));
    std::vector<int64_t> pieces;
    for (const auto& piece : scratch_layout(function, ctx).pieces) pieces.push_back(evaluate(piece.bytes));
    const GuardedScratch scratch(pieces);
    trap_values.assign(8, 0);
    artifact::KernelFrame frame{pointers.data(),    values.data(), scratch.data(),
                                trap_values.data(), nullptr,       GuardedScratch::kGap};
    // In three slices, as threads would.
    const int64_t tasks = evaluate(loop::task_count(function, ctx));
    uint32_t status = 0;
    for (int64_t k = 0; k < 3 && status == 0; ++k) status = v.run(&frame, tasks * k / 3, tasks * (k + 1) / 3);
    EXPECT_TRUE(scratch.is_intact()) << "the kernel wrote outside a piece of its scratch memory";
    return status;
  }

  void bind(const std::map<std::string, int64_t>& symbols) {
    bound_.clear();
    for (const auto& [name, value] : symbols) bound_.emplace_back(*ctx.find_symbol(name), value);
  }
  int64_t evaluate(expr::Dim d) const {
    auto v = expr::evaluate(d, [&](expr::SymbolId s) { return std::optional<int64_t>(value_of(s)); });
    if (!v) throw std::runtime_error("cannot evaluate " + d.str());
    return *v;
  }
  int64_t elements_of(const loop::Buffer& b) {
    int64_t last = 0;
    const auto strides = loop::strides_of(b, ctx);
    for (size_t i = 0; i < b.shape.size(); ++i) {
      const int64_t n = evaluate(b.shape[i]);
      if (n <= 0) return 0;
      last += (n - 1) * evaluate(strides[i]);
    }
    return last + 1;
  }

  expr::Context ctx;
  loop::Function function;
  std::vector<expr::SymbolId> ints;
  std::vector<Variant> variants;
  std::vector<int64_t> trap_values;

 private:
  int64_t value_of(expr::SymbolId s) const {
    for (const auto& [id, value] : bound_) {
      if (id == s) return value;
    }
    throw std::runtime_error("symbol " + ctx.info(s).name + " is not bound");
  }

  static double to_double(DType t, const std::byte* p) {
    auto get = [&](auto v) {
      std::memcpy(&v, p, sizeof v);
      return v;
    };
    if (t == DType::F32) return get(float{});
    if (t == DType::F64) return get(double{});
    return t == DType::F16 ? f16_to_f32(get(uint16_t{})) : bf16_to_f32(get(uint16_t{}));
  }

  void fill(const loop::Buffer& b, std::vector<std::byte>& bytes, std::mt19937& rng, const TestData& data) {
    const int64_t size = byte_size(b.dtype);
    const int64_t n = static_cast<int64_t>(bytes.size()) / size;
    std::normal_distribution<double> normal(0, data.scale);
    std::uniform_int_distribution<int64_t> integer(data.low, data.high);
    for (int64_t i = 0; i < n; ++i) {
      std::byte* p = bytes.data() + i * size;
      auto put = [&](auto v) { std::memcpy(p, &v, sizeof v); };
      switch (b.dtype) {
        case DType::F32: put(static_cast<float>(normal(rng))); break;
        case DType::F64: put(normal(rng)); break;
        case DType::F16: put(f64_to_f16(normal(rng))); break;
        case DType::BF16: put(f64_to_bf16(normal(rng))); break;
        case DType::Bool: put(static_cast<uint8_t>(rng() & 1)); break;
        default: {
          const int64_t v = integer(rng);
          std::memcpy(p, &v, static_cast<size_t>(size));
        }
      }
    }
    if (data.fill) data.fill(b.name, bytes.data(), n);
  }

  void compare(const loop::Buffer& b, const std::byte* want, const std::byte* got, double tolerance) {
    const int64_t size = byte_size(b.dtype);
    const int64_t n = elements_of(b);
    int reported = 0;
    for (int64_t i = 0; i < n && reported < 4; ++i) {
      const std::byte *w = want + i * size, *g = got + i * size;
      if (std::memcmp(w, g, static_cast<size_t>(size)) == 0) continue;
      if (is_float(b.dtype)) {
        const double x = to_double(b.dtype, w), y = to_double(b.dtype, g);
        if (x == y || (std::isnan(x) && std::isnan(y))) continue;
        if (std::fabs(x - y) <= tolerance * std::max(1.0, std::fabs(x))) continue;
        ADD_FAILURE() << b.name << "[" << i << "] is " << y << ", not " << x;
      } else {
        int64_t x = 0, y = 0;
        std::memcpy(&x, w, static_cast<size_t>(size));
        std::memcpy(&y, g, static_cast<size_t>(size));
        ADD_FAILURE() << b.name << "[" << i << "] is " << y << ", not " << x;
      }
      ++reported;
    }
  }

  std::vector<std::pair<expr::SymbolId, int64_t>> bound_;
};

// The lines of assembly that a kernel becomes on a target. A block of it begins where a line begins with a dot.
inline std::vector<std::string> assembly_of(const std::string& text, const std::string& target) {
  const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::filesystem::path dir = std::filesystem::path(::testing::TempDir()) / ("pliant_codegen_" + test);
  std::filesystem::create_directories(dir);
  expr::Context ctx;
  const loop::Function f = loop::parse(text, ctx).take();
  Options options;
  options.dump_dir = dir.string();
  EXPECT_TRUE(compile({{&f, loop::free_symbols(f)}}, {}, ctx, *find_target(target), options).ok());
  std::ifstream in(dir / "kernels0.s");
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
  std::filesystem::remove_all(dir);
  return lines;
}

}  // namespace pliant::codegen
