// See archive.h.
#include "extractor/record/archive.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "extractor/record/process_rank.h"

namespace fs = std::filesystem;

namespace kernelift::record {
namespace {

constexpr uint64_t kDiskReserve = uint64_t(256) << 20;  ///< Bytes of disk that a capture never takes.
constexpr size_t kMostOmissions = 200;
constexpr int kMostFolders = 100;  ///< Of one process id.

std::vector<std::string> own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    words.emplace_back(text.c_str() + at);
    at += words.back().size() + 1;
  }
  return words;
}

/// Since this process was started, by the kernel's own clock (10 ms fine): a profile's shares are of the whole run.
double seconds_since_process_start() {
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  constexpr int kFieldsToStart = 19;  // proc(5): state is the first after the name, starttime the twentieth.
  for (int i = 0; i < kFieldsToStart; ++i) fields >> skipped;
  double start_ticks = 0;
  fields >> start_ticks;
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9 - start_ticks / double(sysconf(_SC_CLK_TCK));
}

std::string bytes_text(uint64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

}  // namespace

NoFileSizeSignal::NoFileSizeSignal() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGXFSZ);
  blocked_ = sigprocmask(SIG_BLOCK, &signals_, &before_) == 0;
}

NoFileSizeSignal::~NoFileSizeSignal() {
  if (!blocked_ || sigismember(&before_, SIGXFSZ)) return;
  timespec now{};
  while (sigtimedwait(&signals_, nullptr, &now) > 0) {}
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

Archive::Archive(const std::string& parent) {
  std::string name = parent + "/process-" + std::to_string(getpid());
  folder_ = name;
  std::error_code code;
  // Two nodes, or two containers, may have processes of one id.
  for (int i = 2; i < kMostFolders && !fs::create_directory(folder_, code) && !code; ++i)
    folder_ = name + "-" + std::to_string(i);
}

bool Archive::open() {
  if (stopped_) return false;
  if (writer_) return true;
  auto writer = CaptureWriter::create(folder_);
  if (!writer.ok()) {
    stop("everything", writer.error().message);
    return false;
  }
  writer_ = std::move(*writer);
  return true;
}

void Archive::stop(const std::string& after, const std::string& why) {
  if (!stopped_) omit(after, why);
  stopped_ = true;
}

std::string Archive::mark_of_kernel(const std::string& identity) {
  constexpr size_t kDigits = 4;
  // Two kernels may agree in everything that is known of them; they are distinguished by the order in which they came.
  for (std::string text = identity;; text += "'") {
    std::string digits = hash_text(text).hex();
    for (size_t length = kDigits; length <= digits.size(); ++length)
      if (auto [mark, fresh] = marks_.insert(digits.substr(0, length)); fresh) return *mark;
  }
}

std::string instance_id(const std::string& mark, uint64_t launch) {
  char number[32];
  std::snprintf(number, sizeof number, "-%04llu", static_cast<unsigned long long>(launch));
  return mark + number;
}

std::string launch_text(const std::string& key, uint64_t launch) {
  return "launch " + std::to_string(launch) + " of " + key;
}

bool changes_memory(const CapturedInstance& instance) {
  auto changed = [](auto& memory) { return memory.before != memory.after; };
  return std::ranges::any_of(instance.regions, changed) || std::ranges::any_of(instance.variables, changed);
}

uint64_t instance_bytes(const CapturedInstance& instance) {
  uint64_t bytes = 0;
  for (auto& region : instance.regions) bytes += region.before.size;
  for (auto& variable : instance.variables) bytes += variable.before.size;
  return bytes;
}

void Archive::omit(std::string what, std::string why) {
  bool known =
      std::any_of(omissions_.begin(), omissions_.end(), [&](auto& o) { return o.what == what && o.why == why; });
  if (!known && omissions_.size() < kMostOmissions) omissions_.push_back({std::move(what), std::move(why)});
}

bool Archive::has_room(const std::string& what, const std::vector<ReachedRegion>& regions, uint64_t more_bytes,
                       uint64_t most_bytes) {
  uint64_t total = more_bytes;
  const ReachedRegion* biggest = nullptr;
  for (auto& region : regions) {
    total += region.size;
    if (!biggest || region.size > biggest->size) biggest = &region;
  }
  if (total > most_bytes) {
    omit(what,
         "it can reach " + bytes_text(total) + " of memory" +
             (biggest ? ", most of it " + bytes_text(biggest->size) + " by " + biggest->reached_from.text() : "") +
             ", more than the " + bytes_text(most_bytes) + " that one instance may take; raise --mib");
    return false;
  }
  struct statvfs disk{};
  if (statvfs(folder_.c_str(), &disk) != 0) return true;
  uint64_t left = uint64_t(disk.f_bavail) * disk.f_frsize;
  std::string where = "the disk that holds " + folder_;
  if (left < kDiskReserve)
    stop("everything from " + what, where + " has less than " + bytes_text(kDiskReserve) + " left");
  // Before and after; that images compress is not known yet.
  else if (total > (left - kDiskReserve) / 2)
    omit(what, where + " has " + bytes_text(left) + " left, and its images may take " + bytes_text(2 * total));
  else return true;
  return false;
}

void Archive::write_manifest(CaptureInfo info, double own_seconds, bool complete) {
  // After writing was switched off the manifest is still tried: it says why.
  if (!writer_ && !open()) return;
  info.command = own_command();
  info.rank = rank_from_environment();
  std::error_code code;
  info.folder = fs::current_path(code).string();
  info.run_seconds = std::max(0.0, seconds_since_process_start() - own_seconds);
  info.recorder_seconds = own_seconds;
  info.complete = complete;
  info.omissions = omissions_;
  if (auto status = writer_->finish(info); !status.ok()) stop("the manifest", status.error().message);
}

}  // namespace kernelift::record
