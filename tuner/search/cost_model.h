// Predicts the logarithm of a point's cost from the costs measured so far: a mixture of Gaussian processes that differ
// in how far they expect a point to resemble others, since a few trials do not tell. What earlier runs predict is
// taken as the mean around which a process models the rest, if that explains the measured costs better than no
// inheritance does; so a prior that misleads is dropped as soon as measurements contradict it.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "tuner/search/gaussian_process.h"
#include "tuner/search/prior.h"

namespace kernelift::tuner {

class CostModel {
 public:
  explicit CostModel(std::shared_ptr<const Prior> prior);

  /// Rows of `inputs` are Space::encode() of measured points, `costs` the logarithms of their costs; rows of `waiting`
  /// are points in flight, which are believed to turn out as predicted. `inherit`: the prior is looked at.
  void fit(const Eigen::MatrixXd& inputs, const Eigen::VectorXd& costs, const Eigen::MatrixXd& waiting, bool inherit);
  /// EXPECTS: fit() was called.
  GaussianProcess::Prediction predict(const Eigen::MatrixXd& points) const;
  /// The source of the prior on which predictions rest; nullopt: on none.
  std::optional<size_t> trusted() const { return trusted_; }

 private:
  /// A source's prediction on the scale of the measured costs.
  Eigen::VectorXd inherited(const Eigen::MatrixXd& points) const;
  double compressed(double cost) const;
  /// The source that agrees best with the costs, and how its predictions translate into them.
  void choose_source(const Eigen::MatrixXd& inputs, const Eigen::VectorXd& costs);

  std::shared_ptr<const Prior> prior_;
  std::vector<GaussianProcess> processes_;
  GaussianProcess rest_;  ///< Of what the inherited mean does not explain.
  std::optional<size_t> trusted_;
  size_t source_ = 0;
  double offset_ = 0, slope_ = 0;  ///< Cost = offset_ + slope_ * the source's prediction.
  double median_ = 0;
};

}  // namespace kernelift::tuner
