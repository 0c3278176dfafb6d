// Annealing of executors over nodes by how full every resource is; see resource_annealing.py.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "../../../../native/arrays.h"
#include "../../../../native/random.h"

namespace {

// Power of the norm of shares (objective/congestion.py): the fullest counts most.
constexpr double POWER = 12.0;

// Temperatures from first to last, as shares of the energy at the start; of a second run, which
// begins where the first has led, the first one.
constexpr double HOT = 0.3, COLD = 0.001, WARM = 0.01;

// Of the energy while traffic is lowered: what resources are above the share that was reached.
constexpr double PRICE = 50.0;

// Of all changes: exchanges, and all that go where something is.
constexpr double EXCHANGED = 0.4, ON_USED = 0.8;

// Steps after which sums are made again.
constexpr Int FRESH = 512;

// Fewer shares of a stream are what rounding leaves.
constexpr double NOTHING = 1e-12;

// Shares that differ by less are the same.
constexpr double SAME = 1e-9;

double powered(double share) {
  const double cube = share * share * share;
  const double sixth = cube * cube;
  return sixth * sixth;
}

// Columns of what a pair of executors loads when it is apart, of its first executor's view.
enum { SENDS, GETS, OWN_CPU, OTHER_CPU, TUPLES_OUT, TUPLES_IN, HELD_OUT, HELD_IN };

// What workers and batches of tuples cost, CPU in points; what a tuple between racks counts more.
enum { SEND_BATCH, TAKE_BATCH, BATCHES_PER_S, WORKER, MIN_LEFT, FAR };

// Loads of a node, and of a rack's uplinks; then the tuples/s on each link, and those in trees.
enum { BUSY, OUT, INTO, NODE_RESOURCES, NODE_LOADS = NODE_RESOURCES + 4 };
enum { UP, DOWN, RACK_RESOURCES, RACK_LOADS = RACK_RESOURCES + 4 };

// Of a local-or-shuffle stream: tuples/s of one source; Mbit/s and points of CPU of a tuple/s that
// travels; points of a tuple/s that is taken; which part of it is in trees.
enum { RATE, MBIT, SENDING, TAKING, WORK, HELD };

// Its topology; of its targets, the thread, or -1; of its sources, the relay whose executors send as
// they take, or -1; and the relay that its targets are.
enum { TOPOLOGY, THREAD, FROM, TO };

// Tuples/s that an executor of a relay takes besides such streams, and takes if none is preferred.
enum { GIVEN, EQUAL };

// Of a component that takes such streams: what one of its executors does besides, and can do.
enum { BESIDES, MOST };

// Of a topology: on how many nodes it is at least, and executors on each of these.
enum { NODES, SHARE };

struct Resources {
  Row<Int> starts, neighbours;
  Matrix<double> pair;
  Row<Int> size;
  Row<double> cpu;
  Matrix<double> load;
  Row<Int> topology, thread, group;
  Matrix<double> limits;
  Row<Int> slots;
  Matrix<bool> allowed;
  Row<Int> rack;
  Matrix<double> node_capacity, rack_capacity, threads, stream;
  Matrix<Int> stream_of;
  Matrix<double> sends;
  Matrix<bool> takes, moves;
  Matrix<double> relays;
  Row<double> floor, costs, weight;
  Matrix<Int> breadth;
};

struct Change {
  Int e, f, a, b;
  bool exchange;
};

// A local-or-shuffle stream on nodes: its sources and targets on each, the equal shares of these
// sources, what such a share sends, and what a target takes.
struct Spread {
  std::vector<Int> sources, targets;
  std::vector<double> shares, sent, taken;
  Int all = 0;
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
        groups(in.size.size),
        count(in.slots.size),
        racks(in.rack_capacity.rows),
        columns(in.load.columns),
        streams(in.stream.rows),
        loads(count * NODE_LOADS + racks * RACK_LOADS + in.threads.rows * count),
        inverse(loads.size()),
        used(count * columns),
        intake_(in.relays.rows * count),
        intake{intake_.data(), in.relays.rows, count},
        tuples_at(loads.size(), -1),
        tenants_(count * topologies),
        taken(count),
        mark(count),
        held_(groups * count),
        near_(groups * racks),
        workers_(in.threads.rows * count),
        home(groups),
        served(topologies),
        spreads(streams),
        streams_of(groups),
        tenants{tenants_.data(), count, topologies},
        held{held_.data(), groups, count},
        near{near_.data(), groups, racks},
        workers{workers_.data(), in.threads.rows, count} {
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
    for (Int t = 0; t < in.threads.rows; t++)
      for (Int n = 0; n < count; n++) inverse[at_thread(t, n)] = inverted(in.threads(t, MOST));
    for (Int k = 0; k < streams; k++) {
      spreads[k].sources.assign(count, 0);
      spreads[k].shares.assign(count, 0.0);
      spreads[k].targets.assign(count, 0);
      spreads[k].sent.assign(count, 0.0);
      spreads[k].taken.assign(count, 0.0);
      for (Int g = 0; g < groups; g++) {
        if (in.moves(k, g)) streams_of[g].push_back(k);
        if (in.takes(k, g)) spreads[k].all += in.size[g];
        const double sent = in.stream(k, RATE) * in.sends(k, g) * double(in.size[g]);
        all_tuples += weight(g) * sent;
        all += in.stream(k, MBIT) * sent;
      }
    }
    for (Int e = 0; e < executors; e++) settle(e, nodes[e], 1);
    for (Int g = 0; g < groups; g++)
      for (Int k = in.starts[g]; k < in.starts[g + 1]; k++) {
        const Int h = in.neighbours[k];
        const double both = double(in.size[g]) * double(in.size[h] - Int(h == g));
        all += in.pair(k, SENDS) * both;
        all_tuples += weight(g) * in.pair(k, TUPLES_OUT) * both;
      }
    if (all <= 0.0) all = 1.0;
    if (all_tuples <= 0.0) all_tuples = 1.0;
    floor = in.floor[0];
  }

