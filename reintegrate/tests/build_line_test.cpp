// Where the flags of one file go in an application's build, as its build system says; and whether they arrived. With
// the real make and CMake.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/process.h"
#include "reintegrate/flags/build_line.h"
#include "reintegrate/flags/definition_place.h"
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

TEST_F(BuildLineTest, OfMakeIsFoundWithoutMakingTheMakefilesThatRulesMake) {
  write("a.cu", "");
  write("a.d", "a.o: a.cu\n# mine\n");
  write("Makefile",
        "FLAGS = -O3\nall: a.o\na.o: a.cu\n\tnvcc $(FLAGS) -c $< -o $@\na.d: a.cu\n\techo 'a.o: a.cu' > $@\n-include "
        "a.d\n");
  EXPECT_EQ(line_of(make_line(unit("a.cu", "a.o"), fast_)), "a.o: FLAGS += -use_fast_math");
  EXPECT_THAT(*read_text(root() / "a.d"), HasSubstr("# mine"));
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

TEST_F(BuildLineTest, IsWrittenOnlyWhereTheBuildThatWasWatchedUsedTheMakefile) {
  write("a.cu", "");
  write("Makefile", "FLAGS = -O2\na.o: a.cu\n\tnvcc $(FLAGS) -c $< -o $@\n");
  CompiledUnit by_hand = unit("a.cu", "a.o"), by_make = by_hand, by_ninja = by_hand;
  by_hand.built_by = "", by_make.built_by = "make", by_ninja.built_by = "ninja";
  EXPECT_EQ(line_of(plan_build_line(by_make, {.fast_math = true})), "a.o: FLAGS += -use_fast_math");
  for (auto& unused : {by_hand, by_ninja})
    EXPECT_THAT(line_of(plan_build_line(unused, {.fast_math = true})),
                HasSubstr("neither CMake nor make built a.cu in " + root().string() +
                          ", where the build did not use the makefile: add them by hand"));
  EXPECT_THAT(places_of({"BLOCK", "128"}, by_hand).error().message, HasSubstr("the build did not use the makefile"));
}

TEST_F(BuildLineTest, IsNotWrittenIntoACmakeTreeThatTheBuildDidNotUse) {
  write("a.cu", ""), write("CMakeCache.txt", "");
  CompiledUnit by_hand = unit("a.cu", "a.o");
  by_hand.built_by = "";
  EXPECT_THAT(line_of(plan_build_line(by_hand, {.fast_math = true})),
              HasSubstr("where the build did not use the build folder of CMake"));
}

TEST_F(BuildLineTest, ItsBuildToolIsTheOneThatTheLogNamesForTheUnitAndItsOutput) {
  write("a.cu", ""), write("Makefile", "FLAGS = -O2\na.o: a.cu\n\tnvcc $(FLAGS) -c $< -o $@\n");
  const fs::path log = root() / "log.json";
  auto logged = [&](const std::vector<std::pair<std::string, Json>>& outputs) {
    Json all = Json::array();
    for (auto& [output, tool] : outputs) {
      all.push_back({{"directory", root().string()}, {"file", "a.cu"}, {"output", output}});
      if (!tool.is_null()) all.back()["built_by"] = tool;
    }
    ASSERT_TRUE(write_json(log, all).ok());
  };
  Mep mep;
  mep.unit = "a.cu", mep.compile_folder = root().string(), mep.compile_command = {"nvcc", "-c", "a.cu", "-o", "a.o"};
  logged({{"a.o", "make"}, {"b.o", ""}});
  EXPECT_EQ(CompiledUnit::of(mep, log)->built_by, "make");
  EXPECT_THAT(why_no_place_for_flags(mep, log), IsEmpty());
  logged({{"a.o", ""}, {"b.o", "make"}});
  EXPECT_EQ(CompiledUnit::of(mep, log)->built_by, "");
  EXPECT_THAT(why_no_place_for_flags(mep, log), HasSubstr("did not use the makefile"));
  logged({{"a.o", nullptr}});
  EXPECT_EQ(CompiledUnit::of(mep, log)->built_by, std::nullopt);
  EXPECT_THAT(why_no_place_for_flags(mep, log), IsEmpty()) << "an earlier log: make itself is asked";
  EXPECT_EQ(CompiledUnit::of(mep, root() / "none.json")->built_by, std::nullopt);
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

class DefinitionTest : public BuildLineTest {
 protected:
  /// "FILE: LINE" of the places, with the value marked.
  std::string places(const std::string& folder = ".", const std::string& value = "128") {
    auto found = places_of({"BLOCK", value}, {root() / "a.cu", fs::canonical(root() / folder), "a.o"});
    if (!found.ok()) return found.error().message;
    std::string all;
    for (auto& place : found->places) {
      std::string text = *read_text(place.file);
      const size_t begin = text.rfind('\n', place.begin) + 1, end = text.find('\n', place.begin);
      all += place.file.lexically_relative(root()).string() + ": " + text.substr(begin, place.begin - begin) + "[" +
             text.substr(place.begin, place.end - place.begin) + "]" + text.substr(place.end, end - place.end) + "\n";
    }
    return all;
  }
  std::string of_cmake(const std::string& lines, const std::vector<std::string>& options = {}) {
    write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.18)\nproject(x CXX)\n" + lines);
    write("a.cu", ""), write("b.cpp", "");
    std::vector<std::string> command{"cmake", "-S", ".", "-B", "out"};
    command.insert(command.end(), options.begin(), options.end());
    EXPECT_TRUE(runs(command));
    return places("out");
  }
};

constexpr const char* kRule = "%.o: %.cu\n\tnvcc $(FLAGS) -c $< -o $@\n";
constexpr const char* kSources =
    "set_source_files_properties(a.cu PROPERTIES LANGUAGE CXX)\nadd_library(app a.cu b.cpp)\n";

TEST_F(DefinitionTest, OfMakeIsTheWordOrTheVariableThatEveryCommandFollows) {
  write("a.cu", ""), write("b.cu", "");
  write("rules.mk", std::string("FLAGS += -DBLOCK=128 -DBLOCKS=128 # -DBLOCK=128\n") + kRule);
  write("Makefile", "FLAGS = -O2\nall: a.o b.o\ninclude rules.mk\n");
  EXPECT_EQ(places(), "rules.mk: FLAGS += -DBLOCK=[128] -DBLOCKS=128 # -DBLOCK=128\n");
  write("Makefile", std::string("N = 128\nSIZE ?= 128\nFLAGS = -DBLOCK=$(SIZE) -DN=$(N)\nall: a.o b.o\n") + kRule);
  EXPECT_EQ(places(), "Makefile: SIZE ?= [128]\n");
  write("Makefile", std::string("SIZE = 128\nFLAGS = -DBLOCK=$(SIZE) -DOTHER=$(SIZE)\nall: a.o\n") + kRule);
  EXPECT_THAT(places(), HasSubstr("no text -DBLOCK=128 is in the makefiles")) << "SIZE has another use";
}

TEST_F(DefinitionTest, OfMakeIsRefusedWhereItIsSpelledTwiceOrNowhere) {
  write("a.cu", ""), write("b.cu", "");
  write("Makefile",
        "all: a.o b.o\na.o: a.cu\n\tnvcc -DBLOCK=128 -c $< -o $@\nb.o: b.cu\n\tnvcc -DBLOCK=128 -c $< -o $@\n");
  EXPECT_THAT(places(), HasSubstr("more than one text -DBLOCK=128"));
  write("Makefile", std::string("all: a.o\n") + kRule);
  EXPECT_THAT(places(), HasSubstr("make does not say that a command defines BLOCK=128"));
}

TEST_F(DefinitionTest, OfCmakeIsInTheCommandThatAddsIt) {
  EXPECT_EQ(
      of_cmake(std::string(kSources) + "# BLOCK=128\ntarget_compile_definitions(app PRIVATE N=128\n  BLOCK=128)\n"),
      "CMakeLists.txt:   BLOCK=[128])\n");
  EXPECT_EQ(of_cmake("add_definitions(-DBLOCK=128)\n" + std::string(kSources)),
            "CMakeLists.txt: add_definitions(-DBLOCK=[128])\n");
  EXPECT_EQ(of_cmake("set(CMAKE_CXX_FLAGS \"-O2 -DBLOCK=128\")\n" + std::string(kSources)),
            "CMakeLists.txt: set(CMAKE_CXX_FLAGS \"-O2 -DBLOCK=[128]\")\n");
  EXPECT_FALSE(fs::exists(root() / "out/.cmake")) << "the question leaves nothing";
}

TEST_F(DefinitionTest, OfCmakeChangesInAllTargetsThatHaveIt) {
  EXPECT_EQ(
      of_cmake(std::string(kSources) + "add_library(more b.cpp)\ntarget_compile_definitions(app PUBLIC BLOCK=128)\n"
                                       "target_compile_definitions(more PUBLIC BLOCK=128)\n"),
      "CMakeLists.txt: target_compile_definitions(app PUBLIC BLOCK=[128])\n"
      "CMakeLists.txt: target_compile_definitions(more PUBLIC BLOCK=[128])\n");
}

TEST_F(DefinitionTest, OfCmakeIsRefusedWhereAnOptionOrAVariableGivesIt) {
  EXPECT_THAT(of_cmake(kSources, {"-DCMAKE_CXX_FLAGS=-DBLOCK=128"}), HasSubstr("may be set by an option of cmake"));
  fs::remove_all(root() / "out");
  EXPECT_THAT(of_cmake("set(N 128)\nadd_definitions(-DBLOCK=${N})\n" + std::string(kSources)),
              HasSubstr("CMakeLists.txt:4, which defines it"));
  EXPECT_THAT(places("out", "64"), HasSubstr("CMake does not say that it defines BLOCK=64"));
}

TEST_F(DefinitionTest, OfAnotherBuildSystemIsRefusedByName) {
  write("a.cu", "");
  EXPECT_THAT(places(), HasSubstr("neither CMake nor make built a.cu"));
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

TEST_F(FlagWatchTest, SeesADefinitionArriveInEveryCommandThatHadIt) {
  write("a.cu", ""), write("b.cu", "");
  auto after = [&](const std::string& a, const std::string& b, const std::string& other = "-O2") {
    log({{"a.cu", {"nvcc", "-O2", "-DBLOCK=128", "a.cu"}}, {"b.cu", {"nvcc", "-D", "BLOCK=128", "b.cu"}}});
    FlagWatch watch(root() / "log.json");
    watch.expect({"BLOCK", "128", "64"});
    log({{"a.cu", {"nvcc", other, "-DBLOCK=" + a, "a.cu"}}, {"b.cu", {"nvcc", "-D", "BLOCK=" + b, "b.cu"}}});
    return watch.astray();
  };
  EXPECT_THAT(after("64", "64"), IsEmpty());
  EXPECT_THAT(after("64", "128"), HasSubstr("b.cu with the value that the patch gives to 'BLOCK'"));
  EXPECT_THAT(after("128", "64"), HasSubstr("a.cu with the value that the patch gives to 'BLOCK'"));
  EXPECT_THAT(after("64", "64", "-O3"), HasSubstr("a.cu by another command"));
  FlagWatch without(root() / "no-log.json");
  without.expect({"BLOCK", "128", "64"});
  EXPECT_THAT(without.astray(), HasSubstr("no command that the build logs defines 'BLOCK' as 64"));
}

TEST_F(FlagWatchTest, WithoutFlagsAsksNothing) { EXPECT_THAT(FlagWatch(root() / "no-log.json").astray(), IsEmpty()); }

}  // namespace
}  // namespace kernelift::reintegrate
