// The same code with precompiled headers as without.
#include "core/compiler/precompiled.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "core/base/file.h"
#include "core/compiler/paths.h"
#include "core/compiler/tests/device_of.h"
#include "core/tests/slot_folder.h"

namespace kernelift {
namespace {

/// With some standards clang reports where a header was included, and reads the precompiled header's source for it.
/// C++17 has no register variables, and nvcc only warns of them.
TEST(Precompiled, GivesTheSameIrAndTakesRegisterVariablesUnderEveryStandardWithPrecompiledHeaders) {
  const char* source =
      "__global__ void k(float* x) { register float r = sqrtf(x[1]) + ONLY_HERE; x[0] = r; }\nint host() { register "
      "int r = 1; return r; }";
  for (const char* standard : {"-std=c++11", "-std=c++14", "-std=c++20"}) {
    std::string first;
    for (int time = 0; time < 3; ++time) {  // Precompiled the second time.
      auto device = compile(source, with([&](auto& o) { o.flags = {standard, "-DONLY_HERE=1"}; }));
      ASSERT_TRUE(device->module) << standard << ", " << time << ": " << device->error;
      if (time == 0) first = device->ir();
      EXPECT_EQ(device->ir(), first) << standard << ", " << time;
    }
  }
}
/// The application's header may need declarations of ours.
TEST(Precompiled, HeadersThatASourceBeginsWithAreThoseBeforeAnythingElse) {
  using Headers = std::vector<std::string>;
  EXPECT_EQ(leading_headers("// a kernel\n#include <cub/cub.cuh>\n\n/* and */ #  include <cmath>  \n#define N 1\n"
                            "#include <cstdio>\n"),
            (Headers{"cub/cub.cuh", "cmath"}));
  for (auto* other :
       {"", "__global__ void k();\n#include <cmath>\n", "#include \"own.h\"\n#include <cmath>\n",
        "#define N\n#include <cmath>\n", "#ifdef N\n#include <cmath>\n#endif\n", "#include <cmath> int x;\n",
        "#include HEADER\n", "#include_next <cmath>\n", "/* open", "// goes on \\\n#include <cmath>\n", "#"})
    EXPECT_EQ(leading_headers(other), Headers{}) << other;
}

TEST(Precompiled, GivesTheSameIrWithTheHeadersThatASourceBeginsWithPrecompiled) {
  SlotFolder folder;
  std::ofstream(folder.path() / "table.h") << "static __constant__ float table[2] = {1, 2};\n";
  std::ofstream(folder.path() / "twice.h") << "template <int N> struct Twice { float values[N]; };\n";
  const std::string kernel = "__global__ void k(half* x) { x[0] = __hadd(x[1], __float2half(erff(2))); }\n";
  for (auto& [source, why] :
       {std::pair<std::string, const char*>("#include <cuda_fp16.h>\n#include <cmath>\n" + kernel, ""),
        {"#include <table.h>\n__global__ void k(float* x) { x[0] = table[1]; }\n",
         "the host may write a __constant__ variable"},
        {"#include <twice.h>\n__global__ void k(Twice<2>* x) { x->values[0] = 1; }\n",
         "a header without a guard is not read twice"}}) {
    FrontendOptions plain, leading;
    plain.flags = leading.flags = {"-I" + folder.path().string()};
    leading.leading = leading_headers(source);
    ASSERT_FALSE(leading.leading.empty());
    const auto expected = compile(source, plain);
    ASSERT_TRUE(expected->module) << expected->error;
    precompile_headers(leading);
    const auto found = compile(source, leading);
    ASSERT_TRUE(found->module) << why << ": " << found->error;
    EXPECT_EQ(found->ir(), expected->ir()) << why;
    EXPECT_TRUE(compile("__global__ void other(float* x) { x[0] = 1; }\n", leading)->module)
        << "a source that begins otherwise";
  }
}

TEST(FrontendWithToolkit, GivesTheSameIrWithCubPrecompiled) {
  if (!cuda_cxx_libraries()) GTEST_SKIP() << "no CUDA toolkit with cub";
  const std::string source =
      "#include <cuda_fp16.h>\n#include <cub/cub.cuh>\n"
      "__global__ void k(float* x) {\n"
      "  __shared__ typename cub::BlockReduce<float, 128>::TempStorage room;\n"
      "  float sum = cub::BlockReduce<float, 128>(room).Sum(x[threadIdx.x]);\n"
      "  if (threadIdx.x == 0) x[0] = sum;\n}\n";
  FrontendOptions leading;
  leading.leading = leading_headers(source);
  const auto expected = compile(source);
  ASSERT_TRUE(expected->module) << expected->error;
  precompile_headers(leading);
  const auto found = compile(source, leading);
  ASSERT_TRUE(found->module) << found->error;
  // Declarations may be in another order.
  auto lines = [](const std::string& ir) {
    std::multiset<std::string> all;
    std::istringstream text(ir);
    for (std::string line; std::getline(text, line);)
      if (!line.starts_with('!')) all.insert(line);
    return all;
  };
  EXPECT_EQ(lines(found->ir()), lines(expected->ir()));
}

TEST(Precompiled, ReadsHeadersOfTheIncludeOptionAfterPrecompiledHeaders) {
  SlotFolder folder;
  std::string forced = (folder.path() / "forced.h").string();
  ASSERT_TRUE(write_atomically(forced, std::string_view("__device__ float twice(float x) { return 2 * x; }\n")).ok());
  for (const char* name : {"a.cu", "b.cu", "c.cu"}) {
    auto device = compile("__global__ void k(float* f) { f[0] = twice(f[1]); }",
                          with([&](auto& o) { o.file_name = name, o.flags = {"-include", forced}; }));
    EXPECT_TRUE(device->module) << name << ": " << device->error;
  }
}
}  // namespace
}  // namespace kernelift
