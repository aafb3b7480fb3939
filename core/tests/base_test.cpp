// Files, processes, hashes and JSON of core/base.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "core/base/artefact.h"
#include "core/base/executable.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/locks/abandoned_folders.h"
#include "core/base/output.h"
#include "core/base/places.h"
#include "core/base/process.h"
#include "core/base/words.h"

namespace fs = std::filesystem;

namespace kernelift {
namespace {

TEST(Hash, PrintsAndReadsBackTheSameDigits) {
  Hash hash = hash_text("kernel");
  EXPECT_EQ(hash.hex().size(), 32u);
  EXPECT_EQ(Hash::from_hex(hash.hex()), hash);
  EXPECT_FALSE(Hash::from_hex("123"));
  EXPECT_FALSE(Hash::from_hex(std::string(31, 'a') + "g"));
}

TEST(Hash, DependsOnWhereOneFieldEndsAndTheNextBegins) {
  EXPECT_NE(Hasher().add("ab").add("c").finish(), Hasher().add("a").add("bc").finish());
}

TEST(File, WritesAtomicallyAndReadsBack) {
  auto folder = TemporaryFolder::create("kl-file");
  ASSERT_TRUE(folder.ok());
  fs::path path = folder->path() / "deep" / "er.txt";
  ASSERT_TRUE(write_atomically(path, std::string_view("one\0two", 7)).ok());
  EXPECT_EQ(*read_text(path), std::string("one\0two", 7));
  EXPECT_EQ(std::distance(fs::directory_iterator(path.parent_path()), {}), 1) << "the temporary file was left behind";
}

TEST(File, KeepsThePermissionsOfTheFileThatItReplaces) {
  auto folder = TemporaryFolder::create("kl-mode");
  ASSERT_TRUE(folder.ok());
  fs::path path = folder->path() / "tool";
  ASSERT_TRUE(write_atomically(path, std::string_view("old")).ok());
  fs::permissions(path, fs::perms(0750));
  ASSERT_TRUE(write_atomically(path, std::string_view("new")).ok());
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0750));
  EXPECT_EQ(*read_text(path), "new");
}

TEST(File, KeepsTheOldContentWhenTheNewCannotBeWritten) {
  auto folder = TemporaryFolder::create("kl-full");
  ASSERT_TRUE(folder.ok());
  fs::path path = folder->path() / "artefact";
  ASSERT_TRUE(write_atomically(path, std::string_view("old")).ok());
  // A file-size limit instead of a full disk: the write fails half-way.
  rlimit before{}, small{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  small = {4096, before.rlim_max};
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  auto failed = write_atomically(path, std::string(100000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message.find(path.string()), std::string::npos);
  EXPECT_EQ(*read_text(path), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder->path()), {}), 1) << "the temporary file was left behind";
}

