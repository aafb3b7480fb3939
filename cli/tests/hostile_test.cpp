// The hostile suite's own parts: that its files are sound, and that its canaries see what is done to them.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "cli/hostile/bench_kernel.h"
#include "cli/hostile/canaries.h"
#include "cli/hostile/stored_texts.h"
#include "cli/hostile/suite.h"
#include "core/tests/slot_folder.h"
#include "sandbox/compile/compile_pool.h"

namespace kernelift::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SuiteFile file_of(const SlotFolder& folder, const std::string& text) {
  const auto path = folder.path() / "trick.cu";
  std::ofstream(path) << text;
  auto file = SuiteFile::read(path);
  EXPECT_TRUE(file.ok()) << file.error().message;
  return *file;
}

TEST(SuiteFiles, AreACommentDataAndAText) {
  SlotFolder folder;
  SuiteFile file =
      file_of(folder, "// What it\n// does.\n//! kind cache\n//! launch a; 1\n//! launch b; 2\n// text\nint x;\n");
  EXPECT_EQ(file.summary, "What it does.");
  EXPECT_EQ(file.value("kind"), "cache");
  EXPECT_THAT(file.values("launch"), ElementsAre("a; 1", "b; 2"));
  EXPECT_EQ(file.text, "// text\nint x;\n") << "only the comment in front of the data is not the candidate's";
  EXPECT_FALSE(file.knows_only({"kind"}).ok());
  EXPECT_TRUE(file.knows_only({"kind", "launch"}).ok());
}

TEST(SuiteFiles, NamePlacesThatAreFilledInOnce) {
  EXPECT_EQ(fill_in("a@FILE@b@NONE@c@FILE@", {{"FILE", "@PID@"}, {"PID", "7"}}), "a@PID@b@NONE@c@PID@");
}

TEST(Tricks, StateWhatTheyMustGet) {
  SlotFolder folder;
  const std::string head = "// Does it.\n//! kind k\n//! kernel map\n//! devices both\n";
  auto trick = Trick::of(file_of(folder, head + "//! must wrong no-gain\n//! note a\\u001bb\n"), false);
  ASSERT_TRUE(trick.ok()) << trick.error().message;
  EXPECT_EQ(trick->must, std::set{Outcome::Wrong});
  EXPECT_TRUE(trick->may_be_ok);
  EXPECT_EQ(trick->candidate.note(),
            "a\\x1b"
            "b")
      << "as it is shown";
  for (const char* line : {"//! must ok\n", "//! must\n", "//! must sometimes\n", "//! must wrong\n//! colour red\n"})
    EXPECT_FALSE(Trick::of(file_of(folder, head + line), false).ok()) << line;
}

Verdict verdict_of(Outcome outcome, double low = 1) {
  Verdict verdict;
  verdict.outcome = outcome;
  if (outcome == Outcome::Ok) verdict.timings = {{"a", 1, 1, 1, low + 0.1, low, low + 0.2, 20, false}};
  return verdict;
}

TEST(Standings, TellHeldFromBelievedOutsideAndFalseAlarms) {
  Trick trick;
  trick.must = {Outcome::Wrong};
  EXPECT_EQ(standing_of(trick, verdict_of(Outcome::Wrong), false), Standing::Held);
  EXPECT_EQ(standing_of(trick, verdict_of(Outcome::Wrong), true), Standing::Outside);
  EXPECT_EQ(standing_of(trick, verdict_of(Outcome::Crashed), false), Standing::Otherwise);
  EXPECT_EQ(standing_of(trick, NotJudged{"gone"}, false), Standing::Otherwise);
  EXPECT_EQ(standing_of(trick, verdict_of(Outcome::Ok), false), Standing::Believed) << "it may not be called right";
  trick.may_be_ok = true;
  EXPECT_EQ(standing_of(trick, verdict_of(Outcome::Ok), false), Standing::Held);
  EXPECT_EQ(standing_of(trick, verdict_of(Outcome::Ok, 1.2), false), Standing::Believed);
  trick.honest = true;
  EXPECT_EQ(standing_of(trick, verdict_of(Outcome::Ok, 1.2), false), Standing::Held);
  for (Outcome outcome : {Outcome::Refused, Outcome::Wrong, Outcome::CompileFailed, Outcome::Cheated})
    EXPECT_EQ(standing_of(trick, verdict_of(outcome), false), Standing::Refused) << name(outcome);
}

class CanariesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto planted = Canaries::plant(folder_.path() / "canaries");
    ASSERT_TRUE(planted.ok()) << planted.error().message;
    canaries_ = std::move(*planted);
    ASSERT_THAT(canaries_->disturbed(), IsEmpty());
  }
  std::string place(const char* name) const { return canaries_->places().at(name); }
  pid_t process() const { return std::stoi(place("PID")); }
  SlotFolder folder_;
  std::unique_ptr<Canaries> canaries_;
};

TEST_F(CanariesTest, SeeFilesThatCome) {
  std::ofstream(place("FILE")) << "x";
  EXPECT_THAT(canaries_->disturbed(), ElementsAre("wrote the file files/planted"));
  EXPECT_THAT(canaries_->disturbed(), IsEmpty()) << "each is told once";
  std::ofstream(canaries_->home() / ".profile") << "x";
  EXPECT_THAT(canaries_->disturbed(), ElementsAre("wrote the file home/.profile"));
}

TEST_F(CanariesTest, SeeFilesThatChangeOrGo) {
  std::filesystem::permissions(place("KEPT"), std::filesystem::perms::all);
  EXPECT_THAT(canaries_->disturbed(), ElementsAre("changed files/kept"));
  std::filesystem::remove(place("KEPT"));
  EXPECT_THAT(canaries_->disturbed(), ElementsAre("removed files/kept"));
}

TEST_F(CanariesTest, SeeConnections) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET, address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(std::stoi(place("PORT"))));
  ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_THAT(canaries_->disturbed(), ElementsAre("connected to a listener on the loopback interface"));
  close(fd);
}

