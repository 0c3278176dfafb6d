// Annealing of executors over nodes by how full every resource is; see resource_annealing.py.
#include <algorithm>
#include <limits>
#include <vector>

#include "../../native/arrays.h"
#include "../../native/random.h"

namespace {

// Power of the norm of shares (objective/congestion.py): the fullest counts most.
constexpr double POWER = 12.0;

// Temperatures from first to last, as shares of the energy at the start; of a second run, which
// begins where the first has led, the first one.
constexpr double HOT = 0.3, COLD = 0.001, WARM = 0.01;

// Part of a node's CPU that counts as left, whatever its workers take (objective/resources.py).
constexpr double LEAST_LEFT = 0.1;

// Of the energy while the fullest resource is relieved: all traffic, as part of all there is.
constexpr double LIGHT = 0.01;

// Of the energy while traffic is lowered: what resources are above the share that was reached.
constexpr double PRICE = 50.0;

// Steps after which sums are made anew.
constexpr Int FRESH = 512;

// Shares that differ by less are the same.
constexpr double SAME = 1e-9;

double powered(double share) {
  const double cube = share * share * share;
  const double sixth = cube * cube;
  return sixth * sixth;
}

// Columns of what a pair of executors loads when it is apart, of its first executor's view.
enum { SENDS, GETS, OWN_CPU, OTHER_CPU, TUPLES_OUT, TUPLES_IN, HELD_OUT, HELD_IN };

// What workers and batches of tuples cost, CPU in points.
enum { SEND_BATCH, TAKE_BATCH, BATCHES_PER_S, WORKER };

// Loads of a node, and of a rack's uplinks; then the tuples/s on each link, and those in trees.
enum { BUSY, OUT, INTO, NODE_RESOURCES, NODE_LOADS = NODE_RESOURCES + 4 };
enum { UP, DOWN, RACK_RESOURCES, RACK_LOADS = RACK_RESOURCES + 4 };

struct Change {
  Int e, f, a, b;
  bool exchange;
};

// What a change adds to two nodes, to their racks, and to all traffic between nodes.
struct Delta {
  double node[2][NODE_LOADS] = {};
  double rack[2][RACK_LOADS] = {};
  double traffic = 0.0;
};

struct Resources {
  Row<Int> starts, neighbours;
  Matrix<double> pair;
  Row<double> cpu;
  Matrix<double> load;
  Row<Int> topology;
  Matrix<double> limits;
  Row<Int> slots, group;
  Matrix<bool> allowed;
  Row<Int> rack;
  Matrix<double> node_capacity, rack_capacity;
  Row<double> thread, costs;
};

class Balancing {
 public:
  // `tuples` are tuples/s from node to node of each topology, (topologies, nodes x nodes); without
  // rows, what batches cost is not counted.
  Balancing(const Resources& in, Int topologies, Matrix<double> tuples, Row<Int> nodes, Seed seed)
      : in(in),
        tuples(tuples),
        nodes(nodes),
        seed(seed),
        executors(nodes.size),
        count(in.slots.size),
        racks(in.rack_capacity.rows),
        columns(in.load.columns),
        loads(count * NODE_LOADS + racks * RACK_LOADS),
        inverse(loads.size()),
        used(count * columns),
        tuples_at(loads.size(), -1),
        tenants_(count * topologies),
        taken(count),
        mark(count),
        tenants{tenants_.data(), count, topologies} {
    // Counts of tuples are no resources: their inverse capacity stays 0.
    for (Int n = 0; n < count; n++)
      for (Int k = 0; k < NODE_RESOURCES; k++) {
        inverse[at_node(n, k)] = inverted(in.node_capacity(n, k));
        if (k != BUSY) tuples_at[at_node(n, k)] = at_node(n, NODE_RESOURCES + k - OUT);
      }
    for (Int r = 0; r < racks; r++)
      for (Int k = 0; k < RACK_RESOURCES; k++) {
        inverse[at_rack(r, k)] = inverted(in.rack_capacity(r, k));
        tuples_at[at_rack(r, k)] = at_rack(r, RACK_RESOURCES + k);
      }
    for (Int e = 0; e < executors; e++) settle(e, nodes[e], 1);
    for (Int e = 0; e < executors; e++)
      for (Int k = in.starts[e]; k < in.starts[e + 1]; k++) all += in.pair(k, SENDS);
    if (all <= 0.0) all = 1.0;
    floor = in.thread[0];
  }