TEST(File, WritesOutputThroughLinksAndIntoPipesAndDevices) {
  auto folder = TemporaryFolder::create("kl-output");
  ASSERT_TRUE(folder.ok());
  const fs::path target = folder->path() / "target", link = folder->path() / "link", fifo = folder->path() / "fifo";
  ASSERT_TRUE(write_atomically(target, std::string_view("a longer text of before")).ok());
  fs::create_symlink(target, link);
  ASSERT_TRUE(write_output(link, "new").ok());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(*read_text(target), "new");
  const fs::path nowhere = folder->path() / "nowhere", dangling = folder->path() / "dangling";
  fs::create_symlink(nowhere, dangling);
  ASSERT_TRUE(write_output(dangling, "made").ok());
  EXPECT_TRUE(fs::is_symlink(dangling));
  EXPECT_EQ(*read_text(nowhere), "made");

  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const int reader = open(fifo.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  ASSERT_TRUE(write_output(fifo, "through").ok());
  char text[16] = {};
  EXPECT_EQ(read(reader, text, sizeof text), 7);
  close(reader);
  EXPECT_STREQ(text, "through");
  EXPECT_TRUE(fs::is_fifo(fifo));

  const fs::path device = folder->path() / "device";
  fs::create_symlink("/dev/null", device);
  EXPECT_TRUE(write_output(device, "gone").ok());
  EXPECT_TRUE(fs::is_symlink(device));
  EXPECT_TRUE(write_output("/dev/null", "gone").ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  auto full = write_output("/dev/full", "no room");
  ASSERT_FALSE(full.ok());
  EXPECT_NE(full.error().message.find("/dev/full: No space left"), std::string::npos);
  EXPECT_EQ(write_output(folder->path(), "x").error().message,
            "cannot write " + folder->path().string() + ": Is a directory");
}

TEST(File, IsNeverReplacedWhereItIsADevice) {
  auto folder = TemporaryFolder::create("kl-device");
  ASSERT_TRUE(folder.ok());
  const fs::path fifo = folder->path() / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_FALSE(write_atomically(fifo, std::string_view("x")).ok());
  EXPECT_TRUE(fs::is_fifo(fifo));
}

TEST(Artefact, CarriesAChecksumThatFormatsBeforeItLack) {
  auto folder = TemporaryFolder::create("kl-sum");
  ASSERT_TRUE(folder.ok());
  const fs::path file = folder->path() / "a.json";
  Json document = artefact("test", 2, 1);
  document["BLOCK"] = 256, document["name"] = "na\xc3\xafve \xff", document["share"] = 0.1;
  auto read = [&](const Json& written) {
    EXPECT_TRUE(write_json(file, written).ok());
    return read_artefact(file, "test", 2, 2, "make it again");
  };
  const Json sealed = with_checksum(document);
  ASSERT_TRUE(read(sealed).ok());
  EXPECT_EQ((*read(sealed))["BLOCK"], 256);
  EXPECT_EQ(std::next(sealed.begin(), 3).key(), "checksum") << "in its head";
  Json changed = sealed;
  changed["BLOCK"] = -1;
  EXPECT_EQ(read(changed).error().message, file.string() + " is damaged: its checksum does not match; make it again");
  Json without = sealed;
  without.erase("checksum");
  EXPECT_EQ(read(without).error().message, file.string() + " is damaged: its checksum is missing; make it again");
  without["version"] = 1;
  EXPECT_TRUE(read(without).ok()) << "a file of before";
  Json newer = sealed;
  newer["version"] = newer["oldest_reader"] = 3;
  EXPECT_NE(read(newer).error().message.find("was written by a newer Kernelift"), std::string::npos);
  ASSERT_TRUE(write_atomically(file, std::string_view("{\"format\": \"test")).ok());
  EXPECT_NE(read_artefact(file, "test", 2, 2, "make it again").error().message.find(file.string() + " is damaged: "),
            std::string::npos);
}

TEST(Json, ReadsWholeNumbersOnlyWhereTheyFit) {
  auto read = [](const char* text) { return reading("x", [&] { return Json::parse(text).get<uint32_t>(); }); };
  EXPECT_EQ(*read("4294967295"), 4294967295u);
  for (const char* wrong : {"-1", "4294967296", "1.5", "1e10", "\"1\"", "null", "true"})
    EXPECT_FALSE(read(wrong).ok()) << wrong;
  EXPECT_EQ(*reading("x", [] { return Json::parse("-1").get<int>(); }), -1);
}

TEST(Json, OfOthersIsNeitherDeepNorWideEnoughToDoHarm) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_NE(parse_foreign_json(deep, "reply").error().message.find("nested more than"), std::string::npos);
  std::string wide = "{\"a\":0";
  for (int i = 0; i < 100'000; ++i) wide += ",\"k" + std::to_string(i) + "\":0";
  EXPECT_NE(parse_foreign_json(wide + "}", "reply").error().message.find("members"), std::string::npos);
  EXPECT_NE(parse_foreign_json("{", "reply").error().message.find("reply"), std::string::npos);
  EXPECT_EQ(parse_foreign_json("{\"a\": [1, 2]}", "reply")->at("a").size(), 2u);
}

TEST(File, OfOthersIsARegularOneOfAKnownSize) {
  auto folder = TemporaryFolder::create("regular");
  const auto file = folder->path() / "text", pipe = folder->path() / "pipe";
  ASSERT_TRUE(write_atomically(file, std::string_view("12345")).ok());
  EXPECT_EQ(*read_regular_text(file, 5), "12345");
  EXPECT_FALSE(read_regular_text(file, 4).ok());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(read_regular_text(pipe, 100).ok()) << "at once";
  EXPECT_FALSE(read_regular_text(folder->path(), 100).ok());
}

TEST(File, NamesAFileThatDoesNotExist) {
  auto missing = read_text("/no/such/file");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, "cannot read /no/such/file: No such file or directory");
}

TEST(File, FindsTheStateFolderUpwards) {
  auto folder = TemporaryFolder::create("kl-state");
  ASSERT_TRUE(folder.ok());
  fs::create_directories(folder->path() / "a" / "b");
  EXPECT_EQ(find_state_folder(folder->path() / "a"), folder->path() / "a" / ".kernelift");
  ASSERT_TRUE(create_state_folder(folder->path() / ".kernelift").ok());
  EXPECT_EQ(find_state_folder(folder->path() / "a" / "b"), folder->path() / ".kernelift");
  EXPECT_EQ(*read_text(folder->path() / ".kernelift" / ".gitignore"), "*\n");
}

TEST(Process, ReturnsOutputAndExitCode) {
  auto outcome = run_process({"sh", "-c", "echo out; echo err >&2; exit 3"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->out, "out\n");
  EXPECT_EQ(outcome->err, "err\n");
  EXPECT_EQ(outcome->exit_code, 3);
}

TEST(Process, FindsTheProgramOnTheChildsOwnPath) {
  auto folder = TemporaryFolder::create("kl-path");
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(write_atomically(folder->path() / "kl-only-here", std::string_view("#!/bin/sh\necho found\n")).ok());
  fs::permissions(folder->path() / "kl-only-here", fs::perms::owner_all);
  ProcessOptions options;
  options.environment = {{"PATH", folder->path().string() + ":/usr/bin:/bin"}};
  auto outcome = run_process({"kl-only-here"}, options);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_EQ(outcome->out, "found\n");
}

TEST(Process, NamesAProgramThatDoesNotExist) {
  auto outcome = run_process({"kernelift-no-such-program"});
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.error().message.find("kernelift-no-such-program"), std::string::npos);
}

TEST(Process, EndsAWholeProcessGroupAtItsDeadline) {
  ProcessOptions options;
  options.timeout = std::chrono::milliseconds(200);
  auto outcome = run_process({"sh", "-c", "sleep 30 & sleep 30"}, options);
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome->timed_out);
  EXPECT_FALSE(outcome->unkillable);
  EXPECT_LT(outcome->seconds, 25);
}

