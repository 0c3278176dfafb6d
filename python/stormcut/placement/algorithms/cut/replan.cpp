// What runs now made whole again; see replan.py.
#include <vector>

#include "model.h"

namespace {

// The topology with least traffic within a node.
Int least_tenant(const Model& model, const State& state, Int n) {
  std::vector<double> local(state.held.columns, 0.0);
  for (Int g = 0; g < model.groups(); g++)
    if (const Int count = state.counts(g, n))
      local[model.topology[g]] += count * (state.traffic(g, n) - model.own[g]);
  Int choice = -1;
  for (Int t = 0; t < state.held.columns; t++)
    if (state.held(n, t) > 0 && (choice < 0 || local[t] < local[choice])) choice = t;
  return choice;
}

// The group that loses least traffic for the excess it ends, -1 if there is none.
Int to_evict(const Model& model, const State& state, Int n) {
  double best = INFINITE;
  Int choice = -1;
  for (Int g = 0; g < model.groups(); g++) {
    if (state.counts(g, n) == 0) continue;
    double relief = 0.0;
    for (Int r = 0; r < model.resources(); r++) {
      const double excess = state.used(n, r) - model.bounds(n, r);
      if (excess > 0) relief = std::max(relief, std::min(1.0, model.load(g, r) / excess));
    }
    if (relief <= 0) continue;
    // Where traffic does not tell, the one that ends most of the excess.
    const double value = (state.traffic(g, n) - model.own[g]) / relief - 1e-9 * relief;
    if (value < best) {
      best = value;
      choice = g;
    }
  }
  return choice;
}

// Where one more executor of `g` saves most and fits, -1 if it fits nowhere.
Int most_saving(const Model& model, const State& state, Int g) {
  double best = -INFINITE;
  Int choice = -1;
  for (Int n = 0; n < state.counts.columns; n++) {
    double value = attraction(model, state, g, n);
    if (model.has_start()) value -= model.prices[2] * restarts(model, state, g, n, 1);
    if (value > best && welcome(model, state, g, n)) {
      best = value;
      choice = n;
    }
  }
  return choice;
}

// The node that has most left of what `g` needs most, -1 if it fits nowhere.
Int best_fit(const Model& model, const State& state, Int g) {
  double best = -INFINITE;
  Int choice = -1;
  for (Int n = 0; n < state.counts.columns; n++) {
    double value = 0.0;
    for (Int r = 0; r < model.resources(); r++) {
      const double bound = model.bounds(n, r);
      if (std::isfinite(bound) && bound > 0)
        value += model.load(g, r) * (bound - state.used(n, r)) / (bound * bound);
    }
    if (value > best && welcome(model, state, g, n)) {
      best = value;
      choice = n;
    }
  }
  return choice;
}

// Whether `g` fits on `n` once others of topologies there have left.
bool conceivable(const Model& model, const State& state, Int g, Int n) {
  if (!model.may_be(g, n)) return false;
  if (state.held(n, model.topology[g]) == 0 && state.tenants[n] >= model.slots[n]) return false;
  for (Int r = 0; r < model.resources(); r++)
    if ((state.counts(g, n) + 1) * model.load(g, r) > model.bounds(n, r)) return false;
  return true;
}

// The group that ends most excess on `n` for its weight, -1 if there is no excess.
Int gives_way(
    const Model& model, const State& state, Int n, Int g, const std::vector<double>& stubborn) {
  double best = 0.0;
  Int choice = -1;
  for (Int r = 0; r < model.resources(); r++) {
    const double excess = state.used(n, r) - model.bounds(n, r);
    if (excess <= 0) continue;
    for (Int h = 0; h < model.groups(); h++) {
      if (h == g || state.counts(h, n) == 0 || model.load(h, r) <= 0) continue;
      const double value = std::min(1.0, model.load(h, r) / excess) / stubborn[h];
      if (value > best) {
        best = value;
        choice = h;
      }
    }
  }
  return choice;
}

// The node on which least has to give way to `g`, -1 if it may be on none.
Int least_resistance(
    const Model& model, const State& state, Int g, const std::vector<double>& stubborn) {
  double best = INFINITE;
  Int choice = -1;
  std::vector<Int> driven;
  for (Int n = 0; n < state.counts.columns; n++) {
    if (!conceivable(model, state, g, n)) continue;
    put(model, state, g, n, 1);
    double value = 0.0;
    driven.clear();
    while (value < best) {
      const Int h = gives_way(model, state, n, g, stubborn);
      if (h < 0) break;
      put(model, state, h, n, -1);
      driven.push_back(h);
      value += stubborn[h];
    }
    for (const Int h : driven) put(model, state, h, n, 1);
    put(model, state, g, n, -1);
    if (value < best) {
      best = value;
      choice = n;
    }
  }
  return choice;
}

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

extern "C" void evict(const Model& model, const State& state) {
  for (Int n = 0; n < state.counts.columns; n++) {
    for (Int g = 0; g < model.groups(); g++)
      while (state.counts(g, n) > 0 && !model.may_be(g, n)) put(model, state, g, n, -1);
    while (state.tenants[n] > model.slots[n]) {
      const Int t = least_tenant(model, state, n);
      for (Int g = 0; g < model.groups(); g++)
        while (model.topology[g] == t && state.counts(g, n) > 0) put(model, state, g, n, -1);
    }
    for (Int g = to_evict(model, state, n); g >= 0; g = to_evict(model, state, n))
      put(model, state, g, n, -1);
  }
}

extern "C" bool insert(
    const Model& model, const State& state, Row<Int> missing, Row<double> weight, Int steps) {
  // What found no room counts as harder to place, and is not driven away so lightly.
  std::vector<double> stubborn(weight.begin(), weight.end());
  const double step = weight.sum() / double(weight.size);
  bool tight = false;
  while (true) {
    Int g = -1;
    for (Int h = 0; h < missing.size; h++)
      if (missing[h] > 0 && (g < 0 || weight[h] > weight[g])) g = h;
    if (g < 0) return true;
    Int n = tight ? best_fit(model, state, g) : most_saving(model, state, g);
    if (n < 0) {
      tight = true;
      stubborn[g] += step;
      n = least_resistance(model, state, g, stubborn);
      steps--;
      if (n < 0 || steps < 0) return false;
    }
    put(model, state, g, n, 1);
    missing[g]--;
    for (Int h = gives_way(model, state, n, g, stubborn); h >= 0;
         h = gives_way(model, state, n, g, stubborn)) {
      put(model, state, h, n, -1);
      missing[h]++;
    }
  }
}

extern "C" void improve(const Model& model, const State& state, double slack, double candidates) {
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
