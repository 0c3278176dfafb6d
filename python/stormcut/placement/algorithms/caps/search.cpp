// The tree search of `caps`: operator after operator, node after node; see search.py.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "../../../native/arrays.h"

namespace {

// Costs that differ by less of the way between the bounds are equal.
constexpr double ROUNDING = 1e-9;

constexpr double INFINITE = std::numeric_limits<double>::infinity();

struct Tree {
  Row<Int> size;
  Row<Int> topology;
  Matrix<double> load;
  Row<Int> sent_starts;
  Row<Int> targets;
  Row<double> sent;
  Row<Int> received_starts;
  Row<Int> sources;
  Row<double> received;
  Matrix<double> limits;
  Row<Int> slots;
  Row<bool> alike;
  Row<double> capacity;
  Row<double> stream_rate;
  Row<Int> stream_last;
  Matrix<bool> sends;
  Matrix<bool> takes;
};

struct Levels {
  Cube<double> used;
  Matrix<double> network;
  Matrix<bool> alike;
  Matrix<double> outward;
  Matrix<double> inward;
  Matrix<double> stranded;
  Matrix<Int> highest;
  Matrix<Int> left;
  Matrix<Int> kind_left;
  Matrix<Int> most;
  Matrix<Int> least;
  Row<double> inside;
  Matrix<Int> held;
  Row<Int> tenants;
};

class Search {
 public:
  Search(
      const Tree& tree, const Levels& levels, Row<double> thresholds, Row<double> least,
      Row<double> way, Matrix<Int> plan)
      : tree(tree),
        levels(levels),
        thresholds(thresholds),
        lowest(least),
        way(way),
        plan(plan),
        depths(tree.size.size),
        nodes(tree.slots.size) {}

  // Leaves the best plan in `best`; returns whether there is one.
  bool run(Int max_steps, bool first, Matrix<Int> best) {
    double best_most = INFINITE, best_sum = INFINITE;
    Int depth = 0, node = -1, steps = 0;
    if (enter(0)) begin(0, node = 0);
    while (node >= 0) {
      if (!advance(depth, node)) {
        node--;
        if (node < 0 && depth > 0) {
          leave(--depth);
          node = nodes - 1;
        }
        continue;
      }
      if (++steps > max_steps) break;
      if (node < nodes - 1) {
        begin(depth, ++node);
        continue;
      }
      finish(depth);
      if (depth < depths - 1 && enter(depth + 1)) {
        begin(++depth, node = 0);
        continue;
      }
      if (depth == depths - 1) {
        const auto [most, sum] = costs();
        const bool tie = most < best_most + ROUNDING && sum < best_sum - ROUNDING;
        if (most < best_most - ROUNDING || tie) {
          best.all().copy(plan.all());
          best_most = most;
          best_sum = sum;
          if (first) break;
        }
      }
      leave(depth);
    }
    return best_most < INFINITE;
  }

 private:
  struct Costs {
    double most, sum;
  };

  Costs costs() const {
    double compute = -INFINITE, network = -INFINITE;
    for (Int node = 0; node < nodes; node++) {
      compute = std::max(compute, levels.used(depths, node, 0) / tree.capacity[node]);
      network = std::max(network, levels.network(depths, node));
    }
    const double one = (compute - lowest[0]) / way[0], other = (network - lowest[1]) / way[1];
    return {std::max(one, other), one + other};
  }

  // Prepares to spread an operator; returns whether nodes can take as many as it has.
  bool enter(Int depth) {
    plan[depth].fill(0);
    set_rates(depth);
    levels.most(depth, nodes) = levels.least(depth, nodes) = 0;
    for (Int node = nodes - 1; node >= 0; node--) {
      const Int room = room_for(depth, node);
      Int fewest = -1;
      for (Int number = 0; number <= room; number++) {
        if (network(depth, node, number) > thresholds[1]) continue;
        levels.highest(depth, node) = number;
        if (fewest < 0) fewest = number;
      }
      if (fewest < 0) return false;
      levels.most(depth, node) = levels.most(depth, node + 1) + levels.highest(depth, node);
      levels.least(depth, node) = levels.least(depth, node + 1) + fewest;
      const bool following = node < nodes - 1 && levels.alike(depth, node + 1);
      levels.kind_left(depth, node) = 1 + (following ? levels.kind_left(depth, node + 1) : 0);
    }
    const Int size = tree.size[depth];
    return levels.least(depth, 0) <= size && size <= levels.most(depth, 0);
  }

  // Works out the tuples/s of an operator with those placed before it.
  void set_rates(Int depth) {
    levels.outward[depth].fill(0.0);
    levels.inward[depth].fill(0.0);
    levels.inside[depth] = 0.0;
    for (Int at = tree.sent_starts[depth]; at < tree.sent_starts[depth + 1]; at++) {
      const Int other = tree.targets[at];
      const double rate = tree.sent[at];
      if (other == depth) levels.inside[depth] += rate;
      if (other >= depth) continue;
      for (Int node = 0; node < nodes; node++)
        levels.outward(depth, node) += rate * double(tree.size[other] - plan(other, node));
    }
    for (Int at = tree.received_starts[depth]; at < tree.received_starts[depth + 1]; at++) {
      const Int other = tree.sources[at];
      if (other >= depth) continue;
      for (Int node = 0; node < nodes; node++)
        levels.inward(depth, node) += tree.received[at] * double(plan(other, node));
    }
    add_streams(depth);
  }