  // Leaves in `nodes` the placement with the least share of the fullest resource, of the like ones
  // that with the least traffic between nodes.
  void most_headroom(Int steps) {
    restore(relieve(steps / 2));
    restore(lighten(steps - steps / 2));
  }

  // Leaves in `nodes` the placement with the least congestion, times what traffic between nodes
  // weighs; congestion below `idle` is as good as that. A tuple in no tree counts `loose`.
  void least_congestion(Int steps, double idle, double weight, double loose) {
    restore(relax(steps / 2, idle, weight, loose, HOT));
    restore(relax(steps - steps / 2, idle, weight, loose, WARM));
  }

 private:
  static double inverted(double capacity) {
    if (capacity > 0.0) return 1.0 / capacity;  // nothing if it is infinite
    return 1e12;
  }

  Int at_node(Int n, Int k) const { return n * NODE_LOADS + k; }
  Int at_rack(Int r, Int k) const { return count * NODE_LOADS + r * RACK_LOADS + k; }

  void settle(Int e, Int n, Int sign) {
    for (Int r = 0; r < columns; r++) used[n * columns + r] += sign * in.load(e, r);
    Int& its = tenants(n, in.topology[e]);
    if (sign > 0 && its == 0) taken[n] += 1;
    its += sign;
    if (sign < 0 && its == 0) taken[n] -= 1;
    if (its == 0 || its == 1) leave_to_executors(n);
  }

  // Sets what a node's CPU has left beside its workers.
  void leave_to_executors(Int n) {
    const double capacity = in.node_capacity(n, BUSY);
    const double left = capacity - in.costs[WORKER] * double(taken[n]);
    inverse[at_node(n, BUSY)] = inverted(std::max(left, LEAST_LEFT * capacity));
  }

  double batches(double rate) const { return rate / (1.0 + rate / in.costs[BATCHES_PER_S]); }

  // Counts `more` tuples/s from node `n` to node `other`, and what their batches cost both.
  void send(Int topology, Int n, Int other, double more) {
    double& rate = tuples(topology, n * count + other);
    const double before = batches(rate);
    rate += more;
    const double change = batches(rate) - before;
    loads[at_node(n, BUSY)] += in.costs[SEND_BATCH] * change;
    loads[at_node(other, BUSY)] += in.costs[TAKE_BATCH] * change;
  }

  // Counts what executor `e` exchanges as long as it is on node `n`, or no longer.
  void connect(Int e, Int n, double sign) {
    if (tuples.rows == 0) return;
    for (Int k = in.starts[e]; k < in.starts[e + 1]; k++) {
      const Int other = nodes[in.neighbours[k]];
      if (other == n) continue;
      send(in.topology[e], n, other, sign * in.pair(k, TUPLES_OUT));
      send(in.topology[e], other, n, sign * in.pair(k, TUPLES_IN));
    }
  }

  // Counts all loads anew, free of the rounding of many small changes.
  void count_loads() {
    std::fill(loads.begin(), loads.end(), 0.0);
    for (double& rate : tuples.all()) rate = 0.0;
    traffic = 0.0;
    for (Int e = 0; e < executors; e++) {
      const Int n = nodes[e];
      loads[at_node(n, BUSY)] += in.cpu[e];
      for (Int k = in.starts[e]; k < in.starts[e + 1]; k++) {
        const Int other = nodes[in.neighbours[k]];
        if (other == n) continue;
        loads[at_node(n, BUSY)] += in.pair(k, OWN_CPU);
        link(&loads[at_node(n, OUT)], &loads[at_node(n, NODE_RESOURCES)], k, 1.0, false);
        traffic += in.pair(k, SENDS);
        if (tuples.rows > 0) send(in.topology[e], n, other, in.pair(k, TUPLES_OUT));
        if (in.rack[n] == in.rack[other]) continue;
        const Int r = in.rack[n];
        link(&loads[at_rack(r, UP)], &loads[at_rack(r, RACK_RESOURCES)], k, 1.0, false);
      }
    }
  }

