// See gaussian_process.h.
#include "tuner/search/gaussian_process.h"

#include <algorithm>
#include <cmath>

namespace kernelift::tuner {
namespace {

constexpr double kScaleGrid[] = {0.1, 0.2, 0.4, 0.8, 1.6, 3.2};  ///< From one step in ten to "does not matter".
constexpr double kNoiseGrid[] = {1e-4, 1e-3, 1e-2, 5e-2};        ///< Variance, targets being standardised.
constexpr int kSweepsFirst = 2, kSweepsOn = 1;   ///< Over the coordinates; later ones begin where the last ended.
constexpr Eigen::Index kLikelihoodPoints = 120;  ///< More points change the chosen scales little and cost n^3.

}  // namespace

Eigen::MatrixXd GaussianProcess::kernel(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b,
                                        const Eigen::VectorXd& scales) const {
  Eigen::MatrixXd left = a * scales.cwiseInverse().asDiagonal(), right = b * scales.cwiseInverse().asDiagonal();
  Eigen::MatrixXd squared = -2 * left * right.transpose();
  squared.colwise() += left.rowwise().squaredNorm();
  squared.rowwise() += right.rowwise().squaredNorm().transpose();
  Eigen::ArrayXXd r = (5 * squared.array().max(0)).sqrt();
  return ((1 + r + r.square() / 3) * (-r).exp()).matrix();
}

double GaussianProcess::likelihood(const Eigen::VectorXd& scales, double noise) const {
  Eigen::Index n = std::min(inputs_.rows(), kLikelihoodPoints);
  Eigen::MatrixXd points = inputs_.bottomRows(n);
  Eigen::VectorXd values = targets_.tail(n);
  Eigen::MatrixXd covariance = kernel(points, points, scales);
  covariance.diagonal().array() += noise + 1e-8;
  Eigen::LLT<Eigen::MatrixXd> factor(covariance);
  if (factor.info() != Eigen::Success) return -INFINITY;
  double log_determinant = 2 * factor.matrixLLT().diagonal().array().log().sum();
  // A weak preference for middling scales keeps unlearnable coordinates from running to the ends of the grid.
  double prior = -0.5 * (scales.array() / likely_scale_).log().square().sum() / 4;
  return -0.5 * values.dot(factor.solve(values)) - 0.5 * log_determinant + prior;
}

double GaussianProcess::evidence() const {
  const auto counted = static_cast<double>(std::min(inputs_.rows(), kLikelihoodPoints));
  return likelihood(scales_, noise_) - counted * std::log(spread_);
}

void GaussianProcess::choose_scales() {
  const int sweeps = chosen_for_ ? kSweepsOn : kSweepsFirst;
  double best = likelihood(scales_, noise_);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (Eigen::Index d = 0; d < scales_.size(); ++d) {
      Eigen::VectorXd trial = scales_;
      for (double scale : kScaleGrid) {
        trial[d] = scale;
        if (double value = likelihood(trial, noise_); value > best) best = value, scales_ = trial;
      }
    }
    for (double noise : kNoiseGrid)
      if (double value = likelihood(scales_, noise); value > best) best = value, noise_ = noise;
  }
  chosen_for_ = targets_.size();
}

void GaussianProcess::fit(const Eigen::MatrixXd& inputs, const Eigen::VectorXd& targets, bool keep_scales) {
  inputs_ = inputs;
  mean_ = targets.mean();
  spread_ = std::max(1e-12, std::sqrt((targets.array() - mean_).square().mean()));
  targets_ = (targets.array() - mean_) / spread_;
  if (scales_.size() != inputs.cols()) {
    scales_ = Eigen::VectorXd::Constant(inputs.cols(), likely_scale_);
    chosen_for_ = 0, keep_scales = false;
  }
  const Eigen::Index more = targets.size() - chosen_for_;
  if (!keep_scales && (more < 0 || more > std::max<Eigen::Index>(4, chosen_for_ / 5))) choose_scales();
  Eigen::MatrixXd covariance = kernel(inputs_, inputs_, scales_);
  covariance.diagonal().array() += noise_ + 1e-8;
  factor_.compute(covariance);
  weights_ = factor_.solve(targets_);
}

GaussianProcess::Prediction GaussianProcess::predict(const Eigen::MatrixXd& points) const {
  Eigen::MatrixXd cross = kernel(inputs_, points, scales_);
  Prediction prediction;
  prediction.mean = (cross.transpose() * weights_).array() * spread_ + mean_;
  Eigen::MatrixXd half = factor_.matrixL().solve(cross);
  prediction.deviation = (1 - half.colwise().squaredNorm().transpose().array()).max(1e-12).sqrt() * spread_;
  return prediction;
}

}  // namespace kernelift::tuner
