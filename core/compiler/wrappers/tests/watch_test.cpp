// Builds that are watched: what is logged, by any process that starts a compiler, and that the build is not changed.
// The compilers are copies of small programs of the system under a compiler's name: true, and env, which starts
// another.
#include "core/compiler/wrappers/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/process.h"
#include "core/compiler/wrappers/build_folder.h"

namespace kernelift::wrappers {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

class Watch : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryFolder::create("kernelift-watch-test");
    ASSERT_TRUE(made.ok());
    scratch_.emplace(std::move(*made));
    fs::create_directories(folder() / "bin");
    stand_in("true", "nvcc");
    write("a.cu", "int a;");
  }
  fs::path folder() const { return scratch_->path(); }
  fs::path state() const { return folder() / ".kernelift"; }
  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(write_atomically(folder() / name, std::string_view(text)).ok());
  }
  void stand_in(const char* program, const char* compiler) {
    fs::copy_file(*find_program(program), folder() / "bin" / compiler, fs::copy_options::overwrite_existing);
  }
  ProcessOutcome start(const std::vector<std::string>& argv,
                       std::vector<std::pair<std::string, std::string>> environment) {
    ProcessOptions options;
    options.folder = folder();
    options.environment = std::move(environment);
    options.environment.emplace_back("PATH", (folder() / "bin").string() + ":" + std::getenv("PATH"));
    auto outcome = run_process(argv, options);
    EXPECT_TRUE(outcome.ok() && outcome->ok()) << (outcome.ok() ? outcome->err : outcome.error().message);
    return outcome.ok() ? *outcome : ProcessOutcome{};
  }
  /// Runs a build and returns the log; the build's output is in `output_`.
  Json watched(const std::vector<std::string>& argv, std::vector<std::pair<std::string, std::string>> more = {}) {
    auto watch = BuildWatch::begin(state());
    EXPECT_TRUE(watch.ok()) << (watch.ok() ? "" : watch.error().message);
    auto environment = watch->environment();
    environment.insert(environment.end(), more.begin(), more.end());
    ProcessOutcome outcome = start(argv, environment);
    output_ = outcome.out + outcome.err;
    auto problems = watch->log();
    EXPECT_TRUE(problems.ok());
    EXPECT_THAT(*problems, IsEmpty());
    EXPECT_FALSE(fs::exists(state() / "watched")) << "records are removed";
    auto log = read_json(state() / "compile_commands.json");
    return log.ok() ? *log : Json::array();
  }
  Json shell(const std::string& line, std::vector<std::pair<std::string, std::string>> more = {}) {
    return watched({"sh", "-c", line}, std::move(more));
  }

  std::optional<TemporaryFolder> scratch_;
  std::string output_;
};

TEST_F(Watch, LogsACommandToTheByte) {
  const std::vector<std::string> command{(folder() / "bin/nvcc").string(),
                                         "-c",
                                         "a.cu",
                                         "-o",
                                         "a.o",
                                         "-DA=1\\,2",
                                         "-DB=\"x y\"",
                                         "-DC='\n\t\\'",
                                         "-DD=",
                                         "-Xcompiler=-DE,-DF",
                                         "-DG=ä$HOME`x`"};
  Json log = watched(command);
  ASSERT_EQ(log.size(), 1u) << log;
  EXPECT_EQ(log[0]["arguments"], Json(command));
  EXPECT_EQ(log[0]["directory"], fs::canonical(folder()).string());
  EXPECT_EQ(log[0]["file"], "a.cu");
  EXPECT_EQ(log[0]["output"], "a.o");
}

TEST_F(Watch, SeesCompilersHoweverTheyAreStarted) {
  for (const char* build :
       {"nvcc -c a.cu", "exec nvcc -c a.cu", "env -i PATH=\"$PATH\" nvcc -c a.cu", "(cd . && make -f mk)",
        "env -u LD_PRELOAD -u KERNELIFT_WATCH sh -c 'nvcc -c a.cu'", "echo a.cu | LD_PRELOAD= xargs nvcc -c",
        "python3 -c 'import os, subprocess; subprocess.run([\"nvcc\", \"-c\", \"a.cu\"], env={\"PATH\": "
        "os.environ[\"PATH\"]})'",
        "perl -e '%ENV = (PATH => $ENV{PATH}); exec \"nvcc\", \"-c\", \"a.cu\"'"}) {
    write("mk", "all:\n\tnvcc -c a.cu\n");
    fs::remove_all(state());
    EXPECT_EQ(shell(build).size(), 1u) << build << '\n' << output_;
  }
}

