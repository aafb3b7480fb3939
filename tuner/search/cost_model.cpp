// See cost_model.h.
#include "tuner/search/cost_model.h"

#include <algorithm>
#include <cmath>

namespace kernelift::tuner {
namespace {

/// In units of a coordinate's range: a quarter of it, half, all.
constexpr double kLikelyScales[] = {0.5, 0.25, 1};
constexpr double kSlowShare = 0.25;  ///< Of what a cost exceeds the median by, in the model's eyes.

Eigen::MatrixXd stacked(const Eigen::MatrixXd& above, const Eigen::MatrixXd& below) {
  Eigen::MatrixXd made(above.rows() + below.rows(), above.cols());
  made.topRows(above.rows()) = above;
  if (below.rows()) made.bottomRows(below.rows()) = below;
  return made;
}

/// Fits; then again with the points in flight as predicted.
void fit_one(GaussianProcess& process, const Eigen::MatrixXd& inputs, const Eigen::VectorXd& targets,
             const Eigen::MatrixXd& waiting) {
  process.fit(inputs, targets);
  if (!waiting.rows()) return;
  const Eigen::VectorXd believed = stacked(targets, process.predict(waiting).mean);
  process.fit(stacked(inputs, waiting), believed, true);
}

Eigen::VectorXd predicted_by(const Prior& prior, size_t source, const Eigen::MatrixXd& points) {
  Eigen::VectorXd made(points.rows());
  std::vector<double> point(static_cast<size_t>(points.cols()));
  for (Eigen::Index row = 0; row < points.rows(); ++row) {
    for (Eigen::Index c = 0; c < points.cols(); ++c) point[static_cast<size_t>(c)] = points(row, c);
    made[row] = prior.predict(source, point);
  }
  return made;
}

}  // namespace

CostModel::CostModel(std::shared_ptr<const Prior> prior) : prior_(std::move(prior)) {
  for (double scale : kLikelyScales) processes_.emplace_back(scale);
}

double CostModel::compressed(double cost) const {
  return cost > median_ ? median_ + kSlowShare * (cost - median_) : cost;
}

Eigen::VectorXd CostModel::inherited(const Eigen::MatrixXd& points) const {
  Eigen::VectorXd made = predicted_by(*prior_, source_, points);
  for (auto& cost : made) cost = compressed(offset_ + slope_ * cost);
  return made;
}

void CostModel::choose_source(const Eigen::MatrixXd& inputs, const Eigen::VectorXd& costs) {
  double least = INFINITY;
  for (size_t source = 0; source < prior_->sources(); ++source) {
    const Eigen::VectorXd predicted = predicted_by(*prior_, source, inputs);
    const double mean = predicted.mean(), level = costs.mean();
    const Eigen::ArrayXd from = predicted.array() - mean, to = costs.array() - level;
    // Least squares with one trial's weight (unit information) on a slope of one: the same kernel elsewhere. What fell
    // there and rises here is no help.
    const double own = std::max(from.square().mean(), 1e-12);
    const double slope = std::max(0.0, ((from * to).sum() + own) / (from.square().sum() + own));
    const double error = (to - slope * from).square().sum();
    if (error >= least) continue;
    least = error, source_ = source, slope_ = slope, offset_ = level - slope * mean;
  }
}

void CostModel::fit(const Eigen::MatrixXd& inputs, const Eigen::VectorXd& costs, const Eigen::MatrixXd& waiting,
                    bool inherit) {
  // What is worse than the median only needs to be known as bad: compressed, it leaves the model its resolution for
  // the fast end, which is all that is asked of it.
  std::vector<double> sorted(costs.data(), costs.data() + costs.size());
  auto middle = sorted.begin() + static_cast<ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  median_ = *middle;
  Eigen::VectorXd targets = costs;
  for (auto& target : targets) target = compressed(target);
  trusted_.reset();
  if (inherit && prior_ && prior_->sources()) {
    choose_source(inputs, costs);
    const Eigen::VectorXd rest = targets - inherited(inputs);
    rest_.fit(inputs, rest);
    processes_[0].fit(inputs, targets);
    if (slope_ > 0 && rest_.evidence() > processes_[0].evidence()) {
      trusted_ = source_;
      return fit_one(rest_, inputs, rest, waiting);
    }
  }
  for (auto& process : processes_) fit_one(process, inputs, targets, waiting);
}

GaussianProcess::Prediction CostModel::predict(const Eigen::MatrixXd& points) const {
  if (trusted_) {
    auto prediction = rest_.predict(points);
    prediction.mean += inherited(points);
    return prediction;
  }
  // Mean and variance of the mixture.
  Eigen::ArrayXd mean = Eigen::ArrayXd::Zero(points.rows()), squares = mean;
  for (auto& process : processes_) {
    auto prediction = process.predict(points);
    mean += prediction.mean.array();
    squares += prediction.mean.array().square() + prediction.deviation.array().square();
  }
  const auto count = static_cast<double>(processes_.size());
  mean /= count;
  return {mean.matrix(), (squares / count - mean.square()).max(1e-12).sqrt().matrix()};
}

}  // namespace kernelift::tuner