TEST(Process, DropsOutputPastTheLimitButLetsTheChildFinish) {
  ProcessOptions options;
  options.output_limit = 1000;
  auto outcome = run_process({"sh", "-c", "head -c 3000000 /dev/zero; echo done >&2"}, options);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->out.size(), 1000u);
  EXPECT_EQ(outcome->err, "done\n");
}

TEST(Process, StartsProgramsThatSigpipeEnds) {
  auto before = std::signal(SIGPIPE, SIG_IGN);
  auto outcome = run_process({"sh", "-c", "yes | head -n 1; grep SigIgn /proc/self/status"});
  std::signal(SIGPIPE, before);
  ASSERT_TRUE(outcome.ok());
  ASSERT_NE(outcome->out.find("SigIgn:"), std::string::npos) << outcome->out;
  uint64_t ignored = std::strtoull(outcome->out.c_str() + outcome->out.find("SigIgn:") + 7, nullptr, 16);
  EXPECT_EQ(ignored & (uint64_t(1) << (SIGPIPE - 1)), 0u);
}

TEST(Process, ReturnsWhenItsChildEndsThoughAGrandchildKeepsWriting) {
  ProcessOptions options;
  options.timeout = std::chrono::seconds(60);
  auto outcome = run_process({"sh", "-c", "yes & exit 5"}, options);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->exit_code, 5);
  EXPECT_FALSE(outcome->timed_out);
  EXPECT_LT(outcome->seconds, 30);
}

