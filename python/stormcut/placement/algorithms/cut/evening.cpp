// Annealing that evens out the busiest link; see evening.py.
#include <random>
#include <vector>

#include "model.h"

namespace {

// Power of the norm that stands for the maximum; see `power`.
constexpr double POWER = 12.0;

// Temperatures from first to last, as shares of the energy at the start.
constexpr double HOT = 0.3, COLD = 0.002;

// Price of traffic beyond what is allowed: so many times its share of that.
constexpr double PRICE = 20.0;

double power(double share) {
  const double fourth = share * share * share * share;
  return fourth * fourth * fourth;
}

// The Mersenne Twister drawn from as numpy does, so that a seed gives the placements that the
// committed measurements were made with.
class Random {
 public:
  explicit Random(Int seed) : bits(static_cast<std::uint32_t>(seed)) {}

  // A number from 0 to `limit - 1`: as many bits as that takes, drawn until they are below.
  Int below(Int limit) {
    if (limit == 1) return 0;
    std::uint32_t mask = 1;
    while (mask < limit - 1) mask = 2 * mask + 1;
    std::uint32_t drawn = bits() & mask;
    while (drawn >= limit) drawn = bits() & mask;
    return drawn;
  }

  // A number from 0 to below 1, of 53 bits.
  double uniform() {
    const double high = bits() >> 5, low = bits() >> 6;
    return (high * 0x1p26 + low) * 0x1p-53;
  }

 private:
  std::mt19937 bits;
};

template <class T>
T sum(const std::vector<T>& values) {
  T result = 0;
  for (const T each : values) result += each;
  return result;
}

// An executor `e` goes from `a` to `b`; in an exchange `f` comes for it.
struct Change {
  Int e, f, a, b;
  bool exchange;
};

class Evening {
 public:
  Evening(
      Matrix<double> rates, Matrix<double> load, Row<Int> topology, Int topologies,
      Matrix<double> limits, Row<Int> slots, Row<Int> nodes)
      : rates(rates),
        load(load),
        topology(topology),
        limits(limits),
        slots(slots),
        nodes(nodes),
        executors(nodes.size),
        count(slots.size),
        sent_(executors * count, 0.0),
        got_(executors * count, 0.0),
        used_(count * load.columns, 0.0),
        tenants_(count * topologies, 0),
        sent{sent_.data(), executors, count},
        got{got_.data(), executors, count},
        used{used_.data(), count, load.columns},
        tenants{tenants_.data(), count, topologies} {
    for (Int e = 0; e < executors; e++) {
      for (Int f = 0; f < executors; f++) {
        sent(e, nodes[f]) += rates(e, f);
        got(e, nodes[f]) += rates(f, e);
      }
      for (Int r = 0; r < load.columns; r++) used(nodes[e], r) += load(e, r);
      tenants(nodes[e], topology[e]) += 1;
    }
  }

  // Leaves the best placement met in `best`.
  void run(double relief, Int steps, Random random, Row<Int> best) {
    best.copy(nodes);
    std::vector<double> out = links(sent), come = links(got);
    const double total = sum(out);
    if (total <= 0.0) return;
    const double allowed = total * (1.0 + relief) * (1.0 + 1e-9);
    double now = energy(out, come, allowed), least = now;
    const double hot = HOT * now, cold = COLD * now;
    std::vector<double> new_out, new_come;
    for (Int step = 0; step < steps; step++) {
      const Change change = random_change(random);
      const auto [e, f, a, b, exchange] = change;
      if (a == b || !fits(change)) continue;
      new_out = out;
      new_come = come;
      shift(new_out, new_come, change);
      const double then = energy(new_out, new_come, allowed);
      const double heat = hot * std::pow(cold / hot, double(step) / double(steps));
      if (then <= now || random.uniform() < std::exp((now - then) / heat)) {
        relocate(e, a, b);
        if (exchange) relocate(f, b, a);
        out.swap(new_out);
        come.swap(new_come);
        now = then;
        if (now < least * (1.0 - 1e-9) && sum(out) <= allowed) {
          best.copy(nodes);
          least = now;
        }
      }
    }
  }

 private:
  // An exchange with an executor, or a move to a node.
  Change random_change(Random& random) {
    const Int e = random.below(executors), f = random.below(executors);
    const bool exchange = random.uniform() < 0.7;
    return {e, f, nodes[e], exchange ? nodes[f] : random.below(count), exchange};
  }

