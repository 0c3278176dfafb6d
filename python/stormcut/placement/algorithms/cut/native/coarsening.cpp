// Coarser models and parts of models: what takes a loop; see coarsening.py.
#include <numeric>
#include <vector>

#include "model.h"

namespace {

// Whether two groups may be on the same nodes.
bool alike(const Matrix<bool>& allowed, Int g, Int h) {
  return allowed.rows == 0 || std::equal(allowed[g].begin(), allowed[g].end(), allowed[h].begin());
}

// The group with most traffic for its weight that `g` can be joined with, or -1.
Int partner(
    const Model& model, Row<double> weight, Matrix<Int> remaining, Int g, Int c, double largest,
    Seed seed) {
  double best = 0.0;
  Int choice = -1, ties = 0;
  if (remaining(g, c) >= 2 && model.own[g] > 0 && 2 * weight[g] <= largest) {
    best = model.own[g] * model.own[g] / weight[g];
    choice = g;
    ties = 1;
  }
  for (Int e = model.starts[g]; e < model.starts[g + 1]; e++) {
    const Int h = model.neighbours[e];
    if (remaining(h, c) == 0 || weight[g] + weight[h] > largest) continue;
    const double value = model.rates[e] * model.rates[e] / weight[h];
    if (value < best || value <= 0.0 || !alike(model.allowed, g, h)) continue;
    ties = value == best ? ties + 1 : 1;
    if (value > best || random_below(seed, ties) == 0) choice = h;
    best = value;
  }
  return choice;
}

struct Cell {
  Int g, c;
};

// For each group the coarse groups with it (twice if twice), in compressed rows.
struct Holders {
  std::vector<Int> first, coarse;

  Holders(Int groups, Matrix<Int> members) : first(groups + 1, 0) {
    for (const Int g : members.all())
      if (g >= 0) first[g + 1]++;
    std::partial_sum(first.begin(), first.end(), first.begin());
    coarse.resize(first.back());
    std::vector<Int> at(first.begin(), first.end() - 1);
    for (Int k = 0; k < members.rows; k++)
      for (const Int g : members[k])
        if (g >= 0) coarse[at[g]++] = k;
  }
};

}  // namespace

// Writes rows (group, group, cell, pairs), takes them out of `remaining`, returns their number.
extern "C" Int match(
    const Model& model, Row<double> weight, Matrix<Int> remaining, double largest, Seed seed,
    Matrix<Int> rows) {
  std::vector<Cell> order;
  for (Int g = 0; g < remaining.rows; g++)
    for (Int c = 0; c < remaining.columns; c++)
      if (remaining(g, c)) order.push_back({g, c});
  for (Int i = Int(order.size()) - 1; i > 0; i--)
    std::swap(order[i], order[random_below(seed, i + 1)]);
  Int size = 0;
  for (const auto [g, c] : order) {
    if (remaining(g, c) == 0) continue;
    const Int h = partner(model, weight, remaining, g, c, largest, seed);
    if (h < 0) continue;
    const Int pairs = g == h ? remaining(g, c) / 2 : std::min(remaining(g, c), remaining(h, c));
    remaining(g, c) -= pairs;
    remaining(h, c) -= pairs;
    const Row<Int> row = rows[size++];
    row[0] = std::min(g, h);
    row[1] = std::max(g, h);
    row[2] = c;
    row[3] = pairs;
  }
  return size;
}

// Writes rows of the traffic between clusters, and that between two of the same kind; returns the
// number of entries.
extern "C" Int coarse_rates(
    const Model& model, Matrix<Int> members, Row<Int> starts, Row<Int> neighbours,
    Row<double> rates, Row<double> own) {
  const Holders holders(model.groups(), members);
  std::vector<double> total(members.rows, 0.0);
  std::vector<Int> touched;
  Int size = 0;
  const auto add = [&](Int h, double rate) {
    if (rate == 0.0) return;
    for (Int at = holders.first[h]; at < holders.first[h + 1]; at++) {
      const Int other = holders.coarse[at];
      if (total[other] == 0.0) touched.push_back(other);
      total[other] += rate;
    }
  };
  starts[0] = 0;
  for (Int k = 0; k < members.rows; k++) {
    touched.clear();
    for (const Int g : members[k]) {
      if (g < 0) continue;
      add(g, model.own[g]);
      for (Int e = model.starts[g]; e < model.starts[g + 1]; e++)
        add(model.neighbours[e], model.rates[e]);
    }
    own[k] = total[k];
    std::sort(touched.begin(), touched.end());
    for (const Int other : touched) {
      if (other != k) {
        neighbours[size] = other;
        rates[size++] = total[other];
      }
      total[other] = 0.0;
    }
    starts[k + 1] = size;
  }
  return size;
}

// Writes rows (group, node in one, node in other, executors), returns their number.
extern "C" Int overlap(Matrix<Int> one, Matrix<Int> other, Matrix<Int> rows) {
  Int size = 0;
  const auto add = [&](Int g, Int a, Int b, Int count) {
    const Row<Int> row = rows[size++];
    row[0] = g;
    row[1] = a;
    row[2] = b;
    row[3] = count;
  };
  for (Int g = 0; g < one.rows; g++) {
    Int b = 0, spare = other(g, 0) - std::min(one(g, 0), other(g, 0));
    for (Int a = 0; a < one.columns; a++) {
      const Int both = std::min(one(g, a), other(g, a));
      if (both) add(g, a, a, both);
      for (Int left = one(g, a) - both; left > 0;) {
        while (spare == 0) {
          b++;
          spare = other(g, b) - std::min(one(g, b), other(g, b));
        }
        const Int pairs = std::min(left, spare);
        add(g, a, b, pairs);
        left -= pairs;
        spare -= pairs;
      }
    }
  }
  return size;
}

// Writes rows of the traffic among chosen groups, which are at these positions (-1: not).
extern "C" Int inner_rates(
    const Model& model, Row<Int> chosen, Row<Int> position, Row<Int> starts, Row<Int> neighbours,
    Row<double> rates) {
  Int size = 0;
  starts[0] = 0;
  for (Int k = 0; k < chosen.size; k++) {
    for (Int e = model.starts[chosen[k]]; e < model.starts[chosen[k] + 1]; e++) {
      const Int h = position[model.neighbours[e]];
      if (h < 0) continue;
      neighbours[size] = h;
      rates[size++] = model.rates[e];
    }
    starts[k + 1] = size;
  }
  return size;
}
