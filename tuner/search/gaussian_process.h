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

  /// Rows of `inputs` are points on [0, 1]^d. `choose_scales` re-chooses the hyperparameters; else the last are kept.
  void fit(const Eigen::MatrixXd& inputs, const Eigen::VectorXd& targets, bool choose_scales);
  /// EXPECTS: fit() was called.
  Prediction predict(const Eigen::MatrixXd& points) const;
  const Eigen::VectorXd& scales() const { return scales_; }

 private:
  Eigen::MatrixXd kernel(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b, const Eigen::VectorXd& scales) const;
  double likelihood(const Eigen::VectorXd& scales, double noise) const;

  Eigen::MatrixXd inputs_;
  Eigen::VectorXd targets_, scales_, weights_;  ///< Targets standardised.
  double mean_ = 0, spread_ = 1, noise_ = 1e-3;
  Eigen::LLT<Eigen::MatrixXd> factor_;
};

}  // namespace kernelift::tuner
