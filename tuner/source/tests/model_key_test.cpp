// Tests of the key of a model's server that is read from a file: whose file it may be, what it may hold, and that
// neither the key nor the file's name is shown.
#include <sys/stat.h>
#include <unistd.h>

#include "tuner/source/tests/llm_fixture.h"

namespace kernelift::tuner {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const std::string kKeyInFile = "sk-canary-in-a-file-5e4d3c";

class ModelKeyFile : public LlmTest {
 protected:
  void SetUp() override {
    LlmTest::SetUp();
    ::unsetenv("OPENAI_API_KEY"), ::unsetenv("ANTHROPIC_API_KEY");
  }
  void TearDown() override { ::unsetenv("OPENAI_API_KEY_FILE"), ::unsetenv("ANTHROPIC_API_KEY_FILE"); }
  /// What OPENAI_API_KEY_FILE names from now on.
  fs::path key_file(const std::string& text, mode_t rights = 0600) {
    const fs::path file = folder_.path() / "name-of-the-file";
    EXPECT_TRUE(write_atomically(file, std::string_view(text)).ok());
    EXPECT_EQ(::chmod(file.c_str(), rights), 0);
    ::setenv("OPENAI_API_KEY_FILE", file.c_str(), 1);
    return file;
  }
  static std::string error_of(const char* model = "openai:,m") {
    auto made = open_model(*ModelSpec::parse(model), {});
    EXPECT_FALSE(made.ok());
    return made.ok() ? "" : made.error().message;
  }
  /// That the server was given the key as it should be.
  std::string header(const char* format, const char* name) {
    ModelServer server({{200, "text"}});
    auto model = open_model(*ModelSpec::parse(format + (":" + server.url() + ",m")), {});
    if (!model.ok()) return model.error().message;
    EXPECT_TRUE((*model)->ask({"optimise", "s", {{false, "t"}}}, {1, 60}, stop_).answer.ok());
    return server.requests.at(0).get_header_value(name);
  }
  std::atomic<bool> stop_ = false;
};

TEST_F(ModelKeyFile, GivesTheServerItsKey) {
  const fs::path file = key_file("  " + kKeyInFile + " \r\n");
  for (auto* format : {"openai", "responses"}) EXPECT_EQ(header(format, "Authorization"), "Bearer " + kKeyInFile);
  EXPECT_EQ(header("anthropic", "x-api-key"), "");
  ::setenv("ANTHROPIC_API_KEY_FILE", file.c_str(), 1);
  EXPECT_EQ(header("anthropic", "x-api-key"), kKeyInFile);
}

TEST_F(ModelKeyFile, IsUsedOnlyIfTheVariableItselfIsNotSet) {
  key_file(kKeyInFile);
  ::setenv("OPENAI_API_KEY", kKey, 1);
  EXPECT_EQ(header("openai", "Authorization"), std::string("Bearer ") + kKey);
  ::setenv("OPENAI_API_KEY", "\n", 1);
  EXPECT_EQ(header("openai", "Authorization"), "Bearer " + kKeyInFile);
}

TEST_F(ModelKeyFile, IsRefusedIfOthersCanReadOrWriteIt) {
  for (mode_t rights : {0640, 0620, 0604, 0602, 0666}) {
    key_file(kKeyInFile, rights);
    EXPECT_THAT(error_of(), HasSubstr("the file that OPENAI_API_KEY_FILE names can be read or written by others than "
                                      "its owner; run: chmod 600 \"$OPENAI_API_KEY_FILE\""));
  }
  for (mode_t rights : {0400, 0600, 0700}) {
    key_file(kKeyInFile, rights);
    EXPECT_TRUE(open_model(*ModelSpec::parse("openai:,m"), {}).ok()) << rights;
  }
  key_file(kKeyInFile, 0644);
  EXPECT_THAT(error_of("openai:http://127.0.0.1:1,m"), HasSubstr("chmod 600")) << "where no key is needed, too";
}

TEST_F(ModelKeyFile, IsRefusedIfItBelongsToAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const fs::path file = key_file(kKeyInFile);
  ASSERT_EQ(::chown(file.c_str(), 65534, 65534), 0);
  EXPECT_THAT(error_of(), HasSubstr("belongs to another user"));
}

TEST_F(ModelKeyFile, IsReadThroughALinkToAFileThatIsAllowed) {
  const fs::path file = key_file(kKeyInFile), link = folder_.path() / "link";
  fs::create_symlink(file, link);
  ::setenv("OPENAI_API_KEY_FILE", link.c_str(), 1);
  EXPECT_EQ(header("openai", "Authorization"), "Bearer " + kKeyInFile);
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  EXPECT_THAT(error_of(), HasSubstr("chmod 600"));
}

TEST_F(ModelKeyFile, IsRefusedWithASentenceIfItHoldsNoKey) {
  const std::pair<std::string, const char*> kTexts[] = {{"", "is empty"},
                                                        {" \n\t\n", "is empty"},
                                                        {kKeyInFile + "\n" + kKeyInFile, "more than one word"},
                                                        {"OPENAI_API_KEY = " + kKeyInFile, "more than one word"},
                                                        {kKeyInFile + std::string(1, '\0') + "x", "more than one word"},
                                                        {"\xef\xbb\xbf" + kKeyInFile, "characters that no key has"},
                                                        {kKeyInFile + std::string(4096, ' '), "larger than 4 kB"}};
  for (auto& [text, said] : kTexts) {
    key_file(text);
    EXPECT_THAT(error_of(), AllOf(HasSubstr("the file that OPENAI_API_KEY_FILE names "), HasSubstr(said),
                                  Not(HasSubstr("canary")), Not(HasSubstr("name-of-the-file"))));
  }
}

TEST_F(ModelKeyFile, IsRefusedIfItIsNoFile) {
  const fs::path fifo = folder_.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const fs::path& path : {folder_.path(), fifo, fs::path("/dev/null")}) {
    ::setenv("OPENAI_API_KEY_FILE", path.c_str(), 1);
    EXPECT_THAT(error_of(), HasSubstr("is no regular file")) << path;
  }
}

