// Columns are generations: a candidate stands one to the right of its furthest parent. The original has no number of
// its own; candidates without parents were made from it.
#include "cli/report/lineage.h"

#include <algorithm>
#include <map>
#include <vector>

#include "cli/report/page_parts.h"
#include "core/base/shown/outside_text.h"

namespace kernelift::cli {
namespace {

constexpr int kOriginal = 0;            // Its number in the graph.
constexpr size_t kMostCandidates = 60;  // More than a graph can show.

struct Node {
  const ReportCandidate* candidate = nullptr;  ///< Null: the original.
  std::vector<int> parents;
  size_t generation = 0, row = 0;

  double speedup() const { return candidate ? candidate->speedup : 1; }
};

class Lineage {
 public:
  Lineage(const ReportData& data, int number) {
    for (auto& candidate : data.candidates)
      if (candidate.tier != "baseline") known_[candidate.number] = &candidate;
    if (known_.contains(number)) add(number);
    place();
  }

  /// False: there is nothing that the candidate's own note does not say.
  bool is_worth_showing() const { return nodes_.size() > 2; }

  std::string html(int wanted) const {
    constexpr double kColumn = 150, kRow = 62, kWidth = 112, kHeight = 40, kMargin = 12;
    size_t columns = 0, rows = 0;
    for (auto& [number, node] : nodes_)
      columns = std::max(columns, node.generation + 1), rows = std::max(rows, node.row + 1);
    auto x = [&](const Node& node) { return kMargin + static_cast<double>(node.generation) * kColumn; };
    auto y = [&](const Node& node) { return kMargin + static_cast<double>(node.row) * kRow; };
    const double width = 2 * kMargin + static_cast<double>(columns - 1) * kColumn + kWidth,
                 height = 2 * kMargin + static_cast<double>(rows - 1) * kRow + kHeight;
    std::string svg = "<div class=\"scroll\"><svg style=\"width:" + number(width, 0) +
                      "px;min-width:0\" viewBox=\"0 0 " + number(width, 0) + " " + number(height, 0) +
                      "\" role=\"img\" aria-label=\"how the candidate came about\">";
    for (auto& [own, node] : nodes_)
      for (int parent : node.parents) {
        const Node& from = nodes_.at(parent);
        const double x1 = x(from) + kWidth, y1 = y(from) + kHeight / 2, x2 = x(node), y2 = y(node) + kHeight / 2,
                     bend = (x2 - x1) / 2;
        svg += "<path d=\"M" + number(x1, 1) + " " + number(y1, 1) + " C" + number(x1 + bend, 1) + " " + number(y1, 1) +
               " " + number(x2 - bend, 1) + " " + number(y2, 1) + " " + number(x2, 1) + " " + number(y2, 1) +
               "\" fill=\"none\" stroke=\"var(--dim)\"/>";
      }
    for (auto& [own, node] : nodes_)
      svg += "<g><title>" + title(own, node) + "</title><rect x=\"" + number(x(node), 1) + "\" y=\"" +
             number(y(node), 1) + "\" width=\"" + number(kWidth, 0) + "\" height=\"" + number(kHeight, 0) +
             "\" rx=\"6\" fill=\"var(--card)\" stroke=\"var(--ink)\" stroke-width=\"" + (own == wanted ? "2" : "1") +
             "\"/><text x=\"" + number(x(node) + kWidth / 2, 1) + "\" y=\"" + number(y(node) + 17, 1) +
             "\" text-anchor=\"middle\">" + (own == kOriginal ? "original" : "#" + std::to_string(own)) +
             "</text><text x=\"" + number(x(node) + kWidth / 2, 1) + "\" y=\"" + number(y(node) + 33, 1) +
             "\" text-anchor=\"middle\">" + gain(node.speedup()) + "</text></g>";
    return svg + "</svg></div>" + table();
  }

 private:
  static std::string gain(double speedup) { return speedup > 0 ? number(speedup, 3) + "×" : "–"; }

  static std::string title(int own, const Node& node) {
    return own == kOriginal ? "the original" : "#" + std::to_string(own) + " " + escape(node.candidate->note);
  }

  void add(int number) {
    if (nodes_.contains(number) || nodes_.size() >= kMostCandidates) return;
    Node& node = nodes_[number];
    if (number == kOriginal) return;
    node.candidate = known_.at(number);
    for (int parent : node.candidate->parents) {
      // A parent is older; the baseline is the original.
      const int of = known_.contains(parent) && parent < number ? parent : kOriginal;
      if (std::ranges::find(node.parents, of) == node.parents.end()) join(node, of);
    }
    if (node.parents.empty()) join(node, kOriginal);
  }

  void join(Node& node, int parent) {
    add(parent);
    if (nodes_.contains(parent)) node.parents.push_back(parent);
  }

  /// By number, parents before children.
  void place() {
    std::map<size_t, size_t> rows;
    for (auto& [number, node] : nodes_) {
      for (int parent : node.parents) node.generation = std::max(node.generation, nodes_.at(parent).generation + 1);
      node.row = rows[node.generation]++;
    }
  }

  /// What the step itself brought: over the faster of the parents.
  double own_gain(const Node& node) const {
    double before = 0;
    for (int parent : node.parents) before = std::max(before, nodes_.at(parent).speedup());
    return before > 0 && node.speedup() > 0 ? node.speedup() / before : 0;
  }

  std::string table() const {
    std::string html =
        "<div class=\"scroll\"><table><tr><th>candidate</th><th>from</th><th>tier</th><th>step</th>"
        "<th class=\"n\">its own gain</th><th class=\"n\">over the original</th></tr>";
    for (auto& [own, node] : nodes_) {
      if (own == kOriginal) continue;
      std::string from;
      for (int parent : node.parents)
        from += (from.empty() ? "" : ", ") + (parent == kOriginal ? "the original" : "#" + std::to_string(parent));
      const std::string& step = node.candidate->step.empty() ? node.candidate->note : node.candidate->step;
      html += "<tr><td>#" + std::to_string(own) + "</td><td>" + from + "</td><td>" + escape(node.candidate->tier) +
              "</td><td class=\"text\">" + escape(shown_line(step, 300)) + "</td><td class=\"n\">" +
              gain(own_gain(node)) + "</td><td class=\"n\">" + gain(node.speedup()) + "</td></tr>";
    }
    return html + "</table></div>";
  }

  std::map<int, const ReportCandidate*> known_;
  std::map<int, Node> nodes_;
};

}  // namespace

std::string lineage_html(const ReportData& data, int number) {
  const Lineage lineage(data, number);
  return lineage.is_worth_showing() ? lineage.html(number) : "";
}

}  // namespace kernelift::cli
