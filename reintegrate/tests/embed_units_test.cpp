// Embedded code in a program whose units are compiled with several sets of macros: it runs in those that are compiled
// as it was, whatever the linker takes first.
#include <gtest/gtest.h>

#include "core/base/file.h"
#include "core/base/process.h"
#include "reintegrate/embed/launcher.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

/// The launcher of a kernel `void keep()`.
class EmbedMacros : public ::testing::Test {
 protected:
  void SetUp() override {
    mep.kernel_name = "keep", mep.kernel_key = "keep()", mep.kernel_id = "1", mep.language = "cuda";
    MepInstance& instance = mep.instances.emplace_back();
    instance.id = "a", instance.geometry = {{64, 1, 1}, {64, 1, 1}, 0, false};
  }
  Result<ShapeGuard> guard() {
    Candidate candidate;
    candidate.source = "changed";
    return shape_guard(mep, "original", candidate, {}, nullptr, tested);
  }
  std::string macros() {
    std::string text;
    const auto made = guard();
    if (!made.ok()) return made.error().message;
    for (auto& macro : made->macros) text += macro.text + "; ";
    for (auto& what : made->unguarded) text += "not " + what + "; ";
    return text;
  }
  Result<std::string> header() {
    Candidate candidate;
    candidate.source = "changed", candidate.launches = {CandidateLaunch::as_recorded("keep")};
    KERNELIFT_ASSIGN(ShapeGuard made, guard());
    const EmbeddedCode code = {
        ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry _Z4keepv()\n{\n\tret;\n}\n",
        "_Z4keepv",
        "clang 22",
        "cuda: NVIDIA H200, sm_90, driver 580",
        "candidate #7 of keep-1.klrun",
        "nvcc makes less of it.",
        {}};
    return launcher_text(mep, candidate, code, made, {}, {"k.cu"});
  }
  Mep mep;
  TestedMacros tested;
};

TEST_F(EmbedMacros, RequiresThatAMacroIsUndefinedWhichTheKernelAsksForAndTheBuildLeftUndefined) {
  const std::string text =
      "#ifndef K_H\n#define K_H\n#ifdef HOST_ONLY\nint host;\n#endif\n#if defined(WIDE) /* NOT_THIS */\n"
      "__device__ float at(int i) {\n#ifdef PERIODIC\n  return i % N;\n# elif \\\n  MIRRORED > 1\n  return "
      "-i;\n#endif\n}\n"
      "#endif\n#ifdef AFTER\n#endif\n#endif\n";
  tested.look_at(text, 7, 14);
  EXPECT_EQ(tested.names, (std::set<std::string>{"MIRRORED", "PERIODIC", "WIDE"}));
  mep.compile_flags = {"-DN=64", "-DWIDE"};
  EXPECT_EQ(macros(), "N=64; WIDE; MIRRORED undefined; PERIODIC undefined; ");
  mep.compile_flags = {"-DWIDE", "-D", "PERIODIC", "-U", "WIDE"};
  EXPECT_EQ(macros(), "PERIODIC; MIRRORED undefined; WIDE undefined; ");
}

TEST_F(EmbedMacros, NoDefinitionInACommentTakesARequirementAway) {
  auto root = TemporaryFolder::create("kernelift-macros");
  ASSERT_TRUE(root.ok());
  ASSERT_TRUE(write_atomically(root->path() / "config.h",
                               std::string_view("/* with\n#define PERIODIC\nit wraps */\nR\"(\n#define WIDE\n)\";\n"))
                  .ok());
  tested.look_at("/*\n#define TALL\n*/\n__global__ void keep() {\n#if PERIODIC || WIDE || TALL\n#endif\n}\n", 4, 7);
  tested.add_definitions_below(root->path());
  EXPECT_EQ(macros(), "PERIODIC undefined; TALL undefined; WIDE undefined; ");
}

TEST_F(EmbedMacros, DoesNotAskForWhatAFileOfTheApplicationMayHaveDefined) {
  auto root = TemporaryFolder::create("kernelift-macros");
  ASSERT_TRUE(root.ok());
  ASSERT_TRUE(write_atomically(root->path() / "config.h", std::string_view("#define USE_DOUBLE\n")).ok());
  tested.look_at("__global__ void keep() {\n#ifdef USE_DOUBLE\n#endif\n#ifdef PERIODIC\n#endif\n}\n", 1, 6);
  tested.add_definitions_below(root->path());
  EXPECT_EQ(macros(), "PERIODIC undefined; not the macro 'USE_DOUBLE', for which the kernel's text asks; ");
}

