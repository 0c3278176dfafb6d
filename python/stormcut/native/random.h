// Random numbers from one state that the caller keeps (G. Marsaglia, "Xorshift RNGs", 2003).
#pragma once

#include <cmath>
#include "arrays.h"

using Seed = Row<std::uint64_t>;

inline std::uint64_t next_random(Seed seed) {
  std::uint64_t x = seed[0];
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  seed[0] = x;
  return x >> 11;
}

// A number from 0 to `limit - 1`.
inline Int random_below(Seed seed, Int limit) {
  return static_cast<Int>(next_random(seed) % static_cast<std::uint64_t>(limit));
}

// A number from 0 to below 1.
inline double uniform(Seed seed) { return static_cast<double>(next_random(seed)) * 0x1p-53; }

// Whether to make a change that gains so much: always if that is no loss, else with probability
// exp(gained / temperature).
inline bool accepted(double gained, double temperature, Seed seed) {
  return gained >= 0.0 || uniform(seed) < std::exp(gained / temperature);
}