  void restore(const std::vector<Int>& placement) {
    for (Int e = 0; e < executors; e++) {
      settle(e, nodes[e], -1);
      nodes[e] = placement[e];
      settle(e, nodes[e], 1);
    }
    count_loads();
  }

  double fullest() const {
    double most = floor;
    for (std::size_t r = 0; r < loads.size(); r++) most = std::max(most, loads[r] * inverse[r]);
    return most;
  }

  std::vector<Int> kept() const { return {nodes.begin(), nodes.end()}; }

  // Relieves the fullest resource.
  std::vector<Int> relieve(Int steps) {
    count_loads();
    scale = fullest();
    std::vector<Int> best = kept();
    if (scale <= 0.0) return best;
    const auto worth = [&](double share) { return share * (1.0 + LIGHT * traffic / all); };
    double least = worth(scale);
    const auto part = [&](Int r) { return powered(loads[r] * inverse[r] / scale); };
    const auto energy = [&](double sum, double travels) {
      const double smooth = std::pow(std::max(sum, 0.0) + powered(floor / scale), 1.0 / POWER);
      return smooth * (1.0 + LIGHT * travels / all);
    };
    anneal(steps, HOT, part, energy, [&] {
      const double found = worth(fullest());
      if (found < least * (1.0 - SAME)) {
        least = found;
        best = kept();
      }
      return true;
    });
    return best;
  }

  // Lowers congestion, the norm of the shares of all resources, and traffic between nodes.
  std::vector<Int> relax(Int steps, double idle, double weight, double loose, double hot) {
    count_loads();
    scale = std::max(fullest(), idle);
    std::vector<Int> best = kept();
    if (scale <= 0.0) return best;
    double least = std::numeric_limits<double>::infinity();
    const auto part = [&](Int r) {
      const double power = powered(loads[r] * inverse[r] / scale);
      const Int at = tuples_at[r];
      // A rounded nothing may be below 0.
      if (at < 0 || power <= 0.0 || loads[at] <= 0.0) return power;
      return power * (loose + (1.0 - loose) * std::clamp(loads[at + 2] / loads[at], 0.0, 1.0));
    };
    const auto energy = [&](double sum, double travels) {
      const double norm = std::max(std::pow(std::max(sum, 0.0), 1.0 / POWER), idle / scale);
      return norm * (1.0 + weight * travels / all);
    };
    anneal(steps, hot, part, energy, [&] {
      double sum = 0.0;
      for (std::size_t r = 0; r < loads.size(); r++) sum += part(r);
      const double found = energy(sum, traffic);
      if (found < least * (1.0 - SAME)) {
        least = found;
        best = kept();
      }
      return true;
    });
    return best;
  }

  // Lowers the traffic between nodes while no resource is fuller than the fullest now.
  std::vector<Int> lighten(Int steps) {
    scale = fullest();
    std::vector<Int> best = kept();
    if (scale <= 0.0) return best;
    double least = traffic;
    const auto part = [&](Int r) {
      return std::max(0.0, loads[r] * inverse[r] / scale - 1.0 - SAME);
    };
    const auto energy = [&](double sum, double travels) { return travels / all + PRICE * sum; };
    anneal(steps, HOT, part, energy, [&] {
      if (traffic < least - SAME * all && fullest() <= scale * (1.0 + 2 * SAME)) {
        least = traffic;
        best = kept();
      }
      return true;
    });
    return best;
  }

