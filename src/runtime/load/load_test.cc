#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <random>

#include "artifact/file.h"
#include "runtime/vm/fixture_test.h"

namespace pliant::runtime::fixture {
namespace {

// A program whose output is its constant.
Program constant_program() {
  Program p = empty_program();
  p.outputs = {tensor("y", DType::I64, {fixed(3)})};
  p.copies = {{constant(0), output(0), imm(24)}};
  p.code = {instr(Opcode::Copy, 0), instr(Opcode::Return)};
  return p;
}
std::vector<std::byte> constant_file() { return file_of(constant_program(), {bytes_of(std::vector<int64_t>{4, -5, 6})}); }

int64_t middle(pliant_model* model) {
  pliant_output out = {};
  EXPECT_EQ(pliant_run(model, nullptr, 0, &out, 1), PLIANT_OK) << pliant_last_error();
  const int64_t v = out.data != nullptr ? static_cast<const int64_t*>(out.data)[1] : 0;
  pliant_release_buffer(out.buffer);
  return v;
}

std::string temporary_file(const std::vector<std::byte>& bytes) {
  std::string path = testing::TempDir() + "load_test_" + std::to_string(getpid()) + ".pliant";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return path;
}

TEST(load, from_a_file_with_every_flag) {
  const std::string path = temporary_file(constant_file());
  for (uint32_t flags : {0, 1, 2, 3}) {
    const pliant_load_options options = {sizeof options, 1, flags};
    pliant_model* model = nullptr;
    ASSERT_EQ(pliant_load_file(path.c_str(), &options, &model), PLIANT_OK) << pliant_last_error();
    std::remove(flags == 3 ? path.c_str() : "");
    EXPECT_EQ(middle(model), -5);
    pliant_release_model(model);
  }
}

TEST(load, small_files_are_read_and_can_be_had_back) {
  const std::vector<std::byte> file = constant_file();
  const std::string path = temporary_file(file);
  pliant_model* model = nullptr;
  ASSERT_EQ(pliant_load_file(path.c_str(), nullptr, &model), PLIANT_OK) << pliant_last_error();
  ASSERT_EQ(truncate(path.c_str(), 0), 0);
  EXPECT_EQ(middle(model), -5);
  const void* data = nullptr;
  size_t size = 0;
  ASSERT_EQ(pliant_loaded_file(model, &data, &size), PLIANT_OK);
  ASSERT_EQ(size, file.size());
  EXPECT_EQ(std::memcmp(data, file.data(), size), 0);
  pliant_release_model(model);
  ASSERT_EQ(pliant_load_memory(file.data(), file.size(), nullptr, &model), PLIANT_OK);
  EXPECT_EQ(pliant_loaded_file(model, &data, &size), PLIANT_OK);
  EXPECT_TRUE(data == nullptr && size == 0);
  EXPECT_EQ(pliant_loaded_file(model, nullptr, &size), PLIANT_INVALID_ARGUMENT);
  pliant_release_model(model);
  std::remove(path.c_str());
}

TEST(load, pipes_and_folders_are_refused) {
  const std::string path = testing::TempDir() + "load_test_pipe_" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  for (const std::string& name : {path, testing::TempDir(), std::string("/dev/zero")}) {
    pliant_model* model = nullptr;
    EXPECT_EQ(pliant_load_file(name.c_str(), nullptr, &model), PLIANT_FILE_ERROR);
    EXPECT_EQ(std::string(pliant_last_error()), "\"" + name + "\" is not a regular file");
  }
  std::remove(path.c_str());
}

TEST(load, from_memory_at_any_address) {
  const std::vector<std::byte> file = constant_file();
  std::vector<std::byte> room(file.size() + 64);
  for (size_t shift : {0, 1, 8, 63}) {
    std::copy(file.begin(), file.end(), room.begin() + static_cast<std::ptrdiff_t>(shift));
    pliant_model* model = nullptr;
    ASSERT_EQ(pliant_load_memory(room.data() + shift, file.size(), nullptr, &model), PLIANT_OK) << pliant_last_error();
    EXPECT_EQ(middle(model), -5);
    pliant_release_model(model);
  }
}

TEST(load, files_that_are_not_there) {
  pliant_model* model = nullptr;
  EXPECT_EQ(pliant_load_file("/no/such.pliant", nullptr, &model), PLIANT_FILE_ERROR);
  EXPECT_STREQ(pliant_last_error(), "cannot open \"/no/such.pliant\": No such file or directory");
  EXPECT_EQ(pliant_load_file("/", nullptr, &model), PLIANT_FILE_ERROR);
  EXPECT_EQ(pliant_load_file("/dev/null", nullptr, &model), PLIANT_FILE_ERROR);
  EXPECT_EQ(model, nullptr);
  const std::string path = temporary_file({});
  EXPECT_EQ(pliant_load_file(path.c_str(), nullptr, &model), PLIANT_BAD_ARTIFACT);
  std::remove(path.c_str());
}

TEST(load, refuses_flips_and_cuts) {
  const std::vector<std::byte> file = file_of(add_chain(3), {bytes_of(std::vector<float>(5000, 1.5f))});
  std::mt19937 random(3);
  pliant_model* model = nullptr;
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> bad = file;
    bad[random() % bad.size()] ^= static_cast<std::byte>(1u << random() % 8);
    ASSERT_EQ(pliant_load_memory(bad.data(), bad.size(), nullptr, &model), PLIANT_BAD_ARTIFACT);
  }
  for (size_t n = 0; n < file.size(); n += 61)
    ASSERT_EQ(pliant_load_memory(file.data(), std::max<size_t>(n, 1), nullptr, &model), PLIANT_BAD_ARTIFACT);
}

TEST(load, picks_the_first_variant_that_the_cpu_can_run) {
  const std::vector<std::byte> c1 = bytes_of(std::vector<int64_t>{1, 2, 3}), c2 = bytes_of(std::vector<int64_t>{7, 8, 9});
  std::vector<Variant> variants = {{constant_program(), {c1}}, {constant_program(), {c2}}};
  variants[0].program.image.target = "future";
  variants[0].program.image.features = {"avx9000"};
  std::vector<std::byte> file = write_file(variants);
  EXPECT_EQ(middle(load(file).get()), 8);
  variants[0].program.image.features = {};
  file = write_file(variants);
  EXPECT_EQ(middle(load(file).get()), 2);
}

TEST(load, names_the_features_that_are_missing) {
  Program p = constant_program();
  p.image.target = "future";
  p.image.features = {"avx9000", "x87", "avx9001"};
  const std::vector<std::byte> file = file_of(p, {bytes_of(std::vector<int64_t>{1, 2, 3})});
  pliant_model* model = nullptr;
  EXPECT_EQ(pliant_load_memory(file.data(), file.size(), nullptr, &model), PLIANT_UNSUPPORTED_CPU);
#if defined(__x86_64__)
  EXPECT_STREQ(
      pliant_last_error(),
      "this CPU lacks what the artifact needs: future needs avx9000 (not known to this runtime), avx9001 (not known to "
      "this runtime); compile it for this machine's target");
#endif
}

TEST(load, refuses_functions_it_does_not_have) {
  Program p = nonzero_program();
  p.library_calls[0].symbol = "launch";
  std::vector<std::byte> file = file_of(p);
  pliant_model* model = nullptr;
  EXPECT_EQ(pliant_load_memory(file.data(), file.size(), nullptr, &model), PLIANT_BAD_ARTIFACT);
  EXPECT_STREQ(pliant_last_error(), "the artifact needs a function \"launch\" that this runtime lacks");
  p.library_calls[0].symbol = "compress";
  file = file_of(p);
  EXPECT_EQ(pliant_load_memory(file.data(), file.size(), nullptr, &model), PLIANT_BAD_ARTIFACT);
  EXPECT_STREQ(pliant_last_error(), "the artifact calls the function \"compress\" with the wrong number of arguments");
}

}  // namespace
}  // namespace pliant::runtime::fixture