  // Leaves in `nodes` the placement whose fullest resource is least full, down to a share of `idle`;
  // of the like ones, that with the fewest tuples between nodes, which weigh `weight` in all.
  void most_headroom(Int steps, double idle, double weight) {
    restore(relieve(steps / 2, idle, weight));
    restore(lighten(steps - steps / 2, idle));
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
  Int at_thread(Int t, Int n) const {
    return count * NODE_LOADS + racks * RACK_LOADS + t * count + n;
  }
  double weight(Int g) const { return in.weight[in.topology[g]]; }
  bool is_thread(Int r) const { return r >= count * NODE_LOADS + racks * RACK_LOADS; }

  // Counts executor `e` as long as it is on node `n`, or no longer.
  void settle(Int e, Int n, Int sign) {
    const Int g = in.group[e];
    for (Int r = 0; r < columns; r++) used[n * columns + r] += sign * in.load(g, r);
    held(g, n) += sign;
    if (sign > 0) home[g] = n;
    near(g, in.rack[n]) += sign;
    for (const Int k : streams_of[g]) {
      const double shares = in.sends(k, g);
      if (shares > 0.0) spreads[k].sources[n] += sign;
      spreads[k].shares[n] += sign * shares;
      if (in.takes(k, g)) spreads[k].targets[n] += sign;
    }
    Int& its = tenants(n, in.topology[g]);
    if (sign > 0 && its == 0) taken[n] += 1;
    its += sign;
    if (sign < 0 && its == 0) taken[n] -= 1;
    if (its == 0 || its == 1) leave_to_executors(n);
    const Int share = in.breadth(in.topology[g], SHARE);
    if (share > 0 && its == (sign > 0 ? share : share - 1)) served[in.topology[g]] += sign;
  }

  // Sets what a node's CPU has left beside its workers.
  void leave_to_executors(Int n) {
    const double capacity = in.node_capacity(n, BUSY);
    const double left = capacity - in.costs[WORKER] * double(taken[n]);
    inverse[at_node(n, BUSY)] = inverted(std::max(left, in.costs[MIN_LEFT] * capacity));
  }

  // Counts what executors of group `g` on node `n` do that depends on nobody else, `sign` of them.
  void work(Int g, Int n, Int sign) {
    loads[at_node(n, BUSY)] += double(sign) * in.cpu[g];
    const Int t = in.thread[g];
    if (t < 0) return;
    Int& its = workers(t, n);
    if (its == 0 || its + sign == 0) loads[at_thread(t, n)] += sign * in.threads(t, BESIDES);
    its += sign;
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

  // Counts what an executor of group `g` exchanges as long as it is on node `n`, or no longer;
  // itself it is not held anywhere.
  void connect(Int g, Int n, double sign) {
    if (tuples.rows == 0) return;
    const Int topology = in.topology[g];
    each_neighbour(g, [&](Int k, Int other, Int many) {
      if (other == n) return;
      send(topology, n, other, sign * double(many) * in.pair(k, TUPLES_OUT));
      send(topology, other, n, sign * double(many) * in.pair(k, TUPLES_IN));
    });
  }

  // Calls `each(k, n, many)` for the executors that one of group `g` exchanges with, by node.
  template <class Each>
  void each_neighbour(Int g, Each each) const {
    for (Int k = in.starts[g]; k < in.starts[g + 1]; k++) {
      const Int h = in.neighbours[k];
      const Row<Int> where = held[h];
      if (in.size[h] == 1) {
        if (where[home[h]] > 0) each(k, home[h], 1);
        continue;
      }
      Int left = in.size[h];
      for (Int n = 0; n < count && left > 0; n++) {
        if (where[n] == 0) continue;
        each(k, n, where[n]);
        left -= where[n];
      }
    }
  }

  // Works out what local-or-shuffle streams bring, in the order in which tuples pass them. A source
  // on a node with targets shares its tuples among these; any other's go to all targets. Sources
  // that are a relay send in proportion to what they take.
  void spread(const std::vector<Int>& changed) {
    for (const Int k : changed) {
      Spread& at = spreads[k];
      const double rate = in.stream(k, RATE);
      const Int from = in.stream_of(k, FROM), to = in.stream_of(k, TO);
      for (Int n = 0; n < count; n++) {
        const double equal = from < 0 ? 0.0 : in.relays(from, EQUAL);
        at.sent[n] = equal > 0.0 ? rate * intake(from, n) / equal : rate;
      }
      const double share = away(at) / double(at.all);  // of each target, from afar
      for (Int n = 0; n < count; n++) {
        const double before = at.taken[n];
        at.taken[n] = 0.0;
        if (at.targets[n] > 0)
          at.taken[n] = share + at.sent[n] * at.shares[n] / double(at.targets[n]);
        intake(to, n) += at.taken[n] - before;
      }
    }
  }

  // What sources on nodes without a target send.
  double away(const Spread& at) const {
    double sum = 0.0;
    for (Int n = 0; n < count; n++)
      if (at.targets[n] == 0) sum += at.shares[n] * at.sent[n];
    return sum;
  }

  // Counts what a local-or-shuffle stream loads, once or once less.
  void flow(Int k, double sign) {
    const Spread& at = spreads[k];
    const double mbit = in.stream(k, MBIT), held = in.stream(k, HELD);
    const Int topology = in.stream_of(k, TOPOLOGY), t = in.stream_of(k, THREAD);
    const double away = this->away(at), share = away / double(at.all);
    for (Int n = 0; n < count; n++) {
      const double here = double(at.targets[n]);
      if (at.targets[n] > 0) {
        const double each = at.taken[n];
        loads[at_node(n, BUSY)] += sign * in.stream(k, WORK) * each * here;
        if (t >= 0) loads[at_thread(t, n)] += sign * in.stream(k, WORK) * each;
        if (away <= NOTHING) continue;
        const double comes = sign * share * here;
        loads[at_node(n, BUSY)] += in.stream(k, TAKING) * comes;
        carry(&loads[at_node(n, INTO)], &loads[at_node(n, NODE_RESOURCES + 1)], comes, mbit, held);
      } else if (at.sources[n] > 0) {
        const double goes = sign * at.sent[n] * at.shares[n];
        loads[at_node(n, BUSY)] += in.stream(k, SENDING) * goes;
        carry(&loads[at_node(n, OUT)], &loads[at_node(n, NODE_RESOURCES)], goes, mbit, held);
        // Of traffic, all sources count alike: as objective/cut.py has it.
        travels += sign * in.weight[topology] * in.stream(k, RATE) * double(at.sources[n]);
        megabits += goes * mbit;
        if (tuples.rows > 0)
          for (Int m = 0; m < count; m++)
            if (at.targets[m] > 0)
              send(topology, n, m, goes * double(at.targets[m]) / double(at.all));
      }
    }
    if (away > NOTHING && racks > 1) flow_far(k, sign);
  }

  // Counts what a local-or-shuffle stream loads of uplinks.
  void flow_far(Int k, double sign) {
    const Spread& at = spreads[k];
    const double mbit = in.stream(k, MBIT), held = in.stream(k, HELD);
    std::vector<double> away(racks), targets(racks), asked(racks);
    double all_away = 0.0;
    for (Int n = 0; n < count; n++) {
      targets[in.rack[n]] += double(at.targets[n]);
      if (at.targets[n] > 0) continue;
      away[in.rack[n]] += at.shares[n] * at.sent[n];
      asked[in.rack[n]] += in.stream(k, RATE) * double(at.sources[n]);
      all_away += at.shares[n] * at.sent[n];
    }
    for (Int r = 0; r < racks; r++) {
      const double near = targets[r] / double(at.all);
      const double goes = sign * away[r] * (1.0 - near);
      const double comes = sign * (all_away - away[r]) * near;
      carry(&loads[at_rack(r, UP)], &loads[at_rack(r, RACK_RESOURCES)], goes, mbit, held);
      carry(&loads[at_rack(r, DOWN)], &loads[at_rack(r, RACK_RESOURCES + 1)], comes, mbit, held);
      const double weight = in.weight[in.stream_of(k, TOPOLOGY)];
      travels += sign * weight * in.costs[FAR] * asked[r] * (1.0 - near);
    }
  }

  // Adds tuples/s to a link, and to the tuples on it and those in trees.
  static void carry(double* load, double* counted, double rate, double mbit, double held) {
    *load += rate * mbit;
    counted[0] += rate;
    counted[2] += rate * held;
  }

  // Counts all loads again, free of the rounding of many small changes.
  void count_loads() {
    std::fill(loads.begin(), loads.end(), 0.0);
    std::fill(workers_.begin(), workers_.end(), 0);
    for (double& rate : tuples.all()) rate = 0.0;
    travels = megabits = 0.0;
    for (Int g = 0; g < groups; g++)
      for (Int n = 0; n < count; n++)
        if (held(g, n) > 0) count_group(g, n);
    count_streams();
  }

  void count_streams() {
    std::vector<Int> every(streams);
    std::iota(every.begin(), every.end(), 0);
    for (Int r = 0; r < in.relays.rows; r++)
      for (Int n = 0; n < count; n++) intake(r, n) = in.relays(r, GIVEN);
    for (Spread& at : spreads) std::fill(at.taken.begin(), at.taken.end(), 0.0);
    spread(every);
    for (const Int k : every) flow(k, 1.0);
  }

  void count_group(Int g, Int n) {
    const double own = double(held(g, n));
    for (Int i = 0; i < held(g, n); i++) work(g, n, 1);
    const Int r = in.rack[n];
    for (Int k = in.starts[g]; k < in.starts[g + 1]; k++) {
      const Int h = in.neighbours[k], itself = Int(h == g);
      const double apart = own * double(in.size[h] - itself - (held(h, n) - itself));
      const double far = own * double(in.size[h] - itself - (near(h, r) - itself));
      loads[at_node(n, BUSY)] += apart * in.pair(k, OWN_CPU);
      link(&loads[at_node(n, OUT)], &loads[at_node(n, NODE_RESOURCES)], k, apart, false);
      travels += weight(g) * in.pair(k, TUPLES_OUT) * (apart + in.costs[FAR] * far);
      megabits += in.pair(k, SENDS) * apart;
      if (far > 0.0)
        link(&loads[at_rack(r, UP)], &loads[at_rack(r, RACK_RESOURCES)], k, far, false);
    }
    if (tuples.rows == 0) return;
    each_neighbour(g, [&](Int k, Int other, Int many) {
      if (other != n) send(in.topology[g], n, other, own * double(many) * in.pair(k, TUPLES_OUT));
    });
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

  // Relieves the fullest resource, down to a share of `idle`; all traffic weighs a part of that.
  std::vector<Int> relieve(Int steps, double idle, double weight) {
    count_loads();
    scale = std::max(fullest(), idle);
    std::vector<Int> best = kept();
    if (scale <= 0.0) return best;
    const auto worth = [&](double share) {
      return std::max(share, idle) * (1.0 + weight * travels / all_tuples);
    };
    double least = worth(scale);
    const auto part = [&](Int r) { return powered(loads[r] * inverse[r] / scale); };
    const auto energy = [&](double sum) {
      const double smooth = std::pow(std::max(sum, 0.0) + powered(floor / scale), 1.0 / POWER);
      return std::max(smooth, idle / scale) * (1.0 + weight * travels / all_tuples);
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
      if (is_thread(r)) return 0.0;
      const double power = powered(loads[r] * inverse[r] / scale);
      const Int at = tuples_at[r];
      // A rounded nothing may be below 0.
      if (at < 0 || power <= 0.0 || loads[at] <= 0.0) return power;
      return power * (loose + (1.0 - loose) * std::clamp(loads[at + 2] / loads[at], 0.0, 1.0));
    };
    const auto energy = [&](double sum) {
      const double norm = std::max(std::pow(std::max(sum, 0.0), 1.0 / POWER), idle / scale);
      return norm * (1.0 + weight * megabits / all);
    };
    anneal(steps, hot, part, energy, [&] {
      double sum = 0.0;
      for (std::size_t r = 0; r < loads.size(); r++) sum += part(r);
      const double found = energy(sum);
      if (found < least * (1.0 - SAME)) {
        least = found;
        best = kept();
      }
      return true;
    });
    return best;
  }

  // Lowers the tuples between nodes while no resource is fuller than the fullest now, or `idle`.
  std::vector<Int> lighten(Int steps, double idle) {
    scale = std::max(fullest(), idle);
    std::vector<Int> best = kept();
    if (scale <= 0.0) return best;
    double least = travels;
    const auto part = [&](Int r) {
      return std::max(0.0, loads[r] * inverse[r] / scale - 1.0 - SAME);
    };
    const auto energy = [&](double sum) { return travels / all_tuples + PRICE * sum; };
    anneal(steps, HOT, part, energy, [&] {
      if (travels < least - SAME * all_tuples && fullest() <= scale * (1.0 + 2 * SAME)) {
        least = travels;
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
    double now = energy(sum), lowest = now;
    const double hot = first * now, cold = COLD * now;
    if (now <= 0.0) return;
    for (Int step = 0; step < steps; step++) {
      if (step % FRESH == 0) {
        // What was added and taken away again leaves its rounding behind.
        sum = 0.0;
        for (std::size_t r = 0; r < loads.size(); r++) sum += part(r);
        now = energy(sum);
      }
      const Change change = random_change();
      if (change.a == change.b || !fits(change)) continue;
      find_touched(change);
      const double before = parts(change, part);
      make(change);
      const double then_sum = sum + parts(change, part) - before;
      const double then = energy(then_sum);
      const double heat = hot * std::pow(cold / hot, double(step) / double(steps));
      if (accepted(now - then, heat, seed)) {
        sum = then_sum;
        now = then;
        if (now < lowest && seen()) lowest = now;
      } else {
        unmake(change);
      }
    }
  }

  // Finds the nodes whose loads a change may change: of batches and of local-or-shuffle streams,
  // those of all that take part, too.
  void find_touched(const Change& change) {
    touched.clear();
    stamp++;
    streaming = false;
    touch(change.a);
    touch(change.b);
    touch_neighbours(in.group[change.e]);
    if (change.exchange) touch_neighbours(in.group[change.f]);
  }

  void touch_neighbours(Int g) {
    if (tuples.rows > 0) each_neighbour(g, [&](Int, Int n, Int) { touch(n); });
    for (const Int k : streams_of[g]) {
      streaming = true;
      for (Int n = 0; n < count; n++)
        if (spreads[k].sources[n] + spreads[k].targets[n] > 0) touch(n);
    }
  }

  void touch(Int n) {
    if (mark[n] == stamp) return;
    mark[n] = stamp;
    touched.push_back(n);
  }

  // Nodes that hold something are tried more often than others: there may be many empty ones.
  Change random_change() {
    const Int e = random_below(seed, executors), f = random_below(seed, executors);
    const double dice = uniform(seed);
    return {e, f, nodes[e], dice < ON_USED ? nodes[f] : random_below(seed, count), dice < EXCHANGED};
  }

  template <class Part>
  double parts(const Change& change, Part part) const {
    double sum = 0.0;
    for (const Int n : touched) {
      for (Int k = 0; k < NODE_RESOURCES; k++) sum += part(at_node(n, k));
      for (Int t = 0; t < in.threads.rows; t++) sum += part(at_thread(t, n));
    }
    const Int a = in.rack[change.a], b = in.rack[change.b];
    if (a == b && !streaming) return sum;
    for (Int r = 0; r < racks; r++)
      if (streaming || r == a || r == b)
        for (Int k = 0; k < RACK_RESOURCES; k++) sum += part(at_rack(r, k));
    return sum;
  }

  void make(const Change& change) {
    move(change.e, change.a, change.b);
    if (change.exchange) move(change.f, change.b, change.a);
  }

  void unmake(const Change& change) {
    if (change.exchange) move(change.f, change.a, change.b);
    move(change.e, change.b, change.a);
  }

  void move(Int e, Int a, Int b) {
    const Int g = in.group[e];
    for (const Int k : streams_of[g]) flow(k, -1.0);
    settle(e, a, -1);
    connect(g, a, -1.0);
    work(g, a, -1);
    shift(g, a, b);
    work(g, b, 1);
    connect(g, b, 1.0);
    settle(e, b, 1);
    nodes[e] = b;
    spread(streams_of[g]);
    for (const Int k : streams_of[g]) flow(k, 1.0);
  }

  // Counts what pairs load once an executor of group `g`, which is held nowhere, is on node `b`
  // instead of `a`.
  void shift(Int g, Int a, Int b) {
    const Int ra = in.rack[a], rb = in.rack[b];
    for (Int k = in.starts[g]; k < in.starts[g + 1]; k++) {
      const Int h = in.neighbours[k], others = in.size[h] - Int(h == g);
      const double here = double(held(h, a)), there = double(held(h, b));
      const double off = double(others) - here, on = double(others) - there;
      loads[at_node(a, BUSY)] += here * in.pair(k, OTHER_CPU) - off * in.pair(k, OWN_CPU);
      loads[at_node(b, BUSY)] += on * in.pair(k, OWN_CPU) - there * in.pair(k, OTHER_CPU);
      double *out = &loads[at_node(a, OUT)], *into = &loads[at_node(b, OUT)];
      double *left = &loads[at_node(a, NODE_RESOURCES)], *came = &loads[at_node(b, NODE_RESOURCES)];
      link(out, left, k, -off, false);
      link(out, left, k, here, true);
      link(into, came, k, on, false);
      link(into, came, k, -there, true);
      const double rate = weight(g) * (in.pair(k, TUPLES_OUT) + in.pair(k, TUPLES_IN));
      travels += rate * (here - there);
      megabits += (in.pair(k, SENDS) + in.pair(k, GETS)) * (here - there);
      if (ra == rb) continue;
      const double by = double(near(h, ra)), next = double(near(h, rb));
      uplink(ra, k, by - double(others), false);
      uplink(ra, k, by, true);
      uplink(rb, k, double(others) - next, false);
      uplink(rb, k, -next, true);
      travels += in.costs[FAR] * rate * (by - next);
    }
  }

  void uplink(Int r, Int k, double many, bool other) {
    link(&loads[at_rack(r, UP)], &loads[at_rack(r, RACK_RESOURCES)], k, many, other);
  }

  // Adds what so many of pair `k`'s own executors, or the others, send and get to links out and in:
  // the loads, and the tuples.
  void link(double* load, double* counted, Int k, double many, bool other) const {
    const Int out = Int(other), into = 1 - out;
    load[out] += many * in.pair(k, SENDS);
    load[into] += many * in.pair(k, GETS);
    counted[out] += many * in.pair(k, TUPLES_OUT);
    counted[into] += many * in.pair(k, TUPLES_IN);
    counted[out + 2] += many * in.pair(k, HELD_OUT);
    counted[into + 2] += many * in.pair(k, HELD_IN);
  }

  bool fits(const Change& change) const {
    const auto [e, f, a, b, exchange] = change;
    const Int g = in.group[e], h = in.group[f];
    if (exchange && g == h) return false;  // nothing would change
    if (!may_be(g, b) || (exchange && !may_be(h, a))) return false;
    for (Int r = 0; r < columns; r++) {
      const double back = exchange ? in.load(h, r) : 0.0, more = in.load(g, r) - back;
      if (more > 0.0 && used[b * columns + r] + more > in.limits(b, r)) return false;
      if (exchange && more < 0.0 && used[a * columns + r] - more > in.limits(a, r)) return false;
    }
    if (exchange && in.topology[g] == in.topology[h]) return true;
    if (!stays_broad(g, a, b) || (exchange && !stays_broad(h, b, a))) return false;
    if (!has_slot(b, g, exchange ? h : -1)) return false;
    return !exchange || has_slot(a, h, g);
  }

  // Whether the topology of group `g` stays on enough nodes if one of its executors goes from node
  // `a` to `b`. One that is on too few must not lose another.
  bool stays_broad(Int g, Int a, Int b) const {
    const Int t = in.topology[g], share = in.breadth(t, SHARE);
    if (share == 0 || tenants(a, t) != share || served[t] > in.breadth(t, NODES)) return true;
    return tenants(b, t) + 1 == share;
  }

  bool may_be(Int g, Int n) const {
    return in.slots[n] > 0 && (in.allowed.rows == 0 || in.allowed(g, n));
  }

  // Whether an executor of group `g` finds a slot on node `n` that one of `gone`, if any, leaves.
  bool has_slot(Int n, Int g, Int gone) const {
    if (tenants(n, in.topology[g])) return true;
    const bool leaves = gone >= 0 && tenants(n, in.topology[gone]) == 1;
    return taken[n] - Int(leaves) < in.slots[n];
  }

  const Resources& in;
  Matrix<double> tuples;
  Row<Int> nodes;
  Seed seed;
  Int executors, groups, count, racks, columns, streams;
  std::vector<double> loads, inverse, used;
  std::vector<double> intake_;
  Matrix<double> intake;
  std::vector<Int> tuples_at, tenants_, taken, mark, held_, near_, workers_, home, touched,
      served;
  std::vector<Spread> spreads;
  std::vector<std::vector<Int>> streams_of;
  Int stamp = 0;
  bool streaming = false;
  Matrix<Int> tenants, held, near, workers;
  double travels = 0.0, megabits = 0.0, all = 0.0, all_tuples = 0.0, floor = 0.0, scale = 0.0;
};

}  // namespace

extern "C" void most_headroom(const Resources& in, Int topologies, Matrix<double> tuples, Int steps,
                              double idle, double weight, Row<Int> nodes, Seed seed) {
  Balancing(in, topologies, tuples, nodes, seed).most_headroom(steps, idle, weight);
}

extern "C" void least_congestion(const Resources& in, Int topologies, Matrix<double> tuples, Int steps,
                                 double idle, double weight, double loose, Row<Int> nodes,
                                 Seed seed) {
  Balancing(in, topologies, tuples, nodes, seed).least_congestion(steps, idle, weight, loose);
}