TEST_F(Watch, LogsWhichBuildToolStartedACompiler) {
  write("mk", "all:\n\tsh -c 'nvcc -c a.cu; true'\n");
  EXPECT_EQ(shell("make -f mk")[0]["built_by"], "make");
  EXPECT_EQ(shell("make --version; nvcc -c a.cu; true")[0]["built_by"], "") << "the next build is another one";
  if (!find_program("ninja")) return;
  write("build.ninja", "rule one\n command = nvcc -c $in\nbuild all: one a.cu\n");
  EXPECT_EQ(shell("env -i PATH=\"$PATH\" ninja")[0]["built_by"], "ninja");
}

TEST_F(Watch, SeesCompilersThatAStaticallyLinkedToolStarts) {
  write("tool.c",
        "#include <unistd.h>\nint main() { char* argv[] = {\"nvcc\", \"-c\", \"a.cu\", 0}; return execvp(\"nvcc\", "
        "argv); }\n");
  if (auto built = start({"sh", "-c", "cc -static tool.c -o tool || true"}, {}); !fs::exists(folder() / "tool"))
    GTEST_SKIP() << "no static C library: " << built.err;
  EXPECT_EQ(watched({"./tool"}).size(), 1u) << output_;
}

TEST_F(Watch, LogsACompilersCommandAndNotThoseOfItsParts) {
  stand_in("env", "nvcc"), stand_in("true", "clang++");
  Json log = shell("nvcc clang++ -c a.cu -o a.o");
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0]["arguments"][0], "nvcc");
}

TEST_F(Watch, LogsTheCompilerBehindALauncher) {
  stand_in("env", "ccache");
  Json log = shell("ccache nvcc -c a.cu -o a.o");
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0]["arguments"], Json::parse(R"(["nvcc", "-c", "a.cu", "-o", "a.o"])"));
}

TEST_F(Watch, ReadsResponseFilesThatTheBuildRemoves) {
  write("options", R"(-DA=\\\"x\\\" -I/in)");
  EXPECT_EQ(shell("nvcc --options-file options -c a.cu -o a.o; rm options")[0]["arguments"],
            Json::parse(R"(["nvcc", "-DA=\"x\"", "-I/in", "-c", "a.cu", "-o", "a.o"])"));
  write("more", "'-DB=x y' a.cu");
  stand_in("true", "clang++-18");
  EXPECT_EQ(shell("clang++-18 @more -x cuda -c -o b.o; rm more")[1]["arguments"],
            Json::parse(R"(["clang++-18", "-DB=x y", "a.cu", "-x", "cuda", "-c", "-o", "b.o"])"));
}

TEST_F(Watch, LogsOptionsAndFoldersFromVariables) {
  Json log = shell("nvcc -c a.cu -o a.o", {{"NVCC_PREPEND_FLAGS", "-DA=\"x y\""},
                                           {"NVCC_APPEND_FLAGS", "-DB=1\\,2"},
                                           {"NVCC_CCBIN", "g++-12"},
                                           {"CPATH", "/x:/y,z"},
                                           {"CPLUS_INCLUDE_PATH", "/w"}});
  EXPECT_EQ(log[0]["arguments"],
            Json::parse(R"(["nvcc", "-DA=\"x y\"", "-ccbin", "g++-12", "-c", "a.cu", "-o", "a.o", "-DB=1\\,2",
                            "-I/x", "-I\"/y,z\"", "-isystem", "/w"])"));
  EXPECT_EQ(shell("nvcc -ccbin g++ -c a.cu -o a.o", {{"NVCC_CCBIN", "g++-12"}})[0]["arguments"],
            Json::parse(R"(["nvcc", "-ccbin", "g++", "-c", "a.cu", "-o", "a.o"])"));
}

TEST_F(Watch, DoesNotTakeOtherToolsForCompilers) {
  stand_in("true", "clang-format"), stand_in("true", "clang-tidy-18"), stand_in("true", "nvcc-settings");
  EXPECT_EQ(shell("clang-format a.cu; clang-tidy-18 -c a.cu; nvcc-settings a.cu").size(), 0u);
}

