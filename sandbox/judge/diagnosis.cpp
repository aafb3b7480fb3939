// See diagnosis.h. The thresholds are rules of thumb for when a piece of advice is worth giving; each has its reason.
#include "sandbox/judge/diagnosis.h"

#include "core/model/launch/limits.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace kernelift::sandbox {
namespace {

constexpr double kAtRoof = 0.80;          ///< Share of a roof from which only less traffic or arithmetic helps.
constexpr double kNearRoof = 0.60;        ///< Share of a roof from which the kernel is called bound by it.
constexpr double kLowOccupancy = 0.35;    ///< Below this, too few warps are resident to hide latency.
constexpr double kScattered = 8;          ///< Sectors per request; a warp of floats needs 4, of doubles 8.
constexpr double kDiverged = 24;          ///< Active threads per instruction, of 32.
constexpr double kMattersOfStalls = 0.2;  ///< Share of all stall cycles from which a stall reason is named.
constexpr double kDoubleInSingle = 0.05;  ///< Share of fp64 in floating-point instructions that looks unintended.

[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...) {
  char line[400];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  return line;
}

std::string rate(double per_second, const char* unit) {
  if (per_second >= 1e12) return text("%.2f T%s/s", per_second / 1e12, unit);
  return text("%.0f G%s/s", per_second / 1e9, unit);
}

std::string amount(double bytes) {
  if (bytes >= 1e9) return text("%.2f GB", bytes / 1e9);
  if (bytes >= 1e6) return text("%.1f MB", bytes / 1e6);
  return text("%.1f kB", bytes / 1e3);
}

std::string duration(double seconds) {
  return seconds >= 1e-3 ? text("%.3f ms", seconds * 1e3) : text("%.2f us", seconds * 1e6);
}

std::vector<Roof> roofs_of(const KernelFacts& facts) {
  std::vector<Roof> roofs;
  auto add = [&](const char* name, std::optional<double> amount, std::optional<double> peak) {
    if (!amount || !peak || *peak <= 0 || facts.seconds <= 0) return;
    double seconds = *amount / *peak;
    roofs.push_back({name, seconds, seconds / facts.seconds});
  };
  std::optional<double> dram;
  if (facts.dram_read_bytes && facts.dram_written_bytes) dram = *facts.dram_read_bytes + *facts.dram_written_bytes;
  add("DRAM", dram, facts.peaks.dram_bytes);
  add("L2", facts.l2_bytes, facts.peaks.l2_bytes);
  add("fp32 arithmetic", facts.fp32_operations, facts.peaks.fp32_operations);
  add("fp64 arithmetic", facts.fp64_operations, facts.peaks.fp64_operations);
  if (facts.tensor_active)
    roofs.push_back({"tensor pipes", *facts.tensor_active * facts.seconds, *facts.tensor_active});
  std::sort(roofs.begin(), roofs.end(), [](auto& a, auto& b) { return a.share > b.share; });
  return roofs;
}

/// A stall reason, what it means, and the usual remedy.
struct Reason {
  const char *key, *means, *remedy;
};
constexpr Reason kReasons[] = {
    {"long_scoreboard", "global or local memory",
     "put more independent loads in flight per thread (unroll, load ahead, wider vectors) or keep reused data in "
     "shared memory"},
    {"short_scoreboard", "shared memory or special functions",
     "look for bank conflicts, keep values in registers, use fewer special functions"},
    {"barrier", "other warps at a barrier", "use fewer barriers or smaller blocks, or balance the work between warps"},
    {"math_pipe_throttle", "a busy arithmetic pipe",
     "do less arithmetic, or move some of it to another pipe or precision"},
    {"lg_throttle", "a full queue of global memory instructions", "use fewer and wider loads and stores (float4)"},
    {"mio_throttle", "a full queue of shared-memory and special instructions",
     "use wider shared-memory accesses and fewer special functions or shuffles"},
    {"wait", "a fixed latency of the instruction before", "give each thread more independent work"},
    {"no_instruction", "instructions to be fetched", "shorten the code: unroll less, branch less"},
    {"branch_resolving", "branches to be resolved", "replace branches by arithmetic or predication"},
    {"imc_miss", "constants not in cache", "index constants uniformly across the warp, or pass fewer of them"},
    {"membar", "memory fences", "use fewer or narrower fences"},
    {"tex_throttle", "a full queue of texture instructions", "fetch less by texture, or wider"},
    {"sleeping", "its own sleep instruction", "look at the spin loop"},
    {"drain", "its last stores", "let each block do more work"},
    {"dispatch_stall", "the dispatcher", "look for conflicts in register banks"},
};

void judge_roofs(const KernelFacts& facts, const std::vector<Roof>& roofs, std::vector<std::string>& findings) {
  if (roofs.empty()) return;
  const Roof& top = roofs.front();
  if (top.share >= kAtRoof)
    findings.push_back(
        text("It runs at %.0f %% of the %s roof (at least %s, measured %s): only reducing that makes it faster.",
             top.share * 100, top.name.c_str(), duration(top.seconds).c_str(), duration(facts.seconds).c_str()));
  else if (top.share >= kNearRoof)
    findings.push_back(text("It is bound by %s, at %.0f %% of that roof (at least %s, measured %s).", top.name.c_str(),
                            top.share * 100, duration(top.seconds).c_str(), duration(facts.seconds).c_str()));
  else
    findings.push_back(
        text("It is far from every roof (highest: %s at %.0f %%, %s of %s): latency or too little parallel "
             "work holds it back.",
             top.name.c_str(), top.share * 100, duration(top.seconds).c_str(), duration(facts.seconds).c_str()));
}

void judge_parallelism(const KernelFacts& facts, std::vector<std::string>& findings) {
  uint64_t blocks = facts.geometry.grid.count();
  if (facts.multiprocessors > 0 && blocks < static_cast<uint64_t>(facts.multiprocessors)) {
    findings.push_back(text("Its %llu blocks leave %llu of %d multiprocessors idle: use more and smaller blocks.",
                            static_cast<unsigned long long>(blocks),
                            static_cast<unsigned long long>(facts.multiprocessors - blocks), facts.multiprocessors));
  } else if (facts.multiprocessors > 0 && facts.resident_blocks && *facts.resident_blocks > 0) {
    double waves = double(blocks) / (double(*facts.resident_blocks) * facts.multiprocessors);
    double full = waves - static_cast<uint64_t>(waves);
    if (waves > 1 && waves < 4 && full > 0 && full < 0.5)
      findings.push_back(
          text("Its blocks make %.1f waves, and the last one leaves most of the GPU idle: other block sizes "
               "divide the work better.",
               waves));
  }
  if (facts.geometry.block.count() % kWarpSize)
    findings.push_back(text("%llu threads per block are not a multiple of 32: the last warp of each is partly idle.",
                            static_cast<unsigned long long>(facts.geometry.block.count())));
  double occupancy = facts.occupancy.value_or(facts.occupancy_limit.value_or(1));
  if (occupancy < kLowOccupancy) {
    std::string why;
    if (facts.limited_by == "registers" && facts.registers)
      why = text(", limited by %d registers per thread", *facts.registers);
    else if (facts.limited_by == "shared memory" && facts.shared_bytes)
      why = text(", limited by %llu bytes of shared memory per block",
                 static_cast<unsigned long long>(*facts.shared_bytes));
    else if (!facts.limited_by.empty()) why = ", limited by " + facts.limited_by;
    findings.push_back(text("Occupancy is %.0f %%%s.", occupancy * 100, why.c_str()));
  }
}

void judge_stalls(const KernelFacts& facts, std::vector<std::string>& findings) {
  double all = 0;
  for (auto& [reason, cycles] : facts.stalls)
    if (reason != "selected") all += cycles;
  if (all <= 0) return;
  const Reason* worst = nullptr;
  double most = 0;
  for (auto& reason : kReasons) {
    auto found = facts.stalls.find(reason.key);
    if (found != facts.stalls.end() && found->second > most) most = found->second, worst = &reason;
  }
  if (worst && most / all >= kMattersOfStalls)
    findings.push_back(text("Warps wait mostly for %s (%.0f %% of their waiting): %s.", worst->means, most / all * 100,
                            worst->remedy));
}

void judge_accesses(const KernelFacts& facts, std::vector<std::string>& findings) {
  if (facts.local_bytes && *facts.local_bytes > 0)
    findings.push_back(text("Each thread uses %llu bytes of local memory (spills or arrays indexed at run time).",
                            static_cast<unsigned long long>(*facts.local_bytes)));
  auto scattered = [&](const char* what, std::optional<double> sectors) {
    if (sectors && *sectors > kScattered)
      findings.push_back(
          text("Global %s touch %.1f sectors of 32 bytes per warp, where neighbouring floats need 4: let "
               "neighbouring threads use neighbouring addresses.",
               what, *sectors));
  };
  scattered("loads", facts.sectors_per_load);
  scattered("stores", facts.sectors_per_store);
  if (facts.shared_conflicts && facts.shared_wavefronts && *facts.shared_wavefronts > 0 &&
      *facts.shared_conflicts / *facts.shared_wavefronts > 0.25)
    findings.push_back(text("%.0f %% of its shared-memory work are bank conflicts: pad the rows or change the layout.",
                            *facts.shared_conflicts / *facts.shared_wavefronts * 100));
  if (facts.threads_per_instruction && *facts.threads_per_instruction < kDiverged)
    findings.push_back(text("On average %.1f of 32 threads take part in an instruction: branches diverge within warps.",
                            *facts.threads_per_instruction));
  auto of = [&](const char* name) {
    auto found = facts.instructions.find(name);
    return found == facts.instructions.end() ? 0.0 : found->second;
  };
  double single = of("fp32"), twice = of("fp64");
  if (single > 0 && twice / (single + twice) > kDoubleInSingle && twice < single)
    findings.push_back(
        text("%.0f %% of its floating-point instructions are double precision, the others single: look for "
             "literals without an f and for pow, sqrt or exp on doubles.",
             twice / (single + twice) * 100));
}

}  // namespace

