// Moves and exchanges that pay for their restarts; see loops.py.
#include <vector>

#include "model.h"

namespace {

// The groups that have executors on each node, in compressed rows.
void present_on(const State& state, std::vector<Int>& starts, std::vector<Int>& present) {
  starts.assign(1, 0);
  present.clear();
  for (Int n = 0; n < state.counts.columns; n++) {
    for (Int g = 0; g < state.counts.rows; g++)
      if (state.counts(g, n) > 0) present.push_back(g);
    starts.push_back(Int(present.size()));
  }
}

// Writes what moving `g` from `a` to each node gains; below 0 where it may not be. As `gain`, in a
// loop that touches arrays only, for nearly all time is spent here.
void gains(const Model& model, const State& state, Int g, Int a, std::vector<double>& result) {
  const Row<double> traffic = state.traffic[g], near = state.near[g];
  const double outward = model.prices[0], across = model.prices[1], restart = model.prices[2];
  const double here = traffic[a], own = model.own[g];
  const bool racks = state.has_racks(), priced = model.has_start();
  const double leaving = priced ? restart * restarts(model, state, g, a, -1) : 0.0;
  for (Int b = 0; b < Int(result.size()); b++) {
    double value = outward * (traffic[b] - here + own) - leaving;
    if (racks && model.rack[a] != model.rack[b])
      value += across * (near[model.rack[b]] - near[model.rack[a]] + own);
    if (priced && value > 0) value -= restart * restarts(model, state, g, b, 1);
    result[b] = b == a || model.slots[b] == 0 ? -1.0 : value;
  }
}

// Which of `others` on `b` best changes places with `g` on `a`, -1 for none. `least`: what its own
// move must gain.
Int partner(
    const Model& model, const State& state, Int g, Int a, Int b, Row<Int> others, double least) {
  double best = least;
  Int choice = -1;
  for (const Int h : others) {
    if (h == g || state.counts(h, b) == 0) continue;
    const double gained = gain(model, state, h, b, a) - swap_correction(model, g, h, a, b);
    if (gained > best && replaceable(model, state, g, h, b) &&
        replaceable(model, state, h, g, a)) {
      best = gained;
      choice = h;
    }
  }
  return choice;
}

}  // namespace

extern "C" void descend(const Model& model, const State& state, double slack, double candidates) {
  const Int nodes = state.counts.columns;
  std::vector<double> gained(nodes);
  std::vector<Int> starts, present;
  for (bool better = true; better && candidates > 0;) {
    better = false;
    present_on(state, starts, present);
    const Row<Int> all{present.data(), Int(present.size())};
    for (Int a = 0; a < nodes; a++) {
      for (const Int g : all.part(starts[a], starts[a + 1])) {
        candidates -= double(nodes);
        if (candidates < 0 || state.counts(g, a) == 0) continue;
        gains(model, state, g, a, gained);
        for (Int b = 0; b < nodes; b++) {
          if (gained[b] <= slack) continue;
          // What was done since may have changed it.
          const double value = gain(model, state, g, a, b);
          if (state.counts(g, a) == 0 || value <= slack) continue;
          if (welcome(model, state, g, b)) {
            move(model, state, g, a, b);
            better = true;
            continue;
          }
          const Row<Int> others = all.part(starts[b], starts[b + 1]);
          candidates -= double(others.size);
          const Int h = partner(model, state, g, a, b, others, slack - value);
          if (h < 0) continue;
          move(model, state, g, a, b);
          move(model, state, h, b, a);
          better = true;
        }
      }
    }
  }
}