TEST_F(Watch, KeepsOtherPreloadedLibraries) {
  shell("echo $LD_PRELOAD; env -i LD_PRELOAD=libm.so.6 sh -c 'echo $LD_PRELOAD'", {});
  EXPECT_THAT(output_, HasSubstr("libkernelift_watch.so\n"));
  EXPECT_THAT(output_, HasSubstr("libkernelift_watch.so:libm.so.6\n"));
}

TEST_F(Watch, LeavesProgramsAloneThatMustLoadTheirSanitizerFirst) {
  write("tool.c", "#include <stdio.h>\nint main() { puts(\"made\"); return 0; }\n");
  start({"sh", "-c", "gcc -fsanitize=address tool.c -o tool || true"}, {});
  if (!fs::exists(folder() / "tool")) GTEST_SKIP() << "gcc has no AddressSanitizer here";
  EXPECT_EQ(shell("./tool && nvcc -c a.cu").size(), 1u);
  EXPECT_EQ(output_, "made\n");
}

TEST_F(Watch, LogsWhatAKilledBuildHadCompiled) {
  auto killed = BuildWatch::begin(state());
  ASSERT_TRUE(killed.ok());
  start({"nvcc", "-c", "a.cu", "-o", "a.o"}, killed->environment());
  write("b.cu", "int b;");
  EXPECT_EQ(shell("nvcc -c b.cu -o b.o").size(), 2u);
}

TEST_F(Watch, SaysThatARecordIsDamagedOrWasNotWritten) {
  auto watch = BuildWatch::begin(state());
  ASSERT_TRUE(watch.ok());
  write(".kernelift/watched/1-1", "/folder");
  write(".kernelift/watched/2-2.part", "");
  auto problems = watch->log();
  ASSERT_TRUE(problems.ok());
  EXPECT_THAT(*problems, testing::UnorderedElementsAre(HasSubstr("watched/1-1, is damaged"),
                                                       HasSubstr("its record could not be written")));
}

TEST_F(Watch, TheLastCommandOfAnOutputCounts) {
  write("b.cu", "int b;");
  Json log = shell("nvcc -c a.cu -o x.o; nvcc -c b.cu -o x.o");
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0]["file"], "b.cu");
}

class BuildFolder : public Watch {
 protected:
  std::string refusal(const std::vector<std::string>& command, Compilers compilers) {
    Status checked = check_build_folders(command, folder(), compilers);
    return checked.ok() ? "" : checked.error().message;
  }
  void configure(const std::string& compiler) {
    fs::create_directories(folder() / "build/CMakeFiles/3.25.1");
    write("build/CMakeCache.txt", "CMAKE_CUDA_COMPILER:UNINITIALIZED=nvcc\n");
    write("build/CMakeFiles/3.25.1/CMakeCUDACompiler.cmake", "set(CMAKE_CUDA_COMPILER \"" + compiler + "\")\n");
  }
};

TEST_F(BuildFolder, OfAnotherCompilerIsRefusedForTheCpuDevice) {
  configure("/usr/local/cuda/bin/nvcc");
  for (std::vector<std::string> command : {std::vector<std::string>{"cmake", "--build", "build"},
                                           {"sh", "-c", "cmake -S . -B build && cmake --build build"},
                                           {"make", "-Cbuild"},
                                           {"sh", "-c", "cd build; make"}}) {
    EXPECT_THAT(refusal(command, Compilers::CpuWrappers), HasSubstr("was configured with /usr/local/cuda/bin/nvcc"));
    EXPECT_EQ(refusal(command, Compilers::Own), "");
  }
  EXPECT_EQ(refusal({"cmake", "--build", "other"}, Compilers::CpuWrappers), "");
  EXPECT_EQ(refusal({"sh", "-c", "rm -rf build && cmake -B build"}, Compilers::CpuWrappers), "");
  EXPECT_EQ(refusal({"cmake", "--fresh", "-B", "build"}, Compilers::CpuWrappers), "");
}

TEST_F(BuildFolder, OfTheCpuDeviceIsRefusedForOtherBuilds) {
  configure((folder() / "toolkit/bin/nvcc").string());
  write("toolkit/kernelift-toolkit",
        R"({"format": "kernelift-toolkit", "version": 1, "reads": 1, "device": "cpu", "state": "/s"})");
  EXPECT_THAT(refusal({"cmake", "--build", "build"}, Compilers::Own), HasSubstr("for Kernelift's CPU device"));
  EXPECT_EQ(refusal({"cmake", "--build", "build"}, Compilers::CpuWrappers), "");
}

}  // namespace
}  // namespace kernelift::wrappers
