// States and what they cost; see model.py.
#include "model.h"

void complete(const Model& model, const State& state) {
  const Int nodes = state.counts.columns, racks = state.near.columns;
  for (Int g = 0; g < state.counts.rows; g++) {
    const Int t = model.topology[g];
    for (Int n = 0; n < nodes; n++) {
      const Int count = state.counts(g, n);
      if (model.has_start() && count != model.start(g, n)) state.changed(t, n) += 1;
      if (count == 0) continue;
      for (Int r = 0; r < model.resources(); r++) state.used(n, r) += count * model.load(g, r);
      state.held(n, t) += count;
      const Int k = model.rack[n] % racks;
      state.traffic(g, n) += count * model.own[g];
      state.near(g, k) += count * model.own[g];
      for (Int e = model.starts[g]; e < model.starts[g + 1]; e++) {
        state.traffic(model.neighbours[e], n) += count * model.rates[e];
        state.near(model.neighbours[e], k) += count * model.rates[e];
      }
    }
  }
  for (Int n = 0; n < nodes; n++)
    for (Int t = 0; t < state.held.columns; t++) state.tenants[n] += state.held(n, t) > 0;
}

extern "C" void state_at(const Model& model, const State& state) { complete(model, state); }

extern "C" double cost(const Model& model, const State& state) {
  double local = 0.0;
  const Int nodes = state.counts.columns;
  for (Int g = 0; g < state.counts.rows; g++) {
    for (Int n = 0; n < nodes; n++)
      if (const Int count = state.counts(g, n))
        local += model.prices[0] * count * (state.traffic(g, n) - model.own[g]);
    if (!state.has_racks()) continue;
    for (Int n = 0; n < nodes; n++)
      if (const Int count = state.counts(g, n))
        local += model.prices[1] * count * (state.near(g, model.rack[n]) - model.own[g]);
  }
  double result = -local / 2.0;
  if (model.has_start())
    for (const Int changed : state.changed.all())
      if (changed) result += model.prices[2];
  return result;
}

extern "C" void shared(Matrix<Int> one, Matrix<Int> other, Matrix<Int> result) {
  for (Int g = 0; g < one.rows; g++)
    for (Int a = 0; a < one.columns; a++)
      if (one(g, a))
        for (Int b = 0; b < one.columns; b++) result(a, b) += std::min(one(g, a), other(g, b));
}

extern "C" void traffic_with(const Model& model, Matrix<Int> counts, Int n, Row<double> result) {
  for (Int g = 0; g < counts.rows; g++) {
    const Int count = counts(g, n);
    if (count == 0) continue;
    const double own = count * model.own[g];
    for (Int b = 0; b < counts.columns; b++) result[b] += own * counts(g, b);
    for (Int e = model.starts[g]; e < model.starts[g + 1]; e++) {
      const double rate = count * model.rates[e];
      const Row<Int> there = counts[model.neighbours[e]];
      for (Int b = 0; b < counts.columns; b++) result[b] += rate * there[b];
    }
  }
}