TEST(Process, ReportsTheSignalThatEndedTheChild) {
  auto outcome = run_process({"sh", "-c", "kill -SEGV $$"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->signal, SIGSEGV);
  EXPECT_NE(outcome->describe().find("signal 11"), std::string::npos);
}

TEST(Process, NamesTheSignalThatEndedAShellsCommand) {
  auto outcome = run_process({"sh", "-c", "sh -c 'kill -SEGV $$'; exit $?"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->exit_code, 128 + SIGSEGV);
  EXPECT_NE(outcome->describe().find("signal 11"), std::string::npos) << outcome->describe();
}

TEST(Process, SplitsCommandsAsAShellDoes) {
  auto words = split_command(R"(nvcc -DNAME=\"x\ y\" '-DA="b c"' "q\"r\n" plain)");
  ASSERT_TRUE(words.ok());
  EXPECT_EQ(*words, (std::vector<std::string>{"nvcc", "-DNAME=\"x y\"", "-DA=\"b c\"", "q\"r\\n", "plain"}));
  EXPECT_FALSE(split_command("a 'b").ok());
}

TEST(Process, JoinsWordsThatSplitBackToThemselves) {
  std::vector<std::string> words{"a", "", "b c", "d'e", "$HOME", "x\"y", "-DQ='\\'"};
  EXPECT_EQ(*split_command(join_command(words)), words);
}

TEST(Json, NamesTheFileOfASyntaxError) {
  auto broken = parse_json("{\"a\": }", "mep.json");
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(broken.error().message.find("mep.json"), std::string::npos);
}

TEST(Json, RefusesAnArtefactOfANewerVersion) {
  Json now = artefact("kernelift-mep", 1, 1), future = artefact("kernelift-mep", 9, 8);
  EXPECT_TRUE(check_artefact(now, "kernelift-mep", 1, "x").ok());
  EXPECT_NE(check_artefact(future, "kernelift-mep", 1, "x").error().message.find("newer Kernelift"), std::string::npos);
  EXPECT_FALSE(check_artefact(now, "kernelift-scan", 1, "x").ok());
  EXPECT_FALSE(check_artefact(Json{{"format", 3}}, "kernelift-mep", 1, "x").ok());
  EXPECT_TRUE(is_newer(future, 1));
  EXPECT_FALSE(is_newer(future, 8));
  EXPECT_FALSE(is_newer(Json::array({9}), 1)) << "not an artefact";
}

TEST(Result, AbortsWhenTheErrorOfASuccessIsRead) {
  EXPECT_DEATH((void)Result<int>(1).error(), "internal error");
  EXPECT_DEATH((void)Status().error(), "internal error");
}

TEST(TemporaryFolder, IsCreatedInTheGivenFolderAndRemovedAgain) {
  auto outer = std::move(*TemporaryFolder::create("kernelift-base-test"));
  std::filesystem::path inside;
  {
    auto inner = TemporaryFolder::create(".made", outer.path() / "new" / "base");
    ASSERT_TRUE(inner.ok()) << inner.error().message;
    inside = inner->path();
    EXPECT_EQ(inside.parent_path(), outer.path() / "new" / "base");
    EXPECT_TRUE(std::filesystem::is_directory(inside));
  }
  EXPECT_FALSE(std::filesystem::exists(inside));
  ASSERT_TRUE(write_atomically(outer.path() / "file", std::string_view("x")).ok());
  EXPECT_FALSE(TemporaryFolder::create("a", outer.path() / "file").ok());
}

/// Made by a process that is killed at once.
fs::path folder_of_a_killed_process(const char* prefix) {
  int link[2];
  EXPECT_EQ(pipe(link), 0);
  pid_t child = fork();
  if (child == 0) {
    auto folder = TemporaryFolder::create(prefix);
    std::string path = folder.ok() ? folder->path().string() : "";
    (void)!write(link[1], path.data(), path.size());
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  char path[400] = "";
  EXPECT_GT(read(link[0], path, sizeof path - 1), 0);
  close(link[0]), close(link[1]);
  return path;
}

TEST(TemporaryFolder, OfAKilledProcessIsSweptAndNoOther) {
  auto outer = std::move(*TemporaryFolder::create("kernelift-base-test"));
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before ? before : "";
  setenv("TMPDIR", outer.path().c_str(), 1);
  auto alive = std::move(*TemporaryFolder::create("kernelift-compile"));
  const fs::path left = folder_of_a_killed_process("kernelift-compile"), other = folder_of_a_killed_process("my-work"),
                 unmarked = outer.path() / "kernelift-old.aBcDeF", link = outer.path() / "kernelift-link.aBcDeF";
  fs::create_directory(unmarked), fs::create_directory_symlink(other, link);
  (void)write_atomically(left / "inside" / "file", "x");
  for (auto& folder : {left, other, unmarked, alive.path()})
    fs::last_write_time(folder, fs::file_time_type::clock::now() - std::chrono::hours(1));
  sweep_abandoned_folders(outer.path());
  EXPECT_FALSE(fs::exists(left));
  for (auto& folder : {alive.path(), other, unmarked, link}) EXPECT_TRUE(fs::exists(folder)) << folder;
  before ? setenv("TMPDIR", kept.c_str(), 1) : unsetenv("TMPDIR");
}

TEST(Executable, KnowsThatItWasReplacedWhileItRan) {
  auto folder = TemporaryFolder::create("kl-executable");
  fs::path program = folder->path() / "program", other = folder->path() / "other";
  fs::copy_file("/bin/sleep", program), fs::copy_file("/bin/sleep", other);
  pid_t child = fork();
  if (child == 0) execl(program.c_str(), program.c_str(), "60", nullptr), _exit(1);
  std::string link = "/proc/" + std::to_string(child) + "/exe";
  while (fs::read_symlink(link) != program) usleep(1000);
  EXPECT_EQ(*executable_of(link), program);
  fs::rename(other, program);
  auto gone = executable_of(link);
  EXPECT_TRUE(!gone.ok() &&
              gone.error().message.starts_with(program.string() + " was replaced or removed while it ran"));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(executable()->filename(), "kernelift_core_test");
}

TEST(Places, OfOneArrayDifferOnlyIfTheirIndicesAlwaysDiffer) {
  for (auto [one, other] :
       {std::pair("u[now]", "u[next]"), std::pair("u[to]", "u[to]"), std::pair("a[i][j]", "a[k][l]"),
        std::pair("u[n+0]", "u[n]"), std::pair("p.u[f(a)]", "p.u[f(b)]"), std::pair("u[2*k]", "u[k+1]")})
    EXPECT_TRUE(may_be_one_place(one, other) && may_be_one_place(other, one)) << one << " " << other;
  for (auto [one, other] : {std::pair("u", "v"), std::pair("u[0]", "u[1]"), std::pair("u[now]", "u[1-now]"),
                            std::pair("u[k]", "u[k^1]"), std::pair("u[k%2]", "u[(k+1)%2]"), std::pair("u[k]", "u[!k]"),
                            std::pair("w[l]", "w[l+1]"), std::pair("a[i].x", "a[j].y"), std::pair("u[i]", "v[i]"),
                            std::pair("u[i][0]", "u[j][1]"), std::pair("u", "u[0]"), std::pair("", "u[")})
    EXPECT_FALSE(may_be_one_place(one, other) || may_be_one_place(other, one)) << one << " " << other;
}

TEST(Words, AQuotationMarkInANumberBeginsNoCharacterAndOneBehindAPrefixDoes) {
  const auto end = [](std::string_view text, size_t at) { return past_quoted(text, at); };
  EXPECT_EQ(end("1'000'000;", 1), 1U);
  EXPECT_EQ(end("1'000'000;", 5), 5U);
  EXPECT_EQ(end("0xF'F;", 3), 3U);
  EXPECT_EQ(end("L'\"' + x", 1), 4U);
  EXPECT_EQ(end("u8'a'", 2), 5U);
}

}  // namespace
}  // namespace kernelift
