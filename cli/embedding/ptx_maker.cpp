// The candidate is compiled again; then debug information, which names files of this machine, is removed from the PTX,
// a limit of registers is written into it, and its version is lowered.
#include "cli/embedding/ptx_maker.h"

#include <regex>

#include "reintegrate/embed/ptx_text.h"

namespace kernelift::cli {
namespace {

std::string arch_of(const std::string& device) {
  static const std::regex arch(R"(\b(sm_[0-9]+)\b)");
  std::smatch match;
  return device.starts_with("cuda") && std::regex_search(device, match, arch) ? match[1].str() : "";
}

/// The image that our compiler made, if the trial recorded it.
std::optional<ImageIdentity> measured_image(const tuner::RunTrial& trial) {
  const Verdict& figures = trial.figures();
  if (figures.image.clang_identity) return figures.image.clang_identity;
  // Built by the application's compiler, the identity is that of another image.
  return figures.built_by == BuiltBy::Application ? std::nullopt : figures.image.identity;
}

std::string factor(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

std::string reason(const tuner::RunTrial& trial) {
  const Verdict& figures = trial.figures();
  double gain = figures.embedded ? figures.embedded->speedup : 0;
  std::string times = gain > 0 ? factor(gain) + " times as fast as the application's own" : "";
  if (!trial.applicable())
    return "the gain is in how the kernel is compiled (" + trial.candidate.recipe.text() +
           "), for which nvcc has no equivalent" + (gain > 0 ? ": it is " + times : "") + ".";
  std::string ours = gain > 0 ? "code " + times : "faster code";
  if (!figures.ok())
    return "clang generates " + ours + "; nvcc's build of the same source was not accepted (" + name(figures.outcome) +
           ").";
  return "clang generates " + ours + "; from the same source nvcc generates code " + factor(figures.speedup()) +
         " times as fast.";
}

}  // namespace

Result<reintegrate::EmbeddedCode> PtxMaker::operator()(const tuner::RunTrial& trial) {
  std::string arch = arch_of(trial.figures().device);
  if (arch.empty())
    return refused("it was measured on '" + trial.figures().device + "', but embedded code is for NVIDIA GPUs");
  const UnitFlags& flags = trial.candidate.recipe.unit_flags;
  if (!flags.cache_loads.empty())
    return refused("the driver assembles embedded code without " + UnitFlags{.cache_loads = flags.cache_loads}.text());
  if (!baseline_ || arch_ != arch) {
    sandbox::CompilePoolOptions options;
    options.target = sandbox::CompileTarget::Ptx;
    options.frontend.arch = arch;
    options.few = true;
    if (!assembler_) {
      KERNELIFT_ASSIGN(assembler_, PtxAssembler::start());
    }
    KERNELIFT_ASSIGN(baseline_, compile_baseline(mep_, folder_, options));
    arch_ = arch;
  }
  CompileReply reply = baseline_->pool->compile(trial.candidate.source, trial.candidate.recipe);
  if (!reply.ok()) return refused("it no longer compiles to PTX: " + reply.detail);

  reintegrate::EmbeddedCode code;
  code.compiler = std::string("clang ") + KERNELIFT_CLANG_VERSION;
  code.measured_on = trial.figures().device;
  code.origin = "candidate #" + std::to_string(trial.id) + " of " + run_;
  code.why = reason(trial);
  code.ptx = reintegrate::without_debug(reply.image);
  if (flags.most_registers > 0) code.ptx = reintegrate::with_most_registers(code.ptx, flags.most_registers);
  std::string wanted = trial.candidate.launches.empty() ? mep_.kernel_name : trial.candidate.launches[0].kernel;
  code.entry = reintegrate::ptx_kernel(code.ptx, mep_.kernel_mangled);
  if (!trial.candidate.launches.empty() && wanted != mep_.kernel_name) code.entry.clear();
  if (code.entry.empty()) code.entry = reintegrate::ptx_kernel(code.ptx, wanted);
  if (code.entry.empty()) return refused("its PTX contains no kernel, or several, with the name '" + wanted + "'");

  std::optional<ImageIdentity> measured = measured_image(trial);
  std::string image = reply.image;
  auto assembled = (*assembler_)(reply.image, code.ptx, arch, flags.most_registers);
  if (assembled.ok()) {
    image = std::move(assembled->image), code.ptx = std::move(assembled->ptx);
  } else if (assembled.error().exit == Exit::Refused) {
    return std::move(assembled).error();
  } else {
    code.notes.push_back("The version of the embedded PTX could not be lowered for older drivers: " +
                         assembled.error().message);
  }
  if (!measured)
    code.notes.push_back(
        "It could not be checked that the embedded code is the image that was measured: the run does not record which "
        "image that was.");
  else if (*measured != ImageIdentity::of(image))
    return refused(
        "compiled again, it is not the image that was measured (the compiler, assembler or MEP has changed since): "
        "tune "
        "again");
  return code;
}

}  // namespace kernelift::cli