TEST_F(EmbedMacros, NamesThoseOfTheSourceAndOfTheToolchainThatItCannotSee) {
  tested.look_at(
      "#define OWN 1\n__global__ void keep() {\n#if OWN && __NVCC__\n#endif\n#if __CUDA_ARCH__ > 800\n#endif\n}\n", 2,
      7);
  EXPECT_EQ(macros(),
            "not the macro 'OWN', for which the kernel's text asks; not the macro '__NVCC__', for which the kernel's "
            "text asks; ");
}

TEST_F(EmbedMacros, RequiresTheSourcesDefaultOfAMacroThatABuildMayDefine) {
  const std::string text =
      "#ifndef TILE\n#define TILE 16  // threads\n#endif\n#if !defined(REAL)\n#define REAL float\n#endif\n"
      "#ifndef OTHER\n#define OTHER 1\n#endif\n__global__ void keep() { REAL x[TILE]; }\n";
  tested.look_at(text, 10, 10);
  EXPECT_EQ(macros(), "TILE=16; not that 'REAL' is what the source defines if the build does not; ");
  EXPECT_EQ(guard()->macros[0].code, "(!defined(TILE) || TILE + 0 == 16)");
  mep.compile_flags = {"-DTILE=32", "-DREAL=double"};
  EXPECT_EQ(macros(), "TILE=32; not the macro in -DREAL=double; ");
}

/// The programs of nvcc.
class LinkedUnits : public EmbedMacros {
 protected:
  void SetUp() override {
    EmbedMacros::SetUp();
    nvcc = find_program("nvcc").value_or("/usr/local/cuda/bin/nvcc");
    if (!fs::exists(nvcc)) GTEST_SKIP() << "no nvcc";
    auto made = TemporaryFolder::create("kernelift-units");
    ASSERT_TRUE(made.ok());
    folder.emplace(std::move(*made));
    mep.compile_flags = {"-DDIM=2", "-DPLAIN"};
    tested.names = {"PERIODIC"};
    auto text = header();
    ASSERT_TRUE(text.ok()) << text.error().message;
    write("kernelift_keep.cuh", *text);
    write("main.cu",
          "#include <cstdio>\nbool in_a();\nbool in_b();\nint main() { std::printf(\"%d%d\", in_a(), in_b()); }\n");
  }
  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(write_atomically(folder->path() / name, text).ok());
  }
  std::string run(std::vector<std::string> words) {
    ProcessOptions options;
    options.folder = folder->path();
    auto ran = run_process(words, options);
    return ran.ok() ? ran->out + ran->err : ran.error().message;
  }
  /// Whether the launcher runs its own code in a unit that is compiled with these words, "10" for `a` alone, and what
  /// the program says if it is linked in the other order.
  std::string answers(std::vector<std::string> as_a, std::vector<std::string> as_b) {
    std::string said;
    for (auto& [name, words] : {std::pair("a", as_a), std::pair("b", as_b)}) {
      // What launch() calls, under the names that the linker sees.
      write(std::string(name) + ".cu", "#include \"kernelift_keep.cuh\"\nbool in_" + std::string(name) +
                                           "() { return kernelift_keep::code::same_parameters<>(); }\n");
      std::vector<std::string> all{nvcc.string(), "-std=c++11", "-O0", "-arch=sm_90", "-c", std::string(name) + ".cu"};
      all.insert(all.end(), words.begin(), words.end());
      said += run(all);
    }
    for (auto& order : {std::vector<std::string>{"a.o", "b.o"}, {"b.o", "a.o"}}) {
      said += run({nvcc.string(), "-std=c++11", "-arch=sm_90", "main.cu", order[0], order[1], "-o", "program"});
      said += run({(folder->path() / "program").string()}) + " ";
    }
    return said;
  }
  fs::path nvcc;
  std::optional<TemporaryFolder> folder;
};

TEST_F(LinkedUnits, EachRunsTheCodeOfItsOwnMacrosInWhateverOrderTheyAreLinked) {
  const std::vector<std::string> as_recorded = {"-DDIM=2", "-DPLAIN"};
  EXPECT_EQ(answers(as_recorded, {"-DDIM=3", "-DPLAIN"}), "10 10 ");
  EXPECT_EQ(answers({"-DDIM=2", "-DPLAIN", "-DKERNELIFT_EMBED=0"}, as_recorded), "01 01 ");
}

TEST_F(LinkedUnits, RunTheOriginalWithAMacroMoreOrLessThanInTheRecordedBuild) {
  EXPECT_EQ(answers({"-DDIM=2"}, {"-DDIM=2", "-DPLAIN", "-DPERIODIC"}), "00 00 ");
  EXPECT_EQ(answers({"-DDIM=", "-DPLAIN="}, {"-DDIM=2", "-DPLAIN=1"}), "01 01 ") << "an empty macro is no error";
}

}  // namespace
}  // namespace kernelift::reintegrate
