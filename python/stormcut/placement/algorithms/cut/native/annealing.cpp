// Simulated annealing of one topology on the nodes that it has; see loops.py.
#include "model.h"

// Steps between changes of temperature.
constexpr Int PLATEAU = 500;

// Losses of so many temperatures are not worth a random number.
constexpr double HOPELESS = 20.0;

extern "C" void anneal(
    const Model& model, const State& state, Row<Int> group, Row<Int> node, Int steps, double hot,
    Seed seed) {
  const Matrix<double> traffic = state.traffic;
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
      if (a == b || !model.may_be(g, b)) continue;
      const double gained = traffic(g, b) - traffic(g, a) + model.own[g];
      if (gained < -HOPELESS * temperature) continue;
      if (!accepted(gained, temperature, seed) || !welcome(model, state, g, b)) continue;
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
      if (!replaceable(model, state, g, h, b) || !replaceable(model, state, h, g, a)) continue;
      node[j] = a;
      move(model, state, h, b, a);
    }
    node[i] = b;
    move(model, state, g, a, b);
  }
}
