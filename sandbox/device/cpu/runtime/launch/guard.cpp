// How a fault becomes an error without unwinding: the signal handler, on its alternate stack, changes the interrupted
// context so that the faulting thread goes on in resume_in_trap(), as if the kernel had called it. resume_in_trap()
// calls the executor's trap service, which abandons the block the way __trap() does. If the fault was the stack's own
// end, resume_in_trap() gets an emergency stack. Every block (or fiber) is entered through enter_block(), which leaves
// a mark at the base of its stack: the handler walks up from the interrupted stack pointer to it, and so knows the
// block even where fibers of several blocks take turns on one OS thread. That costs about 2 ns a block, and nothing
// else when nothing faults.
#include "sandbox/device/cpu/runtime/launch/guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "sandbox/device/cpu/block_context.h"
#include "sandbox/device/cpu/runtime/memory/ranges.h"

namespace kernelift::cudart {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr size_t kSignalCount = std::size(kSignals);
constexpr size_t kAlternateStack = 64 << 10, kEmergencyStack = 64 << 10, kRedZone = 128;
constexpr uint64_t kGuardPage = 4096;

struct Fault {
  int signal = 0, code = 0;
  uint64_t address = 0;
  bool overflow = false;
  uint32_t block[3] = {};
};

std::atomic<bool> active{false};
std::atomic<void (*)(kl_block*)> real_run{nullptr};
std::atomic_flag fault_taken = ATOMIC_FLAG_INIT;  ///< The first faulting thread describes the fault.
Fault fault;
struct sigaction previous[kSignalCount];

/// At the base of every stack that runs device code. `self` and the launch's number tell it from stale bytes.
struct StackMark {
  const volatile StackMark* self;
  uint64_t launch;
  kl_block* block;
};
constexpr size_t kMostStack = 64 << 20;  ///< The handler looks no further for a mark.
std::atomic<uint64_t> launch_number{0};

/// What the handler must know of an OS thread. Plain data, so that it may read it.
struct ThreadNote {
  uint64_t launch = 0;  ///< The last launch whose device code ran here.
  char* emergency = nullptr;
  bool prepared = false, chaining = false;
};
__attribute__((tls_model("initial-exec"))) thread_local ThreadNote note;

/// For what reads and writes raw stacks: AddressSanitizer moves marked variables to a heap of its own, and forbids
/// reading what lies between variables. Where the sanitizer watches nothing this means nothing.
#define KL_RAW_STACK __attribute__((no_sanitize("address")))

void prepare_thread() {
  note.prepared = true;
  stack_t current = {};
  constexpr int kProtection = PROT_READ | PROT_WRITE, kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* stacks = mmap(nullptr, kAlternateStack + kEmergencyStack, kProtection, kFlags, -1, 0);
  if (stacks == MAP_FAILED) return;
  note.emergency = static_cast<char*>(stacks) + kAlternateStack;
  if (sigaltstack(nullptr, &current) == 0 && (current.ss_flags & SS_DISABLE)) {
    stack_t alternate = {};
    alternate.ss_sp = stacks;
    alternate.ss_size = kAlternateStack;
    sigaltstack(&alternate, nullptr);
  }
}

KL_RAW_STACK void enter_block(kl_block* block) {
  if (!note.prepared) prepare_thread();
  volatile StackMark mark;
  mark.self = &mark;
  mark.launch = note.launch = launch_number.load(std::memory_order_relaxed);
  mark.block = block;
  real_run.load(std::memory_order_relaxed)(block);
  mark.self = nullptr;
}

/// Asks the kernel, which reads the address before it rejects the rest of a nonsensical call.
bool is_readable(uint64_t address) {
  int saved = errno;
  constexpr int kNoSuchOperation = ~0;
  syscall(SYS_rt_sigprocmask, kNoSuchOperation, address, nullptr, sizeof(uint64_t));
  bool readable = errno != EFAULT;
  errno = saved;
  return readable;
}

/// The block whose stack holds `stack_pointer`; null if there is no mark above it: then the executor itself crashed.
/// After an overflow the first pages are the guard.
KL_RAW_STACK kl_block* block_of_stack(uint64_t stack_pointer) {
  uint64_t launch = launch_number.load(std::memory_order_relaxed);
  uint64_t at = (stack_pointer + 7) & ~uint64_t(7);
  for (bool reached_stack = false; at < stack_pointer + kMostStack; at = (at / kGuardPage + 1) * kGuardPage) {
    if (!is_readable(at)) {
      if (reached_stack) return nullptr;
      continue;
    }
    reached_stack = true;
    // A mark is followed by its stack's frame, so one that begins in this page can be read whole.
    for (uint64_t word = at; word < (at / kGuardPage + 1) * kGuardPage; word += 8) {
      auto* mark = reinterpret_cast<const volatile StackMark*>(word);
      if (mark->self == mark && mark->launch == launch) return mark->block;
    }
  }
  return nullptr;
}

/// Where a faulting thread goes on.
[[noreturn]] void resume_in_trap(kl_block* block, uint32_t linear) {
  (*block->launch).services->trap(block, linear);
  __builtin_trap();
}

void forward_signal(int signal, siginfo_t* info, void* context) {
  size_t index = 0;
  while (kSignals[index] != signal) ++index;
  const struct sigaction& before = previous[index];
  bool handled = before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN && !note.chaining;
  if (!handled) {  // The fault comes again and does what it would have done without us.
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, nullptr);
    return;
  }
  note.chaining = true;
  if (before.sa_flags & SA_SIGINFO) before.sa_sigaction(signal, info, context);
  else before.sa_handler(signal);
  note.chaining = false;
}

