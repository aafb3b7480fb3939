// The kernelift program on MEPs that the tests create: command lines, and what is printed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/base/process.h"
#include "sandbox/evaluate/tests/mep_fixture.h"
#include "sandbox/jail/tests/lesser_kernel.h"

namespace kernelift::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Runs kernelift; returns the output of both streams, followed by "exit N".
std::string run(std::vector<std::string> words, const std::filesystem::path& folder,
                const std::vector<std::string>& before = {}) {
  words.insert(words.begin(), (executable_folder() / "kernelift").string());
  words.insert(words.begin(), before.begin(), before.end());
  ProcessOptions options;
  options.folder = folder;
  auto ran = run_process(words, options);
  return ran.ok() ? ran->out + ran->err + "exit " + std::to_string(ran->exit_code) : ran.error().message;
}

/// The kernel of scale_mep() with `body` as the line that computes.
std::string kernel_that(const std::string& body) {
  return "__constant__ float bias;\n__global__ void scale(const float* in, float* out, int n, float factor) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  " +
         body + "\n}\n";
}

TEST(Evaluate, PrintsTheVerdictOfEachKernelWrittenByHand) {
  sandbox::MepFixture fixture = sandbox::scale_mep(100000);
  ASSERT_TRUE(fixture.mep.write(fixture.path()).ok());
  SlotFolder folder;
  auto write = [&](const char* name, const std::string& text) { std::ofstream(folder.path() / name) << text; };
  write("same.cu", kernel_that("if (i < n) out[i] = factor * in[i] + bias;"));
  write("off.cu", kernel_that("if (i < n) out[i] = i == 3 ? 0 : factor * in[i] + bias;"));
  write("typing.cu", kernel_that("if (i < n) out[i] = inn[i];"));
  Json half = {{"source", kernel_that("if (i < n) out[i] = factor * in[i] + bias;")},
               {"launches", {{{"kernel", "scale"}, {"grid", {"gx / 2", "gy", "gz"}}}}}};
  write("half.jsonl", half.dump() + "\n"), write("list.json", " [\n" + half.dump() + "]");
  std::string said =
      run({"evaluate", fixture.path(), "same.cu", "off.cu", "typing.cu", "half.jsonl", "list.json", "--device", "cpu"},
          folder.path());
  EXPECT_THAT(said, HasSubstr("same.cu: correct, "));
  EXPECT_THAT(
      said,
      HasSubstr("off.cu: wrong at verify on instance a: out[3] expected -293.5, got 0: 1 of 100000 elements differ"));
  EXPECT_THAT(said, HasSubstr("typing.cu: compile_failed"));
  EXPECT_THAT(said, HasSubstr("'inn'"));
  EXPECT_THAT(said, HasSubstr("half.jsonl:1: wrong at verify on instance a: out[50048] expected "));
  EXPECT_THAT(said, HasSubstr("list.json, candidate 1: wrong at verify on instance a: out[50048] expected "));
  EXPECT_THAT(said, HasSubstr("exit 0"));
  write("empty.cu", " \n");
  EXPECT_THAT(run({"evaluate", fixture.path(), "empty.cu"}, folder.path()),
              HasSubstr("empty.cu is empty; it must contain a kernel's source"));
  for (const char* line : {"{\"source\": ", "{\"source\": 7}", "{\"sauce\": \"\"}"}) {
    write("damaged.jsonl", half.dump() + "\n" + line + "\n");
    EXPECT_THAT(run({"evaluate", fixture.path(), "damaged.jsonl"}, folder.path()),
                AllOf(HasSubstr("damaged.jsonl:2: "), HasSubstr("exit 2")))
        << line;
  }
  write("damaged.json", "[" + half.dump() + ",\n {\"source\": 7}]");
  EXPECT_THAT(run({"evaluate", fixture.path(), "damaged.json"}, folder.path()),
              AllOf(HasSubstr("damaged.json, candidate 2: "), HasSubstr("exit 2")));
}