Diagnosis diagnose(const KernelFacts& facts) {
  Diagnosis diagnosis;
  diagnosis.roofs = roofs_of(facts);
  judge_roofs(facts, diagnosis.roofs, diagnosis.findings);
  bool at_roof = !diagnosis.roofs.empty() && diagnosis.roofs.front().share >= kAtRoof;
  if (!at_roof) {
    judge_parallelism(facts, diagnosis.findings);
    judge_stalls(facts, diagnosis.findings);
  }
  judge_accesses(facts, diagnosis.findings);
  if (!facts.counters_missing.empty())
    diagnosis.findings.push_back("Hardware counters were not read: " + facts.counters_missing + ".");
  return diagnosis;
}

std::string Diagnosis::paragraph() const {
  std::string all;
  for (auto& finding : findings) all += (all.empty() ? "" : " ") + finding;
  return all;
}

std::string facts_table(const KernelFacts& facts) {
  std::string table;
  auto row = [&](const char* name, const std::string& value) { table += text("  %-22s", name) + value + "\n"; };
  row("launch", facts.geometry.text() + ", " + duration(facts.seconds));
  auto traffic = [&](const char* name, std::optional<double> bytes, std::optional<double> peak) {
    if (!bytes || facts.seconds <= 0) return;
    double per_second = *bytes / facts.seconds;
    row(name, amount(*bytes) + ", " + rate(per_second, "B") +
                  (peak && *peak > 0
                       ? text(", %.0f %% of the %s measured here", per_second / *peak * 100, rate(*peak, "B").c_str())
                       : std::string()));
  };
  std::optional<double> dram;
  if (facts.dram_read_bytes && facts.dram_written_bytes) dram = *facts.dram_read_bytes + *facts.dram_written_bytes;
  traffic("DRAM", dram, facts.peaks.dram_bytes);
  traffic("L2", facts.l2_bytes, facts.peaks.l2_bytes);
  auto arithmetic = [&](const char* name, std::optional<double> operations, std::optional<double> peak) {
    if (!operations || *operations <= 0 || facts.seconds <= 0) return;
    double per_second = *operations / facts.seconds;
    row(name,
        rate(per_second, "FLOP") + (peak && *peak > 0 ? text(", %.0f %% of the %s measured here",
                                                             per_second / *peak * 100, rate(*peak, "FLOP").c_str())
                                                      : std::string()));
  };
  arithmetic("fp32", facts.fp32_operations, facts.peaks.fp32_operations);
  arithmetic("fp64", facts.fp64_operations, facts.peaks.fp64_operations);
  auto share = [&](const char* name, std::optional<double> value) {
    if (value) row(name, text("%.0f %%", *value * 100));
  };
  if (facts.occupancy)
    row("occupancy",
        text("%.0f %%", *facts.occupancy * 100) +
            (facts.occupancy_limit ? text(" of at most %.0f %%", *facts.occupancy_limit * 100) : std::string()) +
            (facts.limited_by.empty() ? "" : " by " + facts.limited_by));
  share("issue slots used", facts.issue_active);
  if (facts.tensor_active && *facts.tensor_active > 0) share("tensor pipes", facts.tensor_active);
  if (facts.registers)
    row("per thread", text("%d registers, %llu bytes local", *facts.registers,
                           static_cast<unsigned long long>(facts.local_bytes.value_or(0))));
  if (facts.shared_bytes && *facts.shared_bytes)
    row("per block", text("%llu bytes shared", static_cast<unsigned long long>(*facts.shared_bytes)));
  if (facts.sectors_per_load) row("sectors per load", text("%.1f", *facts.sectors_per_load));
  if (facts.sectors_per_store) row("sectors per store", text("%.1f", *facts.sectors_per_store));
  if (facts.threads_per_instruction) row("threads per instr.", text("%.1f of 32", *facts.threads_per_instruction));
  double all = 0;
  for (auto& [_, count] : facts.instructions) all += count;
  std::vector<std::pair<double, std::string>> mix;
  for (auto& [name, count] : facts.instructions)
    if (all > 0 && count / all >= 0.01) mix.push_back({count / all, name});
  std::sort(mix.rbegin(), mix.rend());
  std::string words;
  for (auto& [portion, name] : mix)
    words += (words.empty() ? "" : ", ") + text("%s %.0f %%", name.c_str(), portion * 100);
  if (!words.empty()) row("instructions", words);
  std::vector<std::pair<double, std::string>> stalls;
  double waiting = 0;
  for (auto& [name, cycles] : facts.stalls)
    if (name != "selected") stalls.push_back({cycles, name}), waiting += cycles;
  std::sort(stalls.rbegin(), stalls.rend());
  words.clear();
  for (size_t i = 0; i < stalls.size() && i < 4 && waiting > 0; ++i)
    words +=
        (words.empty() ? "" : ", ") + text("%s %.0f %%", stalls[i].second.c_str(), stalls[i].first / waiting * 100);
  if (!words.empty()) row("warps wait for", words);
  return table;
}

}  // namespace kernelift::sandbox
