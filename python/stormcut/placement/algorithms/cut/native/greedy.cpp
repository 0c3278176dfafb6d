// Greedy insertion of executors that are nowhere yet; see loops.py.
#include "model.h"

// The largest share of a resource of `n` in use.
static double fullness(const Model& model, const State& state, Int n) {
  double result = 0.0;
  for (Int r = 0; r < model.resources(); r++) {
    const double bound = model.bounds(n, r);
    if (std::isfinite(bound) && bound > 0) result = std::max(result, state.used(n, r) / bound);
  }
  return result;
}

Int best_node(const Model& model, const State& state, Int g, Int otherwise, Seed seed) {
  double best = -INFINITE, second = 0.0;
  Int choice = -1, ties = 0;
  for (Int n = 0; n < state.counts.columns; n++) {
    double value = attraction(model, state, g, n);
    if (model.has_start()) value -= model.prices[2] * restarts(model, state, g, n, 1);
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

extern "C" void inserted(
    const Model& model, const State& state, Row<Int> order, Int otherwise, Seed seed) {
  complete(model, state);
  for (const Int g : order) {
    const Int n = best_node(model, state, g, otherwise, seed);
    if (n >= 0) put(model, state, g, n, 1);
  }
}

extern "C" bool deal_evenly(
    const Model& model, const State& state, Row<Int> members, Row<Int> missing, Row<Int> nodes,
    Row<double> shares) {
  for (const Int g : members) {
    while (missing[g] > 0) {
      double best = INFINITE;
      Int choice = -1;
      for (const Int n : nodes) {
        const double level = (state.counts(g, n) + 1.0) / shares[n];
        if (level < best && welcome(model, state, g, n)) {
          best = level;
          choice = n;
        }
      }
      if (choice < 0) return false;
      put(model, state, g, choice, 1);
      missing[g]--;
    }
  }
  return true;
}

// A group of the densest pair that can still be begun on `n`, -1 if there is none.
static Int densest(
    const Model& model, const State& state, Row<Int> members, Row<Int> missing, Int n,
    Row<double> weight) {
  double best = 0.0;
  Int choice = -1;
  for (const Int g : members) {
    if (missing[g] == 0 || !welcome(model, state, g, n)) continue;
    if (missing[g] > 1 && model.own[g] > best * weight[g] * weight[g]) {
      best = model.own[g] / (weight[g] * weight[g]);
      choice = g;
    }
    for (Int e = model.starts[g]; e < model.starts[g + 1]; e++) {
      const Int h = model.neighbours[e];
      if (missing[h] == 0 || !welcome(model, state, h, n)) continue;
      const double value = model.rates[e] / (weight[g] * weight[h]);
      if (value > best) {
        best = value;
        choice = g;
      }
    }
  }
  return choice;
}

extern "C" void grow_clusters(
    const Model& model, const State& state, Row<Int> members, Row<Int> missing, Row<Int> nodes,
    Row<double> weight) {
  for (const Int n : nodes) {
    while (true) {
      double best = 0.0;
      Int choice = -1;
      for (const Int g : members) {
        const double value = state.traffic(g, n) / weight[g];
        if (missing[g] > 0 && value > best && welcome(model, state, g, n)) {
          best = value;
          choice = g;
        }
      }
      if (choice < 0) choice = densest(model, state, members, missing, n, weight);
      if (choice < 0) break;
      put(model, state, choice, n, 1);
      missing[choice]--;
    }
  }
}

extern "C" void take_out(
    const Model& model, const State& state, Row<Int> members, Row<Int> nodes) {
  for (const Int g : members)
    for (const Int n : nodes)
      while (state.counts(g, n) > 0) put(model, state, g, n, -1);
}
