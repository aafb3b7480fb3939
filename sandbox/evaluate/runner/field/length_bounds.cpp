// See length_bounds.h.
#include "sandbox/evaluate/runner/field/length_bounds.h"
#include "sandbox/jail/hidden_bytes.h"

#include <algorithm>

namespace kernelift::sandbox {
namespace {

constexpr double kMostSeconds = 10;  // Of a screening; what is known then is known to later ones.

bool wants_bounds(const ReplayBuffer& region) {
  return region.output() && region.bounds.layout.has_floats() && region.size <= kLargestBounded;
}

bool has_own(const ReplayInstance& memory) {
  return std::ranges::any_of(
      memory.regions, [](auto& region) { return !region.bounds.by_length.empty() && !region.bounds.by_length_lent; });
}

/// They were asked for in vain.
bool lacks_any(const ReplayInstance& memory) {
  return has_own(memory) && std::ranges::all_of(memory.regions, [](auto& region) {
           return std::ranges::all_of(region.bounds.by_length, [](auto& bound) { return bound == nullptr; });
         });
}

/// Whether its elements may hold addresses, which are this device's.
bool may_hold_pointers(const ElementLayout& layout) {
  return !std::ranges::all_of(layout.lanes, [](auto& lane) { return lane.type.is_float(); });
}

}  // namespace

bool LengthBounds::take(const LengthAnswer::Region& answer, ReplayBuffer& into) const {
  const ElementLayout& layout = into.bounds.layout;
  HiddenBytes reference(into.size);
  if (answer.lanes.size() != layout.lanes.size() || !read_answer(bench_.device, into, 0, reference.bytes()).ok())
    return false;
  std::vector<std::shared_ptr<const LengthBound>> made;
  std::vector<std::byte> lane_of;
  for (size_t lane = 0; lane < layout.lanes.size(); ++lane) {
    const uint64_t whole = into.size / layout.stride * layout.stride;
    const auto of = layout.plain() ? std::span<const std::byte>(reference.bytes())
                                   : lane_bytes(layout, lane, reference.bytes().first(whole), lane_of);
    const BesideLane& beside = answer.lanes[lane];
    std::shared_ptr<LengthBound> bound;
    if (const size_t known = beside.elements.size(), all = of.size() / sizeof(float); known > 0) {
      if (layout.lanes[lane].type.width != sizeof(float) || beside.first > all || known > all - beside.first)
        return false;
      bound = std::make_shared<LengthBound>(of, beside);
    }
    made.push_back(bound && bound->any() ? bound : nullptr);
  }
  into.bounds.by_length = std::move(made);
  return true;
}

std::optional<std::vector<size_t>> LengthBounds::wanted(const ReplayInstance& memory) {
  if (!bench_.inquiry.held_to_length || bench_.user_tolerance()) return std::nullopt;
  if (has_own(memory)) {
    if (lacks_any(memory)) why_not_ = never_;
    return std::nullopt;
  }
  std::vector<size_t> wanted;
  for (size_t i = 0; i < memory.regions.size(); ++i)
    if (wants_bounds(memory.regions[i])) wanted.push_back(i);
  if (wanted.empty()) {
    why_not_ = "no output of single precision has at most " + std::to_string(kLargestBounded >> 20) + " MiB";
    return std::nullopt;
  }
  if (!bench_.inquiry.confirm && seconds_ > kMostSeconds) {
    why_not_ = "there was no time left";
    return std::nullopt;
  }
  return wanted;
}

void LengthBounds::spend(Deadline begin) {
  const double seconds = std::chrono::duration<double>(Deadline::clock::now() - begin).count();
  seconds_ += seconds;
  bench_.laps.within("error bounds of sums", seconds);
}

bool LengthBounds::find(ReplayInstance& memory, const Find& find) {
  const auto wants = wanted(memory);
  if (!wants) return false;
  const auto begin = Deadline::clock::now();
  const LengthAnswer answer = find(*wants);
  spend(begin);
  return take(answer, *wants, memory);
}

bool LengthBounds::take(const LengthAnswer& answer, const std::vector<size_t>& wanted, ReplayInstance& memory) {
  why_not_ = answer.why_not;
  lacked_time_ |= answer.later;
  if (answer.later) return false;
  // Nulls for what is not known: it is not asked again.
  for (size_t i : wanted) {
    ErrorBounds& bounds = memory.regions[i].bounds;
    bounds.by_length.assign(bounds.layout.lanes.size(), nullptr), bounds.by_length_lent = false;
  }
  bool any = false;
  for (auto& region : answer.regions)
    if (std::ranges::find(wanted, region.index) != wanted.end()) any |= take(region, memory.regions[region.index]);
  if (!any && why_not_.empty()) why_not_ = "nothing is known of its outputs";
  if (!any) never_ = why_not_;
  return any;
}

bool LengthBounds::find(MemoryEntry entry) {
  // A copy, as entries may move; the sizes of other memory are its own business.
  if (entry.memory >= bench_.memory->instances().size()) return false;
  const bool processor = bench_.device.facts().processor;
  if (!processor && std::ranges::find(together_, entry.memory, &MemoryEntry::memory) != together_.end()) {
    // What is not known of the others says nothing of this one.
    const auto [why_not, lacked_time] = std::pair(why_not_, lacked_time_);
    const auto found = find_all(std::exchange(together_, {}));
    why_not_ = why_not, lacked_time_ = lacked_time;
    if (std::ranges::find(found, entry.memory) != found.end()) return true;
  }
  ReplayInstance memory = bench_.memory->instances()[entry.memory];
  const bool found = find(memory, [&](const std::vector<size_t>& wanted) {
    if (processor) return numbers_.of(entry, wanted);
    return asked(memory, entry.instance, {}, wanted);
  });
  bench_.memory->instances()[entry.memory] = std::move(memory);
  return found;
}

std::vector<size_t> LengthBounds::find_all(const std::vector<MemoryEntry>& entries) {
  constexpr uint64_t kMostBytes = uint64_t(1) << 30;  // Of memory that is sent at once.
  struct Asked {
    MemoryEntry entry;
    std::vector<size_t> wanted;
  };
  std::vector<LengthQuestion> questions;
  std::vector<Asked> asked;
  std::vector<size_t> found;
  uint64_t bytes = 0;
  auto ask = [&] {
    if (questions.empty()) return;
    const auto answers = bench_.settings.lengths(questions);
    for (size_t i = 0; i < std::min(answers.size(), asked.size()); ++i)
      if (const size_t at = asked[i].entry.memory; take(answers[i], asked[i].wanted, bench_.memory->instances()[at]))
        found.push_back(at);
    questions.clear(), asked.clear(), bytes = 0;
  };
  const auto begin = Deadline::clock::now();
  for (MemoryEntry entry : entries) {
    const ReplayInstance& memory = bench_.memory->instances()[entry.memory];
    auto wants = wanted(memory);
    if (!wants) continue;
    auto made = question(memory, entry.instance, {}, *wants);
    auto* one = std::get_if<LengthQuestion>(&made);
    if (!one) continue;  // find() says why.
    for (auto& region : one->regions) bytes += region.bytes.size();
    questions.push_back(std::move(*one)), asked.push_back({entry, std::move(*wants)});
    if (bytes > kMostBytes) ask();
  }
  ask();
  spend(begin);
  return found;
}

bool LengthBounds::find(const SizedInstance& sized, ReplayInstance& memory) {
  return find(memory, [&](const std::vector<size_t>& wanted) {
    if (bench_.device.facts().processor) return numbers_.of(sized, memory, wanted);
    return asked(memory, sized.instance, sized, wanted);
  });
}

void LengthBounds::lend(MemoryEntry entry, MemoryEntry one, MemoryEntry other) {
  find(one), find(other);
  auto& entries = bench_.memory->instances();
  const bool in_vain = lacks_any(entries[one.memory]) || lacks_any(entries[other.memory]);
  for (size_t i = 0; i < entries[entry.memory].regions.size(); ++i) {
    ErrorBounds& bounds = entries[entry.memory].regions[i].bounds;
    const auto &first = entries[one.memory].regions[i].bounds.by_length,
               &second = entries[other.memory].regions[i].bounds.by_length;
    if (first.empty() || first.size() != second.size()) continue;
    bounds.by_length.clear(), bounds.by_length_lent = !in_vain;
    for (size_t lane = 0; lane < first.size(); ++lane)
      bounds.by_length.push_back(first[lane] && second[lane]
                                     ? std::make_shared<LengthBound>(LengthBound::between(*first[lane], *second[lane]))
                                     : nullptr);
  }
}

LengthAnswer LengthBounds::asked(const ReplayInstance& memory, size_t instance,
                                 const std::optional<SizedInstance>& sized, const std::vector<size_t>& wanted) const {
  auto made = question(memory, instance, sized, wanted);
  if (auto* no = std::get_if<LengthAnswer>(&made)) return std::move(*no);
  std::vector<LengthQuestion> alone;
  alone.push_back(std::get<LengthQuestion>(std::move(made)));
  auto answers = bench_.settings.lengths(alone);
  return answers.size() == 1 ? std::move(answers[0]) : LengthAnswer{{}, "the answer is malformed", false};
}

std::variant<LengthQuestion, LengthAnswer> LengthBounds::question(const ReplayInstance& memory, size_t instance,
                                                                  const std::optional<SizedInstance>& sized,
                                                                  const std::vector<size_t>& wanted) const {
  LengthAnswer no;
  if (!bench_.settings.lengths) return no.why_not = "they need the CPU device", no;
  // What is not sent is not read either.
  if (uint64_t bytes = recorded_bytes(memory); bytes > kMostFieldBytes)
    return no.why_not = "its recorded memory has " + std::to_string(bytes >> 20) + " MiB", no;
  LengthQuestion question;
  question.instance = bench_.mep.instances[instance].id, question.sized = sized, question.wanted = wanted;
  question.deadline = bench_.inquiry.deadline, question.era = bench_.inquiry.era;
  const ReplayInstance& recorded = bench_.memory->instances()[instance];
  const bool relocated =
      std::ranges::any_of(bench_.memory->notes(), [](auto& note) { return note.starts_with(kRelocated); });
  auto add = [&](const ReplayBuffer& buffer, const ReplayBuffer& before, size_t index, auto& into) {
    if (buffer.given == before.given) return true;
    if (relocated && may_hold_pointers(buffer.bounds.layout)) return false;
    std::string bytes(buffer.size, '\0');
    if (!bench_.device.read(buffer.given, std::as_writable_bytes(std::span(bytes))).ok()) return false;
    into.push_back({index, std::move(bytes)});
    return true;
  };
  bool good = true;
  // At another size the other process makes the memory itself.
  for (size_t i = 0; !sized && i < memory.regions.size(); ++i)
    good &= add(memory.regions[i], recorded.regions[i], i, question.regions);
  for (size_t i = 0; !sized && i < memory.variables.size(); ++i)
    good &= add(memory.variables[i], recorded.variables[i], i, question.variables);
  if (!good) return no.why_not = "its memory lies elsewhere than where it was recorded", no;
  return question;
}

LengthAnswer LengthBounds::answer(const RunnableCode& code, const LengthQuestion& question) {
  bench_.inquiry = {}, bench_.inquiry.deadline = question.deadline, bench_.inquiry.era = question.era;
  bench_.cut = false;
  if (!bench_.device.facts().processor) return {{}, "they need the CPU device", false};
  numbers_.prepare(code);
  return numbers_.of(question);
}

}  // namespace kernelift::sandbox
