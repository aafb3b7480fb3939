// Regression with a Gaussian process: Matern-5/2 kernel with one length scale per coordinate, constant mean, noise.
// Length scales and noise are chosen by coordinate ascent on the log marginal likelihood over a short grid, which at
// the few hundred points of a tuning run is quicker and steadier than gradients.
#pragma once
#include <Eigen/Dense>

namespace kernelift::tuner {

class GaussianProcess {
 public:
  struct Prediction {
    Eigen::VectorXd mean, deviation;
  };

  /// `likely_scale`: about how far apart points still resemble each other, before anything is known.
  explicit GaussianProcess(double likely_scale = 0.5) : likely_scale_(likely_scale) {}
  /// Rows of `inputs` are points on [0, 1]^d. Hyperparameters are chosen anew when there is a fifth more to learn from,
  /// unless `keep_scales`.
  void fit(const Eigen::MatrixXd& inputs, const Eigen::VectorXd& targets, bool keep_scales = false);
  /// EXPECTS: fit() was called.
  Prediction predict(const Eigen::MatrixXd& points) const;
  const Eigen::VectorXd& scales() const { return scales_; }
  /// Logarithm of the density of the latest of the targets under the model; comparable between models of the same ones.
  double evidence() const;

 private:
  Eigen::MatrixXd kernel(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b, const Eigen::VectorXd& scales) const;
  void choose_scales();
  double likelihood(const Eigen::VectorXd& scales, double noise) const;

  double likely_scale_;
  Eigen::Index chosen_for_ = 0;  ///< Number of targets when scales were last chosen.
  Eigen::MatrixXd inputs_;
  Eigen::VectorXd targets_, scales_, weights_;  ///< Targets standardised.
  double mean_ = 0, spread_ = 1, noise_ = 1e-3;
  Eigen::LLT<Eigen::MatrixXd> factor_;
};

}  // namespace kernelift::tuner
