// Where the flags of one file go in an application's build, as its build system says; and whether they arrived. With
// the real make and CMake.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/process.h"
#include "reintegrate/flags/build_line.h"
#include "reintegrate/flags/flag_watch.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class BuildLineTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(write_atomically(root() / name, std::string_view(text)).ok());
  }
  fs::path root() const { return fs::canonical(folder_.path()); }
  CompiledUnit unit(const std::string& file, const std::string& output) const {
    return {root() / file, root(), output};
  }
  std::string line_of(const Result<BuildLine>& line) { return line.ok() ? line->line : line.error().message; }
  bool runs(const std::vector<std::string>& command) {
    ProcessOptions options;
    options.folder = root();
    auto ran = run_process(command, options);
    return ran.ok() && ran->ok();
  }

  TemporaryFolder folder_ = *TemporaryFolder::create("build-line");
  const std::vector<std::string> fast_ = {"-use_fast_math"};
};

TEST_F(BuildLineTest, OfMakeSetsTheVariableThatIsInTheFilesCommand) {
  write("a.cu", ""), write("b.cu", "");
  write("Makefile",
        "NVCC = nvcc\nNVCCFLAGS = -O2 $(WARNINGS)\nUNUSED = -g\nLDFLAGS = -lm\nall: app\napp: a.o b.o\n"
        "\t$(NVCC) $^ -o $@ $(LDFLAGS)\n%.o: %.cu\n\t$(NVCC) $(NVCCFLAGS) \\\n\t  -c $< -o $@\n");
  auto line = make_line(unit("a.cu", "a.o"), fast_);
  EXPECT_EQ(line_of(line), "a.o: NVCCFLAGS += -use_fast_math");
  EXPECT_EQ(line->file, root() / "Makefile");
  EXPECT_TRUE(line->touch_unit);
  EXPECT_FALSE(fs::exists(root() / "a.o")) << "nothing was built to find that out";
}

TEST_F(BuildLineTest, OfMakeGoesIntoTheMainMakefileAndFindsVariablesOfIncludedOnes) {
  write("a.cu", "");
  write("rules.mk", "FLAGS := -O3\n%.o: %.cu\n\tnvcc $(FLAGS) -c $< -o $@\n");
  write("GNUmakefile", "all: a.o\ninclude rules.mk\n");
  auto line = make_line(unit("a.cu", "a.o"), fast_);
  EXPECT_EQ(line_of(line), "a.o: FLAGS += -use_fast_math");
  EXPECT_EQ(line->file, root() / "GNUmakefile");
}

TEST_F(BuildLineTest, OfMakeIsRefusedWhereNoVariableIsInTheCommand) {
  write("a.cu", "");
  write("Makefile", "a.o: a.cu\n\tnvcc -O2 -c a.cu -o a.o\n");
  EXPECT_THAT(line_of(make_line(unit("a.cu", "a.o"), fast_)), HasSubstr("no variable of"));
}

TEST_F(BuildLineTest, OfMakeIsRefusedWhereOneCommandCompilesTwoFiles) {
  write("a.cu", ""), write("b.cu", "");
  write("Makefile", "FLAGS = -O2\napp: a.cu b.cu\n\tnvcc $(FLAGS) a.cu b.cu -o app\n");
  EXPECT_THAT(line_of(make_line(unit("a.cu", "app"), fast_)), HasSubstr("alone"));
}

TEST_F(BuildLineTest, OfMakeIsRefusedWhereItWouldReachAnotherCommand) {
  write("a.cu", ""), write("b.cu", "");
  // A target's variables are also those of what it is made from.
  write("Makefile", "FLAGS = -O2\na.o: b.o\n%.o: %.cu\n\tnvcc $(FLAGS) -c $< -o $@\n");
  const std::string why = line_of(make_line(unit("a.cu", "a.o"), fast_));
  EXPECT_THAT(why, HasSubstr("would reach another command"));
  EXPECT_THAT(why, HasSubstr("b.cu"));
}

TEST_F(BuildLineTest, OfAnotherBuildSystemIsRefusedByName) {
  write("a.cu", "");
  EXPECT_THAT(
      line_of(plan_build_line(unit("a.cu", "a.o"), {.fast_math = true})),
      HasSubstr("-use_fast_math for a.cu have to be written into the application's build, and neither CMake nor "
                "make"));
}

