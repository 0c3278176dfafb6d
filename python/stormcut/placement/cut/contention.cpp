// Relieves the busiest node; see contention.py.
#include <vector>

#include "model.h"

namespace {

// Most moves and exchanges of one improvement.
constexpr Int STEPS = 5000;

// A busiest node less busy by this share is rounding.
constexpr double ROUNDING = 1e-9;

// The executor to leave, where to, and what comes for it (-1: nothing); the links of both after.
struct Change {
  Int g, b, h;
  double link_a, link_b;
};

class Nodes {
 public:
  Nodes(const Model& model, const State& state, Row<double> cpu, double tuple_cost, double most)
      : model(model),
        state(state),
        cpu(cpu),
        tuple_cost(tuple_cost),
        most(most),
        totals(model.groups()),
        links(model.nodes(), 0.0) {
    for (Int g = 0; g < model.groups(); g++) {
      totals[g] = state.traffic[g].sum() - model.own[g];
      for (Int n = 0; n < model.nodes(); n++)
        if (state.counts(g, n))
          links[n] += state.counts(g, n) * (totals[g] - state.traffic(g, n) + model.own[g]);
    }
  }

  double busy(Int n, double more, double link) const {
    return std::max(
        (state.used(n, CPU) + more + tuple_cost * link) / cpu[n], link / most);
  }

  void all_busy(Row<double> result) const {
    for (Int n = 0; n < model.nodes(); n++) result[n] = busy(n, 0.0, links[n]);
  }

  void relieve() {
    std::vector<double> kept(model.nodes());
    const Row<double> busy{kept.data(), model.nodes()};
    for (Int step = 0; step < STEPS; step++) {
      all_busy(busy);
      const Int a = std::max_element(busy.begin(), busy.end()) - busy.begin();
      Change change;
      if (!best_change(busy, a, change)) break;
      put(model, state, change.g, a, -1);
      if (change.h >= 0) move(model, state, change.h, change.b, a);
      put(model, state, change.g, change.b, 1);
      links[a] = change.link_a;
      links[change.b] = change.link_b;
    }
  }

 private:
  // Finds the move or exchange that leaves the busier of its two nodes least busy; returns whether
  // there is one that relieves `a`.
  bool best_change(Row<double> busy_now, Int a, Change& change) const {
    double best = busy_now[a] * (1.0 - ROUNDING);
    bool found = false;
    for (Int g = 0; g < model.groups(); g++) {
      if (state.counts(g, a) == 0) continue;
      const double left = links[a] - totals[g] + 2.0 * (state.traffic(g, a) - model.own[g]);
      for (Int b = 0; b < model.nodes(); b++) {
        if (b == a || model.slots[b] == 0 || busy_now[b] >= best) continue;
        const double came = links[b] + totals[g] - 2.0 * state.traffic(g, b);
        const double load = model.load(g, CPU);
        const double worse = std::max(busy(a, -load, left), busy(b, load, came));
        if (worse < best && welcome(model, state, g, b)) {
          best = worse;
          found = true;
          change = {g, b, -1, left, came};
        }
        for (Int h = 0; h < model.groups(); h++) {
          if (state.counts(h, b) == 0 || h == g) continue;
          const double both = 2.0 * pair_rate(model, g, h);
          const double to_a = left + totals[h] - 2.0 * state.traffic(h, a) + both;
          const double to_b = came - totals[h] + 2.0 * (state.traffic(h, b) - model.own[h]) + both;
          const double more = model.load(h, CPU) - load;
          const double after = std::max(busy(a, more, to_a), busy(b, -more, to_b));
          if (after >= best) continue;
          if (replaceable(model, state, g, h, b) && replaceable(model, state, h, g, a)) {
            best = after;
            found = true;
            change = {g, b, h, to_a, to_b};
          }
        }
      }
    }
    return found;
  }

  const Model& model;
  const State& state;
  Row<double> cpu;
  double tuple_cost, most;
  // Tuples/s of one executor of each group; of each node with other nodes.
  std::vector<double> totals, links;
};

}  // namespace

extern "C" void all_busy(
    const Model& model, const State& state, Row<double> cpu, double tuple_cost, double most,
    Row<double> result) {
  Nodes(model, state, cpu, tuple_cost, most).all_busy(result);
}

extern "C" void relieve(
    const Model& model, const State& state, Row<double> cpu, double tuple_cost, double most) {
  Nodes(model, state, cpu, tuple_cost, most).relieve();
}