TEST_F(ModelKeyFile, ThatIsAKeyByMistakeIsNotShown) {
  ::setenv("OPENAI_API_KEY_FILE", kKeyInFile.c_str(), 1);
  EXPECT_THAT(error_of(), AllOf(HasSubstr("the variable holds the path of a file with the key, not the key"),
                                Not(HasSubstr("canary"))));
}

TEST_F(ModelKeyFile, IsNamedWhereAKeyIsMissing) {
  EXPECT_THAT(error_of(), HasSubstr("OPENAI_API_KEY is not set; export it, name a file with the key in "
                                    "OPENAI_API_KEY_FILE, or leave --llm away"));
  EXPECT_THAT(error_of("anthropic:,m"), HasSubstr("ANTHROPIC_API_KEY_FILE"));
}

TEST_F(ModelKeyFile, HoldsAKeyThatIsShownNowhere) {
  key_file(kKeyInFile + "\n");
  const std::string edit = "IDEA: use " + kKeyInFile + "\n<<<<<<< SEARCH\n#define U 1\n=======\n#define U 2  // " +
                           kKeyInFile + "\n>>>>>>> REPLACE\n";
  ModelServer server({{401, "", R"({"error":{"message":"Incorrect API key: )" + kKeyInFile + R"("}})"}});
  ModelServer echo({{200, edit}, {200, kKeyInFile}});
  std::vector<std::string> seen;
  for (auto* from : {&server, &echo}) {
    options_.most_calls = 2;
    options_.state.keep = [&](const std::string&, const std::string& value) { seen.push_back(value); };
    auto model = proposer(*from);
    for (auto& proposal : next(*model)) seen.push_back(to_json(proposal.candidate).dump());
    seen.push_back(model->closing_note());
    for (auto& request : from->requests) seen.push_back(request.body);
    EXPECT_EQ(from->requests.at(0).get_header_value("Authorization"), "Bearer " + kKeyInFile);
  }
  for (auto& entry : fs::directory_iterator(folder_.path() / "transcripts")) seen.push_back(*read_text(entry.path()));
  EXPECT_THAT(notes_, Contains(HasSubstr("Incorrect API key: [secret]; check OPENAI_API_KEY_FILE")));
  EXPECT_THAT(seen, Contains(HasSubstr("[secret]")));
  seen.insert(seen.end(), notes_.begin(), notes_.end());
  for (auto& text : seen) EXPECT_THAT(text, Not(HasSubstr("canary")));
}

}  // namespace
}  // namespace kernelift::tuner
