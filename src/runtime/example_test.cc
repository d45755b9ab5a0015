// The C example builds with pliant.h and the shared library alone, and runs an artifact at two shapes.
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "runtime/vm/fixture_test.h"

namespace pliant::runtime::fixture {
namespace {

std::string output_of(const std::string& command, int* status) {
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::string out;
  char part[256];
  while (pipe != nullptr && std::fgets(part, sizeof part, pipe) != nullptr) out += part;
  *status = pipe != nullptr ? pclose(pipe) : -1;
  return out;
}

// Without the times, which differ.
std::string without_times(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    const size_t ms = line.rfind(" ms");
    if (ms != std::string::npos) line.resize(line.find(':'));
    out += line + "\n";
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return out;
}

TEST(example, builds_with_the_header_and_the_library_alone) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the example is built without the sanitizer's library";
#endif
  const std::string folder = testing::TempDir() + "pliant_example_" + std::to_string(getpid());
  int status = 0;
  const std::string made = output_of(
      "mkdir -p " + folder + " && cp " PLIANT_SOURCE_DIR "/examples/c/* " PLIANT_SOURCE_DIR "/src/runtime/pliant.h " +
          folder + " && make -s -C " + folder + " PLIANT_INCLUDE=" + folder + " PLIANT_LIB=" PLIANT_BINARY_DIR " infer",
      &status);
  ASSERT_EQ(status, 0) << made;
  const std::vector<std::byte> file = file_of(add_chain(3));
  std::ofstream(folder + "/model.pliant", std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  const std::string ran = output_of(folder + "/infer " + folder + "/model.pliant n=2,m=3 m=1,n=8", &status);
  EXPECT_EQ(status, 0);
  // 4 times 0 + 1 + ... + 5, then 4 times 0 + 1 + ... + 6 + 0.
  EXPECT_EQ(without_times(ran), "n=2,m=3\n  y: f32[2, 3] sum 60\nm=1,n=8\n  y: f32[8, 1] sum 84\n");
  const std::string wrong = output_of(folder + "/infer " + folder + "/model.pliant n=2", &status);
  EXPECT_NE(status, 0);
  EXPECT_EQ(wrong, "\"n=2\" gives no value for axis 1 of input \"a\": m\n");
  EXPECT_EQ(output_of("rm -r " + folder, &status), "");
}

}  // namespace
}  // namespace pliant::runtime::fixture
