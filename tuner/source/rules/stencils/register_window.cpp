// See register_window.h.
#include "tuner/source/rules/stencils/register_window.h"

#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>

#include <algorithm>
#include <set>

#include "tuner/source/rules/spelled_type.h"

namespace kernelift::tuner {

std::optional<RegisterWindows> RegisterWindows::of(const KernelSource& source, const std::vector<ReadRun>& runs,
                                                   const std::string& what) {
  RegisterWindows made(source);
  made.runs_ = runs;
  std::set<std::string> taken;
  for (size_t number_of_run = 0; number_of_run < made.runs_.size(); ++number_of_run) {
    auto& run = made.runs_[number_of_run];
    auto window = std::ranges::find_if(
        made.windows_, [&](auto& one) { return one.array == run.array && one.length == run.at.size(); });
    if (window == made.windows_.end()) {
      const std::string stem = run.array->getNameAsString() + "_" + what, type = spelled_type(source, run.array);
      std::string name = source.fresh_name(stem);
      for (int number = 2; taken.contains(name); ++number) name = source.fresh_name(stem + std::to_string(number));
      taken.insert(name);
      if (type.empty()) return std::nullopt;
      made.windows_.push_back({run.array, name, type, run.at.size()});
      window = made.windows_.end() - 1;
    }
    window->runs.push_back(number_of_run);
  }
  return made;
}

size_t RegisterWindows::values(int64_t more) const {
  size_t count = 0;
  for (auto& window : windows_) count += (window.length + static_cast<size_t>(more)) * window.runs.size();
  return count;
}

std::vector<std::string> RegisterWindows::declarations(int64_t more) const {
  std::vector<std::string> lines;
  for (auto& window : windows_)
    lines.push_back(window.type + " " + window.name + "[" + std::to_string(window.length + static_cast<size_t>(more)) +
                    "]" + (window.runs.size() > 1 ? "[" + std::to_string(window.runs.size()) + "]" : "") + ";");
  return lines;
}

std::string RegisterWindows::value(const Window& window, const std::string& place, size_t distance, size_t run) const {
  const std::string number = std::to_string(distance);
  const std::string at = place.empty() ? number : distance == 0 ? place : place + " + " + number;
  return window.name + "[" + at + "]" + (window.runs.size() > 1 ? "[" + std::to_string(run) + "]" : "");
}

std::vector<TextEdit> RegisterWindows::uses(const std::string& place) const {
  std::vector<TextEdit> edits;
  for (auto& window : windows_)
    for (size_t run = 0; run < window.runs.size(); ++run)
      for (size_t distance = 0; distance < window.length; ++distance)
        for (auto* read : runs_[window.runs[run]].at[distance])
          if (auto span = source_->span(read))
            edits.push_back({span->begin, span->end, value(window, place, distance, run)});
  return edits;
}

std::vector<std::string> RegisterWindows::loads(const std::string& place, const std::string& counter,
                                                const std::string& first) const {
  std::map<size_t, std::vector<std::string>> by_gap;
  for (auto& window : windows_)
    for (size_t distance = 0; distance < window.length; ++distance)
      for (size_t run = 0; run < window.runs.size(); ++run) {
        auto& reads = runs_[window.runs[run]];
        if (reads.at[distance].empty()) continue;
        const size_t gap = reads.gap(distance);
        // Only 0 is known to be the counter where the gap is one.
        by_gap[gap].push_back(value(window, gap == 1 ? "" : place, distance, run) + " = " +
                              source_->spelled(reads.at[distance].front()) + ";");
      }
  std::vector<std::string> lines;
  for (auto& [gap, assignments] : by_gap) {
    if (gap == 0) continue;
    const std::string condition =
        "if (" + counter + (gap == 1 ? " == " + first + ")" : " < " + std::to_string(gap) + ")");
    if (assignments.size() == 1) {
      lines.push_back(condition + " " + assignments.front());
      continue;
    }
    lines.push_back(condition + " {");
    for (auto& one : assignments) lines.push_back(source_->step() + one);
    lines.push_back("}");
  }
  lines.insert(lines.end(), by_gap[0].begin(), by_gap[0].end());
  return lines;
}

std::vector<std::string> RegisterWindows::shifts(const std::string& other) const {
  std::vector<std::string> lines;
  for (auto& window : windows_) {
    const bool several = window.runs.size() > 1;
    auto place = [&](size_t distance) {
      return window.name + "[" + std::to_string(distance) + "]" + (several ? "[" + other + "]" : "");
    };
    if (several)
      lines.insert(lines.end(), {"#pragma unroll", "for (int " + other + " = 0; " + other + " < " +
                                                       std::to_string(window.runs.size()) + "; ++" + other + ") {"});
    for (size_t distance = 0; distance + 1 < window.length; ++distance)
      lines.push_back((several ? source_->step() : "") + place(distance) + " = " + place(distance + 1) + ";");
    if (several) lines.push_back("}");
  }
  return lines;
}

bool RegisterWindows::has_gaps() const {
  return std::ranges::any_of(
      runs_, [](auto& run) { return std::ranges::any_of(run.at, [](auto& reads) { return reads.empty(); }); });
}

std::string RegisterWindows::arrays() const {
  std::vector<std::string> names;
  for (auto& window : windows_)
    if (std::string name = window.array->getNameAsString(); std::ranges::find(names, name) == names.end())
      names.push_back(name);
  return listed(names);
}

std::vector<const clang::Stmt*> RegisterWindows::reads() const {
  std::vector<const clang::Stmt*> all;
  for (auto& run : runs_)
    for (auto& same : run.at) all.insert(all.end(), same.begin(), same.end());
  return all;
}

}  // namespace kernelift::tuner
