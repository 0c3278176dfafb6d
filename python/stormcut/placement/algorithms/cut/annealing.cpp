// Simulated annealing of one topology on the nodes that it has; see annealing.py.
#include "annealing.h"
#include "model.h"

// Steps between changes of temperature.
constexpr Int PLATEAU = 500;

// Losses of so many temperatures are not worth a random number.
constexpr double HOPELESS = 20.0;

static bool fits(const Model& model, const State& state, Int g, Int n) {
  for (Int r = 0; r < model.resources(); r++)
    if (state.used(n, r) + model.load(g, r) > model.bounds(n, r)) return false;
  return true;
}

// Whether an executor of `g` fits in the place of one of `h`.
static bool changes(const Model& model, const State& state, Int g, Int h, Int n) {
  for (Int r = 0; r < model.resources(); r++) {
    const double comes = model.load(g, r), leaves = model.load(h, r);
    if (comes > leaves && state.used(n, r) + (comes - leaves) > model.bounds(n, r)) return false;
  }
  return true;
}

// As `put`, of what annealing keeps up to date.
static void place(const Model& model, const State& state, Int g, Int n, Int sign) {
  state.counts(g, n) += sign;
  for (Int r = 0; r < model.resources(); r++) state.used(n, r) += sign * model.load(g, r);
  state.traffic(g, n) += sign * model.own[g];
  for (Int e = model.starts[g]; e < model.starts[g + 1]; e++)
    state.traffic(model.neighbours[e], n) += sign * model.rates[e];
}

extern "C" void anneal(
    const Model& model, const State& state, Row<Int> group, Row<Int> node, Int steps, double hot,
    Seed seed) {
  const Matrix<double> traffic = state.traffic;
  const bool pinned = model.allowed.rows > 0;
  const double count = double(group.size), nodes = double(state.counts.columns);
  double temperature = hot;
  for (Int step = 0; step < steps; step++) {
    if (step % PLATEAU == 0) {
      const double left = 1.0 - double(step) / double(steps);
      temperature = hot * left * left * left;
    }
    const Int i = Int(uniform(seed) * count), g = group[i], a = node[i];
    Int b;
    if (uniform(seed) < 0.5) {
      b = Int(uniform(seed) * nodes);
      if (a == b || (pinned && !model.allowed(g, b))) continue;
      const double gained = traffic(g, b) - traffic(g, a) + model.own[g];
      if (gained < -HOPELESS * temperature) continue;
      if (!accepted(gained, temperature, seed) || !fits(model, state, g, b)) continue;
    } else {
      const Int j = Int(uniform(seed) * count), h = group[j];
      b = node[j];
      if (a == b || g == h) continue;
      double gained = traffic(g, b) - traffic(g, a) + model.own[g];
      gained += traffic(h, a) - traffic(h, b) + model.own[h];
      if (gained < -HOPELESS * temperature) continue;
      gained -= 2.0 * rate_to(model, g, h);
      if (gained < -HOPELESS * temperature) continue;
      if (!accepted(gained, temperature, seed)) continue;
      if (pinned && !(model.allowed(g, b) && model.allowed(h, a))) continue;
      if (!changes(model, state, g, h, b) || !changes(model, state, h, g, a)) continue;
      node[j] = a;
      place(model, state, h, b, -1);
      place(model, state, h, a, 1);
    }
    node[i] = b;
    place(model, state, g, a, -1);
    place(model, state, g, b, 1);
  }
}
