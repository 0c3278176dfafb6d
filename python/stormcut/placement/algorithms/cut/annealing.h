// What all annealing shares: which changes are made.
#pragma once

#include <cmath>

#include "../../native/random.h"

// Whether to make a change that gains so much: always if that is no loss, else with probability
// exp(gained / temperature).
inline bool accepted(double gained, double temperature, Seed seed) {
  return gained >= 0.0 || uniform(seed) < std::exp(gained / temperature);
}
