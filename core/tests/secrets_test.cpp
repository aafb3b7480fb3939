// A secret is found in every form in which it could be read, and nothing else is taken for one. Secrets are the
// process's, so each case has values of its own.
#include "core/base/shown/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace kernelift {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Secrets, AreNeverShown) {
  keep_secret("sk-canary-4f9c1e7a2b");
  EXPECT_EQ(without_secrets("401: bad key sk-canary-4f9c1e7a2b, sorry"), "401: bad key [secret], sorry");
  EXPECT_EQ(without_secrets("sk-canary-4f9c1e7a2b"), "[secret]");
  EXPECT_EQ(without_secrets("twice sk-canary-4f9c1e7a2b sk-canary-4f9c1e7a2b."), "twice [secret].");
  EXPECT_EQ(without_secrets("nothing of it"), "nothing of it");
}

TEST(Secrets, AreFoundInOtherSpellings) {
  const std::string value = "pa/ss+\"wo\\rd-93kd02";
  keep_secret(value);
  for (const char* spelled :
       {"pa%2Fss%2B%22wo%5Crd-93kd02", "pa%2fss%2b%22wo%5crd-93kd02",  // In a URL.
        "pa/ss+\\\"wo\\\\rd-93kd02", "pa\\/ss+\\\"wo\\\\rd-93kd02",    // In JSON.
        "70612f73732b22776f5c72642d39336b643032", "70612F73732B22776F5C72642D39336B643032",
        "cGEvc3MrIndvXHJkLTkza2QwMg==",                                      // Base64 of it,
        "dXNlcjpwYS9zcysid29ccmQtOTNrZDAy", "eHBhL3NzKyJ3b1xyZC05M2tkMDI=",  // of "user:…" and "x…".
        "pa/ss+\"\n  wo\\rd-9 3kd02"}) {
    const std::string left = without_secrets(std::string("<") + spelled + ">");
    EXPECT_THAT(left, HasSubstr("[secret]")) << spelled;
    // Digits at the ends of base64 hold bits of their neighbours.
    EXPECT_LE(left.size(), std::string("<[secret]>").size() + 8) << spelled << " leaves " << left;
  }
}

TEST(Secrets, AreFoundInPieces) {
  keep_secret("abcdefghij0123456789ABCDEFGHIJ");
  EXPECT_EQ(without_secrets("key abcdefghij01234..."), "key [secret]...");
  EXPECT_EQ(without_secrets("ends in 89ABCDEFGHIJ"), "ends in [secret]");
  EXPECT_EQ(without_secrets("ends in EFGHIJ"), "ends in EFGHIJ") << "what servers show of a key so that it can be told";
}

TEST(Secrets, DoNotIncludeThePlaceholdersOfServersWithoutKeys) {
  keep_secret("none");
  keep_secret("EMPTY");
  EXPECT_EQ(without_secrets("none of the candidates; EMPTY"), "none of the candidates; EMPTY");
}

TEST(Secrets, OfTheEnvironmentAreKnownByTheNamesOfVariables) {
  setenv("CORP_MODEL_KEY", "corp-canary-77aa66", 1);
  setenv("GITHUB_TOKEN", "ghp-canary-88bb55", 1);
  setenv("https_proxy", "http://joe:proxy-canary-1@proxy:3128", 1);
  setenv("KEYBOARD_LAYOUT", "layout-of-keyboard", 1);
  setenv("SSH_AUTH_SOCK", "/run/user/agent.socket", 1);
  setenv("FIRST_PASS", "disabled", 1);
  setenv("CORP_MODEL_KEY_FILE", "keys/of-the-model-1", 1);
  keep_secrets_of_environment();
  for (const char* secret : {"corp-canary-77aa66", "ghp-canary-88bb55", "proxy-canary-1"})
    EXPECT_THAT(without_secrets(std::string("a ") + secret + " b"), Not(HasSubstr("canary"))) << secret;
  for (const char* plain : {"layout-of-keyboard", "/run/user/agent.socket", "disabled"})
    EXPECT_EQ(without_secrets(plain), plain);
  EXPECT_EQ(without_secrets("keys/of-the-model-1"), "keys/of-the-model-1") << "where a secret lies is none";
}

TEST(Secrets, OfUrlsAreUserPasswordAndQuery) {
  const std::string url = "https://joe:url-canary-21@host:8080/v1/chat?api=query-canary-22&b=1";
  EXPECT_EQ(url_without_secrets(url), "https://host:8080/v1/chat");
  EXPECT_EQ(url_without_secrets("http://127.0.0.1:80/v1"), "http://127.0.0.1:80/v1");
  EXPECT_EQ(url_without_secrets("https://host/a@b"), "https://host/a@b") << "no user: that is the path";
  keep_secrets_of_url(url);
  EXPECT_EQ(without_secrets("url-canary-21, query-canary-22, b=1, host"), "[secret], [secret], b=1, host");
  keep_secrets_of_url("https://p%40ss%3Acanary23@host/");
  EXPECT_EQ(without_secrets("p@ss:canary23 is p%40ss%3Acanary23"), "[secret] is [secret]");
}

TEST(Secrets, AreFoundInEveryTextOfADocument) {
  keep_secret("json-canary-5150aa");
  Json document = {{"a", "x json-canary-5150aa"}, {"b", {1, "json-canary-5150aa", {{"json-canary-5150aa", true}}}}};
  EXPECT_EQ(compact(json_without_secrets(document)), R"({"a":"x [secret]","b":[1,"[secret]",{"[secret]":true}]})");
}

}  // namespace
}  // namespace kernelift