void on_signal(int signal, siginfo_t* info, void* raw_context) {
  bool from_hardware = info->si_code > 0;  // Not kill() or raise().
  bool in_launch =
      active.load(std::memory_order_acquire) && note.launch == launch_number.load(std::memory_order_relaxed);
  if (!in_launch || !from_hardware) return forward_signal(signal, info, raw_context);
  auto* context = static_cast<ucontext_t*>(raw_context);
  uint64_t stack = uint64_t(context->uc_mcontext.gregs[REG_RSP]);
  kl_block* block = block_of_stack(stack);
  if (!block) return forward_signal(signal, info, raw_context);
  uint64_t address = reinterpret_cast<uint64_t>(info->si_addr);
  // A fault close to the stack pointer is the stack's guard page: there is no room to go on there.
  bool overflow = signal == SIGSEGV && address + 16 * kGuardPage > stack && address < stack + kGuardPage;
  if (!fault_taken.test_and_set()) {
    fault.signal = signal;
    fault.code = info->si_code;
    fault.address = address;
    fault.overflow = overflow;
    fault.block[0] = block->ctaid_x;
    fault.block[1] = block->ctaid_y;
    fault.block[2] = block->ctaid_z;
  }
  if (overflow && note.emergency) stack = reinterpret_cast<uint64_t>(note.emergency) + kEmergencyStack;
  stack = (stack - kRedZone) & ~uint64_t(15);
  context->uc_mcontext.gregs[REG_RSP] = greg_t(stack - 8);  // As after a call.
  context->uc_mcontext.gregs[REG_RIP] = greg_t(reinterpret_cast<uint64_t>(&resume_in_trap));
  context->uc_mcontext.gregs[REG_RDI] = greg_t(reinterpret_cast<uint64_t>(block));
  context->uc_mcontext.gregs[REG_RSI] = greg_t(block->current ? block->current->linear : 0);
}

/// Installs our handlers, keeping what was there; again whenever the application has replaced them.
void install_handlers() {
  for (size_t i = 0; i < kSignalCount; ++i) {
    struct sigaction now = {};
    sigaction(kSignals[i], nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_signal) {
      if (i == 0) return;  // SIGSEGV is ours still: taken as a sign for all, to save system calls.
      continue;
    }
    previous[i] = now;
    struct sigaction ours = {};
    ours.sa_sigaction = on_signal;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&ours.sa_mask);
    sigaction(kSignals[i], &ours, nullptr);
  }
}

/// "an address 96 bytes past a 4096-byte allocation at 0x200800000000"
std::string describe_address(uint64_t address) {
  char text[200];
  MemoryRange own = classify(reinterpret_cast<const void*>(address));
  MemoryRange before;
  // The guard behind a large allocation is one page; the gap behind a small one is shorter.
  for (uint64_t back = 1; back <= 2 * kGuardPage && before.size == 0 && own.size == 0; back *= 2) {
    MemoryRange near = classify(reinterpret_cast<const void*>(address - back));
    if (near.size > 0) before = near;
  }
  if (address < kGuardPage) std::snprintf(text, sizeof text, "address 0x%" PRIx64 ", a null pointer", address);
  else if (before.size > 0)
    std::snprintf(text, sizeof text,
                  "address 0x%" PRIx64 ", %" PRIu64 " bytes past the end of a %" PRIu64
                  "-byte allocation at 0x%" PRIx64,
                  address, address - (before.begin + before.size), before.size, before.begin);
  else if (own.kind == MemoryClass::Dead)
    std::snprintf(text, sizeof text, "address 0x%" PRIx64 ", device memory that is not allocated (freed?)", address);
  else std::snprintf(text, sizeof text, "address 0x%" PRIx64, address);
  return text;
}

void describe(GuardedOutcome& outcome) {
  char where[80];
  std::snprintf(where, sizeof where, ", block (%u,%u,%u)", fault.block[0], fault.block[1], fault.block[2]);
  outcome.fault_signal = fault.signal;
  outcome.error = cudaErrorLaunchFailure;
  if (fault.signal == SIGFPE) {
    outcome.detail = "integer division by zero or overflow";
  } else if (fault.signal == SIGILL) {
    outcome.error = cudaErrorIllegalInstruction;
    outcome.detail = "illegal instruction";
  } else if (fault.overflow) {
    outcome.error = cudaErrorIllegalAddress;
    outcome.detail = "a thread's stack overflowed (endless recursion, or very large local arrays)";
  } else if (fault.signal == SIGSEGV && fault.code == SI_KERNEL) {
    outcome.error = cudaErrorIllegalAddress;
    outcome.detail = "illegal memory access at a misaligned or impossible address";
  } else {
    outcome.error = cudaErrorIllegalAddress;
    outcome.detail = "illegal memory access at " + describe_address(fault.address);
  }
  outcome.detail += where;
}

}  // namespace

GuardedOutcome launch_guarded(const kl_kernel& kernel, const Geometry& geometry, const void* arguments,
                              const cpu::LaunchOptions& options) {
  GuardedOutcome outcome;
  install_handlers();
  fault_taken.clear();
  fault = {};
  kl_kernel guarded = kernel;
  guarded.run = enter_block;
  real_run.store(kernel.run, std::memory_order_relaxed);
  launch_number.fetch_add(1, std::memory_order_relaxed);
  active.store(true, std::memory_order_release);
  outcome.launch = cpu::launch(guarded, geometry, arguments, options);
  active.store(false, std::memory_order_release);
  if (fault.signal != 0) describe(outcome);
  return outcome;
}

}  // namespace kernelift::cudart
