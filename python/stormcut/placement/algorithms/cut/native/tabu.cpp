// Tabu search over single moves and exchanges of executors; see loops.py.
#include <vector>

#include "model.h"

namespace {

constexpr double NOTHING = -1e300;

// Candidates remembered for each ordered pair of nodes when exchanges are looked for.
constexpr Int TOPS = 3;

struct Candidate {
  double value;
  Int group;
};

struct Move {
  Int g, a, b;
};

struct Exchange {
  Int g, a, h, b;
};

class Tabu {
 public:
  Tabu(const Model& model, const State& state, Seed seed)
      : model(model),
        state(state),
        seed(seed),
        nodes(state.counts.columns),
        barred(state.counts.rows * nodes, 0),
        tops(nodes * nodes * TOPS) {}

  // Leaves the best placement met in `best`; ends after that many steps that found none better.
  void run(Matrix<Int> best, Int steps, Int patience, Int tenure, double slack) {
    double total = 0.0, top = 0.0;
    Int idle = 0;
    best.all().copy(state.counts.all());
    for (now = 1; now <= steps; now++) {
      const double missing = top - total + slack;
      Move one{};
      double value = scan(missing, one);
      value = move_anywhere(value, one);
      Exchange two{};
      const double both = exchange(value, random_below(seed, nodes), two);
      if (both == NOTHING) break;
      if (both > value) {
        const auto [g, a, h, b] = two;
        total += gain(model, state, g, a, b);
        move(model, state, g, a, b);
        total += gain(model, state, h, b, a);
        move(model, state, h, b, a);
        bar(h, b, tenure);
        bar(g, a, tenure);
      } else {
        total += value;
        move(model, state, one.g, one.a, one.b);
        bar(one.g, one.a, tenure);
      }
      idle++;
      if (total > top + slack) {
        top = total;
        idle = 0;
        best.all().copy(state.counts.all());
      }
      if (idle > patience) break;
    }
  }

 private:
  void bar(Int g, Int n, Int tenure) {
    barred[g * nodes + n] = now + tenure + random_below(seed, tenure);
  }

  bool is_barred(Int g, Int n) const { return barred[g * nodes + n] > now; }

  // The best groups to go from `a` to `b`; from `a` to `a`: to where they have no traffic.
  Candidate* of(Int a, Int b) { return &tops[(a * nodes + b) * TOPS]; }

  static void remember(Candidate* best, double value, Int g) {
    Int at = TOPS - 1;
    for (; at > 0 && best[at - 1].value < value; at--) best[at] = best[at - 1];
    best[at] = {value, g};
  }

  // Finds the best admissible move towards traffic; collects candidates for exchanges. `missing`:
  // what must be gained to beat the best known; that much lifts the bar on a move.
  double scan(double missing, Move& found) {
    const bool racks = state.has_racks(), priced = model.has_start();
    const double outward = model.prices[0], across = model.prices[1];
    double best = NOTHING;
    for (Candidate& each : tops) each.value = NOTHING;
    for (Int g = 0; g < state.counts.rows; g++) {
      const Row<Int> counts = state.counts[g];
      const Row<double> traffic = state.traffic[g], near = state.near[g];
      const double own = model.own[g];
      for (Int a = 0; a < nodes; a++) {
        if (counts[a] == 0) continue;
        const double here = traffic[a] - own;
        double stay = outward * here;
        if (racks) stay += across * (near[model.rack[a]] - own);
        if (-stay > of(a, a)[TOPS - 1].value) remember(of(a, a), -stay, g);
        for (Int b = 0; b < nodes; b++) {
          if (traffic[b] == 0.0 || b == a || model.slots[b] == 0) continue;
          double value = outward * (traffic[b] - here);
          if (racks && model.rack[a] != model.rack[b])
            value += across * (near[model.rack[b]] - near[model.rack[a]] + own);
          if (priced) value -= restart_cost(model, state, g, a, b);
          if (value <= best && value <= of(a, b)[TOPS - 1].value) continue;
          const bool free = !is_barred(g, b);
          if (value > best && (free || value > missing) && welcome(model, state, g, b)) {
            found = {g, a, b};
            best = value;
          }
          if (free && value > of(a, b)[TOPS - 1].value) remember(of(a, b), value, g);
        }
      }
    }
    return best;
  }

  // Finds a better move to a node without traffic, a random one of equal ones.
  double move_anywhere(double best, Move& found) {
    Int ties = 1;
    for (Int a = 0; a < nodes; a++) {
      for (Int i = 0; i < TOPS; i++) {
        const auto [most, g] = of(a, a)[i];
        if (most == NOTHING || most < best) break;
        for (Int b = 0; b < nodes; b++) {
          if (b == a || is_barred(g, b) || !welcome(model, state, g, b)) continue;
          const double value = gain(model, state, g, a, b);
          if (value < best) continue;
          ties = value == best ? ties + 1 : 1;
          if (ties == 1 || random_below(seed, ties) == 0) found = {g, a, b};
          best = value;
        }
      }
    }
    return best;
  }

  // The i-th group to go from `a` to `b`: those with traffic there, then others.
  Candidate candidate(Int a, Int b, Int i) { return i < TOPS ? of(a, b)[i] : of(a, a)[i - TOPS]; }

  // Finds an exchange better than `best`, beginning with node `first`.
  double exchange(double best, Int first, Exchange& found) {
    for (Int x = 0; x < nodes; x++) {
      const Int a = (x + first) % nodes;
      for (Int y = x + 1; y < nodes; y++) {
        const Int b = (y + first) % nodes;
        const double there = std::max(of(a, b)[0].value, of(a, a)[0].value);
        if (there + std::max(of(b, a)[0].value, of(b, b)[0].value) <= best) continue;
        best = exchange_between(best, a, b, found);
      }
    }
    return best;
  }

  double exchange_between(double best, Int a, Int b, Exchange& found) {
    for (Int i = 0; i < 2 * TOPS; i++) {
      const auto [one, g] = candidate(a, b, i);
      if (one == NOTHING || is_barred(g, b)) continue;
      for (Int j = 0; j < 2 * TOPS; j++) {
        const auto [two, h] = candidate(b, a, j);
        if (two == NOTHING || g == h || one + two <= best || is_barred(h, a)) continue;
        double value = gain(model, state, g, a, b) + gain(model, state, h, b, a);
        value -= swap_correction(model, g, h, a, b);
        if (value > best && replaceable(model, state, g, h, b) &&
            replaceable(model, state, h, g, a)) {
          best = value;
          found = {g, a, h, b};
        }
      }
    }
    return best;
  }

  const Model& model;
  const State& state;
  Seed seed;
  Int nodes, now = 0;
  // Until which step an executor of a group may not come to a node.
  std::vector<Int> barred;
  std::vector<Candidate> tops;
};

}  // namespace

extern "C" void tabu_search(
    const Model& model, const State& state, double operations, double slack, Seed seed,
    Matrix<Int> best) {
  complete(model, state);
  Int nodes = 0, cells = 0;
  for (const Int slots : model.slots) nodes += slots > 0;
  for (const Int count : state.counts.all()) cells += count != 0;
  const double looked = double(cells * nodes + nodes * nodes + 1);
  const Int steps = std::max<Int>(10, std::min<Int>(100'000, Int(operations / looked)));
  const Int tenure = 3 + model.size.sum() / 20;
  Tabu(model, state, seed).run(best, steps, std::max<Int>(20, steps / 3), tenure, slack);
}
