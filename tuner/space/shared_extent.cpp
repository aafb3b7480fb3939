// See shared_extent.h. Names that are set once are replaced by their values, down to threadIdx; then the index of every
// use is evaluated for every thread that executes it.
#include "tuner/space/shared_extent.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/base/words.h"
#include "core/model/launch/limits.h"
#include "tuner/space/plain_text.h"
#include "tuner/space/statement_text.h"

namespace kernelift::tuner {
namespace {

constexpr int kDeepest = 8;        ///< Depth of names that are defined by other names.
constexpr size_t kLongest = 1000;  ///< Characters of an index with its names replaced.
const std::set<std::string> kThread{"threadIdx.x", "threadIdx.y", "threadIdx.z"};

class SharedExtents {
 public:
  SharedExtents(std::string text, const Bindings& knobs, const Dim3& block)
      : text_(std::move(text)), block_(block), values_(knobs) {
    add_constants();
    std::map<std::string, int> times;
    for (size_t before = 0; before != threads_.size();) {
      before = threads_.size();
      for (auto& one : assignments(text_))
        if (holds(without_indices(one.value), threads_)) threads_.insert(one.name);
    }
    for (auto& one : assignments(text_)) {
      ++times[one.name], set_[one.name] = one.value;
      if (one.adds) times[one.name] += 2;
    }
    std::erase_if(set_, [&](auto& one) { return times[one.first] != 1 || is_changed(one.first); });
    for (auto* word : {"if", "while", "for"})
      for (auto& header : headers(text_, word)) headers_.push_back(header);
  }
  std::string too_small() const;

 private:
  /// `#define N 8`, `constexpr int N = 8;`, in terms of each other.
  void add_constants();
  bool is_changed(const std::string& name) const;
  /// The expression with every name that is set once replaced; nullopt if that does not end, or it is not an
  /// expression.
  std::optional<Expression> expanded(std::string text) const;
  /// Conditions on threads and constants under which a thread executes the text at `at`.
  std::vector<Expression> conditions(size_t at) const;
  void add_condition(std::string_view condition, std::vector<Expression>& into) const;
  template <class Visit>
  bool every_thread(Visit visit) const;

