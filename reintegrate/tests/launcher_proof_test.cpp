// Launches through a function of the application that launches the kernel which it is given.
#include "reintegrate/tests/host_proof_fixture.h"

namespace kernelift::reintegrate {
namespace {

class LauncherProofTest : public HostProofTest {
 protected:
  /// The patch of a candidate with other blocks, of an application with this launcher.
  Result<HostProof> proof_with(const std::string& body, const LaunchGuard& guard) {
    LaunchSite site = launched_by("run(scale, grid, BLOCK, a, n)",
                                  "template <class Kernel, class... Arguments>\n"
                                  "void run(Kernel kernel, dim3 grid, dim3 block, Arguments... arguments) {\n" +
                                      body + "\n}\n");
    site.launcher = "run";
    request.mep.launches = {site};
    candidate("blockIdx.x * BLOCK", "blockIdx.x * 128");
    auto patch = plan_patch({request.mep, request.original, request.candidate, &*request.scan, root, nullptr, guard});
    if (!patch.ok()) return patch.error();
    patched_ = patch->changes[0].after;
    return prove_host_half({request.mep, &*request.scan, *patch, request.host});
  }
  void SetUp() override {
    HostProofTest::SetUp();
    launch_blocks_of(128);
  }
  std::string patched_;
};

TEST_F(LauncherProofTest, ACallMayGiveAnotherGeometry) {
  auto proof = proof_with("  kernel<<<grid, block>>>(arguments...);", {});
  EXPECT_TRUE(proof.ok()) << proof.error().message;
  EXPECT_HAS(patched_, "run(scale, dim3((size_t(grid.x) * BLOCK + 127) / 128, grid.y, grid.z), 128, a, n);");
}

TEST_F(LauncherProofTest, ACallMayChooseBetweenTwoKernels) {
  auto proof = proof_with("  kernel<<<grid, block>>>(arguments...);", LaunchGuard({Premise::holds("n % 128 == 0"_e)}));
  EXPECT_TRUE(proof.ok()) << proof.error().message;
  EXPECT_HAS(patched_,
             "  if (n % 128 == 0)\n"
             "    run(scale_tuned, dim3((size_t(grid.x) * BLOCK + 127) / 128, grid.y, grid.z), 128, a, n);\n"
             "  else\n"
             "    run(scale, grid, BLOCK, a, n);\n");
}

TEST_F(LauncherProofTest, ALauncherThatShowsItsGeometryWouldShowAnother) {
  EXPECT_FALSE(proof_with("  std::printf(\"%u\", grid.x);\n  kernel<<<grid, block>>>(arguments...);", {}).ok());
  EXPECT_FALSE(proof_with("  if (block.x > 100) std::exit(1);\n  kernel<<<grid, block>>>(arguments...);", {}).ok());
}

}  // namespace
}  // namespace kernelift::reintegrate