TEST_F(BuildLineTest, OfCmakeGoesToTheDirectoryOfTheTargetAndReachesThatFileAlone) {
  write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.18)\nproject(x CXX)\nadd_subdirectory(sub)\n");
  write("sub/CMakeLists.txt", "add_library(parts STATIC \"the kernel.cpp\" other.cpp)\n");
  write("sub/the kernel.cpp", "int k() { return 1; }\n"), write("sub/other.cpp", "int o() { return 1; }\n");
  ASSERT_TRUE(runs({"cmake", "-S", ".", "-B", "out", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"}));
  const CompiledUnit kernel{root() / "sub/the kernel.cpp", root() / "out/sub", ""};
  auto line = plan_build_line(kernel, {.fast_math = true});
  EXPECT_EQ(line_of(line), "set_property(SOURCE \"the kernel.cpp\" APPEND PROPERTY COMPILE_OPTIONS -use_fast_math)");
  EXPECT_EQ(line->file, root() / "sub/CMakeLists.txt");
  EXPECT_FALSE(fs::exists(root() / "out/.cmake")) << "the question leaves nothing";
  std::ofstream(line->file, std::ios::app) << line->line << "\n";
  ASSERT_TRUE(runs({"cmake", "out"}));
  const Json commands = *read_json(root() / "out/compile_commands.json");
  ASSERT_EQ(commands.size(), 2u);
  for (auto& entry : commands) {
    const bool mine = entry["file"].get<std::string>().ends_with("the kernel.cpp");
    EXPECT_EQ(entry["command"].get<std::string>().find("-use_fast_math") != std::string::npos, mine) << entry;
  }
}

TEST_F(BuildLineTest, OfCmakeIsRefusedForAFileThatNoTargetCompiles) {
  write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.18)\nproject(x NONE)\n");
  write("a.cu", "");
  ASSERT_TRUE(runs({"cmake", "-S", ".", "-B", "out"}));
  EXPECT_THAT(line_of(plan_build_line({root() / "a.cu", root() / "out", ""}, {.fast_math = true})),
              HasSubstr("no target of CMake"));
}

class FlagWatchTest : public BuildLineTest {
 protected:
  void log(const std::map<std::string, std::vector<std::string>>& commands) {
    Json all = Json::array();
    for (auto& [file, words] : commands)
      all.push_back({{"directory", root().string()}, {"file", file}, {"arguments", words}, {"output", file + ".o"}});
    ASSERT_TRUE(write_json(root() / "log.json", all).ok());
  }
  /// What is astray after a build that logs these.
  std::string after(const std::map<std::string, std::vector<std::string>>& commands) {
    write("a.cu", ""), write("b.cu", "");
    log({{"a.cu", {"nvcc", "-O2", "-c", "a.cu"}}, {"b.cu", {"nvcc", "-O2", "-c", "b.cu"}}});
    FlagWatch watch(root() / "log.json");
    watch.expect(root() / "a.cu", fast_);
    log(commands);
    return watch.astray();
  }
};

TEST_F(FlagWatchTest, SeesFlagsArriveWhereverTheyStand) {
  const std::vector<std::string> other{"nvcc", "-O2", "-c", "b.cu"};
  EXPECT_THAT(after({{"a.cu", {"nvcc", "-O2", "-use_fast_math", "-c", "a.cu"}}, {"b.cu", other}}), IsEmpty());
  EXPECT_THAT(after({{"a.cu", {"nvcc", "-O2", "-c", "a.cu", "-use_fast_math"}}, {"b.cu", other}}), IsEmpty());
}

TEST_F(FlagWatchTest, NamesFlagsThatDoNotArriveOrReachAnotherFile) {
  const std::vector<std::string> mine{"nvcc", "-O2", "-use_fast_math", "-c", "a.cu"};
  EXPECT_THAT(after({{"a.cu", {"nvcc", "-O2", "-c", "a.cu"}}, {"b.cu", {"nvcc", "-O2", "-c", "b.cu"}}}),
              HasSubstr("did not arrive"));
  EXPECT_THAT(after({{"a.cu", mine}, {"b.cu", {"nvcc", "-O2", "-use_fast_math", "-c", "b.cu"}}}),
              HasSubstr("b.cu by another command"));
  EXPECT_THAT(after({{"a.cu", {"nvcc", "-use_fast_math", "-c", "a.cu"}}, {"b.cu", {"nvcc", "-O2", "-c", "b.cu"}}}),
              HasSubstr("a.cu by another command"))
      << "another flag was lost";
}

TEST_F(FlagWatchTest, AsksForTheFlagsAloneWhereNoEarlierCommandIsKnown) {
  write("a.cu", ""), write("b.cu", "");
  FlagWatch watch(root() / "log.json");
  watch.expect(root() / "a.cu", fast_);
  log({{"a.cu", {"nvcc", "-use_fast_math", "-c", "a.cu"}}, {"b.cu", {"nvcc", "-c", "b.cu"}}});
  EXPECT_THAT(watch.astray(), IsEmpty());
  log({{"a.cu", {"nvcc", "-c", "a.cu"}}});
  EXPECT_THAT(watch.astray(), HasSubstr("did not arrive"));
  log({{"a.cu", {"nvcc", "-use_fast_math", "-c", "a.cu"}}, {"b.cu", {"nvcc", "-use_fast_math", "-c", "b.cu"}}});
  EXPECT_THAT(watch.astray(), HasSubstr("-use_fast_math is in the command that compiles"));
}

TEST_F(FlagWatchTest, WithoutFlagsAsksNothing) { EXPECT_THAT(FlagWatch(root() / "no-log.json").astray(), IsEmpty()); }

}  // namespace
}  // namespace kernelift::reintegrate
