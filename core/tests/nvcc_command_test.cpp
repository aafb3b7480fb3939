// Compiler command lines of real builds: CMake's, Makefiles', hipcc's and clang's.
#include "core/toolchain/nvcc_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/base/file.h"
#include "core/base/process.h"

namespace kernelift {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using Language = SourceInput::Language;

CompilerCommand parsed(const std::string& line, const std::filesystem::path& folder = "/") {
  auto words = split_command(line);
  EXPECT_TRUE(words.ok());
  auto command = parse_compiler_command(*words, folder);
  EXPECT_TRUE(command.ok()) << (command.ok() ? "" : command.error().message);
  return command.ok() ? *command : CompilerCommand{};
}

TEST(NvccCommand, ReadsCMakesCompileLine) {
  auto c =
      parsed(R"(/opt/cuda/bin/nvcc -forward-unknown-to-host-compiler -DMSG="\"hello world\"" -I/app/inc -isystem=/opt/x
      --generate-code=arch=compute_90,code=[compute_90,sm_90] -std=c++17 -MD -MT a.o -MF a.d -x cu -rdc=true -c /app/a.cpp -o a.o)");
  EXPECT_EQ(c.dialect, Dialect::Nvcc);
  EXPECT_EQ(c.action, Action::Compile);
  ASSERT_EQ(c.inputs.size(), 1u);
  EXPECT_EQ(c.inputs[0].file, "/app/a.cpp");
  EXPECT_EQ(c.inputs[0].language, Language::Cuda) << "-x cu outranks the suffix";
  EXPECT_EQ(c.standard, "c++17");
  EXPECT_EQ(c.output, "a.o");
  EXPECT_THAT(c.preprocessor, ElementsAre("-DMSG=\"hello world\"", "-I/app/inc", "-isystem", "/opt/x"));
  EXPECT_THAT(c.dependency_flags, ElementsAre("-MD", "-MT", "a.o", "-MF", "a.d"));
  EXPECT_THAT(c.architectures, ElementsAre("sm_90"));
  EXPECT_TRUE(c.relocatable);
  EXPECT_THAT(c.unknown, IsEmpty());
}

TEST(NvccCommand, TakesEverySpellingOfAnOptionsValue) {
  for (const char* line :
       {"nvcc -arch=sm_80 -c a.cu", "nvcc -arch sm_80 -c a.cu", "nvcc --gpu-architecture=sm_80 -c a.cu",
        "nvcc --gpu-architecture compute_80 -c a.cu", "nvcc -gencode arch=compute_80,code=sm_80 -c a.cu",
        "nvcc -gencode=arch=compute_80,code=\\\"sm_80,compute_80\\\" -c a.cu",
        "nvcc --generate-code arch=compute_80,code=[sm_80,compute_80] -c a.cu"})
    EXPECT_THAT(parsed(line).architectures, ElementsAre("sm_80")) << line;
}

TEST(NvccCommand, SplitsHostCompilerWordsAtCommasAndKeepsTheirMeaning) {
  auto c = parsed("nvcc -Xcompiler=-fPIC,-Wall -Xcompiler \"-DX=1,-O3\" --compiler-options -Wl\\\\,-z -c a.cu");
  EXPECT_THAT(c.host_flags, IsSupersetOf({"-fPIC", "-Wall", "-O3"}));
  EXPECT_THAT(c.preprocessor, ElementsAre("-DX=1"));
  EXPECT_THAT(c.link_flags, ElementsAre("-Wl,-z"));
  EXPECT_EQ(c.optimization, "-O3");
}

TEST(NvccCommand, SplitsHostCompilerWordsAtBlanksAsNvccsShellDoes) {
  auto c = parsed(
      R"(nvcc -Xcompiler "-fopenmp -O3 '-DNAME=a b'" -Xcompiler -DBARE='"x"' -Xcompiler "'-DQUOTED=\"x\"'" -Xlinker "-z now" -c a.cu)");
  EXPECT_THAT(c.host_flags, IsSupersetOf({"-fopenmp", "-O3"}));
  EXPECT_THAT(c.preprocessor, ElementsAre("-DNAME=a b", "-DBARE=x", "-DQUOTED=\"x\""));
  EXPECT_THAT(c.link_flags, ElementsAre("-Xlinker", "-z", "-Xlinker", "now"));
}

TEST(NvccCommand, KeepsQuotingOfDefinitions) {
  auto c = parsed(R"(nvcc '-DNAME="a b"' -DF\(x\)=x+1 -D 'S=it'\''s' -c a.cu)");
  EXPECT_THAT(c.preprocessor, ElementsAre("-DNAME=\"a b\"", "-DF(x)=x+1", "-DS=it's"));
}

TEST(NvccCommand, TakesListsAndEscapedCommasApart) {
  auto c = parsed(R"(nvcc '-DUSE=1\,2\,4' -DA=1,B -Ix,y -isystem z,w -include a.h,b.h -la,b -c a.cu)");
  EXPECT_THAT(c.preprocessor, ElementsAre("-DUSE=1,2,4", "-DA=1", "-DB", "-Ix", "-Iy", "-isystem", "z", "-isystem", "w",
                                          "-include", "a.h", "-include", "b.h"));
  EXPECT_THAT(c.link_flags, ElementsAre("-la", "-lb"));
  EXPECT_THAT(parsed(R"(clang++ '-DUSE=1\,2' -Ix,y -c a.cu)").preprocessor, ElementsAre(R"(-DUSE=1\,2)", "-Ix,y"))
      << "clang takes no lists";
}

TEST(NvccCommand, ReadsResponseFilesOfTheHostCompiler) {
  auto folder = TemporaryFolder::create("nvcc-command");
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(write_atomically(folder->path() / "host", std::string_view("'-DA=x y' -Wall")).ok());
  auto c = parsed("nvcc -Xcompiler @host -DB -c a.cu", folder->path());
  EXPECT_THAT(c.preprocessor, ElementsAre("-DA=x y", "-DB"));
  EXPECT_THAT(c.host_flags, ElementsAre("-Wall"));
}

TEST(NvccCommand, MapsMathFlagsToClangs) {
  auto c = parsed("nvcc --use_fast_math -fmad=false -c a.cu");
  EXPECT_TRUE(c.use_fast_math && c.ftz && !c.prec_div && !c.prec_sqrt && !c.fmad);
  EXPECT_THAT(c.frontend_flags(),
              IsSupersetOf({"-fgpu-approx-transcendentals", "-fgpu-flush-denormals-to-zero", "-ffp-contract=off"}));
  EXPECT_THAT(parsed("nvcc -prec-div=false -c a.cu").frontend_flags(),
              ElementsAre("-Xarch_device", "-freciprocal-math"))
      << "of the device's code alone";
  EXPECT_THAT(parsed("nvcc -c a.cu").frontend_flags(), IsEmpty());
}

TEST(NvccCommand, ExpandsResponseFilesOfBothKinds) {
  auto folder = TemporaryFolder::create("nvcc-command");
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(write_atomically(folder->path() / "includes.rsp",
                               std::string_view("-isystem /a\n\"-I/with space\"\n-optf deeper.rsp"))
                  .ok());
  ASSERT_TRUE(
      write_atomically(folder->path() / "gcc.rsp", std::string_view("-isystem /a\n'-I/with space'\n@deeper.rsp")).ok());
  ASSERT_TRUE(write_atomically(folder->path() / "deeper.rsp", std::string_view("-DDEEP")).ok());
  for (const char* line : {"nvcc --options-file includes.rsp -c a.cu", "nvcc --options-file=includes.rsp -c a.cu",
                           "nvcc -optf includes.rsp -c a.cu", "clang++ @gcc.rsp -c a.cu"})
    EXPECT_THAT(parsed(line, folder->path()).preprocessor, ElementsAre("-isystem", "/a", "-I/with space", "-DDEEP"))
        << line;
}

TEST(NvccCommand, NamesAMissingResponseFile) {
  auto c = parse_compiler_command({"nvcc", "--options-file", "gone.rsp", "-c", "a.cu"}, "/nowhere");
  ASSERT_FALSE(c.ok());
  EXPECT_THAT(c.error().message, HasSubstr("/nowhere/gone.rsp"));
}

TEST(NvccCommand, RefusesResponseFilesThatNameThemselves) {
  auto folder = TemporaryFolder::create("nvcc-command");
  ASSERT_TRUE(write_atomically(folder->path() / "loop.rsp", std::string_view("@loop.rsp")).ok());
  auto c = parse_compiler_command({"clang++", "@loop.rsp"}, folder->path());
  ASSERT_FALSE(c.ok());
  EXPECT_THAT(c.error().message, HasSubstr("nested"));
}

TEST(NvccCommand, TellsActionsApart) {
  EXPECT_EQ(parsed("nvcc a.cu -o a").action, Action::Link);
  EXPECT_EQ(parsed("nvcc -dlink a.o b.o -o d.o").action, Action::DeviceLink);
  EXPECT_EQ(parsed("nvcc -E a.cu").action, Action::Preprocess);
  EXPECT_EQ(parsed("nvcc -M a.cu").action, Action::Preprocess);
  EXPECT_EQ(parsed("nvcc --ptx a.cu").action, Action::Ptx);
  EXPECT_EQ(parsed("nvcc -cubin a.cu").action, Action::Cubin);
  EXPECT_EQ(parsed("nvcc --version").action, Action::Query);
  EXPECT_EQ(parsed("nvcc -lib a.o -o a.a").action, Action::Library);
  EXPECT_TRUE(parsed("nvcc -dc a.cu").relocatable);
  EXPECT_EQ(parsed("nvcc -dc a.cu").action, Action::Compile);
}

TEST(NvccCommand, ForwardsUnknownFlagsOnlyWhereNvccWould) {
  EXPECT_THAT(parsed("nvcc -forward-unknown-to-host-compiler -march=native -c a.cu").host_flags,
              Contains("-march=native"));
  EXPECT_THAT(parsed("nvcc -march=native -c a.cu").unknown, ElementsAre("-march=native"));
}

TEST(NvccCommand, DropsOptionsForTheGpuTools) {
  auto c = parsed(
      "nvcc -Xptxas -v,-dlcm=ca --maxrregcount=64 -t0 --threads 4 -extended-lambda -lineinfo -ccbin g++-12 --keep -c "
      "a.cu");
  EXPECT_THAT(c.unknown, IsEmpty());
  EXPECT_EQ(c.host_compiler, "g++-12");
  EXPECT_TRUE(c.extended_lambda && c.line_info);
  ASSERT_EQ(c.inputs.size(), 1u) << "an option's value was taken for a file";
}

TEST(NvccCommand, KeepsTheOrderOfLinkFlags) {
  auto c = parsed("nvcc a.o -L/x -lfoo -Xlinker -rpath,/y -lbar -o app -shared");
  EXPECT_THAT(c.link_flags, ElementsAre("-L/x", "-lfoo", "-Xlinker", "-rpath", "-Xlinker", "/y", "-lbar", "-shared"));
}

TEST(HipccCommand, TakesPlainSourcesForHip) {
  auto c = parsed(
      "/opt/rocm/bin/hipcc --offload-arch=gfx90a:xnack- --offload-arch=gfx906 -O3 -std=c++17 -fgpu-rdc -save-temps=obj "
      "-Rpass-analysis=kernel-resource-usage -c main.cpp -o main.o");
  EXPECT_EQ(c.dialect, Dialect::Hipcc);
  EXPECT_EQ(c.inputs[0].language, Language::Hip);
  EXPECT_THAT(c.architectures, ElementsAre("gfx90a", "gfx906"));
  EXPECT_TRUE(c.relocatable);
  EXPECT_EQ(c.optimization, "-O3");
}

TEST(ClangCommand, UnderstandsCudaAndPlainSources) {
  auto c = parsed(
      "clang++-22 -x cuda --cuda-gpu-arch=sm_70 --cuda-path=/usr/local/cuda -ffast-math -iquote q -c k.cc -ok.o");
  EXPECT_EQ(c.dialect, Dialect::Clang);
  EXPECT_EQ(c.inputs[0].language, Language::Cuda);
  EXPECT_THAT(c.architectures, ElementsAre("sm_70"));
  EXPECT_THAT(c.preprocessor, ElementsAre("-iquote", "q"));
  EXPECT_EQ(c.output, "k.o");
  EXPECT_THAT(c.unknown, IsEmpty());
  EXPECT_EQ(parsed("clang++ -c k.cc").inputs[0].language, Language::Cxx);
  EXPECT_EQ(parsed("clang++ -x hip a.cpp -x none b.cpp").inputs[1].language, Language::Cxx);
  EXPECT_FALSE(parsed("clang++ -x hip a.cpp").host_only);
  EXPECT_TRUE(parsed("clang++ --cuda-host-only -x hip a.cpp").host_only);
}

TEST(CompilerCommand, SkipsCompilerLaunchers) {
  EXPECT_EQ(parsed("/usr/bin/ccache nvcc -c a.cu").dialect, Dialect::Nvcc);
}

TEST(CompilerCommand, NamesAnOptionThatLacksItsValue) {
  auto c = parse_compiler_command({"nvcc", "-c", "a.cu", "-o"}, "/");
  ASSERT_FALSE(c.ok());
  EXPECT_THAT(c.error().message, HasSubstr("-o"));
}

TEST(CompilerCommand, SurvivesDamagedCommandLines) {
  const std::string line =
      "nvcc -Xcompiler=-fPIC,-Wall -gencode arch=compute_90,code=[sm_90] -DX=\"1\" -isystem /a -x cu -c a.cpp -o a.o";
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = line.substr(0, random() % (line.size() + 1));
    for (unsigned flips = random() % 4; flips > 0 && !damaged.empty(); --flips)
      damaged[random() % damaged.size()] ^= char(1u << random() % 7);
    auto words = split_command(damaged);
    if (!words.ok() || words->empty()) continue;
    auto command = parse_compiler_command(*words, "/");
    if (!command.ok()) EXPECT_FALSE(command.error().message.empty());
    else command->frontend_flags();
  }
}

}  // namespace
}  // namespace kernelift
