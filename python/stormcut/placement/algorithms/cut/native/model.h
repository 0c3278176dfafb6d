// What a move gains, whether it fits, and how it changes a placement; the steps of every search.
//
// Everything works on a matrix of counts (groups, nodes) and what is kept beside it: the traffic
// of one executor of a group with each node, so that a move's gain is a subtraction, and a move
// costs O(neighbours of the group). The fields are explained in model.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "../../../../native/arrays.h"
#include "../../../../native/random.h"

constexpr double INFINITE = std::numeric_limits<double>::infinity();

struct Model {
  Row<Int> size;
  Row<Int> starts;
  Row<Int> neighbours;
  Row<double> rates;
  Row<double> own;
  Matrix<double> load;
  Row<double> scale;
  Matrix<double> bounds;
  Row<Int> slots;
  Row<Int> topology;
  Row<Int> rack;
  Matrix<bool> allowed;
  Matrix<Int> start;
  Row<double> prices;

  Int groups() const { return own.size; }
  Int nodes() const { return slots.size; }
  Int resources() const { return load.columns; }
  bool has_start() const { return start.rows > 0; }

  bool may_be(Int g, Int n) const {
    return slots[n] > 0 && (allowed.rows == 0 || allowed(g, n));
  }
};

struct State {
  Matrix<Int> counts;
  Matrix<double> traffic;
  Matrix<double> near;
  Matrix<double> used;
  Matrix<Int> held;
  Row<Int> tenants;
  Matrix<Int> changed;

  bool has_racks() const { return near.columns > 1; }
};

// Adds (sign 1) an executor of group `g` to node `n`, or takes one away (sign -1).
inline void put(const Model& model, const State& state, Int g, Int n, Int sign) {
  const Int t = model.topology[g];
  if (model.has_start()) {
    const bool before = state.counts(g, n) != model.start(g, n);
    const bool after = state.counts(g, n) + sign != model.start(g, n);
    state.changed(t, n) += Int(after) - Int(before);
  }
  state.counts(g, n) += sign;
  for (Int r = 0; r < model.resources(); r++) state.used(n, r) += sign * model.load(g, r);
  if (sign > 0 && state.held(n, t) == 0) state.tenants[n] += 1;
  state.held(n, t) += sign;
  if (sign < 0 && state.held(n, t) == 0) state.tenants[n] -= 1;
  state.traffic(g, n) += sign * model.own[g];
  for (Int e = model.starts[g]; e < model.starts[g + 1]; e++)
    state.traffic(model.neighbours[e], n) += sign * model.rates[e];
  if (!state.has_racks()) return;
  const Int k = model.rack[n];
  state.near(g, k) += sign * model.own[g];
  for (Int e = model.starts[g]; e < model.starts[g + 1]; e++)
    state.near(model.neighbours[e], k) += sign * model.rates[e];
}

inline void move(const Model& model, const State& state, Int g, Int a, Int b) {
  put(model, state, g, a, -1);
  put(model, state, g, b, 1);
}

// Whether one more executor of `g` fits on `n`.
inline bool welcome(const Model& model, const State& state, Int g, Int n) {
  if (!model.may_be(g, n)) return false;
  if (state.held(n, model.topology[g]) == 0 && state.tenants[n] >= model.slots[n]) return false;
  for (Int r = 0; r < model.resources(); r++)
    if (state.used(n, r) + model.load(g, r) > model.bounds(n, r)) return false;
  return true;
}

// Whether an executor of `g` fits on `n` once one of `h` has left it.
inline bool replaceable(const Model& model, const State& state, Int g, Int h, Int n) {
  if (model.allowed.rows > 0 && !model.allowed(g, n)) return false;
  const Int t = model.topology[g], u = model.topology[h];
  if (t != u && state.held(n, t) == 0) {
    const Int leaves = state.held(n, u) == 1 ? 1 : 0;
    if (state.tenants[n] - leaves >= model.slots[n]) return false;
  }
  for (Int r = 0; r < model.resources(); r++) {
    const double more = model.load(g, r) - model.load(h, r);
    if (more > 0 && state.used(n, r) + more > model.bounds(n, r)) return false;
  }
  return true;
}

// How many more workers restart if an executor of `g` comes to or leaves `n`.
inline Int restarts(const Model& model, const State& state, Int g, Int n, Int sign) {
  const Int before = state.changed(model.topology[g], n);
  const Int now = state.counts(g, n) != model.start(g, n);
  const Int then = state.counts(g, n) + sign != model.start(g, n);
  return Int(before - now + then > 0) - Int(before > 0);
}

// The price of the workers that restart if `g` goes from `a` to `b`.
inline double restart_cost(const Model& model, const State& state, Int g, Int a, Int b) {
  const Int more = restarts(model, state, g, a, -1) + restarts(model, state, g, b, 1);
  return model.prices[2] * more;
}

// By how much moving an executor of `g` from `a` to `b` lowers the cost.
inline double gain(const Model& model, const State& state, Int g, Int a, Int b) {
  double result = model.prices[0] * (state.traffic(g, b) - state.traffic(g, a) + model.own[g]);
  if (state.has_racks()) {
    const Int j = model.rack[a], k = model.rack[b];
    if (j != k) result += model.prices[1] * (state.near(g, k) - state.near(g, j) + model.own[g]);
  }
  if (model.has_start()) result -= restart_cost(model, state, g, a, b);
  return result;
}

// The rate in a sorted row of neighbours, 0 if `h` is not there.
inline double rate_to(const Model& model, Int g, Int h) {
  const Int* from = model.neighbours.data + model.starts[g];
  const Int* to = model.neighbours.data + model.starts[g + 1];
  const Int* found = std::lower_bound(from, to, h);
  return found != to && *found == h ? model.rates[found - model.neighbours.data] : 0.0;
}

// The traffic between one executor of `g` and another of `h`.
inline double pair_rate(const Model& model, Int g, Int h) {
  return g == h ? model.own[g] : rate_to(model, g, h);
}

// What the sum of both moves' gains overstates when `g` and `h` change places.
inline double swap_correction(const Model& model, Int g, Int h, Int a, Int b) {
  const double rate = pair_rate(model, g, h);
  const bool racks = model.rack[a] != model.rack[b];
  return 2.0 * rate * (racks ? model.prices[0] + model.prices[1] : model.prices[0]);
}

// The value of one more executor of `g` on `n`: the traffic that then stays there.
inline double attraction(const Model& model, const State& state, Int g, Int n) {
  double value = model.prices[0] * state.traffic(g, n);
  if (state.has_racks()) value += model.prices[1] * state.near(g, model.rack[n]);
  return value;
}

// Makes a state, whose other arrays are all 0, that of its counts.
void complete(const Model& model, const State& state);

// Which of the nodes that are equally good.
enum Otherwise { EMPTIEST, FULLEST, ANYWHERE };

// Where one more executor of `g` saves most and fits, -1 if it fits nowhere; see loops.py.
Int best_node(const Model& model, const State& state, Int g, Int otherwise, Seed seed);
