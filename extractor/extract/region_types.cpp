// See region_types.h.
#include "extractor/extract/region_types.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "core/base/bytes.h"
#include "core/base/words.h"
#include "core/model/element.h"
#include "core/model/texture.h"

namespace kernelift::extractor {
namespace {

constexpr size_t kPointerBytes = sizeof(uint64_t);

/// Of "float[4][4]" what each is; any other type itself.
std::string of_one(std::string type) {
  while (type.ends_with(']')) type = without_outer_blanks(type.substr(0, type.rfind('[')));
  return type;
}

/// "float *" without its last star, "" if it is no pointer type.
std::string pointed_to(const std::string& of) {
  std::string type = of_one(of);
  for (bool again = true; again;) {
    again = false;
    for (const char* word : {"const", "volatile", "__restrict", "restrict"})
      if (type = without_outer_blanks(type); type.ends_with(word))
        type.resize(type.size() - std::strlen(word)), again = true;
  }
  if (!type.ends_with('*')) return "";
  type.pop_back();
  return without_outer_blanks(type);
}

std::string without_words(std::string name) {
  for (bool again = true; again;) {
    again = false;
    for (const char* word : {"const ", "volatile ", "struct ", "class "})
      if (name.starts_with(word)) name.erase(0, std::strlen(word)), again = true;
  }
  return name;
}

const ScannedRecord* record_of(const std::string& type, const ScannedKernel& kernel) {
  return kernel.record(without_words(of_one(type)));
}

/// Where in an element of `type` addresses lie, and of what.
struct Slots {
  uint64_t stride = 0;
  std::vector<ScannedPointer> pointers;
};
Slots slots_of(const std::string& type, const ScannedKernel& kernel) {
  if (auto pointee = pointed_to(type); !pointee.empty()) return {kPointerBytes, {{0, pointee}}};
  auto* record = record_of(type, kernel);
  return record && !record->pointers.empty() ? Slots{record->size, record->pointers} : Slots{};
}

/// "float *" of "const float *": what it means for the memory behind it.
std::string bare(std::string type) {
  for (const char* word : {"const ", "volatile ", " const", " volatile", "struct "})
    for (size_t at; (at = type.find(word)) != std::string::npos;) type.erase(at, std::strlen(word));
  return type;
}

/// Where a pointer leads into a region.
struct Mark {
  uint64_t begin = 0;
  std::string type;
  int parameter = -1;  ///< -1: the pointer is in memory.
  uint32_t member = 0;
  bool in_arguments() const { return parameter >= 0; }
};

class RegionTyper {
 public:
  RegionTyper(const CapturedInstance& instance, const ScannedKernel& kernel, const ImageLoader& load)
      : instance_(instance), kernel_(kernel), load_(load), marks_(instance.regions.size()) {
    for (size_t i = 0; i < instance.regions.size(); ++i) by_address_.push_back(i);
    std::ranges::sort(by_address_, {}, [&](size_t i) { return instance.regions[i].address; });
  }

  Result<std::vector<std::vector<RegionArray>>> all() {
    for (auto& address : argument_addresses(instance_, kernel_))
      if (int region = region_at(address.value); region >= 0)
        insert(region,
               {address.value - instance_.regions[region].address, address.type, address.parameter, address.member});
    for (size_t i = 0; i < marks_.size(); ++i)
      if (marks_[i].empty()) mark_by_name(i);
    std::vector<size_t> marked;
    for (auto& variable : instance_.variables)
      if (auto known = std::ranges::find(kernel_.variables, variable.key, &ScannedVariable::key);
          known != kernel_.variables.end())
        KERNELIFT_TRY(follow(variable.before, slots_of(known->type, kernel_), 0, variable.before.size, marked));
    std::deque<size_t> next;
    std::vector<bool> waits(marks_.size(), true);
    for (size_t i = 0; i < marks_.size(); ++i) next.push_back(i);
    while (!next.empty()) {
      size_t region = next.front();
      next.pop_front(), waits[region] = false;
      std::vector<size_t> changed;
      KERNELIFT_TRY(follow(region, changed));
      for (size_t other : changed)
        if (!waits[other]) next.push_back(other), waits[other] = true;
    }
    std::vector<std::vector<RegionArray>> arrays;
    for (size_t i = 0; i < marks_.size(); ++i) arrays.push_back(arrays_in(i));
    return arrays;
  }

