// Random numbers that are the same on every machine.
#pragma once

#include <cstdint>

namespace simulator {

// A random stream of its own for each executor and purpose (G. Steele et al., "Fast splittable
// pseudorandom number generators", OOPSLA 2014).
class Stream {
 public:
  Stream(std::uint64_t seed, std::uint64_t who, std::uint64_t purpose) {
    state = mix(mix(mix(seed + STEP) ^ (who + 1) * STEP) ^ (purpose + 1) * STEP);
  }

  double uniform() {
    state += STEP;
    return static_cast<double>(mix(state) >> 11) * 0x1p-53;
  }

  // Of mean 1, from comparisons alone (J. von Neumann, 1951): no library's logarithm, so that every
  // machine draws the same.
  double exponential() {
    for (double whole = 0.0;; whole += 1.0) {
      const double first = uniform();
      double last = first;
      bool odd = true;
      for (double next = uniform(); next < last; next = uniform()) {
        last = next;
        odd = !odd;
      }
      if (odd) return whole + first;
    }
  }

 private:
  static constexpr std::uint64_t STEP = 0x9e3779b97f4a7c15;

  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

  std::uint64_t state;
};

}  // namespace simulator