  // Works out what an operator makes of local-or-shuffle streams. Of those whose targets are all
  // placed before it, what it sends from nodes without any; if it is the last of the targets, what
  // the sources placed before it send from a node that gets none of it and has none.
  void add_streams(Int depth) {
    levels.stranded[depth].fill(0.0);
    for (Int stream = 0; stream < tree.stream_rate.size; stream++) {
      const Int last = tree.stream_last[stream];
      if (last > depth || (last < depth && !tree.sends(stream, depth))) continue;
      for (Int node = 0; node < nodes; node++) {
        if (count(tree.takes[stream], depth, node)) continue;
        if (last < depth)
          levels.outward(depth, node) += tree.stream_rate[stream];
        else
          levels.stranded(depth, node) +=
              tree.stream_rate[stream] * double(count(tree.sends[stream], depth, node));
      }
    }
  }

  // How many executors of some operators, of those placed before one, are on a node.
  Int count(Row<bool> members, Int before, Int node) const {
    Int total = 0;
    for (Int other = 0; other < before; other++)
      if (members[other]) total += plan(other, node);
    return total;
  }

  // How many executors of an operator a node can take.
  Int room_for(Int depth, Int node) const {
    if (!levels.held(node, tree.topology[depth]) && levels.tenants[node] >= tree.slots[node])
      return 0;
    double room = double(tree.size[depth]);
    for (Int resource = 0; resource < tree.load.columns; resource++) {
      const double load = tree.load(depth, resource);
      if (load <= 0) continue;
      double limit = tree.limits(node, resource);
      if (resource == 0) limit = std::min(limit, thresholds[0] * tree.capacity[node]);
      room = std::min(room, std::floor((limit - levels.used(depth, node, resource)) / load));
    }
    return Int(std::max(room, 0.0));
  }

  // The network load of a node that takes so many executors of an operator.
  double network(Int depth, Int node, Int number) const {
    const double elsewhere = double(tree.size[depth] - number);
    const double each = levels.outward(depth, node) + levels.inside[depth] * elsewhere;
    return levels.network(depth, node) + double(number) * each +
           levels.inward(depth, node) * elsewhere + (number ? 0.0 : levels.stranded(depth, node));
  }

  // Sets a node to one below the least number that it may take of what is left.
  void begin(Int depth, Int node) {
    Int left = tree.size[depth];
    if (node > 0) left = levels.left(depth, node - 1) - plan(depth, node - 1);
    levels.left(depth, node) = left;
    Int fewest = std::max<Int>(0, left - levels.most(depth, node + 1));
    if (node > 0 && levels.alike(depth, node)) fewest = std::max(fewest, plan(depth, node - 1));
    plan(depth, node) = fewest - 1;
  }

  // Sets a node to the next number that it may take; returns whether there is one.
  bool advance(Int depth, Int node) {
    const Int left = levels.left(depth, node);
    Int highest = std::min(levels.highest(depth, node), left - levels.least(depth, node + 1));
    // Those alike that follow take no less.
    highest = std::min(highest, left / levels.kind_left(depth, node));
    for (Int number = plan(depth, node) + 1; number <= highest; number++) {
      if (network(depth, node, number) > thresholds[1]) continue;
      plan(depth, node) = number;
      return true;
    }
    plan(depth, node) = 0;
    return false;
  }

  // Counts an operator that is spread over all nodes.
  void finish(Int depth) {
    const Int topology = tree.topology[depth];
    for (Int node = 0; node < nodes; node++) {
      const Int number = plan(depth, node);
      levels.network(depth + 1, node) = network(depth, node, number);
      for (Int resource = 0; resource < tree.load.columns; resource++)
        levels.used(depth + 1, node, resource) =
            levels.used(depth, node, resource) + double(number) * tree.load(depth, resource);
      levels.alike(depth + 1, node) =
          node > 0 && levels.alike(depth, node) && plan(depth, node - 1) == number;
      if (number && !levels.held(node, topology)) levels.tenants[node]++;
      levels.held(node, topology) += number;
    }
  }

  // Undoes `finish`.
  void leave(Int depth) {
    const Int topology = tree.topology[depth];
    for (Int node = 0; node < nodes; node++) {
      levels.held(node, topology) -= plan(depth, node);
      if (plan(depth, node) && !levels.held(node, topology)) levels.tenants[node]--;
    }
  }

  const Tree& tree;
  const Levels& levels;
  Row<double> thresholds, lowest, way;
  Matrix<Int> plan;
  Int depths, nodes;
};

}  // namespace

extern "C" bool search(
    const Tree& tree, const Levels& levels, Row<double> thresholds, Row<double> least,
    Row<double> way, Int max_steps, bool first, Matrix<Int> best) {
  std::vector<Int> kept(best.rows * best.columns, 0);
  const Matrix<Int> plan{kept.data(), best.rows, best.columns};
  return Search(tree, levels, thresholds, least, way, plan).run(max_steps, first, best);
}
