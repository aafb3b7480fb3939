// The command line.
#pragma once

struct Options {
  int dim = 3;
  int size = 96;
  int steps = 12;
  int iterations = 400;  // at most, in one time step
  float dt = 4.0f;       // seconds
  float tolerance = 1e-5f;
  bool check = false;
  bool quiet = false;
};

Options parse_options(int argc, char** argv);
