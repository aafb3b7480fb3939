// Tests of how hypotheses, findings, the population and several models work together in the model proposer, with an
// HTTP server on loopback.
#include "core/tests/expression_literal.h"
#include "tuner/source/tests/llm_fixture.h"

namespace kernelift::tuner {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string card(const std::string& change, double gain) {
  return "CARD\nFAMILY: memory\nBOUND: DRAM\nCHANGE: " + change +
         "\nMOVES: vector 1 -> 4\nGAIN: " + std::to_string(gain) + "\nRISK: low\nCOST: 1 line\n";
}

/// An edit that applies to any text of the kernel, and to that which it makes.
std::string commented(const std::string& what) {
  return "IDEA: " + what + "\n<<<<<<< SEARCH\nfloat* data, int n) {}\n=======\nfloat* data, int n) {}\n// " + what +
         "\n>>>>>>> REPLACE\n";
}

std::string unrolled(int by) {
  return "IDEA: unroll by " + std::to_string(by) + "\n<<<<<<< SEARCH\n#define U 1\n=======\n#define U " +
         std::to_string(by) + "\n>>>>>>> REPLACE\n";
}

class EvolutionTest : public LlmTest {
 protected:
  void SetUp() override {
    LlmTest::SetUp();
    options_.findings = folder_.path() / "findings" / "k.md", options_.run = "k-1.klrun";
    options_.state.keep = [this](const std::string& key, const std::string& value) { kept_[key] = value; };
  }
  /// A program that gives these answers one after the other, the last one again and again; its prompts are asked(n).
  std::string program(const std::vector<std::string>& answers) {
    std::filesystem::remove_all(scripts_);
    std::filesystem::create_directories(scripts_ / "asked");
    for (size_t i = 0; i < answers.size(); ++i)
      EXPECT_TRUE(write_atomically(scripts_ / std::to_string(i), std::string_view(answers[i])).ok());
    const std::string text = "cd " + scripts_.string() + "\nn=$(ls asked | wc -l); cat > asked/$n\n[ -f $n ] || n=" +
                             std::to_string(answers.size() - 1) + "\ncat $n\n";
    EXPECT_TRUE(write_atomically(scripts_ / "answer.sh", std::string_view(text)).ok());
    return "command:sh " + (scripts_ / "answer.sh").string();
  }
  std::string asked(int number) {
    auto text = read_text(scripts_ / "asked" / std::to_string(number));
    return text.ok() ? *text : "";
  }
  static std::string kind(const std::filesystem::path& transcripts, int number) {
    for (auto& entry : std::filesystem::directory_iterator(transcripts))
      if (std::atoi(entry.path().filename().c_str()) == number) return entry.path().stem().string().substr(5);
    return {};
  }
  std::map<std::string, std::string> kept_;
  std::filesystem::path scripts_ = folder_.path() / "scripts";
};

TEST_F(EvolutionTest, AHypothesisIsCarriedOutComparedAndRemembered) {
  options_.most_calls = 4;
  auto model =
      proposer(program({card("load four elements at a time", 1.4) + card("keep sums in registers instead", 1.3),
                        unrolled(2), unrolled(3), unrolled(4)}));
  auto proposals = next(*model);
  ASSERT_EQ(proposals.size(), 1u);
  EXPECT_THAT(asked(0), AllOf(HasSubstr("Write no code yet"), HasSubstr("vector")));
  EXPECT_THAT(asked(1), AllOf(HasSubstr("Carry out this hypothesis"), HasSubstr("CHANGE: load four")));
  judge(*model, proposals, fake_ok(1.4));
  for (auto speedup : {1.0, 1.0}) judge(*model, next(*model), fake_ok(speedup));
  EXPECT_TRUE(next(*model).empty());
  EXPECT_THAT(notes_,
              Contains(HasSubstr("confounded: load four elements at a time: predicted vector 1 -> 4; 1.40x; risk "
                                 "low, measured vector 1 -> 1; 1.40x")));
  EXPECT_THAT(notes_,
              Contains(AllOf(HasSubstr("refuted: keep sums in registers instead"), HasSubstr("nor did the gain"))));
  const std::string file = *read_text(options_.findings);
  EXPECT_THAT(file, HasSubstr("## confounded: load four elements at a time\n- run: k-1.klrun, hypothesis 1"));
  EXPECT_THAT(model->closing_note(), HasSubstr("hypotheses: 1 confounded, 1 refuted, 0 open"));
  EXPECT_THAT(asked(2), HasSubstr("hypothesis 1 confounded: load four elements"));
}

TEST_F(EvolutionTest, EarlierRunsFindingsAreQuoted) {
  const std::string known = "# Findings about k\n\n## Rows are sorted\nThe input always is.\n";
  std::filesystem::create_directories(options_.findings.parent_path());
  ASSERT_TRUE(write_atomically(options_.findings, std::string_view(known)).ok());
  ModelServer server({{200, kGoodEdit, {}, 0, 0}});
  next(*proposer(server));
  EXPECT_THAT(last_prompt(server, 0), HasSubstr("- Rows are sorted; The input always is."));
}

TEST_F(EvolutionTest, AMalformedCardGoesBackWithTheReason) {
  ModelServer server({{200, "CARD\nCHANGE: faster\nGAIN: very much\n", {}, 0, 0},
                      {200, card("load four elements", 1.4), {}, 0, 0},
                      {200, unrolled(2), {}, 0, 0}});
  auto model = proposer(server);
  EXPECT_EQ(next(*model).size(), 1u);
  EXPECT_THAT(last_prompt(server, 1),
              AllOf(HasSubstr("card 1: its GAIN 'very much' is no factor"), HasSubstr("Answer again with cards")));
}

TEST_F(EvolutionTest, CardsInAFenceAreCardsAndGoBackWithTheirReason) {
  ModelServer server({{200, "```\nCARD\nFAMILY: memory\nCHANGE: faster\n```\n", {}, 0, 0},
                      {200, card("load four elements", 1.4), {}, 0, 0},
                      {200, unrolled(2), {}, 0, 0}});
  auto model = proposer(server);
  EXPECT_EQ(next(*model).size(), 1u);
  EXPECT_THAT(last_prompt(server, 1), AllOf(HasSubstr("card 1: "), HasSubstr("Answer again with cards")));
}

TEST_F(EvolutionTest, EditsInPlaceOfCardsAreMendedAsEdits) {
  ModelServer server({{200, unrolled(2), {}, 0, 0}, {200, unrolled(4), {}, 0, 0}});
  auto model = proposer(server);
  judge(*model, next(*model), fake_failure(Outcome::CompileFailed, "no such name"));
  next(*model);
  EXPECT_THAT(last_prompt(server, 1), AllOf(HasSubstr("no such name"), HasSubstr("Answer again in the same form")));
}

TEST_F(EvolutionTest, NonsenseEndsAfterAFewAnswers) {
  ModelServer server({{200, "The weather is nice.", {}, 0, 0}});
  auto model = proposer(server);
  for (int i = 0; i < 9; ++i) EXPECT_TRUE(next(*model).empty());
  EXPECT_LE(server.requests.size(), 12u);
  EXPECT_THAT(notes_, Contains(HasSubstr("12 answers in a row of which nothing could be made")));
}

TEST_F(EvolutionTest, CardsAreCarriedOutSeveralAtATime) {
  ModelServer server(
      {{200,
        card("load four elements", 1.4) + card("unroll the loop over rows", 1.3) + card("split sums", 1.2),
        {},
        0,
        0},
       {200, unrolled(2), {}, 0, 20000}});
  auto model = proposer(server);
  for (int polls = 0; polls < 6000 && server.requests.size() < 4; ++polls) {
    EXPECT_TRUE(model->propose(history_, 1).empty());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(server.requests.size(), 4u) << "none of the last three is answered yet";
}

TEST_F(EvolutionTest, AModelThatFailsLeavesTheOthers) {
  ModelServer good({{200, unrolled(2), {}, 0, 0}, {200, unrolled(3), {}, 0, 0}, {200, unrolled(4), {}, 0, 0}}),
      bad({{401, "", R"({"error": {"message": "bad key"}})", 0, 0}});
  LlmOptions options = options_;
  options.prompts = std::filesystem::path(KERNELIFT_SOURCE_DIR) / "tuner/source/prompts";
  options.transcripts = folder_.path() / "transcripts";
  for (auto* server : {&bad, &good}) options.specs.push_back(*ModelSpec::parse("openai:" + server->url() + ",m"));
  auto model = *LlmProposer::create(mep_.mep, options);
  EXPECT_EQ(next(*model).size(), 1u);
  EXPECT_EQ(bad.requests.size(), 1u);
  EXPECT_THAT(notes_, Contains(HasSubstr("cannot be called any more; going on with the others")));
}

TEST_F(EvolutionTest, AResumedRunGoesOnWithItsCardsBudgetAndChoices) {
  options_.most_calls = 6;
  const std::string cards = card("load four elements", 1.4) + card("unroll the loop over rows", 1.3) +
                            card("split sums over the warps", 1.25) + card("skip zero blocks early", 1.2);
  const std::string program_of_both =
      program({cards, commented("one"), commented("two"), commented("three"), commented("four"), commented("five")});
  History all;
  {
    auto model = proposer(program_of_both);
    judge(*model, next(*model), fake_ok(1.1));
    ASSERT_EQ(next(*model).size(), 1u) << "it is being judged when the run is killed";
    options_.state.known = kept_;  // What is kept is all there is.
    EXPECT_THAT(asked(2), HasSubstr("Propose one change")) << "another kind of prompt has its turn";
  }
  EXPECT_EQ(Json::parse(options_.state.known.at("llm"))["calls"], 3);
  auto model = proposer(program_of_both);
  for (int i = 0; i < 3; ++i) judge(*model, next(*model), fake_ok(1.05));
  EXPECT_TRUE(next(*model).empty());
  EXPECT_THAT(asked(3), AllOf(HasSubstr("CHANGE: unroll the loop over rows"), HasSubstr("hypothesis 1 ")));
  EXPECT_EQ(asked(6), "") << "six requests in all";
  EXPECT_THAT(model->closing_note(), HasSubstr("6 of 6 requests"));
}

TEST_F(EvolutionTest, ARecordedRunIsReplayedWithoutTheModel) {
  const auto played = [&](LlmProposer& model) {
    std::vector<std::string> candidates;
    for (int i = 0; i < 3; ++i) {
      auto proposals = next(model);
      if (proposals.size() != 1) break;
      candidates.push_back(proposals[0].candidate.key().hex() + " " + proposals[0].candidate.note());
      judge(model, proposals, fake_ok(1 + 0.1 * i));
    }
    return candidates;
  };
  options_.most_calls = 4;
  std::vector<std::string> first;
  {
    auto model = proposer(program({card("load four elements", 1.4) + card("unroll the loop over rows", 1.3),
                                   commented("one"), commented("two"), commented("three")}));
    first = played(*model);
  }
  ASSERT_EQ(first.size(), 3u);
  EXPECT_EQ(kind(folder_.path() / "transcripts", 1), "hypotheses");
  EXPECT_EQ(kind(folder_.path() / "transcripts", 2), "write");
  std::filesystem::rename(folder_.path() / "transcripts", folder_.path() / "kept");
  std::filesystem::remove(options_.findings);
  History fresh;
  fresh.add(*history_.baseline());
  history_ = std::move(fresh), notes_.clear();
  auto replay = proposer("transcript:" + (folder_.path() / "kept").string());
  EXPECT_EQ(played(*replay), first);
  EXPECT_THAT(notes_, Not(Contains(HasSubstr("differs from the recorded ones"))));
}

TEST_F(EvolutionTest, WhatAModelAndARuleFoundIsCrossed) {
  Candidate ruled;
  ruled.source = *read_text(mep_.folder.path() / "kernel.cu") + "// tail\n", ruled.tier = "source";
  ruled.source.replace(ruled.source.find("#define B 64"), 12, "#define B 32");
  ruled.proposer = "rules/unroll", ruled.steps = {{.origin = Step::Origin::Rule, .rule = "shared_tiling"}};
  ruled.launches = {CandidateLaunch::as_recorded("k")};
  history_.add({2, ruled, fake_ok(1.5), {}, {1}, 0});
  Candidate written = history_.baseline()->candidate;
  written.source += "\n// __syncwarp\n__device__ void f() { __syncwarp(); }\n", written.tier = "source";
  written.proposer = "llm/m", written.steps = {{.origin = Step::Origin::Model, .summary = "one warp"}};
  history_.add({3, written, fake_ok(1.3), {}, {1}, 0});
  ModelServer server({{200, kGoodEdit, {}, 0, 20000}});
  auto model = proposer(server);
  auto proposals = model->propose(history_, 1);
  ASSERT_EQ(proposals.size(), 0u) << "both add lines at the end";
  history_.add({4,
                [&] {
                  Candidate other = ruled;
                  other.source.resize(other.source.size() - 8);
                  return other;
                }(),
                fake_ok(1.6),
                {},
                {1},
                0});
  proposals = model->propose(history_, 1);
  ASSERT_EQ(proposals.size(), 1u);
  EXPECT_EQ(proposals[0].candidate.proposer, "crossover");
  EXPECT_THAT(proposals[0].candidate.source, AllOf(HasSubstr("#define B 32"), HasSubstr("__syncwarp()")));
}

TEST_F(EvolutionTest, StopsNearTheRoofAndSaysSo) {
  ModelServer server({{200, kGoodEdit, {}, 0, 0}});
  options_.roof = "DRAM", options_.roof_share = 0.6;
  Candidate fast;
  fast.source = "x", fast.tier = "source";
  history_.add({2, fast, fake_ok(1.6), {}, {1}, 0});
  auto model = proposer(server);
  EXPECT_TRUE(next(*model).empty());
  EXPECT_TRUE(server.requests.empty());
  EXPECT_THAT(model->closing_note(),
              HasSubstr("enough: the best candidate is at 96 % of the kernel's nearest roof (DRAM)"));
}

TEST_F(EvolutionTest, StopsWhereHypothesesPromiseNothing) {
  auto model =
      proposer(program({card("rename a variable", 1.004), commented("one"), card("move a comment elsewhere", 1.003)}));
  for (int i = 0; i < 3; ++i) judge(*model, next(*model), fake_ok(1));
  EXPECT_THAT(notes_, Contains(HasSubstr("enough: the 2 hypotheses that are open promise 0.")));
}

}  // namespace
}  // namespace kernelift::tuner
