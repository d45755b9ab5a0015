// The stages in their order, their options, and how errors come out of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "artifact/file.h"
#include "base/stop.h"
#include "driver/compile.h"
#include "driver/pipeline.h"
#include "graph/kernel.h"
#include "passes/pass.h"

namespace pliant::driver {
namespace {

namespace fs = std::filesystem;

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string form = (fs::temp_directory_path() / "pliant-driver-XXXXXX").string();
    PLIANT_CHECK(mkdtemp(form.data()) != nullptr) << "no temporary folder";
    path_ = form;
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name), std::ios::binary) << text;
    return file(name);
  }

 private:
  fs::path path_;
};

const std::string kModel = R"(symbol n {origin=input_axis("x", 0)}
func @main(%0 "x": f32[n, 4]) {
  %1 = math.exp(%0) : f32[n, 4]
  %2 = math.add(%1, %0) : f32[n, 4]
  return %2 "y"
}
)";

graph::Module parsed(const std::string& text) {
  Result<graph::Module> m = graph::parse_module(text);
  EXPECT_TRUE(m.ok()) << m.error().text();
  return m.take();
}
CompileOptions portable() {
  CompileOptions options;
  options.target = "x86-64-v3";
  options.threads = 1;
  options.check_passes = true;
  return options;
}

// The first place of each of `names` among those of the level, which must come in this order.
void expect_order(int level, const std::vector<std::string>& names) {
  const std::vector<std::string> all = pass_names(level);
  auto from = all.begin();
  for (const std::string& name : names) {
    from = std::find(from, all.end(), name);
    ASSERT_NE(from, all.end()) << name << " at level " << level;
  }
}

TEST(Pipeline, PassesExistAndCodeNeedsTheFirstOnes) {
  for (int level = 0; level <= 3; ++level) {
    for (const std::string& name : pass_names(level)) EXPECT_NE(passes::find_pass(name), nullptr) << name;
    expect_order(level, {"propagate-sizes", "guard-divisions", "guard-arctangents", "expand-composites"});
  }
  EXPECT_EQ(pass_names(0).size(), 4u);
  EXPECT_EQ(pass_names(2), pass_names(3));
}

TEST(Pipeline, OrderThatResultsDependOn) {
  expect_order(1, {"inline-calls", "expand-composites", "simplify", "fold-constants", "fold-control"});
  expect_order(1, {"hoist-invariant", "cse", "batch-products", "unroll-loops", "grow-outermost", "accumulate-reductions"});
  expect_order(2, {"accumulate-reductions", "fold-batch-norm", "layout", "fold-constants", "cse", "dce"});
  const std::vector<std::string> one = pass_names(1);
  EXPECT_EQ(std::count(one.begin(), one.end(), "layout"), 0);
}

std::string internal_error(const std::function<void()>& run) {
  try {
    run();
  } catch (const InternalError& e) {
    return e.what();
  }
  return "";
}

TEST(Pipeline, AnInternalErrorNamesItsPass) {
  // An attribute of a wrong kind, which only verifying would refuse.
  const graph::Module m =
      parsed("func @main(%0 \"x\": f32[4]) {\n  %1 = core.call(%0) {callee=3} : f32[4]\n  return %1 \"y\"\n}\n");
  CompileOptions options = portable();
  options.check_passes = false;
  const std::string in_pass = internal_error([&] { (void)run_passes(m, options); });
  EXPECT_NE(in_pass.find("in pass inline-calls: "), std::string::npos) << in_pass;
  const std::string in_last = internal_error([&] { (void)run_partition(m, target::native_target(), options, {}); });
  EXPECT_NE(in_last.find("in pass partition: "), std::string::npos) << in_last;
  options.check_passes = true;
  const std::string unchecked = internal_error([&] { (void)run_passes(m, options); });
  EXPECT_NE(unchecked.find("after pass import: "), std::string::npos) << unchecked;
}

TEST(Pipeline, PassesLeaveNoKernelsAndThePartitionNothingElse) {
  const graph::Module m = parsed(kModel);
  const CompileOptions options = portable();
  const Result<graph::Module> optimised = run_passes(m, options);
  ASSERT_TRUE(optimised.ok()) << optimised.error().text();
  for (const graph::Node& n : optimised.value().main().nodes) EXPECT_FALSE(graph::is_kernel(n));
  const auto p = run_partition(optimised.value(), target::native_target(), options, {});
  ASSERT_TRUE(p.ok()) << p.error().text();
  ASSERT_EQ(p.value().module.main().nodes.size(), 1u);
  EXPECT_TRUE(graph::is_kernel(p.value().module.main().nodes[0]));
}

