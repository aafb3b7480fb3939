// See compile_pool.h. Workers are stopped and continued by signals while timings are taken, because signals take effect
// at once, whatever a worker is doing. Time limits count a worker's CPU time, so that pauses and other work on the
// machine do not count.
#include "sandbox/compile/compile_pool.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <future>
#include <thread>

#include "core/base/wire.h"
#include "core/compiler/nvjitlink.h"
#include "core/compiler/paths.h"
#include "core/compiler/recipe_passes.h"
#include "sandbox/compile/compile_worker.h"
#include "sandbox/jail/cpu_time_limit.h"
#include "sandbox/jail/landlock.h"

namespace kernelift::sandbox {
namespace fs = std::filesystem;

namespace {

using namespace std::chrono_literals;
constexpr uint32_t kCompile = 1, kReadable = 2;
constexpr size_t kKeptBytes = 256 << 20;  // Bytes of cached bitcode: thousands of small kernels.
constexpr auto kTick = 20ms;              // How often a waiting call checks for pauses.
constexpr auto kLongestPause = 60s;       // Added to the time in which a worker must receive a request.

CompileReply abandoned() {
  CompileReply reply;
  reply.outcome = Outcome::TimedOut, reply.detail = "abandoned: the run ended before it was compiled";
  return reply;
}

/// The folders that a front end may read: compilers, headers, toolkits. Not home folders, /etc or /proc.
std::vector<fs::path> system_folders() {
  std::vector<fs::path> folders{"/usr", "/lib", "/lib64", "/opt", "/bin", lean_headers(), clang_resource_folder()};
  if (auto toolkit = cuda_toolkit()) folders.push_back(*toolkit);
  std::error_code ignored;
  for (size_t i = 0, count = folders.size(); i < count; ++i)
    if (auto real = fs::canonical(folders[i], ignored); !ignored) folders.push_back(real);
  return folders;
}

}  // namespace

Result<std::unique_ptr<CompilePool>> CompilePool::start(CompilePoolOptions options) {
  if (options.workers == 0) options.workers = std::max(1u, std::thread::hardware_concurrency());
  std::unique_ptr<CompilePool> pool(new CompilePool(std::move(options)));
  KERNELIFT_ASSIGN(auto folder, TemporaryFolder::create("kernelift-compile"));
  pool->folder_.emplace(std::move(folder));
  JailSpec jail;
  jail.kind = JailKind::Compiler;
  jail.readable = without(system_folders(), pool->options_.hidden);
  for (auto& path : without(pool->options_.readable, pool->options_.hidden)) pool->own_readable_.push_back(path);
  pool->readable_ = pool->own_readable_;
  jail.writable = pool->folder_->path();
  jail.extra_memory_bytes = pool->options_.memory_bytes;
  // Copied into the closures, which run in forked processes.
  FrontendOptions frontend = pool->options_.frontend;
  CompileTarget target = pool->options_.target;
  std::function<void()> warm_up;
  if (target == CompileTarget::Cubin) warm_up = [] { (void)open_cubin_compiler().ok(); };
  if (!pool->options_.few) warm_up = [frontend, target] { warm_up_compiler(frontend, target); };
  auto work = [frontend, jail, target](Channel& channel, WorkerCell& cell) {
    // The thread that queues launches on the GPU must not wait for a core.
    constexpr int kYield = 10;
    if (target == CompileTarget::Cubin) (void)!nice(kYield);
    serve_compiles(channel, cell, frontend, jail);
  };
  ForkServer::Plan plan{"kl-compile", warm_up, work};
  plan.scratch = pool->folder_->path(), plan.scratch_bytes = pool->options_.disk_bytes;
  plan.hidden = pool->options_.hidden;
  KERNELIFT_ASSIGN(pool->fork_server_, ForkServer::start(std::move(plan)));
  pool->slots_.resize(pool->options_.workers);
  return pool;
}

CompilePool::~CompilePool() {
  // Workers are ended before the fork server that reaps them.
  slots_.clear();
}

std::string CompilePool::failure_key(const CompileRequest& request, bool everywhere) {
  const bool model = request.target == CompileTarget::Model;
  return (model ? "model\n" : "") + request.recipe.text() + (everywhere ? "" : "\n" + hash_text(request.source).hex());
}

CompilePool::Slot* CompilePool::acquire(uint64_t era) {
  std::unique_lock lock(mutex_);
  while (era >= era_) {
    if (pauses_ == 0)
      for (Slot& slot : slots_)
        if (!slot.busy) {
          slot.busy = true, slot.era = era;
          return &slot;
        }
    free_.wait(lock);
  }
  return nullptr;
}

void CompilePool::release(Slot& slot) {
  std::lock_guard lock(mutex_);
  if (slot.era < era_) slot.worker.reset();  // begin_era() has killed it, perhaps after it had replied.
  slot.busy = false;
  free_.notify_all();
}

void CompilePool::begin_era(uint64_t era) {
  std::lock_guard lock(mutex_);
  era_ = era;
  for (Slot& slot : slots_)
    if (slot.busy && slot.era < era_ && slot.worker) slot.worker->signal(SIGKILL);
  free_.notify_all();
}

void CompilePool::pause() {
  std::lock_guard lock(mutex_);
  if (pauses_++ > 0) return;
  for (Slot& slot : slots_)
    if (slot.busy && slot.worker) slot.worker->signal(SIGSTOP);
}

void CompilePool::resume() {
  std::lock_guard lock(mutex_);
  if (--pauses_ > 0) return;
  for (Slot& slot : slots_)
    if (slot.worker) slot.worker->signal(SIGCONT);
  free_.notify_all();
  resumed_.notify_all();
}

void CompilePool::wait_while_paused() {
  std::unique_lock lock(mutex_);
  resumed_.wait_for(lock, 500ms, [this] { return pauses_ == 0; });
}

std::chrono::milliseconds CompilePool::limit_of(const CompileRequest& request) const {
  // Without the original there is nothing to tune: it gets the default limit even if candidates get less. A further
  // look at a finalist, or at the original for it, must not outlast the search.
  return request.admit || request.looks_only() ? options_.time_limit
                                               : std::max(options_.time_limit, CompilePoolOptions().time_limit);
}

Frame CompilePool::wait_for_reply(Worker& worker, std::chrono::milliseconds limit) {
  using Clock = std::chrono::steady_clock;
  const CpuTimeLimit time_limit(worker.pid(), limit);
  for (Clock::duration waited{};;) {
    auto begin = Clock::now();
    Frame frame = worker.channel().receive(after(kTick));
    if (frame.arrival != Arrival::TimedOut) return frame;
    std::lock_guard lock(mutex_);
    if (pauses_ > 0) continue;
    waited += Clock::now() - begin;
    if (time_limit.is_over(waited)) return frame;
  }
}

CompileReply CompilePool::failed(Slot& slot, const CompileRequest& request, Arrival how) {
  CompileReply reply;
  std::string stage = slot.worker->cell().read_stage(), item = slot.worker->cell().read_item();
  std::string message = slot.worker->cell().read_message();
  // Of what a compile maps, only files that it writes can lack memory behind them: there was no room for them.
  const bool no_room = how == Arrival::Closed && slot.worker->cell().fault.signal == SIGBUS;
  std::string end = slot.worker->end();
  std::string where = stage == "pass" ? "pass " + item : stage + (item.empty() ? "" : ", " + item);
  if (how == Arrival::TimedOut) {
    reply.outcome = Outcome::TimedOut;
    reply.detail = where + ": not done after " + std::to_string(limit_of(request).count()) + " ms";
  } else if (no_room) {
    reply.outcome = Outcome::OverResources;
    reply.detail =
        where + ": what it writes takes more than " + std::to_string(options_.disk_bytes >> 20) + " MiB of disk";
  } else {
    reply.outcome = Outcome::CompileCrashed;
    reply.detail = where + ": " +
                   (how == Arrival::Malformed ? "the worker sent a malformed reply"
                    : message.empty()         ? end
                                              : message);
  }
  // A pipeline or option that crashes the compiler is refused for every source. After a crash with a plain level, or
  // after a compile that only took too long, the recipe is refused for this source only.
  bool everywhere =
      reply.outcome == Outcome::CompileCrashed && (!request.recipe.passes.empty() || !request.recipe.options.empty());
  std::lock_guard lock(mutex_);
  slot.worker.reset();
  ++replaced_;
  if (slot.era < era_) return abandoned();
  // That a way of looking at a candidate crashes the compiler says nothing of compiling it.
  if (request.target != options_.target || request.looks_only()) return reply;
  failures_[failure_key(request, everywhere)] = reply;
  return reply;
}

Result<Worker> CompilePool::spawn() {
  KERNELIFT_ASSIGN(Worker worker, fork_server_->spawn());
  std::unique_lock lock(mutex_);
  const std::vector<std::string> readable = readable_;
  lock.unlock();
  // If it has ended already, the request that follows finds out.
  (void)worker.channel().send(kReadable, WireWriter().texts(readable).take(), {}, after(kLongestPause));
  return worker;
}

CompileReply CompilePool::serve(Slot& slot, const CompileRequest& request) {
  if (!slot.worker) {
    auto worker = spawn();
    if (!worker.ok()) {
      CompileReply reply;
      reply.outcome = Outcome::CompileCrashed, reply.detail = worker.error().message;
      return reply;
    }
    std::lock_guard lock(mutex_);
    slot.worker.emplace(std::move(*worker));
    if (pauses_ > 0) slot.worker->signal(SIGSTOP);
    if (slot.era < era_) slot.worker->signal(SIGKILL);
  }
  // The worker may be paused meanwhile.
  if (!slot.worker->channel().send(kCompile, request.encode(), {}, after(limit_of(request) + kLongestPause)))
    return failed(slot, request, Arrival::Closed);
  Frame frame = wait_for_reply(*slot.worker, limit_of(request));
  std::optional<CompileReply> reply;
  if (frame) reply = decode_reply(frame.body);
  if (!reply) return failed(slot, request, frame ? Arrival::Malformed : frame.arrival);
  if (leaves_traces(request.recipe)) {
    std::lock_guard lock(mutex_);
    slot.worker.reset();
  }
  return std::move(*reply);
}

CompileReply CompilePool::run(const CompileRequest& request, uint64_t era) {
  Slot* slot = acquire(era);
  if (!slot) return abandoned();
  CompileReply reply = serve(*slot, request);
  release(*slot);
  return reply;
}

void CompilePool::may_read(std::vector<std::string> paths) {
  std::lock_guard lock(mutex_);
  readable_ = std::move(paths);
  for (Slot& slot : slots_)
    if (!slot.busy) slot.worker.reset();
}

CompileReply CompilePool::compile_own(const std::string& source) {
  CompileRequest request;
  request.source = source;
  request.target = options_.target;
  request.admit = false;
  may_read(own_readable_);
  CompileReply reply = run(request);
  if (reply.ok() && !reply.files.empty()) may_read(reply.files);
  std::lock_guard lock(mutex_);
  own_ = reply.findings;
  return reply;
}

std::vector<std::string> CompilePool::compile_roundings(const std::string& source, const CompileReply& own) {
  struct Way {
    std::vector<std::string> fast_math = {};
    Fusing fusing = Fusing::AsCompiled;
    bool vectorize = true;
    PartialSums partial_sums = PartialSums::None;
    bool blocks_reversed = false;
  };
  // A compiler that may reassociate does so only where it gains speed, which is seldom on GPUs: the last two ways do it
  // by partial sums.
  const Way ways[] = {{.fast_math = {"contract"}},
                      {.blocks_reversed = true},
                      {.fusing = Fusing::Never},
                      {.fusing = Fusing::First},
                      {.fusing = Fusing::Second},
                      {.fast_math = {"contract", "reassoc", "nsz", "arcp"}},
                      {.vectorize = false},
                      {.fast_math = {"contract"}, .partial_sums = PartialSums::Innermost},
                      {.fast_math = {"contract"}, .partial_sums = PartialSums::Outermost}};
  std::vector<CompileRequest> requests;
  for (auto& way : ways) {
    CompileRequest& request = requests.emplace_back(request_again(source, own));
    request.recipe.fast_math = way.fast_math, request.recipe.vectorize = way.vectorize;
    request.fusing = way.fusing, request.partial_sums = way.partial_sums, request.blocks_reversed = way.blocks_reversed;
  }
  return images_of(requests, own);
}

std::vector<std::string> CompilePool::compile_random_sums(const std::string& source, const CompileReply& own) {
  auto with_seeds = [&](std::initializer_list<uint64_t> seeds) {
    std::vector<CompileRequest> requests;
    for (uint64_t seed : seeds) requests.emplace_back(request_again(source, own)).random_sums = seed;
    return images_of(requests, own);
  };
  std::vector<std::string> images = with_seeds({1});
  if (!images.empty()) std::ranges::move(with_seeds({2, 3}), std::back_inserter(images));
  return images;
}

std::string CompilePool::compile_side_by_side(const std::string& source, const Recipe& recipe,
                                              const CompileReply& own) {
  CompileRequest request = request_again(source, own);
  request.recipe = recipe, request.side_by_side = true;
  CompileReply reply = run(request);
  return reply.ok() ? std::move(reply.image) : std::string();
}

CompileReply CompilePool::compile_checked(const std::string& source, const Recipe& recipe, const CompileReply& own) {
  CompileRequest request = request_again(source, own);
  request.recipe = recipe, request.checked = true, request.target = CompileTarget::Cpu;
  return run(request);
}

CompileReply CompilePool::compile_for_field(const std::string& source, const CompileReply& own, NumberKind numbers) {
  CompileRequest request = request_again(source, own);
  request.field = true, request.numbers = numbers, request.target = CompileTarget::Cpu;
  return run(request);
}

CompileRequest CompilePool::request_again(const std::string& source, const CompileReply& own) {
  if (own.bitcode.empty()) return request_for(source);
  CompileRequest request;
  request.source = source, request.target = options_.target, request.admit = false;
  request.bitcode = own.bitcode;
  return request;
}

std::vector<std::string> CompilePool::images_of(const std::vector<CompileRequest>& requests, const CompileReply& own) {
  std::vector<std::future<CompileReply>> replies;
  for (auto& request : requests)
    replies.push_back(std::async(std::launch::async, [this, &request] { return run(request); }));
  std::vector<std::string> images;
  for (auto& reply : replies) {
    CompileReply made = reply.get();
    if (made.ok() && made.image != own.image && std::find(images.begin(), images.end(), made.image) == images.end())
      images.push_back(std::move(made.image));
  }
  return images;
}

Hash CompilePool::text_key(const std::string& source, const Recipe& recipe) {
  return Hasher().add(source).add(recipe.unit_flags.text()).finish();
}

CompileRequest CompilePool::request_for(const std::string& source, const Recipe& recipe) {
  CompileRequest request;
  request.recipe = recipe;
  request.source = source;
  request.target = options_.target;
  std::lock_guard lock(mutex_);
  request.own = own_;
  if (auto found = kept_.find(text_key(source, recipe)); found != kept_.end()) {
    found->second.used = ++uses_;
    request.bitcode = found->second.bitcode;
  }
  return request;
}

CompileReply CompilePool::compile(const std::string& source, const Recipe& recipe, uint64_t era) {
  CompileRequest request = request_for(source, recipe);
  {
    std::lock_guard lock(mutex_);
    for (bool everywhere : {true, false})
      if (auto found = failures_.find(failure_key(request, everywhere)); found != failures_.end()) {
        CompileReply reply = found->second;
        reply.detail += " (remembered: not tried again)";
        return reply;
      }
  }
  CompileReply reply = run(request, era);
  keep(text_key(source, recipe), reply);
  return reply;
}

Result<KernelModel> CompilePool::model(const std::string& source, const std::string& kernel, const Dim3& block) {
  CompileRequest request = request_for(source);
  request.target = CompileTarget::Model, request.kernel = kernel, request.block = block;
  CompileReply reply = run(request);
  keep(text_key(source, {}), reply);
  if (!reply.ok()) return refused(reply.detail);
  KERNELIFT_ASSIGN(Json json, parse_json(reply.image, "kernel model"));
  return kernel_model_from_json(json, "kernel model");
}

void CompilePool::keep(const Hash& key, const CompileReply& reply) {
  if (reply.bitcode.empty() || reply.outcome == Outcome::Refused) return;
  std::lock_guard lock(mutex_);
  // Only bitcode of admitted sources is cached, so that admission need not be repeated.
  kept_bytes_ += reply.bitcode.size() - kept_[key].bitcode.size();
  kept_[key] = {reply.bitcode, ++uses_};
  while (kept_bytes_ > kKeptBytes && kept_.size() > 1) {
    auto oldest =
        std::min_element(kept_.begin(), kept_.end(), [](auto& a, auto& b) { return a.second.used < b.second.used; });
    kept_bytes_ -= oldest->second.bitcode.size();
    kept_.erase(oldest);
  }
}

}  // namespace kernelift::sandbox