/// Runs kernelift where `lose` has taken something away.
std::string run_without(const std::function<bool()>& lose, std::vector<std::string> words,
                        const std::filesystem::path& folder) {
  words.insert(words.begin(), (executable_folder() / "kernelift").string());
  ProcessOptions options;
  options.folder = folder;
  options.prepare = [&] { return lose() ? done() : environment_error("nothing was lost"); };
  auto ran = run_process(words, options);
  return ran.ok() ? ran->out + ran->err + "exit " + std::to_string(ran->exit_code) : ran.error().message;
}

TEST(Jail, LayersAreListedByDoctorWithWhatTheyHoldBackAndTheFixForThoseThatAreMissing) {
  SlotFolder folder;
  std::string said = run_without(sandbox::lose_landlock, {"doctor"}, folder.path());
  EXPECT_THAT(said, AllOf(HasSubstr("MISSING  files "), HasSubstr("can read every file that you can"),
                          HasSubstr("fix: use a kernel of 5.13 or later"), HasSubstr("--allow-weak-jail")));
  EXPECT_THAT(said, HasSubstr("ok       system calls "));
  said = run_without(sandbox::lose_namespaces, {"doctor"}, folder.path());
  EXPECT_THAT(said, AllOf(HasSubstr("limited  process namespace "), HasSubstr("fix: in a container: "),
                          HasSubstr("ok       files ")));
  auto ran = run_process({(executable_folder() / "kernelift").string(), "doctor", "--json"}, {});
  Json document = Json::parse(ran->out, nullptr, false);
  size_t layers = 0;
  for (auto& finding : document["findings"]) layers += finding["area"] == "isolation" && !finding["detail"].empty();
  EXPECT_GE(layers, 10u);
  EXPECT_TRUE(document["confines_candidates"].is_boolean());
}

TEST(Jail, ThatIsWeakRunsNoCandidateUnlessTheUserAllowsIt) {
  sandbox::MepFixture fixture = sandbox::scale_mep(1000);
  ASSERT_TRUE(fixture.mep.write(fixture.path()).ok());
  SlotFolder folder;
  std::ofstream(folder.path() / "same.cu") << kernel_that("if (i < n) out[i] = factor * in[i] + bias;");
  const std::string mep = fixture.path().string();
  for (auto& words : std::initializer_list<std::vector<std::string>>{
           {"evaluate", mep, "same.cu", "--device", "cpu"},
           {"tune", mep, "--evals", "1", "--device", "cpu"},
           {"selftest", "--hostile", "--only", "map-slower", "--device", "cpu"},
           {"optimize", "--build", "true", "--run", "true", "--device", "cpu"}})
    EXPECT_THAT(run_without(sandbox::lose_landlock, words, folder.path()),
                AllOf(HasSubstr("this machine cannot confine code that is not yours. files: "),
                      HasSubstr("--allow-weak-jail"), HasSubstr("exit 3")))
        << words[0];
  EXPECT_THAT(run_without(sandbox::lose_landlock, {"evaluate", mep, "same.cu", "--device", "cpu", "--allow-weak-jail"},
                          folder.path()),
              AllOf(HasSubstr("same.cu: correct, "), HasSubstr("exit 0")));
  EXPECT_THAT(run_without(sandbox::lose_landlock,
                          {"selftest", "--hostile", "--only", "map-slower", "--device", "cpu", "--allow-weak-jail"},
                          folder.path()),
              AllOf(HasSubstr("1 candidate on cpu"), HasSubstr("exit 0")));
  EXPECT_THAT(run_without(sandbox::lose_namespaces, {"evaluate", mep, "same.cu", "--device", "cpu"}, folder.path()),
              AllOf(HasSubstr("same.cu: correct, "), HasSubstr("exit 0")));
}

