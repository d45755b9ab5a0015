// Runs the golden files, all or those in the paths given; `golden_test --bless` rewrites the expected outputs instead. An
// internal error is never an expectation: such a case fails, and --bless leaves its file as it is.
#include "golden/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
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

// What the command prints, or the diagnostics with which it refused the case. InternalError passes through.
std::string run_command(const Command& command, const Case& c) {
  auto result = command.run(c);
  if (result.ok()) return result.take();
  std::string out;
  for (const Diagnostic& d : result.error().diagnostics) out += "// error: " + format(d) + "\n";
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
    std::string actual;
    try {
      actual = run_command(*command, c);
    } catch (const InternalError& e) {
      FAIL() << path_ << ": internal error: " << e.what();
    }
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

// The golden files at and below a path.
std::set<std::filesystem::path> golden_files(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (entry.path().extension() == ".ir") files.insert(entry.path());
  }
  return files;
}

void register_cases(const std::set<std::filesystem::path>& files) {
  const std::filesystem::path root = PLIANT_GOLDEN_DIR;
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
  std::vector<std::filesystem::path> paths;
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    std::error_code unknown;
    if (word == "--bless") {
      pliant::golden::bless = true;
    } else if (auto path = std::filesystem::canonical(word, unknown); !unknown) {
      paths.push_back(path);
    } else {
      std::cerr << word << ": no such file or option\nusage: golden_test [--bless] [--gtest_filter=…] [PATH…]\n";
      return 2;
    }
  }
  if (paths.empty()) paths.push_back(PLIANT_GOLDEN_DIR);
  std::set<std::filesystem::path> files;
  for (const auto& path : paths) files.merge(pliant::golden::golden_files(path));
  pliant::golden::register_cases(files);
  return RUN_ALL_TESTS();
}
