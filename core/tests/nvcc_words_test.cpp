// What the host compiler is given for the spellings of options, option files and variables: as the real nvcc gives it
// to a host compiler that writes its words down, if nvcc is installed, and as stated here in any case.
#include "core/toolchain/nvcc_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/toolchain/nvcc_command.h"

namespace kernelift {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using Words = std::vector<std::string>;

/// Macros, folders and headers of a command line in clang's spelling, by kind, without those that nvcc adds itself.
Words preprocessor_words(const Words& words, const Words& added = {}) {
  Words macros, folders, system_folders, headers;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string word = words[i];
    for (const char* option : {"-D", "-U", "-isystem", "-include"})
      if (word == option && i + 1 < words.size()) word += (word.size() > 2 ? " " : "") + words[++i];
    if (std::find(added.begin(), added.end(), word) != added.end()) continue;
    if (word.starts_with("-D") || word.starts_with("-U")) macros.push_back(word);
    else if (word.starts_with("-isystem")) system_folders.push_back(word);
    else if (word.starts_with("-include")) headers.push_back(word);
    else if (word.starts_with("-I")) folders.push_back(word);
  }
  macros.insert(macros.end(), folders.begin(), folders.end());
  macros.insert(macros.end(), system_folders.begin(), system_folders.end());
  macros.insert(macros.end(), headers.begin(), headers.end());
  return macros;
}

/// nvcc with a host compiler that writes down what it is given for our source.
class RealNvcc : public testing::Test {
 protected:
  void SetUp() override {
    auto nvcc = find_program("nvcc");
    if (!nvcc) GTEST_SKIP() << "nvcc is not on PATH";
    nvcc_ = nvcc->string();
    auto folder = TemporaryFolder::create("nvcc-words");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(*std::move(folder));
    write("a.cu", "");
    write("g++",
          "#!/bin/sh\nfor word; do case $word in a.cu) printf '%s\\n' \"$@\" >words; exit 0;; esac; done\n"
          "exec g++ \"$@\"\n");
    std::filesystem::permissions(folder_->path() / "g++", std::filesystem::perms::owner_all);
    added_ = preprocessor_words(given({}));
  }
  void write(const char* name, std::string_view text) {
    ASSERT_TRUE(write_atomically(folder_->path() / name, text).ok());
  }
  Words command(const Words& options) const {
    Words words{nvcc_, "-ccbin", (folder_->path() / "g++").string(), "-E", "-o", "a.ii", "a.cu"};
    words.insert(words.end(), options.begin(), options.end());
    return words;
  }
  Words given(const Words& options, std::vector<std::pair<std::string, std::string>> variables = {}) {
    std::filesystem::remove(folder_->path() / "words");
    ProcessOptions process;
    process.folder = folder_->path(), process.environment = std::move(variables);
    auto ran = run_process(command(options), process);
    EXPECT_TRUE(ran.ok() && ran->ok()) << (ran.ok() ? ran->err : ran.error().message);
    auto text = read_text(folder_->path() / "words");
    EXPECT_TRUE(text.ok());
    Words words;
    for (size_t begin = 0, end; text.ok() && (end = text->find('\n', begin)) != text->npos; begin = end + 1)
      words.push_back(text->substr(begin, end - begin));
    return words;
  }
  void expect_same(const Words& options) {
    auto parsed = parse_compiler_command(command(options), folder_->path());
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    EXPECT_THAT(preprocessor_words(parsed->preprocessor), ElementsAreArray(preprocessor_words(given(options), added_)));
  }
  std::optional<TemporaryFolder> folder_;
  std::string nvcc_;
  Words added_;
};