  // `part` is what a resource adds to the sum of which, with the traffic, `energy` is made. `seen`
  // is told of every state with less energy than all that it said yes to before.
  template <class Part, class Energy, class Seen>
  void anneal(Int steps, double first, Part part, Energy energy, Seen seen) {
    double sum = 0.0;
    for (std::size_t r = 0; r < loads.size(); r++) sum += part(r);
    double now = energy(sum, traffic), lowest = now;
    const double hot = first * now, cold = COLD * now;
    if (now <= 0.0) return;
    for (Int step = 0; step < steps; step++) {
      if (step % FRESH == 0) {
        // What was added and taken away again leaves its rounding behind.
        sum = 0.0;
        for (std::size_t r = 0; r < loads.size(); r++) sum += part(r);
        now = energy(sum, traffic);
      }
      const Change change = random_change();
      if (change.a == change.b || !fits(change)) continue;
      const Delta delta = delta_of(change);
      find_touched(change);
      const double before = parts(change, part);
      add(change, delta, 1.0);
      make(change);
      const double then_sum = sum + parts(change, part) - before;
      const double then = energy(then_sum, traffic);
      const double heat = hot * std::pow(cold / hot, double(step) / double(steps));
      if (accepted(now - then, heat, seed)) {
        sum = then_sum;
        now = then;
        if (now < lowest && seen()) lowest = now;
      } else {
        unmake(change);
        add(change, delta, -1.0);
      }
    }
  }

  // Finds the nodes whose loads a change may change: of batches, those of all neighbours, too.
  void find_touched(const Change& change) {
    touched.clear();
    stamp++;
    touch(change.a);
    touch(change.b);
    if (tuples.rows == 0) return;
    touch_neighbours(change.e);
    if (change.exchange) touch_neighbours(change.f);
  }

  void touch_neighbours(Int e) {
    for (Int k = in.starts[e]; k < in.starts[e + 1]; k++) touch(nodes[in.neighbours[k]]);
  }

  void touch(Int n) {
    if (mark[n] == stamp) return;
    mark[n] = stamp;
    touched.push_back(n);
  }

  Change random_change() {
    const Int e = random_below(seed, executors), f = random_below(seed, executors);
    const bool exchange = uniform(seed) < 0.6;
    return {e, f, nodes[e], exchange ? nodes[f] : random_below(seed, count), exchange};
  }

  template <class Part>
  double parts(const Change& change, Part part) const {
    double sum = 0.0;
    for (const Int n : touched)
      for (Int k = 0; k < NODE_RESOURCES; k++) sum += part(at_node(n, k));
    const Int r = in.rack[change.a], s = in.rack[change.b];
    if (r == s) return sum;
    for (const Int each : {r, s})
      for (Int k = 0; k < RACK_RESOURCES; k++) sum += part(at_rack(each, k));
    return sum;
  }

  void add(const Change& change, const Delta& delta, double sign) {
    const Int ends[2] = {change.a, change.b};
    for (Int i = 0; i < 2; i++) {
      for (Int k = 0; k < NODE_LOADS; k++)
        loads[at_node(ends[i], k)] += sign * delta.node[i][k];
      for (Int k = 0; k < RACK_LOADS; k++)
        loads[at_rack(in.rack[ends[i]], k)] += sign * delta.rack[i][k];
    }
    traffic += sign * delta.traffic;
  }

  Delta delta_of(const Change& change) {
    Delta delta;
    leave(delta, change.e, change.a, change.b, 0);
    if (change.exchange) {
      nodes[change.e] = change.b;
      leave(delta, change.f, change.b, change.a, 1);
      nodes[change.e] = change.a;
    }
    return delta;
  }

  // Adds what executor `e` changes that goes from `a` to `b`, which is end `i` to the other.
  void leave(Delta& delta, Int e, Int a, Int b, Int i) const {
    const Int j = 1 - i, ra = in.rack[a], rb = in.rack[b];
    delta.node[i][BUSY] -= in.cpu[e];
    delta.node[j][BUSY] += in.cpu[e];
    for (Int k = in.starts[e]; k < in.starts[e + 1]; k++) {
      const Int other = nodes[in.neighbours[k]], ro = in.rack[other];
      const double sends = in.pair(k, SENDS), gets = in.pair(k, GETS);
      if (other != a) {
        part_of(delta, i, k, -1.0);
        if (other == b) other_of(delta, j, k, -1.0);
        delta.traffic -= sends + gets;
      }
      if (other != b) {
        part_of(delta, j, k, 1.0);
        if (other == a) other_of(delta, i, k, 1.0);
        delta.traffic += sends + gets;
      }
      if (ra == rb) continue;
      if (ro != ra) {
        uplink(delta.rack[i], k, -1.0, false);
        if (ro == rb) uplink(delta.rack[j], k, -1.0, true);
      }
      if (ro != rb) {
        uplink(delta.rack[j], k, 1.0, false);
        if (ro == ra) uplink(delta.rack[i], k, 1.0, true);
      }
    }
  }