TEST(Compile, EveryLevelGivesASoundFile) {
  for (int level = 0; level <= 3; ++level) {
    CompileOptions options = portable();
    options.opt_level = level;
    const auto bytes = compile_module(parsed(kModel), options);
    ASSERT_TRUE(bytes.ok()) << bytes.error().text();
    artifact::FileView file;
    std::string error;
    EXPECT_TRUE(artifact::open_file(bytes.value(), {}, file, error)) << error;
    ASSERT_EQ(file.variants.size(), 1u);
    EXPECT_EQ(file.variants[0].target, "x86-64-v3");
  }
}

TEST(Compile, TheSameBytesTwiceAndWithAnyNumberOfThreads) {
  CompileOptions options = portable();
  const auto once = compile_module(parsed(kModel), options);
  options.threads = 3;
  const auto again = compile_module(parsed(kModel), options);
  ASSERT_TRUE(once.ok() && again.ok());
  EXPECT_EQ(once.value(), again.value());
}

std::string fault(const std::function<void(CompileOptions&)>& change) {
  CompileOptions options = portable();
  change(options);
  const auto bytes = compile_module(parsed(kModel), options);
  return bytes.ok() ? "" : bytes.error().text();
}
TEST(Compile, RefusesOptionsThatItDoesNotKnow) {
  EXPECT_NE(fault([](CompileOptions& o) { o.target = "z80"; }).find("x86-64-v3"), std::string::npos);
  EXPECT_NE(fault([](CompileOptions& o) { o.precision = "bf16"; }).find("only fp32"), std::string::npos);
  EXPECT_NE(fault([](CompileOptions& o) { o.opt_level = 4; }).find("0 to 3"), std::string::npos);
  EXPECT_NE(fault([](CompileOptions& o) { o.opt_level = -1; }).find("0 to 3"), std::string::npos);
  EXPECT_EQ(fault([](CompileOptions&) {}), "");
}

TEST(Compile, ErrorsOfFilesNameThem) {
  const TemporaryFolder folder;
  const auto missing = compile_file(folder.file("none.onnx"), portable());
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().text().find("none.onnx"), std::string::npos) << missing.error().text();
  // A type that its operator does not give: found where an import would find it, before any pass.
  std::string wrong = kModel;
  wrong.replace(wrong.find("%2 = math.add(%1, %0) : f32[n, 4]"), 33, "%2 = math.add(%1, %0) : f32[n, 5]");
  const auto bad = compile_file(folder.write("bad.ir", wrong), portable());
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().text().find("f32[n, 5]"), std::string::npos) << bad.error().text();
  const auto none = compile_file(folder.write("none.ir", "no text"), portable());
  EXPECT_FALSE(none.ok());
}

TEST(Compile, ATextGivesWhatItsModuleGives) {
  const TemporaryFolder folder;
  const auto from_file = compile_file(folder.write("model.ir", kModel), portable());
  ASSERT_TRUE(from_file.ok()) << from_file.error().text();
  graph::Module m = parsed(kModel);
  m.source = folder.file("model.ir");
  const auto from_module = compile_module(m, portable());
  ASSERT_TRUE(from_module.ok());
  EXPECT_EQ(from_file.value(), from_module.value());
}

TEST(Compile, DumpsWhatEachStageGives) {
  const TemporaryFolder folder;
  CompileOptions options = portable();
  options.dump_dir = folder.file("dump");
  ASSERT_TRUE(compile_module(parsed(kModel), options).ok());
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(options.dump_dir)) names.push_back(entry.path().filename().string());
  auto ends = [&](const std::string& end) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& n) { return n.ends_with(end); });
  };
  for (const char* name : {"00-import.ir", "-partition.ir", "kernels.ir", "loops.ir", "host.ir", "target.txt"})
    EXPECT_TRUE(ends(name)) << name;
}

TEST(Compile, SaysHowFarItIs) {
  CompileOptions options = portable();
  std::vector<double> steps;
  options.progress = [&](const std::string&, double fraction) { steps.push_back(fraction); };
  ASSERT_TRUE(compile_module(parsed(kModel), options).ok());
  EXPECT_TRUE(std::is_sorted(steps.begin(), steps.end()));
  EXPECT_EQ(steps.back(), 1.0);
}

TEST(Compile, StopsWhenItIsTold) {
  StopFlag flag{true};
  const StopScope scope(&flag);
  EXPECT_THROW(compile_module(parsed(kModel), portable()), Stopped);
}

}  // namespace
}  // namespace pliant::driver