TEST_F(CanariesTest, SeeSignalsAndDeath) {
  auto after_a_moment = [&] {
    for (int tries = 0; tries < 200; ++tries) {
      if (auto what = canaries_->disturbed(); !what.empty()) return what;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return std::vector<std::string>();
  };
  kill(process(), SIGUSR1);
  EXPECT_THAT(after_a_moment(), ElementsAre("sent signal 10 to a process"));
  const pid_t before = process();
  kill(before, SIGKILL);
  EXPECT_THAT(after_a_moment(), ElementsAre("killed a process of the user by signal 9"));
  EXPECT_NE(process(), before) << "another one is there for the next candidate";
  kill(process(), SIGSTOP);
  EXPECT_THAT(after_a_moment(), ElementsAre("stopped a process of the user"));
}

TEST_F(CanariesTest, SeeCoresAndPrioritiesThatChange) {
  cpu_set_t all, one;
  sched_getaffinity(process(), sizeof all, &all);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "there is one core";
  CPU_ZERO(&one);
  for (int core = 0; CPU_COUNT(&one) == 0; ++core)
    if (CPU_ISSET(core, &all)) CPU_SET(core, &one);
  sched_setaffinity(process(), sizeof one, &one);
  EXPECT_THAT(canaries_->disturbed(), ElementsAre(HasSubstr("cores")));
  EXPECT_THAT(canaries_->disturbed(), IsEmpty()) << "it is put right";
  setpriority(PRIO_PROCESS, static_cast<id_t>(process()), 19);
  EXPECT_THAT(canaries_->disturbed(), ElementsAre(HasSubstr("priority")));
}

TEST_F(CanariesTest, FindTheKeyAndPartsOfIt) {
  const std::string& key = canaries_->key();
  EXPECT_TRUE(canaries_->holds_key("x" + key + "y"));
  EXPECT_TRUE(canaries_->holds_key(key.substr(key.size() - 14)));
  EXPECT_FALSE(canaries_->holds_key("sk-canary-"));
}

TEST_F(CanariesTest, AreLookedForInWhatIsStoredOfCandidates) {
  auto stored = [&](const char* name, const std::string& note, const std::string& detail) {
    Candidate candidate;
    candidate.source = "__global__ void k() {}", candidate.steps = {Step::described(note)};
    Verdict verdict;
    verdict.outcome = Outcome::Crashed, verdict.detail = detail;
    auto found = look_at_stored_texts(folder_.path() / name, {{candidate, verdict}}, *canaries_);
    EXPECT_TRUE(found.ok()) << found.error().message;
    return *found;
  };
  EXPECT_THAT(stored("plain", "faster", "segmentation fault"), IsEmpty());
  EXPECT_THAT(stored("key", "faster", "says " + canaries_->key()),
              Contains(HasSubstr("the user's key is in the export as json")));
}

/// The folder beside the built program, as it is shipped.
const std::vector<Trick>& shipped() {
  static const auto tricks = read_tricks(hostile_folder());
  EXPECT_TRUE(tricks.ok()) << tricks.error().message;
  return *tricks;
}

TEST(ShippedSuite, HasItsCandidatesForBothDevices) {
  std::set<std::string> kinds, names;
  size_t hostile = 0, on_cpu = 0, on_cuda = 0;
  for (auto& trick : shipped()) {
    EXPECT_TRUE(names.insert(trick.name).second || trick.honest) << trick.name << " is there twice";
    if (trick.honest) continue;
    ++hostile, on_cpu += trick.on_cpu, on_cuda += trick.on_cuda;
    kinds.insert(trick.kind);
  }
  EXPECT_GE(hostile, 120u);
  EXPECT_GE(on_cpu, 120u);
  EXPECT_GE(on_cuda, 120u);
  EXPECT_GE(kinds.size(), 40u);
}

TEST(ShippedSuite, AttacksKernelsThatAreThere) {
  auto files = read_suite_files(hostile_folder() / "kernels");
  ASSERT_TRUE(files.ok()) << files.error().message;
  std::set<std::string> kernels;
  for (auto& file : *files) {
    auto kernel = BenchKernel::of(file);
    EXPECT_TRUE(kernel.ok()) << kernel.error().message;
    kernels.insert(file.name);
  }
  for (auto& trick : shipped()) EXPECT_TRUE(kernels.contains(trick.kernel)) << trick.name << ": " << trick.kernel;
}

/// What needs a GPU to be judged can be compiled without one: a trick that may not be refused must not be so for a
/// slip of its author's.
TEST(ShippedSuite, CompilesForGpusWhatMayNotBeRefused) {
  sandbox::CompilePoolOptions options;
  options.target = sandbox::CompileTarget::Ptx, options.workers = 2;
  auto pool = sandbox::CompilePool::start(options);
  ASSERT_TRUE(pool.ok()) << pool.error().message;
  auto files = read_suite_files(hostile_folder() / "kernels");
  ASSERT_TRUE(files.ok()) << files.error().message;
  for (auto& kernel : *files) {
    CompileReply own = (*pool)->compile_own(kernel.text);
    ASSERT_TRUE(own.ok()) << kernel.name << ": " << own.detail;
    for (auto& trick : shipped()) {
      if (trick.kernel != kernel.name || !trick.on_cuda) continue;
      if (trick.must.contains(Outcome::Refused) || trick.must.contains(Outcome::CompileFailed)) continue;
      Candidate candidate = filled_in(trick.candidate, {{"KERNEL", kernel.text}, {"MARK", "mark"}});
      CompileReply reply = (*pool)->compile(candidate.source, candidate.recipe);
      EXPECT_TRUE(reply.ok()) << trick.name << ": " << reply.detail;
    }
  }
}

}  // namespace
}  // namespace kernelift::cli
