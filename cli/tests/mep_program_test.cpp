// The program that comes with a MEP, built for the CPU device and run: what it says of kernels that do less, or other
// work, when they are timed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/process.h"
#include "mep-templates/mep_writer.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Builds and runs the program of scale_mep() with `kernel` in the place of its kernel; returns its output and "exit
/// N".
std::string replayed(const std::string& kernel) {
  sandbox::MepFixture fixture = sandbox::scale_mep(5000);
  templates::MepProgram program;
  program.mep = fixture.mep, program.mep.kernel_name = "scale", program.kernel_text = kernel;
  const auto data = executable_folder().parent_path() / "lib" / "kernelift" / "templates";
  if (Status written = write_mep_program(program, data, fixture.path()); !written.ok()) return written.error().message;
  ProcessOptions options;
  options.folder = fixture.path();
  auto built = run_process({(executable_folder() / "kernelift").string(), "build", "--device", "cpu", "--", "nvcc",
                            "-std=c++17", "main.cu", "-o", "replay"},
                           options);
  if (!built.ok() || !built->ok()) return built.ok() ? built->out + built->err : built.error().message;
  auto ran = run_process({(fixture.path() / "replay").string()}, options);
  return ran.ok() ? ran->out + ran->err + "exit " + std::to_string(ran->exit_code) : ran.error().message;
}

std::string scale(const std::string& body, const std::string& before = "") {
  return "__constant__ float bias;\n" + before +
         "__global__ void scale(const float* in, float* out, int n, float factor) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
         body + "}\n";
}
const std::string kScales = "  if (i < n) out[i] = in[i] * factor + bias;\n";

TEST(MepProgram, ComparesLaunchesThatItTimesInFull) {
  const std::string said = replayed(scale(kScales));
  EXPECT_THAT(said,
              AllOf(HasSubstr("time  cold"), HasSubstr("launches that were timed were compared in full, and right"),
                    HasSubstr("\nPASS\n"), HasSubstr("exit 0")));
  EXPECT_THAT(said, Not(HasSubstr("\n            0 launches that were timed"))) << said;
}

TEST(MepProgram, DoesNotPassAKernelThatWorksOnlyAtFirst) {
  const std::string said =
      replayed(scale("  if (launches > 8) return;\n" + kScales + "  if (i == 0) launches = launches + 1;\n",
                     "__device__ volatile int launches;\n"));
  EXPECT_THAT(said, AllOf(HasSubstr("launches that were timed and compared left something else than was expected"),
                          HasSubstr("\nFAIL\n"), HasSubstr("exit 1")));
}

TEST(MepProgram, LeavesNoAnswerWhereATimedLaunchCouldFindIt) {
  // It leaves a wrong result where it meets a finished one; -1 lies in all places before the launch.
  const std::string said =
      replayed(scale("  if (i >= n) return;\n  float result = in[i] * factor + bias;\n"
                     "  out[i] = out[i] == result && result != -1.0f ? 0 : result;\n"));
  EXPECT_THAT(said, AllOf(HasSubstr("compared in full, and right"), HasSubstr("\nPASS\n")));
}

}  // namespace
}  // namespace kernelift::cli