  // The tuples/s of each node's executors with other nodes, one way.
  std::vector<double> links(Matrix<double> flow) const {
    std::vector<double> result(count, 0.0);
    for (Int e = 0; e < executors; e++) result[nodes[e]] += flow[e].sum() - flow(e, nodes[e]);
    return result;
  }

  double energy(
      const std::vector<double>& out, const std::vector<double>& come, double allowed) const {
    double most = 0.0, powers = 0.0;
    for (Int n = 0; n < count; n++) most = std::max({most, out[n], come[n]});
    if (most <= 0.0) return 0.0;
    for (Int n = 0; n < count; n++) powers += power(out[n] / most) + power(come[n] / most);
    const double smooth = most * std::pow(powers, 1.0 / POWER), now = sum(out);
    return smooth * (1.0 + PRICE * std::max(0.0, now / allowed - 1.0));
  }

  bool fits(const Change& change) const {
    const auto [e, f, a, b, exchange] = change;
    for (Int r = 0; r < load.columns; r++) {
      const double back = exchange ? load(f, r) : 0.0;
      if (used(b, r) + load(e, r) - back > limits(b, r)) return false;
      if (exchange && used(a, r) - load(e, r) + back > limits(a, r)) return false;
    }
    if (exchange && topology[e] == topology[f]) return true;
    const bool leaves_b = exchange && tenants(b, topology[f]) == 1;
    const bool leaves_a = tenants(a, topology[e]) == 1;
    if (!has_slot(b, topology[e], leaves_b)) return false;
    return !exchange || has_slot(a, topology[f], leaves_a);
  }

  bool has_slot(Int n, Int t, bool one_leaves) const {
    if (tenants(n, t)) return true;
    Int taken = 0;
    for (const Int each : tenants[n]) taken += each > 0;
    return taken - (one_leaves ? 1 : 0) < slots[n];
  }

  // Changes the links as the executors go.
  void shift(std::vector<double>& out, std::vector<double>& come, const Change& change) const {
    const auto [e, f, a, b, exchange] = change;
    shift_one(out, come, e, a, b);
    if (!exchange) return;
    shift_one(out, come, f, b, a);
    // Each was counted as if the other stayed: the two remain on different nodes.
    const double both = rates(e, f) + rates(f, e);
    for (const Int n : {a, b}) {
      out[n] += both;
      come[n] += both;
    }
  }

  // Changes the links for e moving from a to b while all others stay.
  void shift_one(
      std::vector<double>& out, std::vector<double>& come, Int e, Int a, Int b) const {
    const double all_sent = sent[e].sum(), all_got = got[e].sum();
    out[a] -= all_sent - sent(e, a);
    come[a] -= all_got - got(e, a);
    out[b] += all_sent - sent(e, b);
    come[b] += all_got - got(e, b);
    // What stayed on a now comes to b, and what went to b stays.
    come[a] += sent(e, a);
    out[a] += got(e, a);
    come[b] -= sent(e, b);
    out[b] -= got(e, b);
  }

  void relocate(Int e, Int a, Int b) {
    nodes[e] = b;
    for (Int r = 0; r < load.columns; r++) {
      used(a, r) -= load(e, r);
      used(b, r) += load(e, r);
    }
    tenants(a, topology[e]) -= 1;
    tenants(b, topology[e]) += 1;
    for (Int f = 0; f < executors; f++) {
      sent(f, a) -= rates(f, e);
      sent(f, b) += rates(f, e);
      got(f, a) -= rates(e, f);
      got(f, b) += rates(e, f);
    }
  }

  Matrix<double> rates, load;
  Row<Int> topology;
  Matrix<double> limits;
  Row<Int> slots, nodes;
  Int executors, count;
  std::vector<double> sent_, got_, used_;
  std::vector<Int> tenants_;
  // What each executor sends to and receives from each node; what nodes use; their executors.
  Matrix<double> sent, got, used;
  Matrix<Int> tenants;
};

}  // namespace

extern "C" void evened(
    Matrix<double> rates, Matrix<double> load, Row<Int> topology, Int topologies,
    Matrix<double> limits, Row<Int> slots, Row<Int> nodes, double relief, Int steps, Int seed,
    Row<Int> best) {
  Evening(rates, load, topology, topologies, limits, slots, nodes)
      .run(relief, steps, Random(seed), best);
}