 private:
  bool leads_on(const std::string& type) const { return slots_of(type, kernel_).stride > 0; }
  /// Whether arrays of these elements may be taken for one: what is compared exactly, or in the same floating-point
  /// numbers.
  bool same(const std::string& one, const std::string& other) const {
    if (one == other || bare(one) == bare(other)) return true;
    if (leads_on(one) || leads_on(other)) return false;
    std::string left = element_of(one, kernel_), right = element_of(other, kernel_);
    auto a = ElementType::parse(left), b = ElementType::parse(right);
    auto integer = [](const ElementType& type) { return type.kind != ElementType::Kind::Bytes && !type.is_float(); };
    return left == right || (integer(a) && integer(b)) || (a.is_float() && a == b);
  }
  /// Bytes: another pointer to the same place may know better.
  bool plain(const std::string& type) const {
    std::string element = element_of(type, kernel_);
    return (element == "byte" || element.ends_with("char")) && !leads_on(type);
  }

  int region_at(uint64_t address) const {
    if (by_address_.empty() || address < instance_.regions[by_address_.front()].address) return -1;
    auto after =
        std::ranges::upper_bound(by_address_, address, {}, [&](size_t i) { return instance_.regions[i].address; });
    auto& region = instance_.regions[*std::prev(after)];
    return address - region.address < region.before.size ? int(*std::prev(after)) : -1;
  }

  void insert(size_t region, Mark mark) {
    auto& marks = marks_[region];
    auto place = std::ranges::upper_bound(marks, std::pair(mark.begin, mark.parameter), {},
                                          [](auto& one) { return std::pair(one.begin, one.parameter); });
    marks.insert(place, std::move(mark));
  }

  /// Where the recorder did not say what the parameters are, it still said which leads where.
  void mark_by_name(size_t region) {
    auto& from = instance_.regions[region].reached_from;
    if (!from.is_whole_argument() || size_t(from.argument) >= kernel_.parameters.size()) return;
    if (auto& type = kernel_.parameters[from.argument].pointee; !type.empty()) insert(region, {0, type, from.argument});
  }

  /// A texture or surface object says what its memory holds.
  Status follow_texture(const CapturedRegion& region, std::vector<size_t>& changed) {
    KERNELIFT_ASSIGN(auto bytes, load_(region.before));
    auto texture = read_texture(bytes);
    if (!texture)
      return environment_error("the texture object at " + address_text(region.address) +
                               " is damaged, or of a later version; record again");
    if (int target = region_at(texture->memory); target >= 0 && lead(target, texture->memory, texel_type(*texture)))
      changed.push_back(target);
    return done();
  }

  /// Marks what the addresses in a region lead to.
  Status follow(size_t region, std::vector<size_t>& changed) {
    if (instance_.regions[region].kind == MemoryKind::Texture)
      return follow_texture(instance_.regions[region], changed);
    for (auto& array : arrays_in(region)) {
      Slots slots = slots_of(array.type, kernel_);
      if (slots.stride == 0) continue;
      // Elements lie as the pointer says that led here, not as the allocation begins.
      uint64_t first = array.begin;
      for (auto& mark : marks_[region])
        if (mark.type == array.type && mark.begin >= array.begin) {
          first += (mark.begin - array.begin) % slots.stride;
          break;
        }
      KERNELIFT_TRY(follow(instance_.regions[region].before, slots, first, array.end, changed));
    }
    return done();
  }
  /// The same for the elements between two offsets of an image.
  Status follow(const Image& image, const Slots& slots, uint64_t begin, uint64_t end, std::vector<size_t>& changed) {
    if (slots.stride == 0) return done();
    KERNELIFT_ASSIGN(auto bytes, load_(image));
    for (auto& slot : slots.pointers)
      for (uint64_t at = begin + slot.offset; at + kPointerBytes <= end; at += slots.stride)
        if (int target = region_at(word_at(bytes, at)); target >= 0 && lead(target, word_at(bytes, at), slot.pointee))
          changed.push_back(target);
    return done();
  }

  /// Whether that tells anything that was not known.
  bool lead(size_t region, uint64_t address, const std::string& type) {
    uint64_t begin = address - instance_.regions[region].address;
    auto& marks = marks_[region];
    auto after = std::ranges::upper_bound(marks, begin, {}, &Mark::begin);
    if (!marks.empty() && same((after == marks.begin() ? *after : *std::prev(after)).type, type)) return false;
    insert(region, {begin, type});
    return true;
  }

  /// Those that begin arrays, with what is not to be believed as bytes.
  std::vector<Mark> believed(size_t region) const {
    auto& all = marks_[region];
    bool any_known = std::ranges::any_of(all, [&](auto& mark) { return !plain(mark.type); });
    auto first = std::ranges::find_if(all, &Mark::in_arguments);
    const bool from_arguments = first != all.end();
    const Mark* before = from_arguments ? &*first : nullptr;  // The array of the arguments that a pointer leads into.
    std::vector<Mark> kept;
    std::vector<size_t> loose;
    for (auto& mark : all) {
      if (mark.in_arguments()) {
        before = &mark;
      } else {
        if ((any_known && plain(mark.type)) || (before && same(before->type, mark.type))) continue;
        loose.push_back(kept.size());
      }
      kept.push_back(mark);
    }
    bool agree = !from_arguments &&
                 std::ranges::all_of(loose, [&](size_t i) { return same(kept[i].type, kept[loose[0]].type); });
    for (size_t i : loose)
      if (!agree) kept[i].type.clear();
    return kept;
  }