const Words kSpellings = {R"(-DA1=1\,2\,4)",
                          "-DA2=1,B2=2",
                          "-D",
                          "A3=f(1\\,2),B3",
                          R"(-DA4="a b")",
                          R"(-DA5=\"a b\")",
                          R"(-DA6=a\b)",
                          R"(-DA7=a\\b)",
                          "-DA8='x y'",
                          R"(-DA9="x,y")",
                          R"(-DB1=\"x\,y\")",
                          "-D=B4,B5=3",
                          "-D,B6",
                          "--define-macro=B7=1,B8=2",
                          "-UC1,C2",
                          R"(-DC3=\\\"x\\\")",
                          "-DC4=x;y",
                          "-DC5=<x>&|",
                          "-DC6(x)=x+1",
                          R"(-DC7="a\nb")",
                          R"(-DC8=\,)",
                          "-DC9=it's",
                          "-D",
                          " D1=x ",
                          "-DD2= y",
                          R"(-DD3="a"b"c")",
                          "-DD4=",
                          R"(-DD5="a\"b")",
                          "-Ix y,b",
                          "-I",
                          R"("c,d")",
                          R"(-Ie\f)",
                          "-isystem",
                          "g,h",
                          "-isystem=i",
                          "-include",
                          "limits.h,float.h",
                          "--include-path",
                          "k,l",
                          "--system-include=m",
                          "-Xcompiler=-DH1=1,-DH2=2",
                          "-Xcompiler",
                          R"(-DH3="x")",
                          "-Xcompiler",
                          R"(-DH4=\\\"x\\\")",
                          "-Xcompiler",
                          R"(-DH5='"x"')",
                          "-Xcompiler",
                          R"(-DH6=1\,2)",
                          "-Xcompiler",
                          R"("-DH7=1,2")",
                          "-Xcompiler",
                          "-DH8=1 -DH9=2",
                          "-Xcompiler",
                          R"('-DI1=1 2')",
                          "--compiler-options",
                          "'-DI2=1,2'",
                          "-Xcompiler",
                          R"(-DI3=a\b)",
                          "-Xcompiler=-include,float.h,-In"};

TEST_F(RealNvcc, GivesTheHostCompilerWhatWeReadInTheSameWords) { expect_same(kSpellings); }

TEST_F(RealNvcc, ReadsOptionFilesAsWeDo) {
  write("options",
        "-DA1=1\\,B1 -DA2=\"x y\"\n-DA3=\\\"x\\\" -DA4=\\\\\\\"x\\\\\\\" -DA5='y'\t-DA6=a\\ b -DA7=a\\\\b \"-Ix y\" "
        "-Iz\\ w -DA8=\"\" -Xcompiler \"-DH1 -DH2\" -Xcompiler=-DH3=\\\\\\\"a\\\\\\\" -optf deeper\n");
  write("deeper", "-DDEEP");
  write("more", "-DMORE=1,EVEN_MORE");
  expect_same({"-optf", "options,more"});
}

TEST_F(RealNvcc, ReadsItsVariablesAsWeDo) {
  const char *before = R"(-DA1=1\,2 -DA2="x y"	-DA3=\\b)",
             *after = R"(-I"/x y" -DA4="\"x\"" -DA5='y' -Xcompiler "-DH1=1 2")";
  Words options = split_nvcc_variable(before);
  for (const std::string& word : split_nvcc_variable(after)) options.push_back(word);
  auto parsed = parse_compiler_command(command(options), folder_->path());
  ASSERT_TRUE(parsed.ok());
  EXPECT_THAT(preprocessor_words(parsed->preprocessor),
              ElementsAreArray(preprocessor_words(
                  given({}, {{"NVCC_PREPEND_FLAGS", before}, {"NVCC_APPEND_FLAGS", after}}), added_)));
}

TEST(NvccWords, EscapedCommasAreCommasInAValue) {
  EXPECT_THAT(split_nvcc_list(R"(USE=1\,2\,4)"), ElementsAre("USE=1,2,4"));
  EXPECT_THAT(split_nvcc_list(R"(A=1,B="x,y",,C=\"z\")"), ElementsAre("A=1", R"(B="x,y")", R"(C="z")"));
  EXPECT_THAT(split_nvcc_paths(R"("a,b",c\d)"), ElementsAre("a,b", R"(c\d)"));
}

TEST(NvccWords, OptionFilesAreUnquotedTwice) {
  EXPECT_THAT(split_nvcc_options_file("-DA=\"x y\" -DB=\\\\\\\"z\\\\\\\"\n-I/a\\ b"),
              ElementsAre("-DA=x y", "-DB=\"z\"", "-I/a b"));
}

TEST(NvccWords, VariablesKeepTheirQuotesAndBackslashes) {
  EXPECT_THAT(split_nvcc_variable(R"(-DA=1\,2  -DB="x y")"), ElementsAre(R"(-DA=1\,2)", R"(-DB="x y")"));
}

TEST(NvccWords, ResponseFilesOfGccAndClangKnowBothQuotes) {
  EXPECT_THAT(split_response_file("-DA='x y' \"-DB=\\\"z\\n\\\"\"\n-I/a\\ b"),
              ElementsAre("-DA=x y", "-DB=\"zn\"", "-I/a b"));
}

}  // namespace
}  // namespace kernelift
