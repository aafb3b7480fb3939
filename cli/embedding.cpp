// Which version of PTX: LLVM writes a recent one, which an older driver would not take, though nothing in the text needs it.
// So the version is lowered as far as the assembler makes the same machine code of the text; without an assembler it stays.
#include "cli/embedding.h"

#include <regex>

#include "core/model/kernel_key.h"
#include "reintegrate/embed/ptx_text.h"
#include "sandbox/compile/nvcc_image.h"
#include "sandbox/compile/service/cubin.h"
#include "sandbox/evaluate/evaluation_queue.h"

namespace kernelift::cli {
namespace {

/// Those that a driver of CUDA 12.1, the oldest that the launcher can use, might be told to be content with, and up.
constexpr int kPtxVersions[] = {70, 71, 72, 73, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88, 90};

std::string arch_of(const std::string& device) {
  static const std::regex arch(R"(\b(sm_[0-9]+)\b)");
  std::smatch match;
  return device.starts_with("cuda") && std::regex_search(device, match, arch) ? match[1].str() : "";
}

/// What the figures say of the image that our compiler made, as image_id(); 0 if they do not.
double measured_id(const RunTrial& trial) {
  if (double id = trial.counter("clang_image_id")) return id;
  return trial.counter("as_built") != 0 ? 0 : trial.counter("image_id");  // As built by the application's compiler: another image.
}

bool same_code(const Cubin& a, const Cubin& b) {
  if (a.outcome != Outcome::Ok || b.outcome != Outcome::Ok) return false;
  for (auto& name : cubin_kernels(a.image)) {
    std::string key = canonical_key(name);
    if (cubin_code(a.image, key).empty() || cubin_code(a.image, key) != cubin_code(b.image, key)) return false;
  }
  return true;
}

std::string factor(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

std::string reason(const RunTrial& trial) {
  const Verdict& figures = trial.figures();
  double gain = trial.counter("embedded_speedup");
  std::string times = gain > 0 ? factor(gain) + " times as fast as the application's own" : "";
  if (!trial.candidate.recipe.is_default())
    return "the gain is in how the kernel is compiled (" + trial.candidate.recipe.text() + "), which nvcc cannot be told" + (gain > 0 ? ": it is " + times : "") + ".";
  std::string ours = gain > 0 ? "code " + times : "faster code";
  if (!figures.ok()) return "clang makes " + ours + "; nvcc's build of the same source was not accepted (" + name(figures.outcome) + ").";
  return "clang makes " + ours + " of a source of which nvcc makes code " + factor(figures.speedup()) + " times as fast.";
}

}  // namespace

Result<EmbeddedCode> PtxMaker::operator()(const RunTrial& trial) {
  std::string arch = arch_of(trial.figures().device);
  if (arch.empty()) return refused("it was measured on '" + trial.figures().device + "', and embedded code is for NVIDIA GPUs");
  if (!baseline_ || arch_ != arch) {
    CompilePoolOptions options;
    options.target = CompileTarget::Ptx;
    options.frontend.arch = arch;
    options.few = true;
    KERNELIFT_ASSIGN(baseline_, compile_baseline(mep_, folder_, options));
    arch_ = arch;
  }
  CompileReply reply = baseline_->pool->compile(trial.candidate.source, trial.candidate.recipe);
  if (!reply.ok()) return refused("it does not compile to PTX any more: " + reply.detail);

  EmbeddedCode code;
  code.compiler = std::string("clang ") + KERNELIFT_CLANG_VERSION;
  code.measured_on = trial.figures().device;
  code.origin = "candidate #" + std::to_string(trial.id) + " of " + run_;
  code.why = reason(trial);
  code.ptx = without_debug(reply.image);
  std::string wanted = trial.candidate.launches.empty() ? mep_.kernel_name : trial.candidate.launches[0].kernel;
  code.entry = ptx_kernel(code.ptx, mep_.kernel_mangled);
  if (!trial.candidate.launches.empty() && wanted != mep_.kernel_name) code.entry.clear();
  if (code.entry.empty()) code.entry = ptx_kernel(code.ptx, wanted);
  if (code.entry.empty()) return refused("its PTX has no kernel, or several, that could be '" + wanted + "'");

  double measured = measured_id(trial);
  std::string image = reply.image;
  if (auto assembler = open_cubin_compiler(); assembler.ok()) {
    Cubin whole = compile_cubin(reply.image, arch);
    if (whole.outcome != Outcome::Ok) return refused("its PTX is not accepted any more: " + whole.detail);
    image = whole.image;
    bool found = false;
    for (int version : kPtxVersions) {
      if (version > ptx_version(reply.image)) break;
      std::string lowered = with_ptx_version(code.ptx, version);
      if (!same_code(whole, compile_cubin(lowered, arch))) continue;
      code.ptx = std::move(lowered), found = true;
      break;
    }
    if (!found) return refused("without its debug information its PTX becomes other machine code");
  } else {
    code.notes.push_back("The version of the embedded PTX could not be lowered for older drivers: " + assembler.error().message);
  }
  if (measured == 0) code.notes.push_back("That the embedded code is the image that was measured could not be checked: the run does not say which it was.");
  else if (measured != image_id(image))
    return refused("compiled again it is not the image that was measured (another compiler, assembler or MEP since): tune again");
  return code;
}

}  // namespace kernelift::cli
