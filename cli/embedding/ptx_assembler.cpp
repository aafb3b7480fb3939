// Which version of PTX: LLVM writes a recent one, which an older driver would not take, though nothing in the text
// needs it. So the version is lowered as far as the assembler makes the same machine code of the text.
#include "cli/embedding/ptx_assembler.h"

#include "core/compiler/nvcc_image.h"
#include "core/compiler/nvjitlink.h"
#include "core/model/kernel_key.h"
#include "core/toolchain/cubin.h"
#include "reintegrate/embed/ptx_text.h"

namespace kernelift::cli {
namespace {

/// Those that a driver of CUDA 12.1, the oldest that the launcher can use, might be told to be content with, and up.
constexpr int kPtxVersions[] = {70, 71, 72, 73, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88, 90};

/// Frames. A question is three texts, an answer an image and a text, or what is wrong.
enum : uint32_t { kText = 1, kRefused, kNoAssembler };
/// A large kernel's twenty versions take seconds.
constexpr std::chrono::minutes kLimit{2};

bool same_code(const Cubin& a, const Cubin& b) {
  if (a.outcome != Outcome::Ok || b.outcome != Outcome::Ok) return false;
  for (auto& name : cubin_kernels(a.image)) {
    std::string key = canonical_key(name);
    if (cubin_code(a.image, key).empty() || cubin_code(a.image, key) != cubin_code(b.image, key)) return false;
  }
  return true;
}

Result<AssembledPtx> assemble(const std::string& whole, const std::string& plain, const std::string& arch) {
  KERNELIFT_TRY(open_cubin_compiler());
  Cubin wanted = compile_cubin(whole, arch);
  if (wanted.outcome != Outcome::Ok) return refused("its PTX is not accepted any more: " + wanted.detail);
  for (int version : kPtxVersions) {
    if (version > ptx_version(whole)) break;
    std::string lowered = with_ptx_version(plain, version);
    if (same_code(wanted, compile_cubin(lowered, arch))) return AssembledPtx{wanted.image, lowered};
  }
  return refused("without its debug information its PTX becomes other machine code");
}

void work(Channel& channel, WorkerCell&) {
  for (;;) {
    Frame whole = channel.receive(), plain = channel.receive(), arch = channel.receive();
    if (!whole || !plain || !arch) return;
    auto answer = assemble(whole.body, plain.body, arch.body);
    if (answer.ok()) channel.send(kText, answer->image), channel.send(kText, answer->ptx);
    else channel.send(answer.error().exit == Exit::Refused ? kRefused : kNoAssembler, answer.error().message);
  }
}

}  // namespace

Result<PtxAssembler> PtxAssembler::start() {
  PtxAssembler assembler;
  KERNELIFT_ASSIGN(assembler.fork_server_, ForkServer::start({"kl-ptx", {}, work}));
  return assembler;
}

Result<AssembledPtx> PtxAssembler::operator()(const std::string& whole, const std::string& plain,
                                              const std::string& arch) {
  if (!worker_) {
    KERNELIFT_ASSIGN(Worker worker, fork_server_->spawn());
    worker_.emplace(std::move(worker));
  }
  Channel& channel = worker_->channel();
  bool asked = true;
  for (auto text : {&whole, &plain, &arch}) asked = asked && channel.send(kText, *text, {}, after(kLimit));
  const Deadline limit = after(kLimit);
  Frame first = asked ? channel.receive(limit) : Frame();
  if (first && first.type == kRefused) return refused(first.body);
  if (first && first.type == kNoAssembler) return environment_error(first.body);
  if (Frame second = first ? channel.receive(limit) : Frame(); second)
    return AssembledPtx{std::move(first.body), std::move(second.body)};
  std::string end = worker_->end();
  worker_.reset();
  return refused(first.arrival == Arrival::TimedOut ? "NVIDIA's assembler did not come to an end with its PTX"
                                                    : "NVIDIA's assembler did not survive its PTX: " + end);
}

}  // namespace kernelift::cli
