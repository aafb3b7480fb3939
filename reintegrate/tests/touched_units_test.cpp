// Which units a patch is proven for, and what becomes of those that clang cannot read or compile.
#include "reintegrate/proof/proof_process.h"
#include "reintegrate/tests/host_proof_fixture.h"

namespace kernelift::reintegrate {
namespace {

TEST_F(HostProofTest, EveryUnitThatIncludesAPatchedHeaderIsCompared) {
  write("src/kernel.h", "#pragma once\nconstexpr int kWidth = 4;\n__global__ void wide(float* a) {\n  a[0] = 1;\n}\n");
  write("src/one.cu", "#include \"kernel.h\"\nvoid one(float* a) { wide<<<1, 1>>>(a); }\n");
  write("src/two.cpp", "#define __global__\n#include \"../src/kernel.h\"\nint two() { return kWidth; }\n");
  write("build.json", "[{\"directory\": \"" + root.string() +
                          "\", \"file\": \"src/two.cpp\", \"command\": \"g++ -c src/two.cpp\"}]\n");
  request.scan->units = {unit("src/app.cu"), unit("src/one.cu")};
  request.scan->database = (root / "build.json").string();
  slice_lines("src/kernel.h", 2, 5);
  candidate("a[0] = 1;", "a[0] = 2;");
  std::string why = verdict();
  EXPECT_HAS(why, "src/two.cpp") << "there the text is the host's";
  write("src/two.cpp", "#include <cstdio>\nint two() { return 4; }\n");
  EXPECT_PROVEN(verdict());
  EXPECT_EQ(proof_->units, 1u);
  candidate("kWidth = 4", "kWidth = 5");
  write("src/two.cpp",
        "#define __global__ static inline\n#include \"../src/kernel.h\"\nint two() { return kWidth; }\n");
  EXPECT_HAS(verdict(), "src/two.cpp, 'two()'");
}

/// A patch of a header, and a plain unit whose preprocessing may fail.
class UnreadUnitTest : public HostProofTest {
 protected:
  void SetUp() override {
    HostProofTest::SetUp();
    write("src/kernel.h",
          "#pragma once\nconstexpr int kWidth = 4;\n__global__ void wide(float* a) {\n  a[0] = 1;\n}\n");
    write("src/one.cu", "#include \"kernel.h\"\nvoid one(float* a) { wide<<<1, 1>>>(a); }\n");
    request.scan->units = {unit("src/one.cu")};
    plain("g++ -c src/two.cpp", "int two() { return 4; }\n");
    slice_lines("src/kernel.h", 2, 5);
    candidate("kWidth = 4", "kWidth = 5");
  }
  void plain(const std::string& command, const std::string& text) {
    write("src/two.cpp", text);
    write("build.json", "[{\"directory\": \"" + root.string() + "\", \"file\": \"src/two.cpp\", \"command\": \"" +
                            command + "\"}]\n");
    request.scan->database = (root / "build.json").string();
  }
  static std::string including(const std::string& before) {
    return before + "#define __global__ static inline\n#include \"kernel.h\"\nint two() { return kWidth; }\n";
  }
};

TEST_F(UnreadUnitTest, AUnitThatCannotBePreprocessedIsNotTakenToReadNothing) {
  EXPECT_PROVEN(verdict());
  plain("g++ -c src/two.cpp", including("#ifndef NEVER_DEFINED\n#error not configured\n#endif\n"));
  EXPECT_HAS(verdict(), "cannot be proven for src/two.cpp");
  EXPECT_HAS(verdict(), "not configured");
  plain("g++ -c src/two.cpp", "#ifndef NEVER_DEFINED\n#error no\n#else\n#include \"kernel.h\"\n#endif\n");
  EXPECT_HAS(verdict(), "cannot be proven for src/two.cpp") << "what it would read is not known";
  request.host.allow_unproven = true;
  EXPECT_PROVEN(verdict());
  EXPECT_HAS(proof_->notes.at(0), "Not proven for src/two.cpp");
}

TEST_F(UnreadUnitTest, AUnitThatAsksForARecentGccIsComparedUnlessClangCompilesIt) {
  const std::string asking = including("#if __GNUC__ < 9\n#error too old\n#endif\n");
  plain("g++ -c src/two.cpp", asking);
  EXPECT_HAS(verdict(), "src/two.cpp, 'two()'");
  plain("clang++ -c src/two.cpp", asking);
  EXPECT_HAS(verdict(), "too old");
}

TEST_F(UnreadUnitTest, AMissingHeaderOfTheApplicationMayReadThePatch) {
  plain("g++ -c src/two.cpp", "#include <no_header_of_the_application.h>\nint two() { return 4; }\n");
  EXPECT_PROVEN(verdict());
  write("generated/all.h", "#include \"../src/kernel.h\"\n");
  plain("g++ -c src/two.cpp", "#include \"all.h\"\nint two() { return 4; }\n");
  EXPECT_HAS(verdict(), "cannot be proven for src/two.cpp");
}

TEST_F(UnreadUnitTest, AnUnreadableCommandOrDatabaseIsUnproven) {
  plain("g++ @gone.rsp -c src/two.cpp", including(""));
  EXPECT_HAS(verdict(), "cannot be proven for src/two.cpp: whether it reads the patch");
  EXPECT_HAS(verdict(), "gone.rsp");
  write("build.json", "[{");
  EXPECT_HAS(verdict(), "build.json");
  std::filesystem::remove(root / "build.json");
  EXPECT_HAS(verdict(), "build.json");
}

TEST_F(HostProofTest, NoConstantOfASwitchOfTheHostIsChanged) {
  const std::string text =
      "constexpr int kMode = 2;\n__global__ void k() {}\n"
      "int chosen(int n) { switch (n) { case kMode: return 1; case 7: return 2; } return 0; }\n";
  write("src/app.cu", text);
  std::string after = text;
  after.replace(after.find("kMode = 2"), 9, "kMode = 3");
  SourcePatch patch;
  patch.changes = {{root / "src/app.cu", "src/app.cu", text, after, false, text, text}};
  auto proof = prove_host_half({request.mep, &*request.scan, patch, request.host});
  ASSERT_FALSE(proof.ok());
  EXPECT_HAS(proof.error().message, "chosen(int)");
}

TEST_F(HostProofTest, ProvesPatchesOfAnApplicationOfManyUnits) {
  namespace fs = std::filesystem;
  fs::copy(fs::path(KERNELIFT_SOURCE_DIR) / "examples/heat", root / "heat", fs::copy_options::recursive);
  std::string database;
  request.scan->units.clear(), request.mep.functions.clear();
  for (auto& file : fs::directory_iterator(root / "heat/src")) {
    std::string name = "heat/src/" + file.path().filename().string();
    if (name.ends_with(".cu"))
      request.scan->units.push_back({(root / name).string(),
                                     root.string(),
                                     {"nvcc", "-O3", "-std=c++17", "-arch=sm_90", "-Iheat/src", "-c", name},
                                     {},
                                     "lean"});
    if (name.ends_with(".cpp"))
      database += std::string(database.empty() ? "" : ",") + "{\"directory\": \"" + root.string() + "\", \"file\": \"" +
                  name + "\", \"command\": \"g++ -std=gnu++17 -Iheat/src -c " + name + "\"}";
  }
  write("build.json", "[" + database + "]");
  request.scan->database = (root / "build.json").string();
  auto patched = [&](const std::string& file, const std::string& what, const std::string& instead, bool knob) {
    std::string before = read(file), after = before;
    after.replace(after.find(what), what.size(), instead);
    SourcePatch patch;
    patch.changes = {{root / file, file, before, after, false, knob ? after : before, knob ? after : before}};
    proof_ = prove_host_half({request.mep, &*request.scan, patch, {}});
    return proof_.ok() ? "" : proof_.error().message;
  };
  EXPECT_PROVEN(patched("heat/src/operator.cuh", "  for (int axis = 0; axis < Dim; ++axis) {\n",
                        "#pragma unroll\n  for (int axis = 0; axis < Dim; ++axis) {\n", false));
  EXPECT_GE(proof_->units, 1u);
  std::printf("host proof: %.2f s for %zu units of an application\n", proof_->seconds, proof_->units);
  EXPECT_PROVEN(patched("heat/src/config.h", "#define BLOCK_X 8", "#define BLOCK_X 16", true));
  std::printf("host proof: %.2f s for %zu units of an application\n", proof_->seconds, proof_->units);
  // The same without declaring it, and a function that the reference on the host uses too.
  EXPECT_HAS(patched("heat/src/config.h", "#define BLOCK_X 8", "#define BLOCK_X 16", false),
             "would change the host program");
  EXPECT_HAS(patched("heat/src/operator.cuh", "return 2.0 * a * b", "return 2.0 * b * a", false),
             "heat/src/reference.cpp, 'double heat::face_conductivity<double>");
}

TEST_F(HostProofTest, AHeaderReachedByAnotherPathIsPatchedThereToo) {
  write("real/kernel.h", "#pragma once\nconstexpr int kWidth = 4;\n__global__ void wide(float* a) {\n  a[0] = 1;\n}\n");
  std::filesystem::create_directory_symlink(root / "real", root / "link");
  write("src/one.cu", "#include \"../link/kernel.h\"\nint one(float* a) { wide<<<1, 1>>>(a); return kWidth; }\n");
  request.scan->units = {unit("src/one.cu")};
  slice_lines("real/kernel.h", 2, 5);
  candidate("kWidth = 4", "kWidth = 5");
  EXPECT_HAS(verdict(), "src/one.cu, 'one(float*)'");
}

TEST_F(HostProofTest, AUnitThatClangCannotCompileIsNotPatchedUnlessAllowed) {
  std::string broken = std::string(kApplication) + "void broken() { undeclared(); }\n";
  write("src/app.cu", broken);
  candidate("a[i] = scaled(a[i])", "a[i] += a[i]");
  std::string why = verdict();
  EXPECT_HAS(why, "clang cannot compile its host half, with the patch or without");
  EXPECT_HAS(why, "undeclared");
  EXPECT_HAS(why, "--allow-unproven-host");
  request.host.allow_unproven = true;
  EXPECT_PROVEN(verdict());
  EXPECT_HAS(proof_->notes.at(0), "Not proven for src/app.cu");
}

TEST_F(HostProofTest, ACompilerThatCrashesIsARefusal) {
  auto proof = in_own_process([]() -> Result<HostProof> { std::abort(); });
  ASSERT_FALSE(proof.ok());
  EXPECT_EQ(proof.error().exit, Exit::Refused);
  EXPECT_HAS(proof.error().message, "the compiler failed on the patch (Aborted)");
  proof = in_own_process([] {
    HostProof made;
    made.units = 3, made.notes = {"one", "two"};
    return Result<HostProof>(made);
  });
  ASSERT_TRUE(proof.ok());
  EXPECT_EQ(proof->notes, (std::vector<std::string>{"one", "two"}));
}

TEST_F(HostProofTest, APatchThatDoesNotCompileForTheHostIsRefusedAlways) {
  request.host = {true, true};
  EXPECT_HAS(behind_the_kernel("constexpr int kWrong = undeclared;\n"), "does not compile with the patch");
}

TEST_F(HostProofTest, AFileThatNoKnownCompileReadsIsNotPatched) {
  request.scan->units.clear();
  candidate("a[i] = scaled(a[i])", "a[i] += a[i]");
  EXPECT_HAS(verdict(), "no compile command is known that reads it");
}

TEST_F(HostProofTest, RefusesOtherBlocksWhereAnotherBuildDefinesTheKernelOtherwise) {
  write("src/app.cu",
        std::string(kApplication) +
            "#ifdef TWO_STEPS\n__global__ void scale(float* a, int n) {\n  __shared__ float s[BLOCK];\n}\n"
            "#endif\n");
  launch_blocks_of(128);
  candidate("blockIdx.x * BLOCK", "blockIdx.x * 128");
  auto patch = plan_patch({request.mep, request.original, request.candidate, &*request.scan, root});
  ASSERT_FALSE(patch.ok());
  EXPECT_NE(patch.error().message.find("src/app.cu:35 defines it once more, in code that this build leaves out"),
            std::string::npos)
      << patch.error().message;
}

}  // namespace
}  // namespace kernelift::reintegrate
