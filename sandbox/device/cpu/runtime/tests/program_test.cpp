// Whole programs (programs/*.cu): built by the compiler wrappers as a user's build would, run, and believed only if
// their own checks say PASS. A program's first lines may name its compiler and flags, and what it needs.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/compiler/paths.h"

namespace fs = std::filesystem;
using namespace kernelift;

namespace {

std::vector<std::string> programs() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(KL_SOURCE_DIR "/sandbox/device/cpu/runtime/tests/programs"))
    if (entry.is_regular_file() && entry.path().extension() != ".h") names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// What follows "// KEY: " on a line of the source's head.
std::string note(const std::string& source, const std::string& key, const std::string& otherwise) {
  std::string mark = "// " + key + ": ";
  size_t at = source.find(mark);
  return at == std::string::npos ? otherwise
                                 : source.substr(at + mark.size(), source.find('\n', at) - at - mark.size());
}

const fs::path kPrograms = KL_SOURCE_DIR "/sandbox/device/cpu/runtime/tests/programs";

/// `build` is a shell command in which $T is the look-alike toolkit and $P the program to make.
void build_and_run(const std::string& build) {
  auto folder = TemporaryFolder::create("kernelift-program");
  ASSERT_TRUE(folder.ok());
  fs::path root = folder->path();
  std::string toolkit = (root / "toolkit").string(), program = (root / "program").string();
  ProcessOptions options;
  options.folder = root;
  options.environment = {{"T", toolkit}, {"P", program}};
  std::string make_toolkit = std::string(KL_WRAPPER) + " " + toolkit + " " + (root / "state").string() + " cpu && ";
  auto built = run_process({"/bin/sh", "-c", make_toolkit + build}, options);
  ASSERT_TRUE(built.ok()) << built.error().message;
  ASSERT_TRUE(built->ok()) << built->out << built->err;
  auto ran = run_process({program}, {});
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  EXPECT_TRUE(ran->ok()) << ran->out << ran->err;
  EXPECT_NE(ran->out.find("PASS\n"), std::string::npos) << ran->out << ran->err;
}

TEST(Headers, DeclareEveryFunctionThatTheTableOfTheRuntimeCallsFullOrPartial) {
  auto table = read_text(KL_SOURCE_DIR "/docs/cuda-runtime.md");
  ASSERT_TRUE(table.ok());
  std::string headers;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(KL_SOURCE_DIR "/core/compiler/headers/kernelift/runtime"))
    headers += *read_text(entry.path());
  const std::regex row("\\| `(cuda\\w+)` \\| (full|partial) \\|");
  int rows = 0;
  for (std::sregex_iterator at(table->begin(), table->end(), row), end; at != end; ++at, ++rows) {
    const std::string name = (*at)[1];
    if (name.find("_v2") != name.npos) continue;  // What the plain name is renamed to.
    EXPECT_NE(headers.find(name + "("), std::string::npos) << name;
  }
  EXPECT_GT(rows, 150);
}

class Program : public testing::TestWithParam<std::string> {};

TEST_P(Program, BuiltByTheWrappersPassesItsOwnChecks) {
  fs::path source = kPrograms / GetParam();
  auto text = read_text(source);
  ASSERT_TRUE(text.ok());
  if (!note(*text, "needs", "").empty() && !cuda_cxx_libraries()) GTEST_SKIP() << "needs the CUDA toolkit's headers";
  build_and_run("$T/bin/" + note(*text, "compiler", "nvcc") + " -O2 " + note(*text, "flags", "") + " " +
                source.string() + " -o $P");
}

TEST(RelocatableProgram, BuiltInOneCommandSharesDeviceCodeBetweenUnits) {
  std::string folder = (kPrograms / "relocatable").string();
  build_and_run("$T/bin/nvcc -O2 -rdc=true " + folder + "/main.cu " + folder + "/other.cu -o $P");
}

TEST(RelocatableProgram, DeviceLinkedApartAndLinkedByTheHostCompilerSharesDeviceCodeToo) {
  std::string folder = (kPrograms / "relocatable").string();
  build_and_run("$T/bin/nvcc -O2 -dc " + folder + "/main.cu -o main.o && $T/bin/nvcc -O2 -dc " + folder +
                "/other.cu -o other.o && " +
                "$T/bin/nvcc -dlink main.o other.o -o linked.o && g++ main.o other.o linked.o -o $P -L$T/lib64 "
                "-lcudart_static -lcudadevrt");
}

INSTANTIATE_TEST_SUITE_P(Sources, Program, testing::ValuesIn(programs()), [](const auto& info) {
  std::string name = info.param.substr(0, info.param.find('.'));
  return name;
});

}  // namespace