TEST(Simulate, PrintsEachNumberOfEvaluationsOnce) {
  SlotFolder folder;
  std::ofstream(folder.path() / "trials.json") << R"({"results": [
    {"configuration": {"x": 1}, "measurements": [{"name": "time", "value": 2.0}], "invalidity": "correct", "objectives": ["time"]},
    {"configuration": {"x": 2}, "measurements": [{"name": "time", "value": 1.0}], "invalidity": "correct", "objectives": ["time"]}]})";
  std::string said = run(
      {"simulate", "--trials", "trials.json", "--strategy", "random", "--evals", "5", "--seeds", "2"}, folder.path());
  EXPECT_THAT(said, HasSubstr("  strategy         1 evaluation          2 evaluations         5 evaluations  \n"));
  EXPECT_THAT(said, HasSubstr("exit 0"));
}

/// The address of the loader in processes without address randomisation; 0 if that cannot be disabled here.
uint64_t loader_address() {
  auto maps = run_process({"setarch", "-R", "cat", "/proc/self/maps"}, {});
  if (!maps.ok() || maps->exit_code != 0) return 0;
  std::istringstream lines(maps->out);
  for (std::string line; std::getline(lines, line);)
    if (line.find("/ld-linux") != line.npos) return std::stoull(line, nullptr, 16);
  return 0;
}

TEST(Replay, RestartsTheProcessIfItOccupiesRecordedAddresses) {
  uint64_t occupied = loader_address();
  if (occupied == 0) GTEST_SKIP() << "address randomisation cannot be disabled here";
  sandbox::MepFixture fixture("__global__ void twice(int* data) { data[threadIdx.x] *= 2; }\n", "_Z5twicePi",
                              "twice(int*)");
  MepInstance& instance = fixture.add_instance("a", 1, 4);
  fixture.add_buffer<int>(instance, "data", "int", occupied, {1, 2, 3, 4}, {2, 4, 6, 8});
  ASSERT_TRUE(fixture.mep.write(fixture.path()).ok());
  EXPECT_THAT(run({"replay", fixture.path(), "--warm", "--device", "cpu"}, fixture.path(), {"setarch", "-R"}),
              HasSubstr("PASS  data"));
}

TEST(CommandLine, NamesTheUnknownOrMissingWordAndTheHelp) {
  SlotFolder folder;
  EXPECT_THAT(
      run({"tun", "x"}, folder.path()),
      AllOf(HasSubstr("kernelift: there is no verb 'tun'; did you mean tune? kernelift --help lists all verbs\n"),
            HasSubstr("exit 2")));
  EXPECT_THAT(run({"scan", "--nosuch"}, folder.path()),
              AllOf(HasSubstr("kernelift scan: there is no option --nosuch; kernelift scan --help lists all\n"),
                    HasSubstr("exit 2")));
  EXPECT_THAT(run({"optimize", "--tiem=5s"}, folder.path()),
              AllOf(HasSubstr("there is no option --tiem; did you mean --time"), HasSubstr("exit 2")))
      << "though --run is missing, too";
  std::ofstream(folder.path() / "some.klrun") << "any";
  EXPECT_THAT(run({"apply", "some.klrun"}, folder.path()), AllOf(HasSubstr("--build CMD\n"), HasSubstr("exit 2")))
      << "this is checked before the run is read";
  EXPECT_THAT(run({"apply", "some.klrun", "--build", "make"}, folder.path()),
              AllOf(HasSubstr("--run CMD\n"), HasSubstr("exit 2")));
  EXPECT_THAT(run({"apply", "some.klrun", "--build", "make", "--run", "app", "--time", "x"}, folder.path()),
              AllOf(HasSubstr("'x' is not a duration"), HasSubstr("exit 2")));
  EXPECT_THAT(run({"scan", "--json", "--nosuch"}, folder.path()), HasSubstr("\"exit\": 2"))
      << "with --json the error is also a document on stdout";
  EXPECT_THAT(run({"build", "--nosuch", "--", "app", "--json"}, folder.path()), Not(HasSubstr("\"exit\": 2")))
      << "--json after -- belongs to the application's command";
  EXPECT_THAT(run({"tune", "--help"}, folder.path()), HasSubstr("exit 0"));
}

