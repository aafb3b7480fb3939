// LLVM writes a recent PTX version, which an older driver rejects even if the text does not need it. So the version is
// lowered as far as the assembler still produces the same machine code.
#include "cli/embedding/ptx_assembler.h"

#include "core/compiler/nvcc_image.h"
#include "core/compiler/nvjitlink.h"
#include "core/model/kernel_key.h"
#include "core/toolchain/cubin.h"
#include "reintegrate/embed/ptx_text.h"

namespace kernelift::cli {
namespace {

/// PTX versions to try, lowest first. The oldest driver that the launcher supports is that of CUDA 12.1.
constexpr int kPtxVersions[] = {70, 71, 72, 73, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88, 90};

/// Types of frames. A request is four texts; the reply is an image and a text, or an error message.
enum : uint32_t { kText = 1, kRefused, kNoAssembler };
/// Time limit of a request; assembling twenty versions of a large kernel takes seconds.
constexpr std::chrono::minutes kLimit{2};

/// Registers are no part of the code: they are reserved when it is launched.
bool same_code(const Cubin& a, const Cubin& b) {
  if (a.outcome != Outcome::Ok || b.outcome != Outcome::Ok) return false;
  for (auto& name : cubin_kernels(a.image)) {
    std::string key = canonical_key(name);
    if (cubin_code(a.image, key).empty() || cubin_code(a.image, key) != cubin_code(b.image, key)) return false;
    auto one = a.kernels.find(name), other = b.kernels.find(name);
    if (one == a.kernels.end() || other == b.kernels.end() || one->second.registers != other->second.registers)
      return false;
  }
  return true;
}

Result<AssembledPtx> assemble(const std::string& whole, const std::string& plain, const std::string& arch,
                              int most_registers) {
  Cubin wanted = compile_cubin(whole, arch, assembler_options({.most_registers = most_registers}));
  if (wanted.outcome != Outcome::Ok) return refused("its PTX is no longer accepted: " + wanted.detail);
  for (int version : kPtxVersions) {
    if (version > reintegrate::ptx_version(whole)) break;
    std::string lowered = reintegrate::with_ptx_version(plain, version);
    if (same_code(wanted, compile_cubin(lowered, arch))) return AssembledPtx{wanted.image, lowered};
  }
  return refused("without debug information" + std::string(most_registers > 0 ? " and options" : "") +
                 " its PTX assembles to different machine code");
}

/// Its text comes from a candidate, and the assembler is a large parser.
Status prepare(sandbox::WorkerCell& cell) {
  sandbox::report_faults_to(&cell.fault);
  KERNELIFT_TRY(open_cubin_compiler());
  sandbox::JailSpec jail;
  jail.kind = sandbox::JailKind::Compiler;
  return enter_jail(jail);
}

void work(sandbox::Channel& channel, sandbox::WorkerCell& cell) {
  const Status ready = prepare(cell);
  for (;;) {
    sandbox::Frame whole = channel.receive(), plain = channel.receive(), arch = channel.receive(),
                   registers = channel.receive();
    if (!whole || !plain || !arch || !registers) return;
    auto answer = ready.ok() ? assemble(whole.body, plain.body, arch.body, std::atoi(registers.body.c_str()))
                             : Result<AssembledPtx>(ready.error());
    if (answer.ok()) channel.send(kText, answer->image), channel.send(kText, answer->ptx);
    else channel.send(answer.error().exit == Exit::Refused ? kRefused : kNoAssembler, answer.error().message);
  }
}

}  // namespace

Result<PtxAssembler> PtxAssembler::start() {
  PtxAssembler assembler;
  KERNELIFT_ASSIGN(assembler.fork_server_, sandbox::ForkServer::start({"kl-ptx", {}, work}));
  return assembler;
}

Result<AssembledPtx> PtxAssembler::operator()(const std::string& whole, const std::string& plain,
                                              const std::string& arch, int most_registers) {
  if (!worker_) {
    KERNELIFT_ASSIGN(sandbox::Worker worker, fork_server_->spawn());
    worker_.emplace(std::move(worker));
  }
  sandbox::Channel& channel = worker_->channel();
  bool sent = true;
  const std::string registers = std::to_string(most_registers);
  for (auto text : {&whole, &plain, &arch, &registers})
    sent = sent && channel.send(kText, *text, {}, sandbox::after(kLimit));
  const sandbox::Deadline limit = sandbox::after(kLimit);
  sandbox::Frame first = sent ? channel.receive(limit) : sandbox::Frame();
  if (first && first.type == kRefused) return refused(first.body);
  if (first && first.type == kNoAssembler) return environment_error(first.body);
  if (sandbox::Frame second = first ? channel.receive(limit) : sandbox::Frame(); second)
    return AssembledPtx{std::move(first.body), std::move(second.body)};
  std::string end = worker_->end();
  worker_.reset();
  return refused(first.arrival == sandbox::Arrival::TimedOut
                     ? "NVIDIA's assembler did not finish its PTX within two minutes"
                     : "NVIDIA's assembler crashed on its PTX: " + end);
}

}  // namespace kernelift::cli
