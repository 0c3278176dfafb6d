// Greedy insertion of executors that are nowhere yet; see filling.py.
#include "model.h"

enum Otherwise { EMPTIEST, FULLEST, ANYWHERE };

// The largest share of a resource of `n` in use.
static double fullness(const Model& model, const State& state, Int n) {
  double result = 0.0;
  for (Int r = 0; r < model.resources(); r++) {
    const double bound = model.bounds(n, r);
    if (std::isfinite(bound) && bound > 0) result = std::max(result, state.used(n, r) / bound);
  }
  return result;
}

// Where one more executor of `g` has most traffic and fits, -1 if it fits nowhere.
Int best_node(const Model& model, const State& state, Int g, Int otherwise, Seed seed) {
  double best = -1.0, second = 0.0;
  Int choice = -1, ties = 0;
  for (Int n = 0; n < state.counts.columns; n++) {
    const double value = attraction(model, state, g, n);
    if (value < best || !welcome(model, state, g, n)) continue;
    double full = 0.0;
    if (otherwise != ANYWHERE) full = fullness(model, state, n);
    if (otherwise == EMPTIEST) full = -full;
    if (value == best && full < second) continue;
    ties = value == best && full == second ? ties + 1 : 1;
    if (ties == 1 || random_below(seed, ties) == 0) choice = n;
    best = value;
    second = full;
  }
  return choice;
}

Int fill(const Model& model, const State& state, Row<Int> order, Int otherwise, Seed seed) {
  Int left = 0;
  for (const Int g : order) {
    const Int n = best_node(model, state, g, otherwise, seed);
    if (n < 0)
      left++;
    else
      put(model, state, g, n, 1);
  }
  return left;
}

extern "C" void inserted(
    const Model& model, const State& state, Row<Int> order, Int otherwise, Seed seed) {
  complete(model, state);
  fill(model, state, order, otherwise, seed);
}