TEST(Help, IsAlsoAskedForAsAVerb) {
  SlotFolder folder;
  EXPECT_EQ(run({"help", "tune"}, folder.path()), run({"tune", "--help"}, folder.path()));
  EXPECT_THAT(run({"help"}, folder.path()), AllOf(HasSubstr("Subcommands:"), HasSubstr("exit 0")));
  EXPECT_THAT(run({"help", "tun"}, folder.path()), HasSubstr("there is no verb 'tun'; did you mean tune?"));
}

TEST(Help, WrapsWhatItSaysOfOptionsBetweenWords) {
  SlotFolder folder;
  for (const char* verb : {"optimize", "tune", "apply"}) {
    std::istringstream said(run({verb, "--help"}, folder.path()));
    size_t lines = 0;
    for (std::string line; std::getline(said, line); ++lines)
      EXPECT_TRUE(line.size() <= 100 || line.find("kernelift") != line.npos) << "the example stays one line: " << line;
    EXPECT_GT(lines, 40U) << verb;
  }
}

TEST(Build, LogsCommandsThatACompilerCacheCouldAnswer) {
  if (std::system("command -v ccache >/dev/null") != 0) GTEST_SKIP() << "ccache is not installed";
  SlotFolder folder;
  std::ofstream(folder.path() / "a.cu") << "__global__ void k(int* p) { *p = 1; }\n";
  for (int repetition = 0; repetition < 2; ++repetition) {
    std::string state = "state" + std::to_string(repetition);
    EXPECT_THAT(run({"build", "--device", "cpu", "--state", state, "--", "env",
                     "CCACHE_DIR=" + (folder.path() / "cache").string(), "ccache", "nvcc", "-c", "a.cu", "-o", "a.o"},
                    folder.path()),
                HasSubstr("build finished; 1 compile command in "))
        << state;
  }
}

TEST(Build, PrintsOneDocumentAlsoOfABuildThatFails) {
  SlotFolder folder;
  auto build = [&](const char* command) {
    return run({"build", "--json", "--device", "cpu", "--state", "state", "--", command}, folder.path());
  };
  EXPECT_THAT(build("true"), AllOf(HasSubstr("kernelift-build"), Not(HasSubstr("kernelift-error"))));
  EXPECT_THAT(build("false"), AllOf(HasSubstr("kernelift-error"), Not(HasSubstr("kernelift-build"))));
}

