// Makes room for executors that fit nowhere: others are ejected; see loops.py.
#include <vector>

#include "model.h"

namespace {

// Ejections tried for each executor, and for as many more as if there were 50 more.
constexpr Int TRIES = 20;

class Ejection {
 public:
  Ejection(
      const Model& model, const State& state, Row<double> weight, Int otherwise, Int shuffles,
      Seed seed)
      : model(model),
        state(state),
        weight(weight),
        otherwise(otherwise),
        shuffles(shuffles),
        seed(seed),
        missing(model.groups()),
        out(model.groups(), 0),
        penalty(model.groups(), 1.0) {
    for (Int g = 0; g < model.groups(); g++) missing[g] = model.size[g] - state.counts[g].sum();
  }

  // Ends where nothing is missing, or so many groups on nodes were looked at.
  void run(double looks) {
    const Int cells = state.counts.rows * state.counts.columns;
    Int tries = std::min<Int>(TRIES * (model.size.sum() + 50), Int(looks / double(cells)));
    for (Int g = hardest(); g >= 0; g = hardest()) {
      Int n = best_node(model, state, g, otherwise, seed);
      const bool fits = n >= 0;
      if (!fits) {
        penalty[g] += 1.0;
        if (tries-- <= 0 || (n = make_way(g)) < 0) break;
      }
      put(model, state, g, n, 1);
      if (!fits) shuffle();
      missing[g]--;
    }
  }

 private:
  // The missing group that is hardest to insert, -1 if none is missing.
  Int hardest() const {
    double best = -1.0;
    Int choice = -1;
    for (Int g = 0; g < model.groups(); g++)
      if (missing[g] > 0 && penalty[g] * weight[g] > best) {
        best = penalty[g] * weight[g];
        choice = g;
      }
    return choice;
  }

  // Ejects what is cheapest so that `g` fits; returns on which node, -1 if it fits on none.
  Int make_way(Int g) {
    double best = INFINITE;
    Int choice = -1, ties = 0;
    for (Int n = 0; n < model.nodes(); n++) {
      const double price = make_room(g, n);
      for (Int h = 0; h < model.groups(); h++)
        for (Int i = 0; i < out[h]; i++) put(model, state, h, n, 1);
      if (price > best || price == INFINITE) continue;
      ties = price == best ? ties + 1 : 1;
      if (price < best || random_below(seed, ties) == 0) choice = n;
      best = price;
    }
    if (choice < 0) return -1;
    make_room(g, choice);
    for (Int h = 0; h < model.groups(); h++) missing[h] += out[h];
    return choice;
  }

  void eject(Int h, Int n) {
    put(model, state, h, n, -1);
    out[h]++;
  }

  // Takes executors off `n` until `g` fits, and returns their penalties; `out` counts them.
  // Infinite, and nothing is ejected, if `g` can never be there.
  double make_room(Int g, Int n) {
    std::fill(out.begin(), out.end(), 0);
    if (!model.may_be(g, n)) return INFINITE;
    for (Int r = 0; r < model.resources(); r++)
      if (model.load(g, r) > model.bounds(n, r)) return INFINITE;
    double price = 0.0;
    if (state.held(n, model.topology[g]) == 0 && state.tenants[n] >= model.slots[n])
      price += eject_topology(n);
    while (!welcome(model, state, g, n)) {
      const Int h = most_relief(g, n);
      if (h < 0) {  // only rounding stands in the way
        restore(n);
        return INFINITE;
      }
      eject(h, n);
      price += penalty[h];
    }
    return price - taken_back(g, n);
  }

  void restore(Int n) {
    for (Int h = 0; h < model.groups(); h++)
      for (; out[h] > 0; out[h]--) put(model, state, h, n, 1);
  }

  // Takes the topology off `n` whose executors there have the least penalties; returns these.
  double eject_topology(Int n) {
    std::vector<double> prices(state.held.columns, 0.0);
    for (Int h = 0; h < model.groups(); h++)
      prices[model.topology[h]] += state.counts(h, n) * penalty[h];
    double best = INFINITE;
    Int choice = -1, ties = 0;
    for (Int t = 0; t < state.held.columns; t++) {
      if (state.held(n, t) == 0 || prices[t] > best) continue;
      ties = prices[t] == best ? ties + 1 : 1;
      if (prices[t] < best || random_below(seed, ties) == 0) choice = t;
      best = prices[t];
    }
    for (Int h = 0; h < model.groups(); h++)
      while (model.topology[h] == choice && state.counts(h, n) > 0) eject(h, n);
    return best;
  }

  // The group on `n` that frees most of what `g` lacks for its penalty.
  Int most_relief(Int g, Int n) {
    double best = -1.0;
    Int choice = -1, ties = 0;
    for (Int h = 0; h < model.groups(); h++) {
      if (state.counts(h, n) == 0) continue;
      double relief = 0.0;
      for (Int r = 0; r < model.resources(); r++) {
        const double lacking = state.used(n, r) + model.load(g, r) - model.bounds(n, r);
        if (lacking > 0) relief += std::min(1.0, model.load(h, r) / lacking);
      }
      relief /= penalty[h];
      if (relief < best) continue;
      ties = relief == best ? ties + 1 : 1;
      if (relief > best || random_below(seed, ties) == 0) choice = h;
      best = relief;
    }
    return choice;
  }

  // Puts back what was ejected for nothing; returns its penalties.
  double taken_back(Int g, Int n) {
    double result = 0.0;
    put(model, state, g, n, 1);
    for (Int h = 0; h < model.groups(); h++)
      while (out[h] > 0 && welcome(model, state, h, n)) {
        put(model, state, h, n, 1);
        out[h]--;
        result += penalty[h];
      }
    put(model, state, g, n, -1);
    return result;
  }

  // Moves a few random executors to random nodes where they fit.
  void shuffle() {
    for (Int i = 0; i < shuffles; i++) {
      const Int g = random_below(seed, model.groups());
      const Int a = random_below(seed, model.nodes());
      const Int b = random_below(seed, model.nodes());
      if (a != b && state.counts(g, a) > 0 && welcome(model, state, g, b))
        move(model, state, g, a, b);
    }
  }

  const Model& model;
  const State& state;
  Row<double> weight;
  Int otherwise, shuffles;
  Seed seed;
  // Executors of each group that are nowhere; those just ejected; how dear they are to eject.
  std::vector<Int> missing, out;
  std::vector<double> penalty;
};

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

extern "C" void insert(
    const Model& model, const State& state, Row<double> weight, Int otherwise, Int shuffles,
    double looks, Seed seed) {
  Ejection(model, state, weight, otherwise, shuffles, seed).run(looks);
}
