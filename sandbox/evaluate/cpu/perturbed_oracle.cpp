// See perturbed_oracle.h.
#include "sandbox/evaluate/cpu/perturbed_oracle.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "sandbox/judge/rounding_envelope.h"

namespace kernelift {
namespace {

constexpr uint64_t kMostAnswerBytes = 512ull << 20;

uint64_t seed_of(Perturbation kind, size_t buffer) { return (static_cast<uint64_t>(kind) + 1) * 1000003 + buffer; }

/// Whatever lies in memory for one instance, piece by piece: regions, then variables in the mirror.
template <class Visit>
void each_piece(const ReplayMemory& memory, size_t instance, Visit visit) {
  const InstanceMemory& all = memory.instances()[instance];
  size_t index = 0, offset = 0;
  for (auto& region : all.regions) {
    visit(index++, offset, std::span<std::byte>(region.live(), region.size), region.name);
    offset += region.size;
  }
  for (auto& variable : all.variables) {
    visit(index++, offset, memory.mirror().subspan(variable.mirror_offset, variable.size), variable.key);
    offset += variable.size;
  }
}

}  // namespace

HiddenBytes::HiddenBytes(size_t size) : size_(size) {
  void* base = mmap(nullptr, std::max<size_t>(1, size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return;
  base_ = static_cast<std::byte*>(base);
  if (madvise(base, std::max<size_t>(1, size), MADV_DONTFORK) != 0) munmap(std::exchange(base_, nullptr), size);
}

HiddenBytes::~HiddenBytes() {
  if (base_) munmap(base_, std::max<size_t>(1, size_));
}

size_t PerturbedOracle::answer_bytes(size_t instance) const {
  size_t total = 0;
  each_piece(memory_, instance,
             [&](size_t, size_t, std::span<std::byte> bytes, const std::string&) { total += bytes.size(); });
  return total;
}

bool PerturbedOracle::perturb_live(size_t instance, Perturbation kind) const {
  memory_.restore(instance, false);
  bool any = false;
  size_t index = 0;
  for (auto& region : memory_.instances()[instance].regions) {
    uint64_t seed = seed_of(kind, index++);
    if (kind == Perturbation::Swap && region.output()) continue;
    any |= perturb(region.yardstick.layout, {region.live(), region.size}, kind, seed);
  }
  return any;
}

void PerturbedOracle::begin(const Case& wanted, bool stale) const {
  perturb_live(wanted.instance, wanted.kind);
  if (!stale) return memory_.poison(wanted.instance);
  for (auto& region : memory_.instances()[wanted.instance].regions)
    for (auto& range : region.written)
      std::memcpy(region.live() + range.begin, region.answer + range.begin, range.size());
}

void PerturbedOracle::collect(size_t instance, std::span<std::byte> into) const {
  each_piece(memory_, instance, [&](size_t, size_t offset, std::span<std::byte> bytes, const std::string&) {
    if (!bytes.empty()) std::memcpy(&into[offset], bytes.data(), bytes.size());
  });
}

std::optional<PerturbedOracle::Complaint> PerturbedOracle::compare(const Case& wanted) const {
  std::optional<Complaint> complaint;
  if (auto outside = memory_.broken_canary(wanted.instance)) return Complaint{"", "it writes " + *outside, {}};
  each_piece(memory_, wanted.instance,
             [&](size_t index, size_t offset, std::span<std::byte> bytes, const std::string& buffer) {
               if (complaint) return;
               auto answer = wanted.answer.bytes().subspan(offset, bytes.size());
               Comparison found = wanted.yardsticks[index].compare(answer, bytes);
               if (found.ok()) return;
               complaint = Complaint{buffer,
                                     buffer + ": " + std::to_string(found.mismatches) + " elements differ, first [" +
                                         std::to_string(found.first->index) + "] expected " + found.first->expected +
                                         ", got " + found.first->got,
                                     *found.first};
             });
  return complaint;
}

std::optional<PerturbedOracle::Case> PerturbedOracle::answered(size_t instance, Perturbation kind, Trial& trial) const {
  Case made;
  made.instance = instance, made.kind = kind;
  bool any = perturb_live(instance, kind);
  const InstanceMemory& memory = memory_.instances()[instance];
  for (auto& region : memory.regions) made.yardsticks.push_back(region.yardstick);
  for (auto& variable : memory.variables) {
    made.yardsticks.push_back(variable.yardstick);
    std::vector<std::byte> value(variable.given, variable.given + variable.size);
    any |= perturb(variable.yardstick.layout, value, kind, seed_of(kind, made.yardsticks.size()));
    made.variables.resize(std::max(made.variables.size(), static_cast<size_t>(variable.mirror_offset + variable.size)));
    if (!value.empty()) std::memcpy(&made.variables[variable.mirror_offset], value.data(), value.size());
  }
  for (auto& yardstick : made.yardsticks) yardstick.nearer.clear();  // Of other sums.
  made.answer = HiddenBytes(answer_bytes(instance));
  if (!any || !made.answer) return std::nullopt;
  begin(made, false);
  if (trial.run(Side::Baseline, instance, made.variables) || memory_.broken_canary(instance)) return std::nullopt;
  collect(instance, made.answer.bytes());
  // Once more, over an older answer: what depends on what lay there is no answer.
  begin(made, true);
  if (trial.run(Side::Baseline, instance, made.variables) || compare(made)) return std::nullopt;
  return made;
}

void PerturbedOracle::widen(const TrialCode& baseline, const Roundings& roundings, const StartTrial& start,
                            const std::function<bool()>& ended) {
  std::vector<std::vector<LaneEnvelopes>> envelopes;
  std::vector<std::vector<LaneReferences>> nearer;
  for (auto& wanted : cases_) {
    auto& own = envelopes.emplace_back();
    auto& references = nearer.emplace_back();
    for (auto& yardstick : wanted.yardsticks)
      own.emplace_back(yardstick.layout), references.emplace_back(yardstick.layout);
  }
  auto learn = [&](const std::vector<std::string>& images, auto& lanes) {
    for (auto& image : images) {
      TrialCode code = baseline;
      code.image = image;
      auto trial = start(&code);
      if (!trial.ok() || (*trial)->loaded()) continue;
      for (size_t i = 0; i < cases_.size() && !ended(); ++i) {
        begin(cases_[i], false);
        if ((*trial)->run(Side::Candidate, cases_[i].instance, cases_[i].variables)) break;
        each_piece(memory_, cases_[i].instance,
                   [&](size_t index, size_t offset, std::span<std::byte> bytes, const std::string&) {
                     lanes[i][index].add(cases_[i].answer.bytes().subspan(offset, bytes.size()), bytes);
                   });
      }
    }
  };
  learn(roundings.ways, envelopes), learn(roundings.at_random, nearer);
  for (size_t i = 0; i < cases_.size(); ++i)
    each_piece(
        memory_, cases_[i].instance, [&](size_t index, size_t offset, std::span<std::byte> bytes, const std::string&) {
          envelopes[i][index].grant(cases_[i].yardsticks[index]);
          nearer[i][index].grant(cases_[i].answer.bytes().subspan(offset, bytes.size()), cases_[i].yardsticks[index]);
        });
}

std::unique_ptr<PerturbedOracle> PerturbedOracle::ask(const ReplayMemory& memory, const std::vector<size_t>& instances,
                                                      const TrialCode& baseline, const Roundings& roundings,
                                                      const StartTrial& start, const std::function<bool()>& ended) {
  std::unique_ptr<PerturbedOracle> oracle(new PerturbedOracle(memory));
  std::unique_ptr<Trial> trial;
  uint64_t bytes = 0;
  for (size_t instance : instances)
    for (Perturbation kind : {Perturbation::Jitter, Perturbation::Swap}) {
      if (ended()) return nullptr;
      if (bytes + oracle->answer_bytes(instance) > kMostAnswerBytes) continue;
      if (!trial) {
        auto started = start(nullptr);
        if (!started.ok() || (*started)->loaded()) break;
        trial = std::move(*started);
      }
      auto made = oracle->answered(instance, kind, *trial);
      // The original may have died of what it was given: the next perturbation gets a process of its own.
      if (!made) {
        trial.reset();
        continue;
      }
      bytes += made->answer.bytes().size();
      oracle->cases_.push_back(std::move(*made));
    }
  oracle->widen(baseline, roundings, start, ended);
  return ended() ? nullptr : std::move(oracle);
}

}  // namespace kernelift
