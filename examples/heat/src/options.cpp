#include "options.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

static void usage(const char* program, int status) {
  std::fprintf(status ? stderr : stdout,
               "usage: %s [--dim 2|3] [--size N] [--steps N] [--iterations N] [--dt SECONDS]\n"
               "          [--tolerance R] [--check] [--quiet]\n",
               program);
  std::exit(status);
}

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const char* word = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    auto is = [&](const char* name) { return std::strcmp(word, name) == 0; };
    if (is("--help")) usage(argv[0], 0);
    else if (is("--check")) options.check = true;
    else if (is("--quiet")) options.quiet = true;
    else if (!value) usage(argv[0], 2);
    else if (is("--dim")) options.dim = std::atoi(value), ++i;
    else if (is("--size")) options.size = std::atoi(value), ++i;
    else if (is("--steps")) options.steps = std::atoi(value), ++i;
    else if (is("--iterations")) options.iterations = std::atoi(value), ++i;
    else if (is("--dt")) options.dt = static_cast<float>(std::atof(value)), ++i;
    else if (is("--tolerance")) options.tolerance = static_cast<float>(std::atof(value)), ++i;
    else usage(argv[0], 2);
  }
  if ((options.dim != 2 && options.dim != 3) || options.size < 4 || options.steps < 1 || options.iterations < 1)
    usage(argv[0], 2);
  return options;
}