TEST(Tune, RecordsThatItUsedTheCpuDeviceIfNoDeviceWasNamed) {
  if (std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "this machine has a GPU, which would be used";
  sandbox::MepFixture fixture = sandbox::scale_mep(1000);
  ASSERT_TRUE(fixture.mep.write(fixture.path()).ok());
  SlotFolder folder;
  ASSERT_THAT(run({"tune", fixture.path(), "--evals", "1", "--tiers", "compiler", "--state", "state"}, folder.path()),
              HasSubstr("Tried 1 candidate"));
  std::filesystem::path made = std::filesystem::directory_iterator(folder.path() / "state" / "runs")->path();
  made = made.parent_path() / (made.filename().string().substr(0, made.filename().string().find(".klrun")) + ".klrun");
  EXPECT_THAT(run({"export", made, "--to", "json"}, folder.path()), HasSubstr("\"device\": \"cpu\""));
  EXPECT_THAT(
      run({"apply", made, "--build", "make", "--run", "app", "--embed", "only", "--state", "state"}, folder.path()),
      HasSubstr("this is the CPU device"));
}

TEST(Mep, IsNamedByItsKernelOrItsFolder) {
  sandbox::MepFixture fixture = sandbox::scale_mep(1000);
  SlotFolder folder;
  auto extracted = [&](const std::string& name) { return folder.path() / ".kernelift" / "mep" / name; };
  auto put = [&](const std::string& name) {
    std::filesystem::create_directories(extracted(name).parent_path());
    std::filesystem::copy(fixture.path(), extracted(name), std::filesystem::copy_options::recursive);
  };
  ASSERT_TRUE(fixture.mep.write(fixture.path()).ok());
  put("scale-1");
  auto replay = [&](const std::string& word) {
    return run({"replay", word, "--device", "cpu", "--warm"}, folder.path());
  };
  EXPECT_THAT(replay("scale"), HasSubstr("exit 0"));
  EXPECT_THAT(replay(".kernelift/mep/scale-1"), HasSubstr("exit 0"));
  EXPECT_THAT(replay("other"),
              HasSubstr("other: there is no such folder, and no MEP of a kernel with this name under "));
  put("scale-2");
  EXPECT_THAT(replay("scale"), AllOf(HasSubstr("scale matches several MEPs; name the folder of one of them:"),
                                     HasSubstr("scale-2"), HasSubstr("exit 2")));
  EXPECT_THAT(replay("scale-2"), HasSubstr("exit 0"));
}

/// A suite of one kernel and the given candidates: name and text.
void write_suite(const std::filesystem::path& folder, const std::map<std::string, std::string>& candidates) {
  for (auto sub : {"kernels", "parts", "candidates", "honest"}) std::filesystem::create_directories(folder / sub);
  std::ofstream(folder / "kernels" / "scale.cu")
      << "// Scales.\n//! key scale(float const*, float*, int, float)\n//! mangled _Z5scalePKfPfif\n"
         "//! buffer in float n ramp const\n//! buffer out float n -1\n//! value n int n\n//! value factor float 3\n"
         "//! launch a 8 128 1000\n"
         "__global__ void scale(const float* in, float* out, int n, float factor) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) out[i] = in[i] * factor;\n}\n";
  for (auto& [name, text] : candidates) std::ofstream(folder / "candidates" / (name + ".cu")) << text;
}

std::string trick(const std::string& must, const std::string& body) {
  return "// Does " + must + ".\n//! kind test\n//! kernel scale\n//! devices both\n//! must " + must +
         "\n__global__ void scale(const float* in, float* out, int n, float factor) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  " +
         body + "\n}\n";
}

TEST(Selftest, TellsBelievedFromHeldAndExitsWith1) {
  SlotFolder folder;
  const std::string right = "if (i < n) out[i] = factor * in[i] + 0.0f;", wrong = "if (i < n) out[i] = 7;";
  auto test = [&] {
    return run({"selftest", "--hostile", "--device", "cpu", "--quick", "--only", "test", "--files", folder.path()},
               folder.path());
  };
  write_suite(folder.path(), {{"lies", trick("wrong", wrong)}, {"is-right", trick("no-gain", right)}});
  std::string said = test();
  EXPECT_THAT(said, HasSubstr("2 candidates on cpu"));
  EXPECT_THAT(said, HasSubstr("none was believed, none got out"));
  EXPECT_THAT(said, HasSubstr("exit 0"));
  write_suite(folder.path(), {{"is-believed", trick("refused", right)}, {"is-otherwise", trick("crashed", wrong)}});
  said = test();
  EXPECT_THAT(said, HasSubstr("believed: is-believed (test): Does refused."));
  EXPECT_THAT(said, HasSubstr("must: refused"));
  EXPECT_THAT(said, HasSubstr("otherwise: is-otherwise (test)"));
  EXPECT_THAT(said, HasSubstr("exit 1"));
  EXPECT_THAT(run({"selftest"}, folder.path()), AllOf(HasSubstr("say what to test"), HasSubstr("exit 2")));
  auto within = [&](const char* time) {
    return run({"selftest", "--hostile", "--device", "cpu", "--quick", "--only", "test", "--within", time, "--files",
                folder.path()},
               folder.path());
  };
  EXPECT_THAT(within("0.001"), AllOf(HasSubstr("the time does not suffice for one candidate"), HasSubstr("exit 2")));
  EXPECT_THAT(within("10m"), AllOf(HasSubstr("4 candidates on cpu"), Not(HasSubstr("left out"))));
  EXPECT_THAT(run({"selftest", "--hostile", "--part", "3/2"}, folder.path()), HasSubstr("--part is I/N"));
}

}  // namespace
}  // namespace kernelift::cli