  void uplink(double* rack, Int k, double sign, bool other) const {
    link(rack + UP, rack + RACK_RESOURCES, k, sign, other);
  }

  // Adds what pair `k`'s own executor, or the other, sends and gets to links out and in: the loads,
  // and the tuples.
  void link(double* load, double* tuples, Int k, double sign, bool other) const {
    const Int out = Int(other), into = 1 - out;
    load[out] += sign * in.pair(k, SENDS);
    load[into] += sign * in.pair(k, GETS);
    tuples[out] += sign * in.pair(k, TUPLES_OUT);
    tuples[into] += sign * in.pair(k, TUPLES_IN);
    tuples[out + 2] += sign * in.pair(k, HELD_OUT);
    tuples[into + 2] += sign * in.pair(k, HELD_IN);
  }

  void part_of(Delta& delta, Int end, Int k, double sign) const {
    delta.node[end][BUSY] += sign * in.pair(k, OWN_CPU);
    link(delta.node[end] + OUT, delta.node[end] + NODE_RESOURCES, k, sign, false);
  }

  void other_of(Delta& delta, Int end, Int k, double sign) const {
    delta.node[end][BUSY] += sign * in.pair(k, OTHER_CPU);
    link(delta.node[end] + OUT, delta.node[end] + NODE_RESOURCES, k, sign, true);
  }

  bool fits(const Change& change) const {
    const auto [e, f, a, b, exchange] = change;
    if (!may_be(e, b) || (exchange && !may_be(f, a))) return false;
    for (Int r = 0; r < columns; r++) {
      const double back = exchange ? in.load(f, r) : 0.0, more = in.load(e, r) - back;
      if (more > 0.0 && used[b * columns + r] + more > in.limits(b, r)) return false;
      if (exchange && more < 0.0 && used[a * columns + r] - more > in.limits(a, r)) return false;
    }
    if (exchange && in.topology[e] == in.topology[f]) return true;
    if (!has_slot(b, e, exchange ? f : -1)) return false;
    return !exchange || has_slot(a, f, e);
  }

  bool may_be(Int e, Int n) const {
    return in.slots[n] > 0 && (in.allowed.rows == 0 || in.allowed(in.group[e], n));
  }

  // Whether executor `e` finds a slot on node `n` that `gone`, if any, leaves.
  bool has_slot(Int n, Int e, Int gone) const {
    if (tenants(n, in.topology[e])) return true;
    const bool leaves = gone >= 0 && tenants(n, in.topology[gone]) == 1;
    return taken[n] - Int(leaves) < in.slots[n];
  }

  void make(const Change& change) {
    move(change.e, change.a, change.b);
    if (change.exchange) move(change.f, change.b, change.a);
  }

  void unmake(const Change& change) {
    if (change.exchange) move(change.f, change.a, change.b);
    move(change.e, change.b, change.a);
  }

  void move(Int e, Int from, Int to) {
    connect(e, from, -1.0);
    settle(e, from, -1);
    nodes[e] = to;
    settle(e, to, 1);
    connect(e, to, 1.0);
  }

  const Resources& in;
  Matrix<double> tuples;
  Row<Int> nodes;
  Seed seed;
  Int executors, count, racks, columns;
  std::vector<double> loads, inverse, used;
  std::vector<Int> tuples_at, tenants_, taken, mark, touched;
  Int stamp = 0;
  Matrix<Int> tenants;
  double traffic = 0.0, all = 0.0, floor = 0.0, scale = 0.0;
};

}  // namespace

extern "C" void most_headroom(
    const Resources& in, Int topologies, Matrix<double> tuples, Int steps, Row<Int> nodes, Seed seed) {
  Balancing(in, topologies, tuples, nodes, seed).most_headroom(steps);
}

extern "C" void least_congestion(const Resources& in, Int topologies, Matrix<double> tuples, Int steps,
                                 double idle, double weight, double loose, Row<Int> nodes,
                                 Seed seed) {
  Balancing(in, topologies, tuples, nodes, seed).least_congestion(steps, idle, weight, loose);
}
