// Prices of models, and what a run may cost and has cost.
#include "tuner/source/llm/price_table.h"

#include "tuner/source/llm/model_budget.h"
#include "tuner/source/tests/llm_fixture.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;

constexpr const char* kPrices =
    R"({"currency": "EUR", "tokens": 1000000, "models": {"test-model": {"input": 1000, "output": 5000}, "other": {"input": 1, "output": 2}}})";

class Prices : public LlmTest {
 protected:
  Result<PriceTable> table(const std::string& text) {
    const auto file = folder_.path() / "prices.json";
    EXPECT_TRUE(write_atomically(file, std::string_view(text)).ok());
    return PriceTable::read(file);
  }
  std::string error(const std::string& text) {
    auto read = table(text);
    return read.ok() ? "none" : read.error().message;
  }
};

TEST_F(Prices, OfAModelThatIsMissingAreAClearSentence) {
  auto known = table(kPrices);
  ASSERT_TRUE(known.ok()) << known.error().message;
  EXPECT_DOUBLE_EQ(known->price(*ModelSpec::parse("openai:,other"))->of(1'000'000, 500'000), 2);
  auto missing = known->price(*ModelSpec::parse("openai:,new"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().exit, Exit::Usage);
  EXPECT_THAT(missing.error().message, HasSubstr("prices.json has no model 'new'; it has other, test-model"));
  EXPECT_EQ(known->price(*ModelSpec::parse("command:answer"))->of(1000, 1000), 0) << "a program costs nothing";
}

TEST_F(Prices, ThatCannotBeReadAreNamedByWhatIsWrong) {
  EXPECT_THAT(PriceTable::read("nowhere.json").error().message, HasSubstr("nowhere.json"));
  EXPECT_THAT(error("{"), HasSubstr("prices.json"));
  EXPECT_THAT(error("[]"), HasSubstr("lacks 'currency'; it looks like {"));
  EXPECT_THAT(error(R"({"currency": "USD", "tokens": 0, "models": {}})"), HasSubstr("'tokens'"));
  EXPECT_THAT(error(R"({"currency": "USD", "tokens": 1, "models": {"m": {"input": 1}}})"),
              HasSubstr("the model 'm' lacks 'output'"));
  EXPECT_THAT(error(R"({"currency": "USD", "tokens": 1, "models": {"m": {"input": -1, "output": 1}}})"),
              HasSubstr("lacks 'input', a number that is not negative"));
}

TEST_F(Prices, LimitWhatARunMayCost) {
  options_.prices = *table(kPrices), options_.most_money = 0.5;
  std::string saved;
  keep_spent_in(saved);
  // 100 tokens in and 20 out: 0.2 for each request.
  ModelServer server({{200, kGoodEdit, {}, 0, 0}, {200, "no edit at all", {}, 0, 0}});
  auto model = proposer(server);
  judge(*model, next(*model));
  while (!next(*model).empty()) {}
  EXPECT_EQ(server.requests.size(), 3u);
  EXPECT_THAT(model->closing_note(), testing::AllOf(HasSubstr("0.6000 of 0.5000 EUR"), HasSubstr("(--llm-money)")));
  EXPECT_THAT(model->spending(), HasSubstr("3 requests, 360 tokens, 0.6000 EUR"));
  options_.state.known["llm"] = saved;
  auto resumed = proposer(server);
  EXPECT_TRUE(next(*resumed).empty());
  EXPECT_EQ(server.requests.size(), 3u) << "it holds over all sittings";
}

}  // namespace
}  // namespace kernelift::tuner
