// The command line.
#pragma once

struct Options {
  int dim = 3;
  int size = 80;
  int steps = 8;
  int iterations = 60;     // at most, in one time step
  float dt = 40.0f;        // seconds
  float tolerance = 1e-5f;
  bool check = false;
  bool quiet = false;
};

Options parse_options(int argc, char** argv);
