// The options of nvcc that take a value, and the words of a command that concern device code.
#include "core/toolchain/device_arguments.h"

#include <gmock/gmock.h>

#include <sstream>

#include "core/base/process.h"
#include "core/toolchain/nvcc_options.h"

namespace kernelift {
namespace {

using ::testing::ElementsAre;

TEST(NvccOptions, TakeValuesAsNvccsOwnHelpSays) {
  auto nvcc = find_program("nvcc");
  if (!nvcc) GTEST_SKIP() << "nvcc is not on PATH";
  auto help = run_process({nvcc->string(), "--help"});
  ASSERT_TRUE(help.ok() && help->ok());
  // "--std {c++03|c++11}       (-std)": the long name, the form of the value if it takes one, the short name.
  std::istringstream lines(help->out);
  int read = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("--")) continue;
    std::istringstream words(line);
    std::vector<std::string> parts;
    for (std::string word; words >> word;) parts.push_back(word);
    std::string name = parts[0].substr(2), last = parts.back();
    bool value = parts.size() > 2;
    // The values of these are in the explanation only, or (options-file) are read before the options are.
    if (name == "qpp-config" || name == "dependency-output" || name == "options-file") continue;
    EXPECT_EQ(nvcc_option_takes_value(name), value) << line;
    if (last.starts_with("(-")) EXPECT_EQ(nvcc_option_takes_value(last.substr(2, last.size() - 3)), value) << line;
    ++read;
  }
  EXPECT_GT(read, 50);
}

TEST(DeviceArguments, KeepOptionsTogetherWithTheirValues) {
  std::vector<std::string> left_out;
  EXPECT_THAT(
      device_arguments({"nvcc", "-O", "3", "-Ofc", "min", "-ftemplate-depth", "500", "--device-stack-protector", "true",
                        "-hls", "gen-lcs", "-qpp-config", "5.4,gcc_ntox86", "--run-args", "a,b", "-c", "a.cu"},
                       left_out),
      ElementsAre("-O", "3", "-Ofc", "min", "-ftemplate-depth", "500", "--device-stack-protector", "true"));
  EXPECT_THAT(left_out, ElementsAre("-hls gen-lcs", "-qpp-config 5.4,gcc_ntox86", "--run-args a,b", "-c", "a.cu"));
}

TEST(DeviceArguments, ReportThatLinkTimeOptimisationIsNotRepeatedInEverySpelling) {
  for (const char* word : {"-lto", "--lto", "-dlto", "--dlink-time-opt"}) {
    std::vector<std::string> left_out;
    EXPECT_THAT(device_arguments({"nvcc", word, "-lcublas"}, left_out), ElementsAre());
    EXPECT_THAT(left_out, ElementsAre(std::string(word) + " (changes device code, and is not repeated)", "-lcublas"));
  }
}

}  // namespace
}  // namespace kernelift
