// A generated header holds text that candidates, compilers and drivers wrote: none of it becomes code.
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "reintegrate/embed/launcher.h"

namespace kernelift::reintegrate {
namespace {

const EmbeddedCode kCode = {".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry _Z4keepv()\n{\n\tret;\n}\n",
                            "_Z4keepv",
                            "clang 22",
                            "cuda: NVIDIA H200, sm_90, driver 580",
                            "candidate #7 of keep-1.klrun",
                            "nvcc makes less of it.",
                            {}};

Result<std::string> header_of(const std::string& kernel, const EmbeddedCode& code) {
  Mep mep;
  mep.kernel_name = kernel, mep.kernel_key = "keep()", mep.kernel_id = "1", mep.language = "cuda";
  MepInstance& instance = mep.instances.emplace_back();
  instance.id = "a", instance.geometry = {{64, 1, 1}, {64, 1, 1}, 0, false};
  Candidate candidate;
  candidate.source = "changed", candidate.launches = {CandidateLaunch::as_recorded("keep")};
  KERNELIFT_ASSIGN(auto guard, shape_guard(mep, "original", candidate));
  return launcher_text(mep, candidate, code, guard, {}, {"k.cu"});
}

/// Without the lines that are comments, the kernel's name, and the hash of all that names the namespace.
std::string code_in(const std::string& header, const std::string& kernel) {
  std::string code, line;
  for (std::istringstream lines(header); std::getline(lines, line);)
    if (!line.starts_with("//")) code += line + "\n";
  const std::string name = launcher_name(kernel);
  for (size_t at = code.find(name); at != code.npos; at = code.find(name)) code.replace(at, name.size(), "NAME");
  return std::regex_replace(code, std::regex("v_[0-9a-f]{16}"), "v_");
}

TEST(GeneratedHeader, KeepsTextFromOutsideInItsComments) {
  auto plain = header_of("keep", kCode);
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  const std::string text = "it\n#error out\r\nint stolen; */ ?\?/\n\\\n\x1b[2J\u202e @VERSION@ \\";
  EmbeddedCode code = kCode;
  code.origin = code.why = code.compiler = code.measured_on = text, code.notes = {text};
  auto hostile = header_of(text, code);
  ASSERT_TRUE(hostile.ok()) << hostile.error().message;
  EXPECT_EQ(code_in(*hostile, text), code_in(*plain, "keep"));
  for (const char* hidden : {"\x1b", "\r", "\u202e"}) EXPECT_EQ(hostile->find(hidden), hostile->npos);
  EXPECT_FALSE(std::regex_search(*hostile, std::regex("\n//[^\n]*\\\\\n"))) << "a comment continues on the next line";
}

TEST(GeneratedHeader, HoldsNoPtxThatWouldEndItsString) {
  EmbeddedCode code = kCode;
  code.ptx += "// )ptx\"; int stolen; const char* rest = R\"ptx(\n";
  auto text = header_of("keep", code);
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.error().message.find("would end the string"), std::string::npos) << text.error().message;
}

}  // namespace
}  // namespace kernelift::reintegrate