  std::string text_;
  Dim3 block_;
  Bindings values_;
  std::map<std::string, std::string> set_;
  std::set<std::string> threads_ = kThread;  ///< threadIdx and names that depend on it.
  std::vector<Header> headers_;
};

void SharedExtents::add_constants() {
  std::map<std::string, std::string> found;
  for (size_t at : whole_words(text_, "define")) {
    const size_t name = std::min(text_.find_first_not_of(" \t", at + 6), text_.size()), end = end_of_word(text_, name);
    if (name < end && text_.compare(end, 1, "(") != 0)
      found[text_.substr(name, end - name)] =
          without_outer_blanks(std::string_view(text_).substr(end, text_.find('\n', end) - end));
  }
  for (auto& one : assignments(text_)) {
    const size_t line = text_.find_last_of(";{}(", one.at);
    const std::string_view statement =
        std::string_view(text_).substr(line == text_.npos ? 0 : line, one.at - (line == text_.npos ? 0 : line));
    if (!whole_words(statement, "constexpr").empty() || !whole_words(statement, "const").empty() ||
        !whole_words(statement, "enum").empty())
      found.emplace(one.name, one.value);
  }
  for (bool more = true; more;) {
    more = false;
    for (auto& [name, value] : found) {
      if (values_.contains(name)) continue;
      auto parsed = Expression::parse(value);
      auto number = parsed.ok() ? parsed->evaluate(values_) : Result<int64_t>(usage_error("not read"));
      if (number.ok()) more = values_.emplace(name, *number).second;
    }
  }
}

/// The variable is modified by an operator, or its address is taken.
bool SharedExtents::is_changed(const std::string& name) const {
  return std::ranges::any_of(whole_words(text_, name), [&](size_t at) {
    const std::string_view before = std::string_view(text_).substr(0, at),
                           behind = std::string_view(text_).substr(at + name.size());
    const size_t next = behind.find_first_not_of(" \t");
    const std::string_view sign = next == behind.npos ? "" : behind.substr(next, 3);
    const bool compound =
        sign.size() > 1 && ((std::string_view("+-*/%&|^").find(sign[0]) != std::string_view::npos && sign[1] == '=') ||
                            sign == "<<=" || sign == ">>=");
    return compound || sign.starts_with("++") || sign.starts_with("--") || before.ends_with("++") ||
           before.ends_with("--") || (before.ends_with("&") && !before.ends_with("&&"));
  });
}

std::optional<Expression> SharedExtents::expanded(std::string text) const {
  for (int depth = 0; depth < kDeepest && text.size() < kLongest; ++depth) {
    auto parsed = Expression::parse(text);
    if (!parsed.ok()) return std::nullopt;
    std::string next;
    bool more = false;
    for (size_t at = 0; at < text.size();) {
      if (!word_character(text[at])) {
        next += text[at++];
        continue;
      }
      size_t end = end_of_word(text, at);
      while (end + 1 < text.size() && text[end] == '.' && word_character(text[end + 1]))
        end = end_of_word(text, end + 1);
      const std::string name = text.substr(at, end - at);
      auto value = values_.contains(name) ? set_.end() : set_.find(name);
      next += value == set_.end() ? name : "(" + value->second + ")";
      more |= value != set_.end();
      at = end;
    }
    if (!more) return *parsed;
    text = std::move(next);
  }
  return std::nullopt;
}

void SharedExtents::add_condition(std::string_view condition, std::vector<Expression>& into) const {
  for (size_t at = 0; at < condition.size();) {
    const size_t end = std::min(condition.find("&&", at), condition.size());
    if (auto part = expanded(without_outer_blanks(condition.substr(at, end - at)))) into.push_back(*part);
    at = end + 2;
  }
}

std::vector<Expression> SharedExtents::conditions(size_t at) const {
  std::vector<Expression> all;
  for (auto& header : headers_) {
    if (header.begin < at && at < header.end && header.condition.find("||") == header.condition.npos)
      add_condition(header.condition, all);
  }
  // `t < 8 ? part[t] : 0`, and `t < 8 && part[t] > 0`.
  const size_t begin = text_.find_last_of(";{}=,", at) == text_.npos ? 0 : text_.find_last_of(";{}=,", at) + 1;
  const std::string_view before = std::string_view(text_).substr(begin, at - begin);
  const size_t choice = before.find('?');
  if (choice != before.npos && before.find(':', choice) == before.npos) add_condition(before.substr(0, choice), all);
  return all;
}

/// Visits the block's threads until `visit` returns false.
template <class Visit>
bool SharedExtents::every_thread(Visit visit) const {
  Bindings bound = values_;
  bound["blockDim.x"] = block_.x, bound["blockDim.y"] = block_.y, bound["blockDim.z"] = block_.z,
  bound["warpSize"] = kWarpSize;
  for (uint32_t z = 0; z < block_.z; ++z)
    for (uint32_t y = 0; y < block_.y; ++y)
      for (uint32_t x = 0; x < block_.x; ++x) {
        bound["threadIdx.x"] = x, bound["threadIdx.y"] = y, bound["threadIdx.z"] = z;
        if (!visit(bound)) return false;
      }
  return true;
}

std::string SharedExtents::too_small() const {
  const std::vector<Subscript> elements = subscripts(text_);
  for (auto& declared : elements) {
    if (!declared.declared || without_outer_blanks(declared.index).empty())
      continue;  // `extern __shared__ float all[]` is scaled with the block by the launch.
    auto extent = expanded(declared.index);
    auto size = extent ? extent->evaluate(values_) : Result<int64_t>(usage_error("not read"));
    // Passed to a function, or assigned to a pointer that is not traced: its uses are unknown.
    for (size_t at : whole_words(text_, declared.array)) {
      const size_t next = text_.find_first_not_of(" \t\n", at + declared.array.size());
      if (next == text_.npos || text_[next] != '[') return declared.array;
    }
    for (auto& use : elements) {
      if (use.declared || use.array != declared.array || use.dimension != declared.dimension) continue;
      auto index = expanded(use.index);
      if (!index && holds(without_indices(use.index), threads_)) return declared.array;  // The index depends on data.
      const auto names = index ? index->variables() : std::set<std::string>();
      if (std::ranges::none_of(names, [&](auto& name) { return kThread.contains(name); })) continue;
      // Other names in the index may be 0.
      Bindings nothing;
      for (auto& name : names)
        if (!kThread.contains(name) && !values_.contains(name) && !name.starts_with("blockDim.")) nothing[name] = 0;
      const std::vector<Expression> conditions_there = conditions(use.at);
      const bool fits = size.ok() && every_thread([&](Bindings& thread) {
                          for (auto& condition : conditions_there)
                            if (auto holds = condition.evaluate(thread); holds.ok() && *holds == 0) return true;
                          for (auto& name : nothing) thread.insert(name);
                          auto at = index->evaluate(thread);
                          for (auto& name : nothing) thread.erase(name.first);
                          return at.ok() && *at < *size;
                        });
      if (!fits) return declared.array;
    }
  }
  return {};
}

}  // namespace

std::string too_small_shared_array(std::string_view source, const Bindings& knobs, const Dim3& block) {
  return block.count() > kMostThreadsPerBlock ? "" : SharedExtents(plain_text(source), knobs, block).too_small();
}

std::optional<Expression> shared_bytes_by_knobs(const Mep& mep) {
  const Bindings knobs = mep.knob_values();
  std::optional<Expression> all;
  for (auto* site : mep.all_launches()) {
    auto& bytes = site->shared;
    if (!bytes || bytes->variables().empty() || (all && all != bytes)) return std::nullopt;
    all = bytes;
  }
  auto now = all ? all->evaluate(knobs) : Result<int64_t>(usage_error("no launch"));
  const bool as_recorded = now.ok() && std::ranges::all_of(mep.instances, [&](auto& instance) {
                             return instance.geometry.shared_bytes == *now;
                           });
  return as_recorded && mep.unseen_launches.empty() ? all : std::nullopt;
}

}  // namespace kernelift::tuner
