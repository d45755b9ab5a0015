// Runs every golden file; `golden_test --bless` rewrites the expected outputs instead.
#include "golden/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

namespace pliant::golden {

#include "golden_commands.h"

namespace {

constexpr std::string_view kTest = "// test: ", kExpect = "// ---- expect\n";

bool bless = false;

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands = [] {
    std::vector<Command> list;
#define PLIANT_ADD_COMMAND(make) list.push_back(make());
    PLIANT_LIST(PLIANT_ADD_COMMAND)
#undef PLIANT_ADD_COMMAND
    return list;
  }();
  return commands;
}

std::string run_command(const Command& command, const Case& c) {
  std::string out;
  try {
    auto result = command.run(c);
    if (result.ok()) return result.take();
    for (const Diagnostic& d : result.error().diagnostics) out += "// error: " + format(d) + "\n";
  } catch (const InternalError& e) {
    out = std::string("// internal error: ") + e.what() + "\n";
  }
  return out;
}

class GoldenTest : public testing::Test {
 public:
  explicit GoldenTest(std::string path) : path_(std::move(path)) {}
  void TestBody() override {
    std::ifstream file(path_, std::ios::binary);
    std::stringstream buffer;
    buffer << file.rdbuf();
    std::string text = buffer.str();
    ASSERT_EQ(text.substr(0, kTest.size()), kTest) << "the first line must name the command";
    size_t end_of_line = text.find('\n');
    std::istringstream words(text.substr(kTest.size(), end_of_line - kTest.size()));
    std::string name;
    words >> name;
    Case c{path_, {}, {}};
    for (std::string word; words >> word;) c.args.push_back(word);
    auto command =
        std::find_if(all_commands().begin(), all_commands().end(), [&](const Command& x) { return x.name == name; });
    ASSERT_NE(command, all_commands().end()) << "there is no command " << name;
    size_t split = text.find(kExpect);
    std::string head = split == std::string::npos ? text + "\n" : text.substr(0, split);
    c.input = head.substr(end_of_line + 1);
    std::string actual = run_command(*command, c);
    if (bless) {
      std::ofstream(path_, std::ios::binary) << head << kExpect << actual;
      return;
    }
    ASSERT_NE(split, std::string::npos) << "no line '// ---- expect'; run with --bless to write it";
    EXPECT_EQ(text.substr(split + kExpect.size()), actual) << path_;
  }

 private:
  std::string path_;
};

void register_cases() {
  std::filesystem::path root = PLIANT_GOLDEN_DIR;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() == ".ir") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    std::string area = std::filesystem::relative(file.parent_path(), root).generic_string();
    testing::RegisterTest(("golden/" + area).c_str(), file.stem().c_str(), nullptr, nullptr, file.c_str(), 1,
                          [path = file.string()] { return static_cast<testing::Test*>(new GoldenTest(path)); });
  }
}

}  // namespace
}  // namespace pliant::golden

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--bless") {
      std::cerr << "usage: golden_test [--bless] [--gtest_filter=…]\n";
      return 2;
    }
    pliant::golden::bless = true;
  }
  pliant::golden::register_cases();
  return RUN_ALL_TESTS();
}