  std::vector<RegionArray> arrays_in(size_t region) const {
    const uint64_t size = instance_.regions[region].before.size;
    if (instance_.regions[region].kind == MemoryKind::Texture) return {{0, size, ""}};
    std::vector<RegionArray> arrays;
    for (auto& mark : believed(region)) {
      std::string doubt =
          mark.type.empty()
              ? "Pointers in memory, which may be old ones, are of another type than others that lead there"
              : "";
      RegionArray array{mark.begin, 0, mark.type, mark.parameter, mark.member, doubt};
      if (arrays.empty()) {
        arrays.push_back(std::move(array));
        continue;
      }
      auto& last = arrays.back();
      bool together = last.begin == mark.begin;
      // Memory that is also had as bytes is what the other pointer says.
      if (same(last.type, mark.type) || (together && plain(mark.type))) continue;
      if (!together) arrays.push_back(std::move(array));
      else if (plain(last.type) && (last.doubt.empty() || last.parameter < 0)) last = std::move(array);
      else last.type.clear(), last.doubt = "Arrays of different types begin in one place";
    }
    if (arrays.empty()) return {{0, size, ""}};
    arrays.front().begin = 0;  // What lies before the first is most likely its own: kernels are given inner cells, too.
    if (arrays.size() == 1) arrays[0].parameter = -1;
    for (size_t i = 0; i < arrays.size(); ++i) arrays[i].end = i + 1 < arrays.size() ? arrays[i + 1].begin : size;
    return arrays;
  }

  const CapturedInstance& instance_;
  const ScannedKernel& kernel_;
  const ImageLoader& load_;
  std::vector<std::vector<Mark>> marks_;  ///< Of each region, ordered.
  std::vector<size_t> by_address_;
};

}  // namespace

std::vector<ArgumentAddress> argument_addresses(const CapturedInstance& instance, const ScannedKernel& kernel) {
  std::vector<ArgumentAddress> addresses;
  for (size_t i = 0; i < kernel.parameters.size() && i < instance.parameters.size(); ++i) {
    auto& parameter = kernel.parameters[i];
    auto [offset, size] = instance.parameters[i];
    auto* record = parameter.record.empty() ? nullptr : kernel.record(parameter.record);
    auto add = [&, at = offset](uint32_t member, const std::string& type) {
      if (uint64_t(at) + member + kPointerBytes <= instance.arguments.size())
        addresses.push_back({int(i), member, word_at(instance.arguments, at + member), type});
    };
    if (!parameter.pointee.empty() && size == kPointerBytes) add(0, parameter.pointee);
    if (record && record->size == size)
      for (auto& pointer : record->pointers) add(pointer.offset, pointer.pointee);
  }
  return addresses;
}

bool knows_all_addresses(const CapturedInstance& instance, const ScannedKernel& kernel) {
  bool all = kernel.parameters.size() == instance.parameters.size();
  for (size_t i = 0; all && i < kernel.parameters.size(); ++i) {
    auto& parameter = kernel.parameters[i];
    auto* record = parameter.record.empty() ? nullptr : kernel.record(parameter.record);
    all = !parameter.pointee.empty() ? instance.parameters[i].size == kPointerBytes
          : record                   ? !record->open && record->size == instance.parameters[i].size
                                     : !parameter.scalar.empty();
  }
  return all;
}

Result<std::vector<std::vector<RegionArray>>> region_arrays(const CapturedInstance& instance,
                                                            const ScannedKernel& kernel, const ImageLoader& load) {
  return RegionTyper(instance, kernel, load).all();
}

std::string element_of(const std::string& pointee, const ScannedKernel& kernel) {
  if (pointee.empty()) return "byte";
  if (!pointed_to(pointee).empty()) return "pointer";
  std::string name = without_words(of_one(pointee));
  if (ElementType::parse(name).kind != ElementType::Kind::Bytes) return name;
  auto* record = record_of(pointee, kernel);
  return record ? record->element : "byte";
}

PointerLayout pointers_of(const std::string& pointee, const ScannedKernel& kernel) {
  auto* record = record_of(pointee, kernel);
  if (record && record->open) return {};
  PointerLayout layout;
  Slots slots = slots_of(pointee, kernel);
  layout.size = slots.stride;
  for (auto& one : slots.pointers) layout.offsets.push_back(one.offset);
  return layout;
}

}  // namespace kernelift::extractor
