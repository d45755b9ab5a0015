#include "base/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace pliant {
namespace {

namespace fs = std::filesystem;

struct OutputFileTest : ::testing::Test {
  fs::path folder = fs::path(::testing::TempDir()) / ("pliant_output_" + std::to_string(getpid()));
  OutputFileTest() {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  ~OutputFileTest() override { fs::remove_all(folder); }
  std::string at(const char* name) const { return (folder / name).string(); }
  static std::string contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  static std::span<const std::byte> bytes(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
  }
  long count() const { return std::distance(fs::directory_iterator(folder), fs::directory_iterator()); }
};

TEST_F(OutputFileTest, appears_when_it_is_finished) {
  std::ofstream(at("f")) << "old";
  auto file = OutputFile::open(at("f"));
  ASSERT_TRUE(file.ok()) << file.error().text();
  EXPECT_TRUE(file.value().append(bytes("new ")).ok());
  EXPECT_TRUE(file.value().append(bytes("text")).ok());
  EXPECT_EQ(contents(at("f")), "old");
  EXPECT_TRUE(file.value().finish().ok());
  EXPECT_EQ(contents(at("f")), "new text");
  EXPECT_EQ(count(), 1);
}

TEST_F(OutputFileTest, leaves_nothing_when_it_is_given_up) {
  {
    auto file = OutputFile::open(at("f"));
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(file.value().append(bytes("half")).ok());
  }
  EXPECT_EQ(count(), 0);
}

TEST_F(OutputFileTest, empty_ones_are_files_too) {
  EXPECT_TRUE(write_file(at("f"), std::string_view()).ok());
  EXPECT_TRUE(fs::is_regular_file(at("f")));
}

TEST_F(OutputFileTest, does_not_replace_what_came_meanwhile_and_is_no_file) {
  auto file = OutputFile::open(at("f"));
  ASSERT_TRUE(file.ok() && file.value().append(bytes("x")).ok());
  ASSERT_EQ(mkfifo(at("f").c_str(), 0600), 0);
  const Status finished = file.value().finish();
  ASSERT_FALSE(finished.ok());
  EXPECT_NE(finished.error().text().find("something else"), std::string::npos);
  EXPECT_EQ(count(), 1);
}

TEST_F(OutputFileTest, folders) {
  EXPECT_TRUE(make_output_folder(at("a/b/c")).ok());
  EXPECT_TRUE(fs::is_directory(at("a/b/c")) && fs::is_empty(at("a/b/c")));
  std::ofstream(at("f")) << "x";
  const Status made = make_output_folder(at("f"));
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().text().find("[file]"), std::string::npos);
}

}  // namespace
}  // namespace pliant
