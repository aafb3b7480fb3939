// Tests of the models that are no servers: a program, a folder for exchange, recorded answers.
#include <fstream>

#include "tuner/source/tests/llm_fixture.h"

namespace kernelift::tuner {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

class Providers : public LlmTest {
 protected:
  /// A shell script that answers.
  std::string script(const std::string& text) {
    const fs::path file = folder_.path() / "answer.sh";
    EXPECT_TRUE(write_atomically(file, "#!/bin/sh\n" + text).ok());
    fs::permissions(file, fs::perms::owner_all);
    return "command:" + file.string();
  }
  static ModelRequest request(const std::string& text) { return {"optimise", "system text", {{false, text}}}; }
  std::unique_ptr<LanguageModel> open(const std::string& model) {
    auto made = open_model(*ModelSpec::parse(model), {});
    EXPECT_TRUE(made.ok()) << made.error().message;
    return *std::move(made);
  }
  std::atomic<bool> stop_ = false;
};

TEST(ModelSpec, AProgramIsNamedWithoutItsFolderAndArguments) {
  EXPECT_EQ(ModelSpec::parse("command:/home/me/answer.sh --key abc")->model, "answer.sh");
  EXPECT_EQ(ModelSpec::parse("command:/usr/bin/env " + std::string(__FILE__))->model, "env providers_test.cpp");
  EXPECT_EQ(ModelSpec::parse("exchange:/tmp/prompts")->model, "prompts");
  EXPECT_EQ(ModelSpec::parse("command:/home/me/answer.sh --key abc")->target, "/home/me/answer.sh --key abc");
}

TEST_F(Providers, AProgramGetsThePromptAndItsOutputIsTheAnswer) {
  const std::string seen = (folder_.path() / "seen").string();
  auto model = proposer(script("cat > '" + seen + "'\ncat <<'X'\n\xef\xbb\xbf" + std::string(kGoodEdit) + "X\n"));
  auto proposals = next(*model);
  ASSERT_EQ(proposals.size(), 1u);
  EXPECT_THAT(proposals[0].candidate.source, HasSubstr("#define U 2"));
  EXPECT_THAT(*read_text(seen), AllOf(HasSubstr("You optimise one GPU kernel"), HasSubstr("#define B 64")));
}

TEST_F(Providers, AProgramThatFailsIsQuotedAndTheRunGoesOn) {
  auto model = proposer(script("echo 'no credits left' >&2\nexit 3\n"));
  EXPECT_TRUE(next(*model).empty());
  EXPECT_THAT(notes_, Contains(AllOf(HasSubstr("exited with 3"), HasSubstr("no credits left"))));
}

TEST_F(Providers, AProgramThatHangsIsEndedWithTheRun) {
  const fs::path alive = folder_.path() / "alive";
  auto model = proposer(script("echo $$ > '" + alive.string() + "'\nsleep 600 & wait\n"));
  EXPECT_TRUE(model->propose(history_, 1).empty());
  while (!fs::exists(alive) || fs::file_size(alive) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  model.reset();
  EXPECT_NE(::kill(std::stoi(*read_text(alive)), 0), 0) << "the program has ended";
}

TEST_F(Providers, WhatAProgramLeavesRunningEndsWithItsAnswer) {
  const fs::path left = folder_.path() / "left";
  auto model =
      open(script("setsid sleep 600 >/dev/null 2>&1 </dev/null & echo $! > '" + left.string() + "'\necho text\n"));
  EXPECT_EQ(model->ask(request("one"), {1, 60}, stop_).answer->text, "text\n");
  // It may take a while to be gone, and its new parent to ask how it ended.
  const std::string stat = "/proc/" + std::to_string(std::stoi(*read_text(left))) + "/stat";
  auto runs = [&] {
    auto state = read_text(stat);
    return state.ok() && state->find(") Z") == state->npos;
  };
  for (int polls = 0; polls < 1000 && runs(); ++polls) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(runs());
}

TEST_F(Providers, AMissingProgramIsNamed) {
  auto made = open_model(*ModelSpec::parse("command:no-such-program -x"), {});
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, HasSubstr("no program 'no-such-program'"));
}

TEST_F(Providers, AFolderIsAnsweredInAnyOrder) {
  const fs::path folder = folder_.path() / "exchange";
  auto model = open("exchange:" + folder.string());
  ASSERT_GE(model->parallelism(), 2u);
  auto ask = [&](const char* text) {
    return std::async(std::launch::async, [&, text] { return model->ask(request(text), {1, 60}, stop_); });
  };
  auto first = ask("one"), second = ask("two");
  while (!fs::exists(folder / "0002.prompt.md")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  auto answer = [&](const char* number) {
    const std::string prompt = *read_text(folder / (std::string(number) + ".prompt.md"));
    const char* text = prompt.find("one") != prompt.npos ? "answer to one" : "answer to two";
    EXPECT_TRUE(write_atomically(folder / (std::string(number) + ".answer.md"), std::string_view(text)).ok());
  };
  answer("0002");
  while (first.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready &&
         second.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready) {}
  answer("0001");
  EXPECT_EQ(first.get().answer->text, "answer to one");
  EXPECT_EQ(second.get().answer->text, "answer to two");
  EXPECT_EQ(model->ask(request("one"), {1, 60}, stop_).answer->text, "answer to one") << "asked before";
  EXPECT_FALSE(fs::exists(folder / "0003.prompt.md"));
}

TEST_F(Providers, AnAnswerThatIsStillBeingWrittenIsAwaited) {
  const fs::path folder = folder_.path() / "exchange";
  auto model = open("exchange:" + folder.string());
  auto asked = std::async(std::launch::async, [&] { return model->ask(request("one"), {1, 60}, stop_); });
  while (!fs::exists(folder / "0001.prompt.md")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::string whole;
  for (int i = 0; i < 8; ++i) {
    std::ofstream(folder / "0001.answer.md", std::ios::app) << "line " << i << "\n";
    whole += "line " + std::to_string(i) + "\n";
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(asked.get().answer->text, whole);
}

TEST_F(Providers, AnAnswerThatCameAfterTheRunIsUsedByALaterOneForTheSameText) {
  const fs::path folder = folder_.path() / "exchange";
  auto about = [](const char* subject, const char* text) {
    ModelRequest made = request(text);
    made.subject = subject;
    return made;
  };
  EXPECT_FALSE(open("exchange:" + folder.string())->ask(about("a", "first prompt"), {1, 0.1}, stop_).answer.ok());
  ASSERT_TRUE(write_atomically(folder / "0001.answer.md", std::string_view("late")).ok());
  auto model = open("exchange:" + folder.string());
  EXPECT_FALSE(model->ask(about("b", "of another text"), {1, 0.1}, stop_).answer.ok());
  EXPECT_EQ(model->ask(about("a", "another prompt"), {1, 60}, stop_).answer->text, "late");
  EXPECT_FALSE(model->ask(about("a", "a third prompt"), {1, 0.1}, stop_).answer.ok()) << "it is given once";
}

TEST_F(Providers, AnAnswerWithoutItsPromptAnswersNothing) {
  const fs::path folder = folder_.path() / "exchange";
  fs::create_directories(folder);
  ASSERT_TRUE(write_atomically(folder / "0001.answer.md", std::string_view("to what?")).ok());
  EXPECT_FALSE(open("exchange:" + folder.string())->ask(request("one"), {1, 1}, stop_).answer.ok());
  EXPECT_TRUE(fs::exists(folder / "0002.prompt.md"));
}

TEST_F(Providers, AFolderThatIsNotAnsweredEndsWithItsTime) {
  auto model = open("exchange:" + (folder_.path() / "exchange").string());
  EXPECT_THAT(model->ask(request("one"), {1, 0.1}, stop_).answer.error().message, HasSubstr("did not appear in time"));
}

TEST_F(Providers, ATranscriptGivesTheSamePromptsTheSameAnswers) {
  ModelServer server({{200, kGoodEdit, {}, 0, 0}, {200, "no edit", {}, 0, 0}});
  auto recorded = proposer(server);
  auto first = next(*recorded);
  EXPECT_EQ(first.size(), 1u);
  const std::string transcripts = "transcript:" + (folder_.path() / "transcripts").string();
  auto replay = proposer(transcripts);
  auto again = next(*replay);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].candidate.source, first.at(0).candidate.source);
  EXPECT_THAT(notes_, testing::Not(Contains(HasSubstr("differs from the recorded ones"))));
  EXPECT_EQ(server.requests.size(), 1u);
}

TEST_F(Providers, ATranscriptGivesOtherPromptsItsAnswersInOrderAndSaysSo) {
  const fs::path file = folder_.path() / "answers.json";
  Json one{{"kind", "optimise"}, {"system", "s"}, {"messages", Json::array()}, {"answer", "first"}}, two = one;
  two["answer"] = "second", two["system"] = "t";
  ASSERT_TRUE(write_atomically(file, one.dump() + "\n" + two.dump(2) + "\n").ok());
  auto model = open("transcript:" + file.string());
  for (auto* text : {"first", "second"}) {
    auto reply = model->ask(request("something else"), {1, 60}, stop_);
    EXPECT_EQ(reply.answer->text, text);
    EXPECT_THAT(reply.answer->remark, HasSubstr("differs from the recorded ones"));
  }
  auto reply = model->ask(request("something else"), {1, 60}, stop_);
  EXPECT_THAT(reply.answer.error().message, HasSubstr("no further answer"));
  EXPECT_TRUE(reply.final);
}

TEST_F(Providers, AResumedRunGoesOnInItsTranscript) {
  const fs::path folder = folder_.path() / "answers";
  fs::create_directories(folder);
  for (auto* name : {"1.answer.md", "2.answer.md"})
    ASSERT_TRUE(write_atomically(folder / name, std::string_view(name)).ok());
  std::string given;
  {
    auto model = open("transcript:" + folder.string());
    EXPECT_EQ(model->given(), "");
    EXPECT_EQ(model->ask(request("anything"), {1, 60}, stop_).answer->text, "1.answer.md");
    given = model->given();
  }
  auto resumed = open("transcript:" + folder.string());
  resumed->go_on_from(given);
  EXPECT_EQ(resumed->ask(request("anything"), {1, 60}, stop_).answer->text, "2.answer.md");
  EXPECT_TRUE(resumed->ask(request("anything"), {1, 60}, stop_).final);
}

TEST_F(Providers, AFolderOfAnswersAloneGivesThemInTheOrderOfTheirNames) {
  const fs::path folder = folder_.path() / "answers";
  fs::create_directories(folder);
  for (auto* name : {"2-second.answer.md", "1-first.answer.md"})
    ASSERT_TRUE(write_atomically(folder / name, std::string_view(name)).ok());
  ASSERT_TRUE(write_atomically(folder / "README.md", std::string_view("no answer")).ok());
  auto model = open("transcript:" + folder.string());
  for (auto* name : {"1-first.answer.md", "2-second.answer.md"}) {
    auto reply = model->ask(request("anything"), {1, 60}, stop_);
    ASSERT_TRUE(reply.answer.ok());
    EXPECT_EQ(reply.answer->text, name);
    EXPECT_EQ(reply.answer->remark, "");
  }
  EXPECT_TRUE(model->ask(request("anything"), {1, 60}, stop_).final);
}

TEST_F(Providers, AnswersAloneAreChangesOfTheOriginal) {
  const fs::path file = folder_.path() / "one.answer.md";
  ASSERT_TRUE(write_atomically(file, std::string_view(kGoodEdit)).ok());
  Candidate faster = history_.baseline()->candidate;
  faster.source = "#define B 64\n__global__ void k() {}\n";
  history_.add({2, faster, fake_ok(2), {}, {}, 0});
  auto proposals = next(*proposer("transcript:" + file.string()));
  ASSERT_EQ(proposals.size(), 1u);
  EXPECT_EQ(proposals[0].parents, std::vector<int64_t>{history_.baseline()->id});
}

TEST_F(Providers, ADamagedTranscriptIsNamed) {
  const fs::path file = folder_.path() / "answers.json";
  for (auto* text : {"{\"system\": ", "[1]", "{}", ""}) {
    ASSERT_TRUE(write_atomically(file, std::string_view(text)).ok());
    auto made = open_model(*ModelSpec::parse("transcript:" + file.string()), {});
    ASSERT_FALSE(made.ok()) << text;
    EXPECT_THAT(made.error().message, HasSubstr("answers.json"));
  }
}

}  // namespace
}  // namespace kernelift::tuner
