// A tiny application for the tests: its "kernel" states how long to sleep, and its build turns that into a shell
// script. apply only edits text, runs commands and measures, so no compiler or GPU is needed.
#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "core/base/file.h"
#include "core/base/process.h"
#include "reintegrate/apply.h"
#include "reintegrate/patch/text_diff.h"

namespace kernelift::reintegrate {

inline const char* const kKernelText =
    "#include \"config.h\"\n"
    "// The kernel.\n"
    "__global__ void sleepy(float* a) {\n"
    "\tdelay(0.05);   // ümlaut, tab\n"
    "  a[0] = 1.0;\n"
    "}\n"
    "\n"
    "void host(float* a) { sleepy<<<1, BLOCK>>>(a); }\n";

/// Runs `work` in a child process; true if the child was killed by a signal.
bool is_killed_in(const auto& work) {
  pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status);
}

class Application : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryFolder::create("kernelift-apply");
    ASSERT_TRUE(made.ok());
    folder_.emplace(std::move(*made));
    root = folder_->path() / "app";
    write("src/k.cu", kKernelText);
    write("src/config.h", "#pragma once\n#define BLOCK 64   // threads\n");
    write("build.sh",
          "set -e\nmkdir -p out\n{ echo '#!/bin/sh'; sed -n 's/.*delay(\\([0-9.]*\\)).*/sleep \\1/p' src/k.cu; } > "
          "out/app.new\n"
          "chmod +x out/app.new\nmv out/app.new out/app\n");
    request.root = root;
    request.state = root / ".kernelift";
    request.build = "sh build.sh";
    request.run = "./out/app";
    request.check = "! grep -q wrong src/k.cu";
    request.trial.most_pairs = 6;
    slice();
  }

  /// Makes the MEP's kernel.cu: a line written by the extractor, then lines 1 to 6 of src/k.cu.
  void slice() {
    Mep& mep = request.mep;
    mep.kernel_key = "sleepy(float*)", mep.kernel_name = "sleepy", mep.kernel_id = "1234abcd";
    mep.unit = "src/k.cu", mep.app_root = root.string();
    mep.origins.assign(1, {});
    request.original = "// extracted\n";
    std::string text = read("src/k.cu");
    auto lines = split_lines(text);
    for (uint32_t line = 1; line <= 6 && line <= lines.size(); ++line) {
      mep.origins.push_back({"src/k.cu", line});
      request.original += std::string(lines[line - 1].text) + "\n";
    }
    request.candidate.source = request.original;
  }
  /// Replaces the first `from` in the candidate's text by `to`.
  void candidate(const std::string& from, const std::string& to) {
    size_t at = request.candidate.source.find(from);
    ASSERT_NE(at, std::string::npos);
    request.candidate.source.replace(at, from.size(), to);
  }

  /// For tests that are not about speed: one pair of runs, after which the patch is kept whatever was measured.
  void keep_whatever_is_measured() { request.trial.most_pairs = 1, request.trial.smallest_gain = 1e-9; }

  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((root / name).parent_path());
    std::ofstream(root / name, std::ios::binary) << text;
  }
  std::string read(const std::string& name) const { return *read_text(root / name); }

  std::string shell(const std::string& line) {
    ProcessOptions options;
    options.folder = root;
    auto ran = run_process({"/bin/sh", "-c", line}, options);
    return ran.ok() ? ran->out + ran->err : ran.error().message;
  }
  void make_git() {
    write(".gitignore", "out/\n.kernelift/\n");
    shell(
        "git init -q -b main . && git config user.name T && git config user.email t@localhost && git add -A && git "
        "commit -q -m original");
  }

  std::optional<TemporaryFolder> folder_;
  std::filesystem::path root;
  ApplyRequest request;
};

}  // namespace kernelift::reintegrate
